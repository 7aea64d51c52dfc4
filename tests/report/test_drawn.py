"""What of a check's evidence a feedback page draws."""

from __future__ import annotations

import pytest

from autograder.report.drawn import Memory, breakdown, memory

PEAKS = {"student_peak_bytes": 50, "baseline_peak_bytes": 100}
CASES = {
    "not measured": ({}, None),
    "one side was not seen": ({"student_peak_bytes": 50, "baseline_peak_bytes": 0}, None),
    "nothing": ({**PEAKS, "student_peak_bytes": 0}, Memory(0, 100, None)),
    "beside a time": (PEAKS, Memory(50, 100, None)),
    "with a bar": ({**PEAKS, "memory_bar": 1.25}, Memory(50, 100, 80.0)),
}


@pytest.mark.parametrize(("evidence", "expected"), CASES.values(), ids=CASES)
def test_memory_is_read_from_the_evidence(evidence, expected):
    assert expected == memory(evidence)


def test_the_longest_bar_is_the_largest_peak():
    found = Memory(50, 100, 80.0)

    assert [50, 100, 80] == [found.width(peak) for peak in (50, 100, 80)]


def test_a_trace_is_read_device_by_device_in_percent():
    found = breakdown({"breakdown": {"gpu0": [["kernels", 300], ["launching", 100]], "cpu": []}})

    expected = {"GPU 0": [("kernels", 75.0), ("launching", 25.0)], "CPU": []}
    assert expected == {
        where: [(one.name, percent) for one, percent in parts] for where, parts in found.items()
    }
    assert {} == breakdown({})
