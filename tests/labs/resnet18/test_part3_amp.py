"""Part 3 judged whole: right work passes on any seed; mistakes are entries of the corpus."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from autograder import checks
from autograder.checks.numerics import Update
from autograder.labs.resnet18.part3_amp import _misclipped, part
from autograder.model import Device, Failed, Pair, Timed, Unavailable
from tests.labs.bench import Bench, failing, says

CPU = Device("a CPU", "cpu", "cpu")
COARSE = torch.backends.cpu.get_cpu_capability() == "AVX2"
"""On one such CPU, without AVX-512, bfloat16 updates of 4096 samples were a third off. On a CPU the points are owed."""
WITHOUT = {"amp_saves_memory"} if COARSE else set()
bench = Bench("resnet18", part, without=WITHOUT)
pytestmark = pytest.mark.filterwarnings("ignore")


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


def test_the_reference_passes_and_what_needs_a_gpu_is_owed(judge):
    verdicts = judge(bench.source)

    assert {} == failing(verdicts)
    assert {"amp_is_faster", "amp_saves_memory"} - WITHOUT == {
        n for n, it in verdicts.items() if isinstance(it, Unavailable)
    }


# What compare_precision says to these is another thing on each draw, so the corpus cannot state it.
MISTAKES = {
    "evaluation mode": (
        ("    model.train()\n", "    model.eval()\n"),
        {
            "follows_fp32": "",
            "fp32_is_untouched": "usually model.train() is missing",
            "computes_in_half_precision": "neither those of FP32 nor",
            "overflow_skips_the_step": "steps other than",
            "clips_true_gradients": "a different direction",
        },
    ),
    "each step is taken twice": (
        ("        scaler.update()\n", "        scaler.update()\n        optimizer.step()\n"),
        {
            "follows_fp32": "other steps were taken",
            "fp32_is_untouched": "later ones are not",
            "scaler_in_order": "scaled gradients",
            "overflow_skips_the_step": "stepped although a gradient was infinite",
            "clips_true_gradients": "each step is taken twice",
        },
    ),
    "the timer starts after the first fetch": (
        (
            "        data_wait +=",
            "        start = start if losses else time.perf_counter()\n        data_wait +=",
        ),
        {"honest_throughput": "the wait for the first batch is left out"},
    ),
}
LOOP = {n for n, it in part.checks.items() if "comparison" not in it.reads} - WITHOUT


@pytest.mark.parametrize(("pair", "fails"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_in_the_loop_fails_the_checks_that_show_it(judge, pair, fails):
    """And no others, but for those that the grader would skip because one that they need failed."""
    found = failing(judge(bench.changed(pair), only=LOOP))
    first = {n: it for n, it in found.items() if not set(part.checks[n].needs) & set(found)}

    says(first, fails)


@pytest.mark.parametrize("seed", [9, 14, 35, 44])
def test_a_first_fetch_that_is_left_out_fails_no_comparison_whatever_is_drawn(judge, seed):
    """The loop's own check sees it always; the comparison must not take a point from some students only."""
    pair, _ = MISTAKES["the timer starts after the first fetch"]

    assert {} == failing(judge(bench.changed(pair), seed, only={"compares_both"}))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        pytest.param(
            "raise NotImplementedError()", "train_epoch_amp is not written yet", id="the template"
        ),
        pytest.param("return None", "train_epoch_amp returned None instead of a dict", id="None"),
        pytest.param(
            "return {'loss': 1.0}",
            "train_epoch_amp returned no 'losses'; it returned loss",
            id="no losses",
        ),
        pytest.param("return {'losses': 'abc'}", "'losses' is a str", id="text for losses"),
        pytest.param("return {'losses': [[1.0]]}", "an entry of 'losses' is a list", id="nested"),
    ],
)
def test_what_cannot_be_read_is_said_in_words(judge, body, words):
    source = f"def train_epoch_amp(*args, **kwargs):\n    {body}\n\n\ncompare_precision = train_epoch_amp\n"

    found = judge(source, only=["follows_fp32"])["follows_fp32"]

    assert "raised" == found.measured
    assert words in found.why


# --- verdicts on numbers that only a hostile worker sends -------------------------------------------------------------


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_weights_that_are_not_finite_fail(number):
    answer = bench.baseline_answer("amp")
    bad = replace(
        answer, arrays={**answer.arrays, "weights": np.full_like(answer.arrays["weights"], number)}
    )

    verdict = part.checks["follows_fp32"].judge(Timed(bad, answer))

    assert isinstance(verdict, Failed)
    assert "the optimizer stepped with gradients that were infinite or NaN" == verdict.why


def test_weights_that_are_not_finite_are_said_first_where_gradients_are_clipped():
    answer = bench.baseline_answer("clipping")
    bad = np.full_like(answer.arrays["amp_weights"], math.nan)

    verdict = part.checks["clips_true_gradients"].judge(
        Pair(replace(answer, arrays={**answer.arrays, "amp_weights": bad}), answer)
    )

    assert "AMP: 2028 of 2028 weights are NaN or infinite after the epoch" == verdict.measured


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        pytest.param("speedup", "1.00,AMD", "speedup of AMP is 1", id="a speedup that is none"),
        pytest.param("unit", "2.10x,AMD", "speedup of AMP is '2.10x'", id="a unit"),
        pytest.param(
            "machine",
            "2.10,T4",
            "the rows are from two machines, 'AMD' and 'T4'",
            id="two machines",
        ),
        pytest.param(
            "faster",
            "4.20,AMD",
            "throughput x epoch_time is 200 samples in one row and 420",
            id="a faster row",
        ),
    ],
)
def test_a_file_that_contradicts_itself_fails(name, changes, words):
    header = "precision,throughput,epoch_time,peak_memory_mb,accuracy,speedup,device\n"
    data = (
        f"{header}FP32,100,2,,50,1.0,AMD\nAMP,{420 if name == 'faster' else 210},1,,50,{changes}\n"
    )

    found = part.checks["csv_is_consistent"].judge(checks.read(data.encode(), "amp_results.csv"))

    assert isinstance(found, Failed)
    assert words in found.measured


@pytest.mark.parametrize(
    ("mode", "moved", "words"),
    [
        ("fp32", Update(1.0, 0.0), "no weight moved in FP32"),
        ("amp", Update(1.0, 0.0), "no weight moved in AMP"),
        ("amp", Update(1.0 - 1 / 256, 1 / 256), "still scaled"),
        ("fp32", Update(0.5, 0.5), "FP32 moves 0.5 times as far"),
        ("fp32", Update(1.0, 2.0), "each step is taken twice"),
        ("fp32", Update(1.2, 0.8), "a different direction"),
    ],
)
def test_an_update_that_is_clipped_otherwise_says_how_it_differs(mode, moved, words):
    assert words in _misclipped(mode, moved, narrow=False)[0]
