"""The files that are handed in: the table and its profile, what nsys printed, the reflection."""

from __future__ import annotations

from dataclasses import replace

from autograder.checks import trace as profile
from autograder.checks.hints import hinted
from autograder.claims.questions import idle
from autograder.lab import Device, Failed, Passed, Table, Text, Unavailable, Verdict
from autograder.labs.gpu_profiling.part6_final import versions
from autograder.labs.gpu_profiling.part6_final.comparison import study
from autograder.labs.gpu_profiling.part6_final.part import BEFORE_AFTER, PICTURE, part
from autograder.labs.gpu_profiling.part6_final.versions import VERSIONS
from autograder.model import verdict
from autograder.traces import Trace
from autograder.traces.figures_claimed import DEFINED

AGAIN = "run part6_final.py again and submit the files that it wrote, unchanged"
TWO_RUNS = "usually the table and the profile are of two runs"
GPU_TIMES, GPU_BUSY = 3.0, 80.0  # x of the baseline; percent of the steps with a kernel


csv_is_consistent = study.is_consistent(
    lambda rows: versions.work_problem(rows) or versions.learning_problem(rows),
    says="The submitted final_results.csv has five versions that did the same work, with similar losses.",
)
study.is_pictured(PICTURE, name="comparison_is_a_picture")


@part.check(basis="artefact", needs=[csv_is_consistent])
def profile_bears_out_the_table(final_results: Table, final_profile: Trace) -> Verdict:
    """busy_percent of Final in final_results.csv is what the submitted final_profile.gz shows."""
    last = VERSIONS.read(final_results)[-1]
    steps = len(final_profile.steps)
    if not steps or not final_profile.figure("dataloader", "steps"):
        lacks = f"{final_profile.file} has no {'wait for a DataLoader' if steps else 'steps'}"
        return Failed(lacks, "the file must be a profile of a training", AGAIN)
    quantity = "gpu_utilization" if profile.has_gpu(final_profile) else "operator_share"
    judged = profile.agrees(final_profile, quantity, last["busy_percent"], try_=AGAIN)
    if isinstance(judged, Failed):
        name = f"busy_percent of Final is {last['busy_percent']:.4g} in the table"
        judged = replace(judged, measured=f"{name}: {judged.measured}")
    return hinted(judged, {DEFINED: (TWO_RUNS, AGAIN)})


@part.check(basis="artefact", needs=[profile_bears_out_the_table])
def three_times_as_fast(final_results: Table, final_profile: Trace, device: Device) -> Verdict:
    """On a GPU, Final has at least 3 times the throughput of Baseline."""
    rows = VERSIONS.read(final_results)
    speedup = rows[-1]["speedup"]
    name = rows[0]["device"].strip()
    measured = f"{speedup:.4g} times as fast, measured on {name[:60]}"
    if not profile.has_gpu(final_profile):
        return Unavailable(f"{measured}: without a GPU")
    if speedup < GPU_TIMES:
        wait, whole = rows[-1]["data_wait"], rows[-1]["seconds"]
        try_ = "perflab trace final_profile.gz: make the longest part shorter"
        if speedup * whole >= GPU_TIMES * (whole - wait):  # fast enough if no data were waited for
            try_ = "give the loader of Final more workers"
        why = f"Final waited {wait:.3g} of {whole:.3g} s for data"
        return Failed(f"{measured}, and {GPU_TIMES:g} times is right", why, try_)
    if not device.name.startswith(name):
        return Unavailable(f"{measured}, and this machine is {device.name}: not comparable here")
    return Passed(measured)


@part.check(basis="artefact", needs=[profile_bears_out_the_table])
def keeps_the_gpu_busy(final_profile: Trace) -> Verdict:
    """On a GPU, a kernel runs in more than 80 % of the time of Final's steps."""
    busy = final_profile.figure("busy_kernel", "steps")
    if not profile.has_gpu(final_profile) or busy is None:
        return Unavailable("the profile was recorded without a GPU")
    parts = idle(final_profile)
    most = f"{parts[0][0].name}, {parts[0][1]:.1f} %" if parts else "not known"
    why = f"the largest part of the rest in this profile is {most}" * (busy <= GPU_BUSY)
    try_ = "perflab trace final_profile.gz shows what takes this part of the time: shorten it"
    right = f", and more than {GPU_BUSY:g} % is right" * (busy <= GPU_BUSY)
    measured = f"a kernel ran in {busy:.1f} % of the time of Final's steps{right}"
    return verdict(measured, why, try_)


@part.check(basis="artefact")
def stats_show_the_difference(stats_before: Text, stats_after: Text) -> Verdict:
    """What nsys stats printed shows fewer waiting calls after than before. Without nsys, both files say so: owed."""
    both = (stats_before, stats_after)
    without = [stats.file for stats in both if stats.text.lower().startswith("no nsys")]
    if len(without) == 1:
        measured = f"{without[0]} says that there was no nsys"
        return Failed(measured, "the other file is of nsys", "make both on one machine")
    if without:
        return Unavailable("both say that there was no nsys; a machine with one can make them")
    hints = {
        "more often after": "stats_before.txt is what nsys stats printed of the program before your changes",
        "as often as before": "record both again, and let the loop after your changes wait for no step",
    }
    return hinted(verdict(*profile.fewer_waits(*both), BEFORE_AFTER), hints)


HEADINGS = {
    "The biggest bottleneck": r"bottleneck",
    "What had the most impact": r"impact|most",
    "What to optimize next": r"next",
    "Lessons learned": r"lesson",
}


@part.check(basis="artefact")
def reflection_is_true(reflection: Text, final_results: Table) -> Verdict:
    """The reflection has four sections and 150 to 2000 words, and names at least four numbers of the table."""
    judged = verdict(*versions.reflected(reflection, final_results, HEADINGS), ANSWER)
    hints = {
        "not in the table": BY_NAME,
        "too few numbers": f"name more figures: {BY_NAME}",
        "without tables and code": "shorten it, or say more of what you measured",
    }
    return hinted(judged, hints)


ANSWER = "answer each of the four questions under its heading"
BY_NAME = "write it by its name, {Final.speedup}; put a target or a setting into quotation marks"
