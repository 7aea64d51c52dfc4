"""Claims about what a call takes: operations, bytes that move, bytes that are made, bytes that stay for backward."""

from __future__ import annotations

from typing import Any

from autograder.checks import memory, outputs
from autograder.claims.base import Claimed, described
from autograder.claims.families import Case, Sizes
from autograder.claims.results import SAME
from autograder.lab import INTEGER, NUMBERS
from autograder.model import Failed, Observation, Pair, Passed, Verdict

MB = 1e6
SAYS = {
    "operations": ("asks torch for", "{:,.0f} operations", 1.0),
    "moved": ("moves", "{:.2f} MB", MB),
    "made": ("allocates", "{:.2f} MB", MB),
    "held": ("keeps for the backward pass", "{:.2f} MB", MB),
}
"""Measure -> what a function does, and its number in the unit."""
COST = dict.fromkeys(SAYS, INTEGER)
UNSEEN = "it computes where no operation is seen: in another thread or process, or without torch"
NEAR = 1e-4  # of a result's largest number: large inputs give what small ones do


class Costs(Claimed):
    """fewer_operations, moves_less, allocates_less, keeps_less; the same for growth; needs_less_memory."""

    def fewer_operations(self, at_most: float, sizes: Sizes, *, why: str, try_: str) -> None:
        """Claim at most this share of the operations that the baseline asks for."""
        self._costs("fewer_operations", "operations", at_most, sizes, why, try_)

    def moves_less(self, at_most: float, sizes: Sizes, *, why: str, try_: str) -> None:
        """Claim at most this share of the bytes that the baseline reads and writes."""
        self._costs("moves_less", "moved", at_most, sizes, why, try_)

    def allocates_less(self, at_most: float, sizes: Sizes, *, why: str, try_: str) -> None:
        """Claim at most this share of the bytes that the baseline makes."""
        self._costs("allocates_less", "made", at_most, sizes, why, try_)

    def keeps_less(self, at_most: float, sizes: Sizes, *, why: str, try_: str) -> None:
        """Claim at most this share of the bytes that the baseline keeps after a call, results left out."""
        self._costs("keeps_less", "held", at_most, sizes, why, try_)

    def operations_do_not_grow(
        self, small: Sizes, large: Sizes, *, why: str, try_: str, at_most: float = 1.0
    ) -> None:
        """Claim at most so many times the operations for *large* inputs."""
        self._grows("operations_do_not_grow", "operations", small, large, at_most, why, try_)

    def moves_at_most(
        self, small: Sizes, large: Sizes, *, why: str, try_: str, at_most: float
    ) -> None:
        """Claim at most so many times the bytes for *large* inputs."""
        self._grows("moves_at_most", "moved", small, large, at_most, why, try_)

    def needs_less_memory(
        self, at_most: float, sizes: Sizes, tiny: Sizes, *, why: str, try_: str
    ) -> None:
        """Claim at most this share of the baseline's peak, seen from outside; *tiny* is what an idle worker does."""

        def peak(student: Any, rig: Any) -> dict[str, Any]:
            given = self.given(rig, Case("large", sizes), exact=False)
            rig.return_memory_at_once()
            return {"numbers": rig.flat(self.call(student, given))}

        def idle(student: Any, rig: Any) -> dict[str, Any]:
            self.call(student, self.given(rig, Case("tiny", tiny), exact=False))
            return {}

        def judge(run: Pair, nothing: Pair) -> Verdict:
            apart = outputs.furthest(run.student.arrays["numbers"], run.baseline.arrays["numbers"])
            return memory.leaner(run, nothing, at_most, apart, NEAR, why, try_)

        reads = [
            self.add_probe("peak", peak, pair=True, arrays=NUMBERS),
            self.add_probe("idle", idle, pair=True),
        ]
        said = f"{self.function} needs at most {at_most:.0%} of the slow version's memory, measured from outside."
        self.add_check("needs_less_memory", said, "outputs", judge, reads, SAME, structural=True)

    def _cost(self, student: Any, rig: Any, sizes: Sizes, *, gradients: bool) -> dict[str, int]:
        """Run one call, of the same dtypes on both sides."""
        given = self.given(rig, Case("cost", sizes), exact=False)
        if gradients:
            given |= {name: given[name].requires_grad_() for name in rig.calls.asked(given)}
        found: dict[str, int] = rig.calls.cost(
            lambda arguments: self.call(student, arguments), given
        )
        return found

    def _costs(
        self, claim: str, measure: str, at_most: float, sizes: Sizes, why: str, try_: str
    ) -> None:
        does, unit, one = SAYS[measure]

        def cost(student: Any, rig: Any) -> dict[str, Any]:
            return self._cost(student, rig, sizes, gradients=measure == "held")

        def judge(found: Pair) -> Verdict:
            mine, plain = found.student.values, found.baseline.values
            if not mine["operations"]:
                return Failed("no operation was seen", UNSEEN, try_)
            here, there = unit.format(mine[measure] / one), unit.format(plain[measure] / one)
            measured = f"{here} where the slow version has {there}; allowed {at_most:.0%} of it"
            return (
                Passed(measured)
                if mine[measure] <= at_most * plain[measure]
                else Failed(measured, why, try_)
            )

        probe = self.add_probe(f"{claim}_cost", cost, pair=True, values=COST)
        said = f"{self.function} {does} at most {at_most:.0%} of what the slow version does."
        self.add_check(claim, said, "report", judge, [probe], SAME, structural=True)

    def _grows(
        self,
        claim: str,
        measure: str,
        small: Sizes,
        large: Sizes,
        at_most: float,
        why: str,
        try_: str,
    ) -> None:
        does, unit, one = SAYS[measure]

        def growth(student: Any, rig: Any) -> dict[str, Any]:
            few, many = (
                self._cost(student, rig, sizes, gradients=False) for sizes in (small, large)
            )
            return {"small": few[measure], "large": many[measure]}

        def judge(found: Observation) -> Verdict:
            few, many = found.values["small"], found.values["large"]
            if not few:
                return Failed("no operation was seen", UNSEEN, try_)
            told = [
                f"{unit.format(it / one)} for {described(at)}"
                for it, at in ((few, small), (many, large))
            ]
            measured = ", ".join(told)
            return Passed(measured) if many <= at_most * few else Failed(measured, why, try_)

        probe = self.add_probe(
            f"{claim}_growth", growth, values={"small": INTEGER, "large": INTEGER}
        )
        more = (
            "no more for larger inputs"
            if at_most == 1
            else f"at most {at_most:g} times as much for larger inputs"
        )
        self.add_check(
            claim,
            f"{self.function} {does} {more}.",
            "report",
            judge,
            [probe],
            SAME,
            structural=True,
        )
