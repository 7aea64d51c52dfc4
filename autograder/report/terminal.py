"""A Result on a terminal: a failing check speaks in four parts, a passed one in a line."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from typing import TYPE_CHECKING

from autograder.report.outcome_words import (
    BASES,
    SETTLED_BY,
    bonus,
    clean,
    explained,
    points,
    repeated,
)
from autograder.report.pairs_strip import line, strip
from autograder.results.overrides import by_hand

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console
    from rich.text import Text

    from autograder.model import CheckResult, Outcome, PartResult, Result

WIDTH = 100
INDENT = 6
LABEL = 10
WORDS: Mapping[Outcome, str] = {
    "passed": "PASS",
    "partial": "PART",
    "failed": "FAIL",
    "skipped": "SKIP",
    "unavailable": "OWED",
    "inconclusive": "OWED",
    "error": "FAULT",
    "unread": "OWED",
}
STYLES: Mapping[Outcome, str] = {
    "passed": "green",
    "partial": "yellow",
    "failed": "bold red",
    "skipped": "yellow",
    "unavailable": "cyan",
    "inconclusive": "cyan",
    "error": "bold magenta",
    "unread": "cyan",
}


def four_parts(part_id: str, check: CheckResult, width: int = WIDTH) -> str:
    """Say what failed, what was measured, why that is, and what to try; other outcomes give their reason."""
    said = {
        "measured": check.measured,
        "why": check.why,
        "try": check.try_,
        "reason": explained(check.outcome, check.reason),
        "by hand": by_hand(check),
    }
    timed = strip(check.evidence)
    if timed is not None:
        said = {"measured": said.pop("measured"), "pairs": line(timed), **said}
    return "\n".join(
        [_head(part_id, check, width), *(_said(k, v, width) for k, v in said.items() if v)]
    )


def show(result: Result, console: Console, *, verbose: bool) -> None:
    """Print a result; *verbose* adds what passed checks measured, and what each check rests on."""
    from rich.text import Text

    width = width_of(console)
    for part in result.parts:
        console.print(_heading(part), soft_wrap=True)
        before = repeated(part.checks)
        for check in part.checks:
            said = _as_before(check, before[check.id]) if check.id in before else check
            console.print(_coloured(part.id, said, width, verbose=verbose), soft_wrap=True)
        console.print()
    for note in result.notes:
        console.print(Text(_said("note", note, width, indent=0)), soft_wrap=True)
    console.print(_totals(result, width), soft_wrap=True)


def width_of(console: Console) -> int:
    """Choose how wide the lines are."""
    return max(40, min(WIDTH, console.width))


def _as_before(check: CheckResult, before: str) -> CheckResult:
    """Leave out what another check above has said."""
    return replace(check, measured="", why=f"the same as for {before}", try_="")


def _head(part_id: str, check: CheckResult, width: int) -> str:
    name = f"{part_id}.{check.id}  {points(check.points)}/{points(check.max_points)}   "
    head = WORDS[check.outcome].ljust(INDENT) + clean(name)
    if len(head) > width - LABEL:  # no room beside it: the title starts below
        return head.rstrip() + "\n" + _wrapped(" " * INDENT, check.title, width, INDENT)
    return _wrapped(head, check.title, width, INDENT)


def _said(label: str, text: str, width: int, indent: int = INDENT) -> str:
    return _wrapped(" " * indent + label.ljust(LABEL), text, width, indent + LABEL)


def _wrapped(head: str, text: str, width: int, hang: int) -> str:
    """Wrap *text* behind *head*; its own line breaks stay."""
    lines: list[str] = []
    for piece in clean(text).split("\n"):
        first = " " * hang if lines else head
        lines += textwrap.wrap(
            piece, width, initial_indent=first, subsequent_indent=" " * hang, break_on_hyphens=False
        ) or [first.rstrip()]
    return "\n".join(lines)


def _coloured(part_id: str, check: CheckResult, width: int, *, verbose: bool) -> Text:
    from rich.text import Text

    short = check.outcome == "passed" and not verbose
    text = Text(_head(part_id, check, width) if short else four_parts(part_id, check, width))
    if verbose:
        text.append("\n" + _said("rests on", BASES[check.basis], width))
    text.stylize(STYLES[check.outcome], 0, len(WORDS[check.outcome]))
    text.highlight_regex(
        rf"(?m)^ {{{INDENT}}}(measured|pairs|why|try|reason|by hand|rests on) ", "dim"
    )
    return text


def _heading(part: PartResult) -> Text:
    from rich.text import Text

    score = f"{points(part.score)}/{points(part.max_score)}{' bonus' * part.bonus}"
    return Text.assemble((clean(part.id), "bold"), f"  {clean(part.title)}  ", (score, "bold"))


def _totals(result: Result, width: int) -> Text:
    score = f"{points(result.score)} of {points(result.max_score)} points"
    said = {
        "score": f"{score}, {points(result.lost)} lost, {points(result.points_owed)} owed",
        "bonus": bonus(result),
        "owed": _settlers(result),
        "inputs": f"drawn with seed {result.seed}; --seed {result.seed} draws the same again",
        "graded on": f"{result.device.name} ({result.device.tier}), isolation {result.isolation}",
    }
    return labelled([(label, text) for label, text in said.items() if text], width)


def labelled(said: Sequence[tuple[str, str]], width: int = WIDTH) -> Text:
    """Write a text beside each label."""
    from rich.text import Text

    text = Text("\n".join(_said(label, text, width, indent=0) for label, text in said))
    labels = "|".join(dict(said))
    text.highlight_regex(rf"(?m)^({labels}) ", "dim")
    return text


def _settlers(result: Result) -> str:
    """Sum what is owed by who settles it."""
    sums = {
        who: sum(item.points for item in result.owed if item.settled_by == who)
        for who in SETTLED_BY
    }
    return "; ".join(
        f"{points(sums[who])} settled by {name}" for who, name in SETTLED_BY.items() if sums[who]
    )
