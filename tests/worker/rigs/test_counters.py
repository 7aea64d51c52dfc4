"""What the worker counts and collects: operations, saved bytes, answers by case; and functions that take scripted time."""

from __future__ import annotations

import statistics
import time
import timeit

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from autograder.worker.rig import Rig
from autograder.worker.rigs.counters import Counter


@pytest.fixture
def rig(tmp_path):
    rig = Rig(seed=7, side="student", device="cpu", folder=tmp_path)
    rig.install()
    yield rig
    rig.uninstall()


def test_operations_are_counted_views_included():
    values = torch.ones(4)
    with Counter([values]) as seen:
        (values[0] + values[1]).mul_(2)

    assert (4, 2) == (seen.operations, seen.count)


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("form", ["coo", "csr", "csc"])
def test_a_sparse_tensor_counts_as_the_tensors_that_hold_its_numbers(form):
    """Two numbers, and where they are; it has no storage of its own."""
    dense = torch.tensor([[0.0, 1.0, 0.0], [2.0, 0.0, 0.0]])
    sparse = getattr(dense, f"to_sparse_{form}" if form != "coo" else "to_sparse")()
    with Counter([sparse]) as seen:
        result = sparse @ torch.ones(3, 4)

    assert (2, 4) == result.shape
    assert seen.bytes > 2 * 4 + 2 * 8
    assert result.untyped_storage().nbytes() <= seen.made


def test_operations_of_a_loop_grow_with_its_rounds():
    counts = []
    for n in (5, 50):
        with Counter() as seen:
            sum(value for value in torch.ones(n))
        counts.append(seen.operations)

    assert counts[1] > 5 * counts[0]


def test_bytes_kept_for_backward_count_each_storage_once_and_no_input(rig):
    x = torch.ones(100, 10, requires_grad=True)
    with rig.saved(x) as seen:
        y = x.exp()  # keeps its result
        (y * y * x).sum()  # y again, and one product

    assert 2 * x.nbytes == seen.bytes


def test_what_was_made_in_a_call_and_is_there_after_it_is_held():
    x = torch.ones(100, 10)
    with Counter([x]) as seen:
        y = x.exp()
        kept = [y * 2, x[:5], y.detach()]

    assert (2 * x.nbytes, 2 * x.nbytes) == (seen.made, seen.held)
    seen.leave_out([y])
    del kept
    assert 0 == seen.held


def test_answers_are_forms_and_one_row_of_numbers(rig):
    answers = rig.answers()
    answers.add("two", torch.tensor([[1, 2]]))
    answers.add("none", None)
    answers.add("a number", 3.0)
    answers.add("half", torch.ones(1, dtype=torch.bfloat16), "float32")
    seen = answers.values()

    assert [
        ("two", [1, 2], "int64"),
        ("none", [], "nothing"),
        ("a number", [], "float"),
        ("half", [1], "bfloat16"),
    ] == [(case["case"], case["shape"], case["dtype"]) for case in seen["cases"]]
    assert [1.0, 2.0, -1.0, 3.0, 1.0] == np.nan_to_num(seen["numbers"], nan=-1.0).tolist()


def raising():
    raise ValueError("no such shape")


def test_a_case_that_raises_is_an_answer_and_the_next_one_is_asked(rig):
    answers = rig.answers()
    answers.ask("first", raising)
    answers.ask("second", torch.ones, 1)

    assert ["raised ValueError: no such shape", "float32"] == [
        case["dtype"] for case in answers.values()["cases"]
    ]


def test_what_is_not_written_yet_and_what_the_baseline_raises_is_raised(rig, tmp_path):
    with pytest.raises(NotImplementedError):
        rig.answers().ask("first", _not_written)
    with pytest.raises(ValueError, match="no such shape"):
        Rig(seed=7, side="baseline", device="cpu", folder=tmp_path).answers().ask("first", raising)


def _not_written():
    raise NotImplementedError


