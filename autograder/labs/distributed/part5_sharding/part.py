"""The part: what it has a student write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autograder.lab import Part

if TYPE_CHECKING:
    from autograder.labs.distributed.part5_sharding.rig import Rig
else:
    Rig = Any

__all__ = ["SEE", "WRITE", "Rig", "part"]

WRITE = 'see "What to write" in the part 5 handout'
SEE = 'see "What usually goes wrong" in the part 5 handout'
part = Part(
    "part5_sharding",
    writes=["shard", "train_sharded", "save", "load"],
    warm=[
        "torch._dynamo",
        "torch.distributed.checkpoint.state_dict",
        "torch.distributed.fsdp",
    ],
)
