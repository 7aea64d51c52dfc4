"""Part 1 judged whole: right work passes on any seed; mistakes are entries of the corpus."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from autograder.labs.resnet18.part1_baseline.part import RANGES, part
from autograder.model import Failed, Pair, Passed
from autograder.traces.record import Row
from tests.labs.bench import Bench, failing
from tests.worker.harness import import_file

bench = Bench("resnet18", part)
pytestmark = pytest.mark.filterwarnings("ignore")


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(2))
def test_the_reference_passes(judge, seed):
    assert {} == failing(judge(bench.source, seed))


NONSENSE = {
    "normalises": ("transformed", {"plain": np.zeros(5)}, {}),
    "augments": ("transformed", {"left": np.zeros(3), "right": np.full(7, np.nan)}, {}),
    "finds_the_wait_for_data": ("analysed", {}, {"reported": []}),
    "follows_the_schedule": ("profiled", {"trace": np.arange(99, dtype=np.uint8)}, {}),
    "ranges_hold_their_work": ("profiled", {}, {"ran": []}),
}


@pytest.mark.parametrize(("probe", "arrays", "values"), NONSENSE.values(), ids=NONSENSE)
def test_whatever_a_worker_sends_becomes_a_verdict(request, probe, arrays, values):
    """A process that answers in the student's place gets no exception out of a check."""
    check = part.checks[request.node.callspec.id]
    trusted = bench.baseline_answer(probe)
    sent = replace(
        trusted, arrays={**trusted.arrays, **arrays}, values={**trusted.values, **values}
    )

    assert isinstance(check.judge(Pair(sent, trusted)), Failed)


def test_a_trace_that_is_a_folder_is_not_told_as_missing():
    trusted = bench.baseline_answer("profiled")
    values = {**trusted.values, "beside": ["baseline_trace.json.gz"]}
    sent = replace(
        trusted, values=values, arrays={**trusted.arrays, "trace": np.zeros(0, np.uint8)}
    )

    found = part.checks["follows_the_schedule"].judge(Pair(sent, trusted))

    assert "baseline_trace.json.gz in folder is no file, or empty" == found.measured


def test_an_error_that_is_caught_is_not_told_as_let_out(judge):
    source = bench.changed(
        (
            'using the synthetic set")\n        return Pictures(transform=transform)',
            '")\n        return [(torch.zeros(3, image_size, image_size), 0)] * 50000',
        )
    )

    found = judge(source, only=["falls_back"])["falls_back"]

    assert "without a network gives other data" in found.measured
    assert "usually your code does not return Pictures(...) there" == found.why


def test_a_folder_within_the_folder_is_no_other_one(judge):
    found = judge(
        bench.changed(("root=folder", "root=Path(folder) / 'cifar'")), only=["falls_back"]
    )["falls_back"]

    assert isinstance(found, Passed), found


def test_names_may_come_as_any_sequence(judge):
    source = bench.changed(
        (
            "[name for name, _ in own_times(events).most_common(3)]",
            "torch.arange(3).numpy().astype(str)",
        )
    )

    found = judge(source, only=["finds_the_top_operators"])["finds_the_top_operators"]

    assert "top_operators is ['0', '1', '2'], and " in found.measured


# --- the files that are handed in -------------------------------------------------------------------------------------


OF_A_TOY = [
    Row("aten::convolution_backward", 10, 9, 0.0),
    *(Row(name, 10, 9, 0.0) for name in RANGES),
]
TABLES = {"ranges": tuple(OF_A_TOY[1:]), "operators": tuple(OF_A_TOY[:1])}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"steps": ()}, "it holds 0 steps, expected 10"),
        ({"tables": {}}, "it holds the range 'forward' 0 times in 10 steps"),
        ({"figures": ()}, "it holds no wait for a DataLoader"),
        ({"tables": TABLES}, "its network has 1 convolutions a step, and the script's has 20"),
    ],
    ids=["no steps", "no ranges", "no loader", "another network"],
)
def test_a_trace_that_is_not_whole(change, words):
    trace = replace(bench.handed_in("baseline_trace.json.gz"), **change)

    found = part.checks["trace_is_whole"].judge(trace)

    assert isinstance(found, Failed)
    assert words in found.measured
    assert ["cpu"] == list(found.evidence["breakdown"])  # which the feedback page draws


# --- what is handed out -----------------------------------------------------------------------------------------------


def test_pictures_are_like_those_of_cifar10():
    from given import Pictures

    pictures = Pictures()
    image, label = pictures[49_999]

    assert 50_000 == len(pictures)
    assert ((32, 32), "RGB", int) == (image.size, image.mode, type(label))
    assert image.tobytes() == Pictures()[49_999][0].tobytes()
    with pytest.raises(IndexError):
        pictures[50_000]


def test_pictures_can_be_learnt(tmp_path):
    """Cut and mirrored as they are in training: a small network is right far more often than by chance."""
    torch.manual_seed(0)
    student = import_file(bench.reference / part.file)
    data = student.make_data("synthetic", 16)
    batches = [
        torch.utils.data.default_collate([data[64 * b + i] for i in range(64)]) for b in range(25)
    ]
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3, stride=2), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(2), torch.nn.Flatten(),
        torch.nn.Linear(64, 10),
    )  # fmt: skip
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    arguments = (model, batches, torch.nn.CrossEntropyLoss(), optimizer, torch.device("cpu"))
    for _ in range(4):
        seen = student.train_epoch(*arguments)

    assert seen["accuracy"] > 30.0


def test_own_times_leave_out_what_is_inside():
    """Operators, ranges and calls; other threads and the GPU have nothing to do with it."""
    from given import own_times
    from given.traces import Event

    def event(category, name, start, end, thread=1):
        return Event(category, name, start, end, (9, thread))

    found = own_times(
        [
            event("user_annotation", "a range", 0, 20),
            event("cpu_op", "outer", 0, 10),
            event("cpu_op", "elsewhere", 1, 9, thread=2),
            event("kernel", "gemm", 1, 9, thread=7),
            event("cpu_op", "inner", 2, 5),
            event("cuda_runtime", "cudaLaunchKernel", 3, 4),
            event("cpu_op", "inner", 6, 7),
            event("cpu_op", "next", 10, 12),
        ]
    )

    assert {"outer": 6, "elsewhere": 8, "inner": 3, "next": 2} == found
