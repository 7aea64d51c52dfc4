"""Part 13: one model, two processes. Each holds a share of the model, its gradients and the optimizer's state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.checks import numerics, outputs
from autograder.checks.hints import hinted
from autograder.claims.groups import EXACT
from autograder.claims.shards import Shards, sharded
from autograder.lab import (
    INTEGER,
    TEXT,
    Answer,
    Failed,
    Pair,
    Part,
    Passed,
    Student,
    Verdict,
    exactly,
    list_of,
    record,
)
from autograder.model import verdict

if TYPE_CHECKING:
    from autograder.labs.pairs.part13_sharding.rig import Rig
else:
    Rig = Any

part = Part("part13_sharding", writes=["shard", "train_sharded", "whole_weights"])
SEE = 'see "What usually goes wrong" in the part 13 handout'
POLICY = "mp_policy=MixedPrecisionPolicy(param_dtype=dtype, reduce_dtype=torch.float32)"
BLOCKS = 4
TRAINS = ("shard", "train_sharded")
TRAINING = sharded("losses", "norms")
NEAR = 1e-3  # of the update; honest work was within 4e-7, and 9e-3 in bfloat16

# --- a training ---


def trained(student: Student, rig: Rig, **options: Any) -> Answer:
    training = rig.sharding()
    return training.together(student, **options) if rig.side == "student" else training.alone()


@part.probe(pair=True, **TRAINING, takes=TRAINS)
def ranks(student: Student, rig: Rig) -> Answer:
    """Three steps in two processes; what is expected is one process on the batches of both."""
    return trained(student, rig)


@part.probe(
    pair=True,
    **TRAINING,
    takes=TRAINS,
    hints={
        "raised": "shard got dtype=torch.bfloat16 here: remove output_dtype, and give each "
        f"fully_shard the same policy, {POLICY.removeprefix('mp_policy=')}"
    },
)
def halved(student: Student, rig: Rig) -> Answer:
    """The same with dtype=torch.bfloat16; one process trains in float32."""
    return trained(student, rig, dtype="bfloat16")


@part.probe(pair=True, arrays={"logits": ("float64", 1)}, takes=["shard"])
def in_float16(student: Student, rig: Rig) -> Answer:
    """A batch with dtype=torch.float16; one process computes in float32."""
    return rig.sharding().first(student if rig.side == "student" else None, dtype="float16")


@part.probe(
    pair=True,
    **TRAINING,
    takes=TRAINS,
    hints={
        "raised": "shard got offload=True here: CPUOffloadPolicy(pin_memory=torch.cuda.is_available())"
    },
)
def offloaded(student: Student, rig: Rig) -> Answer:
    """The same with offload=True, on a machine without a GPU."""
    return trained(student, rig, offload=True)


shards = Shards(part, ranks, SEE)
shards.trains_as_one("trains_as_one", within=NEAR)
shards.same(
    "losses",
    "loss_is_of_all",
    "The losses are the means of all processes, one for each step, in every process.",
    "usually a loss is that of this process alone",
    "dist.all_reduce the loss, and divide it by the number of processes",
    of="step",
    needs=["trains_as_one"],
)


@part.check(basis="outputs", needs=[part.checks["trains_as_one"].judge], compared="norms")
def norm_is_of_all(ranks: Pair) -> Verdict:
    """The norms are those of the gradients of all processes, before they are clipped."""
    own, right = (side.arrays["norms0"] for side in (ranks.student, ranks.baseline))
    why = "usually it is the norm of one process's shards"
    try_ = "full_tensor() of the norm that clip_grad_norm_ returns"
    if len(own) == len(right) and np.isclose(own, right, rtol=EXACT).any():
        why = "it is the norm of gradients after they were clipped"
        try_ = "keep what clip_grad_norm_ returns: the norm before clipping"
    measured, why = shards.figure_problem(ranks, "norms", why)
    return verdict(measured, why, try_)


shards.holds_share(
    "holds_its_share",
    0.55,
    "Each process holds at most 55 % of the parameters, the gradients and the optimizer's state; "
    "parameters are sharded over the mesh that shard gets.",
    "fully_shard the blocks and the model with mesh=mesh, before the optimizer is made",
    ["trains_as_one"],
)
shards.gathers_by_block(
    "gathers_block_by_block",
    BLOCKS,
    "Each step gathers and reduces block by block; with a dtype, weights "
    "of blocks are gathered in this dtype, "
    "and all gradients are reduced in float32.",
    "fully_shard(block) for each block before the model; "
    "MixedPrecisionPolicy(param_dtype=dtype, reduce_dtype=torch.float32)",
    ["holds_its_share"],
    reduced=halved.__name__,
    tries={
        "and not in bfloat16": f"give each fully_shard the dtype: {POLICY}",
        "summed in bfloat16": f"give each fully_shard a reduce_dtype: {POLICY}",
    },
)

# --- fewer bits ---

ROUNDED = (
    1e-5,
    2e-2,
)  # how far the losses are from those of float32: 1e-3 to 8e-3, and 1e-7 without a dtype
FLOAT16 = 1e-5, 2e-3  # logits are 6e-4 to 1e-3 from those of float32, in bfloat16 4e-3 to 8e-3
OWN = 0.3  # so far apart may be a loss of one process alone, 3.4e-2 was seen: another check's
LEAST = 1e-4  # of the update, which float32 takes within 4e-7
HALF = 0.1  # of the update; honest work was at 9e-3


@part.check(
    basis="outputs", needs=[part.checks["trains_as_one"].judge], compared="losses, weights, logits"
)
def reduced_precision(halved: Pair, in_float16: Pair) -> Verdict:
    """In 16 bits, losses and weights differ from float32's, but only by rounding; parameters stay float32."""
    low, high = ROUNDED
    for rank, each in enumerate(halved.student.values["ranks"]):
        if each["dtypes"] != ["float32"]:
            measured = f"rank {rank}: parameters are {', '.join(each['dtypes'])}, not float32"
            why = "the model was converted, and the optimizer needs float32 parameters"
            return Failed(measured, why, f"leave the model as it is: {POLICY}")
        reported, expected = (
            side.arrays[f"losses{rank}"] for side in (halved.student, halved.baseline)
        )
        apart = outputs.furthest(reported, expected)
        moved = numerics.update(halved, f"weights{rank}").error
        measured = f"rank {rank}: losses are {apart:.1e} from those of float32; "
        measured += f"{low:g} to {high:g} are right"
        if apart < low:
            return Failed(measured, "that is float32: dtype is not used", POLICY)
        if apart <= OWN:
            measured = f"rank {rank}: the update is {moved:.1e} from that of float32; "
            measured += f"{LEAST:g} to {HALF:g} is right"
        if moved < LEAST:
            why = "the model computes in float32, and only the losses are rounded"
            try_ = f"leave the losses as they are, and let the model compute in dtype: {POLICY}"
            return Failed(measured, why, try_)
        if not (apart <= OWN and moved <= HALF):
            why = "that is more than bfloat16 rounds: something else than rounding differs"
            return Failed(measured, why, "compare one step with dtype and without, rank by rank")
    logits = (side.arrays["logits"] for side in (in_float16.student, in_float16.baseline))
    apart, (least, most) = outputs.furthest(*logits), FLOAT16
    if not least <= apart <= most:
        measured = f"with dtype=torch.float16 logits are {apart:.1e} from those of float32; "
        measured += f"{least:g} to {most:g} are right"
        why = "that is more than float16 rounds: usually the model computes in bfloat16 for each dtype"
        if apart < least:
            why = "that is float32, though bfloat16 is right: dtype is not used where it is float16"
        return Failed(measured, why, "give MixedPrecisionPolicy the dtype that shard is given")
    return Passed(measured)


