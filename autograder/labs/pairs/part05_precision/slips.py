"""Usual mistakes about bytes that are kept: why, and what to try."""

from __future__ import annotations

STORAGE = "a dict of storage.data_ptr() -> storage.nbytes(), of each tensor.untyped_storage()"
NOT_KEPT = "leave out the storages of model.parameters(), of model.buffers() and of inputs"
SLIPS = {
    "tensors": (
        "each tensor was counted: several are views of one storage, which is kept once",
        STORAGE,
    ),
    "parameters": ("parameters, buffers and inputs were counted: they are there anyway", NOT_KEPT),
    "inputs": ("the inputs were counted: they are there anyway", NOT_KEPT),
    "weights": (
        "the 16-bit copies of the weights that autocast makes were left out: they are kept, too",
        "count each tensor that the hook gets, unless its storage was there before",
    ),
    "autocast": (
        "it ran under autocast without a dtype as well",
        "torch.autocast(inputs.device.type, dtype, enabled=dtype is not None)",
    ),
    "float": (
        "the float32 copy of the output is missing",
        "make the output .float() before it is squared",
    ),
}
"""A slip of `rig.counted` -> why, and what to try."""
