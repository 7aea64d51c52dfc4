"""Claims about how the processes of a group send their gradients: in one order, while backward goes on, and waited for.

reductions = Reductions(part, late, SEE)     late: the probe, declared with reduced()
reductions.overlaps(...)                     and all that a `Group` may claim

What happens in a step is noted: "gradient" for each that is there, "full" when that fills the next bucket, and by
`worker/rigs/late_collectives.py` "call" or
"blocking call", and "wait".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from autograder.checks import outputs
from autograder.checks.hints import hinted
from autograder.claims.group_words import UNSEEN
from autograder.claims.groups import APART, SUMS, TWICE, WORLD, Calls, Group
from autograder.lab import INTEGER, TEXT, Part, exactly, list_of, record
from autograder.model import Failed, Pair, Verdict, verdict

CALL = record(kind=TEXT, bytes=INTEGER)
RANK = record(steps=list_of(list_of(CALL)), events=list_of(list_of(TEXT)))
GRADIENT, FULL, CALLED, BLOCKING, WAITED = "gradient", "full", "call", "blocking call", "wait"


UNSENT = "your code sends nothing before the last gradient is there"
OTHERS = ": its buckets are not those of the handout"
LATE = "your code keeps a full bucket until later gradients are there, or until finish()"
UNEQUAL = ".grad does not hold the mean of all ranks after finish()"
RESET = "usually counters are not reset after each step"
BLOCKS = "your all_reduce has no async_op=True, so it blocks the backward pass"
WAITS = (
    "your code waits during backward, usually in a hook: backward stops until other processes come"
)
NO_MEAN = "rank 0 has no gradient of some parameters in step 2, and its mean is missing there"
ZEROS = (
    "step 2 is wrong, where rank 0 is called with side=False: "
    "gradients that are missing there do not count as zeros"
)
NOT_HANDED_ON = "rank 0 is called with side=False in step 2, and forward does not hand that on"
THREE = "your code divides sums by 2, and here are three processes"
UNCHANGED = "no parameter and no buffer of rank 0 arrives in the module of rank 1"
PARTLY = "some parameters of rank 0 do not arrive in the module of rank 1"
BUFFERS = "not all buffers of rank 0 arrive in the module of rank 1"
COPIED = "the given module never changes in rank 1: usually a copy of this module is trained"
BEGINS = {
    COPIED: "self.module = module, without a copy",
    UNCHANGED: "self.module = module, and dist.broadcast its parameters and buffers from rank 0",
    PARTLY: "dist.broadcast all of module.parameters(), frozen ones too, and all of module.buffers()",
    BUFFERS: "dist.broadcast each of module.buffers(); state_dict() has not all of them",
}
TRIES = {
    **BEGINS,
    UNEQUAL: "keep what each all_reduce returns, call wait() of each in finish(), then write .grad",
    NO_MEAN: "write the mean into .grad also where it is None",
    ZEROS: "send torch.zeros_like(parameter) where .grad is None, and .grad where it is there",
    NOT_HANDED_ON: "forward(self, *inputs, **options): return self.module(*inputs, **options)",
    THREE: "divide by dist.get_world_size()",
    "added up and": "divide by dist.get_world_size(), which is 2 here",
    "nothing moved": "copy each mean into .grad of the module's own parameters",
    "before all its": "send a bucket when none of its gradients is missing",
    "counters are not reset": "in finish(), set the counters back to what they are at the beginning",
    LATE: "while the next bucket in turn is full: send it",
    OTHERS: "fix sends_each_gradient_once first",
    UNSENT: "send each bucket as soon as it is full, in register_post_accumulate_grad_hook",
    BLOCKS: "dist.all_reduce(flat, async_op=True)",
    WAITS: "call wait() in finish()",
}
ORDERS = {
    "by their order": "send bucket k + 1 after bucket k, also if it is full earlier",
    "never makes": "send each bucket in finish() that has not left, with zeros for what is missing",
}
"""What to try, by words of what is wrong."""


def reduced() -> dict[str, Any]:
    """Return the form of a probe about processes that reduce gradients."""
    each = [f"{name}{rank}" for name in ("begun", "first", "weights") for rank in range(WORLD)]
    return {
        "values": {"ranks": exactly(WORLD, RANK)},
        "arrays": dict.fromkeys(["start", "used", *each], ("float64", 1)),
    }


class Reductions(Group):
    """Processes that reduce gradients. Steps count from the first one on."""

    def __init__(
        self, part: Part, by: Callable[..., Any], see: str, *, uneven: bool = False
    ) -> None:
        """Name the probe; where it is *uneven*, rank 0 of three does not use all parameters in step 2."""
        super().__init__(part, by, see)
        self._uneven = uneven

    def trained(self, ranks: Pair, within: float) -> Verdict:
        """Judge the weights of each process, and say what to try."""
        return hinted(super().trained(ranks, within), TRIES)

    def reason(self, ranks: Pair, ratio: float) -> str:
        """Say what sets the training apart from one process's; *begun*, *first* are weights before and after a step."""
        own, expected = ranks.student.arrays, ranks.baseline.arrays
        if not np.array_equal(own["begun0"], own["begun1"]):
            return _unsent(ranks, "begun")
        if not outputs.furthest(own["weights0"], own["weights1"]) <= APART:
            return f"the ranks have different weights: {NO_MEAN if self._uneven else UNEQUAL}"
        if ratio <= APART:
            return "nothing moved: usually .grad of the module's own parameters is empty after finish()"
        if outputs.furthest(own["first0"], expected["first0"]) <= APART:
            return self._later(own["weights0"], expected["used"])
        halves = False
        if self._uneven and own["first0"].shape == expected["start"].shape:
            first, right = (it["first0"] - expected["start"] for it in (own, expected))
            halves = bool(np.isclose(outputs.multiple(first, right, APART) or 0, 1.5))
        if halves or SUMS[0] < ratio < SUMS[1]:
            return THREE if halves else TWICE
        return (
            "the ranks agree, but not with one process: usually a bucket leaves before all its "
            "gradients are there"
        )

    def _later(self, own: Any, used: Any) -> str:
        """Say what is wrong where the first step is right; *used* are the weights with all parameters used."""
        if not self._uneven:
            return "step 1 is right and a later step is wrong: usually counters are not reset"
        return NOT_HANDED_ON if outputs.furthest(own, used) <= APART else ZEROS

    def starts_alike(self, name: str, figure: str, says: str, try_: str) -> None:
        """Claim that all processes begin with these numbers of rank 0, to the last bit."""

        def problem(ranks: Pair) -> tuple[str, str]:
            measured = ""
            for rank in range(WORLD):
                own, expected = (
                    side.arrays[f"{figure}{rank}"] for side in (ranks.student, ranks.baseline)
                )
                differ = int(np.sum(own != expected)) if own.shape == expected.shape else len(own)
                measured = f"rank {rank}: {differ} of {len(own)} numbers differ from rank 0's"
                if not np.array_equal(own, expected):
                    return measured, _unsent(ranks, figure)
            return measured, ""

        self._claim(name, says, "outputs", problem, try_, compared=figure, hints=BEGINS)

    def sends(
        self,
        name: str,
        buckets: Sequence[int],
        says: str,
        why: str,
        try_: str,
        needs: Sequence[str] = (),
        slips: Mapping[str, tuple[str, Sequence[int]]] = MappingProxyType({}),
    ) -> None:
        """Claim that each step reduces buckets of so many bytes, in any order, and does nothing else.

        *slips*: what is wrong -> what to try, and the buckets that this mistake makes.
        """
        tries = {words: hint for words, (hint, _) in slips.items()}
        expected = ", ".join(map(str, buckets))

        def problem(ranks: Pair) -> tuple[str, str]:
            measured = ""
            for rank, own in enumerate(ranks.student.values["ranks"]):
                for step, calls in enumerate(own["steps"], 1):
                    sizes = [call["bytes"] for call in calls]
                    reported = ", ".join(map(str, sizes[:9])) or "none"
                    measured = f"rank {rank}: {len(calls)} collective calls in step {step}"
                    measured = f"{measured}, of {reported} bytes; expected: {expected} bytes"
                    if not calls:
                        return measured, UNSEEN
                    other = [call["kind"] for call in calls if call["kind"] != "all_reduce"]
                    if other:
                        return (
                            measured,
                            f"your step calls {other[0]}, and it must call nothing but all_reduce",
                        )
                    for words, (_, made) in slips.items():
                        if sorted(sizes) == sorted(made):
                            return measured, words
                    if sorted(sizes) != sorted(buckets):
                        if len(sizes) == len(buckets):
                            return measured, why
                        size = "large" if len(sizes) < len(buckets) else "small"
                        return measured, f"your buckets are too {size}: {why}"
            return measured, "" if measured else "no step was made"

        def judge(ranks: Pair) -> Verdict:
            judged = verdict(*problem(ranks), try_ or self.see)
            return hinted(judged, {**tries, "nothing but": f"leave this call out; {try_}"})

        self.part.add_check(name, says, "report", judge, [self.probe], needs)

    def same_order(self, name: str, says: str, try_: str, needs: Sequence[str] = ()) -> None:
        """Claim that all processes make the same calls in the same order."""

        def problem(ranks: Pair) -> tuple[str, str]:
            first, second = (_joined(own["steps"]) for own in ranks.student.values["ranks"])
            for number, (own, other) in enumerate(zip(first, second, strict=False), 1):
                if own != other:
                    measured = f"call {number}: rank 0 {_words(own)}, rank 1 {_words(other)}"
                    return (
                        measured,
                        "your processes send in different orders, and calls meet by their order",
                    )
            measured = f"rank 0 made {len(first)} calls, rank 1 made {len(second)}"
            if len(first) != len(second):
                return measured, "one process never makes a call for which the other waits"
            return measured, "" if first else UNSEEN

        self._claim(name, says, "report", problem, try_, needs, hints=ORDERS)

    def overlaps(
        self,
        name: str,
        says: str,
        try_: str,
        needs: Sequence[str] = (),
        *,
        buckets: Sequence[int] = (),
    ) -> None:
        """Claim, in steps that use all parameters, that the first call starts while a gradient is still missing.

        And that no call blocks, and nothing is waited for before the last gradient is there. Where the calls of a step
        have the bytes of *buckets*, each of them starts as soon as it and those before it are full.
        """

        def problem(ranks: Pair) -> tuple[str, str]:
            measured, why = "", "no step was made"
            for rank, own in enumerate(ranks.student.values["ranks"]):
                sizes = [[call["bytes"] for call in calls] for calls in own["steps"]]
                for step, events in enumerate(own["events"], 1):
                    measured, why = _overlap_problem(events)
                    as_asked = sizes[step - 1 : step] == [list(buckets)]
                    if not why and as_asked:
                        measured, why = _late_problem(events, measured)
                    if why == UNSENT and buckets and not as_asked:
                        why += OTHERS
                    measured = f"rank {rank}, step {step}: {measured}"
                    if why in (UNSENT, LATE) and step > 1:
                        return measured, f"{why}, and step 1 was right: {RESET}"
                    if why:
                        return measured, why
            return measured, why

        def judge(ranks: Pair) -> Verdict:
            return hinted(verdict(*problem(ranks), try_ or self.see), TRIES)

        self.part.add_check(name, says, "report", judge, [self.probe], needs)

    def waits_for_all(
        self, name: str, says: str, try_: str, *, within: float = APART, needs: Sequence[str] = ()
    ) -> None:
        """Claim the weights of one process where what a call makes arrives when it is waited for, and not before."""

        def judge(ranks: Pair) -> Verdict:
            trained = self.trained(ranks, within)
            if not isinstance(trained, Failed):
                return trained
            measured = f"with results that arrive at wait(): {trained.measured}"
            why = "your code uses a result before it has waited for it"
            return Failed(measured, why, try_)

        self.part.add_check(name, says, "scripted", judge, [self.probe], needs)


