"""Part 1 of foundations: right work passes on any seed; what is long is judged by memory seen from outside and by its numbers."""

from __future__ import annotations

import numpy as np
import pytest

from autograder import checks
from autograder.labs.foundations.part1_attention import part
from autograder.model import Bar, Compared, Failed, Observation, Pair, Passed, Timed, Unavailable
from tests.labs.bench import Bench, emptied, failing, says

FUSED = "torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)"
LONG = {"lean_forward", "lean_backward"}
MB = 10**6
bench = Bench("foundations", part, without=LONG)
pytestmark = pytest.mark.filterwarnings("ignore")


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


def test_the_reference_passes_and_speed_waits_for_a_clock(judge):
    verdicts = judge(bench.source)

    assert {} == failing(verdicts)
    assert {"attention_is_faster"} == {
        name for name, it in verdicts.items() if isinstance(it, Unavailable)
    }


def test_numbers_are_compared_before_a_clock_is_asked(judge):
    source = bench.entry("zeros_for_long_inputs")
    fails = {"attention_is_faster": "the timed calls return different numbers"}

    says(failing(judge(source, only=fails)), fails)


def test_rows_that_are_not_returned_are_missed(judge):
    source = bench.changed(("    return rows\n", "    return []\n"))
    fails = {"measures_honestly": "there are no rows"}

    says(failing(judge(source, only=fails)), fails)


def test_an_input_that_changes_in_the_backward_pass_has_changed(judge):
    reused = (
        "torch.nn.functional.scaled_dot_product_attention(Reused.apply(q), k, v, is_causal=causal)"
    )
    own = """class Reused(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q):
        ctx.save_for_backward(q)
        return q.view_as(q)

    @staticmethod
    def backward(ctx, grad):
        return ctx.saved_tensors[0].copy_(grad).clone()


def attention("""
    found = failing(
        judge(bench.changed((FUSED, reused), ("def attention(", own)), only=["leaves_inputs_alone"])
    )

    assert "changed: q, in the backward pass" == found["leaves_inputs_alone"].measured


def test_zeros_are_not_always_a_result_that_is_never_written(judge):
    fails = {"matches_by_hand": "all numbers are 0: usually your code never writes the result"}

    says(failing(judge(bench.changed((FUSED, f"0 * {FUSED}")), only=fails)), fails)


def slow(interval):
    seen = Observation("fast", "ok", {}, {"outputs": np.ones(3)})
    compared = Compared("FAIL", "0.5x", evidence={"interval": interval})
    return part.checks["attention_is_faster"].judge(Timed(seen, seen, compared), Bar(1.3, "seed"))


def test_what_is_slower_than_by_hand_is_told_of_its_calls():
    assert "many small calls" in slow([0.4, 0.6]).why
    assert "the scores still go to memory" in slow([0.9, 1.1]).why


def long_run(peak, numbers=(1.0,), idle=20 * MB):
    """A run of 8,000 positions, one matrix of which is 256 MB, and an idle worker beside it."""

    def side(bytes_, values):
        cases = [{"case": "large inputs", "shape": [len(values), 4], "dtype": "float32"}]
        of = {"cases": cases, "of": 256 * MB}
        return Observation("p", "ok", of, {"numbers": np.repeat(values, 4)}, peak_bytes=bytes_)

    still = Pair(
        Observation("p", "ok", peak_bytes=idle), Observation("p", "ok", peak_bytes=20 * MB)
    )
    return Pair(side(peak, numbers), side(600 * MB, (1.0,))), still


@pytest.mark.parametrize("check", sorted(LONG))
@pytest.mark.parametrize(
    ("run", "kind", "measured"),
    [
        pytest.param(
            long_run(30 * MB),
            Passed,
            "10 MB where the slow version takes 580 MB; allowed 128 MB",
            id="lean",
        ),
        pytest.param(long_run(160 * MB), Failed, "140 MB where", id="half a matrix"),
        pytest.param(long_run(10 * MB), Passed, "0 MB where", id="less than idle"),
        pytest.param(
            long_run(160 * MB, idle=60 * MB),
            Failed,
            "140 MB where",
            id="what its idle worker holds is its own",
        ),
        pytest.param(
            long_run(400 * MB, idle=350 * MB), Failed, "380 MB where", id="a ballast while idle"
        ),
        pytest.param(
            long_run(30 * MB, (2.0,)),
            Failed,
            'case "large inputs": all numbers are 2 times',
            id="other numbers",
        ),
        pytest.param(
            long_run(30 * MB, ()),
            Failed,
            'case "large inputs": float32 (0, 4) instead of',
            id="no numbers",
        ),
    ],
)
def test_memory_is_what_was_seen_beyond_an_idle_worker(check, run, kind, measured):
    found = part.checks[check].judge(*run)

    assert isinstance(found, kind)
    assert found.measured.startswith(measured)


def test_figures_of_kept_bytes_that_are_missing_are_no_pass():
    answer = Observation("p", "ok", {"costs": [1, 2, 3], "seen": 4})

    judge = part.checks["keeps_little_for_backward"].judge
    assert isinstance(judge(answer), Passed)
    assert isinstance(judge(emptied(answer)), Failed)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        pytest.param("", "there are no rows", id="a header only"),
        pytest.param("by_hand,512,1,2,1.0,2.0,AMD\n", "by_hand was measured at one length", id="one length"),
        pytest.param("a,512,1,2,1.0,2.0,AMD\na,1024,2,8,1.9,2.0,AMD\n", "a: time_exponent is 1.9, and the rows give 1", id="other"),
        pytest.param("a,512,1 ms,2,1.0,2.0,AMD\n", "milliseconds of a 512 is '1 ms'", id="a unit"),
    ],
)  # fmt: skip
def test_a_file_that_contradicts_itself_fails(rows, words):
    data = "version,length,milliseconds,memory_mb,time_exponent,memory_exponent,device\n" + rows

    found = part.checks["csv_is_consistent"].judge(
        checks.read(data.encode(), "attention_growth.csv")
    )

    assert isinstance(found, Failed)
    assert words in found.measured
