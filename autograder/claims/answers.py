"""Claims about answers to questions: those of a function about made profiles, and a file of them.

questions = Answers(part, "analyse_profile", FORM, ...)    FORM: what is asked, by name
questions.asks(made)                                       the probe: made profiles of which everything is known
questions.knows(...)                                       what the function says of them is right
questions.fits(...)                                        the answers.json handed in has its form, and is right
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, ClassVar

from autograder.checks import trace as profile
from autograder.checks.numerics import close, explained, shown
from autograder.claims.base import joined
from autograder.lab import CELL, NUMBER, TEXT, Part, Rig, Student, list_of, map_of
from autograder.model import Failed, Pair, Passed, Text, Verdict
from autograder.traces.record import Slice, Trace

Values = Mapping[str, Any]
Slips = Mapping[str, Mapping[str, float]]
"""By the name of an answer and the words for a usual mistake: the number that it gives."""
Made = Callable[[Any], Iterable[tuple[bytes, Values, Slips]]]
"""Draws made profiles from the rig, or from the part's own: file, right answers, what usual mistakes give."""
CAUSES = (
    "between queued work",
    "data loading",
    "allocating",
    "synchronising",
    "launching",
    "Python and other",
)
NEARLY = 0.9  # of the largest cause: which of the two is larger is then a matter of the run
POINTS, RELATIVE = 2.0, 0.03  # how far a share of the breakdown may be off
EXACT = 1e-3  # relative: a made profile leaves nothing but rounding
ROUNDED = 0.02  # relative: so much at most may rounding hide which mistake it is
NESTED = 50  # brackets, far more than answers have
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
            right = _number(value) and 0 <= value <= self.most
        else:
            kind = f"one of {', '.join(CAUSES)}"
            right = isinstance(value, str) and value in CAUSES
        null = "" if self.required else ", or null"
        return "" if right else f"{name} is {_quoted(value)}; it must be {kind}{null}"

    def difference(self, name: str, value: Any, right: Any, slips: Mapping[str, float]) -> str:
        """Say how an answer is not the right one, and which usual mistake it looks like."""
        why, numbers = "", _number(value) and _number(right)
        near = numbers and (close(value, right, EXACT) or abs(value - right) <= self.rounded)
        if near or value == right:
            return ""
        if numbers:
            stories = [(number, words) for words, number in slips.items()]
            if self.most == 100.0:
                stories.append((right / 100, "that is the fraction, and it must be in percent"))
                stories.append((100 - right, "that is the rest"))
            else:
                stories.append((1000 * right, "the unit is one step too small"))
                stories.append((right / 1000, "the unit is one step too large"))
            lost = min(self.rounded / max(abs(value), self.rounded), ROUNDED)
            why = explained(value, stories, max(EXACT, lost))
        return f"{name} is {shown(value)}, and {shown(right)} is right{': ' * bool(why)}{why}"

    def fit(self, name: str, value: Any, trace: Trace, try_: str) -> Verdict:
        """Pass an answer that a profile bears out, under some accepted definition."""
        if self.names:
            return profile.names_top(profile.work_of(trace), value, try_=try_)
        parts = idle(trace)
        known = profile.known(trace, self.quantity) if self.quantity else _listed(parts[:2])
        if not known and (value is None or (self.zero and value == 0 and profile.has_gpu(trace))):
            return Passed(f"{name} is {_quoted(value)}: nothing says it")
        if value is None:
            return Failed(f"{name} is null", f"{trace.file} says it: {known}", try_)
        if not known:
            why = f"{trace.file} cannot say it: null is right, with a reason"
            return Failed(f"{name} is {shown(value)}", why, try_)
        if self.quantity:
            return profile.agrees(trace, self.quantity, float(value) * self.unit, try_=try_)
        shares = {part.name: share for part, share in parts}
        if self.slice:
            share = shares.get(self.slice, 0.0)
            right = abs(value - share) <= max(POINTS, RELATIVE * share)
            why = f"{self.slice} takes {share:.1f} % of the steps"
        else:
            right = shares.get(value, 0.0) >= NEARLY * parts[0][1]
            why = f"{parts[0][0].name} is the largest"
        measured = f"{name} is {_quoted(value)}; idle time is {_listed(parts)}"
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
            right = any(value == one and type(value) is type(one) for one in self.one_of)
        elif _number(self.right) or isinstance(self.right, tuple):
            kind, right = "a number", _finite(value)
        else:
            kind = "a number, a word, true or false"
            short = isinstance(value, str) and len(value) <= LONGEST
            right = short or isinstance(value, bool) or _finite(value)
        return "" if right else f"{name} is {_quoted(value)}; it must be {kind}"

    def fit(self, name: str, value: Any, file: Any, try_: str) -> Verdict:
        """Pass the right answer; one that is computed from a file is told, since the file tells it."""
        right = self.right(file) if callable(self.right) else self.right
        if self._is_right(value, right):
            return Passed(f"{name} is {shown(value)}")
        stories = [(it(file) if callable(it) else it, why) for why, it in self.slips.items()]
        slip = explained(value, stories, self.within) if _number(value) else ""
        told = f"; {file.file} gives {_expected(right)}" if callable(self.right) else ""
        return Failed(f"{name} is {shown(value)}{told}", slip or self.why or WRONG, try_)

    def _is_right(self, value: Any, right: Any) -> bool:
        if isinstance(right, tuple):
            return _number(value) and right[0] <= value <= right[1]
        if _number(right):
            return _number(value) and close(value, right, self.within)
        return type(value) is type(right) and bool(value == right)


