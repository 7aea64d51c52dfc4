"""Part 14: the table. All pairs of the lab, what each buys, and which of them got worse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from autograder.checks import table
from autograder.checks.hints import USUAL, hint_for
from autograder.claims.exercise import Exercise
from autograder.claims.studies import WRITTEN, Study, written
from autograder.lab import (
    INTEGER,
    NUMBER,
    TEXT,
    Failed,
    Pair,
    Part,
    Passed,
    Rig,
    Student,
    Table,
    Verdict,
    list_of,
)
from autograder.labs.pairs.part14_comparison import judges

part = Part(
    "part14_comparison",
    writes=["compare_pairs"],
    hands_in=[judges.TABLE.file, "part14_notes.md"],
    tables=[judges.TABLE],
)
SEE = 'see "What usually goes wrong" in the part 14 handout'

# --- compare_pairs ---

NEAR = 1.051  # just beyond 1.05: on the line, rounding to MB decides
KINDS = {
    "quick": ("time", 0.5, 1.0),
    "slow": ("time", 1.6, 0.4),
    "noisy": ("time", 1.0, 1.0),
    "just quicker": ("time", 1.0, 1.0),
    "lean": ("memory", 1.8, 0.3),
    "same": ("memory", 0.6, 0.98),
    "just leaner": ("memory", 1.0, 1 / NEAR),
    "just larger": ("memory", 1.0, NEAR),
}
"""What a pair is for, and what share of the baseline's seconds and bytes the optimized side takes."""
WIDTHS = {"noisy": 0.85, "just quicker": 1.2}
"""By so many times the reach of its interval the optimized side is quicker."""


@part.probe(
    pair=True,
    values={
        **WRITTEN,
        "names": list_of(TEXT),
        "seconds": list_of(list_of(NUMBER)),
        "sizes": list_of(INTEGER),
    },
)
def scripted_pairs(student: Student, rig: Rig) -> Any:
    """Pairs of functions: ten cold calls, then times of their own; half of the work is queued."""
    names = rig.random.permutation(list(KINDS)).tolist()
    metered, iterations = rig.metered(), rig.integer(15, 30)
    pairs, seconds, sizes = {}, list[list[float]](), list[int]()
    for name in names:
        goal, slower, leaner = KINDS[name]
        unit, size = rig.seconds(0.01, 0.03, 1)[0], 20 * 10**6
        warm = rig.random.uniform(0.6, 1.4, (2, iterations))
        warm /= warm.mean(axis=1, keepdims=True)
        slower *= judges.reach(warm) ** -WIDTHS.get(name, 0)
        for own, times, share in zip(warm, (1.0, slower), (1.0, leaner), strict=True):
            seconds.append([*[5 * unit] * judges.WARMUP, *(own * unit * times).tolist()])
            sizes.append(round(size * share))
        two = zip(seconds[-2:], sizes[-2:], strict=True)
        pairs[name] = goal, *(metered.function(each, 0.5, held) for each, held in two)
    returned = student.compare_pairs(pairs, metered, str(rig.made_folder()), iterations=iterations)
    answer = written(rig, judges.TABLE, "compare_pairs", returned)
    return {**answer, "names": names, "seconds": seconds, "sizes": sizes}


STEPS = (
    "ten calls to warm up, synchronize, then each timed call alone; live_peak in a separate call; "
    f"{SEE}"
)
INTERVAL = "for s, add (std / mean)^2 / `iterations` of both sides, and then take the root"


def _measured(scripted_pairs: Pair) -> str | tuple[str, ...]:
    rows, script = scripted_pairs.student.values["rows"], scripted_pairs.baseline.values
    two = [script[name] for name in ("seconds", "sizes")]
    for rule, try_ in (
        (judges.figures_problem, STEPS),
        (judges.measured_verdict_problem, INTERVAL),
    ):
        for at, (row, name) in enumerate(zip(rows, script["names"], strict=True)):
            sides = (it[2 * at : 2 * at + 2] for it in two)
            if problem := rule(row, KINDS[name][0], *sides):
                tried = hint_for(problem, judges.TRIES) or hint_for(problem, USUAL) or try_
                right, _, cause = problem.partition(" is right: ")
                shown = judges.shown_row(row)
                return cause or problem, tried, f"{shown}, and {right} is right" if cause else shown
    return table.other_device(rows, script["rows"][0]["device"])


study = Study(
    part,
    judges.TABLE,
    "compare_pairs",
    by=scripted_pairs,
    expected=lambda script: script["names"],
)
study.is_measured(
    "compares_both",
    _measured,
    says="compare_pairs measures both sides alike, time and memory apart, and its verdict is about the goal.",
    try_=STEPS,
    shows=["baseline_ms", "optimized_ms"],
)
study.is_written()

# --- regressions ---


def sorted_or_refused(written: Any, inputs: Mapping[str, Any]) -> Any:
    """Return the names in any order, or the error that is asked for."""
    devices = {row["device"] for row in [*inputs["before"], *inputs["after"]]}
    if inputs["tolerance"] == judges.TOLERANCE:  # what is taken by default
        inputs = {name: inputs[name] for name in ("before", "after")}
    try:
        return judges.listed(written(**inputs))
    except ValueError:
        if len(devices) > 1:
            return judges.REFUSED
        raise


tables = Exercise("regressions", part, call=sorted_or_refused)
FACTORS = (0.5, 1.0, 1.02, 1.051, 1.2, 2.0)
BY_GOAL = "compare optimized_ms of a pair for time, and optimized_mb of a pair for memory"
ALL = {"below the tolerance": 1.2, "at the tolerance": 1.25, "just above the tolerance": 1.3}


