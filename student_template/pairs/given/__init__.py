"""What the parts of this lab are given: models to work on, and what measures a call.

    meter = Meter(device)                       meter.synchronize(), .allocated(), .reset_peak(), .peak()
    BenchmarkResult(name, iterations, mean_time, std_time, memory_peak)
    live_peak(function, *inputs)                bytes that one call held at its peak, beyond its inputs
    model = TinyLM(vocabulary, width, blocks, heads)
    model(input_ids, labels=None, caches=None)  .logits, .loss
    model = LookingNet(width)                   looks at its own activations three times
    pairs = load_pairs(folder)                  name -> (goal, baseline, optimized), for part 14
    layers = make_layers(count)                 a deep stack: linear, GELU, dropout, linear, norm
    cold_start(compile_regions, ids)            compiles a TinyLM anew and takes gradients at four lengths

The lab hands this folder out and grades with its own copy: a change here reaches nobody else.
"""

from .arena import Arena
from .compiling import cold_start
from .language import TinyLM
from .layers import make_layers
from .looking import LookingNet
from .measuring import Meter, device_name, live_peak
from .pairs import load_pairs
from .results import BenchmarkResult

__all__ = [
    "Arena",
    "BenchmarkResult",
    "LookingNet",
    "Meter",
    "TinyLM",
    "cold_start",
    "device_name",
    "live_peak",
    "load_pairs",
    "make_layers",
]
