"""The claim about an object that has state: a drawn list of calls, each answer compared with a trusted object's.

def script(random, batch=(2, 5)):                       draws what the object is made of, by name, and the calls
    keys = random.normal(size=(batch, 4))
    return {"batch": batch}, [("append", keys), ("length",), refused("append", keys[:0])]

cache.calls(script, {"one sequence": {"batch": 1}}, why=..., try_=...)

A call is the name of a method and its arguments, of which arrays become tensors, or the name of an attribute. Some 400
answers fit into what a worker may send; an object is left alone after an error that nobody asked for.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from typing import Any, Unpack

import numpy as np

from autograder.checks import outputs
from autograder.claims.claimed import Claimed
from autograder.claims.families import Case, Sizes, every
from autograder.claims.tolerances import Near, allowed
from autograder.lab import CASES, NUMBERS, TEXT, Rig, Student, list_of
from autograder.model import Failed, Pair, Verdict

FOLLOWS = "follows_the_script"
Make = Callable[[Any, Mapping[str, Any], Any], Any]
"""Of what was written, what was drawn for it and the rig: the object that is called."""
LONGEST = 40  # characters of an argument
OBJECTS = ("", ", second object")
"""Two are called in turns, so that state which belongs to the class is noticed."""


@dataclass(frozen=True)
class Call:
    """One call, and the errors of which it has to raise one, if any."""

    name: str
    arguments: tuple[Any, ...] = ()
    errors: tuple[type[Exception], ...] = ()

    def __str__(self) -> str:
        """Write it as code, arrays by their shape."""
        return f"{self.name}({', '.join(map(_written, self.arguments))})"


Drawn = Call | tuple[Any, ...]
Script = Callable[..., tuple[Mapping[str, Any], Sequence[Drawn]]]


def refused(name: str, *arguments: Any, error: type[Exception] = ValueError) -> Call:
    """Return a call that has to raise this error, or a kind of it; the object has to work afterwards."""
    return Call(name, arguments, (error,))


class Calls(Claimed):
    """calls."""

    def calls(
        self,
        script: Script,
        cases: Mapping[str, Sizes] | None = None,
        *,
        make: Make | None = None,
        oracle: Any = None,
        overwrites: bool = False,
        **words: Unpack[Near],
    ) -> None:
        """Claim the answers of the baseline's object, or of an *oracle*'s, to each call of a script.

        The script's sizes are drawn as those of `inputs`; *cases* fix some. With *overwrites* the tensors of a call are
        written over after it, and every tensor that was returned has to be the same at the end.
        """
        parameters = list(inspect.signature(script).parameters.values())[1:]
        sizes = {each.name: each.default for each in parameters}
        tried = every(sizes, (), cases or {}, {}, arrays=False)
        self.require_drawn("calls", (case.sizes for case in tried), sizes)
        create = make or (lambda written, inputs, _: written(**inputs))

        def answered(student: Student, rig: Rig) -> dict[str, Any]:
            own = rig.side == "student"
            written = getattr(student, self.function) if own or oracle is None else oracle
            run = _Run(rig, student, overwrites)
            for case in tried:
                fixed = self.fixed(rig.random, case, sizes)
                drawn = [script(rig.random, **fixed.sizes) for _ in OBJECTS]
                turns = [
                    run.turns(fixed, place, partial(create, written, inputs, rig), calls)
                    for place, (inputs, calls) in zip(OBJECTS, drawn, strict=True)
                ]
                for _ in zip_longest(*turns):
                    pass
            return run.answered()

        def judge(pair: Pair) -> Verdict:
            kept = outputs.unchanged(pair.student.values["changed"], try_=words["try_"])
            if isinstance(kept, Failed):
                return kept
            return outputs.same(pair, allowed(words), why=words["why"], try_=words["try_"])

        trusted = "a trusted object" if oracle else "the slow version"
        said = f"{self.function} answers each call of a drawn list as {trusted} does."
        values = {**CASES, "changed": list_of(TEXT)}
        probe = self.add_probe(
            self.named("answered", words), answered, pair=True, values=values, arrays=NUMBERS
        )
        self.add_check(FOLLOWS, said, "outputs", judge, [probe], words)


class _Run:
    """The objects that are called in one worker, and what they answer."""

    def __init__(self, rig: Rig, student: Student, overwrites: bool) -> None:
        self._rig, self._overwrites = rig, overwrites
        self._seen = rig.answers(student)
        self._changed: dict[str, None] = {}

    def turns(
        self, case: Case, place: str, create: Callable[[], Any], calls: Sequence[Drawn]
    ) -> Iterator[None]:
        """Make an object, and call it once in each turn."""
        where, returned = f"{case.name}{place}", {}
        made = self._seen.tried(create)
        is_made = not isinstance(made, Exception)
        self._seen.add(where, "made" if is_made else made)
        for number, drawn in enumerate(calls if is_made else (), 1):
            call = drawn if isinstance(drawn, Call) else Call(drawn[0], drawn[1:])
            name = f"{where}, call {number}: {call}"
            returned[name] = self._answer(case, made, call)
            self._seen.add(name, returned[name])
            if isinstance(returned[name], Exception):  # nothing is known of the object from here on
                break
            yield
        for name, answer in returned.items() if self._overwrites else ():
            self._seen.add(f"{name}, looked at after all calls", answer)

    def _answer(self, case: Case, made: Any, call: Call) -> Any:
        """Call once; an error that is asked for is an answer in words."""
        drawn = {str(place): it for place, it in enumerate(call.arguments, 1)}
        given = self._tensors(case, drawn)
        before = self._rig.copies(given)
        try:
            came = self._seen.tried(_called, made, call.name, given)
        except call.errors as error:
            if self._rig.side == "student":  # nothing is written yet
                raise
            came = error
        changed = self._rig.changed(given, before)
        self._changed |= {f"argument {place} of {call.name}": None for place in changed}
        if self._overwrites and self._rig.side == "student":
            blank = {place: _blank(it) for place, it in drawn.items()}
            self._rig.calls.overwrite(given, self._tensors(case, blank))
        return f"raises {call.errors[0].__name__}" if isinstance(came, call.errors) else came

    def _tensors(self, case: Case, drawn: Mapping[str, Any]) -> dict[str, Any]:
        return dict(self._rig.calls.given(drawn, case.dtype, case.view, exact=False))

    def answered(self) -> dict[str, Any]:
        """Return what the probe answers with."""
        return {**self._seen.values(), "changed": list(self._changed)}


def _called(made: Any, name: str, given: Mapping[str, Any]) -> Any:
    asked = getattr(made, name)
    return asked(*given.values()) if callable(asked) else asked


def _blank(value: Any) -> Any:
    """Return zeros in the place of an array, with its dtype beside it or not."""
    if isinstance(value, tuple):
        return _blank(value[0]), value[1]
    return np.zeros_like(value) if isinstance(value, np.ndarray) else value


def _written(value: Any) -> str:
    """Write an argument as code, an array by its shape."""
    array = value[0] if isinstance(value, tuple) else value
    if isinstance(array, np.ndarray):
        return " x ".join(map(str, array.shape)) or "a number"
    return repr(value)[:LONGEST]