def percent(group: str, quantity: str = "", **more: Any) -> Question:
    """Ask for a share."""
    return Question(group, quantity, most=100.0, **more)


class Answers:
    """What is asked, and what is claimed of the answers.

    Of two forms the first is for profiles with a GPU and the second for those without; a name of its own tells which.
    """

    def __init__(
        self,
        part: Part,
        function: str,
        *forms: Mapping[str, Question | Known],
        see: str,
        reason: str = "",
    ) -> None:
        """Name the student's function, and the group of questions in which its *reason* is judged.

        Without either there is only a file, or no answer is null.
        """
        self.part, self.function, self.forms = part, function, forms
        self.reason, self.see = reason, see

    def asks(self, made: Made) -> Made:
        """Register the probe: the function is called with one file after the other."""

        @self.part.probe(
            pair=True,
            values={"told": ROWS, "known": ROWS, "slips": list_of(map_of(map_of(NUMBER)))},
            takes=[self.function],
        )
        def analysed(student: Student, rig: Rig) -> Any:
            told, known, slips = [], [], []
            for number, (data, right, usual) in enumerate(made(rig)):
                file = rig.folder / f"made_profile_{number}.json.gz"
                file.write_bytes(data)
                known.append(right)
                slips.append(usual)
                if rig.side == "student":
                    returned = getattr(student, self.function)(str(file))
                    told.append(self._row(rig, rig.returned(self.function, returned)))
            return {"told": told, "known": known, "slips": slips}

        return made

    def _row(self, rig: Rig, returned: Any) -> dict[str, Any]:
        row: dict[str, Any] = rig.rows([returned], self.function)[0]
        for name, question in self.forms[0].items():
            names = returned.get(name)
            if (
                isinstance(question, Question)
                and question.names
                and hasattr(names, "__len__")
                and not isinstance(names, str)
            ):
                row[name] = [rig.text(each) for each in islice(names, 10)]
        return row

    def knows(self, name: str, says: str, group: str, *, try_: str = "") -> None:
        """Claim that the function's answers of a group are right about each made profile."""

        def judge(analysed: Pair) -> Verdict:
            told, sure = analysed.student.values["told"], analysed.baseline.values
            known = sure["known"]
            if len(told) != len(known):
                answers = f"{len(told)} answers to {len(known)} profiles"
                return Failed(answers, "each is to be answered", self.see)
            for number, each in enumerate(zip(told, known, sure["slips"], strict=True), 1):
                if why := self.made_problem(*each, group):
                    gpu = "with" if self._is_of_a_gpu(each[1]) else "without"
                    measured = f"made profile {number}, {gpu} a GPU"
                    return Failed(measured, why, joined(try_, self.see))
            return Passed(f"{len(known)} made profiles")

        self.part.add_check(name, says, "scripted", judge, ["analysed"])

    def fits(
        self,
        name: str,
        says: str,
        *groups: str,
        about: str = "",
        file: str = "answers",
        try_: str = "",
        needs: Sequence[str] = (),
    ) -> None:
        """Claim that a *file* of answers has its form, and that those of some groups are right.

        They are *about* another file: a profile, or whatever the questions compute their answers from. Let the check
        *needs* the one that says that this file is in order.
        """

        def judge(answers: Text, *others: Any) -> Verdict:
            values, problem = self.parsed(answers)
            if problem:
                return Failed(answers.file, problem, try_ or self.see)
            verdict = self.fit(values, next(iter(others), None), *groups, try_=try_ or self.see)
            return Passed(f"{len(self.form(values))} answers") if verdict == Passed("") else verdict

        reads = [file, *filter(None, [about])]
        self.part.add_check(name, says, "artefact", judge, reads, needs)

    def form(self, answers: Values) -> Mapping[str, Question | Known]:
        """Tell by its own names which of the forms is meant."""
        own = [name for name in self.forms[0] if name not in self.forms[-1]]
        return self.forms[0] if any(name in answers for name in own) else self.forms[-1]

    def _is_of_a_gpu(self, known: Values) -> bool:
        if len(self.forms) > 1:
            return self.form(known) is self.forms[0]
        return None not in known.values()

    def parsed(self, text: Text) -> tuple[Values, str]:
        """Read a file of answers; the problem says why there are none."""
        if len(re.findall(r"[\[{]", text.text)) > NESTED:
            return {}, "it is nested; it must be one object"
        try:
            answers = json.loads(text.text)
        except ValueError as error:
            return {}, f"it is not JSON ({error}); json.dumps(answers) writes it, null for None"
        if not isinstance(answers, dict):
            return {}, "it is not one object, {...}"
        return answers, self.form_problem(answers)

    def form_problem(self, answers: Values) -> str:
        """Say which name is missing, not asked for, or holds something of another kind."""
        form = self.form(answers)
        names = (*form, *["reason"] * bool(self.reason))
        odd = next((name for name in answers if name not in names), None)
        if odd is not None and any(odd in other for other in self.forms):
            return f"'{odd}' is of the other form: the names are those with a GPU, or those without one"
        if odd is not None:
            return f"'{odd[:60]}' is not asked for"
        for name in names:
            if name not in answers:
                return f"'{name}' is missing"
        problems = (question.form_problem(name, answers[name]) for name, question in form.items())
        problem = next(filter(None, problems), "")
        if problem or not self.reason:
            return problem
        if not isinstance(answers["reason"], str | None):
            return f"reason is {_quoted(answers['reason'])}; it must be words, or null"
        rules = (question.rule(answers) for question in form.values() if question.rule)
        return _reason_problem(answers) or next(filter(None, rules), "")

    def made_problem(self, told: Values, known: Values, slips: Slips, group: str) -> str:
        """Say how the answers of a group are not those of a made profile."""
        for name, question in self.form(known).items():
            if isinstance(question, Question) and question.group == group:
                if name not in told:
                    return f"'{name}' is missing"
                if question.rule:
                    why = question.rule(told)
                else:
                    why = question.difference(name, told[name], known[name], slips.get(name, {}))
                if why:
                    return why
        right = {**known, "reason": told.get("reason")}
        return _reason_problem(right) if group == self.reason else ""

    def fit(self, answers: Values, file: Any, *groups: str, try_: str) -> Verdict:
        """Pass answers of some groups, or of all that are known, that are right or that a profile bears out."""
        form = self.form(answers)
        if len(self.forms) > 1 and file and profile.has_gpu(file) != (form is self.forms[0]):
            has_gpu = profile.has_gpu(file)
            names = "without one" if has_gpu else "with a GPU"
            why = f"{file.file} holds {'the' if has_gpu else 'no'} work of a GPU"
            return Failed(f"the answers are those {names}", why, try_)
        passed = []
        for name, question in form.items():
            wanted = question.group in groups or (isinstance(question, Known) and not groups)
            if wanted and not question.rule:
                verdict = question.fit(name, answers[name], file, try_)
                if not isinstance(verdict, Passed):
                    return verdict
                passed.append(verdict.measured)
        return Passed("; ".join(passed))


