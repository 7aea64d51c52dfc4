"""Claims about what a call takes: operations, FLOPs, bytes that move, are made, or stay for the backward pass.

`worker/rigs/function_calls.py` makes the calls, and `counters.py` beside it counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NotRequired, Unpack

from autograder.checks import memory, outputs
from autograder.checks.hints import cause
from autograder.claims.claimed import Claimed, Words, described
from autograder.claims.families import Case, Sizes, own_case
from autograder.lab import CASES, INTEGER, NUMBERS, Rig, Student, list_of
from autograder.model import Failed, Observation, Pair, Passed, Verdict

MB = 1e6
SAYS = {
    "operations": ("asks torch for", "{:,.0f} operations", 1.0),
    "computed": ("asks torch for", "{:,.0f} operations that compute", 1.0),
    "moved": ("moves", "{:.2f} MB", MB),
    "touched": ("touches", "{:.2f} MB", MB),
    "made": ("allocates", "{:.2f} MB", MB),
    "held": ("keeps for the backward pass", "{:.2f} MB kept besides the result", MB),
}
"""Measure -> what a function does, and its number in the unit."""
COST = dict.fromkeys(SAYS, INTEGER)
UNSEEN = (
    "usually the result is kept from an earlier call, or computed in another thread or without torch",
    "compute anew in each call, with torch, in the thread that calls your function",
)
NEAR = 1e-3  # of a row's largest number: of sums over 262,144 numbers in float32, right ones were off by 2.4e-4
AT_THIS_SIZE = "compare what both versions return at this size"


class Grown(Words):
    """What claims about growth are told as well: large inputs of other kinds, and how much more is as good as none."""

    also: NotRequired[Mapping[str, Sizes]]
    more: NotRequired[float]


class Costs(Claimed):
    """What a call takes: beside the baseline's, or with large inputs beside small ones; needs_less_memory."""

    def fewer_operations(
        self,
        at_most: float,
        sizes: Sizes,
        *,
        views: bool = True,
        **words: Unpack[Words],
    ) -> None:
        """Claim at most this share of the operations that the baseline asks for; *views* count, or do not."""
        measure = "operations" if views else "computed"
        self._costs("fewer_operations", measure, at_most, sizes, words)

    def moves_less(self, at_most: float, sizes: Sizes, **words: Unpack[Words]) -> None:
        """Claim at most this share of the bytes that the baseline reads and writes."""
        self._costs("moves_less", "moved", at_most, sizes, words)

    def touches_less(self, at_most: float, sizes: Sizes, **words: Unpack[Words]) -> None:
        """Claim at most this share of the baseline's sectors: pieces of 32 bytes in which operands lie."""
        self._costs("touches_less", "touched", at_most, sizes, words)

    def allocates_less(self, at_most: float, sizes: Sizes, **words: Unpack[Words]) -> None:
        """Claim at most this share of the bytes that the baseline makes."""
        self._costs("allocates_less", "made", at_most, sizes, words)

    def keeps_less(self, at_most: float, sizes: Sizes, **words: Unpack[Words]) -> None:
        """Claim at most this share of the bytes that the baseline keeps after a call, results left out."""
        self._costs("keeps_less", "held", at_most, sizes, words)

    def computes_less(
        self,
        at_most: float,
        sizes: Sizes,
        *,
        than: Mapping[str, Sizes] | None = None,
        **words: Unpack[Words],
    ) -> None:
        """Claim at most this share of the FLOPs of forward and backward: of the slow version's, or *than* in a case.

        That case goes by its name: {"when the weight needs a gradient as well": sizes}. `gradients`, beside sizes, are
        the inputs that need one, if not all do.
        """
        own = own_case("products", sizes)
        other = next((own_case(*it) for it in (than or {}).items()), None)
        self.require_drawn("computes_less", [it.sizes for it in (own, other) if it])

        def flops(student: Student, rig: Rig) -> dict[str, Any]:
            of = self._flops(student, rig, other) if other else 0
            return {"flops": self._flops(student, rig, own), "of": of}

        def judge(pair: Pair) -> Verdict:
            mine = pair.student.values["flops"]
            plain = pair.student.values["of"] if other else pair.baseline.values["flops"]
            if not mine:
                return Failed("no matrix product was seen", *UNSEEN)
            where = other.name if other else "by the slow version"
            measured = f"{mine / MB:.2f} MFLOP, and {plain / MB:.2f} MFLOP {where}; allowed {at_most:.0%} of that"
            if mine <= at_most * plain:
                return Passed(measured)
            return Failed(measured, words["why"], words["try_"])

        values = {"flops": INTEGER, "of": INTEGER}
        probe = self.add_probe(self.named("computes_less_cost"), flops, pair=True, values=values)
        than_what = "it does " + other.name if other else "the slow version does"
        said = f"Matrix products of {self.function} take at most {at_most:.0%} of the FLOPs that {than_what}."
        # Whoever may compute as much as the slow version is not told from it.
        less = at_most < 1 and other is None
        self.add_check("computes_less", said, "report", judge, [probe], words, structural=less)

    def operations_do_not_grow(
        self,
        small: Sizes,
        large: Sizes,
        *,
        at_most: float = 1.0,
        **grown: Unpack[Grown],
    ) -> None:
        """Claim at most so many times the operations for *large* inputs."""
        self._grows(
            "operations_do_not_grow",
            "operations",
            small,
            large,
            at_most,
            grown,
        )

    def moves_at_most(
        self,
        small: Sizes,
        large: Sizes,
        *,
        at_most: float,
        **grown: Unpack[Grown],
    ) -> None:
        """Claim at most so many times the bytes for *large* inputs."""
        self._grows("moves_at_most", "moved", small, large, at_most, grown)

    def allocates_at_most(
        self,
        small: Sizes,
        large: Sizes,
        *,
        at_most: float,
        **grown: Unpack[Grown],
    ) -> None:
        """Claim that at most so many times the bytes are made for *large* inputs."""
        self._grows("allocates_at_most", "made", small, large, at_most, grown)

    def keeps_at_most(
        self,
        small: Sizes,
        large: Sizes,
        *,
        at_most: float,
        **grown: Unpack[Grown],
    ) -> None:
        """Claim that at most so many times the bytes are kept for *large* inputs, results left out."""
        self._grows("keeps_at_most", "held", small, large, at_most, grown)

    def needs_less_memory(
        self,
        at_most: float,
        sizes: Sizes,
        tiny: Sizes,
        *,
        of: Callable[[Mapping[str, Any]], int] | None = None,
        backward: bool = False,
        **words: Unpack[Words],
    ) -> None:
        """Claim at most this share of the baseline's peak, seen from outside; *tiny* is what an idle worker does.

        It may be a share *of* other bytes, by the call's arguments, and that of the *backward* pass as well.
        """

        claim = "needs_less_memory"
        self.require_drawn(claim, [sizes, tiny])
        self.require_words(claim, words)

        def peak(student: Student, rig: Rig) -> dict[str, Any]:
            given = self.given(rig, Case("large", sizes), exact=False)
            answers = rig.answers()
            share = int(of(given)) if of is not None else 0
            rig.return_memory_at_once()
            if backward:
                names = rig.calls.asked(given)
                drawn = rig.integer(0, 1 << 30)
                run = partial(self.call, student)
                gradients = rig.calls.gradients(run, given, names, drawn)
                for name, gradient in zip(names, gradients, strict=True):
                    answers.add(f"gradient of {name}", gradient)
            else:
                answers.add("large inputs", self.call(student, given))
            return {**answers.values(), "of": share}

        def idle(student: Student, rig: Rig) -> dict[str, Any]:
            self.call(student, self.given(rig, Case("tiny", tiny), exact=False))
            return {}

        def judge(run: Pair, nothing: Pair) -> Verdict:
            others = "at this size your code returns other results than the slow version"
            same = outputs.same(run, NEAR, why=others, try_=AT_THIS_SIZE)
            if isinstance(same, Failed):
                return same
            mine, plain = memory.beyond(run, nothing)
            allowed = at_most * (run.baseline.values["of"] or plain)
            measured = (
                f"{mine / MB:.0f} MB where the slow version takes {plain / MB:.0f} MB; "
                f"allowed {allowed / MB:.0f} MB"
            )
            return memory.at_most(
                run,
                nothing,
                allowed,
                measured,
                words["why"],
                words["try_"],
            )

        values = {**CASES, "of": INTEGER}
        name = self.named("peak", words)
        hints = {"memory": words["try_"]}
        reads = [
            self.add_probe(name, peak, pair=True, values=values, arrays=NUMBERS, hints=hints),
            self.add_probe(self.named("idle"), idle, pair=True),
        ]
        said = f"{self.function} needs at most {at_most:.0%} of the slow version's memory, measured from outside."
        self.add_check(claim, said, "outputs", judge, reads, words, structural=True)

    def _cost(self, student: Student, rig: Rig, sizes: Sizes, *, gradients: bool) -> dict[str, int]:
        """Run one call, of the same dtypes on both sides."""
        given = self.given(rig, own_case("cost", sizes), exact=False)
        if gradients:
            given = rig.calls.computed(given)
        counted: dict[str, int] = rig.calls.cost(partial(self.call, student), given)
        return counted

    def _flops(self, student: Student, rig: Rig, case: Case) -> int:
        given = self.given(rig, case, exact=False)
        wanted = rig.calls.asked(given) if case.gradients is None else case.gradients
        counted: int = rig.calls.flops(partial(self.call, student), given, list(wanted))
        return counted

    def _costs(
        self,
        claim: str,
        measure: str,
        at_most: float,
        sizes: Sizes,
        words: Words,
    ) -> None:
        does, unit, scale = SAYS[measure]
        self.require_drawn(claim, [own_case(claim, sizes).sizes])

        def cost(student: Student, rig: Rig) -> dict[str, Any]:
            return self._cost(student, rig, sizes, gradients=measure == "held")

        def judge(pair: Pair) -> Verdict:
            mine = pair.student.values
            plain = pair.baseline.values
            none_read = measure in ("touched", "moved") and not mine[measure]
            if not mine["operations"] or none_read:
                return Failed("no operation on the inputs was seen", *UNSEEN)
            limit, there = (
                unit.split()[0].format(int(share * plain[measure]) / scale)
                for share in (at_most, 1)
            )
            measured = f"{unit.format(mine[measure] / scale)}; allowed: {limit}, "
            measured += f"{at_most:.0%} of the slow version's {there}"
            if mine[measure] <= at_most * plain[measure]:
                return Passed(measured)
            return Failed(measured, words["why"], words["try_"])

        probe = self.add_probe(self.named(f"{claim}_cost"), cost, pair=True, values=COST)
        said = f"{self.function} {does} at most {at_most:.0%} of what the slow version does."
        self.add_check(claim, said, "report", judge, [probe], words, structural=True)

    def _grows(
        self,
        claim: str,
        measure: str,
        small: Sizes,
        large: Sizes,
        at_most: float,
        grown: Grown,
    ) -> None:
        does, unit, scale = SAYS[measure]
        larges = {"": large, **grown.get("also", {})}
        self.require_drawn(claim, [small, *larges.values()])

        def growth(student: Student, rig: Rig) -> dict[str, Any]:
            held = measure == "held"
            every = [
                self._cost(student, rig, sizes, gradients=held)
                for sizes in (small, *larges.values())
            ]
            return {
                "costs": [cost[measure] for cost in every],
                "seen": min(cost["operations"] for cost in every),
            }

        def judge(observation: Observation) -> Verdict:
            costs = observation.values["costs"]
            if not observation.values["seen"] or len(costs) != 1 + len(larges):
                return Failed("no operation was seen", *UNSEEN)
            few, *many = costs
            first, *others = (described(it) for it in _varied(small, *larges.values()))
            measured = f"{unit.format(few / scale)} for {first}"
            most = at_most * few + grown.get("more", 0)
            for kind, of, cost in zip(larges, others, many, strict=True):
                beside = f"{measured}; {unit.format(cost / scale)} for {of}"
                if cost > most:
                    beside = f"{beside}; allowed {unit.format(most / scale)}"
                    return Failed(beside, *cause(grown["why"], kind, grown["try_"]))
            return Passed(f"{measured}; {unit.format(many[0] / scale)} for {others[0]}")

        values = {"costs": list_of(INTEGER), "seen": INTEGER}
        probe = self.add_probe(self.named(f"{claim}_growth"), growth, values=values)
        times = "no more" if at_most == 1 else f"at most {at_most:g} times as much"
        said = f"{self.function} {does} {times} for larger inputs."
        self.add_check(claim, said, "report", judge, [probe], grown, structural=True)


def _varied(*every: Sizes) -> list[Sizes]:
    """Leave out of these sizes what is the same in all of them."""
    first, *others = every
    fixed = {name for name, size in first.items() if all(it.get(name) == size for it in others)}
    return [{name: it[name] for name in it if name not in fixed} for it in every]
