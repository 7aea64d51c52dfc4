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
    said = stated("# A\n\nIt is 2.41x as fast.\nIt takes 3 GB.")

    assert ["line 3: 2.41x (nearest: 1.823 x, AMP)", "line 4: 3 GB (the table has nothing in MB)"] == unfounded(
        said, FACTS, {}
    )


ROWS = [{"run": "A", "pace": 100.0, "share": 0.0}, {"run": "B", "pace": 160.0, "share": 3.0}]


def test_two_rows_are_compared_by_each_column():
    """Of some only the difference says something; what is 0 divides nothing."""
    found = {(fact.value, fact.unit, fact.about) for fact in compared(ROWS, "run", {"pace": "s", "share": "s"})}

    assert {
        (60.0, "s", "the spread of pace"),
        (60.0, "s", "the difference of pace of B and A"),
        (1.6, "x", "the ratio of pace of B and A"),
        (62.5, "%", "the ratio of pace of B and A"),
        (3.0, "s", "the spread of share"),
        (0.0, "%", "the ratio of share of B and A"),
    } <= found
    assert not any(fact.unit == "x" for fact in compared(ROWS, "run", {"pace": "s"}, apart=["pace"]))


# Of these rows Final / Memory is 1.6, Model / DataLoader 1.05; Baseline takes 12 s, of which 3 s are waited.
RATES = {"Baseline": 100.0, "DataLoader": 200.0, "Model": 210.0, "Memory": 250.0, "Final": 400.0}
TABLE = [
    {
        "version": name,
        "throughput": rate,
        "seconds": 1200 / rate,
        "data_wait": 300 / rate,
        "warm_up_s": 3.0,
        "steps": 20,
        "busy_percent": 40.0,
        "speedup": rate / 100,
    }
    for name, rate in RATES.items()
]
OF_ROWS, MADE_UP = "if you mean those", "nearest: "
SAID = {
    "two rows, to three digits": ("It was 1.60x as fast.", ""),
    "two rows, a tenth of a percent": ("It gained 5.0 %.", ""),
    "two rows, in two digits": ("It was 1.6x as fast.", OF_ROWS),
    "two rows, whole percent": ("It gained 5 %.", OF_ROWS),
    "two rows that are named": ("Final was 1.6x as fast as Memory.", ""),
    "one that is named, and the first": ("Final took 75 % less time.", ""),
    "two rows, in small letters": ("The final version was 1.6x as fast as the memory one.", ""),
    "two rows, one by the heading": ("## DataLoader\n\nCompiling gained about 5 %.", ""),
    "two rows, one of them not named": ("Compiling gained 5 %.", OF_ROWS),
    "named in another paragraph": ("Final beats Memory.\n\nIt was 1.6x as fast.", OF_ROWS),
    "two rows that are named, and another ratio": ("Final was 1.7x as fast as Memory.", MADE_UP),
    "the ratio of others": (
        "Model was 1.6x as fast as DataLoader.",
        "(nearest: 2 x, speedup of DataLoader; some two other rows",
    ),
    "one row, in one digit": ("It was 4x as fast, waited 25 % of 12 s, and trained 2.1x as fast before.", ""),
    "two digits of a precise one": ("It was 1.60x as fast, so about 2x, or 1.6x; more than 1.5x.", ""),
    "about, of two rows": ("It was about 1.60x as fast.", OF_ROWS),
    "no more than the spread": ("They differ by no more than 300 samples/s.", ""),
    "below something that nothing is": ("It waited below 10 %.", "line 1: 10 % (nearest: 25 %"),
    "milliseconds in two digits": ("A step took 57 ms less.", MADE_UP),
    "made up, and precise": ("It was 7.31x as fast.", "line 1: 7.31x (nearest: "),
    "made up, and coarse": ("It was 7x as fast.", "line 1: 7x (nearest: "),
}


@pytest.mark.parametrize(("text", "words"), SAID.values(), ids=SAID)
def test_coarse_results_are_of_one_row_of_named_ones_or_of_a_precise_one(text, words):
    """Two rows of many are always about 1.3x apart."""
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
    pairs = [Fact(float(at), "s", row, frozenset((row, rows[0]))) for at, row in enumerate(rows, 1)]
    said = [f"{text} It took {at} s." for at in range(1, len(rows) + 1)]

    assert [rows[0], *names] == [
        row for row, it in zip(rows, said, strict=True) if not unfounded(stated(it), pairs, configurations.NAMED)
    ]