ROWS = list_of(map_of({"anyOf": [*CELL["anyOf"], list_of(TEXT)]}))


def _number(value: Any) -> bool:
    return isinstance(value, float | int) and not isinstance(value, bool)


def _finite(value: Any) -> bool:
    """Whether arithmetic with this number is possible: JSON has NaN, and numbers of thousands of digits."""
    return _number(value) and abs(value) <= LARGEST


def _expected(right: Any) -> str:
    return f"{right[0]:.4g} to {right[1]:.4g}" if isinstance(right, tuple) else shown(right)


def _quoted(value: Any) -> str:
    return "null" if value is None else repr(value)[:60]


def _reason_problem(answers: Values) -> str:
    """Say that something is null without a reason, or that there is a reason for nothing."""
    null = next((n for n, value in answers.items() if value is None and n != "reason"), "")
    given = bool(str(answers["reason"] or "").strip())
    if null and not given:
        return f"{null} is null, and reason does not say why"
    spare = (
        "reason says why something is null, and nothing is; what was not recorded is null, not 0"
    )
    return spare if given and not null else ""


def idle(trace: Trace) -> list[tuple[Slice, float]]:
    """Return what idle time is put to, the largest first, with its share of the window in percent."""
    parts = next(iter(trace.breakdown.values()), ())
    whole = sum(part.ns for part in parts) or 1
    causes = [(part, 100.0 * part.ns / whole) for part in parts if part.name in CAUSES]
    return sorted(causes, key=lambda pair: -pair[1])


def _listed(parts: Sequence[tuple[Slice, float]]) -> str:
    return ", ".join(f"{part.name} {share:.1f} %" for part, share in parts)
