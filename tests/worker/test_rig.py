"""The worker's toolkit: a movable clock, trainings from a seed, and readers of whatever was returned."""

from __future__ import annotations

import math
import os
import time
import timeit
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from autograder.worker.rig import BadReturn, Returned, Rig
from autograder.worker.rigs import returned
from autograder.worker.rigs.clock import VirtualClock


@pytest.fixture
def clock():
    moved = VirtualClock()
    moved.install()
    yield moved
    moved.uninstall()


# --- the clock --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["perf_counter", "monotonic", "time"])
def test_every_timer_moves_with_the_clock_in_seconds_and_nanoseconds(clock, name):
    clock.freeze()
    before, before_ns = getattr(time, name)(), getattr(time, f"{name}_ns")()
    clock.advance(100.0)

    assert pytest.approx(100, abs=1e-3) == getattr(time, name)() - before
    assert pytest.approx(100e9, abs=1e6) == getattr(time, f"{name}_ns")() - before_ns


@pytest.mark.parametrize(("name", "seconds"), [("perf_counter", 100.0), ("time", 120.0)])
def test_the_clock_on_the_wall_can_go_at_another_rate(clock, name, seconds):
    """So that who takes times with a clock that others set is seen."""
    clock.freeze(wall=1.2)
    before = getattr(time, name)()
    clock.advance(100.0)

    assert pytest.approx(seconds, abs=1e-3) == getattr(time, name)() - before


def test_time_at_work_does_not_count_waiting(clock):
    clock.freeze()
    before = time.process_time()
    clock.advance(100.0)
    clock.advance(5.0, busy=True)

    assert pytest.approx(5) == time.process_time() - before


def test_a_clock_that_is_not_frozen_shows_real_time_and_the_scripted(clock):
    before = time.perf_counter()
    clock.advance(1000.0)

    assert 1000 <= timeit.default_timer() - before < 1100


def test_a_frozen_clock_moves_a_little_at_each_reading(clock):
    clock.freeze()

    assert 0 < -(time.perf_counter() - time.perf_counter()) < 1e-3


def test_equal_times_are_equal_to_the_last_digit_where_readings_take_none(clock):
    clock.freeze(tick=0)
    readings = []
    for _ in range(20):
        readings.append(time.perf_counter())
        clock.advance(1 / 16)

    assert {1 / 16} == {after - before for before, after in pairwise(readings)}


def test_a_nap_moves_a_frozen_clock_and_takes_no_time(clock):
    """So that who sleeps in one of two measurements is seen, whatever they script."""
    begun = time.clock_gettime(time.CLOCK_MONOTONIC)
    clock.freeze()
    before = time.perf_counter()
    time.sleep(900)

    assert 900 == pytest.approx(time.perf_counter() - before, abs=1e-3)
    assert time.clock_gettime(time.CLOCK_MONOTONIC) - begun < 60


def test_the_real_timers_come_back():
    real, sleep = time.perf_counter, time.sleep
    clock = VirtualClock()
    clock.install()
    clock.uninstall()

    assert real is time.perf_counter
    assert sleep is time.sleep
    assert real is timeit.default_timer


# --- trainings from the seed ------------------------------------------------------------------------------------------


def test_a_window_is_the_same_at_each_call_and_another_for_another_seed(rig, tmp_path):
    other = Rig(seed=8, side="student", device="cpu", folder=tmp_path)
    first, again, different = (r.window().weights() for r in (rig, rig, other))

    assert first.tolist() == again.tolist()
    assert first.tolist() != different.tolist()


def test_drawing_a_window_leaves_torchs_random_numbers_alone(rig):
    torch.manual_seed(1)
    expected = torch.rand(1).item()
    torch.manual_seed(1)
    rig.window()

    assert expected == torch.rand(1).item()


def test_the_last_batch_is_shorter_and_the_loader_knows_its_length(rig):
    loader = rig.window([4, 4, 3]).loader

    assert [4, 4, 3] == [len(labels) for _, labels in loader]
    assert (3, 11) == (len(loader), len(loader.dataset))


