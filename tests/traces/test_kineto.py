"""torch.profiler's traces: names of old and new versions, times to the nanosecond, values that are none."""

from __future__ import annotations

import json

import pytest

from autograder.errors import SubmissionError
from autograder.traces import events as recording
from autograder.traces import stretch, summary
from autograder.traces.kineto import nanoseconds
from tests.traces.made import (
    allocated,
    event,
    figures,
    kernel,
    kineto,
    processor,
    read_made,
    step,
    training,
)

OLD = {
    "kernel": "Kernel",
    "gpu_memcpy": "Memcpy",
    "cuda_runtime": "Runtime",
    "cuda_driver": "Runtime",
    "cpu_op": "Operator",
    "user_annotation": "Operator",
}


@pytest.mark.parametrize(
    ("us", "ns"),
    [
        pytest.param(12, 12_000, id="whole"),
        pytest.param(0.001, 1, id="one nanosecond"),
        pytest.param(4363369236522.327, 4363369236522327, id="with a base"),
        pytest.param(1623142623460016, 1623142623460016000, id="since the epoch, exactly"),
        pytest.param(1712191895123456.0, 1712191895123456000, id="since the epoch, as a float"),
        pytest.param(-3.5, -3500, id="before the base"),
        pytest.param("12", None, id="text"),
        pytest.param(True, None, id="true"),
        pytest.param(None, None, id="missing"),
        pytest.param(float("nan"), None, id="nan"),
        pytest.param(float("inf"), None, id="infinite"),
        pytest.param(10**30, None, id="beyond all times"),
        pytest.param(1e300, None, id="beyond all times, as a float"),
    ],
)
def test_microseconds_become_nanoseconds_exactly(us, ns):
    assert ns == nanoseconds(us)


def test_names_of_2021_mean_the_same(tmp_path):
    """Up to torch 1.9 categories were capitalised, and steps and loaders were operators."""
    old = [{**one, "cat": OLD.get(one["cat"], one["cat"])} for one in training()]

    gpus = [{"name": "Tesla V100"}]

    now = read_made(tmp_path, kineto(training(), deviceProperties=gpus))
    then = read_made(tmp_path, kineto(old, computeProperties=gpus))

    assert (now.figures, now.tables, now.breakdown) == (then.figures, then.tables, then.breakdown)
    assert ("Tesla V100",) == now.devices == then.devices


def test_calls_of_other_makers_are_calls(tmp_path):
    intel = [kernel(5, 1), event("xpu_runtime", "urEnqueueKernelLaunch", 1, 2, correlation=1)]

    assert 1 == read_made(tmp_path, kineto(intel)).figure("launch_count")


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(
            [{"Time (%)": 1.0, "Total Time (ns)": 5, "Name": "gemm"}], id="nsys stats --format json"
        ),
        pytest.param(
            [{"ph": "X", "name": "conv", "ts": 1, "dur": 2, "pid": "CPU functions"}],
            id="torch of 2019",
        ),
    ],
)
def test_events_of_another_tool_are_refused(tmp_path, made):
    with pytest.raises(SubmissionError, match="holds no operator, kernel or range: nothing ran"):
        read_made(tmp_path, json.dumps(made).encode())


def test_a_base_time_says_when_it_was_recorded(tmp_path):
    early, late = kineto(training()), kineto(training(), baseTimeNanoseconds=1_790_857_026 * 10**9)

    assert "recorded" not in read_made(tmp_path, early).signals
    assert read_made(tmp_path, late).signals["recorded"].startswith("2026-10-01T")
    assert read_made(tmp_path, early).figures == read_made(tmp_path, late).figures


def test_only_facts_of_the_header_are_kept_and_no_name_of_the_host(tmp_path):
    header = {
        "trace_id": "AB",
        "host_name": "ada-laptop",
        "environment": {"TOKEN": "s3cret"},
        "record_shapes": 1,
    }
    group, gpus = {"rank": 1, "world_size": 4}, [{"name": "NVIDIA A100"}, "odd"]

    trace = read_made(
        tmp_path, kineto(training(), **header, distributedInfo=group, deviceProperties=gpus)
    )

    assert ("AB", "1", "1 of 4") == tuple(
        trace.signals[name] for name in ("trace_id", "record_shapes", "rank")
    )
    assert ("NVIDIA A100",) == trace.devices
    assert 12 == len(trace.signals["host"])
    assert not any(word in str(trace) for word in ("ada-laptop", "s3cret"))