def _unsent(ranks: Pair, figure: str) -> str:
    """Say why rank 1 does not begin with the numbers of rank 0."""
    own, right = (it.arrays[f"{figure}1"] for it in (ranks.student, ranks.baseline))
    parameters = len(ranks.baseline.arrays["start"])
    if own.shape != right.shape or (own != right).all():
        return (
            COPIED
            if np.array_equal(own[:parameters], ranks.student.arrays["weights1"])
            else UNCHANGED
        )
    return BUFFERS if np.array_equal(own[:parameters], right[:parameters]) else PARTLY


def _joined(steps: Sequence[Calls]) -> list[Any]:
    return [call for step in steps for call in step]


def _words(call: Any) -> str:
    if call["kind"] == "all_reduce":
        return f"reduces {call['bytes']} bytes"
    return f"calls {call['kind']} with {call['bytes']} bytes"


def _overlap_problem(events: Sequence[str]) -> tuple[str, str]:
    """Say what was measured in one step, and what is wrong with it."""
    gradients = events.count(GRADIENT)
    calls = [at for at, event in enumerate(events) if event in (CALLED, BLOCKING)]
    if not calls:
        return "no collective call", UNSEEN
    missing = events[calls[0] :].count(GRADIENT)
    measured = f"{missing} of {gradients} gradients are missing when the first call starts"
    if BLOCKING in events:
        return f"{events.count(BLOCKING)} calls block; expected 0", BLOCKS
    last = max((at for at, event in enumerate(events) if event == GRADIENT), default=0)
    if WAITED in events[:last]:
        waited = events[events.index(WAITED) :].count(GRADIENT)
        return f"wait() is called while {waited} of {gradients} gradients are missing", WAITS
    return measured, "" if missing else UNSENT


def _late_problem(events: Sequence[str], measured: str) -> tuple[str, str]:
    """Say which full bucket had not left when the next gradient was there."""
    full = sent = 0
    for event in events:
        if event == GRADIENT and sent < full:
            return (
                (
                    f"bucket {sent + 1} (counted from 1) was full and "
                    f"had not left at the next gradient"
                ),
                LATE,
            )
        full += event == FULL
        sent += event == CALLED
    return measured, ""
