"""Claims about what comes back: the slow version's results and gradients, for every kind of inputs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import Any, NotRequired, Unpack

import numpy as np

from autograder.checks import outputs
from autograder.checks.hints import cause
from autograder.claims.claimed import SAME, Claimed, Run, Words, mixed
from autograder.claims.families import DRAWN, Case, Sizes, every, own_case
from autograder.claims.tolerances import WITHIN, Near, allowed
from autograder.errors import CourseError
from autograder.lab import CASES, NUMBERS, TEXT, Rig, Student, list_of
from autograder.model import Failed, Observation, Pair, Passed, Verdict

Oracle = Callable[..., Any] | None
Slips = Mapping[str | tuple[str, str], Callable[..., Any]]
LEFT_ALONE, GRADIENTS = "leaves_inputs_alone", "same_gradients"
SEEN = {"changed": list_of(TEXT), "flags": list_of(TEXT)}
FLAG = "your code lowers the precision of products; the exercise asks for full float32"
KEPT = (
    "earlier calls were right: a result is used again, though the numbers in the inputs changed",
    "compute each call anew, and keep nothing between calls",
)
COPY = "change a copy: x.clone() of a tensor, list(x), dict(x) or copy.deepcopy(x) of others"


class Alike(Near):
    """What claims about results are told as well."""

    apart: NotRequired[Mapping[str, str]]
    """A word in the names of cases -> another check: where that fails, it answers for them."""
    slips: NotRequired[Slips]
    """Why, or why and what to try -> a function that makes this mistake: who returns its numbers is told so."""


class Results(Claimed):
    """same, same_gradients, leaves_inputs_alone."""

    def same(
        self,
        cases: Mapping[str, Sizes] | None = None,
        *,
        gradients: Collection[str] | None = None,
        dtypes: Collection[str] = ("float64",),
        oracle: Oracle = None,
        skip_families: Mapping[str, str] | None = None,
        families: Collection[str] | None = None,
        as_one: bool = False,
        **words: Unpack[Alike],
    ) -> None:
        """Claim the baseline's results, or an *oracle*'s, in these cases and in every family of inputs, or in some.

        Gradients with respect to each input of numbers are claimed as well; name fewer of them, or none. They are
        judged by a check of their own, or *as_one* with the results.
        """
        tried = every(
            self.sizes,
            dtypes,
            cases or {},
            skip_families or {},
            families,
            arrays=self.has_arrays,
            whole=self.has_whole_numbers,
        )
        source = "is right" if oracle else "the slow version returns"
        said = f"{self.function} returns what {source}: {_kinds(tried, self.has_arrays)}."
        slips = words.get("slips", {})
        self.require_drawn("same", (case.sizes for case in tried))
        kept = [case for case in tried if not case.again]
        run = self._results(tried, oracle, slips)
        if as_one:
            run = _both(run, self._gradients(kept, gradients, oracle))
            said = f"{said.removesuffix('.')}; and the gradients."
        self._compared(SAME, said, run, words)
        if as_one:
            self.claimed.setdefault(GRADIENTS, self.claimed[SAME])
        elif self.has_arrays and (gradients is None or gradients):
            within = words.get("within", WITHIN)
            alike: Alike = {
                "why": words["why"],
                "try_": words["try_"],
                "within": within,
            }
            self._gradients_alike(kept, gradients, oracle, alike)

    def same_gradients(self, cases: Mapping[str, Sizes], **words: Unpack[Alike]) -> None:
        """Claim the gradients in these cases alone, as a claim of its own."""
        self._gradients_alike(every(self.sizes, (), cases, {}, ()), None, None, words)

    def leaves_inputs_alone(self, *cases: Sizes, **words: Unpack[Words]) -> None:
        """Claim that no input is changed and no precision lowered, for points of its own; else `same` sees to it."""

        if "why" in words:
            raise CourseError(
                f"{self.function}: leaves_inputs_alone takes no why, it names what is changed; "
                "leave it out"
            )
        own = [own_case("inputs", sizes) for sizes in cases or ({},)]
        self.require_drawn("leaves_inputs_alone", (case.sizes for case in own))

        def inputs_after(student: Student, rig: Rig) -> dict[str, Any]:
            changed: dict[str, None] = {}
            flags = rig.calls.flags()
            for at, case in enumerate(own):
                given = self.given(rig, case)
                before = rig.copies(given)
                of = f" ({case.dtype})" if case.dtype != DRAWN.dtype else ""
                with flags:
                    # What it raises in other cases, other claims say.
                    with suppress(Exception) if at else nullcontext():
                        self.call(student, given)
                    early = [name for name in rig.changed(given, before) if name not in changed]
                    computed = rig.calls.backward(partial(self.call, student), given)
                late = set(rig.changed(computed, before)) - {*changed, *early}
                changed |= {f"{name}{of}": None for name in early}
                changed |= {f"{name}{of}{outputs.LATE}": None for name in sorted(late)}
            return {"changed": list(changed), "flags": flags.values()}

        def judge(observation: Observation) -> Verdict:
            return left_alone(observation, words["try_"])

        said = f"{self.function} leaves its inputs and torch's global settings as they were."
        probe = self.add_probe(self.named("inputs_after"), inputs_after, values=SEEN)
        words.setdefault("needs", [])
        self.add_check(LEFT_ALONE, said, "report", judge, [probe], words, own_why=True)

    def _gradients_alike(
        self,
        cases: Sequence[Case],
        names: Collection[str] | None,
        oracle: Oracle,
        words: Alike,
    ) -> None:
        self.require_drawn("same_gradients", (case.sizes for case in cases))
        said = f"{self.function} passes on the gradients that the slow version passes on."
        self._compared(GRADIENTS, said, self._gradients(cases, names, oracle), words)

    def _compared(self, claim: str, said: str, run: Any, words: Alike) -> None:
        self.require_words(claim, words)
        within = allowed(words)
        apart = words.get("apart", {})
        slips = words.get("slips", {})
        try_ = words["try_"]

        def judge(pair: Pair, *others: Any) -> Verdict:
            evidence = dict(zip(reads, (pair, *others), strict=True))
            failed = [word for word, name in apart.items() if self._fails(name, evidence)]
            left = left_alone(pair.student, COPY)
            verdict = outputs.same(pair, within, why=words["why"], try_=try_, without=failed)
            if isinstance(left, Failed) and "all numbers are 0" in verdict.measured:
                left = replace(left, measured=f"{verdict.measured}; {left.measured}")
            elif LEFT_ALONE in self.claimed:
                left = Passed("")
            if isinstance(left, Failed) and pair.student.values["changed"]:
                return left
            if isinstance(verdict, Passed):
                return left if isinstance(left, Failed) else verdict
            own = pair.student.values["cases"]
            raised = [it["case"] for it in own if it["dtype"].startswith("raised ")]
            # What a later case raises may have a cause of its own.
            left_out = raised * (": raised " not in verdict.measured)
            for at, slip in enumerate(slips):
                right = pair.baseline.values
                cases = {"cases": right["slips"][at] or right["cases"]}
                wrong = {"numbers": pair.baseline.arrays[f"slip{at}"]}
                slipped = Pair(pair.student, replace(pair.baseline, values=cases, arrays=wrong))
                alike = outputs.same(slipped, within, why="", try_="", without=left_out)
                if isinstance(alike, Passed):
                    told = cause({"": slip}, "", try_)
                    return Failed(verdict.measured, *told, verdict.evidence)
            if (
                verdict.measured.startswith('case "other numbers')
                and ": raised " not in verdict.measured
            ):
                return replace(verdict, why=KEPT[0], try_=KEPT[1])
            return verdict

        kind = claim.removeprefix("same_")
        values = {**CASES, **SEEN, "slips": list_of(CASES["cases"])}
        arrays = NUMBERS | {f"slip{at}": NUMBERS["numbers"] for at in range(len(slips))}
        name = self.add_probe(
            self.named(kind, words),
            run,
            pair=True,
            values=values,
            arrays=arrays,
        )
        more = (read for check in apart.values() for read in self.part.checks[check].reads)
        reads = list(dict.fromkeys((name, *more)))
        self.add_check(claim, said, "outputs", judge, reads, words, compared=kind)

    def _fails(self, name: str, evidence: Mapping[str, Any]) -> bool:
        check = self.part.checks[name]
        return isinstance(
            check.judge(**{read: evidence[read] for read in check.reads}),
            Failed,
        )

    def _results(
        self,
        cases: Sequence[Case],
        oracle: Oracle,
        slips: Slips,
    ) -> Any:
        def results(student: Student, rig: Rig) -> dict[str, Any]:
            answers = rig.answers(student)
            flags = rig.calls.flags()
            changed = set()
            slipped = [rig.answers() for _ in slips]
            run = self._right(student, rig, oracle)
            for case in cases:
                drawn, others = self._twice(rig, case)
                given = rig.calls.given(drawn, case.dtype, case.view, exact=True)
                before = rig.copies(given)
                with flags:
                    returned = answers.tried(run, given)
                changed |= {*rig.changed(given, before), *rig.told_to_ask(given)}
                if case.again:
                    given = rig.calls.overwrite(
                        given,
                        rig.calls.given(others, case.dtype, case.view, exact=True),
                    )
                    with flags:
                        returned = answers.tried(run, given)
                asked = "" if rig.side == "student" else run(rig.calls.rounded(given))
                answers.add(case.name, returned, asked)
                for mistaken, slip in zip(slipped, slips.values(), strict=True):
                    if rig.side != "student":
                        mistaken.add(case.name, slip(**given), asked)
            right, of_slips = answers.values(), [it.values() for it in slipped]
            return {
                **right,
                # As it often has the forms of the right answers, they are not sent again.
                "slips": [it["cases"] * (it["cases"] != right["cases"]) for it in of_slips],
                **{f"slip{at}": it["numbers"] for at, it in enumerate(of_slips)},
                "changed": sorted(changed),
                "flags": flags.values(),
            }

        return results

    def _gradients(
        self,
        cases: Sequence[Case],
        names: Collection[str] | None,
        oracle: Oracle,
    ) -> Any:
        def gradients(student: Student, rig: Rig) -> dict[str, Any]:
            answers, flags = rig.answers(student), rig.calls.flags()
            for case in cases:
                given = self.given(rig, case)
                drawn = rig.integer(0, 1 << 30)
                wanted = names if case.gradients is None else case.gradients
                asked = list(rig.calls.asked(given) if wanted is None else wanted)
                run = self._right(student, rig, oracle)
                with flags:
                    returned = answers.tried(rig.calls.gradients, run, given, asked, drawn)
                each = returned if isinstance(returned, list) else [returned] * len(asked)
                for name, gradient in zip(asked, each, strict=True):
                    answers.add(
                        f"{case.name}: gradient of {name}",
                        gradient,
                        rig.calls.rounded(given)[name],
                    )
            return {**answers.values(), "slips": [], "changed": [], "flags": flags.values()}

        return gradients

    def _twice(self, rig: Rig, case: Case) -> tuple[dict[str, Any], dict[str, Any]]:
        """Draw inputs, and others of the same sizes that a sample of them does not tell from the first."""
        fixed = self.fixed(rig.random, case)
        first = self.drawn(rig.random, fixed)
        second = self.drawn(rig.random, fixed)
        return first, mixed(first, second)

    def _right(self, student: Student, rig: Rig, oracle: Oracle) -> Callable[[Any], Any]:
        """Return what is called with the arguments: an oracle stands in for the baseline."""
        if oracle is not None and rig.side != "student":
            return lambda given: oracle(**given)
        return lambda given: self.call(student, given)


def _both(results: Run, gradients: Run) -> Run:
    """Run both, and answer with the cases of both."""

    def run(student: Student, rig: Rig) -> dict[str, Any]:
        first, second = results(student, rig), gradients(student, rig)
        return {
            **first,
            "cases": [*first["cases"], *second["cases"]],
            "numbers": np.concatenate([first["numbers"], second["numbers"]]),
            "flags": sorted({*first["flags"], *second["flags"]}),
        }

    return run


def left_alone(observation: Observation, try_: str) -> Passed | Failed:
    """Judge what became of the inputs, and of the precision of products."""
    flags = observation.values["flags"]
    if flags and not observation.values["changed"]:
        return Failed(
            f"changed: {', '.join(flags)}",
            FLAG,
            "leave the precision flags alone",
        )
    changed = observation.values["changed"]
    if any(name.endswith(")") for name in changed):  # of one dtype alone
        try_ = f"{try_}; .double() and .to() return the same tensor where it has that dtype already"
    return outputs.unchanged(changed, try_=try_)


def _kinds(cases: Sequence[Case], arrays: bool) -> str:
    own = [case.name for case in cases if case == Case(case.name, case.sizes) and case != DRAWN]
    kinds = ["views", "large and small numbers", "a second call"] if arrays else []
    return ", ".join([*own, *kinds]) or DRAWN.name
