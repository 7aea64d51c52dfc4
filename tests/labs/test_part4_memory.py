"""Part 4 judged whole: right work passes on any seed, each mistake fails the checks that show it, in the right words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autograder import checks
from autograder.labs.resnet18.part4_memory import part
from autograder.model import Failed, Observation, Pair, Passed
from tests.labs.bench import Bench, emptied, failing

OUTSIDE = {"keeps_memory_flat", "needs_less_memory"}  # memory of a process of its own
bench = Bench("resnet18", part, without=OUTSIDE)
pytestmark = pytest.mark.filterwarnings("ignore")


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(2))
def test_the_reference_passes(judge, seed):
    assert {} == failing(judge(bench.source, seed))


CHECKPOINT = (
    "    return checkpoint(segment, x, use_reentrant=False, "
    "context_fn=lambda: (nullcontext(), StatisticsHeld(segment)))\n"
)
SEGMENT = ", context_fn=lambda: (nullcontext(), StatisticsHeld(segment))"
OUT_OF_DATE = """
    kept = {}
    def run(x):
        try:
            return segment(x)
        finally:
            segment.load_state_dict(kept or segment.state_dict())
    y = checkpoint(run, x, use_reentrant=False)
    kept.update({name: value.clone() for name, value in segment.state_dict().items()})
    return y
