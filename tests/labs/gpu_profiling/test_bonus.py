"""The bonus of gpu_profiling judged whole: right work passes on any seed; mistakes are entries of the corpus.

What four processes do is proved by tests/submissions/gpu_profiling/bonus.yaml: a fork takes a fresh process.
"""

from __future__ import annotations

import numpy as np
import pytest

from autograder.labs.gpu_profiling.bonus import part
from autograder.model import Failed, Observation, Pair, Passed, Unavailable
from tests.labs.bench import Bench, failing

FORKED = {"averages_over_nodes", "one_of_a_node_talks"}
COMPILED = {"cuda_compiles", "cuda_answers_alike"}  # seconds of a compiler: the corpus has them
bench = Bench("gpu_profiling", part, without=FORKED | COMPILED)
pytestmark = pytest.mark.filterwarnings("ignore")


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(2))
def test_the_reference_passes(judge, seed):
    assert {} == failing(judge(bench.source, seed))


CUBIN = {"entries": ["conv_relu_pool"], "spilled": 0, "error": ""}
NOTHING = {"cases": [], "strayed": [], **CUBIN, "entries": []}


def machine(*found):
    """What a machine has, by its own account; a student's side says that there is nothing."""
    return Pair(
        Observation("tools", "ok", {"tools": []}),
        Observation("tools", "ok", {"tools": list(found)}),
    )


@pytest.mark.parametrize(
    ("check", "tool"),
    [("fused_answers_alike", "Triton"), ("cuda_answers_alike", "g++"), ("cuda_compiles", "nvcc")],
)
def test_what_a_tool_is_missing_for_is_owed(check, tool):
    """The student's side is not asked whether there is one."""
    one = part.checks[check]
    seen = Observation(one.reads[0], "ok", NOTHING, {"numbers": np.zeros(0)})
    read = Pair(seen, seen) if part.probes[one.reads[0]].pair else seen

    assert Unavailable(f"there is no {tool} on this machine") == one.judge(read, machine())
    assert not isinstance(one.judge(read, machine(tool)), Unavailable)


@pytest.mark.parametrize(
    ("told", "kind", "words"),
    [
        pytest.param(CUBIN, Passed, "0 bytes spilled", id="as it should be"),
        pytest.param({**CUBIN, "error": "line 3: expected a ;"}, Failed, "line 3", id="refused"),
        pytest.param({**CUBIN, "entries": []}, Failed, "kernels: none", id="no kernel"),
        pytest.param({**CUBIN, "spilled": 48}, Failed, "48 bytes spilled", id="spilled"),
    ],
)
def test_what_nvcc_says_is_judged(told, kind, words):
    found = part.checks["cuda_compiles"].judge(Observation("cubin", "ok", told), machine("nvcc"))

    assert isinstance(found, kind)
    assert words in found.measured
