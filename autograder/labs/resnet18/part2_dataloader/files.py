"""The files that are handed in."""

from __future__ import annotations

from collections.abc import Sequence

from autograder.checks import plot, table
from autograder.checks.table_form import Row, samples_problem
from autograder.lab import Failed, Passed, Picture, Table, Verdict
from autograder.labs.resnet18.part2_dataloader import judges
from autograder.labs.resnet18.part2_dataloader.part import part


@part.check(basis="artefact")
def csv_is_consistent(worker_sweep: Table, dataloader_results: Table) -> Verdict:
    """Both submitted tables hold consistent numbers, and the comparison uses the best workers of the sweep."""
    swept, compared = judges.SWEEP.read(worker_sweep), judges.COMPARED.read(dataloader_results)
    measured = f"{len(swept)} and {len(compared)} rows"
    why = _problem(worker_sweep.file, swept, dataloader_results.file, compared)
    try_ = "run part2_dataloader.py again, and submit both tables that it writes"
    return Failed(measured, why, try_) if why else Passed(measured)


def _problem(sweep: str, swept: Sequence[Row], comparison: str, compared: Sequence[Row]) -> str:
    """Say how two tables, each in its file, contradict themselves or each other."""
    why = judges.SWEEP.problem(swept) or judges.numbers_problem(swept)
    if why := why or judges.sweep_problem(swept):
        return f"{sweep}: {why}"
    if why := judges.COMPARED.problem(compared) or judges.workers_problem(compared):
        return f"{comparison}: {why}"
    every = [*swept, *compared]
    if why := table.device_problem(every) or samples_problem(every, judges.SAME):
        return f"the two tables are not of one run: {why}"
    best, used = judges.fastest(swept), compared[1]["num_workers"]
    if used == best:
        return ""
    return f"{best} workers are the fastest of the sweep, but {used:g} were compared"


@part.check(basis="artefact")
def plots_are_pictures(
    num_workers_comparison: Picture, dataloader_optimization: Picture
) -> Verdict:
    """Both submitted figures are pictures with something on them."""
    try_ = "submit the files that part2_dataloader.py wrote"
    if num_workers_comparison.crc == dataloader_optimization.crc:
        files = f"{num_workers_comparison.file}, {dataloader_optimization.file}"
        return Failed(files, "they are the same picture", try_)
    verdict = plot.is_drawn(num_workers_comparison, try_=try_)
    if isinstance(verdict, Passed):
        verdict = plot.is_drawn(dataloader_optimization, try_=try_)
    return verdict
