"""What a claim is made of: inputs that are drawn once for all claims, probes, and the check that reads them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NotRequired, TypedDict

import numpy as np

from autograder.checks.hints import Causes, hinted
from autograder.claims.families import DRAWN, FIELDS, SAMPLED, Case, Sizes
from autograder.errors import CourseError
from autograder.lab import Part, Probe, Rig, Student, record
from autograder.model import Basis, Verdict

Draw = Callable[..., Mapping[str, Any]]
Call = Callable[[Any, Mapping[str, Any]], Any]
Run = Callable[[Student, Rig], Mapping[str, Any]]
"""What runs in a worker: (student, rig) -> the answer."""
SEVERAL = 2
"""At least so many are drawn where a case does not fix a size: one or none would hide what the case is about."""
SAME = "same_results"
DTYPES = (
    "", "float16", "bfloat16", "float32", "float64", "bool", "uint8", "int8", "int16", "int32", "int64"
)  # fmt: skip
"""Of arrays that are drawn. One of numbers is handed over in the dtype of the case, unless another is beside it."""


class Words(TypedDict):
    """What every claim is told: why it fails, and what to try; and what its check is called, says and needs."""

    why: NotRequired[Any]
    try_: str
    name: NotRequired[str]
    says: NotRequired[str]
    needs: NotRequired[Sequence[str]]
    hints: NotRequired[Causes]
    """What to try, and perhaps why, by words that stand in what a failure says."""


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
        self.part.writes = tuple(dict.fromkeys((*self.part.writes, function)))
        self._use = call or (lambda written, given: written(**given))
        self._draw: Draw | None = None
        self.holes = dict(holes or {})
        self.structural: list[str] = []
        """Checks that the slow version has to fail."""
        self.claimed: dict[str, str] = {}
        """Claim -> the check that was first made of it."""
        self.part.exercises.append(self)
        self.sizes: Sizes = {}

    def inputs(self, draw: Draw) -> Draw:
        """Say what one call is given, by the names of its parameters. A size that is a pair is drawn between both."""
        parameters = list(inspect.signature(draw).parameters.values())[1:]
        if taken := next((it.name for it in parameters if it.name in FIELDS), ""):
            raise CourseError(
                f"{self.function}: inputs draws {taken}, which a case fixes; rename it"
            )
        self._draw = draw
        self.sizes = {parameter.name: parameter.default for parameter in parameters}
        return draw

    # --- for the families of claims -----------------------------------------------------------------------------------

    def drawn(self, random: np.random.Generator, case: Case) -> dict[str, Any]:
        """Draw one call's inputs as arrays and what else there is."""
        if self._draw is None:
            raise CourseError(f"{self.function}: declare @inputs above the first claim")
        given = dict(self._draw(random, **self.fixed(random, case).sizes))
        for name, it in given.items():
            if _dtype(it) not in DTYPES:
                supported = ", ".join(filter(None, DTYPES))
                raise CourseError(
                    f"{self.function}: {name} is drawn as {_dtype(it)}; use {supported}"
                )
        if case.change is not None:
            given = {name: _changed(it, case, random) for name, it in given.items()}
        return given

    @property
    def has_arrays(self) -> bool:
        """Whether a call is given arrays; if not, its inputs are numbers, words, and lists and dicts of them."""
        if self._draw is None:
            return True
        return any(_dtype(it) for it in self.drawn(np.random.default_rng(0), DRAWN).values())

    @property
    def has_containers(self) -> bool:
        """Whether a call is given a list or dict, which it could change."""
        drawn = self.drawn(np.random.default_rng(0), DRAWN).values()
        return any(isinstance(it, list | dict) for it in drawn)

    @property
    def has_whole_numbers(self) -> bool:
        """Whether a call is given arrays of whole numbers."""
        drawn = self.drawn(np.random.default_rng(0), DRAWN).values()
        return any("int" in _dtype(it) for it in drawn)

    def fixed(self, random: np.random.Generator, case: Case, drawn: Sizes | None = None) -> Case:
        """Draw the sizes that a case leaves open: those of `inputs`, or those that are *drawn* in its place."""
        declared = self.sizes if drawn is None else drawn
        self.require_drawn(case.name, [case.sizes], declared)
        sizes = {
            name: _size(random, size, case.odd) for name, size in {**declared, **case.sizes}.items()
        }
        return replace(case, sizes=sizes, odd=False)

    def require_drawn(self, name: str, cases: Iterable[Sizes], drawn: Sizes | None = None) -> None:
        """Refuse what is no size that `inputs` draws: in a claim, before anything runs."""
        declared = self.sizes if drawn is None else drawn
        for sizes in cases:
            if not isinstance(sizes, Mapping):
                raise CourseError(
                    f"{self.function}: {name} takes a list of sizes, [{{'rows': 8}}], not {sizes!r}"
                )
            if unknown := sorted(set(sizes) - set(declared)):
                drawn_sizes = ", ".join(declared)
                raise CourseError(
                    f"{self.function}: case '{name}' fixes {unknown[0]}; inputs draws {drawn_sizes}"
                )

    def require_words(self, claim: str, words: Words, *, own_why: bool = False) -> None:
        """Refuse a claim that lacks what its failures say; one with an *own why* needs none."""
        wanted = {"try_": "what to try"} | ({} if own_why else {"why": "the most likely cause"})
        for name, says in wanted.items():
            if name not in words:
                raise CourseError(
                    f"{self.function}: {claim} has no {name}; add {name}='...': {says}"
                )

    def given(self, rig: Rig, case: Case, *, exact: bool = True) -> dict[str, Any]:
        """Return one call's arguments; *exact* ones are float64 on the baseline's side, so nothing is rounded there."""
        return dict(
            rig.calls.given(
                self.drawn(rig.random, case),
                case.dtype,
                case.view,
                exact=exact,
            )
        )

    def call(self, student: Student, given: Mapping[str, Any]) -> Any:
        """Use what was written, as the exercise says."""
        return self._use(getattr(student, self.function), given)

    def named(self, name: str, words: Words | None = None) -> str:
        """Name a check or a probe of this exercise, unless the words have a name for it."""
        own = words.get("name") if words else ""
        return own or self._prefix + name

    def add_probe(
        self,
        name: str,
        run: Run,
        *,
        pair: bool = False,
        values: Any = None,
        arrays: Any = None,
        hints: Mapping[str, str] | None = None,
    ) -> str:
        """Register what is run; it takes this function of the student's module and nothing else."""
        taken = frozenset({self.function})
        probe = Probe(
            name,
            run,
            pair,
            values=record(**(values or {})),
            arrays=arrays or {},
            hints=hints or {},
            takes=taken,
        )
        self.part.probes[name] = probe
        return name

    def add_check(
        self,
        claim: str,
        says: str,
        basis: Basis,
        judge: Callable[..., Verdict],
        reads: Sequence[str],
        words: Words,
        *,
        structural: bool = False,
        compared: str = "",
        own_why: bool = False,
    ) -> None:
        """Register a check, as `lab.Part` does: under this exercise's name, if the *words* have no other.

        A *structural* one is about how it is computed, so the slow version fails it. *compared*: see `lab.Check`. One
        with an *own why* may do without the author's.
        """
        self.require_words(claim, words, own_why=own_why)
        name = self.named(claim, words)
        needs = words.get("needs", [self.claimed[SAME]] if SAME in self.claimed else [])
        self.claimed.setdefault(claim, name)
        self.structural += [name] * structural
        says = words.get("says", says)
        hints = words.get("hints", {})

        def told(*evidence: Any) -> Verdict:
            return hinted(judge(*evidence), hints)

        self.part.add_check(name, says, basis, told, reads, needs, compared)


