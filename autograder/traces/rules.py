"""What Nsight Compute itself says would make a kernel faster, with its estimate of how much.

A *global* estimate is a share of the kernel's time, a *local* one says how much better the part
that is looked at could be used, which need not make the kernel faster.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from autograder.traces import printed_tables
from autograder.traces.record import Rule

LARGEST = 3
LETTERS = 600
ESTIMATE = re.compile(r"Est(?:\.|imated) ?Speedup(?: \[?%\]?)?")
"""The column of a table."""
SAID = re.compile(r"Est(?:\.|imated) (Local )?Speedup: ?([\d.,]+) ?%")
"""The same in words."""
MESSAGE = re.compile(r"\s+(?:OPT|WRN|INF)\s{2,}(\S.*)")
NUMBERS = re.compile(r"\d[\d.,]*")


LONGEST = 20
"""Lines of a message."""


@dataclass(frozen=True)
class Message:
    """One message of a rule about one launch."""

    name: str
    percent: float
    local: bool
    text: str

    @property
    def kind(self) -> tuple[str, bool, str]:
        """Return what it says, apart from its numbers."""
        return self.name, self.local, NUMBERS.sub("#", self.text)


def of_row(row: Mapping[str, str], decimal: printed_tables.Point) -> Message | None:
    """Read a line of the details page; most of them are of metrics, or estimate nothing."""
    name = row.get("Rule Name", "")
    if not name:
        return None
    text = row.get("Rule Description", "")
    column = next((row[title] for title in row if ESTIMATE.fullmatch(title)), "")
    percent = printed_tables.number(column.strip().removesuffix("%").strip(), decimal)
    if percent is None:
        return in_words(name, text, decimal)
    local = row.get("Estimated Speedup Type", "").strip().lower() == "local"
    return _message(name, percent, local, text)


def message(lines: Sequence[str], at: int) -> str:
    """Return the text of a message that begins in this line of a terminal."""
    kept = [MESSAGE.sub(r"\1", lines[at])]
    for line in lines[at + 1 : at + LONGEST]:
        if not line.strip() or MESSAGE.match(line):
            break
        kept.append(line)
    return " ".join(kept)


def in_words(name: str, text: str, decimal: printed_tables.Point) -> Message | None:
    """Read a message that begins with its estimate, as on a terminal."""
    said = SAID.search(text)
    percent = printed_tables.number(said[2], decimal) if said else None
    if said is None or percent is None:
        return None
    return _message(name, percent, bool(said[1]), text.replace(said[0], "", 1))


def _message(name: str, percent: float, local: bool, text: str) -> Message | None:
    """Keep an estimate that can be one."""
    text = " ".join(text.split())[:LETTERS]
    return Message(name[:100], percent, local, text) if 0 < percent <= 100 else None


def largest(launches: Iterable[tuple[str, float, Sequence[Message]]]) -> tuple[Rule, ...]:
    """Return the three that promise most, of launches with their kernel and time.

    What is said of several launches of a kernel is one rule. Estimates of the kernel's time come
    first, by the time that they save; then local ones, by their percentage.
    """
    alike: dict[tuple[str, tuple[str, bool, str]], list[tuple[Message, float]]] = {}
    for kernel, time, messages in launches:
        for message in messages:
            alike.setdefault((kernel, message.kind), []).append((message, time))
    rules = [_rule(kernel, group) for (kernel, _), group in alike.items()]
    rules.sort(key=lambda rule: (rule.local, -rule.saves_ns, -rule.percent))
    return tuple(rules[:LARGEST])


def _rule(kernel: str, group: Sequence[tuple[Message, float]]) -> Rule:
    most = max((message for message, _ in group), key=lambda message: message.percent)
    saved = sum(message.percent / 100 * time for message, time in group)
    return Rule(
        most.name,
        kernel,
        most.percent,
        most.local,
        most.text,
        launches=len(group),
        saves_ns=0.0 if most.local else saved,
    )
