"""What the parts of this lab are given: models to work on, and what measures a call.

    meter = Meter(device)                       meter.synchronize(), .allocated(), .reset_peak(), .peak()
    live_peak(function, *inputs)                bytes that one call held at its peak, beyond its inputs
    model = TinyLM(vocabulary, width, blocks, heads)
    model(input_ids, labels=None, caches=None)  .logits, .loss
    model = LookingNet(width)                   looks at its own activations half way
    cold_start(compile_regions, ids)            compiles a TinyLM anew and takes gradients at four lengths

The lab hands this folder out and grades with its own copy: a change here reaches nobody else.
"""

from .arena import Arena
from .compiling import cold_start
from .language import TinyLM
from .looking import LookingNet
from .measuring import Meter, device_name, live_peak

__all__ = ["Arena", "LookingNet", "Meter", "TinyLM", "cold_start", "device_name", "live_peak"]
