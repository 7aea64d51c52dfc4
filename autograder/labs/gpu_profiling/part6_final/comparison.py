"""The comparison of versions: runs, shares of work, the figure and the sums of nsys."""

from __future__ import annotations

from typing import Any

from autograder.checks import outputs, table
from autograder.checks.hints import hint_for, hinted
from autograder.checks.numerics import close
from autograder.checks.slips import SLIPPED, told
from autograder.claims.studies import DRAWN, Study, draws, written
from autograder.claims.studies import PICTURE as PIXELS
from autograder.lab import (
    BOOLEAN,
    CELL,
    NUMBER,
    NUMBERS,
    TEXT,
    Answer,
    Failed,
    Pair,
    Student,
    Verdict,
    list_of,
    map_of,
    optional,
)
from autograder.labs.gpu_profiling.part6_final import versions
from autograder.labs.gpu_profiling.part6_final.part import BEFORE_AFTER, PICTURE, TABLE, Rig, part
from autograder.labs.gpu_profiling.part6_final.versions import VERSIONS

NAMES = VERSIONS.rows or ()

ROWS = list_of(map_of(CELL))
COMPARED = {
    **DRAWN,
    "runs": ROWS,
    "busy": list_of(optional(NUMBER)),
    "raised": TEXT,
    "goes_on": BOOLEAN,
    "drawn": BOOLEAN,
}


@part.probe(pair=True, values=COMPARED, arrays=PIXELS)
def comparison(student: Student, rig: Rig) -> Answer:
    """A made program instead of trainings: it notices what reaches it from an earlier run; at last it fails.

    Shares are those of the own busy_percent, which is judged by itself.
    """
    asked, runs = rig.matched.versions(NAMES[: rig.integer(4, 5)])
    folder = rig.made_folder()
    with rig.figures() as figures:
        returned = student.compare_versions(asked, folder=str(folder))
        drawn = draws(rig, student.draw_comparison, returned, PICTURE)
    answer = written(rig, VERSIONS, "compare_versions", returned, PICTURE, figures)
    path = asked[0]["command"][0]
    raised = rig.matched.hopeless(student.run_version, path)

    def among(command: list[str]) -> Any:
        failing = {**asked[0], "command": command}
        return student.compare_versions([failing], folder=str(folder))

    goes_on = not rig.matched.hopeless(among, path).startswith("RuntimeError")
    busy = [rig.number(student.busy_percent(version["profile"])) for version in asked]
    return {
        **answer,
        "runs": runs,
        "busy": busy,
        "raised": raised,
        "goes_on": goes_on,
        "drawn": drawn,
    }


@part.probe(pair=True, values=SLIPPED, arrays=NUMBERS)
def shares(student: Student, rig: Rig) -> Answer:
    """Made profiles, with a GPU and without."""
    answers, slips = rig.answers(), {}
    for number in range(4):
        file, share, usual = rig.matched.profile_with_slips(number)
        own = rig.side == "student"
        answer = rig.number(student.busy_percent(file)) if own else share
        device = "with a GPU" if number % 2 == 0 else "without a GPU"
        case = f"busy percent of made profile {number + 1}, {device}"
        answers.add(case, answer)
        slips[case] = usual
    return {**answers.values(), "slips": slips}


@part.probe(pair=True, values=SLIPPED, arrays=NUMBERS)
def sums(student: Student, rig: Rig) -> Answer:
    """Made outputs of nsys stats, of today's and of older ones."""
    answers, slips = rig.answers(), {}
    for copies, new in (("Host-to-Device", True), ("HtoD", False)):
        made, file = rig.sums(rig.random, new=new), rig.folder / "stats.txt"
        file.write_text(made.text(), encoding="utf-8")
        stats = made.expected
        if rig.side == "student":
            stats = rig.returned("read_stats", student.read_stats(str(file)))
        for name in made.expected:
            case = f"{name} of an output with {copies}"
            answers.add(case, rig.number(stats[name]))
            slips[case] = made.slips()[name]
    return {**answers.values(), "slips": slips}


@part.check(basis="scripted")
def finds_the_busy_share(shares: Pair) -> Verdict:
    """busy_percent finds the share of the steps' time in which a kernel ran, or without kernels an operator."""
    why = {
        "without a GPU": (
            "with a GPU your code is right: usually it counts the loader's operators as work",
            "use given.divided, which leaves the loader out",
        ),
        "": (
            "that is not the share of the steps in which a kernel ran",
            "return the share of given.covered(kernels, window), which counts overlaps once, unchanged",
        ),
    }
    got, want = (side.arrays["numbers"] for side in (shares.student, shares.baseline))
    if close(outputs.multiple(got, want, 1e-3), 0.01, 1e-3):
        why = {"": ("your code returns a fraction, and not percent", "multiply by 100")}
    return told(shares, outputs.same(shares, 1e-3, why=why, try_=why[""][1]), 1e-4)


