"""Part 3 of gpu_profiling judged whole: right work passes on any seed, each mistake fails the checks that show it."""

from __future__ import annotations

import numpy as np
import pytest

from autograder import checks
from autograder.checks.launches import RESULTS
from autograder.labs.gpu_profiling.part3_kernels import part
from autograder.model import Failed, Passed, Unavailable
from autograder.worker.launches import Made
from tests.labs.bench import Bench, failing, says

bench = Bench("gpu_profiling", part)
pytestmark = pytest.mark.filterwarnings("ignore")


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(2))
def test_the_reference_passes(judge, seed):
    assert {} == failing(judge(bench.source, seed))


COMPILE = "    return torch.compile(net, backend=backend, fullgraph=True, dynamic=False)\n"

# What is replaced -> {check: words in its measured or why}.
MISTAKES = {
    "ReLU behind the average": (
        [
            (
                "            nn.ReLU(inplace=True),  # before the average: a mean of positives is not the positive part of a mean\n            nn.AdaptiveAvgPool2d(4),\n",
                "            nn.AdaptiveAvgPool2d(4),\n            nn.ReLU(inplace=True),\n",
            )
        ],
        {"answers_alike": "on the wrong side of an average"},
    ),
    "detached": (
        [("self.classifier(self.features(x))", "self.classifier(self.features(x).detach())")],
        {"answers_alike": "no gradient of conv1.weight"},
    ),
    "other gradients": (
        [("self.classifier(self.features(x))", "self.classifier(2 * self.features(x) - self.features(x).detach())")],
        {"answers_alike": "the same logits and other gradients"},
    ),
    "writes into the images": (
        [("        return self.classifier(self.features(x))\n", "        y = self.classifier(self.features(x))\n        x.data.add_(1)\n        return y\n")],
        {"answers_alike": "wrote into the caller's images"},
    ),
    "an emptied state": (
        [("    for name, tensor in state.items():\n", "    for name in list(state):\n        tensor = state.pop(name)\n")],
        {"leaves_the_state_alone": "taken out of the caller's dict"},
    ),
    "no order changed": (
        [
            ("            nn.MaxPool2d(2),\n            nn.ReLU(inplace=True),  # writes where it reads: no new tensor\n", "            nn.ReLU(inplace=True),\n            nn.MaxPool2d(2),\n"),
            ("            nn.MaxPool2d(2),\n            nn.ReLU(inplace=True),\n            nn.Conv2d(2 * width", "            nn.ReLU(inplace=True),\n            nn.MaxPool2d(2),\n            nn.Conv2d(2 * width"),
        ],
        {"moves_fewer_bytes": "100% of SimpleNet's"},
    ),
    "not compiled": ([(COMPILE, "    return net\n")], {"is_one_graph": "nothing that was compiled ran"}),
    "breaks allowed": ([("fullgraph=True, ", "")], {"is_one_graph": "a break goes unnoticed"}),
    "any size": ([("dynamic=False", "dynamic=True")], {"is_one_graph": "one graph serves several sizes"}),
    "one block": (
        [(COMPILE, "    part = getattr(net, 'classifier', net)\n    part.compile(backend=backend, fullgraph=True, dynamic=False)\n    return net\n")],
        {"is_one_graph": "only a part of the model"},
    ),
    "all operators": (
        [(" and event.start >= open_until.get(event.thread, 0.0)", "")],
        {"counts_launches": "it is called by another operator"},
    ),
    "regions": (
        [('if "fused" in event.name and not event.name.startswith("aten::"):', 'if not event.name.startswith("aten::"):')],
        {"counts_launches": "it is a range around launches"},
    ),
    "copies": ([('== "kernel"', 'in ("kernel", "gpu_memcpy")')], {"counts_launches": "a copy, or a call of the host"}),
    "what a cast calls": (
        [("        elif event.name.startswith(", "        elif event.name not in NO_WORK and event.name.startswith(")],
        {"counts_launches": "it is called by another operator"},
    ),
    "profiled while it is timed": (
        [("        start = time.perf_counter()\n        call(net)\n", "        start = time.perf_counter()\n        with profile():\n            call(net)\n")],
        {"compares_honestly": "the profiler ran, or gradients were recorded"},
    ),
    "with gradients": (
        [("        with torch.no_grad():\n            net(images)\n", "        net(images)\n")],
        {"compares_honestly": "the profiler ran, or gradients were recorded"},
    ),
    "units of today": (
        [('MICROSECONDS |= {"nsecond": 1e-3, "usecond": 1.0, "msecond": 1e3, "second": 1e6}', "")],
        {"reads_reports": "'duration_us' is missing"},
    ),
    "the mean": ([("statistics.median(", "statistics.mean(")], {"compares_honestly": "one slow call decides it"}),
    "a device of another name": (
        [("device_name(images.device))", '"another")')],
        {"compares_honestly": "the device is called 'another'"},
    ),
    "no rows": (
        [("index=False)\n    return rows\n", "index=False)\n    return []\n")],
        {"compares_honestly": "the rows are none", "csv_says_what_was_measured": "rows in the file, 0 returned"},
    ),
    "no file": (
        [('.to_csv(Path(folder) / "kernel_results.csv", index=False)', ".to_csv(index=False)")],
        {"csv_says_what_was_measured": "no kernel_results.csv in folder"},
    ),
    "Lab 02's option": (
        [('"--export", report, "python"', 'f"--output={report}", "python"')],
        {"command_is_right": "ncu has no option '--output'; it calls it --export, or -o"},
    ),
    "no regex": ([('f"regex:^', 'f"^')], {"command_measures_what_was_asked": "does not begin with regex:"}),
    "matches anywhere": (
        [('f"regex:^({names})$"', 'f"regex:{names}"')],
        {"command_measures_what_was_asked": "an expression matches anywhere in a name"},
    ),
    "nothing chosen": (
        [('"--kernel-name", f"regex:^({names})$", ', "")],
        {"command_measures_what_was_asked": "every kernel is measured"},
    ),
    "misses one": (
        [("for name in kernels)", "for name in kernels[:1])")],
        {"command_measures_what_was_asked": "is not measured"},
    ),
    "bytes for percent": ([('(unit == "%" or unit in MICROSECONDS)', "unit")], {"reads_reports": "memory_percent of"}),
    "no commas": ([('.replace(",", "")', '.split(",")[0]')], {"reads_reports": "duration_us of"}),
    "one for all launches": (
        [('setdefault(line["ID"]', 'setdefault(line["Kernel Name"]')],
        {"reads_reports": "one row for each ID"},
    ),
    "no bound": (
        [('        launch["bound"] = ', '        launch["limit"] = ')],
        {"reads_reports": "'bound' is missing"},
    ),
    "never latency": (
        [('"latency" if max(sm, memory) < 60 else ', "")],
        {"says_what_limits": "is said to be limited by"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("pairs", "fails"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_fails_the_check_that_shows_it(judge, pairs, fails):
    """The corpus states all that a mistake fails; here is what the check says."""
    says(failing(judge(bench.changed(*pairs), only=fails)), fails)


@pytest.mark.parametrize("number", [np.nan, 1e308, 0.0])
@pytest.mark.parametrize(
    "name", [name for name, check in part.checks.items() if set(check.reads) & set(part.probes)]
)
def test_whatever_a_worker_sends_becomes_a_verdict(name, number):
    for found in bench.spoilt(name, number):
        assert isinstance(found, Passed | Failed)


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
