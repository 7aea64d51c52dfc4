"""What a claim is made of: inputs that are drawn once for all claims, probes, and the check that reads them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from autograder.claims.families import Case, Sizes
from autograder.errors import CourseError
from autograder.lab import Part, Probe, record
from autograder.model import Basis, Verdict

Draw = Callable[..., Mapping[str, Any]]
Call = Callable[[Any, Mapping[str, Any]], Any]
Run = Callable[[Any, Any], Mapping[str, Any]]
"""What runs in a worker: (student, rig) -> the answer."""
SAMPLED = 997
"""Each so many numbers one stays when inputs are drawn again."""
SEVERAL = 2
"""At least so many are drawn where a case does not fix a size: one or none would hide what the case is about."""


class Claimed:
    """A function or class that a student writes, and what is claimed of it."""

    def __init__(
        self,
        function: str,
        part: Part | str = "",
        *,
        call: Call | None = None,
        holes: Mapping[str, str] | None = None,
    ) -> None:
        """Name it. It has a file of its own, called as it or as *part* says, or is one of several of a part.

        *call* says how it is used, if not by its inputs' names; *holes* why an automatic entry is right here.
        """
        self.function = function
        self.part = Part(part or function) if isinstance(part, str) else part
        self._prefix = "" if isinstance(part, str) else f"{function}_"
        self.part.writes = (*self.part.writes, function)
        self._use = call or (lambda written, given: written(**given))
        self._draw: Draw | None = None
        self.holes = dict(holes or {})
        self.structural: list[str] = []
        """Checks that the slow version has to fail."""
        self.part.exercises.append(self)
        self.sizes: Sizes = {}

    def inputs(self, draw: Draw) -> Draw:
        """Say what one call is given, by the names of its parameters. A size that is a pair is drawn between both."""
        parameters = list(inspect.signature(draw).parameters.values())[1:]
        self._draw, self.sizes = draw, {one.name: one.default for one in parameters}
        return draw

    # --- for the families of claims -----------------------------------------------------------------------------------

    def drawn(self, random: np.random.Generator, case: Case) -> dict[str, Any]:
        """Draw one call's inputs as arrays and what else there is."""
        if self._draw is None:
            raise CourseError(f"{self.function}: declare @inputs above the first claim")
        given = dict(self._draw(random, **self.fixed(random, case).sizes))
        if case.change is not None:
            given = {name: _changed(it, case, random) for name, it in given.items()}
        return given

    def fixed(self, random: np.random.Generator, case: Case) -> Case:
        """Draw the sizes that a case leaves open."""
        if unknown := set(case.sizes) - set(self.sizes):
            known = ", ".join(self.sizes)
            raise CourseError(
                f"{self.function}: case '{case.name}' fixes {unknown.pop()}; inputs draws {known}"
            )
        sizes = {
            name: _size(random, size, case.odd)
            for name, size in {**self.sizes, **case.sizes}.items()
        }
        return replace(case, sizes=sizes, odd=False)

    def given(self, rig: Any, case: Case, *, exact: bool = True) -> dict[str, Any]:
        """Return one call's arguments; *exact* ones are float64 on the baseline's side, so nothing is rounded there."""
        return dict(
            rig.calls.given(self.drawn(rig.random, case), case.dtype, case.view, exact=exact)
        )

    def call(self, student: Any, given: Mapping[str, Any]) -> Any:
        """Use what was written, as the exercise says."""
        return self._use(getattr(student, self.function), given)

    def named(self, name: str) -> str:
        """Name a check or a probe of this exercise."""
        return self._prefix + name

    def add_probe(
        self, name: str, run: Run, *, pair: bool = False, values: Any = None, arrays: Any = None
    ) -> str:
        """Register what is run; it takes this function of the student's module and nothing else."""
        name, taken = self.named(name), frozenset({self.function})
        probe = Probe(
            name, run, pair, values=record(**(values or {})), arrays=arrays or {}, takes=taken
        )
        self.part.probes[name] = probe
        return name

    def add_timed(self, probe: Probe) -> str:
        """Register what the clock runs."""
        name = self.named(probe.name)
        self.part.probes[name] = replace(probe, name=name, takes=frozenset({self.function}))
        return name

    def add_check(
        self,
        name: str,
        says: str,
        basis: Basis,
        judge: Callable[..., Verdict],
        reads: Sequence[str],
        *needs: str,
        structural: bool = False,
        compared: str = "",
    ) -> None:
        """Register a check, as `lab.Part` does, under this exercise's name.

        A *structural* one is about how it is computed, so the slow version fails it. *compared*: see `lab.Check`.
        """
        needed = [one for one in map(self.named, needs) if one in self.part.checks]
        self.structural += [self.named(name)] * structural
        self.part.add_check(self.named(name), says, basis, judge, reads, needed, compared)


def mixed(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was drawn second, but for those of its numbers that a sample of the first would look at."""
    return {name: _mixed(it, second[name]) for name, it in first.items()}


def _mixed(first: Any, second: Any) -> Any:
    if isinstance(first, tuple):
        return _mixed(first[0], second[0]), first[1]
    if not isinstance(first, np.ndarray) or first.dtype.kind != "f":
        return second
    kept = np.arange(first.size).reshape(first.shape) % SAMPLED == 0
    return np.where(kept, first, second)


def _size(random: np.random.Generator, size: Any, odd: bool) -> Any:
    if not isinstance(size, tuple):
        return size
    low, high = size
    found = int(random.integers(min(max(low, SEVERAL), high), high + 1))
    return found if not odd or found % 2 else found + (1 if found < high else -1)


def _changed(value: Any, case: Case, random: np.random.Generator) -> Any:
    """Change what is an array of numbers, with its dtype beside it or not."""
    assert case.change is not None
    if isinstance(value, tuple):
        return _changed(value[0], case, random), value[1]
    numbers = isinstance(value, np.ndarray) and value.dtype.kind == "f"
    return case.change(value, random) if numbers else value


def described(sizes: Sizes) -> str:
    """Name sizes for people: rows=16, columns=6."""
    return ", ".join(f"{name}={size}" for name, size in sizes.items())
