"""Part 3: overlap. Gradients that travel while backward goes on, and half of their bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.checks import outputs
from autograder.claims.reductions import BLOCKING, RANK, WAITED, Reductions, reduced
from autograder.lab import Answer, Failed, Pair, Part, Passed, Student, Verdict, exactly
from autograder.model import verdict

if TYPE_CHECKING:
    from autograder.labs.distributed.part3_overlap.rig import Rig
else:
    Rig = Any

part = Part(
    "part3_overlap",
    writes=["BucketedDDP", "compressing"],
    hands_in=["part3_notes.md"],
    warm=["torch._dynamo"],
)
SEE = 'see "What usually goes wrong" in the part 3 handout'
WORLD = 2
ALL = ((True, True),) * 3
SOME = ((True, True), (False, True), (True, True))
"""In the second step only rank 1 uses all parameters."""

# --- buckets ----------------------------------------------------------------------------------------------------------


@part.probe(pair=True, **reduced("begun"), takes=["BucketedDDP"])
def trained(student: Student, rig: Rig) -> Answer:
    """Three steps in two processes; what is expected is one process on the batches of both."""
    training = rig.reducing(ALL)
    return training.together(student) if rig.side == "student" else training.alone()


@part.probe(pair=True, **reduced("begun"), takes=["BucketedDDP"])
def late(student: Student, rig: Rig) -> Answer:
    """The same; what a collective call makes arrives when it is waited for."""
    training = rig.reducing(ALL)
    return training.together(student, late=True) if rig.side == "student" else training.alone()


@part.probe(pair=True, **reduced("begun"), takes=["BucketedDDP"])
def uneven(student: Student, rig: Rig) -> Answer:
    """The same, where rank 0 does not use all parameters in the second step."""
    training = rig.reducing(SOME)
    return training.together(student) if rig.side == "student" else training.alone()


ORDER = "reduce bucket k + 1 after bucket k, also if it is ready earlier"
TRAINED = ["trains_as_one"]
group, arriving, using = (Reductions(part, probe, SEE) for probe in (trained, late, uneven))
group.trains_as_one("trains_as_one")


@part.check(basis="outputs", compared="parameters and buffers")
def starts_from_rank_0(trained: Pair) -> Verdict:
    """A BucketedDDP has the parameters and buffers of rank 0 in all processes."""
    measured, why = "", ""
    for rank in range(WORLD):
        own, expected = (
            side.arrays[f"begun{rank}"] for side in (trained.student, trained.baseline)
        )
        apart = float(np.abs(own - expected).max()) if own.shape == expected.shape else np.inf
        measured = f"rank {rank}: parameters and buffers are up to {apart:.3g} from those of rank 0"
        if apart != 0:
            why = "not all of them were sent: frozen parameters and buffers count as well"
            break
    return verdict(measured, why, f"dist.broadcast each parameter and buffer from rank 0; {SEE}")


arriving.sends(
    "sends_each_gradient_once",
    [424, 576, 336],
    "A step reduces each gradient once, in buckets of 424, 576 and 336 bytes, and nothing else.",
    "each trainable parameter, once, fills buckets in reverse order, until the next does not fit",
    "one all_reduce for each bucket, of one flat tensor",
    TRAINED,
)
arriving.overlaps(
    "starts_before_backward_ends",
    "The first bucket leaves while gradients are still missing, and no call blocks.",
    "send a full bucket in register_post_accumulate_grad_hook; async_op=True, and wait in finish()",
    TRAINED,
)
arriving.waits_for_all(
    "waits_for_every_bucket",
    "Two processes arrive at the weights of one where results arrive only when they are waited for.",
    "keep what all_reduce returns, and call wait() of each in finish()",
    needs=TRAINED,
)
using.same_order(
    "same_order_on_all_ranks",
    "The processes make the same calls in the same order, also where they use different parameters.",
    ORDER,
    TRAINED,
)
using.trains_as_one(
    "counts_unused_as_zero",
    says="A parameter that a process did not use counts as zeros there.",
    needs=TRAINED,
)

# --- a hook -----------------------------------------------------------------------------------------------------------

BYTES = 12_000  # of all gradients in float32
HALVES = {"float16": (1e-4, 2e-3), "bfloat16": (1e-3, 1.2e-2)}
"""Relative error that is expected of a gradient: honest work was at 9.7e-4 and 7.7e-3."""
FUTURE = "dist.all_reduce(small, async_op=True).get_future().then(...)"


@part.probe(
    pair=True,
    values={"ranks": exactly(WORLD, RANK)},
    arrays={f"{dtype}{rank}": ("float64", 1) for dtype in HALVES for rank in range(WORLD)},
    takes=["compressing"],
)
def hooked(student: Student, rig: Rig) -> Answer:
    """DistributedDataParallel with the hook; gradients are drawn, ordinary, large and small ones."""
    steps = rig.compressing()
    return steps.together(student) if rig.side == "student" else steps.alone()


@part.check(basis="outputs", compared="gradients")
def rounds_and_no_more(hooked: Pair) -> Verdict:
    """The hook's means are rounded as dtype is and no more: large and small gradients, the same in all processes."""
    own, measured = hooked.student.arrays, []
    for dtype, (low, high) in HALVES.items():
        for rank in range(WORLD):
            expected = hooked.baseline.arrays[f"{dtype}{rank}"]
            apart = outputs.furthest(own[f"{dtype}{rank}"] / expected, np.ones_like(expected))
            measured.append(f"{dtype}, rank {rank}: {apart:.1e} of a gradient")
            if not apart <= high:
                return Failed(
                    f"{measured[-1]} (allowed {high:.1e})",
                    _rounding_reason(own[f"{dtype}{rank}"], expected),
                    f"bucket.buffer().div(n).to(dtype) is what is sent; {SEE}",
                )
            if apart < low:
                why = "that is float32: dtype is not used"
                return Failed(f"{measured[-1]} (at least {low:.0e})", why, f"to(dtype); {SEE}")
        if not np.array_equal(own[f"{dtype}0"], own[f"{dtype}1"]):
            why = "a process has its own gradients in float32, and only the others' are rounded"
            return Failed(f"{dtype}: the ranks have different means", why, f"reduce {dtype}; {SEE}")
    return Passed("; ".join(measured))


