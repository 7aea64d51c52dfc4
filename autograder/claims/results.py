"""Claims about what comes back: the slow version's results and gradients, for every kind of inputs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from autograder.checks import outputs
from autograder.claims import families
from autograder.claims.base import Claimed, mixed
from autograder.claims.families import Case, Sizes
from autograder.lab import CASES, NUMBERS, TEXT, list_of
from autograder.model import Failed, Observation, Pair, Verdict

Oracle = Callable[..., Any] | None
WITHIN = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-5, "float64": 1e-12}
"""Of a row's largest number: a few roundings of the dtype; whole numbers and booleans are compared exactly."""
LEFT_ALONE, SAME, GRADIENTS = "leaves_inputs_alone", "same_results", "same_gradients"
WROTE = "an operation wrote into a tensor of the caller"
FLAG = "the precision of products was lowered for the whole program; the exercise asks for full float32"


class Within(dict[str, float]):
    """How far results may be, by their dtype; exactly equal where it has no rounding."""

    def __missing__(self, dtype: str) -> float:
        """Whole numbers, booleans and what is no tensor."""
        return 0.0


class Results(Claimed):
    """same, leaves_inputs_alone."""

    def same(
        self,
        cases: Mapping[str, Sizes] | None = None,
        within: float | Mapping[str, float] = WITHIN,
        *,
        why: outputs.Why,
        try_: str,
        gradients: Collection[str] | None = None,
        dtypes: Collection[str] = ("float64",),
        oracle: Oracle = None,
        skip_families: Mapping[str, str] | None = None,
    ) -> None:
        """Claim the baseline's results, or an *oracle*'s, in these cases and in every family of inputs.

        Gradients with respect to each input of numbers are claimed as well; name fewer of them, or none.
        """
        tried = families.every(self.sizes, dtypes, cases or {}, skip_families or {})
        allowed = Within({"float32": within} if isinstance(within, float) else within)
        allowed = Within({**WITHIN, **allowed})
        said = f"{self.function} returns what the slow version returns: {_kinds(tried)}."
        self._compared(SAME, said, self._results(tried, oracle), allowed, why, try_)
        if gradients is None or gradients:
            kept = [case for case in tried if not case.again]
            said = f"{self.function} passes on the gradients that the slow version passes on."
            self._compared(
                GRADIENTS, said, self._gradients(kept, gradients, oracle), allowed, why, try_
            )

    def leaves_inputs_alone(self, *, try_: str, **sizes: Any) -> None:
        """Claim that no input is changed, for points of its own; otherwise `same` sees to it."""

        def inputs_after(student: Any, rig: Any) -> dict[str, Any]:
            given = self.given(rig, Case("inputs", sizes))
            before = rig.copies(given)
            self.call(student, given)
            return {"changed": rig.changed(given, before)}

        def judge(found: Observation) -> Verdict:
            return outputs.unchanged(found.values["changed"], try_=try_)

        probe = self.add_probe("inputs_after", inputs_after, values={"changed": list_of(TEXT)})
        self.add_check(
            LEFT_ALONE, f"{self.function} leaves its inputs as they were.", "report", judge, [probe]
        )

    def _compared(
        self, name: str, said: str, run: Any, allowed: Within, why: outputs.Why, try_: str
    ) -> None:
        def judge(found: Pair) -> Verdict:
            seen = found.student.values
            if seen["changed"] and self.named(LEFT_ALONE) not in self.part.checks:
                return Failed(f"changed: {', '.join(seen['changed'][:6])}", WROTE, try_)
            verdict = outputs.same(found, allowed, why=why, try_=try_)
            if seen["flags"] and not isinstance(verdict, Failed):
                return Failed(
                    f"changed: {', '.join(seen['flags'])}", FLAG, "leave the precision flags alone"
                )
            return verdict

        values = {**CASES, "changed": list_of(TEXT), "flags": list_of(TEXT)}
        probe = self.add_probe(
            name.removeprefix("same_"), run, pair=True, values=values, arrays=NUMBERS
        )
        needs = [] if name == SAME else [SAME]
        self.add_check(
            name, said, "outputs", judge, [probe], *needs, compared=name.removeprefix("same_")
        )

    def _results(self, cases: Sequence[Case], oracle: Oracle) -> Any:
        def results(student: Any, rig: Any) -> dict[str, Any]:
            seen, flags, changed = rig.answers(student), rig.calls.flags(), set()
            run = self._right(student, rig, oracle)
            for case in cases:
                drawn, others = self._twice(rig, case)
                given = rig.calls.given(drawn, case.dtype, case.view, exact=True)
                before = rig.copies(given)
                with flags:
                    returned = seen.tried(run, given)
                changed |= set(rig.changed(given, before))
                if case.again:
                    given = rig.calls.overwrite(
                        given, rig.calls.given(others, case.dtype, case.view, exact=True)
                    )
                    with flags:
                        returned = seen.tried(run, given)
                asked = "" if rig.side == "student" else run(rig.calls.rounded(given))
                seen.add(case.name, returned, asked)
            return {**seen.seen(), "changed": sorted(changed), "flags": flags.values()}

        return results

    def _gradients(
        self, cases: Sequence[Case], names: Collection[str] | None, oracle: Oracle
    ) -> Any:
        def gradients(student: Any, rig: Any) -> dict[str, Any]:
            seen, flags = rig.answers(student), rig.calls.flags()
            for case in cases:
                given, drawn = self.given(rig, case), rig.integer(0, 1 << 30)
                asked = list(rig.calls.asked(given) if names is None else names)
                run = self._right(student, rig, oracle)
                with flags:
                    found = seen.tried(rig.calls.gradients, run, given, asked, drawn)
                told = found if isinstance(found, list) else [found] * len(asked)
                for name, gradient in zip(asked, told, strict=True):
                    seen.add(
                        f"{case.name}: gradient of {name}", gradient, rig.calls.rounded(given)[name]
                    )
            return {**seen.seen(), "changed": [], "flags": flags.values()}

        return gradients

    def _twice(self, rig: Any, case: Case) -> tuple[dict[str, Any], dict[str, Any]]:
        """Draw inputs, and others of the same sizes that a sample of them does not tell from the first."""
        fixed = self.fixed(rig.random, case)
        first, second = self.drawn(rig.random, fixed), self.drawn(rig.random, fixed)
        return first, mixed(first, second)

    def _right(self, student: Any, rig: Any, oracle: Oracle) -> Callable[[Any], Any]:
        """Return what is called with the arguments: an oracle stands in for the baseline."""
        if oracle is not None and rig.side != "student":
            return lambda given: oracle(**given)
        return lambda given: self.call(student, given)


def _kinds(cases: Sequence[Case]) -> str:
    own = [
        case.name
        for case in cases
        if case == Case(case.name, case.sizes) and case.name != "drawn sizes"
    ]
    return ", ".join([*own, "views", "large and small numbers", "a second call"])