def _dtype(value: Any) -> str:
    """Name the dtype that is beside an array, or its own; of what is no array there is none."""
    if isinstance(value, tuple):
        return str(value[1])
    return str(value.dtype) if isinstance(value, np.ndarray) else ""


def mixed(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was drawn second, but for those of its numbers that a sample of the first would look at."""
    return {name: _mixed(it, second[name]) for name, it in first.items()}


def _mixed(first: Any, second: Any) -> Any:
    if isinstance(first, tuple):
        return _mixed(first[0], second[0]), first[1]
    if isinstance(first, float):
        return first
    if not isinstance(first, np.ndarray):
        return second
    kept = np.arange(first.size).reshape(first.shape) % SAMPLED == 0
    return np.where(kept, first, second)


def _size(random: np.random.Generator, size: Any, odd: bool) -> Any:
    if isinstance(size, range):
        return int(random.choice(size))
    if not isinstance(size, tuple):
        return size
    low, high = size
    drawn = int(random.integers(min(max(low, SEVERAL), high), high + 1))
    return drawn if not odd or drawn % 2 else drawn + (1 if drawn < high else -1)


def _changed(value: Any, case: Case, random: np.random.Generator) -> Any:
    """Change what is an array of numbers, with its dtype beside it or not."""
    assert case.change is not None
    if isinstance(value, tuple):
        return _changed(value[0], case, random), value[1]
    kinds = "iu" if case.whole else "f"
    numbers = isinstance(value, np.ndarray) and value.dtype.kind in kinds
    return case.change(value, random) if numbers else value


def joined(*words: str) -> str:
    """Join what there is of some words."""
    return "; ".join(filter(None, words))


def described(sizes: Sizes) -> str:
    """Name sizes for people: rows=16, columns=6."""
    return ", ".join(f"{name}={size}" for name, size in sizes.items())