ODD = [
    {**kernel(1, 2), "ts": "soon"},
    {**kernel(1, 2), "dur": -1},
    {**kernel(1, 2), "dur": None},
    {**kernel(1, 2), "ts": 10**40},
]


def test_events_without_a_time_are_counted_and_left_out(tmp_path):
    trace = read_made(tmp_path, kineto([*training(), *ODD]))

    assert "4 events could not be read and are left out" in trace.notes
    assert 3 == figures(trace)["kernel_count", "trace"]
    assert (
        "1 event could not be read and is left out"
        in read_made(tmp_path, kineto([*training(), ODD[0]])).notes
    )


def test_the_most_memory_of_each_device_is_kept(tmp_path):
    """What cannot be read, or is of a device that nobody knows, is left out."""
    said = [allocated(*one) for one in [(4,), (9,), (5,), (70, 0, 1), (60, 0, 1), (80, 1, 1)]]
    odd = [
        allocated(*one)
        for one in [("x",), (99, None, 7), (99, None, 1), (99, 10**6, 1), (99, 0, []), (-1,)]
    ]
    trace = read_made(tmp_path, kineto([*training(), *said, *odd, {**said[0], "args": 1}]))

    assert [("cpu_memory_peak", None, 9), ("memory_peak", 0, 70), ("memory_peak", 1, 80)] == [
        (one.id, one.device, one.value) for one in trace.figures if "memory_peak" in one.id
    ]


def test_any_value_of_any_field_is_survived(tmp_path):
    """Nothing that JSON can hold breaks the reader."""
    values = [None, True, -1, 10**30, 1e308, "x" * 5000, [], {}, [[]], "\ud800"]
    odd = [
        {**kernel(5, 1, correlation=1), field: value} for value in values for field in kernel(0, 1)
    ]
    odd += [
        kernel(5, 1, **{field: value})
        for value in values
        for field in ("device", "stream", "correlation", "bytes", "External id", "blocks per SM")
    ]
    header = dict.fromkeys(
        ("deviceProperties", "distributedInfo", "baseTimeNanoseconds", "host_name", "trace_id"),
        values,
    )

    trace = read_made(tmp_path, kineto([*training(), *odd], **header))

    assert json.dumps([one.value for one in trace.figures], allow_nan=False)


NOTES = {
    summary.OVERWRITTEN: [step(7, 0, 100)],
    summary.NO_GPU: processor(),
    summary.NO_STEPS: [one for one in processor() if "Step" not in one["name"]],
    summary.ONE_STEP: training(),
    summary.COMM: training(),
    summary.NO_KERNELS: [one for one in training() if one["tid"] == 1],
    "0.1 ms of GPU work lie after the last step": [
        step(1, 0, 100),
        step(2, 100, 100),
        kernel(200, 100),
    ],
    "the first step took 5.0 times as long as the others": [
        step(1, 0, 500),
        step(2, 500, 100),
        step(3, 600, 100),
        kernel(0, 1),
    ],
    "the file ends in the middle": kineto(training())[:-300],
    "60,000 events of Python frames": [
        *training(),
        *[event("python_function", "a.py(1): f", 1, 1)] * 60_000,
    ],
}


@pytest.mark.parametrize(("words", "made"), NOTES.items(), ids=[words[:40] for words in NOTES])
def test_the_reader_is_told_what_matters(tmp_path, words, made):
    trace = read_made(tmp_path, made if isinstance(made, bytes) else kineto(made))

    assert any(note.startswith(words) for note in trace.notes)


def test_a_good_profile_has_nothing_to_tell(tmp_path):
    """A note on everything would be read by nobody."""
    assert (
        ()
        == read_made(tmp_path, kineto([step(1, 0, 100), step(2, 100, 100), kernel(50, 100)])).notes
    )


def test_an_overwritten_trace_is_told_apart_from_one_without_a_gpu(tmp_path):
    assert (summary.OVERWRITTEN,) == read_made(tmp_path, kineto([step(7, 0, 100)])).notes


