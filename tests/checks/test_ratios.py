"""Ratios against a bar, and files that are text."""

from __future__ import annotations

import pytest

from autograder.checks import TEXT_CAP, memory, read, speedup
from autograder.errors import SubmissionError
from autograder.model import Bar, Compared, Failed, Inconclusive, Observation, Partial, Passed, Text, Timed, Unavailable

BAR = Bar(1.5, "seed")


PAIRS = {"pairs": [0.4] * 5}
SHOWN = {**PAIRS, "bar": 1.5}  # what a page draws


def timed(decision=None, credit=0.0, unavailable=""):
    words = {"INCONCLUSIVE": "the pairs differ too much to tell"}.get(decision, "")
    found = Compared(decision, "1.4x (5 pairs)", credit, words, PAIRS) if decision else None
    return Timed(Observation("amp", "ok"), Observation("amp", "ok"), found, unavailable)


JUDGED = "1.4x (5 pairs); the bar is 1.50x"


@pytest.mark.parametrize(
    ("evidence", "verdict"),
    [
        pytest.param(timed("PASS", 1.0), Passed(JUDGED, SHOWN), id="proved"),
        pytest.param(timed("FAIL", 0.6), Partial(0.6, JUDGED, "why", "try", SHOWN), id="proved in part"),
        pytest.param(timed("FAIL"), Failed(JUDGED, "why", "try", SHOWN), id="below"),
        pytest.param(
            timed("INCONCLUSIVE", 0.6),
            Inconclusive("1.4x (5 pairs)", "the pairs differ too much to tell", SHOWN),
            id="too noisy",
        ),
        pytest.param(timed(unavailable="needs a GPU"), Unavailable("needs a GPU"), id="no clock, with a reason"),
        pytest.param(timed(), Unavailable("no trusted clock compared the two sides"), id="no clock"),
    ],
)
def test_a_speedup_is_judged_by_the_bar_or_owed(evidence, verdict):
    assert verdict == speedup.at_least(evidence, BAR, why="why", try_="try")


@pytest.mark.parametrize(
    ("ratio", "verdict"),
    [
        pytest.param(1.6, Passed("1.60x less than the baseline; the bar is 1.50x"), id="less"),
        pytest.param(1.0, Failed("1.00x less than the baseline; the bar is 1.50x", "why", "try"), id="as much"),
        pytest.param(None, Unavailable("needs a GPU"), id="no figure"),
    ],
)
def test_memory_is_judged_by_the_bar_or_owed(ratio, verdict):
    assert verdict == memory.at_least_less(ratio, BAR, unavailable="needs a GPU", why="why", try_="try")


def test_any_other_file_is_text():
    assert Text("notes.md", "ä") == read(b"\xef\xbb\xbf\xc3\xa4", "notes.md")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        pytest.param(b"a\0", "notes.md: holds a NUL byte, so it is no text", id="NUL"),
        pytest.param(b"\xff", "notes.md: byte 0 is not UTF-8; save it as UTF-8", id="not UTF-8"),
        pytest.param(b"a" * (TEXT_CAP + 1), "notes.md: 1048577 bytes; at most 1048576 are read", id="too large"),
    ],
)
def test_text_that_cannot_be_read_is_refused_in_words(data, words):
    with pytest.raises(SubmissionError) as refused:
        read(data, "notes.md")

    assert words == str(refused.value)
