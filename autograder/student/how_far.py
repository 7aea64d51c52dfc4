"""How far a student has come: which parts are done, what changed, and a drawing of the attempts.

done      1 of 3 parts: part1_baseline
next      part3_amp (8 points lost); not checked yet: part2_dataloader
changed   part3_amp: 12 to 22 points; passes now: follows_fp32
points    part3_amp  ▁▄▆  from 0 to 22 of 30 in 3 attempts
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from autograder.grading.scoring import worth
from autograder.report.outcome_words import points
from autograder.student.attempts import FILE, Attempt, Speed, Tried, keep, read

Said = tuple[str, str]
"""A label and its text."""
BLOCKS, PLAIN = "▁▂▃▄▅▆▇█", "_.-=+*#@"
"""From nothing to all, with Unicode and without."""
DRAWN = 24
"""Attempts in a drawing, the last ones."""
NAMED = 4
"""Names in a list before the rest is counted."""
MISSED = ("failed", "partial", "skipped")


def keep_and_tell(
    folder: Path, run: Attempt, parts: Sequence[str], encoding: str = "utf-8"
) -> list[Said]:
    """Keep a run, and say where it leaves a student of the lab with these *parts*."""
    runs = [*read(folder, run.lab), run]
    problem = keep(folder, run)
    marks = BLOCKS if encoding.lower().startswith("utf") else PLAIN
    note = f"this run is not kept in {FILE}: {problem}" if problem else ""
    return [line for line in (*lines(parts, runs, marks), ("note", note)) if line[1]]


def lines(parts: Sequence[str], runs: Sequence[Attempt], marks: str = BLOCKS) -> list[Said]:
    """Say which parts are done, what the last run changed, and draw what it changed."""
    before, latest = _latest(runs[:-1]), _latest(runs)
    now = runs[-1].parts
    changes = {part: _change(before[part], now[part]) for part in now if part in before}
    changed = [part for part in changes if changes[part]]
    more = len(changed) - NAMED
    said = [("done", _done(parts, latest)), ("next", _next(parts, latest))]
    said += [("changed", f"{part}: {changes[part]}") for part in changed[:NAMED]]
    said += [("changed", f"and {more} more parts")] if more > 0 else []
    for part in changed[:NAMED] or (changes if len(now) == 1 else ()):
        said += _drawings(part, runs, marks)
    return [line for line in said if line[1]]


def draw(values: Sequence[float], most: float, marks: str = BLOCKS) -> str:
    """Draw one mark a value, the last for *most*.

    >>> draw([0, 6, 12], 12)
    '▁▅█'
    """
    top = len(marks) - 1
    shares = [min(max(value / most, 0.0), 1.0) if most > 0 else 0.0 for value in values]
    return "".join(marks[int(share * top + 0.5)] for share in shares)


def _latest(runs: Sequence[Attempt]) -> Mapping[str, Tried]:
    latest: dict[str, Tried] = {}
    for run in runs:
        latest |= run.parts
    return latest


def _is_done(tried: Tried) -> bool:
    return tried.won > 0 and tried.lost <= 0


def _done(parts: Sequence[str], latest: Mapping[str, Tried]) -> str:
    done = {part: latest[part] for part in parts if part in latest and _is_done(latest[part])}
    count = f"{len(done)} of {len(parts)} parts"
    names = [f"{part}{_owed(tried)}" for part, tried in done.items()]
    return f"{count}: {', '.join(names)}" if names else count


def _owed(tried: Tried) -> str:
    return f" ({points(tried.owed)} owed)" if tried.owed else ""


def _next(parts: Sequence[str], latest: Mapping[str, Tried]) -> str:
    open_ = [part for part in parts if part in latest and not _is_done(latest[part])]
    lost = _listed([f"{part} ({worth(latest[part].lost)} lost)" for part in open_])
    untried = _listed([part for part in parts if part not in latest])
    return "; ".join(filter(None, (lost, untried and f"not checked yet: {untried}")))


def _change(before: Tried, now: Tried) -> str:
    earlier = before.checks
    both = [name for name in now.checks if name in earlier]
    passed = [n for n in both if now.checks[n] == "passed" != earlier[n]]
    missed = [n for n in both if now.checks[n] in MISSED and earlier[n] == "passed"]
    change = [
        f"{points(before.won)} to {points(now.won)} points" if before.won != now.won else "",
        f"passes now: {_listed(passed)}" if passed else "",
        f"no longer passes: {_listed(missed)}" if missed else "",
    ]
    return "; ".join(filter(None, change))


def _drawings(part: str, runs: Sequence[Attempt], marks: str) -> Iterator[Said]:
    """Draw the speeds of a part, or its points where none was rehearsed last."""
    tries = [run.parts[part] for run in runs if part in run.parts]
    for name in tries[-1].speeds:
        speeds = [tried.speeds[name] for tried in tries if name in tried.speeds]
        if len(speeds) > 1:
            yield "speed", f"{part}.{name}  {_of_speeds(speeds, marks)}"
    if not tries[-1].speeds and len(tries) > 1:
        yield "points", f"{part}  {_of_points(tries, marks)}"


def _of_points(tries: Sequence[Tried], marks: str) -> str:
    last = tries[-1]
    won = [points(tried.won) for tried in (tries[0], last)]
    drawing = draw([tried.won for tried in tries[-DRAWN:]], last.worth, marks)
    ends = f"from {won[0]} to {won[1]}" if won[0] != won[1] else won[1]
    return f"{drawing}  {ends} of {points(last.worth)} in {_attempts(tries)}"


def _of_speeds(speeds: Sequence[Speed], marks: str) -> str:
    ratios = [speed.ratio for speed in speeds]
    bar = speeds[-1].bar
    drawing = draw(ratios[-DRAWN:], max(*ratios, bar), marks)
    ends = f"from {ratios[0]:.2f}x to {ratios[-1]:.2f}x"
    return f"{drawing}  {ends} in {_attempts(ratios)}; the bar is {bar:.2f}x"


def _attempts(tries: Sequence[object]) -> str:
    """Count the attempts, and say which of them are drawn.

    >>> _attempts([0] * 28)
    '28 attempts, the last 24 drawn'
    """
    drawn = f", the last {DRAWN} drawn" if len(tries) > DRAWN else ""
    return f"{len(tries)} attempts{drawn}"


def _listed(names: Sequence[str]) -> str:
    """Name the first few.

    >>> _listed(["a", "b", "c", "d", "e", "f"])
    'a, b, c, d and 2 more'
    """
    more = len(names) - NAMED
    named = ", ".join(names[:NAMED])
    return f"{named} and {more} more" if more > 0 else named
