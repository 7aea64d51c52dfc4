"""What a person reads on a terminal, as a table of checks and their exact text."""

from __future__ import annotations

import io
import unicodedata
from dataclasses import replace

import pytest
from rich.console import Console

from autograder.model import CheckResult
from autograder.report.outcome_words import clean, points, repeated
from autograder.report.terminal import WORDS, four_parts, show
from tests.samples import a_check, a_part, a_result, a_silent_check, with_bonus

MESSAGES = {
    "a failed check speaks in four parts, wrapped with a hanging indent": (
        a_check(),
        """\
FAIL  part3_amp.amp_is_faster  0/6   AMP trains at least 1.50x as fast as FP32
      measured  1.01x (0.98 to 1.04, 9 pairs, NVIDIA H100 80GB HBM3)
      pairs     0.96 ..oo222o]....................................|.. 1.54
      why       92 % of matmul and convolution time ran in float32
      try       put the forward pass and the loss under torch.autocast; see "Where autocast goes" in
                the part 3 handout""",
    ),
    "a passed check says what was measured": (
        a_silent_check(outcome="passed", points=6, measured="1.62x"),
        """\
PASS  part3_amp.amp_is_faster  6/6   AMP trains at least 1.50x as fast as FP32
      measured  1.62x""",
    ),
    "a partial check shows its fraction of the points": (
        a_silent_check(
            outcome="partial",
            points=0.5,
            max_points=1,
            measured="2 of 4",
            why="two are late",
            try_="prefetch",
        ),
        """\
PART  part3_amp.amp_is_faster  0.5/1   AMP trains at least 1.50x as fast as FP32
      measured  2 of 4
      why       two are late
      try       prefetch""",
    ),
    "a skipped check names what it waits for": (
        a_silent_check(outcome="skipped", reason="needs follows_fp32, which failed"),
        """\
SKIP  part3_amp.amp_is_faster  0/6   AMP trains at least 1.50x as fast as FP32
      reason    needs follows_fp32, which failed""",
    ),
    "an unavailable check is owed": (
        a_silent_check(outcome="unavailable", reason="this machine has no GPU"),
        """\
OWED  part3_amp.amp_is_faster  0/6   AMP trains at least 1.50x as fast as FP32
      reason    this machine has no GPU""",
    ),
    "an inconclusive check is owed and shows the noise": (
        a_silent_check(
            outcome="inconclusive", measured="1.4x (0.9 to 1.9)", reason="the machine was too noisy"
        ),
        """\
OWED  part3_amp.amp_is_faster  0/6   AMP trains at least 1.50x as fast as FP32
      measured  1.4x (0.9 to 1.9)
      reason    the machine was too noisy""",
    ),
    "an error is our fault": (
        a_silent_check(outcome="error", reason="KeyError: 'grads' in the check"),
        """\
FAULT part3_amp.amp_is_faster  0/6   AMP trains at least 1.50x as fast as FP32
      reason    our fault, not yours: KeyError: 'grads' in the check""",
    ),
    "an error without words is still our fault": (
        a_silent_check(outcome="error"),
        """\
FAULT part3_amp.amp_is_faster  0/6   AMP trains at least 1.50x as fast as FP32
      reason    our fault, not yours: the check could not be run""",
    ),
    "a long title wraps below its line": (
        a_silent_check(
            title="AMP trains at least 1.50x as fast as FP32 on the device that was used for grading"
        ),
        """\
FAIL  part3_amp.amp_is_faster  0/6   AMP trains at least 1.50x as fast as FP32 on the device that
      was used for grading""",
    ),
    "a title without room beside the name stands below it": (
        a_silent_check(id="a" * 75, title="AMP trains at least as fast as FP32"),
        f"""\
FAIL  part3_amp.{"a" * 75}  0/6
      AMP trains at least as fast as FP32""",
    ),
    "a text's own lines and their indentation stay": (
        a_silent_check(why="ValueError: no loader\n  in train_epoch_amp\n\nline 12"),
        """\
FAIL  part3_amp.amp_is_faster  0/6   AMP trains at least 1.50x as fast as FP32
      why       ValueError: no loader
                  in train_epoch_amp

                line 12""",
    ),
    "a word longer than the line is broken": (
        a_silent_check(why="x" * 90),
        f"""\
FAIL  part3_amp.amp_is_faster  0/6   AMP trains at least 1.50x as fast as FP32
      why       {"x" * 84}
                {"x" * 6}""",
    ),
    "a name with hyphens stays whole, so that it can be copied": (
        a_silent_check(
            try_="look at the loader's own time first, then at the copies: run perflab check --part-by-part"
        ),
        """\
FAIL  part3_amp.amp_is_faster  0/6   AMP trains at least 1.50x as fast as FP32
      try       look at the loader's own time first, then at the copies: run perflab check
                --part-by-part""",
    ),
    "what could not be read says why": (
        a_silent_check(outcome="unread", reason="part3_amp.py was not taken: line 3 is not UTF-8"),
        """\
OWED  part3_amp.amp_is_faster  0/6   AMP trains at least 1.50x as fast as FP32
      reason    part3_amp.py was not taken: line 3 is not UTF-8""",
    ),
    "control characters are shown as replaced": (
        a_silent_check(why="\x1b[2Jcleared\rover\x07", try_="left\u202eright"),
        """\
FAIL  part3_amp.amp_is_faster  0/6   AMP trains at least 1.50x as fast as FP32
      why       \ufffd[2Jcleared\ufffdover\ufffd
      try       left\ufffdright""",
    ),
}

