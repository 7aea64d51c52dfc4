"""Part 7 before the work: nothing is folded, one mode is good for all, and each operator is a launch.

Your fold_model is compared with this one, which computes the same and folds nothing.
"""

from __future__ import annotations

import copy
from pathlib import Path

import pandas as pd
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile


def fold_model(model):
    """Copy the model."""
    if any(isinstance(it, nn.BatchNorm2d) and it.training for it in model.modules()):
        raise ValueError("a BatchNorm2d is in train()")
    return copy.deepcopy(model)


def compile_for(purpose, model):
    """Follow a slide, which says: reduce-overhead to save memory, default and dynamic=True to debug."""
    if purpose == "is it captured":
        return torch.compile(model, mode="default", dynamic=True)
    return torch.compile(model, mode="reduce-overhead")


def count_launches(versions, inputs, folder="."):
    """Count the operators that a profile shows, views and all, and take each for a launch; nothing is compiled."""
    rows = []
    for name, version in versions.items():
        with torch.no_grad(), profile(activities=[ProfilerActivity.CPU]) as prof:
            version(*inputs)
        count = sum(event.count for event in prof.key_averages() if event.key.startswith("aten::"))
        rows.append({"version": name, "operators": count, "launches": count, "extern": count, "fused": 0, "graphs": 0})
    pd.DataFrame(rows).to_csv(Path(folder) / "fusion_launches.csv", index=False)
    return rows
