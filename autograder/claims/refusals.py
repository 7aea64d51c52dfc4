"""Claims about what a function refuses: it raises an error of one kind, and what is just allowed still works."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NotRequired, Unpack

from autograder.checks.result_form import named
from autograder.claims.claimed import Claimed, Words
from autograder.claims.families import DRAWN, Case
from autograder.lab import INTEGER, TEXT, list_of, record
from autograder.model import Basis, Failed, Observation, Passed, Verdict

REFUSES = "refuses"
TAKEN = "this call is allowed, and must return", "raise only in the cases that the handout names"
Changes = Mapping[str, Any]
"""By name: sizes that `inputs` draws are fixed; whatever else is handed over in place of what was drawn."""
ENDS = list_of(record(case=TEXT, errors=list_of(TEXT), came=TEXT, calls=INTEGER))


class Refused(Words):
    """What a claim about refusals is told as well."""

    before: NotRequired[str]
    """An input that is a function: it has to raise before it calls that for the first time."""
    takes: NotRequired[Mapping[str, Changes]]
    """What is just allowed: it has to return."""


class Refuses(Claimed):
    """refuses."""

    def refuses(
        self,
        cases: Mapping[str, Changes],
        error: type[Exception] = ValueError,
        **words: Unpack[Refused],
    ) -> None:
        """Claim that each of these calls raises this error, or a kind of it, and that *takes* names no such call."""
        before, allowed = words.get("before", ""), words.get("takes", {})

        def refusals(student: Any, rig: Any) -> dict[str, Any]:
            answers, ends = rig.answers(student), []
            for name, changes in [*cases.items(), *allowed.items()]:
                given, calls = self._changed(rig, name, changes), [0]
                if before:
                    given[before] = _counted(given[before], calls)
                came = answers.tried(lambda it: self.call(student, it), given)
                errors = [kind.__name__ for kind in type(came).__mro__]
                end = {"case": name, "came": answers.named(came), "calls": calls[0]}
                ends.append({**end, "errors": errors * isinstance(came, Exception)})
            return {"ends": ends}

        def judge(observation: Observation) -> Verdict:
            ends = observation.values["ends"]
            refused, kept = ends[: len(cases)], ends[len(cases) :]
            problems = [_problem(end, error.__name__, before) for end in refused]
            problems += [_refusal(end, error.__name__) for end in kept]
            measured = next(filter(None, problems), "")
            if measured.endswith(f"no {error.__name__} is expected"):
                return Failed(measured, *TAKEN)
            if measured:
                why = f"{self.function} must raise {error.__name__} when it cannot do its work"
                return Failed(measured, words.get("why", why), words["try_"])
            return Passed(f"{error.__name__} in {', '.join(cases)}")

        # A count of calls is kept beside the student's code; an error is what comes out of it.
        basis: Basis = "report" if before else "outputs"
        probe = self.add_probe(self.named("refusals", words), refusals, values={"ends": ENDS})
        said = f"{self.function} raises {error.__name__} for: {', '.join(cases)}."
        self.add_check(REFUSES, said, basis, judge, [probe], words, own_why=True)

    def _changed(self, rig: Any, name: str, changes: Changes) -> dict[str, Any]:
        sizes = {name: size for name, size in changes.items() if name in self.sizes}
        given = self.given(rig, Case(name, sizes) if sizes else DRAWN)
        return given | {name: it for name, it in changes.items() if name not in sizes}


def _counted(function: Callable[..., Any], calls: list[int]) -> Callable[..., Any]:
    def counted(*args: Any, **kwargs: Any) -> Any:
        calls[0] += 1
        return function(*args, **kwargs)

    return counted


def _problem(end: Mapping[str, Any], error: str, before: str) -> str:
    if error not in end["errors"]:
        return f"{named(end)}: {_came(end)}, {error} is expected"
    called = f"{named(end)}: {before} was called before {error} was raised"
    return called if end["calls"] else ""


def _refusal(end: Mapping[str, Any], error: str) -> str:
    return f"{named(end)}: {_came(end)}, no {error} is expected" if end["errors"] else ""


def _came(end: Mapping[str, Any]) -> str:
    return str(end["came"]) if end["errors"] else "no error came"
