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
from dataclasses import replace
from itertools import islice
from types import MappingProxyType
from typing import Any

from autograder.checks import trace as profile
from autograder.checks.hints import Causes, Hints, hinted
from autograder.checks.table_form import parted
from autograder.claims.questions import (
    CAUSES,
    WRONG,
    Known,
    Question,
    Slips,
    Values,
    idle,
    percent,
    quoted,
)
from autograder.lab import (
    CELL,
    NUMBER,
    TEXT,
    Part,
    Rig,
    Student,
    list_of,
    map_of,
)
from autograder.model import Failed, Pair, Passed, Text, Verdict

__all__ = [
    "CAUSES",
    "Answers",
    "Known",
    "Question",
    "Slips",
    "Values",
    "idle",
    "percent",
]

CONSTANT = "your code returns the same answers for every profile"
Made = Callable[[Any], Iterable[tuple[bytes, Values, Slips]]]
"""Draws made profiles from the rig, or from the part's own: file, right answers, what usual mistakes give."""
UNIT = "convert the number: the name of the answer ends in its unit"
SLIPPED: Hints = {
    CONSTANT: "compute each answer from the events of the file",
    "that is the fraction": "multiply by 100: shares are in percent",
    "that is the rest": "return the share that is asked for, and not the rest",
    "in another unit": UNIT,
    "is null, and reason": "write into reason why an answer is null",
    "reason says why": "leave reason at null, or write null for the answer that the file cannot give",
}
"""What to try of answers about made profiles, by words of a failure."""
FILED: Hints = {
    "that is the fraction": "multiply by 100: shares are in percent",
    "the rest, and not the share": "write the share itself",
    "in another unit": UNIT,
    "null is right": "write null, and say in reason why the profile does not answer it",
    "is null, and reason": "write into reason why an answer is null",
    "reason says why": "write null for reason, or for the answer that the profile does not give",
    "not a utilization": "take the share of the time of the steps, as perflab trace prints it",
    "is the largest": "name the cause that takes the largest share of the idle time",
    "'; it must be a number": "write the number alone, without quotes or a unit",
    "' is missing": "write this answer, too, or null if the profile does not answer it",
    "the names are those": "take the names from the handout's other column: with a GPU, or without one",
    "of the other form": "take all names from one column: with a GPU, or without one",
    "it is not JSON": "write the file with json.dump(answers, file)",
}
"""The same of answers that are handed in."""
FORMED = "the file must have the form that the handout shows"
NESTED = 50  # brackets, far more than answers have
ROWS = list_of(map_of({"anyOf": [*CELL["anyOf"], list_of(TEXT)]}))


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
        self.part = part
        self.function = function
        self.forms = forms
        self.reason, self.see = reason, see

    def asks(self, made: Made) -> Made:
        """Register the probe: the function is called with one file after the other."""

        @self.part.probe(
            pair=True,
            values={
                "reported": ROWS,
                "expected": ROWS,
                "slips": list_of(map_of(map_of(NUMBER))),
            },
            takes=[self.function],
        )
        def analysed(student: Student, rig: Rig) -> Any:
            reported, expected, slips = [], [], []
            for number, (data, right, usual) in enumerate(made(rig)):
                file = rig.folder / f"made_profile_{number}.json.gz"
                file.write_bytes(data)
                expected.append(right)
                slips.append(usual)
                if rig.side == "student":
                    returned = getattr(student, self.function)(str(file))
                    reported.append(self._row(rig, rig.returned(self.function, returned)))
            return {"reported": reported, "expected": expected, "slips": slips}

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

    def knows(
        self,
        name: str,
        says: str,
        group: str,
        *,
        try_: str = "",
        hints: Causes = MappingProxyType({}),
    ) -> None:
        """Claim that the function's answers of a group are right about each made profile.

        *hints* say what to try, by words of a failure; *try_* is for the others.
        """

        def judge(analysed: Pair) -> Verdict:
            reported = analysed.student.values["reported"]
            sure = analysed.baseline.values
            expected = sure["expected"]
            if len(reported) != len(expected):
                answers = f"{len(reported)} answers to {len(expected)} profiles"
                return Failed(answers, "each is to be answered", self.see)
            for number, each in enumerate(zip(reported, expected, sure["slips"], strict=True), 1):
                if why := self.made_problem(*each, group):
                    kernel = "with kernels" if self._is_of_a_gpu(each[1]) else "without a kernel"
                    measured = f"profile {number}, which the grader made, {kernel}"
                    figure, cause = parted(why)
                    if " where [" in why:
                        figure, cause = why.replace(" where [", ", and ["), WRONG
                    if cause := CONSTANT if _is_constant(reported) else cause:
                        measured, why = f"in {measured}: {figure}", cause
                    judged = Failed(measured, why, try_ or self.see)
                    return hinted(judged, {**SLIPPED, **hints})
            return Passed(f"{len(expected)} made profiles")

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
        source: str = "",
    ) -> None:
        """Claim that a *file* of answers has its form, and that those of some groups are right.

        They are *about* another file: a profile, or whatever the questions compute their answers from. Let the check
        *needs* the one that says that this file is in order, or name that one as its *source*.
        """

        def judge(answers: Text, *others: Any) -> Verdict:
            values, problem = self.parsed(answers)
            if problem:
                measured = f"{answers.file}: {problem}"
                return hinted(Failed(measured, FORMED, try_ or self.see), FILED)
            verdict = self.fit(
                values,
                next(iter(others), None),
                *groups,
                try_=try_ or self.see,
            )
            if verdict == Passed(""):
                return Passed(f"{len(self.form(values))} answers")
            judged = hinted(verdict, FILED)
            if source and isinstance(judged, Failed):
                return replace(judged, try_=f"fix {source} first if it fails; else {judged.try_}")
            return judged

        reads = [file, *filter(None, [about])]
        self.part.add_check(name, says, "artefact", judge, reads, needs)

    def form(self, answers: Values) -> Mapping[str, Question | Known]:
        """Tell by its own names which of the forms is meant."""
        own = [name for name in self.forms[0] if name not in self.forms[-1]]
        return self.forms[0] if any(name in answers for name in own) else self.forms[-1]

    def _is_of_a_gpu(self, expected: Values) -> bool:
        if len(self.forms) > 1:
            return self.form(expected) is self.forms[0]
        return None not in expected.values()

    def parsed(self, text: Text) -> tuple[Values, str]:
        """Read a file of answers; the problem says why there are none."""
        if len(re.findall(r"[\[{]", text.text)) > NESTED:
            return {}, "it is nested; it must be one object"
        try:
            answers = json.loads(text.text)
        except ValueError as error:
            return (
                {},
                (
                    f"it is not JSON ({error}); json.dumps(answers) writes "
                    f"it, null for None, 61.5 for 61,5"
                ),
            )
        if not isinstance(answers, dict):
            return {}, "it is not one object, {...}"
        return answers, self.form_problem(answers)

    def form_problem(self, answers: Values) -> str:
        """Say which name is missing, not one of the names, or holds something of another kind."""
        form = self.form(answers)
        names = (*form, *["reason"] * bool(self.reason))
        odd = next((name for name in answers if name not in names), None)
        if odd is not None and any(odd in other for other in self.forms):
            return f"'{odd}' is of the other form: the names are those with a GPU, or those without one"
        if odd is not None:
            return f"'{odd[:60]}' is not one of the names"
        for name in names:
            if name not in answers:
                return f"'{name}' is missing"
        problems = (question.form_problem(name, answers[name]) for name, question in form.items())
        problem = next(filter(None, problems), "")
        if problem or not self.reason:
            return problem
        if not isinstance(answers["reason"], str | None):
            return f"reason is {quoted(answers['reason'])}; it must be words, or null"
        rules = (question.rule(answers) for question in form.values() if question.rule)
        return _reason_problem(answers) or next(filter(None, rules), "")

    def made_problem(self, reported: Values, expected: Values, slips: Slips, group: str) -> str:
        """Say how the answers of a group are not those of a made profile."""
        for name, question in self.form(expected).items():
            if isinstance(question, Question) and question.group == group:
                if name not in reported:
                    return f"'{name}' is missing"
                if question.rule:
                    why = question.rule(reported)
                else:
                    why = question.difference(
                        name, reported[name], expected[name], slips.get(name, {})
                    )
                if why:
                    return why
        right = {**expected, "reason": reported.get("reason")}
        return _reason_problem(right) if group == self.reason else ""

    def fit(self, answers: Values, file: Any, *groups: str, try_: str) -> Verdict:
        """Pass answers of some groups, or of all that are known, that are right or that a profile bears out."""
        form = self.form(answers)
        if len(self.forms) > 1 and file and profile.has_gpu(file) != (form is self.forms[0]):
            has_gpu = profile.has_gpu(file)
            names = "without one" if has_gpu else "with a GPU"
            why = f"{file.file} holds {'the' if has_gpu else 'no'} work of a GPU"
            return Failed(f"the names are those for a profile {names}", why, try_)
        passed = []
        for name, question in form.items():
            wanted = question.group in groups or (isinstance(question, Known) and not groups)
            if wanted and not question.rule:
                verdict = question.fit(name, answers[name], file, try_)
                if not isinstance(verdict, Passed):
                    return verdict
                passed.append(verdict.measured)
        return Passed("; ".join(passed))


def _is_constant(reported: Sequence[Values]) -> bool:
    same = all(it == reported[0] for it in reported)
    return same and len(reported) > 1 and any(reported[0].values())


def _reason_problem(answers: Values) -> str:
    """Say that something is null without a reason, or that there is a reason for nothing."""
    null = next(
        (n for n, value in answers.items() if value is None and n != "reason"),
        "",
    )
    given = bool(str(answers["reason"] or "").strip())
    if null and not given:
        return f"{null} is null, and reason is empty"
    spare = (
        "reason says why something is null, and nothing is; what was not recorded is null, not 0"
    )
    return spare if given and not null else ""