@tables.inputs
def draw_tables(random: np.random.Generator, count: Any = (3, 7), kind: str = "") -> dict[str, Any]:
    """Times and bytes of each pair change by factors of their own; near the tolerance all by one factor."""
    before, after = list[dict[str, Any]](), list[dict[str, Any]]()
    for number in range(count):
        goal = ("time", "memory")[number % 2]
        row: dict[str, Any] = {"pair": f"pair {number}", "goal": goal}
        row |= {"baseline_ms": 64.0, "baseline_std_ms": 1.0}
        row |= {"optimized_ms": 32.0, "optimized_std_ms": 1.0}
        row |= {"baseline_mb": 64.0, "optimized_mb": 16.0, "speedup": 2.0, "memory_ratio": 4.0}
        row |= {"verdict": "better", "device": "a CPU"}
        factors = dict(zip(judges.FIGURE, random.choice(FACTORS, 2).tolist(), strict=True))
        if kind:
            factors = dict.fromkeys(judges.FIGURE, ALL.get(kind, 1.25))
        changed = {figure: row[figure] * factors[of] for of, figure in judges.FIGURE.items()}
        other = {**row, **changed, "baseline_ms": 64.0 * float(random.choice(FACTORS))}
        other["speedup"] = other["baseline_ms"] / other["optimized_ms"]
        other["memory_ratio"] = other["baseline_mb"] / other["optimized_mb"]
        before.append(row)
        after.append(other)
    if kind == "two devices":
        after = [{**row, "device": "another CPU"} for row in after]
    if kind == "new and missing pairs":
        before, after = before[1:], [*after[:-1], {**after[-1], "pair": "a new pair"}]
    random.shuffle(after)
    if kind == "one row of two devices":
        after[-1] = {**after[-1], "device": "another CPU"}
    return {
        "before": before,
        "after": after,
        "tolerance": 0.25 if "tolerance" in kind else judges.TOLERANCE,
    }


tables.same(
    {
        **{f"random pairs {number}": {"count": 7} for number in range(5)},
        "two devices": {"kind": "two devices"},
        "one row of two devices": {"kind": "one row of two devices"},
        "new and missing pairs": {"kind": "new and missing pairs"},
        **{f"pairs {name}": {"kind": name} for name in ALL},
    },
    oracle=judges.regressed,
    slips={
        (
            "your code compares the baseline's numbers, and not the optimized side's",
            BY_GOAL,
        ): partial(judges.regressed, figure={"time": "baseline_ms", "memory": "baseline_mb"}),
        ("your code compares times, also of a pair whose goal is memory", BY_GOAL): partial(
            judges.regressed, figure=dict.fromkeys(judges.FIGURE, "optimized_ms")
        ),
        (
            (
                "your code takes the tolerance as a share of the number after, "
                "and not of the number before"
            ),
            "after > before * (1 + tolerance)",
        ): partial(judges.regressed, worse=judges.grew_by_share_of_after),
    },
    name="finds_regressions",
    says="regressions names the pairs whose optimized side got worse at its goal, and refuses tables of two devices.",
    needs=[],
    why={
        "one row": (
            "each row of both tables must name the same device, not only the first",
            "look at the device of every row",
        ),
        "two devices": (
            "tables of two devices must raise ValueError",
            "raise ValueError where the rows of both tables have more than one device",
        ),
        "new and missing": (
            "a pair that only one table has must not be named",
            "compare only pairs that both tables have",
        ),
        "below the tolerance": (
            "no pair got worse by more than the tolerance that regressions was given",
            "use the argument tolerance, and no number of your own",
        ),
        "just above the tolerance": (
            "the tolerance must be a share of the number before, not of the number after",
            "after > before * (1 + tolerance)",
        ),
        "at the tolerance": (
            "a pair that is worse by exactly the tolerance must not be named",
            "compare by > and not by >=",
        ),
        "": (
            "tolerance is not given here: usually its default is not 0.05",
            (
                "after > before * (1 + tolerance), for the column of the "
                "goal; tolerance is 0.05 by default"
            ),
        ),
    },
    try_=SEE,
)

# --- what is handed in ---

consistent = study.is_consistent(
    judges.verdict_problem,
    says="pairs.csv has the handout's columns; ratios follow from the numbers, verdicts are about the goal, "
    "and all rows name one device.",
    try_="fix compares_both first if it fails; then run part14_comparison.py, and submit its file",
)


@part.check(basis="artefact")
def covers_the_pairs(pairs: Table, parts: Sequence[str]) -> Verdict:
    """pairs.csv has a row for each pair of the parts that this course has; two may be missing."""
    rows, names = [row.get("pair", "") for row in pairs.rows], judges.names(parts)
    missing = [name for name in names if name not in rows]
    measured = f"{len(names) - len(missing)} of {len(names)} pairs"
    if len(missing) <= judges.MISSING:
        return Passed(measured)
    measured = f"{measured}: no row for {', '.join(missing)}; {judges.MISSING} rows may be missing"
    if others := [str(name)[:40] for name in rows if name not in judges.GOALS]:
        why = f"some rows have a name that no pair has, such as {others[0]}"
        return Failed(measured, why, "put the names of `pairs` into the column pair as they are")
    why = "usually load_pairs left these pairs out, and printed why"
    return Failed(measured, why, "run part14_comparison.py again, and read what load_pairs prints")
