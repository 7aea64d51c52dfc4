"""What is run of the program: a short training with each of its options, on a scripted clock."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from autograder.lab import (
    CELL,
    INTEGER,
    NUMBER,
    TEXT,
    Answer,
    Student,
    Window,
    exactly,
    list_of,
    map_of,
    optional,
    record,
)
from autograder.labs.resnet18.part6_comparison.part import (
    BATCH,
    EPOCHS,
    PROGRAM,
    SIDE,
    SMALLER,
    TINY,
    Rig,
    part,
)

SHORT, LONG = (0.05, 0.2), (0.3, 0.6)  # seconds that a batch is waited for
UNEVEN = 0.8  # of what an epoch waits: so much more and less, or the rate of one epoch would be that of both
MOMENTUM = 0.9  # as the lab's own optimizer has
COLD = 30.0  # seconds that the first pass of all takes longer: more than any epoch, so that nothing else looks alike
TOLD = ("throughput", "epoch_time", "data_wait", "warm_up_s", "peak_memory_mb", "loss", "accuracy")
RUN = {
    "reported": record(**dict.fromkeys(TOLD, optional(NUMBER))),
    "device": TEXT,
    "asked": list_of(map_of(CELL)),
    "unsaved": TEXT,
    "after": TEXT,
    "worked": NUMBER,
    "peak_mb": NUMBER,
    "script": record(
        samples=INTEGER,
        batches=INTEGER,
        **dict.fromkeys(("wait", "work", "plain", "once", "uneven"), NUMBER),
    ),
}
TRAINED = {
    "losses": ("float64", 1),
    **dict.fromkeys(("start", "weights", "running"), ("float32", 1)),
}
GROUP = 3  # batches of a step
RIGHT = 6  # of a batch are right before the training
SEGMENTS = 5  # the stem and the four layers
Prepared = tuple[list[str], Any, dict[str, float]]
"""Options, make_training, and the seconds of a batch: with the option, without it, and what comes once."""


def run(
    student: Student,
    rig: Rig,
    prepare: Callable[[Window], Prepared],
    joined: int = 1,
    uneven: float = 0.0,
) -> Answer:
    """Run the program for two epochs on a scripted clock; the baseline joins batches and knows no options."""
    batches = rig.integer(4, 6)
    if joined > 1:
        batches = joined * rig.integer(2, 3) + 1  # so that the last group is short
    waits = rig.seconds(*(LONG if uneven else SHORT), batches)
    at_once = 1 if rig.side == "student" else joined
    sizes = [BATCH * min(at_once, batches - at) for at in range(0, batches, at_once)]
    window = rig.window(sizes)
    rig.script(window, waits, [], uneven)
    options, make, times = prepare(window)
    program = rig.program(student, PROGRAM)
    asked: list[Any] = []
    words = (
        f"--epochs {EPOCHS} --batches {batches} --batch-size {BATCH} --image-size {SIDE} --save"
    ).split()
    stand_ins = {"make_training": make, "make_loader": rig.loader_for(window.loader, asked)}
    begun = rig.busy_since(window.loader)
    file = rig.made_folder() / "trained.pt"
    ran = program.run(*words, str(file), *options, **stand_ins)
    figures = ran.figures()
    worked = begun() / batches
    peak = rig.peak_mb()
    plain, _, _ = make(rig.device)
    unsaved, saved = rig.saved_weights(file, plain)
    return {
        "reported": {name: rig.number(figures[name]) for name in TOLD},
        "device": rig.text(figures["device"]),
        "asked": asked[:8],
        "unsaved": unsaved,
        "after": ran.after(),
        "worked": worked,
        "peak_mb": peak,
        "script": {
            "samples": BATCH * batches,
            "batches": batches,
            "wait": sum(waits),
            "uneven": uneven,
            **times,
        },
        "losses": rig.series(figures["losses"], "losses"),
        "start": rig.weights_of(plain.state_dict(), plain)["weights"],
        **rig.weights_of(saved, plain),
    }


def of_a_resnet(
    rig: Rig, options: list[str], runs: int = 1, half: float = 1.0, **more: Any
) -> Callable[[Window], Prepared]:
    """Let each convolution of a small ResNet take scripted seconds; with the option it runs so many times."""
    (each,) = rig.seconds(0.01, 0.02, 1)
    forward = each * sum(parameter.dim() == 4 for parameter in rig.nets.small().parameters())
    times = {"work": half * forward * runs, "plain": forward, "once": COLD}
    make = partial(rig.resnet_trainings, each, COLD, smaller=SMALLER, half=half, **more)
    return lambda _: (options, make(), times)


@part.probe(pair=True, values=RUN, arrays=TRAINED)
def plain(student: Student, rig: Rig) -> Answer:
    """Its data is not what make_loader takes where nothing is said; fewer are right in the second epoch."""
    options = ["--workers", "2", "--data", "cifar10"]
    resnet = of_a_resnet(rig, options, momentum=MOMENTUM)

    def prepare(window: Window) -> Prepared:
        batches = len(window.loader)
        net: Any = rig.nets.small()
        replace(window, model=net).label([RIGHT] * batches)
        words, make, times = resnet(window)
        return words, rig.turned(make, batches), times

    return run(student, rig, prepare, uneven=UNEVEN)


@part.probe(pair=True, values=RUN, arrays=TRAINED)
def accumulated(student: Student, rig: Rig) -> Answer:
    """Without BatchNorm, so that a group is one large batch, which is what the baseline takes."""
    options = ["--accumulate", str(GROUP)]
    return run(student, rig, of_a_resnet(rig, options, norm="group"), joined=GROUP)


@part.probe(pair=True, values={**RUN, "segments": INTEGER}, arrays=TRAINED)
def checkpointed(student: Student, rig: Rig) -> Answer:
    """Each convolution runs again for the backward pass."""
    ran = list[int]()
    answer = run(student, rig, of_a_resnet(rig, ["--checkpoint"], runs=2, ran=ran))
    return {**answer, "segments": rig.nets.run_again(ran)}


@part.probe(pair=True, values=RUN, arrays=TRAINED)
def half(student: Student, rig: Rig) -> Answer:
    """A pass in half precision takes half the seconds, or fewer; what float16 cannot hold needs a scaler."""
    (full,) = rig.seconds(0.2, 0.4, 1)
    (faster,) = rig.seconds(2.0, 3.0, 1)
    make = rig.trainings(full, full / faster, COLD, TINY)
    times = {"work": full / faster, "plain": full, "once": COLD}
    with rig.half_as_on_a_gpu():
        return run(student, rig, lambda _: (["--amp"], make, times))


@part.probe(pair=True, values=RUN, arrays=TRAINED)
def compiled(student: Student, rig: Rig) -> Answer:
    """A build takes many scripted seconds; what was built runs in half the seconds, or fewer."""
    (eager,) = rig.seconds(0.2, 0.4, 1)
    (faster,) = rig.seconds(2.0, 3.0, 1)
    (forward,) = rig.seconds(22.0, 28.0, 1)
    (backward,) = rig.seconds(16.0, 22.0, 1)
    times = {"work": eager / faster, "plain": eager, "once": forward + backward}

    def prepare(window: Window) -> Prepared:
        options = ["--compile"]
        if rig.side == "student":
            builds = {"forward": forward, "backward": backward}
            compiler = rig.compiler(window, builds, step=eager / faster)
            options += ["--backend", rig.backend(compiler)]
        return options, rig.eager_trainings(eager, 0.0), times

    return run(student, rig, prepare)


@part.probe(pair=True, values=RUN, arrays=TRAINED)
def together(student: Student, rig: Rig) -> Answer:
    """What each option does alone, it has to do beside the others."""
    options = ["--amp", "--accumulate", str(GROUP), "--checkpoint"]
    prepare = of_a_resnet(rig, options, runs=2, norm="group", half=0.25)
    return run(student, rig, prepare, joined=GROUP)


REFUSED = ("--accumulate 0", "--epochs 0", "--data nonsense", "--compile --checkpoint")
TAKEN = (
    "--amp --compile",
    "--compile --accumulate 2",
    "--amp --accumulate 2 --checkpoint",
    "--batches 2 --accumulate 3",
)


@part.probe(values={"statuses": exactly(len(REFUSED) + len(TAKEN), INTEGER)})
def refusals(student: Student, rig: Rig) -> Answer:
    """A training that is begun ends with status 0."""
    program = rig.program(student, PROGRAM)
    begun = dict.fromkeys(("make_training", "make_loader"), lambda *_, **__: sys.exit(0))

    def status(options: str) -> int:
        try:
            return int(program.run(*options.split(), **begun).status)
        except (ArithmeticError, AssertionError, LookupError, TypeError, ValueError):
            return 1  # as Python ends after a traceback

    return {"statuses": [status(options) for options in (*REFUSED, *TAKEN)]}
