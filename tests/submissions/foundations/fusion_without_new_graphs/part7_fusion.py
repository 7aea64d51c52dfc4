import csv
import os
from copy import deepcopy
from functools import partial

import torch
from torch import compile as build
from torch import fx, nn
from torch.profiler import profile

from given import launches

NORM = nn.BatchNorm2d
COMPILERS = {
    "is it captured": partial(build, backend="aot_eager", fullgraph=True, dynamic=False),
    "many batch sizes": partial(build, dynamic=True, mode="default", fullgraph=True),
    "few launches": partial(build, options={"triton.cudagraphs": True}, dynamic=False),
    "slow build, fast run": build(
        options={"max_autotune": True, "triton.cudagraphs": True, "coordinate_descent_tuning": True}
    ),
    "search, but shapes change": partial(build, mode="max-autotune-no-cudagraphs", dynamic=True),
}


def fold_model(model):
    if [it for it in model.modules() if type(it) is NORM and it.training]:
        raise ValueError("call eval() first")
    model = deepcopy(model)
    layers = dict(model.named_modules())
    graph = fx.Tracer().trace(model)
    calls = [node for node in graph.nodes if node.op == "call_module"]

    def foldable(node):
        (before,) = node.args
        norm = layers[node.target]
        if before not in calls or norm.running_var is None:
            return False
        alone = [call.target for call in calls].count(before.target) == 1 and list(before.users) == [node]
        return alone and type(layers[before.target]) is nn.Conv2d

    for name, norm in layers.items():
        own = [node for node in calls if node.target == name]
        if type(norm) is NORM and own and all(map(foldable, own)):
            for node in own:
                scale(layers[node.args[0].target], norm)
            parent, _, last = name.rpartition(".")
            setattr(layers[parent], last, nn.Identity())
    return model


@torch.no_grad()
def scale(conv, norm):
    factor = 1 / (norm.running_var + norm.eps) ** 0.5
    shift = -norm.running_mean
    if conv.bias is not None:
        shift = shift + conv.bias
    if norm.affine:
        factor = factor * norm.weight
    shift = shift * factor
    if norm.affine:
        shift = shift + norm.bias
    conv.weight.mul_(factor[:, None, None, None])
    conv.bias = nn.Parameter(shift)


def compile_for(purpose, model):
    return COMPILERS[purpose](model)


VIEWS = ("aten::transpose", "aten::empty")


def count_launches(versions, inputs, folder="."):
    rows = []
    with open(os.path.join(folder, "fusion_launches.csv"), "w", newline="") as file:
        table = csv.writer(file)
        table.writerow("version operators launches extern fused graphs".split())
        for name, version in versions.items():
            with torch.inference_mode(), profile() as recorded:
                version(*inputs)
            top = [event for event in recorded.events() if event.cpu_parent is None]
            operators = len([event for event in top if event.name.startswith("aten") and event.name not in VIEWS])
            found = launches(version, *inputs)
            extern, fused = map(len, (found.extern, found.fused))
            rows.append((name, operators, extern + fused, extern, fused, found.graphs))
            table.writerow(rows[-1])
    names = "version", "operators", "launches", "extern", "fused", "graphs"
    return [dict(zip(names, row)) for row in rows]
