"""Profiles that are handed in: read in a process of their own, and judged in the words that students read."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

import pytest

from autograder import checks
from autograder.checks import trace
from autograder.errors import SubmissionError
from autograder.model import Failed, Passed, Text
from autograder.records import to_json
from autograder.traces import is_profile
from autograder.traces.record import Figure, Row, Trace, Window
from tests.traces.made import kineto, read_made, training

MADE = Trace(
    "made_trace.json",
    "0",
    "kineto",
    figures=(Figure("busy_kernel", 54.9, "%", "steps", 0),),
    tables={"kernels": (Row("gemm", 1, 90, 90.0), Row("relu", 1, 10, 10.0))},
)
TRY = "read the figure named busy_kernel that perflab trace prints"


@pytest.mark.parametrize(
    ("file", "profile"),
    [
        ("baseline_trace.json", True),
        ("profile.json.gz", True),
        ("nsys_stats.csv", True),
        ("ncu.txt", True),
        ("report.sqlite", True),
        ("report.nsys-rep", True),
        ("report.ncu-rep", True),
        ("answers.json", False),
        ("results.csv", False),
        ("notes.txt", False),
        ("trace.png", False),
    ],
)
def test_a_declared_file_is_a_profile_by_its_name(file, profile):
    assert profile == is_profile(file)


def test_a_claim_that_holds_passes_with_its_definition():
    words = "GPU utilization is given as 55.0 %; the profile says 54.9 % (`busy_kernel` in perflab trace, over the steps, GPU 0)"

    assert Passed(
        words, {"definition": "`busy_kernel` in perflab trace, over the steps, GPU 0"}
    ) == trace.agrees(MADE, "gpu_utilization", 55.0, try_=TRY)


def test_a_claim_that_does_not_hold_says_why():
    words = "GPU utilization is given as 90.0 %; the profile says 54.9 % (`busy_kernel` in perflab trace, over the steps, GPU 0)"
    why = "that is the share of 'gemm' among the kernels listed, not a utilization"

    assert Failed(words, why, TRY) == trace.agrees(MADE, "gpu_utilization", 90.0, try_=TRY)


def test_names_are_judged_alike():
    assert Passed(
        "named: gemm; they lead the kernels", {"definition": "kernels"}
    ) == trace.names_top(MADE, ["gemm"], try_=TRY)
    assert Failed("named: relu", "the profile's largest are kernels: gemm", TRY) == trace.names_top(
        MADE, ["relu"], try_=TRY
    )


NAMES = ("forward", "backward")
WHOLE = Trace(
    "made_trace.json",
    "0",
    "kineto",
    figures=(Figure("dataloader", 5.0, "%", "steps"),),
    tables={"ranges": tuple(Row(name, 3, 90, 50.0) for name in NAMES)},
    steps=tuple(Window(f"ProfilerStep#{number}", number, 1) for number in (2, 3, 4)),
)
LESS = {
    "nothing": ({}, ""),
    "a step": ({"steps": WHOLE.steps[1:]}, "it holds 2 steps, expected 3"),
    "what notes do not explain": (
        {"steps": WHOLE.steps[1:], "notes": ("recorded without a GPU",)},
        "it holds 2 steps, expected 3",
    ),
    "what notes explain": (
        {"steps": (), "notes": ("no ProfilerStep: record with a schedule",)},
        "it holds 0 steps, expected 3: no ProfilerStep",
    ),
    "the warm-up": (
        {"steps": tuple(Window(f"ProfilerStep#{number}", number, 1) for number in (0, 1, 2))},
        "its steps are 0 to 2; expected are 2 to 4",
    ),
    "a range": (
        {"tables": {"ranges": (Row("forward", 3, 90, 100.0),)}},
        "it holds the range 'backward' 0 times in 3 steps",
    ),
    "once in a step": (
        {"tables": {"ranges": (Row("forward", 6, 90, 100.0), Row("backward", 3, 90, 100.0))}},
        "it holds the range 'forward' 6 times in 3 steps",
    ),
    "the loader": (
        {"figures": (Figure("dataloader", 0.0, "%", "steps"),)},
        "it holds no wait for a DataLoader",
    ),
}


@pytest.mark.parametrize(("change", "words"), LESS.values(), ids=LESS)
def test_a_profile_of_so_many_steps_with_these_ranges(change, words):
    assert words == trace.recorded(replace(WHOLE, **change), 3, 2, NAMES)


OTHERS = {
    "nothing": ({}, False, ""),
    "too few steps": ({"steps": WHOLE.steps[:1], "notes": ("cut short",)}, False, "1 step, expected at least 3: cut short"),
    "another range": ({"tables": {"ranges": (Row("forward", 3, 90, 50.0),)}}, False, "it holds the script's range 'backward' 0 times in 3 steps"),
    "no loader": ({"figures": ()}, False, "it holds no wait for a DataLoader"),
    "workers": ({"tables": {"ranges": (*WHOLE.tables["ranges"], Row("_MultiProcessing", 3, 9, 1.0))}}, False, "its DataLoader has workers"),
    "workers, asked for": ({"tables": {"ranges": (*WHOLE.tables["ranges"], Row("_MultiProcessing", 3, 9, 1.0))}}, True, ""),
    "no workers": ({}, True, "its DataLoader has no workers"),
    "nsys, which does not say": ({"tool": "nsys"}, True, ""),
    "another network": (
        {"tables": {**WHOLE.tables, "operators": (Row("aten::convolution_backward", 60, 9, 1.0),)}}, False,
        "its network has 20 convolutions a step, and the script's has 3",
    ),
    "its network": ({"tables": {**WHOLE.tables, "operators": (Row("aten::convolution_backward", 9, 9, 1.0),)}}, False, ""),
}  # fmt: skip


@pytest.mark.parametrize(("change", "workers", "words"), OTHERS.values(), ids=OTHERS)
def test_a_profile_is_of_the_script_or_of_another(change, workers, words):
    found = trace.of_another(replace(WHOLE, **change), 3, NAMES, 3, workers=workers)

    assert bool(words) == bool(found)
    assert words in found


def test_work_is_kernels_and_operators():
    kept = trace.work_of(replace(MADE, tables={**MADE.tables, **WHOLE.tables}))

    assert MADE.tables == kept.tables


def test_a_record_survives_its_journey(tmp_path):
    """What the reader's process prints is what the supervisor reads: every field, strictly."""
    made = read_made(tmp_path, kineto(training()))

    assert made == trace.decoded(json.dumps({"trace": to_json(made)}).encode())


@pytest.mark.slow
def test_a_file_is_read_behind_the_fence(tmp_path):
    data = gzip.compress(kineto(training()))

    assert (
        read_made(tmp_path, data, "a_trace.json").figures
        == checks.read(data, "a_trace.json").figures
    )
    with pytest.raises(SubmissionError, match=r"^a_trace.json: is empty"):
        checks.read(b"", "a_trace.json")
    assert isinstance(checks.read(b"{}", "answers.json"), Text)


def test_a_file_beyond_the_cap_is_not_even_started(monkeypatch):
    monkeypatch.setattr(trace, "BYTES", 3)

    with pytest.raises(
        SubmissionError, match=r"a_trace.json: 4 bytes; at most 3 are read; record fewer steps"
    ):
        trace.read(b"1234", "a_trace.json")
