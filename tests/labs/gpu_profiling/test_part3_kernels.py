"""Part 3 of gpu_profiling judged whole: right work passes on any seed; mistakes are entries of the corpus."""

from __future__ import annotations

import numpy as np
import pytest

from autograder import checks
from autograder.labs.gpu_profiling.part3_kernels import part
from autograder.labs.gpu_profiling.part3_kernels.judges import RESULTS
from autograder.labs.gpu_profiling.part3_kernels.rig.launches import Made
from autograder.model import Failed, Unavailable
from tests.labs.bench import Bench, failing

bench = Bench("gpu_profiling", part)
pytestmark = pytest.mark.filterwarnings("ignore")


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(2))
def test_the_reference_passes(judge, seed):
    assert {} == failing(judge(bench.source, seed))


def test_what_an_operator_without_work_calls_is_no_launch_and_a_fused_operator_is_one_like_any_other(
    tmp_path,
):
    """The docstring of count_launches, word by word."""
    from part3_kernels import count_launches

    made = Made(np.random.default_rng(1))
    made.call("aten::to", ("aten::_to_copy", "aten::copy_"))
    made.call("aten::scaled_dot_product_attention", ("aten::_fused_sdp_choice",))
    made.call("graph_0_cpp_fused_relu_4", ())
    (tmp_path / "trace.json.gz").write_bytes(made.data())

    expected = {"aten::scaled_dot_product_attention": 1, "graph_0_cpp_fused_relu_4": 1}
    assert expected == dict(count_launches(tmp_path / "trace.json.gz"))


ROW = {"net": "SimpleNet", "launches": 12, "ms": 4.0, "speedup": 1.0, "device": "a CPU"}


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        pytest.param([ROW, {**ROW, "ms": 2.0, "speedup": 2.0}], "", id="rows that fit"),
        pytest.param([], "there are no rows", id="none"),
        pytest.param([{**ROW, "launches": 0}], "has to be at least 1", id="nothing launched"),
        pytest.param([{**ROW, "launches": 11.5}], "has to be a whole number", id="half a launch"),
        pytest.param(
            [{**ROW, "speedup": 3.0}], "ms of the first row / ms is 1", id="another speedup"
        ),
        pytest.param([{**ROW, "device": " "}], "the device is not named", id="no device"),
        pytest.param([ROW, {**ROW, "device": "a GPU"}], "from two machines", id="two machines"),
        pytest.param([{**ROW, "ms": "4 ms"}], "it must be a number", id="text"),
    ],
)
def test_rows_have_their_form_and_fit_each_other(rows, words):
    found = RESULTS.problem(rows)

    assert bool(words) == bool(found)
    assert words in found


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        pytest.param("No ncu: a laptop", Unavailable, "there was no ncu", id="no ncu"),
        pytest.param("a poem", Failed, "cannot be read", id="no report"),
    ],
)
def test_a_report_of_ncu_is_read_or_owed(text, kind, words):
    found = part.checks["report_holds_kernels"].judge(
        checks.read(text.encode(), "kernel_report.txt")
    )

    assert isinstance(found, kind)
    assert words in (found.reason if kind is Unavailable else found.measured)
