"""The bonus of gpu_profiling judged whole: right work passes on any seed, each mistake fails the checks that show it.

What four processes do is proved by tests/submissions/gpu_profiling/bonus.yaml: a fork takes a fresh process.
"""

from __future__ import annotations

import numpy as np
import pytest

from autograder.labs.gpu_profiling.bonus import part
from autograder.model import Failed, Observation, Pair, Passed, Unavailable
from tests.labs.bench import Bench, failing, says

FORKED = {"averages_over_nodes", "one_of_a_node_talks"}
COMPILED = {"cuda_compiles", "cuda_answers_alike"}  # seconds of a compiler: the corpus has them
bench = Bench("gpu_profiling", part, without=FORKED | COMPILED)
pytestmark = pytest.mark.filterwarnings("ignore")


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(2))
def test_the_reference_passes(judge, seed):
    assert {} == failing(judge(bench.source, seed))


# What is replaced -> {check: words in its measured or why}.
MISTAKES = {
    "no ReLU": (
        [("    best = tl.zeros([BLOCK], tl.float32)  # ReLU: nothing is below 0\n", "    best = tl.full([BLOCK], -1e9, tl.float32)\n")],
        {"fused_answers_alike": "another function"},
    ),
    "two launches": (
        [("BLOCK=BLOCK)\n    return out\n", "BLOCK=BLOCK)\n    fused_kernel[grid](images, weight, bias, out, channels, filters, height, width, BLOCK=BLOCK)\n    return out\n")],
        {"fused_is_one_launch": "2 launches"},
    ),
    "a step too few": (
        [("        for _ in range(2 + steps):\n", "        for _ in range(1 + steps):\n")],
        {"records_the_steps": "steps, and two before them"},
    ),
    "smallest first": (
        [('key=lambda row: abs(row["change_ms"]), reverse=True', 'key=lambda row: abs(row["change_ms"])')],
        {"finds_what_changed": "the largest change"},
    ),
    "an empty page": (
        [('(Path(folder) / "profile_report.md").write_text("\\n".join(lines) + "\\n"', '(Path(folder) / "profile_report.md").write_text(""')],
        {"page_holds_the_rows": "0 rows in profile_report.md"},
    ),
    "no node": (
        [('"--node-rank", str(node), ', "")],
        {"starts_each_node": "--node-rank is not there"},
    ),
    "bias in vain": (
        [("(bias - norm.running_mean) * factor + norm.bias", "bias * factor + norm.bias")],
        {"folds_the_norm": "a factor, eps or the bias"},
    ),
    "with a graph": (
        [("        with torch.inference_mode():\n            classes", "        with torch.enable_grad():\n            classes")],
        {"predicts_without_a_trace": "a pass was recorded"},
    ),
    "the mode after an exception": (
        [("    finally:\n        for module, training in modes:\n            module.training = training\n", "    finally:\n        pass\n")],
        {"predicts_without_a_trace": "in another mode than before"},
    ),
    "the rate of the median": (
        [('"per_second": repeats / sum(seconds)', '"per_second": 1 / float(np.median(seconds))')],
        {"latency_is_honest": "calls over the time of all of them"},
    ),
    "cold calls": (
        [("    for _ in range(warmup):\n        call()\n", "")],
        {"latency_is_honest": "a cold call counts"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("pairs", "fails"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_fails_the_check_that_shows_it(judge, pairs, fails):
    """The corpus states all that a mistake fails; here is what the check says."""
    says(failing(judge(bench.changed(*pairs), only=fails)), fails)


CUBIN = {"entries": ["conv_relu_pool"], "spilled": 0, "error": ""}
NOTHING = {"cases": [], "strayed": [], **CUBIN, "entries": []}


def machine(*found):
    """What a machine has, by its own account; a student's side says that there is nothing."""
    return Pair(
        Observation("tools", "ok", {"found": []}),
        Observation("tools", "ok", {"found": list(found)}),
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


@pytest.mark.parametrize("number", [np.nan, 1e308, 0.0])
@pytest.mark.parametrize(
    "name",
    [
        name
        for name, it in part.checks.items()
        if set(it.reads) & set(part.probes) and name != "cuda_compiles"
    ],
)
def test_whatever_a_worker_sends_becomes_a_verdict(name, number):
    for found in bench.spoilt(name, number):
        assert isinstance(found, Passed | Failed | Unavailable)
