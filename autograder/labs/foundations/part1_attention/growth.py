"""What is claimed of the measurement: times, memory and exponents of both versions, and their figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autograder.checks import table
from autograder.checks.hints import caused
from autograder.checks.slips import COUNTS, counts, median_problem
from autograder.checks.table_form import Row
from autograder.claims.studies import DRAWN, PICTURE, Study, written
from autograder.lab import INTEGER, NUMBER, TEXT, Answer, Pair, Rig, Student, list_of
from autograder.labs.foundations.part1_attention import curves, judges
from autograder.labs.foundations.part1_attention.part import CURVES, GROWTH, part

UNITS = {
    "milliseconds": r"\bms\b|millisec",
    "memory_mb": r"MB|[Mm]egabyte",
}  # a panel's label must match
MB = 1e6


@part.probe(
    pair=True,
    arrays=PICTURE,
    values={
        **DRAWN,
        "scales": list_of(TEXT),
        "across": list_of(list_of(NUMBER)),
        "names": list_of(TEXT),
        "lengths": list_of(INTEGER),
        "seconds": list_of(NUMBER),
        "bytes": list_of(INTEGER),
        "repeats": INTEGER,
        "calls": COUNTS,
    },
)
def scripted_growth(student: Student, rig: Rig) -> Answer:
    """Two functions that take scripted seconds and bytes, each near a power of the length."""
    repeats = 2 * rig.integer(3, 5) + 1
    versions = ["by_hand", "attention"]
    shortest = rig.integer(20, 40)
    lengths = [shortest * 2**i + i for i in range(4)]

    def grown(unit: float, low: float, high: float) -> Any:
        """Draw figures for each version, off the line, so that two points do not tell the slope."""
        powers = rig.random.uniform(low, high, (2, 1))
        off = rig.random.uniform(0.7, 1.4, (2, 4))
        return unit * np.array(lengths) ** powers * off

    times = grown(1e-4, 1.7, 2.3)
    held = grown(1e3, 0.8, 1.4).astype(int)

    def call(*figures: Any) -> Any:
        seconds, sizes = (dict(zip(lengths, own.tolist(), strict=True)) for own in figures)
        return rig.scripted_call(seconds, sizes, repeats)

    calls = dict(zip(versions, map(call, times, held), strict=True))

    def make_inputs(length: int, device: Any) -> Any:
        return tuple(rig.tensor(np.zeros((1, 2, length, 4))) for _ in "qkv")

    with rig.figures() as figures:
        returned = student.measure_growth(
            calls, make_inputs, lengths, rig.device, folder=str(rig.made_folder()), repeats=repeats
        )
    return {
        **written(rig, GROWTH, "measure_growth", returned, CURVES, figures),
        "scales": figures.scales(CURVES),
        "across": figures.across(CURVES),
        "names": [version for version in versions for _ in lengths],
        "lengths": lengths * 2,
        "seconds": times.flatten().tolist(),
        "bytes": held.flatten().tolist(),
        "repeats": repeats,
        "calls": [calls[version].counts(length) for version in versions for length in lengths],
    }


SLOPE = "fit a line to np.log of the lengths and np.log of the figures, all rows of a version"


def _measured(scripted_growth: Pair) -> str | tuple[str, ...]:
    values, script = scripted_growth.student.values, scripted_growth.baseline.values
    rows = values["rows"]
    in_mib = "it is in MiB, and a MB is 1e6 bytes"
    problems = (
        median_problem(GROWTH, row, "milliseconds", seconds, script["repeats"], calls=calls)
        or GROWTH.mismatch(row, "memory_mb", size / MB, 0.01, [(size / 2**20, in_mib)])
        for row, seconds, size, calls in zip(
            rows, script["seconds"], script["bytes"], counts(values["calls"]), strict=False
        )
    )
    if wrong := next(filter(None, problems), ""):
        return caused(wrong, {"memory_mb of": "write what given.peak_mb returns: it is in MB"})
    if wrong := judges.exponents_problem(rows):
        figure, _, why = wrong.rpartition(": ")
        return why, SLOPE, figure
    return table.other_device(rows, script["rows"][0]["device"])


def _axes(scripted_growth: Pair) -> tuple[str, str] | None:
    drawn = scripted_growth.student.values
    panels, rows = drawn["panels"], drawn["rows"]
    why = curves.linear(panels, drawn["scales"], rows, UNITS)
    if why:
        return why, "axis.loglog(...): a power of the length is a straight line there"
    why = curves.merged(panels, rows, UNITS, "version")
    why = why or curves.displaced(panels, drawn["across"], rows, UNITS, "length")
    return (why, "for each version: axis.loglog(lengths, figures, label=version)") if why else None


study = Study(
    part,
    GROWTH,
    "measure_growth",
    by=scripted_growth,
    expected=lambda script: list(zip(script["names"], script["lengths"], strict=True)),
)
study.is_measured(
    "measures_honestly",
    _measured,
    says="measure_growth returns the median time after a warm-up, the peak memory, and the exponents of both.",
    try_="at each length one call, then `repeats` calls, each between two readings of perf_counter(); "
    "milliseconds is 1000 * the median",
    shows=["length", "milliseconds"],
)
study.is_written()
study.is_drawn(
    CURVES,
    UNITS,
    says="measure_growth draws time and memory of its rows on logarithmic axes, and writes attention_curves.png.",
    try_="one line per version with every row's figure, set_ylabel with the unit, and legend()",
    also=_axes,
)


def _file_problem(rows: Sequence[Row]) -> str:
    versions = {row["version"] for row in rows}
    alone = f"the file has rows of {versions.pop()} alone, and of no other version"
    return judges.exponents_problem(rows) or ("" if versions else alone)


study.is_consistent(
    _file_problem,
    says="The submitted attention_growth.csv has both versions at several lengths, and exponents that fit them.",
)
study.is_pictured(CURVES)