CLEANED = {
    "line breaks and tabs stay": ("a\n\tb", "a\n\tb"),
    "a line break of Windows is one": ("a\r\nb", "a\nb"),
    "a lone carriage return would overwrite the line": ("a\rb", "a\ufffdb"),
    "an escape": ("\x1b[31m", "\ufffd[31m"),
    "an eight-bit escape": ("\x9b31m", "\ufffd31m"),
    "half a character": ("\ud800", "\ufffd"),
    "a line separator": ("a\u2028b", "a\ufffdb"),
    "text that runs backwards": ("a\u2067b", "a\ufffdb"),
    "joiners that Malayalam and emoji need": ("ന്‍ 👩‍🔬", "ന്‍ 👩‍🔬"),
}

POINTS = [
    (6.0, "6"),
    (0.5, "0.5"),
    (0.0, "0"),
    (-1e-12, "0"),
    (1 / 3, "0.33"),
    (100.0, "100"),
    (1234567.25, "1234567.25"),
]


def shown(*parts, verbose=False, width=120, **changes):
    console = Console(file=io.StringIO(), width=width, force_terminal=False, color_system=None)
    show(a_result(*parts, **changes), console, verbose=verbose)
    return console.file.getvalue()


@pytest.mark.parametrize(("check", "expected"), MESSAGES.values(), ids=MESSAGES.keys())
def test_the_message_of_a_check(check: CheckResult, expected: str):
    assert expected == four_parts("part3_amp", check)


def test_every_outcome_has_a_word():
    """No outcome is without a row in the table of messages."""
    assert set(WORDS) == {check.outcome for check, _ in MESSAGES.values()}


@pytest.mark.parametrize(("text", "expected"), CLEANED.values(), ids=CLEANED.keys())
def test_what_could_steer_a_terminal_is_replaced(text, expected):
    assert expected == clean(text)


@pytest.mark.parametrize(("value", "expected"), POINTS)
def test_points_have_no_trailing_zero(value, expected):
    assert expected == points(value)


def test_a_result_ends_with_its_totals():
    """The score, what is lost, what is owed and who settles it, and where it was graded."""
    expected = """\
note      left out: scratch.py is no file of this lab
score     7.5 of 30 points, 9.5 lost, 13 owed
owed      4 settled by another device; 6 settled by the grading machine; 3 settled by a person
inputs    drawn with seed 20270113; --seed 20270113 draws the same again
graded on NVIDIA H100 80GB HBM3 (hopper), isolation bubblewrap
"""

    assert shown().endswith("\n\n" + expected)


def test_a_bonus_is_said_with_what_it_counts():
    """The score holds it already."""
    expected = """\
bonus  Bonus  2/9 bonus
PART  bonus.finds_the_hot_line  2/9   The hot line

score     9.5 of 30 points, 7.5 lost, 13 owed
bonus     2 of 9 points, 2 of them in the score, where other parts lost points
"""
    out = io.StringIO()
    show(
        replace(with_bonus(), notes=()),
        Console(file=out, width=100, color_system=None),
        verbose=False,
    )

    assert expected in out.getvalue()


