"""A sharded model that trains: as one process does, with a share in each, gathered block by block."""

from __future__ import annotations

from typing import Any

from autograder.checks import numerics, outputs
from autograder.claims.groups import EXACT, Calls, listed, usual
from autograder.claims.shards import GATHER, SCATTER, Shards, sharded
from autograder.lab import INTEGER, Answer, Failed, Pair, Passed, Student, Verdict, exactly
from autograder.labs.distributed.part5_sharding.part import SEE, Rig, part
from autograder.model import verdict

TRAINS = ("shard", "train_sharded")
TRAINING = sharded("losses", "norms")
NEAR = 1e-4  # of the update; honest work is within 1e-6


def trained(student: Student, rig: Rig, *, clip: bool = False, **options: Any) -> Answer:
    training = rig.sharding()
    if rig.side == "student":
        return training.together(student, clip=clip, **options)
    return training.alone(clip=clip)


@part.probe(pair=True, **TRAINING, takes=TRAINS)
def ranks(student: Student, rig: Rig) -> Answer:
    """Three steps in two processes; what is expected is one process on the batches of both."""
    return trained(student, rig)


@part.probe(pair=True, **TRAINING, takes=TRAINS)
def halved(student: Student, rig: Rig) -> Answer:
    """The same with a policy of bfloat16; one process trains in float32."""
    return trained(student, rig, half=True)


@part.probe(pair=True, **TRAINING, takes=TRAINS)
def kept(student: Student, rig: Rig) -> Answer:
    """The same with reshard=False."""
    return trained(student, rig, reshard=False)


@part.probe(pair=True, **TRAINING, takes=TRAINS)
def clipped(student: Student, rig: Rig) -> Answer:
    """The same with gradients that are clipped."""
    return trained(student, rig, clip=True)


# --- as one -----------------------------------------------------------------------------------------------------------

ROUNDED = (1e-4, 0.05)  # of the update, with bfloat16; honest work is at 7e-3
POLICY = "hand the policy to each fully_shard: mp_policy=policy"
shards = Shards(part, ranks, SEE)


@part.check(basis="outputs", compared="weights and losses")
def trains_as_one(ranks: Pair, halved: Pair) -> Verdict:
    """Two processes arrive at the weights of one that trains on their joined batches; nearly so with a policy."""
    plain = shards.trained_as_one(ranks, NEAR)
    if isinstance(plain, Failed):
        return plain
    low, high = ROUNDED
    for rank, each in enumerate(halved.student.values["ranks"]):
        apart = numerics.update(halved, f"weights{rank}").error
        measured = f"rank {rank}, bfloat16: update off by {apart:.1e} of its norm"
        measured = f"{measured} ({low:g} to {high:g} are expected)"
        if each["dtypes"] != ["float32"]:
            return Failed(measured, "the optimizer needs float32 parameters", POLICY)
        if not apart >= low:
            return Failed(measured, "that is float32: the policy is not used", POLICY)
        if not apart <= high:
            return Failed(measured, "that is more than bfloat16 rounds", POLICY)
    return Passed(measured)


shards.holds_share(
    "holds_its_share",
    0.52,
    "Each process holds half of the parameters, of the gradients and of the optimizer's state (52 % allowed).",
    "fully_shard the blocks and the model, and make the optimizer of the sharded parameters",
    [trains_as_one.__name__],
)

# --- the calls of a step ----------------------------------------------------------------------------------------------

WHOLE, BLOCK, ROOT = 536_360, 132_352, 6_952  # bytes
PADDED = 1.02  # times as many bytes, where shares do not divide
SMALL = 1024  # bytes: a loss or a norm is less
ONCE, TWICE = (0, PADDED * WHOLE), (2 * WHOLE - ROOT, 2 * PADDED * WHOLE)
"""Bytes that are gathered in a step: each block once, or again for its backward pass."""
BY_BLOCK = "fully_shard each block before the model, with reshard_after_forward=reshard"


