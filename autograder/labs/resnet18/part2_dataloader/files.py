"""The files that are handed in."""

from __future__ import annotations

from autograder.checks import plot, table
from autograder.checks.forms import samples_problem
from autograder.lab import (
    Failed,
    Passed,
    Picture,
    Table,
    Verdict,
)
from autograder.labs.resnet18.part2_dataloader import judges
from autograder.labs.resnet18.part2_dataloader.part import (
    part,
)


@part.check(basis="artefact")
def csv_is_consistent(worker_sweep: Table, dataloader_results: Table) -> Verdict:
    """Both tables handed in hold numbers that fit each other, and the comparison has the best workers of the sweep."""
    swept, compared = judges.SWEEP.read(worker_sweep), judges.COMPARED.read(dataloader_results)
    measured, try_ = (
        f"{len(swept)} and {len(compared)} rows",
        "run part2_dataloader.py again; hand in what it writes",
    )
    form = judges.SWEEP.problem(swept) or judges.numbers_problem(swept)
    for file, why in (
        (worker_sweep.file, form or judges.sweep_problem(swept)),
        (
            dataloader_results.file,
            judges.COMPARED.problem(compared) or judges.compared_problem(compared),
        ),
    ):
        if why:
            return Failed(measured, f"{file}: {why}", try_)
    every = [*swept, *compared]
    if why := table.device_problem(every) or samples_problem(every, judges.SAME):
        return Failed(measured, f"the two tables are not of one run: {why}", try_)
    best, used = judges.fastest(swept), compared[1]["num_workers"]
    if used != best:
        return Failed(
            measured,
            f"{best} workers are the fastest of the sweep, and {used:g} were compared",
            try_,
        )
    return Passed(measured)


@part.check(basis="artefact")
def plots_are_pictures(
    num_workers_comparison: Picture, dataloader_optimization: Picture
) -> Verdict:
    """Both figures handed in are pictures with something on them."""
    try_ = "hand in the files that part2_dataloader.py wrote"
    if num_workers_comparison.crc == dataloader_optimization.crc:
        return Failed(
            f"{num_workers_comparison.file}, {dataloader_optimization.file}",
            "they are one picture",
            try_,
        )
    found = plot.is_drawn(num_workers_comparison, try_=try_)
    return plot.is_drawn(dataloader_optimization, try_=try_) if isinstance(found, Passed) else found
