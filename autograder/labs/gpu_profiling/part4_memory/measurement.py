"""Whole steps, measured at several batch sizes in two precisions, and the table of them that is handed in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

from autograder.checks.hints import caused
from autograder.claims.studies import WRITTEN, Study, written
from autograder.lab import (
    INTEGER,
    NUMBER,
    TEXT,
    Answer,
    Device,
    Pair,
    Rig,
    Student,
    list_of,
    map_of,
)
from autograder.labs.gpu_profiling.part4_memory import judges
from autograder.labs.gpu_profiling.part4_memory.part import part

STEPS = 'see "What is measured" in the part 4 handout'
WARM_UP = 2  # steps, at least
NOTED = ("batches", "models", "warm", "stale")
SMALLER = 64  # times is a loss, so that no scaler that begins high skips a step, whose seconds would be missed


def scripted(
    rig: Rig,
    passed: dict[Any, list[float]],
    stale: list[bool],
    full: float,
    half: float,
    backward: float,
    cold: float,
    step: float,
) -> Any:
    """Return a make_training: a forward pass takes *full* or *half* seconds, a backward pass *backward*.

    The first forward pass takes *cold* seconds longer, and so do the first two backward passes. The
    optimizer takes *step* seconds, and as much again for each other size and precision that its model has seen.
    *passed* has, for each model, a sum of each batch that passed; *stale* says of each backward pass whether gradients
    of an earlier step were there.
    """
    trainings = rig.trainings(full, half, cold, SMALLER)
    left = [cold, cold]
    pass_time = partial(rig.clock.advance, busy=True)

    def make_training(device: Any) -> Any:
        model, criterion, optimizer = trainings(device)
        kinds = set()

        def back(module: Any, _: Any) -> None:
            gradients = [it.grad for it in module.parameters() if it.grad is not None]
            stale.append(any(bool(it.any()) for it in gradients))
            pass_time(backward + (left.pop() if left else 0))

        def hook(module: Any, inputs: Any, output: Any) -> None:
            kinds.add((len(inputs[0]), output.dtype))
            passed.setdefault(module, []).append(float(inputs[0].double().sum()))
            if output.requires_grad:
                output.register_hook(partial(back, module))

        model.register_forward_hook(hook)
        optimizer.register_step_post_hook(lambda *_: pass_time(step * len(kinds)))
        return model, criterion, optimizer

    return make_training


@part.probe(
    pair=True,
    values={
        **WRITTEN,
        "nets": list_of(TEXT),
        "sizes": list_of(INTEGER),
        "saved": list_of(NUMBER),
        "script": list_of(map_of(NUMBER)),
        "steps": INTEGER,
        **dict.fromkeys(NOTED, INTEGER),
        "device": TEXT,
    },
)
def measured(student: Student, rig: Rig) -> Answer:
    """Nets whose passes take scripted seconds, the first one of each longer; what is kept is ours to know."""
    names = ["simple", "efficient"]  # not in the order of the alphabet
    steps = rig.integer(4, 9)
    sizes = [rig.integer(3, 9), rig.integer(10, 20)]
    script = [drawn(rig) for _ in names]
    passed: dict[Any, list[float]] = {}
    stale: list[bool] = []
    rig.clock.freeze()
    pairs = zip(names, script, strict=True)
    nets = {name: scripted(rig, passed, stale, **own) for name, own in pairs}
    options = {"image_size": 8, "classes": 4, "steps": steps}
    returned = student.benchmark_memory(
        nets, list(sizes), rig.device, folder=str(rig.made_folder()), **options
    )
    different = (len(set(batches[-steps:])) for batches in passed.values())
    return {
        **written(rig, judges.RESULTS, "benchmark_memory", returned),
        "batches": max(different, default=0),
        "models": len(passed),
        "warm": sum(len(batches) >= steps + WARM_UP for batches in passed.values()),
        "stale": sum(stale),
        "nets": names,
        "sizes": sizes,
        "script": script,
        "steps": steps,
        "saved": saved_by_size(rig, sizes),
        "device": rig.text(rig.given("device_name")(rig.device)),
    }


def drawn(rig: Rig) -> dict[str, float]:
    """Draw the seconds of one net, as `scripted` takes them."""
    (full,), (faster,), (backward,) = (
        rig.seconds(low, high, 1) for low, high in ((0.2, 0.5), (1.3, 2.5), (0.5, 0.9))
    )
    return {
        "full": full,
        "half": full / faster,
        "backward": backward,
        "cold": 3.0,
        "step": full / 3,
    }


def saved_by_size(rig: Rig, sizes: Sequence[int]) -> list[float]:
    """Return the MB that are kept at each size, in FP32 and in half precision."""
    saved: list[float] = []
    for size in sizes:
        images = rig.tensor(rig.random.normal(size=(size, 3, 8, 8)))
        look = partial(rig.given("saved_mb"), rig.window([2]).model, images)
        saved += [look(), rig.autocast("bfloat16", look)]
    return saved


HINTS = {
    "that is FP32's": "call given.saved_mb under autocast if use_amp",
    "is left out": "time zero_grad, forward, loss, backward and the optimizer's step",
    "the pace of": "use autocast if use_amp, and only then",
    "counts steps": "throughput is batch_size * steps / seconds",
    "includes the slow": "take two complete steps before the clock starts",
    "this model already": "call make_training for each measurement",
    "saved_mb of": "put the number that given.saved_mb(model, images) returns into the row",
    "throughput of": "time only the steps of this row; return batch_size * steps / seconds, no other factor",
}


def _measured(measured: Pair, device: Device) -> str | tuple[str, ...]:
    values, script = measured.student.values, measured.baseline.values
    rows = values["rows"]
    on_gpu = device.kind == "cuda"
    if unit := judges.unit_problem(rows):
        why = "your code divides by 1048576: MB are 1e6 bytes"
        return why, "return what given.saved_mb returns, as it is", unit
    if problem := judges.figure_problem(rows, script, on_gpu=on_gpu):
        return caused(problem, HINTS)
    count, (batches, models, warm, stale) = len(rows), (values[name] for name in NOTED)
    wrong = (
        (
            batches > 1,
            "your code makes batches while it times",
            "make one batch before the clock starts",
            f"{script['steps']} timed steps had {batches} batches, and 1 is right",
        ),
        (
            models < 2 * count,
            "your code measures saved_mb on the model that it trains",
            "call make_training again for saved_mb",
            f"{models} models were made for {count} rows, and {2 * count} are right",
        ),
        (
            warm < count,
            "the warm-up must train the model that is timed",
            "warm up the model that you measure",
            f"{warm} of {count} models took {WARM_UP} steps before those that are timed",
        ),
        (
            stale > 0,
            "your code does not clear gradients in each step",
            "call optimizer.zero_grad() in each step",
            f"{stale} backward passes found gradients of the step before",
        ),
    )
    return next((words[1:] for words in wrong if words[0]), "")


def _expected(script: Mapping[str, Any]) -> list[tuple[str, int, str]]:
    return list(product(script["nets"], script["sizes"], judges.PRECISIONS))


study = Study(part, judges.RESULTS, "benchmark_memory", by=measured, expected=_expected)
study.is_measured(
    "measures_training_steps",
    _measured,
    says="measure_memory_and_speed times complete steps after a warm-up, and returns what is kept, in both precisions.",
    try_=STEPS,
    shows=["throughput"],
    reads=["device"],
)
study.is_written()


study.is_consistent(
    lambda rows: (
        judges.unit_problem(rows)
        or judges.whole_problem(rows, ("SimpleNet", "MemoryEfficientNet"), 4)
    ),
    says="The submitted memory_results.csv has both nets at four batch sizes in FP32 and AMP; "
    "MemoryEfficientNet keeps less memory than SimpleNet.",
    try_="fix measures_training_steps first if it fails; then run part4_memory.py, and "
    "submit the table that part4_memory.py writes, unchanged",
)
