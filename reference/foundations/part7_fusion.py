# %% [markdown]
# # Part 7: fusion and compile modes
#
# Eager code launches a kernel for each operator, and each kernel reads its inputs from memory and writes its result
# back. If two operators become one, this saves a launch and a trip to memory. There are two ways: fold weights together
# before anything runs, or let `torch.compile` write one kernel for a chain of operators.
#
# You count launches without a GPU and without a C++ compiler: `given.launches` reads them from the code that
# `torch.compile` writes.

# %%
from __future__ import annotations

import copy
from collections import Counter
from pathlib import Path

import pandas as pd
import torch
from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval
from torch.utils._python_dispatch import TorchDispatchMode

from given import launches, make_folding

# %% [markdown]
# ## 7.1 Folding a norm into the convolution before it


# %%
def fold_model(model: nn.Module) -> nn.Module:
    """Return a new module that computes what *model* computes, with norms folded into convolutions.

    A BatchNorm2d with running statistics goes into the Conv2d whose result it gets, if nothing else gets that result
    and the convolution is called once. Other norms stay. *model* is not changed. ValueError if a BatchNorm2d is in
    train().
    """
    # TODO: which layer is called after which? torch.fx.symbolic_trace(copy.deepcopy(model)) has a node for each call.
    # TODO: fuse_conv_bn_eval(conv, norm) makes the new convolution.
    ### BEGIN SOLUTION
    if any(isinstance(it, nn.BatchNorm2d) and it.training for it in model.modules()):
        raise ValueError("a BatchNorm2d is in train(): its statistics still move; call model.eval() first")
    traced = torch.fx.symbolic_trace(copy.deepcopy(model).eval())
    called = {node: traced.get_submodule(node.target) for node in traced.graph.nodes if node.op == "call_module"}
    calls = Counter(map(id, called.values()))
    for node, norm in called.items():
        before = node.args[0] if node.args else None
        conv = called.get(before)
        if not isinstance(norm, nn.BatchNorm2d) or not isinstance(conv, nn.Conv2d):
            continue
        if calls[id(conv)] > 1 or len(before.users) > 1 or norm.running_mean is None:
            continue
        traced.set_submodule(before.target, fuse_conv_bn_eval(conv, norm))
        node.replace_all_uses_with(before)
        traced.graph.erase_node(node)
    traced.delete_all_unused_submodules()
    traced.recompile()
    return traced
    ### END SOLUTION


# %% [markdown]
# ## 7.2 Modes of torch.compile


# %%
def compile_for(purpose: str, model: nn.Module) -> nn.Module:
    """Return what torch.compile returns for *model*, with arguments for this purpose; do not call the result.

    "is it captured":                one graph or an error; a backend that runs it as eager code; no code is generated
    "many batch sizes":              one build for all of them, in the default mode
    "few launches":                  one launch issues many small kernels (a CUDA graph); all calls have the same shapes
    "slow build, fast run":          the same, and a search for the fastest kernels; all calls have the same shapes
    "search, but shapes change":     the search without CUDA graphs
    """
    # TODO: torch._inductor.list_mode_options() says what each mode means.
    ### BEGIN SOLUTION
    options = {
        "is it captured": {"backend": "eager", "fullgraph": True},
        "many batch sizes": {"dynamic": True},
        "few launches": {"mode": "reduce-overhead"},
        "slow build, fast run": {"mode": "max-autotune"},
        "search, but shapes change": {"mode": "max-autotune-no-cudagraphs"},
    }
    return torch.compile(model, **options[purpose])
    ### END SOLUTION


# %% [markdown]
# ## 7.3 Counting


# %%
COLUMNS = ["version", "operators", "launches", "extern", "fused", "graphs"]


def count_launches(versions, inputs, folder=".") -> list[dict]:
    """Count what each version does with *inputs*; return a row for each, and write them.

    versions: name -> module or function, called as version(*inputs), without gradients. A row has the names in COLUMNS.
    operators: those that eager code calls, without views and `aten.empty`. The other numbers are of compiled code, from
    given.launches: how many launches, how many of them extern and fused, and graphs. Writes fusion_launches.csv.
    """
    # TODO: a TorchDispatchMode is told each operator; func.is_view says whether it is a view.
    ### BEGIN SOLUTION
    rows = []
    for name, version in versions.items():
        with torch.no_grad(), Operators() as eager:
            version(*inputs)
        found = launches(version, *inputs)
        row = {"version": name, "operators": eager.count, "launches": found.count}
        rows.append(row | {"extern": len(found.extern), "fused": len(found.fused), "graphs": found.graphs})
    pd.DataFrame(rows, columns=COLUMNS).to_csv(Path(folder) / "fusion_launches.csv", index=False)
    return rows
    ### END SOLUTION


class Operators(TorchDispatchMode):
    """Counts all operators but views and `aten.empty`: with Operators() as seen: ...; seen.count."""

    def __init__(self) -> None:
        """Begin at 0."""
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        """Run the operator func, and count it."""
        # TODO: for `aten.empty`, func is torch.ops.aten.empty.memory_format. It only reserves memory: do not count it.
        ### BEGIN SOLUTION
        self.count += not func.is_view and func.overloadpacket is not torch.ops.aten.empty
        return func(*args, **(kwargs or {}))
        ### END SOLUTION


# %%
def pointwise_chain(x):
    """Eighteen operators that look at each number alone."""
    for _ in range(6):
        x = (x * 0.5 + 1.0).sin()
    return x


def with_a_look(x):
    """A few operators, and a branch on a value in the middle."""
    x = x.sin() + 1.0
    return x * 0.5 if x.mean() > 0 else x


if __name__ == "__main__":
    images = torch.randn(8, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    network = make_folding("a convolution, a norm, a ReLU")
    pairs = make_folding("four pairs and nothing else")
    table = count_launches(
        {
            "convolution, norm, ReLU": network,
            "the same, folded": fold_model(network),
            "four pairs": pairs,
            "the same four, folded": fold_model(pairs),
            "18 pointwise operators": pointwise_chain,
            "a value in between": with_a_look,
        },
        (images,),
    )
    print(pd.DataFrame(table).to_string(index=False))
