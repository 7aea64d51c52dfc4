"""The files that are handed in: the table of nets, and what ncu printed."""

from __future__ import annotations

from collections.abc import Sequence

from autograder.checks.table_form import Row
from autograder.lab import Table, Text, Unavailable, Verdict
from autograder.labs.gpu_profiling.part3_kernels import ncu
from autograder.labs.gpu_profiling.part3_kernels.judges import RESULTS
from autograder.labs.gpu_profiling.part3_kernels.launches import study
from autograder.labs.gpu_profiling.part3_kernels.part import OWN_REPORT, part
from autograder.model import verdict


def _nets(rows: Sequence[Row]) -> str:
    first = [str(row["net"]) for row in rows[:2]]
    right = ["SimpleNet", "OptimizedNet"]
    came, asked = " and ".join(first), " and ".join(right)
    return f"the first rows are of {came}; they must be of {asked}" * (first != right)


csv_is_consistent = study.is_consistent(
    _nets,
    says="The submitted kernel_results.csv compares SimpleNet with OptimizedNet, with numbers that fit each other.",
)


@part.check(basis="artefact", needs=[csv_is_consistent])
def fewer_launches(kernel_results: Table) -> Verdict:
    """In the CSV, the compiled net launches less than SimpleNet. Owed with neither a GPU nor a C++ compiler."""
    rows = RESULTS.read(kernel_results)
    compiled = [row for row in rows if "compiled" in str(row["net"])]
    if not compiled:
        return Unavailable(
            "no row is of a compiled net; a machine with a C++ compiler or a GPU can make it"
        )
    before, after = rows[0]["launches"], compiled[0]["launches"]
    measured = f"{before:g} launches of {rows[0]['net']}, {after:g} of {compiled[0]['net']}"
    why = "compiling saved no launch: usually the backend fuses nothing, as 'eager' does"
    return verdict(
        measured,
        "" if after < before else why,
        "run part3_kernels.py again, with backend='inductor' for the compiled net",
    )


@part.check(basis="artefact")
def report_holds_kernels(kernel_report: Text) -> Verdict:
    """kernel_report.txt is what ncu printed of your kernels; without ncu, the file says so, and the check is owed."""
    if kernel_report.text.lower().startswith("no ncu"):
        return Unavailable(
            "kernel_report.txt says that there was no ncu; a machine with one can make it"
        )
    return ncu.holds_kernels(kernel_report, try_=OWN_REPORT)