def test_a_poisoned_batch_is_there_for_the_student_and_left_out_for_the_baseline(tmp_path):
    batches = {}
    for side in ("student", "baseline"):
        window = Rig(seed=7, side=side, device="cpu", folder=tmp_path).window(
            [4, 4, 4, 3], poison=1
        )
        batches[side] = [bool(torch.isfinite(images).all()) for images, _ in window.loader]

    assert {"student": [True, False, True, True], "baseline": [True, True, True]} == batches


def test_both_sides_draw_the_same_secrets(tmp_path):
    student, baseline = (
        Rig(seed=7, side=s, device="cpu", folder=tmp_path) for s in ("student", "baseline")
    )

    assert [student.integer(1, 9), student.seconds(0, 1, 2)] == [
        baseline.integer(1, 9),
        baseline.seconds(0, 1, 2),
    ]


def test_a_scripted_window_moves_the_clock_by_waits_and_work(rig):
    rig.install()
    try:
        window = rig.window([2, 2, 1])
        rig.script(window, [1.0, 2.0, 3.0], [10.0, 20.0, 30.0])
        before = time.perf_counter()
        for images, _ in window.loader:
            window.model(images)

        assert pytest.approx(66, abs=1e-3) == time.perf_counter() - before
    finally:
        rig.uninstall()


def test_whole_passes_over_a_loader_can_wait_more_and_less_in_turns(rig):
    """A pass that is broken off is none, so that any two whole ones that follow each other take as long as two others."""
    window = rig.window([8, 8, 5])
    rig.script(window, [1.0, 2.0, 3.0], [], 0.5)
    took = []
    for batches in (1, 3, 3, 2, 3, 3):
        begun = rig.clock.scripted
        for _ in islice(window.loader, batches):
            pass
        took.append(rig.clock.scripted - begun)

    assert [1.5, 9.0, 3.0, 4.5, 9.0, 3.0] == took


# --- readers ----------------------------------------------------------------------------------------------------------


class Odd:
    """No number, and it says so in its own way."""

    def __float__(self):
        raise TypeError


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (1, 1.0), (np.float32(0.5), 0.5), (torch.tensor(2.0, requires_grad=True), 2.0), (math.nan, None), (math.inf, None),
        (None, None), ("1", None), (True, None), ([1], None), (torch.ones(2), None), (10**400, None), (Odd(), None),
    ],
)  # fmt: skip
def test_a_number_is_finite_or_none(value, number):
    assert number == returned.number(value)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param([1.0, 2.0], id="list"),
        pytest.param((1, 2), id="tuple"),
        pytest.param(torch.tensor([1.0, 2.0], requires_grad=True), id="tensor"),
        pytest.param(torch.tensor([1.0, 2.0], dtype=torch.bfloat16), id="bfloat16"),
        pytest.param([torch.tensor(1.0), torch.tensor(2.0)], id="list of tensors"),
        pytest.param(np.array([1, 2]), id="array"),
    ],
)
def test_a_series_is_read_from_lists_tensors_and_arrays(value):
    found = returned.series(value, "losses")

    assert ([1.0, 2.0], "float64") == (found.tolist(), str(found.dtype))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        pytest.param(None, "'losses' is None; return a list of floats", id="None"),
        pytest.param(1.5, "'losses' is a float; return a list of floats", id="a number"),
        pytest.param(torch.ones(2, 2), "'losses' has 2 dimensions", id="two dimensions"),
        pytest.param(["a"], "an entry of 'losses' is a str, and must be a number", id="text"),
        pytest.param(
            [Odd()], "an entry of 'losses' is an Odd, and must be a number", id="an object"
        ),
        pytest.param(
            [type("N" * 1000, (), {})()],
            "an entry of 'losses' is a " + "N" * 60 + ", and",
            id="a long name",
        ),
        pytest.param([0.0] * 5000, "'losses' is a list", id="too long"),
        pytest.param(torch.zeros(5000), "'losses' is a list", id="too long a tensor"),
    ],
)
def test_what_is_no_series_is_refused_in_words(value, words):
    with pytest.raises(BadReturn) as refused:
        returned.series(value, "losses")

    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        pytest.param(None, "f returned None instead of a dict", id="None"),
        pytest.param((1, 2), "f returned a tuple instead of a dict", id="tuple"),
        pytest.param({}, "f returned no 'loss'; it returned an empty dict", id="empty"),
        pytest.param(
            {"los": 1, 2: 3}, "f returned no 'loss'; it returned los, 2", id="another name"
        ),
    ],
)
def test_a_missing_result_is_said_in_words(value, words):
    with pytest.raises(BadReturn) as refused:
        Returned("f", value)["loss"]

    assert words == str(refused.value)


