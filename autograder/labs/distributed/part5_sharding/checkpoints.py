"""Checkpoints: written in shares by two processes, read by one and by four."""

from __future__ import annotations

from autograder.checks import outputs
from autograder.lab import (
    INTEGER,
    TEXT,
    Answer,
    Failed,
    Pair,
    Passed,
    Student,
    Verdict,
    list_of,
    record,
)
from autograder.labs.distributed.part5_sharding.part import SEE, Rig, part

GROUPS = {"one": "one process with a plain model", "four": "four processes"}
FIGURES = {"weights": "weights", "moments": "moments of Adam", "steps": "step counts of Adam"}
SHARE = 0.7  # of the bytes of all numbers; half of them, and what files have beside, are 0.61
BYTES = 4  # of a number


@part.probe(
    pair=True,
    values={"files": list_of(record(name=TEXT, bytes=INTEGER))},
    arrays={f"{figure}_{name}": ("float64", 1) for name in GROUPS for figure in FIGURES},
    takes=["save", "load"],
)
def resumed(student: Student, rig: Rig) -> Answer:
    """A checkpoint of two processes, loaded by one and by four."""
    training = rig.sharding()
    return training.resumed(student) if rig.side == "student" else training.drawn()


@part.check(basis="outputs", compared="weights, moments and step counts")
def resumes_elsewhere(resumed: Pair) -> Verdict:
    """What two processes saved, one with a plain model and four with shards load: weights, moments, step counts."""
    try_ = f"get_state_dict, dcp.save; get_state_dict, dcp.load, set_state_dict; {SEE}"
    for name, where in GROUPS.items():
        for figure, words in FIGURES.items():
            loaded, expected = (
                side.arrays[f"{figure}_{name}"] for side in (resumed.student, resumed.baseline)
            )
            measured = f"{where}: {len(loaded)} {words}, {len(expected)} were saved"
            if len(loaded) != len(expected):
                return Failed(measured, f"there are no {words}, or not all", try_)
            if outputs.furthest(loaded, expected) != 0:
                return Failed(f"{measured}; they differ", f"other {words} were loaded", try_)
    return Passed("weights, moments and step counts are equal to the bit in one process and four")


@part.check(basis="report", needs=[resumes_elsewhere])
def each_rank_writes_its_share(resumed: Pair) -> Verdict:
    """No file of the checkpoint holds more than 70 % of what was saved."""
    arrays = resumed.baseline.arrays
    whole = BYTES * (len(arrays["weights_one"]) + len(arrays["moments_one"]))
    files = resumed.student.values["files"]
    if not files or not whole:
        return Failed("no file was written", "nothing was saved", f"dcp.save; {SEE}")
    largest = max(files, key=lambda file: file["bytes"])
    share = largest["bytes"] / whole
    measured = f"{largest['name']} has {largest['bytes']:,} bytes, {share:.0%} of what was saved"
    if share <= SHARE:
        return Passed(measured)
    why = "one process writes all, so it needs memory and time for all"
    return Failed(measured, why, f"dcp.save of sharded tensors, by all processes; {SEE}")