COPIED = {
    "took its cores": "run one version at a time by subprocess.run(...), and copy each number of its run unchanged",
    "halved it": "copy each number of a run unchanged into its row",
    "share a process": "start a new process for each version: subprocess.run(...)",
    "another Python": "begin the command with sys.executable",
    "its profile shows": "call busy_percent(version['profile']) when that version's run has ended",
    "a run with its options has": "read the JSON object in the last line of what this run printed",
    "were trained on": "copy throughput, seconds and samples from what one run printed",
    "different work": "run all versions with the same samples, epochs and step",
}


def _copied(problem: str) -> tuple[str, ...]:
    """Say why a figure is wrong, what to try, and which figure it is."""
    figure, _, cause = problem.partition(": ")
    if "its profile shows" in problem:
        cause = "the share must come from this version's own profile, after its run"
    elif " is 1, and the last line" in problem:  # as an earlier one has it
        cause = "usually your code reads a JSON object in an earlier line of the run's output"
    elif problem.startswith("the device is"):
        cause = "the column device must hold what its own run printed"
    return (
        cause or "a row must hold the numbers of the last line that its run printed",
        hint_for(problem, COPIED) or TABLE,
        figure,
    )


def _compared(comparison: Pair) -> str | tuple[str, ...]:
    values = comparison.student.values
    busy = iter(values["busy"])  # of any length
    printed = comparison.baseline.values["runs"]
    runs = [{**run, "busy_percent": next(busy, None)} for run in printed]
    rows = values["rows"]
    problem = versions.copied_problem(VERSIONS, versions.PRINTED, rows, runs)
    problem = problem or versions.work_problem(rows)
    if problem:
        return _copied(problem)
    if not values["drawn"]:
        why = "compare_versions does not call draw_comparison, or gives it another folder"
        return why, "call draw_comparison(rows, folder)", f"no {PICTURE} is in folder"
    if not (values["raised"].startswith("RuntimeError") and "out of ideas" in values["raised"]):
        why = "run_version must raise a RuntimeError with the end of stderr for status 1"
        raised = f"a run that failed raised {values['raised'][:100]}"
        return why, "raise RuntimeError(run.stderr[-1000:]) if run.returncode is not 0", raised
    if values["goes_on"]:
        why = "compare_versions does not pass on the RuntimeError of a version that failed"
        return why, "let the RuntimeError through", "with a version that fails: no RuntimeError"
    csv = table.holds_the_rows(values["csv"], VERSIONS.file, rows)
    return (csv.why, csv.try_, csv.measured) if isinstance(csv, Failed) else ""


@part.check(basis="scripted")
def reads_stats(sums: Pair) -> Verdict:
    """read_stats finds launches, time of kernels, time of copies to the GPU and waiting calls in what nsys printed."""
    other = "rows are left out of the sum, or rows of another table are in it"
    why = {
        "waiting_calls": "all calls with Synchronize in their names must be counted, and no others",
        "copy_to_gpu_ms": "copies with HtoD or Host-to-Device must be added up, no others, in ms",
        "": other,
    }
    hints = {
        "waiting_calls": "add up Num Calls of each name that holds Synchronize",
        "copy_to_gpu_ms": "add up the copies whose operation says HtoD or Host-to-Device, divided by 1e6",
        "": "read each table by its own header, with the csv module",
    }
    judged = outputs.same(sums, 1e-6, why=why, try_=BEFORE_AFTER)
    return hinted(told(sums, judged, 1e-6), hints)


study = Study(
    part,
    VERSIONS,
    "compare_versions",
    by=comparison,
    expected=lambda script: [run["version"] for run in script["runs"]],
)
study.is_measured(
    "compares_versions",
    _compared,
    says="compare_versions runs each version in a new process; rows and CSV hold their numbers; a failed run raises.",
    try_=TABLE,
    shows=["throughput"],
)
study.is_drawn(
    PICTURE,
    {
        "busy_percent": r"%|percent",
        "throughput": r"/|per|s⁻¹|\^\{?-1",
        "speedup": r"\bx\b|\u00d7|[Ss]peedup|ratio",
    },
    says="draw_comparison draws three panels: busy share, throughput and speedup of the rows that it is given.",
    try_="one bar per row, named and as high as the row says, and set_ylabel with the unit",
)
