"""A sharded model that trains: as one process does, with a share in each, gathered block by block."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from autograder.checks import numerics, outputs
from autograder.checks.hints import hinted
from autograder.claims.groups import EXACT
from autograder.claims.shards import STEPS, Shards, sharded
from autograder.lab import (
    CASES,
    INTEGER,
    NUMBERS,
    Answer,
    Failed,
    Observation,
    Pair,
    Passed,
    Student,
    Verdict,
    exactly,
)
from autograder.labs.distributed.part5_sharding.part import SEE, Rig, part

TRAINING = sharded("losses", "norms")
NEAR = 1e-4  # of the update; honest work is within 1e-6
REST = 6952  # bytes of given.Blocks outside of its blocks


TRAININGS: dict[str, dict[str, bool]] = {
    "ranks": {},
    "halved": {"half": True},
    "kept": {"reshard": False},
    "clipped": {"clip": True},
}
RAISED = {
    "ranks": "run python part5_sharding.py with train_sharded called without clip, and read the traceback",
    "halved": "shard got a bfloat16 policy here: pass mp_policy=policy to fully_shard of each block and of the model",
    "kept": "shard got reshard=False here: pass reshard_after_forward=reshard to fully_shard of each block",
    "clipped": "train_sharded got clip here: clip_grad_norm_(model.parameters(), clip)",
}
"""Training -> what to try where it raises an exception; the plain one is judged first."""


def add_training(name: str, options: dict[str, bool]) -> None:
    """Take three steps in two processes; what is expected is one process in float32 on the batches of both."""

    def run(student: Student, rig: Rig) -> Answer:
        training = rig.sharding()
        if rig.side == "student":
            return training.together(student, **options)
        return training.alone(clip="clip" in options)

    run.__name__ = name
    hints = {"raised": RAISED[name]}
    part.probe(pair=True, **TRAINING, takes=["shard", "train_sharded"], hints=hints)(run)


for name, options in TRAININGS.items():
    add_training(name, options)

# --- as one ---

ROUNDED = (1e-4, 0.05)  # of the update, with bfloat16; honest work is at 7e-3
POLICY = "hand the policy to each fully_shard: mp_policy=policy"
WHOLE = "each process has the whole model, in float32: only fully_shard takes a policy"
SHARD = (
    "fully_shard(block, mesh=mesh, mp_policy=policy) for each block, then the same for the model"
)
shards = Shards(part, part.probes["ranks"].run, SEE)


@part.check(basis="outputs", compared="weights and losses")
def trains_as_one(ranks: Pair, halved: Pair) -> Verdict:
    """Two processes reach the weights of one process that trains on both batches as one; in bfloat16, nearly."""
    plain = shards.trained_as_one(ranks, NEAR)
    if isinstance(plain, Failed):
        return plain
    low, high = ROUNDED
    whole = halved.baseline.values["ranks"][0]["held"]["parameters"]
    for rank, each in enumerate(halved.student.values["ranks"]):
        apart = numerics.update(halved, f"weights{rank}").error
        measured = f"rank {rank}, bfloat16: the change of the weights is {100 * apart:.2g} % off"
        measured = f"{measured} ({100 * low:g} to {100 * high:g} % are expected)"
        if each["dtypes"] != ["float32"]:
            measured = (
                f"rank {rank}, bfloat16: parameters are {', '.join(each['dtypes'])}, not float32"
            )
            why = "your code converts the parameters, and the optimizer needs float32"
            return Failed(measured, why, f"leave the parameters as they are: {POLICY}")
        if not apart >= low and each["held"]["parameters"] >= whole:
            return Failed(measured, WHOLE, SHARD)
        if not apart >= low:
            return Failed(measured, "the update is that of float32: the policy is not used", POLICY)
        if not apart <= high:
            return Failed(measured, "your code rounds more than the policy asks for", POLICY)
    return Passed(measured)


shards.holds_share(
    "holds_its_share",
    0.52,
    "When optimizer.step() ends, each process holds half of the parameters, of the gradients and "
    "of the optimizer's state (52 % allowed).",
    "fully_shard the blocks and the model with mesh=mesh, and make "
    "the optimizer of the sharded parameters",
    [trains_as_one.__name__],
)

shards.gathers_by_block(
    "gathers_block_by_block",
    4,
    "Each block is gathered twice (once with reshard=False) and reduced once. "
    "Each of these calls handles one block, in the policy's dtypes.",
    "fully_shard each block before the model, with mp_policy=policy; "
    "reshard_after_forward=reshard for blocks only",
    [trains_as_one.__name__],
    reduced="halved",
    kept="kept",
    rest=REST,
)
GLOBAL = "clip by clip_grad_norm_(model.parameters(), clip): full_tensor() of what this returns is the norm"
CLIPPED = {
    "gradients that were clipped": "keep what clip_grad_norm_ returns: the norm before clipping",
    "not clipped before the step": STEPS["moves the weights wrongly"],
}


@part.check(basis="outputs", needs=[trains_as_one], compared="weights and norms")
def clips_by_the_global_norm(clipped: Pair, ranks: Pair) -> Verdict:
    """Gradients are clipped by the norm of all shards together, and norms are those before clipping."""
    try_ = GLOBAL
    moved = shards.trained(clipped, NEAR)
    for pair in (ranks, clipped):
        if pair is clipped and isinstance(moved, Failed):
            return hinted(replace(moved, why=_unclipped(clipped), try_=try_), CLIPPED)
        why = "usually the norm of one process's shards is taken, and not that of all"
        if np.ptp(pair.student.arrays["norms0"]) <= EXACT < np.ptp(pair.baseline.arrays["norms0"]):
            why = "each norm is that of gradients that were clipped; it must be taken before"
        measured, why = shards.figure_problem(pair, "norms", why, EXACT / 10)
        if why:
            return hinted(Failed(measured, why, try_), CLIPPED)
    return moved


def _unclipped(clipped: Pair) -> str:
    """Say how gradients were clipped; by its own norm, each of two processes has at most sqrt(2) times the norm."""
    if numerics.update(clipped, "weights0").ratio > 1.6:
        return "your gradients are not clipped before the step"
    return "usually each process clips by its own norm, and not by that of all shards"


# --- how it begins ---

MOST = 533_000  # bytes; a share and four copies of the largest tensor are 530,836, the whole model 536,360
META = (
    'make_model() in torch.device("meta"), fully_shard, '
    "to_empty(device=mesh.device_type), then load with broadcast_from_rank0"
)


@part.probe(
    pair=True,
    values={**CASES, "peaks": exactly(2, INTEGER)},
    arrays=NUMBERS,
    takes=["shard"],
    hints={
        "raised": "fix trains_as_one first: it makes the same call, shard(make_model, mesh, state)"
    },
)
def built(student: Student, rig: Rig) -> Answer:
    """A model that is sharded, with the most bytes that were alive at a time."""
    return rig.sharding().built(student if rig.side == "student" else None)


@part.probe(
    takes=["shard"],
    hints={
        "raised": "shard(make_model, mesh) gets no state: load weights only if state is not None"
    },
)
def built_without_a_state(student: Student, rig: Rig) -> Answer:
    """A model that is sharded with the weights that each process draws."""
    return rig.sharding().built_without_a_state(student)


@part.check(basis="report")
def starts_without_the_whole_model(built: Pair, built_without_a_state: Observation) -> Verdict:
    """shard gives all processes rank 0's weights, and has at most 533,000 bytes of new tensors at a time in each."""
    why = "every process must have the weights in state, which only rank 0 is given"
    try_ = "set_model_state_dict with full_state_dict=True and broadcast_from_rank0=True"
    judged = outputs.same(built, 0.0, why=why, try_=try_)
    peak = max(built.student.values["peaks"])
    if isinstance(judged, Failed) or peak <= MOST:
        return judged
    measured = f"a process had {peak:,} bytes at a time; {MOST:,} are allowed"
    return Failed(measured, "a process had the whole model, and not only its share", META)
