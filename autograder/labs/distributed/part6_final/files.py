"""The files that are handed in: the table and its figure, two traces, and documents."""

from __future__ import annotations

from autograder.checks.trace import has_gpu
from autograder.lab import Device, Failed, Passed, Table, Text, Unavailable, Verdict
from autograder.labs.distributed.part6_final import configurations, documents
from autograder.labs.distributed.part6_final.comparison import study
from autograder.labs.distributed.part6_final.configurations import RESULTS
from autograder.labs.distributed.part6_final.part import FIGURE, TABLE, part
from autograder.model import verdict
from autograder.traces import Trace

csv_is_consistent = study.is_consistent(
    configurations.same_steps,
    says="The submitted distributed_results.csv has five rows of one device and of equally many steps.",
)
study.is_pictured(FIGURE)


@part.check(basis="artefact")
def profiles_before_and_after(before_trace: Trace, after_trace: Trace) -> Verdict:
    """Both traces are of rank 0 of a group and hold 3 steps; afterwards a step has fewer collectives."""
    return verdict(
        *documents.profiled(before_trace, after_trace),
        "submit the traces that part6_final.py wrote",
    )


NAMED = "write figures by their names, {+ AMP.speedup}, under the headings of the template"


@part.check(basis="artefact")
def analysis_has_its_form(analysis: Text, distributed_results: Table) -> Verdict:
    """analysis.md has its headings, 800 to 1300 words, and names 6 figures or more, of 4 rows."""
    return verdict(*documents.analysed(analysis, distributed_results), NAMED)


@part.check(basis="artefact")
def recommendations_have_figures(recommendations: Text, distributed_results: Table) -> Verdict:
    """recommendations.md has three measures, each with a figure of the table by its name."""
    return verdict(*documents.recommended(recommendations, distributed_results), NAMED)


FASTER = 1.5  # of the baseline's throughput


@part.check(basis="artefact", needs=[csv_is_consistent])
def all_is_faster(distributed_results: Table, after_trace: Trace, device: Device) -> Verdict:
    """With 2 GPUs, + All has at least 1.5 times the throughput of Baseline."""
    rows = RESULTS.read(distributed_results)
    measured = f"{rows[-1]['speedup']:.4g} times as fast"
    if not has_gpu(after_trace):
        return Unavailable(f"{measured}, without a GPU: this needs 2 GPUs")
    if rows[-1]["speedup"] < FASTER:
        return Failed(
            measured, f"it is less than {FASTER:g} times", f"look for what waits; {TABLE}"
        )
    if not device.name.startswith(rows[0]["device"].strip()):
        return Unavailable(f"{measured}, and this machine is {device.name}: not comparable here")
    return Passed(measured)
