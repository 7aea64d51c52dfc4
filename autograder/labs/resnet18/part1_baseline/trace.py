"""What a trace says: four questions, and the trace that is handed in with its answers."""

from __future__ import annotations

from collections.abc import Iterator

from autograder.checks import trace as profile
from autograder.checks.numerics import shown
from autograder.checks.table_form import told_wrong
from autograder.claims.answers import Answers, Question, Slips, Values, percent
from autograder.lab import Failed, Passed, Verdict
from autograder.labs.resnet18.part1_baseline.part import PASSED_OVER, RANGES, RECORDED, Rig, part
from autograder.traces import Trace

CONVOLUTIONS = 20  # of ResNet-18
QUESTIONS = 'see "Four questions" in the part 1 handout'
SHARES = (0.42, 0.51, 0.72, 0.81)  # of a step, or up to 0.07 more, that a GPU is busy
LOW, HIGH = 50.0, 80.0  # percent
ROUNDED = 0.051  # percentage points: of one decimal
NS_IN_MS = 1e6
GPU_WINDOW = "the window includes gpu_user_annotations: use user_annotations only"
ADDED = "the durations of the steps were added up, but the time between steps counts too"
LEFT_OUT = "a wait that ends after the last step was left out, but part of it is inside the window"
INSIDE = "only copies inside the window were counted, but the whole trace counts"
WHOLE = "the window is the whole recording, but it should be the steps"
NO_WAIT = "no wait was found: what follows enumerate(DataLoader) in a name depends on the loader"
OUTSIDE = "waits outside the steps were counted too"
SUMMED = "overlapping kernels were counted twice"
SET_BACK = "where a kernel ends inside of a longer one, time was counted twice"
WINDOW = "take the window from the first ProfilerStep#'s start to the last one's end"
OF_WINDOW = {
    ADDED: WINDOW,
    WHOLE: WINDOW,
    GPU_WINDOW: "take the steps from what has the category user_annotation",
}
"""What to try where the window is wrong."""
TOP = "own_times(events).most_common(3), where events is all of load_events(file)"


def wrong_band(answers: Values) -> str:
    """Say how the band of the utilization is not that of its number; at a limit either one is right."""
    percents, band = answers["gpu_utilization_percent"], answers["gpu_utilization_band"]
    bands: list[str | None] = [None]
    if percents is not None:
        bands = [_band(percents + lost) for lost in (-ROUNDED, ROUNDED)]
    if band in bands:
        return ""
    told = f"gpu_utilization_band is {shown(band)}"
    cause = f"gpu_utilization_percent is {shown(percents)}"
    return told_wrong(told, cause, f"{bands[-1]!r} is right")


def _band(percents: float) -> str:
    if percents < LOW:
        return "low"
    return "high" if percents > HIGH else "medium"


FORM = {
    "data_loading_percent": percent("data", "data_loading", required=True, rounded=ROUNDED),
    "gpu_utilization_percent": percent("gpu", "gpu_utilization", rounded=ROUNDED),
    "host_to_device_ms": Question("gpu", "h2d_time", NS_IN_MS, zero=True, rounded=0.0051),
    "gpu_utilization_band": Question("gpu", rule=wrong_band),
    "top_operators": Question("top", names=3, required=True),
}
questions = Answers(part, "analyse_trace", FORM, reason="gpu", see=QUESTIONS)


@questions.asks
def made(rig: Rig) -> Iterator[tuple[bytes, Values, Slips]]:
    """Traces of which everything is known: of a GPU on either side of 50 and of 80 %, and without one."""
    for busy in [*(rig.seconds(low, low + 0.07, 1)[0] for low in SHARES), 0.0]:
        trace = rig.profiles.made(rig.random, busy=busy)
        expected = trace.expected()
        right = {
            "data_loading_percent": expected["loading"],
            "gpu_utilization_percent": expected["busy"],
            "gpu_utilization_band": None if expected["busy"] is None else _band(expected["busy"]),
            "host_to_device_ms": expected["copied"],
            "top_operators": expected["top"],
        }
        slips = {
            "data_loading_percent": {
                OUTSIDE: expected["loading_outside"],
                NO_WAIT: 0.0,
                LEFT_OUT: expected["loading_inside"],
                ADDED: expected["loading_of_sum"],
                WHOLE: expected["loading_of_all"],
                GPU_WINDOW: expected["loading_of_gpu"],
            },
            "gpu_utilization_percent": {
                SUMMED: expected["summed"],
                SET_BACK: expected["set_back"],
                ADDED: expected["busy_of_sum"],
                WHOLE: expected["busy_of_all"],
                GPU_WINDOW: expected["busy_of_gpu"],
            },
            "host_to_device_ms": {
                "copies from the device were counted too": expected["copied_both"],
                INSIDE: expected["copied_inside"] or 0.0,
            },
        }
        yield trace.data(), right, slips


questions.knows(
    "finds_the_wait_for_data",
    "analyse_trace finds the share of the window that was spent waiting for the loader.",
    "data",
    try_="100 * time of enumerate(DataLoader)... inside the window / length of the window",
    hints={
        NO_WAIT: "take each user_annotation whose name begins with enumerate(DataLoader)",
        OUTSIDE: "cut off of each wait what lies outside the window",
        LEFT_OUT: "count of each wait the part that lies inside the window",
        **OF_WINDOW,
    },
)
questions.knows(
    "finds_the_work_of_the_gpu",
    "analyse_trace finds utilization, its band and the copies to the GPU, "
    "or None and a reason if there is no GPU.",
    "gpu",
    hints={
        "None is right": "without a kernel, return None for what is of a GPU, and a reason",
        "reason": "return a reason if a value is None, and None as the reason if none is",
        "gpu_utilization_band": "low below 50, high above 80, else medium",
        "host_to_device_ms": "add up what begins with Memcpy HtoD, in the whole trace, / 1000",
        SUMMED: "merge overlapping kernels before you add up: time in which two run counts once",
        SET_BACK: "keep the latest end so far, not the end of the last kernel",
        **OF_WINDOW,
        "gpu_utilization": "100 * time in the window with a kernel, overlaps once / length of the window",
    },
)
questions.knows(
    "finds_the_top_operators",
    "analyse_trace names the three operators with the most own time.",
    "top",
    hints={
        "'aten::conv2d'": ("aten::conv2d has much time in all, little own time", TOP),
        "top_operators is [": ("usually own_times did not get all events", TOP),
    },
)


@part.check(basis="artefact")
def trace_is_whole(baseline_trace: Trace) -> Verdict:
    """The submitted baseline_trace.json.gz holds ten steps of ResNet-18, with their ranges and the wait for data."""
    why = profile.recorded(baseline_trace, RECORDED, PASSED_OVER, RANGES)
    why = why or profile.another_network(baseline_trace, CONVOLUTIONS)
    measured, evidence = f"{len(baseline_trace.steps)} steps", profile.consists_of(baseline_trace)
    try_ = "fix the checks of profile_training first if one fails; then run part1_baseline.py again"
    if not why:
        return Passed(measured, evidence)
    cause = "a right profile_training does not write this trace"
    return Failed(f"{baseline_trace.file}: {why}", cause, try_, evidence)


questions.fits(
    "answers_fit_the_trace",
    "The submitted answers.json has the right form and agrees with the submitted trace.",
    *("data", "gpu", "top"),
    about="baseline_trace",
    try_=(
        "fix the checks of analyse_trace first if one fails; "
        "then submit both files that one run of part1_baseline.py writes"
    ),
)
