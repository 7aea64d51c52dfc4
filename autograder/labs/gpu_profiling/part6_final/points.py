"""The seven points of the program: its loader, its batch size, its loop and its graph."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from autograder.checks import host_waits, loaders, speedup
from autograder.checks.hints import hinted
from autograder.checks.numerics import shown
from autograder.claims.graphs import Compiled
from autograder.claims.precision import HalfPrecision
from autograder.lab import (
    BOOLEAN,
    INTEGER,
    NUMBER,
    TEXT,
    Answer,
    Bar,
    Failed,
    Observation,
    Pair,
    Student,
    Timed,
    Verdict,
    Window,
    list_of,
    optional,
    record,
)
from autograder.labs.gpu_profiling.part6_final import judges
from autograder.labs.gpu_profiling.part6_final.part import POINTS, PROGRAM, Rig, part
from autograder.model import verdict
from autograder.protocol.digest import Epoch, differing


def program(student: Student) -> Any:
    """Return what the submitted program defines; nothing of it runs."""
    path = Path(str(student.__file__)).parent / PROGRAM
    if not path.is_file():
        raise FileNotFoundError(f"{PROGRAM} was not submitted")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for what a name means
    spec.loader.exec_module(module)
    return module


PASSES = ("first", "second")
LOADED = {
    f"{epoch}_{name}": (kind, 1)
    for epoch in PASSES
    for name, kind in (("commitments", "uint8"), ("sizes", "int64"))
}
OPTIONS = record(num_workers=INTEGER, pin_memory=BOOLEAN, persistent_workers=BOOLEAN)
SEARCH = record(step=INTEGER, limit=INTEGER, largest=optional(NUMBER))
TRAINED = {"start": ("float32", 1), "losses": ("float64", 1), "weights": ("float32", 1)}
WAITED = list_of(record(line=INTEGER, call=TEXT, batches=list_of(INTEGER)))
BATCH = 8  # samples
GROUP = 3  # batches of a step
SEARCHED = ((256, 256, 900), (96, 12, 90), (32, 1, 1), (28, 3, 6))
"""Steps, and between which sizes the limit of memory lies: all fit, a part, one sample, no half."""


@part.probe(pair=True, arrays=LOADED)
def epochs(student: Student, rig: Rig) -> Answer:
    """Two epochs of a loader with two processes; the last batch is shorter."""
    data = rig.loading.pictures(BATCH * 5 + rig.integer(1, BATCH - 1))
    loader = program(student).make_loader(data, BATCH, 2, rig.device)
    return {
        f"{epoch}_{name}": array
        for epoch in PASSES
        for name, array in rig.loading.epoch(loader).items()
    }


@part.probe(
    values={"made": list_of(record(device=TEXT, workers=INTEGER, options=optional(OPTIONS)))}
)
def arguments(student: Student, rig: Rig) -> Answer:
    """Loaders for each kind of device; none of them is used."""
    made = []
    code = program(student)
    for device, workers in product(("cpu", "cuda"), (0, rig.integer(4, 8))):
        with rig.loading.built() as built:
            data = rig.loading.pictures(BATCH)
            code.make_loader(data, BATCH, workers, rig.loading.device(device))
        made.append({"device": device, "workers": workers, "options": built.last()})
    return {"made": made}


class Samples:
    """A number and a label of each key that a store hands out, some milliseconds after it was asked."""

    def __init__(self, store: Sequence[int]) -> None:
        self._store = store

    def __len__(self) -> int:
        return len(self._store)

    def __getitem__(self, index: int) -> tuple[float, int]:
        key = self._store[index]
        return float(key % 100_003), key % 10


@part.timed("load", dataset=Samples)
def slow_reads(student: Student, dataset: Any, device: Any) -> Any:
    """Batches of 4 and 4 workers: an epoch of 32 reads, of which none waits for a core."""
    return program(student).make_loader(dataset, 4, 4, device)


@part.probe(values={"searches": list_of(SEARCH), "other": TEXT, "tries": INTEGER})
def searches(student: Student, rig: Rig) -> Answer:
    """Limits of memory, and an attempt that is wrong at every size."""
    look = program(student).largest_batch
    noted = []
    for step, low, high in (*SEARCHED, (8 * rig.integer(3, 9), 9, 20)):
        limit = rig.integer(low, high)
        largest = rig.number(rig.sizes.largest(look, limit, step))
        noted.append({"step": step, "limit": limit, "largest": largest})
    broken = rig.sizes.attempt(64, broken=True)
    other = ""
    try:
        look(broken, 64)
    except Exception as error:
        other = type(error).__name__[:60]
    return {"searches": noted, "other": other, "tries": len(broken.asked)}


def train(student: Student, window: Window, *more: Any) -> Any:
    """Train an epoch by the program's loop: amp, accumulate and on_step may follow."""
    arguments = (
        window.model,
        window.loader,
        window.criterion,
        window.optimizer,
        window.scaler,
        window.device,
    )
    return window.returned("train_epoch", program(student).train_epoch(*arguments, *more))


