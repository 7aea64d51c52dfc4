"""The training loop, and the profile of ten of its batches."""

from __future__ import annotations

from collections import Counter

from autograder.checks import numerics
from autograder.checks import trace as profile
from autograder.claims.training_loop import TrainingLoop
from autograder.errors import SubmissionError
from autograder.lab import (
    BOOLEAN,
    INTEGER,
    TEXT,
    Answer,
    Failed,
    Pair,
    Passed,
    Student,
    Tolerance,
    Verdict,
    list_of,
    record,
)
from autograder.labs.resnet18.part1_baseline.part import PASSED_OVER, RANGES, RECORDED, Rig, part
from autograder.traces.words import many

BATCHES = PASSED_OVER + RECORDED
FILE = part.artefacts["baseline_trace"]
RANGE_OF = {
    "forward": "forward",
    "loss": "forward",
    "backward": "backward",
    "step": "optimizer_step",
}

BYTES = 16 * 1024 * 1024  # of a trace
CLOCK = 'see "An honest clock" in the part 1 handout'


# Measured on 2026-11-21 on a CPU with torch 2.15: A, the furthest that right work came (channels_last or not; 30 seeds,
# of the profile 8), and C, the nearest that a mistake came (the rate 10 % off, eval(); 8 seeds).
#   PLAIN, losses apart, and weights apart relative to their norm. A: 2.4e-7 and 3.3e-8. C: 3.7e-3 and 1.4e-3.
#   UPDATE of the profiled batches, apart relative to its norm. A: 5.5e-7. C: 0.083.
PLAIN = Tolerance(losses=3e-6, weights=4e-7)
UPDATE = 1e-4
TRAINED = {"start": ("float32", 1), "weights": ("float32", 1)}


@part.probe(
    pair=True,
    arrays={**TRAINED, "trace": ("uint8", 1)},
    values={
        "ran": list_of(record(work=TEXT, ranges=list_of(TEXT), count=INTEGER)),
        "still": BOOLEAN,
        "taken": INTEGER,
        "returned": TEXT,
    },
)
def profiled(student: Student, rig: Rig) -> Answer:
    """More batches than are profiled; what the profiler wrote is read outside."""
    window = rig.window([4] * rig.integer(14, 17), momentum=0.9)
    window.model.eval()
    start = window.weights()
    taken = list[int]()
    window.loader.listeners.append(taken.append)
    arguments = (window.model, window.loader, window.criterion, window.optimizer, window.device)
    folder = rig.made_folder()
    with rig.profiles.ranges(window) as ranges:
        returned = student.profile_training(*arguments, folder=str(folder))
    kind = type(returned).__name__[:60]
    return {
        "ran": ranges.values(),
        "still": bool(ranges.running) or rig.profiles.profiling(),
        "taken": len(taken),
        "returned": "" if hasattr(returned, "key_averages") else kind,
        "start": start,
        "weights": window.weights(),
        "trace": rig.file_bytes(folder / FILE, BYTES + 1),
    }


loop = TrainingLoop(part, "train_epoch")
loop.follows(
    "trains_right",
    PLAIN,
    says="train_epoch trains in train(), one step for each batch, and returns its losses.",
    momentum=0.5,  # so that steps of another optimizer show
)
loop.returns_its_metrics(
    "batches", says="loss is the mean of the losses, accuracy a percentage of the samples."
)
loop.keeps_an_honest_clock(see=CLOCK)
loop.waits_rarely()


@part.check(basis="outputs", compared="weights")
def trains_on_twelve_batches(profiled: Pair) -> Verdict:
    """profile_training trains on the first 12 batches, one step each, and on no more."""
    taken = profiled.student.values["taken"]
    why = (
        "it did not train in train(), left out a step, forgot zero_grad, "
        "or did not take the first 12 batches"
    )
    try_ = "model.train(), then zero_grad, forward, loss, backward, step for each batch"
    if taken not in (BATCHES, BATCHES + 1):  # one more says that it is too many
        why = f"it took {many(taken, 'batch', 'batches')} instead of the first {BATCHES}"
        try_ = f"for images, labels in islice(loader, {BATCHES})"
    return numerics.same_update(profiled, UPDATE, why=why, try_=try_)


@part.check(basis="report")
def follows_the_schedule(profiled: Pair) -> Verdict:
    """profile_training writes a trace of batches 2 to 11, each a ProfilerStep, and stops the profiler."""
    try_ = "schedule(wait=1, warmup=1, active=10, repeat=1), and prof.step() after each batch"
    observed = profiled.student.values
    counts = Counter[str]()
    for span in observed["ran"]:
        counts[span["work"]] += span["count"]
    data = profiled.student.arrays["trace"].tobytes()
    steps = counts["prof.step"]
    if not data and steps + counts[profile.EARLY] < BATCHES - 1:
        why = f"prof.step() was called {many(steps, 'time')}, so the ten steps were never complete"
        return Failed(f"no {FILE} in folder", why, "call prof.step() at the end of each batch")
    if not data:
        why = "it was exported under a different folder or name, or not at all"
        export = f"prof.export_chrome_trace(str(Path(folder) / '{FILE}'))"
        return Failed(f"no {FILE} in folder", why, export)
    if counts[profile.EARLY]:
        why = "so the recorded steps are batches 1 to 10 instead of 2 to 11"
        try_ = "call prof.step() at the end of each batch"
        return Failed("prof.step() was called before a batch was trained on", why, try_)
    if observed["still"]:
        why = "it was started and never stopped"
        return Failed("a profiler is still on", why, "with profile(...) as prof:")
    if kind := observed["returned"]:
        why = "it must return the profiler"
        return Failed(f"profile_training returned {kind}", why, "return prof, after its with block")
    try:
        why = profile.recorded(profile.read(data, FILE), RECORDED, PASSED_OVER)
    except SubmissionError as error:
        why = str(error)
    if not why and steps < BATCHES:
        why = (
            f"prof.step() was called {many(steps, 'time')} in {BATCHES} batches: "
            "call it after the last batch too"
        )
    if not why and not counts[profile.WARM_UP]:
        why = "no batch was warm-up, so the first recorded step includes the profiler's start"
    return Failed(f"{FILE} of {len(data)} bytes", why, try_) if why else Passed("steps 2 to 11")


@part.check(basis="report")
def ranges_hold_their_work(profiled: Pair) -> Verdict:
    """Model and loss run inside "forward", the backward pass inside "backward", the step inside "optimizer_step"."""
    for work, name in RANGE_OF.items():
        spans = [span for span in profiled.student.values["ran"] if span["work"] == work]
        alone = [span for span in spans if {*span["ranges"]} & {*RANGES} == {name}]
        times, inside = (sum(span["count"] for span in group) for group in (spans, alone))
        if inside < max(times, RECORDED):
            opened = {other for span in spans for other in span["ranges"]}
            others = [other for other in RANGES if other in opened - {name}]
            measured = f"{work} ran {times} times, {inside} of them inside '{name}'"
            why = f"the range '{name}' does not show the time of this work"
            try_ = f'with record_function("{name}"): around {work}'
            if name in opened and others:
                measured = f"{measured} alone, the others inside '{others[0]}' as well"
                why = f"the ranges '{name}' and '{others[0]}' are open at once"
                try_ = f"end the range '{others[0]}' before '{name}' begins"
            elif name not in opened:
                why = f"no range with this name is open while {work} runs"
            return Failed(measured, why, try_)
    return Passed(f"{', '.join(RANGE_OF)}: each in its range")
