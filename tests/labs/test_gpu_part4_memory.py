"""Part 4 of gpu_profiling judged whole: right work passes on any seed, each mistake fails the checks that show it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autograder.labs.gpu_profiling.part4_memory import part
from autograder.model import Failed, Observation, Pair, Passed
from tests.labs.bench import Bench, failing, says

bench = Bench("gpu_profiling", part, without={"needs_less_memory"})
pytestmark = pytest.mark.filterwarnings("ignore")


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(2))
def test_the_reference_passes(judge, seed):
    assert {} == failing(judge(bench.source, seed))


CHECKPOINT = "            x = checkpoint(block, x, use_reentrant=False)\n"
CAST = "        with torch.autocast(device.type):\n"
WARM = "    train(3)\n"

# What is replaced -> {check: words in its measured or why}.
MISTAKES = {
    "the host's memory for a GPU's": (
        [("/ 1e6 if on_gpu else None", "/ 1e6 if on_gpu else 123.4")],
        {"measures_training_steps": "no GPU was there to ask"},
    ),
    "reentrant": (
        [(CHECKPOINT, CHECKPOINT.replace("False", "True"))],
        {"gradients_match": "the reentrant variant gives none", "every_weight_trains": "6 of 10 weights"},
    ),
    "another function": (
        [("simple.conv3, simple.relu, simple.shrink", "simple.conv3, simple.shrink, simple.relu")],
        {"gradients_match": "another function than SimpleNet's", "every_weight_trains": "differ from SimpleNet's"},
    ),
    "other gradients": (
        [("        return self.classifier(x)\n", "        return self.classifier(2 * x - x.detach())\n")],
        {"gradients_match": "ran twice where it should run again"},
    ),
    "frozen": (
        [("        return self.classifier(x)\n", "        return 0 * self.classifier(x)\n")],
        {"every_weight_trains": "no weight moved"},
    ),
    "nothing checkpointed": (
        [(CHECKPOINT, "            x = block(x)\n")],
        {"keeps_only_the_inputs": "none is checkpointed"},
    ),
    "no autocast": (
        [(CAST, "        with torch.autocast(device.type, enabled=False):\n")],
        {"computes_in_half_precision": "that is FP32", "half_precision_where_it_helps": "outside autocast"},
    ),
    "never updated": (
        [("        scaler.step(optimizer)  # skipped if a gradient is infinite\n        scaler.update()\n", "        optimizer.step()\n")],
        {"overflow_skips_the_step": "the optimizer stepped although", "scaler_in_order": "scaled gradients"},
    ),
    "a scaler of its own": (
        [("    if scaler is None:", "    if True:")],
        {"scaler_in_order": "never used"},
    ),
    "in eval": ([("    model.train()\n", "    model.eval()\n")], {"follows_fp32": "in train()"}),
    "forward only": (
        [
            (
                "            scaler.scale(loss).backward()\n            scaler.step(optimizer)\n            scaler.update()\n",
                "",
            )
        ],
        {"measures_training_steps": "the backward pass is left out"},
    ),
    "no optimizer": (
        [("            scaler.step(optimizer)\n            scaler.update()\n", "            scaler.update()\n" * 0)],
        {"measures_training_steps": "the optimizer's step is left out"},
    ),
    "one model for all": (
        [("        for batch_size in batch_sizes:\n", "        made = make_training(device)\n        make_training = lambda _, made=made: made\n        for batch_size in batch_sizes:\n")],
        {"measures_training_steps": "a model goes on that ran at another size"},
    ),
    "images want a gradient": (
        [("        for block in self.blocks:\n", "        x.requires_grad_()\n        for block in self.blocks:\n")],
        {"gradients_match": "requires_grad_() changes the caller's images"},
    ),
    "cold": ([(WARM, "")], {"measures_training_steps": "it holds a slow first step"}),
    "the other precision": (
        [("            with torch.autocast(device.type, enabled=use_amp):\n", "            with torch.autocast(device.type, enabled=not use_amp):\n")],
        {"measures_training_steps": "it is the pace of AMP"},
    ),
    "steps a second": (
        [('"throughput": batch_size * steps', '"throughput": steps')],
        {"measures_training_steps": "it counts steps"},
    ),
    "kept elsewhere": (
        [('"saved_mb": saved,', '"saved_mb": 2 * saved,')],
        {"measures_training_steps": "and given.saved_mb says"},
    ),
    "another device": (
        [('"device": device_name(device)', '"device": "another"')],
        {"measures_training_steps": "the device is called 'another'"},
    ),
    "another order": (
        [('("FP32", "AMP")', '("AMP", "FP32")')],
        {"measures_training_steps": "and not first"},
    ),
    "no rows": (
        [("index=False)\n    return rows\n", "index=False)\n    return []\n")],
        {"measures_training_steps": "there are no rows", "csv_says_what_was_measured": "rows in the file, 0 returned"},
    ),
    "no file": (
        [('.to_csv(Path(folder) / "memory_results.csv", index=False)', ".to_csv(index=False)")],
        {"csv_says_what_was_measured": "no memory_results.csv in folder"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("pairs", "fails"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_fails_the_check_that_shows_it(judge, pairs, fails):
    """The corpus states all that a mistake fails; here is what the check says."""
    says(failing(judge(bench.changed(*pairs), only=fails)), fails)


@pytest.mark.parametrize(
    ("student", "kind", "measured"),
    [
        pytest.param(80, Passed, "60 MB where the baseline takes 100 MB", id="a lot less"),
        pytest.param(119, Failed, "99 MB where the baseline takes 100 MB", id="nearly all"),
    ],
)
def test_memory_is_what_was_seen_beyond_an_idle_worker(student, kind, measured):
    answer, still = (
        bench.baseline_answer("large_step"),
        Observation("idle", "ok", peak_bytes=20 * 10**6),
    )
    run = Pair(replace(answer, peak_bytes=student * 10**6), replace(answer, peak_bytes=120 * 10**6))

    found = part.checks["needs_less_memory"].judge(run, Pair(still, still))

    assert isinstance(found, kind)
    assert found.measured.startswith(measured)


@pytest.mark.parametrize("number", [np.nan, 1e308, 0.0])
@pytest.mark.parametrize(
    "name", [name for name, check in part.checks.items() if set(check.reads) & set(part.probes)]
)
def test_whatever_a_worker_sends_becomes_a_verdict(name, number):
    for found in bench.spoilt(name, number):
        assert isinstance(found, Passed | Failed)
