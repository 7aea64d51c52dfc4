"""A measurement that sees the wait for data."""

from __future__ import annotations

from typing import Any

from autograder.checks import loaders, timing
from autograder.claims.training_loop import TrainingLoop
from autograder.lab import (
    INTEGER,
    TEXT,
    Answer,
    Failed,
    Observation,
    Student,
    Verdict,
    Window,
    list_of,
)
from autograder.labs.resnet18.part2_dataloader.part import BATCH, CLOCK, Rig, part


def measured(student: Student, window: Window) -> Any:
    """Measure an epoch whose step is a forward pass, and note what that was given."""
    given = list[Any]()

    def step(images: Any, labels: Any) -> None:
        given.append(labels)
        window.model(images)

    figures = student.measure_loading(window.loader, step, window.device)
    returned = window.returned("measure_loading", figures)
    returned["labels"] = [label for batch in given for label in batch.tolist()]
    return returned


@part.probe(values={"devices": list_of(TEXT), "moved": INTEGER, "waited": INTEGER})
def moves(student: Student, rig: Rig) -> Answer:
    """To a device without memory, so that any machine can show it."""
    window = rig.window([BATCH] * 3)
    step = rig.loading.step([0.1])
    with rig.loading.moves() as moves:
        student.measure_loading(window.loader, step, rig.loading.device("meta"))
    return {"devices": step.devices, **moves.values()}


TrainingLoop(part, "measure_loading", measured).keeps_an_honest_clock(
    says=(
        "measure_loading counts whole iterations, "
        "waiting for data included; data_wait is that waiting."
    ),
    figures=("epoch_time", "samples"),
    handed_on="labels",
    start=timing.START,
    see=CLOCK,
)


@part.check(basis="report")
def moves_without_waiting(moves: Observation) -> Verdict:
    """Batches are moved to the device with non_blocking=True."""
    noted = moves.values["devices"]
    devices = set(noted)
    if devices == {"meta"}:
        return loaders.copied(moves.values["moved"], moves.values["waited"])
    if not devices:
        why = "your code does not hand batches to step"
        return Failed("step was never called", why, "step(images, labels) for each batch")
    each = {"images": sorted({*noted[::2]}), "labels": sorted({*noted[1::2]})}
    stayed = {name: ", ".join(it) for name, it in each.items() if it != ["meta"]}
    where = " and ".join(f"{name} on {it}" for name, it in stayed.items())
    why = f"{' and '.join(stayed)} are not moved to the argument device"
    try_ = "move images and labels by .to(device, non_blocking=True)"
    return Failed(f'with device "meta" in place of a GPU, step got {where}', why, try_)
