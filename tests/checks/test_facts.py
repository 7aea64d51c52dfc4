"""Which results of a text follow from a table: within their rounding, and precise enough to say something."""

from __future__ import annotations

import pytest

from autograder.checks import configurations, versions
from autograder.checks.facts import Fact, compared, unfounded
from autograder.checks.report import stated

FACTS = [
    Fact(1.8234, "x", "AMP"),
    Fact(29.6, "%", "memory"),
    Fact(0.0123, "s", "wait"),
    Fact(120.46, "samples/s", "it"),
]
ROUNDED = {  # sentence -> whether it is one of the facts
    "1.82x": True,
    "1.8x": True,
    "2x": True,
    "1.83x": True,
    "1.9x": False,
    "18.2x": False,
    "30 %": True,
    "31 %": False,
    "about 31 %": True,
    "roughly 33 %": False,
    "more than 1.5x": True,
    "more than 2x": False,
    "not less than 1.82x": True,
    "at least 1.9x": False,
    "less than 35 %": True,
    "< 35 %": True,
    "no more than 20 %": False,
    "under 20 %": False,
    "an awesome 33 %": False,
    "12.3 ms": True,
    "12 s": False,
    "120.5 samples/s": True,
    "121 samples/s": True,
    "125 samples/s": False,
    "-30 %": True,
    "30 MB": False,
}


@pytest.mark.parametrize(("text", "holds"), ROUNDED.items(), ids=list(ROUNDED))
def test_a_result_is_a_fact_within_its_own_rounding(text, holds):
    """What was worked out from rounded figures may be off by half a percent, and "about" by five."""
    assert holds == (not unfounded(stated(text), FACTS, {}))


def test_a_result_that_is_none_is_named_with_its_line_and_the_nearest_fact():
    said = stated("# A\n\nIt is 2.41x as fast.\nIt takes 3.1 GB.")

    assert ["line 3: 2.41x (nearest: 1.823 x, AMP)", "line 4: 3.1 GB (the table has nothing in MB)"] == unfounded(
        said, FACTS, {}
    )


ROWS = [{"pace": 100.0, "share": 0.0}, {"pace": 160.0, "share": 3.0}, {"pace": 80.0, "share": 4.0}]


def test_two_rows_are_compared_by_each_column():
    """What is 0 divides nothing; the first row and the one that another builds on need no name."""
    order = {"A": "", "B": "A", "C": "B"}
    found = {(it.value, it.unit, it.about): it.rows for it in compared(ROWS, order, dict.fromkeys(ROWS[0], ("s", "")))}

    assert {
        (80.0, "s", "the spread of pace"): frozenset(),
        (60.0, "s", "the difference of pace of B and A"): frozenset(),
        (1.6, "x", "the ratio of pace of B and A"): frozenset(),
        (62.5, "%", "the ratio of pace of B and A"): frozenset(),
        (50.0, "%", "the change between pace of C and B"): frozenset("C"),
        (0.0, "%", "the ratio of share of B and A"): frozenset(),
    }.items() <= found.items()
    assert not any(unit == "x" and about == "the ratio of share of A and B" for _, unit, about in found)


# Of these rows Final / Memory is 1.6, Final / DataLoader 2; Baseline takes 12 s, of which 3 s are waited.
RATES = {"Baseline": 100.0, "DataLoader": 200.0, "Model": 210.0, "Memory": 250.0, "Final": 400.0}
TABLE = [
    {
        "version": name,
        "throughput": rate,
        "seconds": 1200 / rate,
        "data_wait": 300 / rate,
        "warm_up_s": warm,
        "steps": 20,
        "busy_percent": busy,
        "speedup": rate / 100,
    }
    for (name, rate), warm, busy in zip(RATES.items(), (3.0, 3.0, 9.3, 3.0, 3.0), (12.0, 30, 31, 40, 88), strict=True)
]
OF_ROWS, MADE_UP = "name both beside it", "nearest: "
SAID = {
    "a row and the first": ("It was 4x as fast, 300 % faster, and took 75 % less time.", ""),
    "a row and the one before": ("Final was 1.6x as fast, and compiling gained 5 %.", ""),
    "two rows that are named": ("Final was 1.9x as fast as Model.", ""),
    "two rows, in small letters": ("The final version was 1.9x as fast as the model row.", ""),
    "two rows, one by the heading": ("## DataLoader\n\nMemory gained about 25 %.", ""),
    "two rows, one of them not named": ("Final gained 90.5 % on it.", OF_ROWS),
    "named in another paragraph": ("Final beats Model.\n\nIt was 1.9x as fast.", OF_ROWS),
    "two rows that are named, and another ratio": ("Final was 1.7x as fast as Memory.", MADE_UP),
    "about": ("It was about 3.9x as fast.", ""),
    "no more than the spread": ("They differ by no more than 300 samples/s.", ""),
    "below something that nothing is": ("It waited below 10 %.", "line 1: 10 % (nearest: 25 %"),
    "above something that something is": ("It was more than 3x as fast.", ""),
    "nothing was above something": ("Nothing was over 4.5x as fast.", ""),
    "the ratio of a column that is named": ("The device was busy 7.3 times as long.", ""),
    "the ratio of a column that is not": ("Everything was 7.3 times as fast.", MADE_UP),
    "the ratio of a column named around it": ("Model takes longer to warm up. That is 3.1x.", ""),
    "the ratio of a column that nothing names": ("Model takes longer. That is 3.1x.", MADE_UP),
    "a share of the wait": ("It waits for 25 % of the time.", ""),
    "made up, and precise": ("It was 7.31x as fast.", "line 1: 7.31x (nearest: "),
    "made up, and coarse": ("It was 7x as fast.", "line 1: 7x (nearest: "),
    "how many steps": ("With 7x fewer steps, and 7 times as many samples in each.", ""),
    "more of them a second": ("It has 7x more samples/s.", MADE_UP),
    "a whole run": ("The whole run took 77 s, one step 7.7 ms.", ""),
    "an epoch": ("An epoch took 77 s.", MADE_UP),
    "the memory of a machine": ("The card has 24 GB.", ""),
}


@pytest.mark.parametrize(("text", "words"), SAID.values(), ids=SAID)
def test_what_a_sentence_names_decides_what_its_result_may_be(text, words):
    """Two rows of many are always about 1.3x apart, and two columns have each percentage."""
    found = "; ".join(unfounded(stated(text), versions.facts(TABLE), versions.NAMED))

    assert (words in found) if words else "" == found


NAMES = {
    "Two workers read ahead.": ["Data loader"],
    "`AMP`, on bfloat16": ["AMP"],
    "the option `--amp`": ["AMP"],
    "in BF16": ["AMP"],
    "the compiled model": ["Compile"],
    "Accumulating, and checkpoints": ["Accumulation", "Checkpointing"],
    "a lamp, an example": [],
}


@pytest.mark.parametrize(("text", "names"), NAMES.items(), ids=NAMES)
def test_a_row_is_named_as_people_name_it(text, names):
    """The first one, which all are compared with, goes without saying."""
    rows = list(configurations.NAMED)
    pairs = [Fact(float(at), "s", row, rows=frozenset((row, rows[0]))) for at, row in enumerate(rows, 1)]
    said = [f"{text} It took {at} s." for at in range(1, len(rows) + 1)]

    assert [rows[0], *names] == [
        row for row, it in zip(rows, said, strict=True) if not unfounded(stated(it), pairs, configurations.NAMED)
    ]