def gather_problem(calls: Calls, low: float, high: float) -> tuple[str, str]:
    """Say what a step gathers and reduces, and what is wrong with that."""
    gathers, scatters = (
        [call["bytes"] for call in calls if call["kind"] == kind and call["bytes"] >= SMALL]
        for kind in (GATHER, SCATTER)
    )
    largest = max([*gathers, *scatters], default=0)
    measured = f"{len(gathers)} gathers of {sum(gathers):,} bytes and {len(scatters)} scatters"
    measured = f"{measured} in a step, none above {largest:,} bytes"
    if not gathers or not scatters:
        return measured, "each process holds the whole model"
    if largest > PADDED * BLOCK:
        why = f"a block has {BLOCK:,} bytes: at that moment every process holds more of the model"
        return measured, why
    if sum(gathers) < low:
        return measured, "blocks are not gathered again for the backward pass: they stayed whole"
    if sum(gathers) > high:
        return measured, "with reshard=False blocks stay whole, and are gathered once"
    return measured, ""


@part.check(basis="report", needs=[trains_as_one])
def gathers_block_by_block(ranks: Pair, kept: Pair) -> Verdict:
    """No call gathers or reduces more than a block; blocks are gathered twice, or once with reshard=False."""
    measured, why = "", ""
    for name, pair, bounds in (("", ranks, TWICE), ("reshard=False, ", kept, ONCE)):
        for rank, each in enumerate(pair.student.values["ranks"]):
            calls = usual(each["steps"]) if each["steps"] else []
            problem, why = gather_problem(calls, *bounds)
            measured = f"{name}rank {rank}: {problem}"
            if why:
                return verdict(measured, why, f"{BY_BLOCK}; {SEE}")
    return Passed(measured)


# --- the norm ---------------------------------------------------------------------------------------------------------

GLOBAL = "clip_grad_norm_(model.parameters(), clip), whose result.full_tensor() is the norm"


@part.check(basis="outputs", needs=[trains_as_one], compared="weights and norms")
def clips_by_the_global_norm(clipped: Pair, ranks: Pair) -> Verdict:
    """Gradients are clipped by the norm of all shards together, and norms are those before clipping."""
    for rank, pair in ((rank, pair) for rank in range(2) for pair in (ranks, clipped)):
        reported, expected = (side.arrays[f"norms{rank}"] for side in (pair.student, pair.baseline))
        measured = f"rank {rank}: norms are {listed(reported)}; expected {listed(expected)}"
        if not outputs.furthest(reported, expected) <= EXACT / 10:
            why = "that is the norm of one process's shards, or of gradients that were clipped"
            return Failed(measured, why, f"{GLOBAL}; {SEE}")
        moved = numerics.update(clipped, f"weights{rank}").error
        measured = f"{measured}; with clip, the update is off by {moved:.1e} of its norm"
        if not moved <= NEAR:
            why = "gradients are not clipped, or each process clips by its own norm"
            return Failed(measured, why, f"{GLOBAL}; {SEE}")
    return Passed(measured)


# --- how it begins ----------------------------------------------------------------------------------------------------

MOST = 450_000  # bytes; a share and two copies of the largest tensor are 400,000, the whole model 536,360


@part.probe(
    pair=True,
    values={"peaks": exactly(2, INTEGER)},
    arrays={"weights0": ("float64", 1), "weights1": ("float64", 1)},
    takes=["shard"],
)
def built(student: Student, rig: Rig) -> Answer:
    """A model that is sharded, with the most bytes that were alive at a time."""
    training = rig.sharding()
    return training.built(student) if rig.side == "student" else training.expected()


@part.check(basis="report")
def starts_without_the_whole_model(built: Pair) -> Verdict:
    """shard gives all processes the weights of rank 0, and makes at most 450,000 bytes at a time in each."""
    meta = 'with torch.device("meta") around make_model(), then to_empty(device=mesh.device_type)'
    for rank, peak in enumerate(built.student.values["peaks"]):
        name = f"weights{rank}"
        weights, expected = (side.arrays[name] for side in (built.student, built.baseline))
        if outputs.furthest(weights, expected) != 0:
            why = "every process has to have the weights in state, which only rank 0 is given"
            try_ = "set_model_state_dict with full_state_dict=True and broadcast_from_rank0=True"
            return Failed(f"rank {rank} has different weights from state", why, f"{try_}; {SEE}")
        measured = f"rank {rank}: {peak:,} bytes at a time, {MOST:,} allowed"
        if peak > MOST:
            return Failed(measured, "a process made the whole model", f"{meta}; {SEE}")
    return Passed(measured)
