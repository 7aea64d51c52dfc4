"""What is asked, and which answers are right: of a profile, or known otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from autograder.checks import trace as profile
from autograder.checks.numerics import close, explained, shown
from autograder.checks.table_form import told_wrong
from autograder.model import Failed, Passed, Verdict
from autograder.traces.record import Slice, Trace

Values = Mapping[str, Any]
Slips = Mapping[str, Mapping[str, float]]
"""By the name of an answer and the words for a usual mistake: the number that it gives."""
CAUSES = (
    "between queued work",
    "data loading",
    "allocating",
    "synchronising",
    "launching",
    "Python and other",
)
NEARLY = 0.9  # of the largest cause: which of the two is larger is then a matter of the run
# How far a share of the breakdown may be off.
POINTS = 2.0
RELATIVE = 0.03
EXACT = 1e-3  # relative: a made profile leaves nothing but rounding
ROUNDED = 0.02  # relative: so much at most may rounding hide which mistake it is
LONGEST = 400  # characters of a name
LARGEST = 1e300
WRONG = "it is not the right answer"


@dataclass(frozen=True)
class Question:
    """What is asked: a quantity, a slice of the breakdown, names that lead a table; without any, what idles most."""

    group: str
    quantity: str = ""
    """Of `traces.claims`; an answer is in units of so many of its own."""
    unit: float = 1.0
    most: float = 1e12
    slice: str = ""
    names: int = 0
    rule: Callable[[Values], str] | None = None
    """Says how an answer does not follow from the others, which is all that is asked of it."""
    required: bool = False
    """Whether it may not be null."""
    zero: bool = False
    """Whether 0 is right where a profile with a GPU does not say it."""
    rounded: float = 1e-6

    def form_problem(self, name: str, value: Any) -> str:
        """Say that an answer is of another kind."""
        if self.rule or (value is None and not self.required):
            return ""
        if self.names:
            kind = f"a list of {self.names} names"
            right = isinstance(value, list) and len(value) == self.names
            right = right and all(isinstance(n, str) and 0 < len(n) <= LONGEST for n in value)
        elif self.quantity or self.slice:
            kind = f"a number from 0 to {self.most:g}"
            right = is_number(value) and 0 <= value <= self.most
        else:
            kind = f"one of {', '.join(CAUSES)}"
            right = isinstance(value, str) and value in CAUSES
        null = "" if self.required else ", or null"
        return "" if right else f"{name} is {quoted(value)}; it must be {kind}{null}"

    def difference(
        self,
        name: str,
        value: Any,
        right: Any,
        slips: Mapping[str, float],
    ) -> str:
        """Say how an answer is not the right one, and which usual mistake it looks like."""
        why, numbers = "", is_number(value) and is_number(right)
        near = numbers and (close(value, right, EXACT) or abs(value - right) <= self.rounded)
        if near or value == right:
            return ""
        if numbers:
            stories = [(number, words) for words, number in slips.items()]
            if self.most == 100.0:
                stories.append(
                    (
                        right / 100,
                        "that is the fraction, and it must be in percent",
                    )
                )
                stories.append((100 - right, f"that is the rest, 100 - {shown(right)}"))
            else:
                stories.append((1000 * right, "that is 1000 times too much, in another unit"))
                stories.append((right / 1000, "that is 1000 times too little, in another unit"))
            lost = min(self.rounded / max(abs(value), self.rounded), ROUNDED)
            why = explained(value, stories, max(EXACT, lost))
        if right is None:
            why = "this profile does not answer the question"
        elif value is None:
            why = "this profile answers the question"
        told = f"{name} is {shown(value)}"
        return told_wrong(told, why, f"{shown(right)} is right")

    def fit(self, name: str, value: Any, trace: Trace, try_: str) -> Verdict:
        """Pass an answer that a profile bears out, under some accepted definition."""
        if self.names:
            return profile.names_top(profile.work_of(trace), value, try_=try_)
        parts = idle(trace)
        in_profile = profile.in_short(trace, self.quantity) if self.quantity else _listed(parts[:2])
        if not in_profile and (
            value is None or (self.zero and value == 0 and profile.has_gpu(trace))
        ):
            return Passed(f"{name} is {quoted(value)}: nothing says it")
        if value is None:
            return Failed(f"{name} is null", f"{trace.file} says it: {in_profile}", try_)
        if not in_profile:
            why = f"{trace.file} cannot say it: null is right, with a reason"
            return Failed(f"{name} is {shown(value)}", why, try_)
        if self.quantity:
            judged = profile.agrees(trace, self.quantity, float(value) * self.unit, try_=try_)
            return replace(judged, measured=f"{name} is {shown(value)}: {judged.measured}")
        shares = {part.name: share for part, share in parts}
        if self.slice:
            share = shares.get(self.slice, 0.0)
            right = abs(value - share) <= max(POINTS, RELATIVE * share)
            why = f"{self.slice} takes {share:.1f} % of the steps"
        else:
            right = shares.get(value, 0.0) >= NEARLY * parts[0][1]
            why = f"{parts[0][0].name} is the largest"
        measured = f"{name} is {quoted(value)}; idle time is {_listed(parts)}"
        return Passed(measured) if right else Failed(measured, why, try_)


@dataclass(frozen=True)
class Known:
    """What is asked with an answer that is known: itself, a band (low, high), or computed from the file handed in."""

    right: Any
    """A number, a word or a boolean; a pair of numbers for a band; or a function of the file that returns one."""
    within: float = 1e-6
    """Of a number, relative."""
    one_of: Sequence[Any] = ()
    slips: Mapping[str, float | Callable[..., float]] = field(default_factory=dict)
    """Words for a usual mistake: the number that it gives, or a function of the file that returns it."""
    why: str = ""
    group: str = ""
    rule: ClassVar[None] = None

    def form_problem(self, name: str, value: Any) -> str:
        """Say that an answer is of another kind."""
        if self.one_of:
            kind = f"one of {', '.join(map(str, self.one_of))}"
            right = any(value == choice and type(value) is type(choice) for choice in self.one_of)
        elif is_number(self.right) or isinstance(self.right, tuple):
            kind, right = "a number", _finite(value)
        else:
            kind = "a number, a word, true or false"
            short = isinstance(value, str) and len(value) <= LONGEST
            right = short or isinstance(value, bool) or _finite(value)
        return "" if right else f"{name} is {quoted(value)}; it must be {kind}"

    def fit(self, name: str, value: Any, file: Any, try_: str) -> Verdict:
        """Pass the right answer; one that is computed from a file is told, since the file tells it."""
        right = self.right(file) if callable(self.right) else self.right
        if self._is_right(value, right):
            return Passed(f"{name} is {shown(value)}")
        stories = [(it(file) if callable(it) else it, why) for why, it in self.slips.items()]
        slip = explained(value, stories, self.within) if is_number(value) else ""
        source = f"; {file.file} gives {_expected(right)}" if callable(self.right) else ""
        return Failed(
            f"{name} is {shown(value)}{source}",
            slip or self.why or WRONG,
            try_,
        )

    def _is_right(self, value: Any, right: Any) -> bool:
        if isinstance(right, tuple):
            return is_number(value) and right[0] <= value <= right[1]
        if is_number(right):
            return is_number(value) and close(value, right, self.within)
        return type(value) is type(right) and bool(value == right)


def percent(group: str, quantity: str = "", **more: Any) -> Question:
    """Ask for a share."""
    return Question(group, quantity, most=100.0, **more)


def is_number(value: Any) -> bool:
    """Whether an answer is a number."""
    return isinstance(value, float | int) and not isinstance(value, bool)


def _finite(value: Any) -> bool:
    """Whether arithmetic with this number is possible: JSON has NaN, and numbers of thousands of digits."""
    return is_number(value) and abs(value) <= LARGEST


def _expected(right: Any) -> str:
    return f"{right[0]:.4g} to {right[1]:.4g}" if isinstance(right, tuple) else shown(right)


def quoted(value: Any) -> str:
    """Return an answer as JSON has it."""
    return "null" if value is None else repr(value)[:60]


def idle(trace: Trace) -> list[tuple[Slice, float]]:
    """Return what idle time is put to, the largest first, with its share of the window in percent."""
    parts = next(iter(trace.breakdown.values()), ())
    whole = sum(part.ns for part in parts) or 1
    causes = [(part, 100.0 * part.ns / whole) for part in parts if part.name in CAUSES]
    return sorted(causes, key=lambda pair: -pair[1])


def _listed(parts: Sequence[tuple[Slice, float]]) -> str:
    return ", ".join(f"{part.name} {share:.1f} %" for part, share in parts)