KINDS = {
    "a dict": (lambda value: Returned("f", value), "no return"),
    "rows": (lambda value: returned.rows(value, "f"), "no return"),
    "a tensor": (returned.flat, "no return"),
    "a key": (lambda _: Returned("f", {"los": 1})["loss"], "missing key"),
}


@pytest.mark.parametrize(("read", "kind"), KINDS.values(), ids=KINDS)
def test_nothing_and_a_missing_key_are_told_from_what_has_another_type(read, kind):
    with pytest.raises(BadReturn) as refused:
        read(None)

    assert kind == refused.value.kind


def test_rows_become_plain_cells():
    rows = [
        {
            "a": np.float64(1.5),
            "b": "x\0y",
            "c": None,
            "d": math.nan,
            "e": [1],
            "f": -math.inf,
            "g": True,
        }
    ]

    plain = {"a": 1.5, "b": "x y", "c": None, "d": None, "e": "<list>", "f": "-inf", "g": "True"}
    assert [plain] == returned.rows(rows, "f")


@pytest.mark.parametrize("value", [None, "rows", [1], {"a": 1}])
def test_what_is_no_list_of_dicts_is_refused(value):
    with pytest.raises(BadReturn, match="return a list of dicts"):
        returned.rows(value, "f")


def test_a_file_of_the_student_is_read_as_printable_text(rig):
    path = rig.folder / "a.csv"
    path.write_bytes(b"a\r\nb\0\xff\n")

    assert ("a\nb \N{REPLACEMENT CHARACTER}\n", b"a\r\n") == (
        rig.file_text(path),
        rig.file_bytes(path, 3).tobytes(),
    )


def test_a_byte_order_mark_is_no_text(rig):
    (rig.folder / "a.csv").write_text('"a",b\n', encoding="utf-8-sig")

    assert '"a",b\n' == rig.file_text(rig.folder / "a.csv")


@pytest.mark.parametrize(
    "make", [Path.mkdir, lambda path: path.symlink_to("/etc/hostname"), os.mkfifo, lambda _: None]
)
def test_what_is_no_ordinary_file_is_read_as_nothing(rig, make):
    make(rig.folder / "a.csv")

    assert ("", b"") == (
        rig.file_text(rig.folder / "a.csv"),
        rig.file_bytes(rig.folder / "a.csv", 9).tobytes(),
    )


@pytest.mark.parametrize("half", [False, True])
def test_a_labelled_window_is_right_as_often_as_was_asked_and_stays_fresh(rig, half):
    """Per batch, as train() mode sees it, in 16 bits as well; weights and batch norms are as they were made."""
    window = rig.window([40, 40, 3])
    window.label([23, 19, 27])
    fresh = rig.window().model.state_dict()
    same = [bool((fresh[name] == value).all()) for name, value in window.model.state_dict().items()]
    with torch.autocast("cpu", enabled=half):
        hits = [
            int((window.model(images).argmax(1) == labels).sum())
            for images, labels in window.loader
        ]

    assert ([23, 19, 3], {True}) == (hits, set(same))


def test_code_run_under_autocast_computes_in_that_format(rig):
    assert torch.float16 is rig.autocast(
        "float16", lambda: (torch.ones(2, 2) @ torch.ones(2, 2)).dtype
    )
