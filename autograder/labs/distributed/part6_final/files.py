"""The files that are handed in: the table and its figure, two traces, and documents with numbers of the table."""

from __future__ import annotations

import re
from collections.abc import Sequence

from autograder.checks import report
from autograder.checks.hints import hinted
from autograder.checks.table_form import Row
from autograder.checks.trace import has_gpu
from autograder.lab import Device, Failed, Passed, Table, Text, Unavailable, Verdict
from autograder.labs.distributed.part6_final import configurations
from autograder.labs.distributed.part6_final.comparison import study
from autograder.labs.distributed.part6_final.configurations import RESULTS
from autograder.labs.distributed.part6_final.part import FIGURE, part
from autograder.model import verdict
from autograder.traces import Trace
from autograder.traces.words import many

csv_is_consistent = study.is_consistent(
    configurations.same_steps,
    says="The submitted distributed_results.csv has five rows, of one device and with the same number of steps.",
)
study.is_pictured(FIGURE)

# --- traces ---

COLLECTIVE = re.compile(r"(?:gloo|nccl):")
STEPS = 3


@part.check(basis="artefact")
def profiles_before_and_after(before_trace: Trace, after_trace: Trace) -> Verdict:
    """Both traces are of rank 0 of a group and hold 3 steps or more. In after_trace, a step has fewer collectives."""
    try_ = "run python part6_final.py and submit its traces; first correct your program if "
    try_ += "options_do_what_they_say fails"
    calls = []
    for trace in (before_trace, after_trace):
        group = trace.signals.get("rank", "unknown")
        ranges = [row.count for row in trace.rows("ranges") if COLLECTIVE.match(row.name)]
        calls.append(sum(ranges) / max(1, trace.step_count))
        measured = f"{trace.file} is of rank {group}, with {trace.step_count} steps"
        measured = f"{measured} and {sum(ranges)} collectives"
        if not re.fullmatch(r"0 of ([2-9]|\d\d+)", group):
            return Failed(measured, "the trace must be of rank 0 of two or more processes", try_)
        if trace.step_count < STEPS or not ranges:
            return Failed(measured, f"it must have {STEPS} steps or more, with collectives", try_)
    measured = f"{calls[0]:.3g} collectives in a step before, {calls[1]:.3g} after"
    if calls[1] > calls[0]:
        swapped = "submit the traces under the names that part6_final.py gives them"
        return Failed(measured, "usually the traces are swapped", swapped)
    return verdict(measured, "each batch communicates" * (calls[1] >= calls[0]), try_)


# --- documents ---

HEADINGS = {
    "What limits the baseline": r"limit|baseline",
    "What each optimization is worth": r"each|optimi[sz]ation",
    "What all of them are worth": r"\ball\b|together",
    "Communication": r"communicat",
    "More processes": r"more processes|scal",
    "What the numbers do not show": r"not show",
}
LEAST, MOST = 800, 1300  # words
FIGURES, ROWS, MEASURES = 6, 4, 3  # at least
TYPED = "write each number by its name in the table, {+ AMP.speedup}, and type none by hand"
FORM = {
    "nothing below": "write under each heading of the template",
    "no heading": "keep the headings of the template, and write under each of them",
    "words are expected": "write more or less under the headings, until the number of words fits",
    "left to fill in": "put your own text in these places",
    **dict.fromkeys(("is no row", "that the table does not have"), TYPED),
}
"""What to try, by words of what a document lacks."""


@part.check(basis="artefact")
def analysis_has_its_form(analysis: Text, distributed_results: Table) -> Verdict:
    """analysis.md has its headings, 800 to 1300 words, and 6 or more numbers by their names, from 4 rows."""
    measured, why = report.incomplete(analysis.text, HEADINGS, LEAST, MOST)
    named, wrong = report.figures(analysis, distributed_results, RESULTS.units)
    rows = {row for figure in named for row, _ in figure.places}
    if not why and wrong:
        measured, why = _unknown(wrong)
    elif not why:
        measured = f"{measured}, {len(named)} numbers of {len(rows)} rows by their names"
        few = len(named) < FIGURES or len(rows) < ROWS
        why = f"the text must have at least {FIGURES} numbers of {ROWS} rows, by their names" * few
    return hinted(verdict(measured, why, TYPED), FORM)


@part.check(basis="artefact")
def recommendations_have_figures(recommendations: Text, distributed_results: Table) -> Verdict:
    """recommendations.md recommends three changes, each with a number of the table by its name."""
    named, wrong = report.figures(recommendations, distributed_results, RESULTS.units)
    if left := report.left_over(recommendations.text):
        measured = f"{many(len(left), 'place')} left to fill in"
        return Failed(measured, report.listed(left), "put your own text in these places")
    if wrong:
        return Failed(*_unknown(wrong), TYPED)
    cuts = report.points(recommendations.text)
    counts = (sum(report.names(point) > 0 for point in cut) for cut in cuts)
    count = max(counts, default=0)
    measured = f"{count} changes with a number, {len(named)} numbers in all"
    why = f"{MEASURES} changes must be there, each with a number by its name" * (count < MEASURES)
    return verdict(
        measured,
        why,
        "write a number of the table by its name in each of three changes, {+ AMP.speedup}",
    )


def _unknown(wrong: list[str]) -> tuple[str, str]:
    return f"{len(wrong)} numbers that the table does not have", report.listed(wrong)


# --- two GPUs ---

FASTER = 1.5  # of the baseline's throughput


def _slow(rows: Sequence[Row]) -> tuple[str, str]:
    """Say which option costs time, and what to try."""
    worst = min(rows[1:-1], key=lambda row: float(row["speedup"]))
    if worst["speedup"] < 1:
        why = (
            f"{worst['optimization']} alone is {worst['speedup']:.3g} times as fast: it costs time"
        )
        return why, "profile the program with this option alone, and look for time without a kernel"
    why = "no option alone costs time: usually the GPUs wait for data or for each other"
    return why, "look in after_trace.json.gz for time without a kernel"


@part.check(basis="artefact", needs=[csv_is_consistent])
def all_is_faster(distributed_results: Table, after_trace: Trace, device: Device) -> Verdict:
    """With 2 GPUs, + All has at least 1.5 times the throughput of Baseline."""
    rows = RESULTS.read(distributed_results)
    measured = f"+ All is {rows[-1]['speedup']:.4g} times as fast as Baseline"
    if not has_gpu(after_trace):
        return Unavailable(f"{measured}, without a GPU: this needs 2 GPUs")
    if rows[-1]["speedup"] < FASTER:
        return Failed(f"{measured}; expected {FASTER:g} times or more", *_slow(rows))
    if not device.name.startswith(rows[0]["device"].strip()):
        return Unavailable(f"{measured}, and this machine is {device.name}: not comparable here")
    return Passed(measured)
