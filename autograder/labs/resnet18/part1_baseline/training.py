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
CALLS = {"forward": "model(images)", "loss": "criterion(...)", "backward": "backward()"}
RANGE_OF = {
    "forward": "forward",
    "loss": "forward",
    "backward": "backward",
    "optimizer.step()": "optimizer_step",
}

BYTES = 16 * 1024 * 1024  # of a trace
SCHEDULE = "schedule(wait=1, warmup=1, active=10, repeat=1), and prof.step() after each batch"
END = "call prof.step() at the end of each batch, the last one too"
EXPORT = f"prof.export_chrome_trace(str(Path(folder) / '{FILE}'))"
ISLICE = f"for images, labels in islice(loader, {BATCHES})"
LOOP = "model.train(), then zero_grad, forward, loss, backward, step for each batch"
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
        "trains": BOOLEAN,
        "taken": INTEGER,
        "returned": TEXT,
        "beside": list_of(TEXT),
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
        "trains": window.model.training,
        "taken": len(taken),
        "returned": "" if hasattr(returned, "key_averages") else kind,
        "beside": sorted(rig.text(it.name) for it in folder.glob("*"))[:3],
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
    verdict = numerics.same_update(profiled, UPDATE, why=_mistrained(profiled), try_=LOOP)
    if isinstance(verdict, Passed) or taken in (BATCHES, BATCHES + 1):  # one more tells the END
        return verdict
    measured = f"{many(taken, 'batch', 'batches')} came out of the loader, not the first {BATCHES}"
    why = f"the loop goes on after batch {BATCHES}"
    if taken < BATCHES:
        steps = _counts(profiled)["optimizer.step()"]
        why = f"your code repeats a batch: it takes {steps} steps"
        why = why if steps >= BATCHES else f"the loop ends before batch {BATCHES}"
    return Failed(measured, why, ISLICE)


def _counts(profiled: Pair) -> Counter[str]:
    """Return how often each kind of work ran."""
    counts = Counter[str]()
    for span in profiled.student.values["ran"]:
        counts[span["work"]] += span["count"]
    return counts


def _mistrained(profiled: Pair) -> str:
    """Say why twelve batches moved the weights otherwise."""
    steps = _counts(profiled)["optimizer.step()"]
    if not profiled.student.values["trains"]:
        return "the model is in eval() afterwards: usually model.train() is missing"
    if steps != BATCHES:
        return f"optimizer.step() was called {many(steps, 'time')} in {BATCHES} batches"
    return "usually zero_grad() is missing, so gradients of earlier batches are left"


@part.check(basis="report")
def follows_the_schedule(profiled: Pair) -> Verdict:
    """profile_training writes a trace of batches 2 to 11, each a ProfilerStep, and stops the profiler."""
    observed = profiled.student.values
    counts = _counts(profiled)
    data = profiled.student.arrays["trace"].tobytes()
    steps, early = counts["prof.step"], counts[profile.EARLY]
    called = f"prof.step() was called {many(steps, 'time')} in {BATCHES} batches"
    beside, odd = ", ".join(observed["beside"]), _misrecorded(data)
    nowhere = f"folder holds {beside}, and no {FILE}" if beside else f"no {FILE} in folder"
    unwritten = (
        f"your code writes {'another file' if beside else 'no file into the argument folder'}"
    )
    if FILE in observed["beside"]:
        nowhere, unwritten = f"{FILE} in folder is no file, or empty", "it must be a trace"
    problems = (
        (
            not data and steps + early < BATCHES - 1,
            nowhere,
            f"{called}: ten steps were never complete",
            END,
        ),
        (
            not data,
            nowhere,
            unwritten,
            EXPORT,
        ),
        (
            early,
            "prof.step() was called before a batch was trained on",
            "your code calls prof.step() before the work of a batch",
            END,
        ),
        (
            observed["still"],
            "a profiler is still on",
            "your code starts a profiler and never stops it",
            "with profile(...) as prof:",
        ),
        (
            observed["returned"],
            f"profile_training returned {observed['returned']}",
            "your code does not return the profiler",
            "return prof, after its with block",
        ),
        (
            "its steps" in odd,
            f"{FILE}: {odd}",
            "wait + warmup is not 2 in your schedule",
            SCHEDULE,
        ),
        (
            odd,
            f"{FILE}: {odd}",
            *_unrecorded(odd, observed["taken"], steps),
        ),
        (steps < BATCHES, called, "your code does not call prof.step() after each batch", END),
        (
            not counts[profile.WARM_UP],
            "no batch was warm-up",
            "warmup is 0 in your schedule",
            SCHEDULE,
        ),
    )
    found = (Failed(measured, why, try_) for wrong, measured, why, try_ in problems if wrong)
    return next(found, Passed("steps 2 to 11"))


def _unrecorded(odd: str, taken: int, steps: int) -> tuple[str, str]:
    """Say why a trace holds other than ten steps."""
    again = f"prof.step() was called {steps} times: usually a second cycle overwrites the ten steps"
    causes = (
        (not odd.startswith("it holds"), "it is no trace of torch.profiler", EXPORT),
        ("wait for" in odd, "your loop takes no batch from the loader while it records", ISLICE),
        (taken < BATCHES, f"the loop takes {many(taken, 'batch', 'batches')} alone", ISLICE),
        (
            "holds 0 steps" in odd and steps,
            "usually the profiler has no schedule, so it writes no ProfilerStep",
            SCHEDULE,
        ),
        (
            steps < BATCHES,
            f"prof.step() was called {many(steps, 'time')} in {BATCHES} batches",
            END,
        ),
        (steps > BATCHES, again, f"{ISLICE}, and repeat=1 in the schedule"),
        (True, "usually active is not 10 in your schedule", SCHEDULE),
    )
    return next((why, try_) for holds, why, try_ in causes if holds)


def _misrecorded(data: bytes) -> str:
    try:
        return profile.recorded(profile.read(data, FILE), RECORDED, PASSED_OVER) if data else ""
    except SubmissionError as error:
        return str(error)


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
            call = CALLS.get(work, work)
            measured = f"{call} ran {times} times, {inside} of them inside '{name}'"
            why = f"'{name}' is not around this work in each of the {BATCHES} batches"
            try_ = f'with record_function("{name}"): around {call}'
            if work == "loss":
                try_ = f"move {call} into the 'forward' range of model(images)"
            if name in opened and others:
                both = sum(span["count"] for span in spans if others[0] in span["ranges"])
                rest = f"{both} of them inside '{others[0]}' as well"
                measured = f"{call} ran {times} times, {rest}"
                why = f"the ranges '{name}' and '{others[0]}' are open at once"
                try_ = f"end the range '{others[0]}' before '{name}' begins"
            elif name not in opened:
                why = f"no range with this name is open while {call} runs"
            return Failed(measured, why, try_)
    return Passed(f"{', '.join(RANGE_OF)}: each in its range")
