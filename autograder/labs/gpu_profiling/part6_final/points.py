"""The seven points of the program: its loader, its batch size, its loop and its graph."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from autograder.checks import loaders
from autograder.checks.hints import hinted
from autograder.checks.numerics import shown
from autograder.claims.graphs import Compiled
from autograder.claims.loaders import Loader
from autograder.claims.precision import HalfPrecision
from autograder.claims.training_loop import TrainingLoop
from autograder.lab import (
    INTEGER,
    NUMBER,
    TEXT,
    Answer,
    Observation,
    Pair,
    Student,
    Verdict,
    Window,
    list_of,
    optional,
    record,
)
from autograder.labs.gpu_profiling.part6_final import judges
from autograder.labs.gpu_profiling.part6_final.part import POINTS, PROGRAM, Rig, part
from autograder.model import verdict


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


SEARCH = record(step=INTEGER, limit=INTEGER, largest=optional(NUMBER))
TRAINED = {"start": ("float32", 1), "losses": ("float64", 1), "weights": ("float32", 1)}
BATCH = 8  # samples
GROUP = 3  # batches of a step
STEP = 2.0  # scripted seconds of on_step, as a profiler takes them
SEARCHED = ((256, 256, 900), (96, 12, 90), (32, 1, 1), (28, 3, 6))
"""Steps, and between which sizes the limit of memory lies: all fit, a part, one sample, no half."""


loader = Loader(
    part,
    lambda student, data, batch, device, workers, _: program(student).make_loader(
        data, batch, workers, device
    ),
    see=POINTS,
)
loader.delivers_anew(
    "make_loader delivers every sample once in each epoch, in a new order each time."
)
loader.has_options(
    "loader_asks_for_what_helps",
    "Point 2: num_workers as given; pinned memory for a GPU only; "
    "persistent_workers where there are workers.",
)
loader.is_faster()


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


@part.probe(
    pair=True,
    values={**dict.fromkeys(("called", "passes", "steps"), INTEGER), "waited": NUMBER},
    arrays=TRAINED,
)
def grouped(student: Student, rig: Rig) -> Answer:
    """Groups of small batches, and on the baseline's side large ones; samples are kept apart."""
    group = GROUP if rig.side == "student" else 1
    net = rig.matched.simple_net()
    sizes = [GROUP * BATCH // group] * (4 * group)
    window = rig.window(sizes, model=net, momentum=0.9, enlarged=2, lr=0.05)
    window.criterion.label_smoothing = 0.1  # so that another criterion shows
    start = window.weights()
    called: list[int] = []
    steps: list[int] = []
    passes: list[int] = []
    window.optimizer.register_step_post_hook(lambda *_: steps.append(1))
    window.model.register_forward_hook(lambda *_: passes.append(1))
    rig.clock.freeze()

    def on_step() -> None:
        called.append(1)
        rig.clock.advance(STEP)

    trained = train(student, window, False, group, on_step)
    noted = {"losses": rig.series(trained["losses"], "losses"), "weights": window.weights()}
    waited = rig.number(trained["data_wait"])
    counts = {"called": len(called) * GROUP // group, "steps": len(steps)}
    counts["passes"] = len(passes) * GROUP // group
    return {"start": start, **counts, "waited": waited, **noted}


loop = TrainingLoop(part, "train_epoch", train, program)


@part.probe(values={"queued": NUMBER, "seconds": optional(NUMBER)})
def clock(student: Student, rig: Rig) -> Answer:
    """The clock of an epoch whose work a GPU ends later."""

    def epoch(device: Any) -> Any:
        window = rig.window()
        left = 0.0 if device.type == "cpu" else 0.25  # a CPU leaves nothing
        rig.clock.freeze()
        scaler = type(window.scaler)("cpu", enabled=False)  # an enabled one waits at each step
        window = replace(window, device=device, scaler=scaler)
        with rig.queue(window, left):
            return len(window.loader) * left, train(student, window)["seconds"]

    queued, seconds = rig.on_a_gpu(epoch)
    return {"seconds": rig.number(seconds), "queued": queued}


@part.check(basis="scripted")
def finds_the_largest_batch(searches: Observation) -> Verdict:
    """Point 1: largest_batch halves the step until it fits into memory, and hides no other error."""
    values = searches.values
    other = values["other"] if values["tries"] == 1 else ""
    problem = judges.fits(values["searches"], other)
    hints = {
        "is odd": "raise the error again if the size is odd",
        "not about memory": "except torch.OutOfMemoryError, and no other error",
    }
    judged = verdict(*problem, "begin with step, and halve the size each time")
    return hinted(judged, hints)


@part.check(basis="outputs", compared="weights")
def accumulates(grouped: Pair) -> Verdict:
    """Point 7: each group of batches is one step, the same as that of one large batch."""
    hints = {
        "includes on_step": "start the clock of the next fetch after on_step()",
        "on_step": "call on_step() after each batch",
        "losses is not": "average the losses of the batches of each step",
        "hold the mean loss": "one number for each step, not for each batch",
        "are trained on": "train on every batch of the loader: let no continue or break leave one out",
        "the criterion is another": "take the loss of the criterion that is given",
        "be one step": "call optimizer.step() once after each `accumulate` batches",
        "a sum and not a mean": (
            "divide each loss by accumulate before backward(), and take "
            "the step by scaler.step(optimizer)"
        ),
    }
    try_ = "clear the gradients after each step, with optimizer.zero_grad()"
    measured, why = judges.grouped(grouped)
    return hinted(verdict(f"with accumulate={GROUP}, {measured}", why, try_), hints)


half = HalfPrecision(part, lambda student, window: train(student, window, True), POINTS)
half.rounds_as_autocast(
    "Point 3: with amp=True the losses have the rounding of 16-bit "
    "autocast: they differ slightly from FP32's.",
    scaler=True,
)
half.uses_the_scaler_in_order(
    "Point 3: with accumulate=1, each batch has these calls once, in this order, "
    "with amp=True and amp=False: scale, backward, step, update.",
    also={"with amp=False, ": train},
)


compiled = Compiled(
    part, lambda student, rig: (rig.matched.simple_net(), program(student).fuse), 2e-5, POINTS
)
is_one_graph = compiled.is_one_graph(
    "Point 4: fuse compiles the whole network as one graph for each shape, "
    "by the given backend; answers are the same."
)


def _ended(clock: Observation) -> Verdict:
    seconds, queued = clock.values["seconds"], clock.values["queued"]
    # Half of it: batches were skipped, which others see.
    early = seconds is None or seconds < 0.4 * queued
    why = "the clock stops before the results are on the host" if early else ""
    measured = f"seconds is {shown(seconds)}, but the device worked for {queued:.4g} s (scripted)"
    return verdict(measured, why, "fetch the losses, then read the clock")


loop.waits_rarely(
    says="Point 5: the host may wait for the device in every tenth batch and after the loop, "
    "and nowhere else; no autograd graph is kept.",
    also={clock: _ended},
)
part.add_check(
    "moves_without_waiting",
    "Point 6: images and labels of each batch are moved to the device, "
    "and the host does not wait for the copies.",
    "report",
    loaders.each_copied,
    [loop.moves().__name__],
)
