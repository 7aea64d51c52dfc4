"""Timed work, done once while no clock runs: what a part's checks see of it, and what comes before the first window."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np

from autograder.lab import Probe
from autograder.worker.rig import Rig
from autograder.worker.rigs.loads import epoch
from autograder.worker.rigs.returned import flat, series

CALLS = 4  # of a function
SAMPLES = 45  # of a data set: no round number, so that the last batch is shorter

Arrays = dict[str, np.ndarray[Any, Any]]


def once(probe: Probe, student: ModuleType, rig: Rig) -> Arrays:
    """Do the work of a window, each kind its own."""
    match probe.timed:
        case "call":
            return called(probe, student, rig)
        case "load":
            return loaded(probe, student, rig)
    return trained(probe, student, rig)


def called(probe: Probe, student: ModuleType, rig: Rig) -> Arrays:
    """Call a function on a few fresh inputs: all that it returned, one after the other."""
    assert probe.inputs is not None
    outputs = []
    for _ in range(CALLS):
        drawn = probe.inputs(rig.random)
        outputs.append(flat(probe.run(student, tensors(probe, drawn, rig))))
    return {"outputs": np.concatenate(outputs)}


def tensors(probe: Probe, arrays: Mapping[str, np.ndarray[Any, Any]], rig: Rig) -> dict[str, Any]:
    """Return the inputs of one call, each in the dtype that it is to have."""
    return {
        name: rig.tensor(array, probe.dtypes.get(name, str(array.dtype)))
        for name, array in arrays.items()
    }


def loaded(probe: Probe, student: ModuleType, rig: Rig) -> Arrays:
    """Go through a loader over samples that are there at once."""
    assert probe.dataset is not None
    keys = rig.random.integers(1, 1 << 63, SAMPLES, dtype=np.uint64)
    return epoch(probe.run(student, probe.dataset(keys.tolist()), rig.device))


def trained(probe: Probe, student: ModuleType, rig: Rig) -> Arrays:
    """Train from fresh weights: the losses that were returned and the weights that were left."""
    window = rig.window()
    losses = series(probe.run(student, window), "losses")
    return {"losses": losses, "weights": window.weights()}
