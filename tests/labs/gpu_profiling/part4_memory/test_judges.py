"""Tables of memory at several batch sizes: what they lack, and what cannot be."""

from __future__ import annotations

import pytest

from autograder.labs.gpu_profiling.part4_memory import judges

NETS = ("SimpleNet", "Lean")


def table(**changes):
    """Two nets at two sizes in both precisions; *changes* go into the last row."""
    rows = [
        {
            "net": net,
            "batch_size": size,
            "precision": mode,
            "peak_memory_mb": None,
            "saved_mb": size / (1 + NETS.index(net)),
            "throughput": 10.0,
            "device": "a CPU",
        }
        for net in NETS
        for size in (4, 8)
        for mode in judges.PRECISIONS
    ]
    rows[-1] |= changes
    return rows


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        pytest.param(table(), "", id="right"),
        pytest.param(table(peak_memory_mb=12.5), "", id="a peak"),
        pytest.param([], "there are no rows", id="none"),
        pytest.param(table(saved_mb="1 MB"), "it must be a number", id="text"),
        pytest.param(
            table(throughput=0.0),
            "throughput of Lean, batch_size 8, AMP is 0, and has to be above 0",
            id="nothing",
        ),
        pytest.param(
            table(peak_memory_mb="much"),
            "a number or None (in a file: an empty cell)",
            id="a peak in words",
        ),
        pytest.param(table(device=" "), "the device is not named", id="no device"),
        pytest.param(table(device="a GPU"), "from two machines", id="two machines"),
    ],
)
def test_rows_have_their_form(rows, words):
    found = judges.RESULTS.problem(rows) or judges.unit_problem(rows)

    assert bool(words) == bool(found)
    assert words in found


def test_rows_are_those_that_were_asked_for():
    found = judges.RESULTS.problem(table(), [("SimpleNet", 4, "FP32")])

    assert "row 2 is one row too many: SimpleNet 4 AMP, SimpleNet 8 FP32" in found


@pytest.mark.parametrize(
    ("rows", "sizes", "words"),
    [
        pytest.param(table(), 2, "", id="whole"),
        pytest.param(table(), 4, "the table has 2 batch sizes", id="too few sizes"),
        pytest.param(table()[:-1], 2, "Lean 8 AMP is missing", id="one missing"),
        pytest.param(
            table() * 2,
            2,
            "16 rows are of 8 measurements: some are there twice",
            id="two runs in one file",
        ),
        pytest.param(
            [
                {**row, "saved_mb": row["saved_mb"] / (1 + (row["precision"] == "AMP"))}
                for row in table()
            ],
            2,
            "at 4 images SimpleNet keeps half or less with AMP",
            id="half of FP32 by hand",
        ),
        pytest.param(table(saved_mb=1.0), 2, "saved_mb of Lean in AMP does not grow", id="shrinks"),
        pytest.param(
            [{**row, "saved_mb": row["batch_size"]} for row in table()],
            2,
            "keeps as much as",
            id="no saving",
        ),
    ],
)
def test_a_table_holds_each_net_at_each_size(rows, sizes, words):
    found = judges.whole_problem(rows, NETS, sizes)

    assert bool(words) == bool(found)
    assert words in found
