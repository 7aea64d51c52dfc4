"""Part 3 judged whole: right work passes on any seed, each mistake fails the checks that show it, in the right words."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from autograder import checks
from autograder.labs.resnet18.part3_amp import part
from autograder.model import Bar, Device, Failed, Pair, Timed, Unavailable
from tests.labs.bench import Bench, failing

CPU = Device("a CPU", "cpu", "cpu")
BAR = Bar(1.5, "seed")
COMPARISON = {"compares_both", "csv_says_what_was_measured", "figure_shows_the_rows"}
AUTOCAST = "with torch.autocast(device.type, enabled=use_amp):"
bench = Bench("resnet18", part)
pytestmark = pytest.mark.filterwarnings("ignore")


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(2))
def test_the_reference_passes_and_what_needs_a_gpu_is_owed(judge, seed):
    verdicts = judge(bench.source, seed)

    assert {} == failing(verdicts)
    assert {"amp_is_faster", "amp_saves_memory"} == {
        n for n, it in verdicts.items() if isinstance(it, Unavailable)
    }


UNUSUAL = {
    "float16 on the CPU": [
        (AUTOCAST, "with torch.autocast(device.type, dtype=torch.float16, enabled=use_amp):")
    ],
    "float16 and channels_last": [
        (AUTOCAST, "with torch.autocast(device.type, dtype=torch.float16, enabled=use_amp):"),
        ("    model.train()\n", "    model.train().to(memory_format=torch.channels_last)\n"),
    ],
    "losses as a tensor": [("torch.stack(losses).tolist()", "torch.stack(losses)")],
    "a line of progress every ten batches": [
        (
            "losses.append(loss.detach())",
            "losses.append(loss.detach())\n        if len(losses) % 10 == 1: print(loss.item())",
        )
    ],
    "gradients set to zero": [("optimizer.zero_grad()", "optimizer.zero_grad(set_to_none=False)")],
    "two decimals in the file": [
        ('amp_results.csv", index=False', 'amp_results.csv", index=False, float_format="%.2f"')
    ],
    "horizontal bars": [
        ("axis.bar(\n", "axis.barh(\n"),
        ("width=0.6", "height=0.6"),
        ("axis.set_ylabel", "axis.set_xlabel"),
    ],
    "the clock stops after synchronize": [
        (
            "    losses = torch.stack(",
            "    device.type == 'cuda' and torch.cuda.synchronize(); seconds = time.perf_counter() - start\n    losses = torch.stack(",
        ),
        ("    seconds = time.perf_counter() - start\n    return", "    return"),
    ],
    "perf_counter imported by name": [
        ("import time\n", "import time\nfrom timeit import default_timer\n"),
        ("    start = fetch = time.perf_counter()\n", "    start = fetch = default_timer()\n"),
        ("data_wait += time.perf_counter()", "data_wait += default_timer()"),
        ("fetch = time.perf_counter()\n\n", "fetch = default_timer()\n\n"),
        ("seconds = time.perf_counter()", "seconds = default_timer()"),
    ],
}


@pytest.mark.parametrize("pairs", UNUSUAL.values(), ids=UNUSUAL)
def test_unusual_right_work_passes(judge, pairs):
    assert {} == failing(judge(bench.changed(*pairs)))


# What is replaced -> {check: words in its measured or why}. Every other check of the training loop passes.
MISTAKES = {
    "backward inside autocast": (
        [("        scaler.scale(loss).backward()", "            scaler.scale(loss).backward()")],
        {"half_precision_where_it_helps": "backward passes ran inside autocast"},
    ),
    "a step is skipped": (
        [
            (
                "scaler.step(optimizer)  #",
                "scaler.step(optimizer) if len(losses) != 6 else max_grad_norm or scaler.unscale_(optimizer)  #",
            )
        ],
        {
            "follows_fp32": "later steps are not",
            "fp32_is_untouched": "later steps are not",
            "scaler_in_order": "in order for 6 of 8 steps",
            "overflow_skips_the_step": "other steps",
            "clips_true_gradients": "another direction",
        },
    ),
    "each gradient clipped by its own norm": (
        [
            (
                "torch.nn.utils.clip_grad_norm_(model.parameters(), max_grad_norm)",
                "[torch.nn.utils.clip_grad_norm_(p, max_grad_norm) for p in model.parameters()]",
            )
        ],
        {"clips_true_gradients": "not by the norm of all of them"},
    ),
    "losses are rounded": (
        [("torch.stack(losses).tolist()", "[round(x, 1) for x in torch.stack(losses).tolist()]")],
        {
            "follows_fp32": "the weights are right, the losses are not",
            "fp32_is_untouched": "losses apart",
            "computes_in_half_precision": "or the losses were changed",
        },
    ),
    "the last batch is left out": (
        [
            (
                "    for images, labels in loader:",
                "    for images, labels in islice(loader, len(loader) - 1):",
            )
        ],
        {
            "follows_fp32": "7 losses for 8 batches",
            "fp32_is_untouched": "7 losses for 8 batches",
            "computes_in_half_precision": "39 losses for 40 batches",
            "scaler_in_order": "in order for 7 of 8 steps",
            "overflow_skips_the_step": "other steps",
            "clips_true_gradients": "another direction",
            "returns_the_metrics": "losses for",
            "honest_throughput": "throughput",
        },
    ),
    "evaluation mode": (
        [("    model.train()\n", "    model.eval()\n")],
        {
            "follows_fp32": "",
            "fp32_is_untouched": "trained in eval()",
            "computes_in_half_precision": "neither FP32 nor 16 bits",
            "overflow_skips_the_step": "other steps",
            "clips_true_gradients": "another direction",
        },
    ),
    "each step is taken twice": (
        [("        scaler.update()\n", "        scaler.update()\n        optimizer.step()\n")],
        {
            "follows_fp32": "left out or taken twice",
            "fp32_is_untouched": "later steps are not",
            "scaler_in_order": "scaled gradients",
            "overflow_skips_the_step": "stepped although a gradient was infinite",
            "clips_true_gradients": "each step is taken twice",
        },
    ),
    "autocast that switches itself off": (
        [(AUTOCAST, "with torch.cuda.amp.autocast(enabled=use_amp):")],
        {
            "computes_in_half_precision": "torch.cuda.amp.autocast switches itself off without a GPU",
            "half_precision_where_it_helps": "convolution did not run in half precision",
        },
    ),
    "autocast is always on": (
        [(AUTOCAST, "with torch.autocast(device.type):")],
        {
            "fp32_is_untouched": "autocast is on",
        },
    ),
    "the scaler is not used": (
        [("    if not use_amp or scaler is None:\n        scaler = ", "    scaler = ")],
        {
            "scaler_in_order": "the scaler that was handed in is never used",
            "overflow_skips_the_step": "the optimizer stepped although a gradient was infinite",
        },
    ),
    "update() is missing": (
        [
            (
                "        scaler.update()\n",
                "        scaler.is_enabled() and scaler._per_optimizer_states.clear()\n",
            )
        ],
        {
            "scaler_in_order": "scaler.update is missing",
            "overflow_skips_the_step": "the scale was not halved once",
        },
    ),
    "clipped before unscale_": (
        [("            scaler.unscale_(optimizer)\n", "")],
        {"clips_true_gradients": "clipping came before unscale_"},
    ),
    "not clipped": (
        [("if max_grad_norm is not None:", "if False:")],
        {"clips_true_gradients": "FP32: gradients were not clipped"},
    ),
    "clipped by value": (
        [("clip_grad_norm_(model", "clip_grad_value_(model")],
        {"clips_true_gradients": "not by the norm of all of them"},
    ),
    "a scaler in FP32": (
        [("if not use_amp or scaler is None:", "if scaler is None:")],
        {"fp32_is_untouched": "the scaler handed in is used without use_amp"},
    ),
    "weights of 16 bits": (
        [
            (
                "    model.train()\n",
                "    model.train()\n    if use_amp:\n        model.to(torch.bfloat16)\n",
            ),
            (
                "outputs = model(images)",
                "outputs = model(images.to(torch.bfloat16) if use_amp else images)",
            ),
        ],
        {
            "follows_fp32": "the weights themselves are 16 bits wide",
            "computes_in_half_precision": "neither FP32 nor 16 bits",
            "half_precision_where_it_helps": "the weights themselves are 16 bits wide",
            "overflow_skips_the_step": "the weights themselves are 16 bits wide",
            "clips_true_gradients": "the weights themselves are 16 bits wide",
        },
    ),
    "no zero_grad": (
        [("        optimizer.zero_grad()\n", "        use_amp or optimizer.zero_grad()\n")],
        {
            "follows_fp32": "piled up without zero_grad",
            "overflow_skips_the_step": "the scale was halved several times",
            "clips_true_gradients": "AMP without a scaler moves in another direction",
        },
    ),
    "every graph is kept": (
        [("losses.append(loss.detach())", "losses.append(loss)")],
        {"no_wait_per_step": "the graphs of 23 earlier steps were in memory at once"},
    ),
    "correct answers are counted in 16 bits": (
        [("dtype=torch.int64, device=device)", "dtype=torch.float16, device=device)")],
        {"returns_the_metrics": "counted in 16 bits"},
    ),
    "the clock stops early": (
        [
            (
                "    losses = torch.stack(",
                "    seconds = time.perf_counter() - start\n    losses = torch.stack(",
            ),
            ("    seconds = time.perf_counter() - start\n    return", "    return"),
        ],
        {"honest_throughput": "the clock stops before the results are on the host"},
    ),
    "one wait per step": (
        [("losses.append(loss.detach())", "losses.append(loss.detach())\n        loss.item()")],
        {"no_wait_per_step": "24 of 24 batches waited (line 88: .item())"},
    ),
    "a NaN for the mean": (
        [("sum(losses) / len(losses)", "float('nan')")],
        {"returns_the_metrics": "it is no finite number"},
    ),
    "the last loss for the mean": (
        [("sum(losses) / len(losses)", "losses[-1]")],
        {"returns_the_metrics": "the mean of the losses is"},
    ),
    "accuracy as a fraction": (
        [("100 * correct.item() / samples", "correct.item() / samples")],
        {"returns_the_metrics": "it is a fraction"},
    ),
    "accuracy over batches": (
        [("100 * correct.item() / samples", "correct.item() / len(losses)")],
        {"returns_the_metrics": "it was divided by the batches"},
    ),
    "the timer starts after the first fetch": (
        [
            (
                "        data_wait +=",
                "        start = start if losses else time.perf_counter()\n        data_wait +=",
            )
        ],
        {"honest_throughput": "the first fetch is left out"},
    ),
    "data_wait is never added up": (
        [("        data_wait += time.perf_counter() - fetch\n", "")],
        {"honest_throughput": "the waits were not added up"},
    ),
}

# The same for what compare_precision does.
MISTAKEN_COMPARISONS = {
    "accuracy as a fraction": (
        [("100 * correct.item() / samples", "correct.item() / samples")],
        {"compares_both": "accuracy of FP32 is 0."},
    ),
    "AMP without autocast": (
        [(AUTOCAST, "with torch.cuda.amp.autocast(enabled=use_amp):")],
        {"compares_both": "throughput of AMP is that of FP32: autocast was not on"},
    ),
    "FP32 with autocast": (
        [(AUTOCAST, "with torch.autocast(device.type):")],
        {"compares_both": "throughput of FP32 is that of AMP: autocast was on"},
    ),
    "AMP without a scaler": (
        [("    if not use_amp or scaler is None:\n        scaler = ", "    scaler = ")],
        {"compares_both": "the AMP epoch ran without a GradScaler"},
    ),
    "throughput without the waits": (
        [
            (
                "    for images, labels in loader:\n",
                "    for images, labels in loader:\n        start += time.perf_counter() - fetch\n",
            )
        ],
        {"compares_both": "throughput of FP32 leaves out the wait for data"},
    ),
    "rows the other way round": (
        [('(("FP32", False), ("AMP", True))', '(("AMP", True), ("FP32", False))')],
        {"compares_both": "the rows are AMP, FP32"},
    ),
    "no rows": (
        [("    plt.close(figure)\n    return rows", "    plt.close(figure)\n    return []")],
        {
            "compares_both": "no rows",
            "csv_says_what_was_measured": "2 rows in the file, 0 returned",
        },
    ),
    "a speedup that is never below 1": (
        [
            (
                'throughput / rows[0]["throughput"] if rows',
                'max(throughput / rows[0]["throughput"], rows[0]["throughput"] / throughput) if rows',
            )
        ],
        {"compares_both": "speedup of AMP is"},
    ),
    "speedup upside down": (
        [
            (
                'throughput / rows[0]["throughput"] if rows',
                'rows[0]["throughput"] / throughput if rows',
            )
        ],
        {"compares_both": "speedup of AMP is"},
    ),
    "no device": (
        [("device_name(device))\n", '" ")\n')],
        {"compares_both": "the device is not named"},
    ),
    "a word for the memory": (
        [("if on_gpu else None\n", 'if on_gpu else "none"\n')],
        {
            "compares_both": "is 'none', and has to be a number",
        },
    ),
    "a negative epoch": (
        [("epoch_time = time.perf_counter() - start", "epoch_time = start - time.perf_counter()")],
        {
            "compares_both": "epoch_time of FP32 is -",
        },
    ),
    "the time of one batch": (
        [
            (
                "epoch_time = time.perf_counter() - start",
                "epoch_time = (time.perf_counter() - start) / 9",
            )
        ],
        {"compares_both": "epoch_time of FP32 is"},
    ),
    "no warm-up": (
        [("        measure(use_amp, islice(loader, 3))  # the warm-up\n", "")],
        {"compares_both": "includes the slow first step: warm up before"},
    ),
    "warmed up on the measured model": (
        [
            (
                "        if on_gpu:\n            torch.cuda.reset",
                "        model(next(iter(batches))[0])\n        if on_gpu:\n            torch.cuda.reset",
            )
        ],
        {"compares_both": "the measured model had been trained before"},
    ),
    "the warm-up is kept": (
        [
            (
                "    rows: list[dict[str, Any]] = []\n",
                "    rows: list[dict[str, Any]] = []\n    kept = []\n",
            ),
            (
                "        if on_gpu:\n            torch.cuda.reset",
                "        kept.append(model)\n        if on_gpu:\n            torch.cuda.reset",
            ),
        ],
        {"compares_both": "a warm-up model was still in memory"},
    ),
    "text in the file": (
        [(".to_csv(", '.assign(speedup=["1.00x", "2.10x"]).to_csv(')],
        {"csv_says_what_was_measured": "speedup is '1.00x' in the file, and it must be a number"},
    ),
    "figures of another run in the file": (
        [(".to_csv(", ".assign(epoch_time=[1000.0, 500.0]).to_csv(")],
        {"csv_says_what_was_measured": "epoch_time is 1000 in the file"},
    ),
    "no file": (
        [('to_csv(Path(folder) / "amp_results.csv", index=False)', "to_csv(index=False)")],
        {"csv_says_what_was_measured": "no amp_results.csv in folder"},
    ),
    "a broken file": (
        [
            (
                "    return rows\n    ### END",
                '    (Path(folder) / "amp_results.csv").write_text("a,a")\n    return rows\n    ### END',
            )
        ],
        {"csv_says_what_was_measured": "column 'a' appears twice"},
    ),
    "bars of an example": (
        [("[row[column] for row in rows], color", "[1.0, 2.1], color")],
        {"figure_shows_the_rows": "no panel shows the throughput of the rows"},
    ),
    "part of an epoch": (
        [("measure(use_amp, loader)", "measure(use_amp, islice(loader, 5))")],
        {"compares_both": "no training ran the whole epoch"},
    ),
    "a device without its name": (
        [("device_name(device))\n", "str(device))\n")],
        {"compares_both": "the device is called 'cpu'"},
    ),
    "nothing trained": (
        [
            (
                "metrics = train_epoch_amp(",
                "metrics = dict(throughput=100.0 + 100 * use_amp, accuracy=22.0) or (",
            ),
            ("epoch_time = time.perf_counter() - start", "epoch_time = 0.5"),
        ],
        {
            "compares_both": "no training ran the whole epoch",
            "csv_says_what_was_measured": "the rows are made up",
            "figure_shows_the_rows": "the rows are made up",
        },
    ),
    "a figure that is none": (
        [
            (
                "    return rows\n    ### END",
                '    (Path(folder) / "amp_comparison.png").write_text("PNG")\n    return rows\n    ### END',
            )
        ],
        {"figure_shows_the_rows": "amp_comparison.png: is no PNG"},
    ),
    "an empty figure": (
        [
            (
                "    return rows\n    ### END",
                '    plt.figure().savefig(Path(folder) / "amp_comparison.png")\n    return rows\n    ### END',
            )
        ],
        {"figure_shows_the_rows": "640 x 480 pixels, blank"},
    ),
    "bars under each other's names": (
        [('[row["precision"] for row in rows], [row[column]', '["AMP", "FP32"], [row[column]')],
        {"figure_shows_the_rows": "is drawn under the name 'AMP'"},
    ),
    "no figure": (
        [('    figure.savefig(Path(folder) / "amp_comparison.png", dpi=150)\n', "")],
        {"figure_shows_the_rows": "no amp_comparison.png in folder"},
    ),
}


@pytest.mark.parametrize(("pairs", "fails"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_in_the_loop_fails_the_checks_that_show_it(judge, pairs, fails):
    expect(fails, failing(judge(bench.changed(*pairs), only=set(part.checks) - COMPARISON)))


@pytest.mark.parametrize(
    ("pairs", "fails"), MISTAKEN_COMPARISONS.values(), ids=MISTAKEN_COMPARISONS
)
def test_a_mistaken_comparison_fails_the_checks_that_show_it(judge, pairs, fails):
    expect(fails, failing(judge(bench.changed(*pairs), only=COMPARISON)))


def expect(fails, found):
    """Exactly these checks fail, but for those that need one of them, with these words and a reason."""
    assert set(fails) == {name for name in found if not blocked(name, found)}
    for name, words in fails.items():
        assert words in f"{found[name].measured} {found[name].why}", name
        assert found[name].why


def blocked(name, found):
    """Whether the grader would skip this check, because one that it needs failed."""
    return any(need in found for need in part.checks[name].needs)


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
        pytest.param("return {'losses': [[1.0]]}", "'losses' holds a list", id="nested"),
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
    assert words in found.why