def _rounding_reason(own: Any, expected: Any) -> str:
    ratio = float(np.median(own / expected))
    if ratio > 1.5:
        return "these are sums: a hook divides by the number of processes itself"
    if ratio < 0.75:
        return "these are half of the means: divided twice"
    if not np.isfinite(own).all():
        return "40,000 + 40,000 is infinite in float16: divide before the sum"
    return "a mean is made of other gradients, or in another precision"


hooks = Reductions(part, hooked, SEE)
hooks.collectives(
    "halves_the_bytes",
    "The hook reduces half of the bytes, from the third step on.",
    per_step=len(HALVES) * 4,
    bytes=BYTES // 2,
    kinds=["all_reduce"],
    why="gradients are sent in float32, or more than once",
    try_="reduce a tensor of dtype",
    needs=["rounds_and_no_more"],
)


@part.check(basis="report", needs=[rounds_and_no_more])
def does_not_block(hooked: Pair) -> Verdict:
    """The hook starts its call asynchronously, and waits for nothing while it runs."""
    measured, why = "", ""
    for rank, own in enumerate(hooked.student.values["ranks"]):
        during = [event for step in own["events"] for event in _during(step)]
        blocking, waits = during.count(BLOCKING), during.count(WAITED)
        measured = f"rank {rank}: {blocking} blocking calls and {waits} waits in hooks"
        if blocking or waits:
            why = "backward stands still while the hook waits, so nothing overlaps"
            break
        if "hook" not in during:
            why = "the hook was never called"
            break
    return verdict(measured, why, f"{FUTURE} returns at once; {SEE}")


def _during(events: Any) -> list[str]:
    """Return what happens between a hook's beginning and its end."""
    running, during = False, []
    for event in events:
        running = event == "hook" or (running and event != "hook ends")
        if running:
            during.append(event)
    return during
