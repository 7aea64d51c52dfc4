"""Counts what torch.compile would launch: the calls in the code that it writes, none of which is compiled.

    noted = launches(network, images)
    noted.extern    kernels of a library: ["convolution"]
    noted.fused     kernels that torch.compile writes itself, each for some operators: ["fused_relu_0"]
    noted.count     how many there are of both
    noted.graphs    into how many graphs the function was cut; what runs between them is in no list
    noted.breaks    why it was cut

No compiler is needed. The function is called once, without gradients, and computes as eager code does.
"""

from __future__ import annotations

import ast
import contextlib
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import torch

LIBRARIES = ("extern_kernels.", "torch.ops.", "aten.")
"""What the name of a library's kernel begins with in the code."""

OTHERS = ("is_clang", "is_apple_clang", "is_intel_compiler", "is_msvc_cl")
COMPILER: dict[str, Any] = {"is_gcc": lambda: True, **dict.fromkeys(OTHERS, lambda: False)}
"""What the code is written for."""


@dataclass
class Launches:
    """The names of the kernels that compiled code launches, in the order of its graphs."""

    extern: list[str] = field(default_factory=list)
    fused: list[str] = field(default_factory=list)
    graphs: int = 0
    breaks: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many are launched."""
        return len(self.extern) + len(self.fused)


class Written(BaseException):
    """Ends the work of torch.compile when the code is there; what comes next would compile it."""


def launches(function: Callable[..., Any], *inputs: Any) -> Launches:
    """Call a function or module once; return what it would launch if it was compiled for these inputs."""
    from torch._dynamo import reset
    from torch._dynamo.utils import counters
    from torch._functorch._aot_autograd.utils import make_boxed_func
    from torch._inductor import compile_fx

    noted = Launches()
    step = compile_fx.compile_fx_inner

    def write(graph: Any, examples: Any, **options: Any) -> Any:
        """Stand in for the step that makes code of a graph; what runs is the graph as it is."""
        eager = torch.fx.GraphModule(graph, copy.deepcopy(graph.graph))
        noted.graphs += 1
        with contextlib.suppress(Written):
            step(graph, examples, **options)
        return make_boxed_func(eager.forward)

    def backend(graph: Any, examples: Any) -> Any:
        return compile_fx.compile_fx(graph, examples, inner_compile=write)

    reset()
    counters.clear()
    with torch.no_grad(), _nothing_built(noted):
        torch.compile(function, backend=backend, dynamic=False)(*inputs)
    noted.breaks = [reason.strip().partition("\n")[0] for reason in counters["graph_break"]]
    reset()
    return noted


@contextlib.contextmanager
def _nothing_built(noted: Launches) -> Iterator[None]:
    """Note the code that torch.compile writes, and keep it from compilers, caches and other processes."""
    from torch._functorch import config as functorch
    from torch._inductor import config, cpp_builder, cpu_vec_isa
    from torch._inductor.graph import GraphLowering

    def note(graph: Any) -> None:
        code, _ = graph.codegen()
        _read(code.value, noted)
        raise Written

    with (
        # Layouts are left as they are: a copy into another one would be a launch more.
        config.patch(fx_graph_cache=False, compile_threads=1, layout_optimization=False),
        functorch.patch(enable_autograd_cache=False),
        patch.object(GraphLowering, "compile_to_module", note),
        # Both would ask a compiler, which need not be there.
        patch.object(cpu_vec_isa, "valid_vec_isa_list", list),
        patch.multiple(cpp_builder, **COMPILER),
    ):
        yield


def _read(code: str, noted: Launches) -> None:
    """Add the kernels that the functions of some code call."""
    tree = ast.parse(code)
    bodies = [tree.body, *(it.body for it in tree.body if isinstance(it, ast.ClassDef))]
    own = _own_kernels(tree)
    for function in (it for body in bodies for it in body if isinstance(it, ast.FunctionDef)):
        if function.name in ("get_args", "benchmark_compiled_module"):
            continue
        calls = [it for it in ast.walk(function) if isinstance(it, ast.Call)]
        for call in sorted(calls, key=lambda it: (it.lineno, it.col_offset)):
            name = ast.unparse(call.func).removesuffix(".run")
            library = next(filter(name.startswith, LIBRARIES), "")
            if name in own:
                noted.fused.append(name[max(name.find("fused"), 0) :])
            elif library:
                noted.extern.append(name.removeprefix(library))


def _own_kernels(tree: ast.Module) -> set[str]:
    """Return the names of the kernels whose text is in the code."""
    return {
        ast.unparse(target)
        for it in tree.body
        if isinstance(it, ast.Assign) and ast.unparse(it.value).startswith("async_compile.")
        for target in it.targets
    }