def test_the_baseline_computes_exactly_and_says_which_dtype_is_asked_for(tmp_path):
    rig = Rig(seed=7, side="baseline", device="cpu", folder=tmp_path)
    tensor = rig.tensor(np.array([1 / 3]), "bfloat16").double()
    answers = rig.answers()
    answers.add("a third", tensor, "bfloat16")

    assert (torch.float64, "bfloat16") == (tensor.dtype, answers.values()["cases"][0]["dtype"])
    assert torch.tensor(1 / 3).bfloat16().double() == tensor


def test_no_answers_are_an_empty_array(rig):
    assert (0,) == rig.answers().values()["numbers"].shape


@pytest.mark.parametrize(
    ("change", "changed"),
    [
        pytest.param(lambda x: x.add(1), [], id="a new tensor"),
        pytest.param(lambda x: x.add_(1), ["x"], id="in place"),
        pytest.param(lambda x: x.add_(0), [], id="in place, to no effect"),
    ],
)
def test_a_changed_input_is_named_and_nan_equals_nan(rig, change, changed):
    inputs = {"x": torch.tensor([[1.0, torch.nan], [2.0, 3.0]]).t(), "k": 3, "y": torch.tensor(1)}
    before = rig.copies(inputs)
    change(inputs["x"])

    assert changed == rig.changed(inputs, before)


def timed(function, tensor):
    start = time.perf_counter()
    function(tensor)
    return time.perf_counter() - start


def test_a_scripted_call_takes_its_seconds_but_for_the_first_one_and_two_of_each_round(rig):
    call, tensor = rig.scripted_call({4: 2.0}, {}, 5), torch.zeros(4, 1)
    first, *times = (round(timed(call, tensor), 3) for _ in range(11))

    assert first >= 3.0 + 1.6
    assert [1.6, 1.9, 2.0, 2.1, 10.0] == sorted(times[:5]) == sorted(times[3:8])


@pytest.mark.parametrize("repeats", [3, 5, 7, 9])
def test_without_a_warm_up_the_median_is_another_one(rig, repeats):
    call, tensor = rig.scripted_call({4: 2.0}, {}, repeats), torch.zeros(4, 1)
    times = [timed(call, tensor) for _ in range(repeats + 1)]

    assert 2.0 * 1.05 <= round(statistics.median(times[:repeats]), 3)
    assert 2.0 == round(statistics.median(times[1:]), 3)


def test_a_call_that_is_watched_warms_up_as_well(rig):
    call, tensor = rig.scripted_call({4: 2.0}, {}, 5), torch.zeros(4, 1)
    with Watching():
        call(tensor)

    assert 1.6 == round(timed(call, tensor), 3)


def test_calls_are_counted_by_whether_they_are_watched(rig):
    call, tensor = rig.scripted_call({4: 2.0}, {}, 5), torch.zeros(4, 1)
    with Watching():
        call(tensor)
    call(tensor)
    call(tensor)

    assert {"watched": 1, "": 2} == call.counts(4)


class Watching(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        self.bytes += result.nbytes
        return result


def test_a_scripted_call_is_slower_and_shows_its_memory_while_it_is_watched(rig):
    call, tensor = rig.scripted_call({4: 2.0}, {4: 1000}, 5), torch.zeros(4, 1)
    call(tensor)
    with Watching() as watching:
        seconds = timed(call, tensor)

    assert (6.0, 1000) == (pytest.approx(seconds, abs=1e-3), watching.bytes)


def test_timeits_own_functions_follow_the_clock(rig):
    rig.clock.freeze()
    advance = lambda: rig.clock.advance(5.0)  # noqa: E731 timeit takes a function

    assert pytest.approx(5, abs=1e-3) == timeit.timeit(advance, number=1)
    assert pytest.approx([5, 5], abs=1e-3) == timeit.repeat(advance, number=1, repeat=2)
    assert pytest.approx(5, abs=1e-3) == timeit.Timer(advance).timeit(1)


def test_timeit_gets_its_own_clock_back(tmp_path):
    before = timeit.repeat.__defaults__
    rig = Rig(seed=7, side="student", device="cpu", folder=tmp_path)
    rig.install()
    rig.uninstall()

    assert before == timeit.repeat.__defaults__