@part.probe(pair=True, values={"called": INTEGER}, arrays=TRAINED)
def grouped(student: Student, rig: Rig) -> Answer:
    """Groups of small batches, and on the baseline's side large ones; samples are kept apart."""
    group = GROUP if rig.side == "student" else 1
    net = rig.matched.simple_net()
    sizes = [GROUP * BATCH // group] * (4 * group)
    window = rig.window(sizes, model=net, momentum=0.9, enlarged=2, lr=0.05)
    window.criterion.label_smoothing = 0.1  # so that another criterion shows
    start = window.weights()
    called: list[int] = []
    losses = train(student, window, False, group, lambda: called.append(1))["losses"]
    noted = {"losses": rig.series(losses, "losses"), "weights": window.weights()}
    return {"start": start, "called": len(called) * GROUP // group, **noted}


MANY = [4] * 24  # so many batches that a wait in every tenth differs from one in every fifth


@part.probe(
    values={
        "waits": WAITED,
        "queued": NUMBER,
        "seconds": optional(NUMBER),
        **dict.fromkeys(("kept", "images", "labels", "waited", "batches"), INTEGER),
    }
)
def loop(student: Student, rig: Rig) -> Answer:
    """Waits for the device, copies to it, and the clock of an epoch whose work a GPU ends later."""
    watched = rig.window(MANY)
    moved = rig.window(MANY)
    graphs = rig.graphs(watched)
    waits = rig.waits(watched, program(student))
    with waits:
        train(student, watched)
    with rig.loading.moves(moved.loader) as moves:
        train(student, moved)

    def epoch(device: Any) -> Any:
        window = rig.window()
        left = 0.0 if device.type == "cpu" else 0.25  # a CPU leaves nothing
        rig.clock.freeze()
        scaler = type(window.scaler)("cpu", enabled=False)  # an enabled one waits at each step
        window = replace(window, device=device, scaler=scaler)
        with rig.queue(window, left):
            return len(window.loader) * left, train(student, window)["seconds"]

    queued, seconds = rig.on_a_gpu(epoch)
    return {
        "waits": waits.values(),
        "kept": graphs.kept,
        "batches": len(moved.loader),
        "seconds": rig.number(seconds),
        "queued": queued,
        "images": moves.by_dimensions[4],
        "labels": moves.by_dimensions[1],
        "waited": moves.waited,
    }


@part.check(basis="outputs")
def every_sample_once(epochs: Pair) -> Verdict:
    """make_loader delivers every sample once in each epoch, in a new order each time."""
    try_ = f"shuffle=True, and no drop_last; {POINTS}"
    whole = loaders.delivered(epochs, try_=try_)
    first, second = (loaders.epoch(epochs.student, name) for name in PASSES)
    if isinstance(whole, Failed) or list(first.samples()) != list(second.samples()):
        return whole
    return Failed(
        "two epochs in one order",
        "the order is drawn only once, or never",
        f"shuffle=True; {POINTS}",
    )


@part.check(basis="report")
def loader_asks_for_what_helps(arguments: Observation) -> Verdict:
    """Point 2: num_workers as given; pinned memory for a GPU only; persistent workers, if there are any."""
    return loaders.options(arguments.values["made"], try_=POINTS)


@part.check(basis="outputs", needs=[every_sample_once])
def loading_is_faster(slow_reads: Timed, bar: Bar) -> Verdict:
    """An epoch of slow reads with 4 workers is at least {bar} as fast as the baseline's, timed from outside."""
    problem = differing(Epoch(**slow_reads.student.arrays), Epoch(**slow_reads.baseline.arrays))
    if problem:
        return Failed(problem, "the loader that is timed delivers other samples", POINTS)
    return speedup.at_least(
        slow_reads,
        bar,
        why="bound by data: reads wait for each other, or workers restart in each epoch",
        try_=POINTS,
    )


@part.check(basis="scripted")
def finds_the_largest_batch(searches: Observation) -> Verdict:
    """Point 1: largest_batch halves the step until it fits into memory, and hides no other error."""
    values = searches.values
    other = values["other"] if values["tries"] == 1 else "nothing at once"
    problem = judges.fits(values["searches"], other)
    hints = {
        "is odd": "raise the error again if the size is odd",
        "not about memory": "except torch.OutOfMemoryError, and no other error",
    }
    judged = verdict(*problem, f"begin with step, and halve it each time; {POINTS}")
    return hinted(judged, hints, POINTS)


@part.check(basis="outputs")
def accumulates(grouped: Pair) -> Verdict:
    """Point 7: each group of batches is one step, the same as that of one large batch."""
    hints = {
        "on_step": "call on_step() after each batch",
        "losses is not": "average the losses of the batches of each step",
        "holds the mean loss": "one number for each step, not for each batch",
    }
    try_ = f"loss / accumulate, and one step for each group; {POINTS}"
    return hinted(verdict(*judges.grouped(grouped), try_), hints, POINTS)


half = HalfPrecision(part, lambda student, window: train(student, window, True), POINTS)
half.rounds_as_autocast(
    "Point 3: with amp=True the losses are rounded as 16-bit arithmetic rounds them.", scaler=True
)
half.uses_the_scaler_in_order(
    "Point 3: each step calls the scaler once and in order: scale, backward, step, update."
)


compiled = Compiled(
    part, lambda student, rig: (rig.matched.simple_net(), program(student).fuse), 2e-5, POINTS
)
is_one_graph = compiled.is_one_graph(
    "Point 4: fuse makes one graph of the whole network for each shape, by the given backend, with the same answers."
)


@part.check(basis="report")
def no_wait_per_step(loop: Observation) -> Verdict:
    """Point 5: the host waits for the device at most in every tenth batch and for the results; no old graph is kept."""
    values = loop.values
    seconds, queued = values["seconds"], values["queued"]
    # Half of it: batches were skipped, which others see.
    if seconds is None or seconds < 0.4 * queued:
        worked = f"the device worked for {queued:.4g} s (scripted)"
        why = "the clock stops before the results are on the host"
        measured = f"seconds is {shown(seconds)} where {worked}"
        return Failed(measured, why, f"fetch the losses, then read the clock; {POINTS}")
    try_ = f"losses.append(loss.detach()); bring them to the host after the loop; {POINTS}"
    return host_waits.no_wait_per_step(
        values["waits"], values["batches"], values["kept"], try_=try_
    )


@part.check(basis="report")
def moves_without_waiting(loop: Observation) -> Verdict:
    """Point 6: images and labels of each batch are moved to the device, and the host does not wait for the copies."""
    values, batches = loop.values, loop.values["batches"]
    moved = f"{values['images']} images and {values['labels']} labels moved"
    measured = f"{moved} in {batches} batches; {values['waited']} times the host waited"
    why, try_ = "", f"non_blocking=True in each .to(device); {POINTS}"
    if min(values["images"], values["labels"]) < batches:
        why, try_ = "images and labels of each batch must be moved", f"move both; {POINTS}"
    if values["waited"]:
        why, try_ = (
            "the host blocks on each copy",
            f"non_blocking=True in each .to(device); {POINTS}",
        )
    return verdict(measured, why, try_)
