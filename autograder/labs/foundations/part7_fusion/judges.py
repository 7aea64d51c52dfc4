"""Judges the options of torch.compile by what they are for, and a table of launches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autograder.checks.table_form import Row
from autograder.traces.words import many

Asked = Mapping[str, Any]
"""The arguments of one call of torch.compile, as text, and the options that its mode means."""
GRAPHS, SEARCH = "triton.cudagraphs", "max_autotune"


@dataclass(frozen=True)
class Purpose:
    """What torch.compile has to be asked for, and why another call is wrong."""

    switches: frozenset[str]
    dynamic: tuple[str, ...]
    """What dynamic= may be; None where it is left out."""
    why: str
    try_: str
    captures: bool = False
    """Whether the graph alone is wanted, and no compiler."""

    def fits(self, asked: Asked) -> bool:
        if self.captures:
            return "eager" in asked["backend"] and asked["fullgraph"] == "True"
        on = {name for name in (GRAPHS, SEARCH) if asked["options"].get(name) == "True"}
        by_inductor = asked["backend"] in ("inductor", "None")
        return by_inductor and on == self.switches and asked["dynamic"] in self.dynamic


BOTH = "torch.compile takes mode or options, and not both"
STATIC = ("None", "False")
FIXED = "your call has dynamic=True: shapes stay, and it makes slower kernels for nothing"
PURPOSES = {
    "is it captured": Purpose(
        frozenset(),
        (),
        "the graph must run without a compiler, and a graph break must be an error",
        'backend="eager" and fullgraph=True',
        captures=True,
    ),
    "many batch sizes": Purpose(
        frozenset(),
        ("True",),
        "all sizes must share one build; CUDA graphs and searches are made again for each size",
        "dynamic=True, and the default mode",
    ),
    "few launches": Purpose(
        frozenset({GRAPHS}),
        STATIC,
        "one launch must issue many kernels, by a CUDA graph: only reduce-overhead does just that",
        'mode="reduce-overhead" and nothing else',
    ),
    "slow build, fast run": Purpose(
        frozenset({GRAPHS, SEARCH}),
        STATIC,
        "the build must search for the fastest kernels and record a CUDA graph as well",
        'mode="max-autotune", without dynamic=True',
    ),
    "search, but shapes change": Purpose(
        frozenset({SEARCH}),
        ("None", "True"),
        "kernels must be searched for, without CUDA graphs, which are recorded for each shape",
        'mode="max-autotune-no-cudagraphs"',
    ),
}


def described(asked: Asked) -> str:
    """Return one call as it was written, but for what is left at its default."""
    defaults = {
        "backend": ("inductor", "None"),
        "mode": ("None",),
        "dynamic": ("None",),
        "fullgraph": ("False",),
    }
    given = {name: asked[name] for name, usual in defaults.items() if asked[name] not in usual}
    options = {} if "mode" in given else asked["options"]
    return ", ".join(f"{name}={value}" for name, value in {**given, **options}.items())


def purpose_problem(purpose: str, asked: Mapping[str, Any]) -> tuple[str, str, str] | None:
    """Return what was measured, why it is wrong and what to try, or nothing."""
    wanted, calls = PURPOSES[purpose], asked["calls"]
    if asked["raised"]:
        why = BOTH if "mode or options" in asked["raised"] else wanted.why
        return f'"{purpose}": {asked["raised"]}', why, wanted.try_
    if len(calls) != 1 or not asked["is_made"]:
        times = f"torch.compile was called {many(len(calls), 'time')}"
        lost = ", and its result was not returned" * (len(calls) == 1)
        measured = f'"{purpose}": {times}{lost}'
        why = "compile_for must return what one call of torch.compile returns"
        return measured, why, "return torch.compile(model, ...)"
    if wanted.fits(calls[0]):
        return None
    options = described(calls[0])
    fits_fixed = wanted.fits({**calls[0], "dynamic": "None"})
    is_general = fits_fixed and calls[0]["dynamic"] == "True"
    measured = f'"{purpose}": torch.compile was called {f"with {options}" if options else "without options"}'
    return measured, FIXED if is_general else wanted.why, wanted.try_


def row_problem(rows: Sequence[Row]) -> str:
    """Say which row contradicts itself."""
    for row in rows:
        version, launches = row["version"], row["launches"]
        parts = row["extern"] + row["fused"]
        if launches != parts:
            return f"launches of {version} is {launches:g}, but extern + fused is {parts:g}"
        if launches > row["operators"]:
            return (
                f"{version} has more launches ({launches:g}) than operators ({row['operators']:g})"
            )
    return ""


def state(module: Any) -> dict[str, Any]:
    """Return the numbers of a module, and its layers with their modes."""
    layers = {f"layer {name}": id(it) for name, it in module.named_modules() if name}
    modes = {f"mode of {name or 'the model'}": it.training for name, it in module.named_modules()}
    return layers | modes | {name: it.tolist() for name, it in module.state_dict().items()}


def no_bias(layer: Any) -> None:
    if type(layer).__name__ == "Conv2d" and layer.bias is not None:
        layer.bias.data.zero_()


def no_eps(layer: Any) -> None:
    layer.eps = 0.0


def late_eps(layer: Any) -> None:
    if type(layer).__name__ == "BatchNorm2d":
        layer.running_var = (layer.running_var.sqrt() + layer.eps) ** 2
        layer.eps = 0.0


# --- words of failures, and what to try ---

COUNTED = {
    "entry 1, operators": (
        "aten.empty must not count",
        "do not count torch.ops.aten.empty.memory_format",
    ),
    "entry 2, operators": (
        "3 operators must count: with views they are 6, and with gradients 4",
        "skip what func.is_view is true of, and call under torch.no_grad()",
    ),
    "operators": (
        "each call of an operator must count once",
        "add 1 in each call of __torch_dispatch__, but for views and torch.ops.aten.empty",
    ),
    "graphs": (
        "graphs must be the pieces of a version: a look at a value cuts it in two",
        "given.launches(...).graphs",
    ),
    "entry 4, launches": (
        "a kernel that is launched twice must count twice: its name is in a list twice",
        "given.launches(...).count, or len() of its lists, without set()",
    ),
    "launches": (
        "launches must count kernels, not operators: one kernel may do the work of several",
        "given.launches(...).count",
    ),
    "extern": (
        "extern must be the number of a library's kernels",
        "len(given.launches(...).extern)",
    ),
    "fused": (
        "fused must be the number of kernels that the compiler writes",
        "len(given.launches(...).fused)",
    ),
    "": (
        "each version must have one row, in the order of versions",
        "for name, version in versions.items()",
    ),
}

LEFT = {
    "batch_norm": (
        "at least one call of a norm is left: see the kernels with batch_norm in their names",
        "fold each call of each norm into the convolution of its node.args[0]",
    )
}
MISTAKES = {
    "the convolution's own bias is lost": no_bias,
    "eps is left out": no_eps,
    "eps is added to the root, and must be under it": late_eps,
}
FOLDED = (
    "factor = norm.weight / sqrt(running_var + eps); "
    "weight * factor; (bias - running_mean) * factor + norm.bias"
)
