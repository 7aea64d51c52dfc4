"""Part 3: overlap. Gradients that travel while backward goes on, and half of their bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autograder.claims.gradient_hooks import Hooks, averaged
from autograder.claims.reductions import Reductions, reduced
from autograder.lab import Answer, Part, Student

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
ALL = ((True, True),) * 3
SOME = ((True,) * 3, (False, True, True), (True,) * 3)
"""In the second step rank 0 does not use all parameters. A third process shows who divides by 2."""

RAISED = {"raised": "run python part3_overlap.py, and read the whole traceback"}

# --- buckets ---


@part.probe(pair=True, **reduced(), takes=["BucketedDDP"], hints=RAISED)
def trained(student: Student, rig: Rig) -> Answer:
    """Three steps in two processes; what is expected is one process on the batches of both."""
    return rig.reduced(student, ALL)


@part.probe(pair=True, **reduced(), takes=["BucketedDDP"], hints=RAISED)
def late(student: Student, rig: Rig) -> Answer:
    """The same, in float64, where a gradient fits exactly; what a call makes arrives when it is waited for."""
    return rig.reduced(student, ALL, exact=True, late=True)


@part.probe(
    pair=True,
    **reduced(),
    takes=["BucketedDDP"],
    hints={
        **RAISED,
        "apart": "send each bucket whole, with zeros for a gradient that is missing, and "
        "bucket k + 1 after bucket k",
        "left early": "in finish(), send each bucket that has not left, with zeros for what is "
        "missing",
    },
)
def uneven(student: Student, rig: Rig) -> Answer:
    """The same with three processes, where rank 0 does not use all parameters in the second step."""
    return rig.reduced(student, SOME)


TRAINED = ["trains_as_one"]
BUCKETS = [416, 96, 1152, 336, 96, 576]
"""Bytes in float64, where bucket_bytes is 416: the last gradient fits into the first bucket, exactly."""
SLIPS = {
    "your code counts four bytes for each number, and numbers are float64 here": (
        "count numel() * element_size() bytes",
        [512, 1152, 432, 576],
    ),
    "your flat tensor is float32, and gradients are float64 here": (
        "make the flat tensor of the gradients' dtype, by torch.cat",
        [size // 2 for size in BUCKETS],
    ),
    "your code begins a new bucket where a gradient fits exactly: bucket_bytes is 416": (
        "begin a new bucket if bytes > bucket_bytes, and not if >=",
        [32, 384, 96, 1152, 336, 96, 576],
    ),
    "your code puts one more gradient into a bucket where it does not fit": (
        "look whether the next gradient fits before you put it in",
        [416, 1248, 432, 576],
    ),
    "your code puts gradients into earlier buckets that have room": (
        "put each gradient into the last bucket, or into a new one",
        [416, 240, 1152, 288, 576],
    ),
    "your code puts all gradients into one bucket": (
        "begin a new bucket where the next gradient would not fit into bucket_bytes",
        [2672],
    ),
    "your code makes a bucket for each gradient": (
        "put gradients into one bucket until the next does not fit into bucket_bytes",
        [32, 384, 96, 1152, 48, 288, 96, 576],
    ),
    "your code sends a parameter that two layers share twice": (
        "go through module.parameters(), which gives each parameter once",
        [416, 96, 1152, 336, 576, 96, 576],
    ),
    "your code fills buckets from the first layer on": (
        "go through reversed(list(module.parameters()))",
        [576, 384, 48, 1152, 96, 416],
    ),
}
"""What is wrong, what to try, and the buckets that this mistake makes."""
group, arriving, using = (Reductions(part, probe, SEE) for probe in (trained, late, uneven))
unused = Reductions(part, uneven, SEE, uneven=True)
group.trains_as_one("trains_as_one")
group.starts_alike(
    "starts_from_rank_0",
    "begun",
    "A BucketedDDP has the parameters and buffers of rank 0 in all processes.",
    "dist.broadcast each parameter and each buffer from rank 0",
)
arriving.sends(
    "sends_each_gradient_once",
    BUCKETS,
    "A step reduces each gradient once, in the buckets of the handout, and nothing else.",
    "trainable parameters, each once, must fill buckets in reverse order until the next does not "
    "fit (here bucket_bytes is 416, and numbers are float64)",
    "one all_reduce for each bucket, of one flat tensor",
    TRAINED,
    SLIPS,
)
arriving.overlaps(
    "starts_before_backward_ends",
    "Each bucket leaves as soon as its gradients are there and the "
    "one before it has left; no call blocks.",
    "send each full bucket in register_post_accumulate_grad_hook; "
    "async_op=True, and wait in finish()",
    TRAINED,
    buckets=BUCKETS,
)
arriving.waits_for_all(
    "waits_for_every_bucket",
    "The weights are also right if the result of a call is not there before wait().",
    "keep what all_reduce returns, and call wait() of each in finish()",
    needs=TRAINED,
)
using.same_order(
    "same_order_on_all_ranks",
    "All processes make the same calls in the same order, even if they use different parameters.",
    "reduce bucket k + 1 after bucket k, also if it is ready earlier",
    TRAINED,
)
unused.trains_as_one(
    "counts_unused_as_zero",
    says="A parameter that a process did not use counts as zeros there, also with three processes.",
    needs=["same_order_on_all_ranks"],
)

# --- a hook ---

BYTES = 12_000  # of all gradients in float32
ERRORS = {"float16": (1e-4, 2e-3), "bfloat16": (1e-3, 1.2e-2)}
"""Relative, of a mean: honest work was at up to 9.3e-4 and 7.5e-3."""


@part.probe(
    pair=True,
    **averaged(*ERRORS),
    takes=["compressing"],
    hints={
        "raised": "run your hook in DDP for three steps, whose buckets change after step 1, "
        "and read the traceback"
    },
)
def hooked(student: Student, rig: Rig) -> Answer:
    """DistributedDataParallel with the hook; gradients are drawn: ordinary, large and tiny ones."""
    return rig.averaged(student)


hooks = Hooks(part, hooked, SEE)
hooks.rounds(
    "rounds_and_no_more",
    ERRORS,
    "The hook's means are off only by the rounding of dtype, also for large gradients and, "
    "in bfloat16, tiny ones. All processes get the same means.",
    "send bucket.buffer().div(n).to(dtype)",
)
hooks.collectives(
    "halves_the_bytes",
    "The hook's all_reduce carries half as many bytes as float32 "
    "would, measured from the third step on.",
    per_step=4,
    bytes=BYTES // 2,
    kinds=["all_reduce"],
    why="your hook sends more bytes than 16-bit gradients have: usually they go in float32",
    try_="reduce a tensor of dtype",
    needs=["rounds_and_no_more"],
)
hooks.does_not_block(
    "does_not_block",
    "The hook starts its call asynchronously, and returns without a wait.",
    "return dist.all_reduce(small, async_op=True).get_future().then(...)",
    ["rounds_and_no_more"],
)
