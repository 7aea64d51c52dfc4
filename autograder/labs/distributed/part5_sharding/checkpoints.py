"""Checkpoints: written in shares by two processes, read by one and by four."""

from __future__ import annotations

from autograder.checks import outputs
from autograder.lab import (
    CASES,
    INTEGER,
    NUMBER,
    NUMBERS,
    Answer,
    Pair,
    Student,
    Verdict,
)
from autograder.labs.distributed.part5_sharding.part import SEE, Rig, part
from autograder.model import verdict

SHARE = 0.7  # of all bytes; half of them, and what one process writes for all, are 0.61
WHY = {
    "weights": (
        "the model has other weights than those that were saved",
        "dcp.load fills what get_state_dict returned; then set_state_dict gives this to the model",
    ),
    "moments": (
        "the optimizer does not have the moments of Adam that were saved",
        "get_state_dict(model, optimizer) in save and in load, and set_state_dict at the end",
    ),
    "steps": (
        "the optimizer does not count the steps that were saved",
        "get_state_dict(model, optimizer) in save and in load, and set_state_dict at the end",
    ),
}


@part.probe(
    pair=True,
    values={**CASES, "rank": INTEGER, "share": NUMBER},
    arrays=NUMBERS,
    takes=["save", "load"],
    hints={
        "raised": "save and load what get_state_dict(model, optimizer) returns, by torch.distributed.checkpoint"
    },
)
def resumed(student: Student, rig: Rig) -> Answer:
    """A checkpoint of two processes, loaded by one and by four."""
    training = rig.sharding()
    return training.resumed(student) if rig.side == "student" else training.drawn()


@part.check(basis="outputs", compared="weights, moments and step counts")
def resumes_elsewhere(resumed: Pair) -> Verdict:
    """One process with a plain model and four with shards load what two saved: weights, moments, step counts."""
    return outputs.same(resumed, 0.0, why=WHY, try_=SEE)


@part.check(basis="report", needs=[resumes_elsewhere])
def each_rank_writes_its_share(resumed: Pair) -> Verdict:
    """No process writes more than 70 % of the checkpoint's bytes."""
    rank, share = (resumed.student.values[name] for name in ("rank", "share"))
    measured = f"rank {rank} wrote {share:.0%} of the bytes; {SHARE:.0%} are allowed"
    why = "one process writes all, so it needs memory and time for all" * (share > SHARE)
    try_ = "in all processes, save get_state_dict(model, optimizer), without full_state_dict=True"
    return verdict(measured, why, try_)
