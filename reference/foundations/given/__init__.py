"""What the parts of this lab are given: slow versions, inputs to measure with, and what a call needs of memory.

    q, k, v = make_inputs(1024, device)         each (1, 4, 1024, 32), float32
    megabytes = peak_mb(attention_by_hand, q, k, v)
    with Allocations() as memory: ...           memory.live, memory.peak, memory.restart()
    images = make_images(256, 8)                    (256, 3, 8, 8), uint8; MEAN and STD standardise them
    network = make_folding("a ReLU between")        for images (n, 3, h, w); CAN_BE_FOLDED, CANNOT_BE_FOLDED: all kinds
    found = launches(network, images)               found.extern, found.fused: what torch.compile would launch

The lab hands this folder out and grades with its own copy: a change here reaches nobody else.
"""

from . import loops
from .attention import attention_by_hand, make_inputs
from .images import MEAN, STD, make_images
from .loops import make_tables
from .measuring import Allocations, device_name, peak_mb
from .networks import CAN_BE_FOLDED, CANNOT_BE_FOLDED, make_folding
from .slow_epoch import make_network, make_photographs, preprocess, train_epoch, train_step
from .would_launch import launches

__all__ = [
    "CANNOT_BE_FOLDED",
    "CAN_BE_FOLDED",
    "MEAN",
    "STD",
    "Allocations",
    "attention_by_hand",
    "device_name",
    "launches",
    "loops",
    "make_folding",
    "make_images",
    "make_inputs",
    "make_network",
    "make_photographs",
    "make_tables",
    "peak_mb",
    "preprocess",
    "train_epoch",
    "train_step",
]
