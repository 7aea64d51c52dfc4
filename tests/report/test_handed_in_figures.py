"""The tables that students handed in, as their feedback shows them."""

from __future__ import annotations

import pytest

from autograder.report.handed_in_figures import Own, measured, tables
from tests.samples import a_check, a_part, a_silent_check

FILE = "amp_results.csv"


def read(text: str | bytes) -> list[Own]:
    data = text if isinstance(text, bytes) else text.encode()
    return tables("resnet18", {FILE: data}).get("part3_amp", [])


def test_a_table_is_shown_with_the_speedup_beside_what_names_the_row():
    """Numbers have four digits, whatever was written."""
    (found,) = read(
        "precision,throughput,speedup,device\nFP32,2032.0779,1,AMD EPYC\nAMP,306.37917274427014,0.15,AMD EPYC\n"
    )

    assert ("precision", "speedup", "throughput", "device") == found.columns
    assert (("FP32", "1", "2,032", "AMD EPYC"), ("AMP", "0.15", "306.4", "AMD EPYC")) == found.rows
    assert (FILE, 0) == (found.file, found.more)


def test_what_is_long_is_cut():
    (found,) = read("a,b\n" + f"x,{'y' * 99}\n" * 14)

    assert (12, 2, "y" * 39 + "…") == (len(found.rows), found.more, found.rows[0][1])


NONE = {
    "no table": b"\0",
    "only a header": "a,b\n",
    "empty": "",
    "ragged": "a,b\n1\n",
}


@pytest.mark.parametrize("text", NONE.values(), ids=NONE)
def test_what_is_no_table_is_not_shown(text):
    assert [] == read(text)


def test_files_that_no_part_asks_for_are_not_read():
    assert {} == tables("resnet18", {"other.csv": b"a,b\n1,2\n"})


def test_results_of_a_lab_that_is_not_here_have_no_tables():
    assert {} == tables("of another course", {FILE: b"a,b\n1,2\n"})


def test_what_a_part_measured_is_what_has_pairs_or_peaks():
    memory = a_silent_check(
        id="memory", evidence={"student_peak_bytes": 1, "baseline_peak_bytes": 2}
    )
    part = a_part("p", "P", a_check(), a_silent_check(id="other"), memory)

    assert ["amp_is_faster", "memory"] == [check.id for check in measured(part)]