def test_nothing_owed_needs_no_line():
    part = a_part(
        "part3_amp", "Mixed precision", a_silent_check(outcome="passed", points=6, measured="1.62x")
    )

    expected = """\
part3_amp  Mixed precision  6/6
PASS  part3_amp.amp_is_faster  6/6   AMP trains at least 1.50x as fast as FP32

score     6 of 6 points, 0 lost, 0 owed
inputs    drawn with seed 20270113; --seed 20270113 draws the same again
graded on NVIDIA H100 80GB HBM3 (hopper), isolation bubblewrap
"""
    assert expected == shown(part, notes=())


def test_verbose_adds_what_passed_checks_measured_and_what_a_check_rests_on():
    part = a_part(
        "part3_amp",
        "Mixed precision",
        a_silent_check(outcome="passed", basis="report", points=6, measured="1.62x"),
    )

    expected = """\
part3_amp  Mixed precision  6/6
PASS  part3_amp.amp_is_faster  6/6   AMP trains at least 1.50x as fast as FP32
      measured  1.62x
      rests on  what a recorder beside the code saw; a program that changes the recorder could pass
"""
    assert shown(part, verbose=True).startswith(expected)


def test_verbose_says_of_a_scripted_check_that_the_script_is_beside_the_code():
    part = a_part(
        "part3_amp", "Mixed precision", a_silent_check(outcome="passed", basis="scripted", points=6)
    )

    expected = """\
      rests on  a script that runs beside the code and knows the answers; a program that reads them
                there could pass
"""
    assert expected in shown(part, verbose=True)


@pytest.mark.parametrize(("width", "limit"), [(10, 40), (40, 40), (72, 72), (200, 100)])
def test_lines_fit_the_terminal_but_stay_readable(width, limit):
    """Lines follow the width of the terminal, between 40 and 100 columns."""
    lines = shown(width=width).splitlines()
    heads = [line for line in lines if line.startswith((*WORDS.values(), "part"))]

    assert 11 == len(heads)
    assert max(len(line) for line in lines if line not in heads) in range(limit - 10, limit + 1)


def test_markup_of_a_student_is_text():
    """Square brackets and :names: mean something to the library that prints; here they are letters."""
    said = shown(
        a_part(
            "part3_amp", "Mixed [bold]precision", a_silent_check(why="[red]x[/red] :warning: [/]")
        )
    )

    assert "Mixed [bold]precision" in said
    assert "why       [red]x[/red] :warning: [/]" in said


def test_no_control_character_reaches_the_terminal():
    """Every text of a result is cleaned on its way."""
    bad = "a\x1b]0;title\x07b"
    part = a_part(bad, bad, a_check(id=bad, title=bad, measured=bad, why=bad, try_=bad, reason=bad))

    said = shown(part, notes=(bad,), isolation=bad, verbose=True)

    assert {"Cc"} & {unicodedata.category(c) for c in said if c != "\n"} == set()
    assert said.count("a\ufffd]0;title\ufffdb") == 11


def test_the_outcome_is_coloured_on_a_terminal():
    console = Console(
        file=io.StringIO(), width=120, force_terminal=True, color_system="standard", _environ={}
    )
    show(a_result(), console, verbose=False)

    assert "\x1b[1;31mFAIL\x1b[0m  part3_amp.amp_is_faster" in console.file.getvalue()


def test_an_exception_of_one_line_is_told_once_though_it_was_called_in_other_ways():
    """Another line, another kind or another file is told as well."""
    said = {
        "first": "ValueError: of 3 rows (a.py, line 7)",
        "again": "ValueError: of 5 rows (a.py, line 7), called as rows(n=5)",
        "in a group": "in the process of rank 1: ValueError: of 9 rows (a.py, line 7)",
        "another line": "ValueError: of 3 rows (a.py, line 8)",
        "another kind": "KeyError: 3 (a.py, line 7)",
        "another file": "ValueError: of 3 rows (b.py, line 7)",
        "no exception": "the rows are too few",
    }
    checks = [a_silent_check(id=name, outcome="failed", why=why) for name, why in said.items()]

    assert {"again": "first", "in a group": "first"} == repeated(checks)