def test_signals_say_whether_causes_come_before_effects(tmp_path):
    early = [
        *training(),
        event("cuda_runtime", "cudaLaunchKernel", 990, 5, correlation=9),
        kernel(980, 5, correlation=9),
    ]

    told = read_made(tmp_path, kineto([*early, step(5, 1000, 10)])).signals

    assert "4 of 4" == told["kernels with their launch"]
    assert "1" == told["kernels that start before their launch"]
    assert "3 to 5, with gaps" == told["steps"]


@pytest.mark.parametrize(
    ("cap", "value", "words"),
    [
        pytest.param(
            (recording, "MOST_EVENTS"), 5, "more than 5 events; record fewer steps", id="events"
        ),
        pytest.param((stretch, "MOST_GPUS"), 0, "work on 1 GPU; at most 0", id="GPUs"),
    ],
)
def test_refusals_name_the_file_and_caps_are_said_in_words(
    tmp_path, monkeypatch, cap, value, words
):
    monkeypatch.setattr(*cap, value)

    with pytest.raises(SubmissionError, match=f"^made_trace.json: {words}"):
        read_made(tmp_path, kineto(training()))


def test_too_many_names_share_one(tmp_path, monkeypatch):
    monkeypatch.setattr(recording, "MOST_NAMES", 2)

    names = {row.name for row in read_made(tmp_path, kineto(training())).rows("kernels")}

    assert {"(other names)"} == names


def test_a_file_cut_in_the_middle_is_told_of_that_alone(tmp_path):
    """Operators that are missing because the file ends are no sign of a schedule that went on."""
    cut = kineto([step(7, 0, 100), step(8, 100, 100)])[:-30]

    assert (
        "the file ends in the middle: these are figures of what is there; export it again",
    ) == read_made(tmp_path, cut).notes


GPU_HEADER = {"deviceProperties": [{"name": "NVIDIA H100"}]}
ON_A_CPU = [step(7, 0, 100), event("cpu_op", "aten::mm", 0, 50), step(8, 100, 100)]


@pytest.mark.parametrize(
    ("made", "notes"),
    [
        pytest.param(kineto(ON_A_CPU), (summary.NO_GPU,), id="of a CPU"),
        pytest.param(
            kineto(ON_A_CPU, **GPU_HEADER), (summary.NOT_ASKED,), id="on a machine with a GPU"
        ),
        pytest.param(
            kineto([*training()[:7]], **GPU_HEADER)[:-60],
            (summary.CUT, summary.ONE_STEP),
            id="cut, with a GPU",
        ),
        pytest.param(
            kineto(ON_A_CPU)[:-60], (summary.CUT, summary.ONE_STEP), id="cut, and no word of a GPU"
        ),
    ],
)
def test_a_file_that_lost_its_kernels_is_not_of_a_cpu(tmp_path, made, notes):
    """Kernels stand last in a file: one that is cut, or of a machine with a GPU, is not "recorded without a GPU"."""
    found = read_made(tmp_path, made).notes

    assert set(notes) == {
        note for note in found if not note.startswith("the file ends in the middle")
    }


@pytest.mark.parametrize(
    ("args", "words"),
    [
        pytest.param(
            "[" * 100_000 + "]" * 100_000, "none of its events can be read", id="nested too deep"
        ),
        pytest.param(
            '"' + "x" * 9_000_000 + '"', "its first event is longer than 4 MB", id="too long"
        ),
    ],
)
def test_an_event_that_cannot_be_read_is_said_to_be_there(tmp_path, args, words):
    """Neither "holds no trace events" nor "ends in the middle" is true of it."""
    text = (
        '{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "a", "ts": 0, "dur": 1, "args": '
        + args
        + "}]}"
    )
    with pytest.raises(SubmissionError, match=words):
        read_made(tmp_path, text)


def test_what_stands_before_an_event_that_is_too_long_is_kept(tmp_path):
    made = kineto([kernel(0, 1), kernel(0, 1, "x" * 9_000_000)])

    assert any(
        note.startswith("one event is longer than 4 MB") for note in read_made(tmp_path, made).notes
    )


def test_all_steps_are_counted_and_the_first_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(summary, "MOST_STEPS", 3)
    trace = read_made(tmp_path, kineto([step(number, 10 * number, 10) for number in range(9)]))

    assert (3, 9) == (len(trace.steps), trace.step_count)