"""
RETURN = "    plt.close(figure)\n    return rows\n"

# What is replaced -> {check: words in its measured or why}.
MISTAKES = {
    "a peak of zeros": (
        [
            ("    panels = {column: label for column, label in PANELS.items() if rows[0][column] is not None}\n", "    panels = PANELS\n"),
            ("[row[column] for row in rows], color", "[row[column] or 0 for row in rows], color"),
        ],
        {"figure_shows_the_rows": "without a GPU there is no peak to show"},
    ),
    "the tail is dropped": (
        [("    if group:\n        step(group)  # the tail\n", "")],
        {"steps_on_the_tail": "the last group is dropped", "one_step_a_group": "2 steps for"},
    ),
    "divided by the steps": (
        [
            ("(loss * len(labels)).backward()", "(loss / accumulation_steps).backward()"),
            ("parameter.grad /= samples", "parameter.grad /= 1"),
        ],
        {"steps_on_the_tail": "divided by accumulation_steps", "weighs_by_samples": "every batch counts the same"},
    ),
    "added and not averaged": (
        [("(loss * len(labels)).backward()", "loss.backward()"), ("parameter.grad /= samples", "parameter.grad /= 1")],
        {"equals_a_large_batch": "times as far"},
    ),
    "a step for every batch": (
        [("if (index + 1) % accumulation_steps == 0:", "if True:")],
        {"equals_a_large_batch": "gradients are not averaged over the group", "one_step_a_group": "elsewhere than after a group"},
    ),
    "the divided loss is returned": (
        [("losses.append(loss.detach())", "losses.append(loss.detach() / accumulation_steps)")],
        {"returns_the_metrics": "divided by accumulation_steps"},
    ),
    "one loss for the epoch": (
        [('"losses": losses,', '"losses": losses[:1],')],
        {"returns_the_metrics": "1 loss for"},
    ),
    "a mean of means": (
        [("sum(loss * size for loss, size in zip(losses, sizes, strict=True)) / samples", "sum(losses) / len(losses)")],
        {"returns_the_metrics": "the last one has fewer samples"},
    ),
    "accuracy as a fraction": (
        [("100 * correct.item() / samples", "correct.item() / samples")],
        {"returns_the_metrics": "it is a fraction"},
    ),
    "no accuracy": (
        [("100 * correct.item() / samples", "None")],
        {"returns_the_metrics": "% of the samples were right"},
    ),
    "the timer starts late": (
        [("        outputs = model(images)\n", "        start = start if losses else time.perf_counter()\n        outputs = model(images)\n")],
        {"honest_throughput": "the first fetch is left out"},
    ),
    "reentrant": (
        [(CHECKPOINT, "    return checkpoint(segment, x, use_reentrant=True)\n")],
        {
            "gradients_match": "the reentrant variant gives none",
            "statistics_move_once": "moved in the second run as well",
        },
    ),
    "statistics move twice": (
        [(SEGMENT, "")],
        {"statistics_move_once": "in the second run"},
    ),
    "put back after a whole run only": (
        [("batches in self.before:", "batches in [] if any(error) else self.before:")],
        {"statistics_move_once": "momentum of 1 is 0.0 after pass 1 of a stem in train()"},
    ),
    "held in the second run only": (
        [
            ("momentum = 0.0", 'momentum = norm.momentum if hasattr(self, "left") else 0.0'),
            ("        for norm, momentum, batches in self", "        self.left = True\n        for norm, momentum, batches in self"),
        ],
        {"statistics_move_once": "a second time through one graph"},
    ),
    "put back as after the first run": (
        [(CHECKPOINT, OUT_OF_DATE)],
        {"statistics_move_once": "two forward passes before backward()"},
    ),
    "other dice": (
        [("use_reentrant=False, context_fn", "use_reentrant=False, preserve_rng_state=False, context_fn")],
        {"gradients_match": "other random numbers"},
    ),
    "another output": (
        [(CHECKPOINT, CHECKPOINT.replace("checkpoint(", "2 * checkpoint("))],
        {"gradients_match": "another output", "every_parameter_trains": "gradients or outputs differ"},
    ),
    "never in eval": (
        [("        x = images\n", "        x = images\n        self.train()\n")],
        {"answers_alike_in_eval": "eval() does not use them"},
    ),
    "moves in eval": (
        [("        x = images\n", "        x = images\n        self.training or self.segments[0][1].running_mean.add_(1)\n")],
        {"answers_alike_in_eval": "eval() does not use them"},
    ),
    "moves after eval": (
        [
            (
                "        return self.head(x)\n",
                "        y = self.head(x)\n        self.training or self.segments[0][1].running_mean.add_(1)\n        return y\n",
            )
        ],
        {"answers_alike_in_eval": "a forward pass in eval() moved them"},
    ),
    "half the output": (
        [("        return self.head(x)\n", "        return self.head(x) / 2\n")],
        {"every_parameter_trains": "gradients or outputs differ"},
    ),
    "nothing moves": (
        [("        return self.head(x)\n", "        return self.head(x) * 0\n")],
        {"every_parameter_trains": "no weight moved"},
    ),
    "nothing is checkpointed": (
        [(CHECKPOINT, "    return segment(x)\n")],
        {"keeps_only_the_boundaries": "none is checkpointed", "compares_both": "keeps as much"},
    ),
    "no rows": ([(RETURN, RETURN.replace("rows\n", "[]\n"))], {"compares_both": "the rows are none"}),
    "a device of another name": (
        [("device_name(device))\n", '"another")\n')],
        {"compares_both": "the device is called 'another'"},
    ),
    "no file": (
        [('.to_csv(Path(folder) / "checkpointing_results.csv", index=False)', ".to_csv(index=False)")],
        {"csv_says_what_was_measured": "no checkpointing_results.csv in folder"},
    ),
    "no picture": (
        [('    figure.savefig(Path(folder) / "checkpointing_comparison.png", dpi=150)\n', "")],
        {"figure_shows_the_rows": "no checkpointing_comparison.png in folder"},
    ),
    "no units": ([("        axis.set_ylabel(label)\n", "")], {"figure_shows_the_rows": "does not say what it shows"}),
}  # fmt: skip


@pytest.mark.parametrize(("pairs", "fails"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_fails_the_check_that_shows_it(judge, pairs, fails):
    """The corpus states all that a mistake fails; here is what the check says."""
    found = failing(judge(bench.changed(*pairs), only=fails))

    assert set(fails) == set(found)
    for name, words in fails.items():
        assert words in f"{found[name].measured} {found[name].why}"
        assert found[name].try_


def seen_from_outside(answer, student, baseline, idle=20):
    """A run of so many MB on each side, and an idle worker of *idle* MB beside a trusted one of 20."""
    still = Observation("idle", "ok")
    run = Pair(
        replace(answer, peak_bytes=student * 10**6), replace(answer, peak_bytes=baseline * 10**6)
    )
    return run, Pair(replace(still, peak_bytes=idle * 10**6), replace(still, peak_bytes=20 * 10**6))


@pytest.mark.parametrize(
    ("student", "idle", "kind", "measured"),
    [
        pytest.param(45, 20, Passed, "25 MB where the baseline takes 100 MB", id="a quarter"),
        pytest.param(110, 20, Failed, "90 MB where the baseline takes 100 MB", id="nearly all"),
        pytest.param(10, 20, Passed, "0 MB where", id="less than idle"),
        pytest.param(110, 80, Failed, "90 MB where", id="libraries of its own"),
        pytest.param(310, 300, Failed, "290 MB where", id="a ballast while idle"),
    ],
)
@pytest.mark.parametrize(
    ("check", "probe"), [("keeps_memory_flat", "large_group"), ("needs_less_memory", "large_step")]
)
def test_memory_is_what_was_seen_beyond_an_idle_worker(check, probe, student, idle, kind, measured):
    run = seen_from_outside(bench.baseline_answer(probe), student, 120, idle)

    found = part.checks[check].judge(*run)

    assert isinstance(found, kind)
    assert found.measured.startswith(measured)


@pytest.mark.parametrize(
    ("check", "probe", "array"), [("keeps_memory_flat", "large_group", "weights"), ("needs_less_memory", "large_step", "numbers")]
)  # fmt: skip
@pytest.mark.parametrize("number", [np.nan, 7.0])
def test_little_memory_with_other_numbers_is_no_saving(check, probe, array, number):
    run, idle = seen_from_outside(bench.baseline_answer(probe), 30, 120)
    wrong = replace(
        run.student,
        arrays={**run.student.arrays, array: np.full_like(run.student.arrays[array], number)},
    )

    found = part.checks[check].judge(replace(run, student=wrong), idle)

    assert isinstance(found, Failed)
    assert "larger images" in found.why


def test_steps_that_were_not_told_are_no_pass():
    answer = bench.baseline_answer("groups")

    assert isinstance(part.checks["one_step_a_group"].judge(Pair(emptied(answer), answer)), Failed)


HEADER = "model,throughput,epoch_time,peak_memory_mb,saved_mb,loss,slowdown,device\n"


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        pytest.param("", "the rows are none", id="a header only"),
        pytest.param("Standard,10,2,,7,2.3,1,AMD\nWith Checkpointing,5,4,,1,2.3,1.3x,AMD\n", "'1.3x'", id="a unit"),
        pytest.param("Standard,10,2,,7,2.3,1,AMD\nWith Checkpointing,5,4,,1,2.3,1.3,AMD\n", "its own is 2", id="another slowdown"),
    ],
)  # fmt: skip
def test_a_file_that_contradicts_itself_fails(rows, words):
    found = part.checks["csv_is_consistent"].judge(
        checks.read((HEADER + rows).encode(), "checkpointing_results.csv")
    )

    assert isinstance(found, Failed)
    assert words in found.why


@pytest.mark.parametrize(
    ("slowdown", "measured"),
    [
        pytest.param(1.3, "2 rows", id="slower"),
        pytest.param(0.52, "2 rows; checkpointing came out faster (0.52) and computes more: repeat the measurement", id="faster"),
    ],
)  # fmt: skip
def test_a_measurement_that_cannot_be_is_told_and_costs_nothing(slowdown, measured):
    rows = f"Standard,10,2,,7,2.3,1,AMD\nWith Checkpointing,{10 / slowdown},{2 * slowdown},,1,2.3,{slowdown},AMD\n"
    table = checks.read((HEADER + rows).encode(), "checkpointing_results.csv")

    assert Passed(measured) == part.checks["csv_is_consistent"].judge(table)