# --- the weights ---


@part.probe(
    pair=True,
    values={
        "ranks": exactly(
            2,
            record(
                names=list_of(TEXT),
                kinds=list_of(TEXT),
                shapes=list_of(list_of(INTEGER)),
                gathered=INTEGER,
            ),
        )
    },
    arrays={"saved": ("float64", 1)},
    takes=["shard", "whole_weights"],
)
def saved(student: Student, rig: Rig) -> Answer:
    """A sharded model whose weights have changed since it was sharded."""
    training = rig.sharding()
    return training.saved(student) if rig.side == "student" else training.expected()


def _weights_problem(ranks: Any, expected: Any) -> tuple[str, str]:
    """Say what both processes returned and why that is wrong, or nothing."""
    first, second = ranks
    if first["names"] != expected["names"]:
        measured = f"rank 0 has {len(first['names'])} weights: {', '.join(first['names'][:2])}; "
        why = "whole_weights must return each weight of the model under its own name"
        return f"{measured}the model has {len(expected['names'])}", why
    if first["kinds"] != expected["kinds"]:
        sharded_ones = any("DTensor" in kind for kind in first["kinds"])
        why = "weights are still shards" if sharded_ones else "weights are not tensors on the CPU"
        return f"rank 0 has {', '.join(first['kinds'])}; Tensor on cpu is right", why
    for name, own, whole in zip(first["names"], first["shapes"], expected["shapes"], strict=False):
        if own != whole:
            measured = f"{name} has shape {tuple(own)}, and {tuple(whole)} in the model"
            return measured, "this is one process's share: it was not gathered"
    if gathered := first["gathered"]:
        measured = f"afterwards {gathered} parameters of the model are whole in rank 0"
        return measured, "your code gathers the model itself, and no copy of its weights"
    why = "your code returns the weights in each rank" if second["names"] else ""
    return f"rank 1 returned {len(second['names'])} weights; it must return {{}}", why


WHOLE = (
    "get_model_state_dict(model, options=...) in each rank, "
    "with StateDictOptions(full_state_dict=True, cpu_offload=True)"
)
SAVING = {
    "in each rank": (
        "gather in all processes, and only then return {} where dist.get_rank() is not 0"
    ),
    "not those of now": "gather the weights anew in each call",
}
"""What to try, by words of what is wrong."""


@part.check(basis="outputs", needs=[part.checks["holds_its_share"].judge], compared="weights")
def saves_whole_weights(saved: Pair) -> Verdict:
    """whole_weights returns the whole weights as plain tensors on the CPU in rank 0, and {} in rank 1."""
    expected = saved.baseline.values["ranks"][0]
    measured, why = _weights_problem(saved.student.values["ranks"], expected)
    apart = outputs.furthest(saved.student.arrays["saved"], saved.baseline.arrays["saved"])
    if not why and not apart <= 1e-6:
        measured = "rank 0 has other values than the model"
        why = "the weights are not those of now: they were gathered earlier, or changed"
    judged = verdict(measured if why else f"{len(expected['names'])} whole weights", why, WHOLE)
    return hinted(judged, SAVING)


Shards(part, offloaded, SEE).trains_as_one(
    "offload_trains_alike",
    within=NEAR,
    says="With offload=True and no GPU, two processes arrive at the weights of one process that trains "
    "on their joined batches.",
    needs=["holds_its_share"],
)
