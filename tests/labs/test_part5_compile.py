"""Part 5 judged whole: right work passes on any seed, each mistake fails the checks that show it, in the right words."""

from __future__ import annotations

import pytest

from autograder import checks
from autograder.labs.resnet18.part5_compile import part
from autograder.model import Bar, Failed, Timed, Unavailable
from tests.labs.bench import Bench, failing

TIMED = {"compiled_is_faster"}
bench = Bench("resnet18", part, without=TIMED)
pytestmark = pytest.mark.filterwarnings("ignore")


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(2))
def test_the_reference_passes(judge, seed):
    assert {} == failing(judge(bench.source, seed))


STEP = "        train_epoch_compiled(model, batches, criterion, optimizer, device, use_amp)\n"
COMPILE = "torch.compile(model, backend=backend, fullgraph=True)"
PUT_BACK = "    model.load_state_dict(before[0])\n"

# What is replaced -> {check: words in its measured or why}. Those of one line read one probe: builds cost seconds.
MISTAKES = {
    "forward only": (
        [(STEP, "        model.train()\n        model(batches[0][0])\n")],
        {"compares_both": "the backward graph was built in the measured epoch"},
    ),
    "full batches only": (
        [("    sizes = [len(labels), tail] if tail and not loader.drop_last else [len(labels)]\n", "    sizes = [len(labels)]\n")],
        {"nothing_is_built_later": "FP32: 2 built in the epoch, the first a forward graph at batch"},
    ),
    "in float32 only": (
        [(STEP, STEP.replace(", use_amp", ""))],
        {"nothing_is_built_later": "AMP: 2 built in the epoch"},
    ),
    "float16": (
        [("torch.autocast(device.type, torch.bfloat16", "torch.autocast(device.type, torch.float16")],
        {"one_graph_a_batch": "convolutions in float32, or in float16"},
    ),
    "not put back": (
        [(PUT_BACK, "")],
        {"warm_up_leaves_no_trace": "FP32: weights: apart by"},
    ),
    "momentum left": (
        [("    optimizer.load_state_dict(before[1])\n", "")],
        {"warm_up_leaves_no_trace": "FP32: the optimizer's state: apart by"},
    ),
    "eager": (
        [(COMPILE, "model")],
        {
            "nothing_is_built_later": "0 graphs built",
            "one_graph_a_batch": "nothing that was compiled ran",
            "breaks_are_errors": "a model with .item() in forward ran",
        },
    ),
    "refuses everything": (
        [(f"    return {COMPILE}", f"    {COMPILE}\n    raise TypeError('no')")],
        {"follows_eager": "no", "breaks_are_errors": "no"},
    ),
    "statistics stand still": (
        [("    model.train()\n", "    model.train()\n    for it in model.modules():\n        it.track_running_stats, it.momentum = True, 0.0\n")],
        {"follows_eager": "FP32: running statistics apart by"},
    ),
    "no steps": ([("        optimizer.step()\n", "")], {"follows_eager": "no weight of the given model moved"}),
    "another loss": (
        [("loss = criterion(outputs, labels)", "loss = criterion(outputs, labels) * 2")],
        {"follows_eager": "FP32: losses apart by"},
    ),
    "a gradient through the size": (
        [("x.detach().abs()", "x.abs()")],
        {"guard_answers_alike": "above the limit), eager"},
    ),
    "a limit of its own": (
        [("        self.limit = limit\n", "        self.limit = 4.0\n")],
        {"guard_answers_alike": "such a batch is to be x * (limit / size)"},
    ),
    "no count": (
        [("        self.spikes += spike\n", "")],
        {"guard_answers_alike": "spikes is 0 where 1 batches were scaled"},
    ),
    "a count that is no number": (
        [
            ('self.register_buffer("spikes", torch.zeros((), dtype=torch.int64))', "self.spikes = 'many'"),
            ("        self.spikes += spike\n", ""),
        ],
        {"guard_answers_alike": "spikes is None where"},
    ),
    "a look at the data": (
        [("        self.spikes += spike\n", "        self.spikes += int(spike.item())\n")],
        {"guard_is_one_graph": "Python has to look at the data"},
    ),
    "a Python number": (
        [("        self.spikes += spike\n", "        self.spikes += spike\n        self.limit += 0.0001\n")],
        {"guard_is_one_graph": "a number of Python's that changes"},
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
        [("        optimizer.zero_grad()\n        with", "        start = start if losses else time.perf_counter()\n        optimizer.zero_grad()\n        with")],
        {"honest_throughput": "the first fetch is left out"},
    ),
    "no rows": (
        [("    plt.close(figure)\n    return rows\n", "    plt.close(figure)\n    return []\n")],
        {"compares_both": "the rows are none", "csv_says_what_was_measured": "2 rows in the file, 0 returned"},
    ),
    "no file": (
        [('.to_csv(Path(folder) / "compile_results.csv", index=False)', ".to_csv(index=False)")],
        {"csv_says_what_was_measured": "no compile_results.csv in folder"},
    ),
    "no picture": (
        [('    figure.savefig(Path(folder) / "compile_comparison.png", dpi=150)\n', "")],
        {"figure_shows_the_rows": "no compile_comparison.png in folder"},
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


def test_without_a_clock_the_speed_is_owed():
    answer = bench.baseline_answer("training")
    timed = Timed(answer, answer, unavailable="no clock")

    assert Unavailable("no clock") == part.checks["compiled_is_faster"].judge(Bar(1.1, "t4"), timed)


HEADER = "model,throughput,epoch_time,compile_s,loss,speedup,device\n"


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        pytest.param("", "the rows are none", id="a header only"),
        pytest.param("Eager,10,2,0,2,1,AMD\nCompiled,20,1,30,2,2x,AMD\n", "'2x'", id="a unit"),
        pytest.param(
            "Eager,10,2,0,2,1,AMD\nCompiled,20,1,0,2,2,AMD\n",
            "the cold start is missing",
            id="no cold start",
        ),
    ],
)
def test_a_file_that_contradicts_itself_fails(rows, words):
    found = part.checks["csv_is_consistent"].judge(
        checks.read((HEADER + rows).encode(), "compile_results.csv")
    )

    assert isinstance(found, Failed)
    assert words in found.why
