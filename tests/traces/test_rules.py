"""What Nsight Compute advises: its three largest estimates, from tables and from a terminal."""

from __future__ import annotations

import pytest

from tests.traces.made import read_made
from tests.traces.test_ncu import DETAILS, ROW, TEXT, details

HEAD = DETAILS.strip() + (
    ',"Rule Type","Rule Description","Estimated Speedup Type","Estimated Speedup"\n'
)


def rule(name, text, kind="", percent="", id=0, kernel="gemm(int)"):  # noqa: A002
    cells = ("Some", "", "", "", name, "OPT", text, kind, percent)
    return ROW.format(id=id, name=kernel) + "".join(f',"{cell}"' for cell in cells) + "\n"


def took(ns, id=0, kernel="gemm(int)"):  # noqa: A002
    return details(("Duration", "ns", ns), id=id, name=kernel)


def advised(folder, text, name="ncu.csv"):
    rules = read_made(folder, text, name).rules
    return [(one.name, one.percent, one.local, one.launches, one.saves_ns) for one in rules]


def test_the_three_largest_of_a_kernel_are_kept_and_what_saves_time_comes_first(tmp_path):
    """Rules that estimate nothing are no advice."""
    table = HEAD + took("1000") + "".join(
        [
            rule("Pipes", "unused", "local", "98.86"), rule("Loads", "apart", "global", "45.14"),
            rule("Info", "nothing to say"), rule("Stores", "apart", "global", "42.96"),
            rule("Coalescing", "75% too many", "global", "74.14"), rule("Zero", "fine", "global", "0"),
        ]
    )  # fmt: skip

    assert [
        ("Coalescing", 74.14, False, 1, pytest.approx(741.4)),
        ("Loads", 45.14, False, 1, pytest.approx(451.4)),
        ("Stores", 42.96, False, 1, pytest.approx(429.6)),
    ] == advised(tmp_path, table)


def test_a_long_kernel_counts_more_than_a_large_percentage(tmp_path):
    table = HEAD + took("100", 0, "short()") + took("9000", 1, "long()")
    table += rule("Small", "a", "global", "90", 0, "short()")
    table += rule("Large", "b", "global", "10", 1, "long()")

    assert [("Large", 10, False, 1, 900), ("Small", 90, False, 1, 90)] == advised(tmp_path, table)


def test_what_is_said_of_several_launches_is_one_rule(tmp_path):
    """Its numbers differ; another kernel, or other words, are another rule."""
    table = HEAD + took("100", 0) + took("100", 1) + took("100", 2, "relu()")
    table += rule("Loads", "only 8.0 of 32 bytes", "global", "40", 0)
    table += rule("Loads", "only 9.5 of 32 bytes", "global", "30", 1)
    table += rule("Loads", "stores: 8.0 of 32", "global", "20", 0)
    table += rule("Loads", "only 8.0 of 32 bytes", "global", "10", 2, "relu()")

    assert [
        ("Loads", 40, False, 2, 70), ("Loads", 20, False, 1, 20), ("Loads", 10, False, 1, 10),
    ] == advised(tmp_path, table)  # fmt: skip


def test_local_estimates_come_last_and_save_no_time(tmp_path):
    table = HEAD + took("100") + rule("Low", "a", "local", "20") + rule("High", "b", "local", "80")

    assert [("High", 80, True, 1, 0), ("Low", 20, True, 1, 0)] == advised(tmp_path, table)


@pytest.mark.parametrize("title", ["Estimated Speedup", "Est. Speedup", "Est. Speedup [%]"])
def test_the_column_has_several_names(tmp_path, title):
    table = HEAD.replace('"Estimated Speedup"\n', f'"{title}"\n') + took("100")

    assert [("A", 12.5, False, 1, 12.5)] == advised(
        tmp_path, table + rule("A", "a", "global", "12.5")
    )


def test_estimates_in_words_count_where_no_column_has_them(tmp_path):
    table = DETAILS.strip() + ',"Rule Type","Rule Description"\n' + took("100")
    table += rule("A", "Est. Speedup: 25.5% Do this.") + rule(
        "B", "Est. Local Speedup: 50% Or that."
    )

    assert [("A", 25.5, False, 1, 25.5), ("B", 50, True, 1, 0)] == advised(tmp_path, table)


SAID = """
    OPT   Est. Speedup: 25.5%
          The first line.
          The second line.

    WRN   Est. Local Speedup: 12%
          Another.
    INF   Nothing to estimate.
"""


def test_a_terminal_says_the_same(tmp_path):
    """Without the name of the rule: that of the section stands for it."""
    rules = read_made(tmp_path, TEXT + SAID, "ncu.txt").rules
    section = "GPU Speed Of Light Throughput"

    assert [
        (section, 25.5, False, "The first line. The second line."),
        (section, 12, True, "Another."),
    ] == [(one.name, one.percent, one.local, one.text) for one in rules]


@pytest.mark.parametrize("percent", ["-3", "101", "many", "1e30", "nan"])
def test_an_estimate_that_cannot_be_one_is_left_out(tmp_path, percent):
    assert [] == advised(tmp_path, HEAD + took("100") + rule("A", "a", "global", percent))


def test_what_a_rule_says_has_an_end(tmp_path):
    (found,) = read_made(
        tmp_path, HEAD + took("1") + rule("A", "x " * 9000, "global", "5"), "ncu.csv"
    ).rules

    assert len(found.text) == 600
