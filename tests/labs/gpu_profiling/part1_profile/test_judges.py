"""A report with a share, faults by their lines and a potential: read in any honest form, held against a profile."""

from __future__ import annotations

import pytest

from autograder.labs.gpu_profiling.part1_profile import judges
from autograder.model import Failed, Passed, Text
from autograder.traces.record import Figure, Trace

FAULTS = {"loader": [46, 47], "waits": [78, 87], "batch": [41]}
THREE = "1. line 46: a\n2. line 78: b\n3. line 41: c\n"
ENDS = "Estimated improvement potential: 70 %\n"
CPU = Trace(
    "p.gz",
    "0",
    "kineto",
    figures=(Figure("op_busy", 20.0, "%", "steps"), Figure("dataloader", 70.0, "%", "steps")),
)
GPU = Trace(
    "p.gz",
    "0",
    "nsys",
    figures=(Figure("busy_kernel", 20.0, "%", "gpu", 0), Figure("busy_any", 25.0, "%", "gpu", 0)),
)


def report(share="Operators: 20 %", entries=THREE, ends=ENDS):
    return judges.parsed(
        Text("baseline_analysis.txt", f"{share}\n\nMain bottlenecks:\n{entries}\n{ends}")
    )


FORMS = {
    "as it is shown": (report(), ("operators", 20.0, 70.0)),
    "of a GPU": (report("GPU Utilization: 18.2%"), ("gpu", 18.2, 70.0)),
    "British, with a sign of its own": (
        report("- **GPU utilisation** = 18,2 %"),
        ("gpu", 18.2, 70.0),
    ),
    "in a table": (report("| Operators | 20.5 % |"), ("operators", 20.5, 70.0)),
    "with what it is of": (report("Operators (no GPU here): 20 %"), ("operators", 20.0, 70.0)),
    "with a colon of another script": (report("Operators\uff1a20 %"), ("operators", 20.0, 70.0)),
    "behind the empty one of a GPU": (
        report("GPU utilization: __ %  (without a GPU:  Operators: 20 %)"),
        ("operators", 20.0, 70.0),
    ),
    "before the empty one without": (
        report("GPU utilization: 18 %  (without a GPU:  Operators: __ %)"),
        ("gpu", 18.0, 70.0),
    ),
    "about as much": (
        report(ends="Estimated improvement potential (of the steps): about 70 %"),
        ("operators", 20.0, 70.0),
    ),
}


@pytest.mark.parametrize(("found", "expected"), FORMS.values(), ids=FORMS)
def test_a_report_is_read(found, expected):
    assert expected == (found[0].of, found[0].share, found[0].potential)


ENTRIES = {
    "a line": ("line 46: x", {46}),
    "two lines": ("lines 46 and 78", {46, 78}),
    "a list": ("Lines 46, 78 & 41 wait", {46, 78, 41}),
    "from one to the other": ("lines 46-48 (46 % of the time)", {46, 47, 48}),
    "in words": ("line 46 to 48", {46, 47, 48}),
    "in other words": ("lines 46 through 48", {46, 47, 48}),
    "by its number": ("line no. 46, or line number 78", {46, 78}),
    "by the file": ("`training_unoptimized.py:78` waits", {78}),
    "by a letter": ("L46: x", {46}),
    "emphasised": ("**line 46** is slow", {46}),
    "the wrong way round": ("lines 48-46", set()),
    "no line": ("the loader takes 78 %", set()),
}


@pytest.mark.parametrize(("entry", "lines"), ENTRIES.values(), ids=ENTRIES)
def test_a_bottleneck_names_lines(entry, lines):
    found, _ = report(entries=f"1. {entry}\n2) line 1\n (3) line 2\n")

    assert lines == set(found.entries[0])


BELOW = """### 1. One process loads

- Where: line 46
- Evidence: data_wait_percent is 70

### 2. The device is waited for (line 78)
Line 60 is not to blame.
3) Small batches:
   line 41
"""
ADVICE = "\nNext:\n1. four workers\n2. no item()\n"


def test_a_line_may_stand_below_its_bottleneck():
    """The first line of a bottleneck counts, and what is below it where that names none."""
    assert [{46}, {78}, {41}] == [set(one) for one in report(entries=BELOW)[0].entries]


def test_what_is_numbered_behind_the_potential_is_no_bottleneck():
    assert 3 == len(report(ends=ENDS + ADVICE)[0].entries)
    assert 3 == len(judges.parsed(Text("a.txt", f"{ENDS}\nOperators: 20 %\n{THREE}"))[0].entries)


MISSING = {
    "no share": (
        report("busy: 20 %"),
        'there is no line "GPU utilization: <number> %" (without a GPU: "Operators: <number> %")',
    ),
    "no potential": (
        report(ends="much"),
        'there is no line "Estimated improvement potential: <number> %"',
    ),
    "a range": (
        report(ends="Estimated improvement potential: 60-70 %"),
        'there is no line "Estimated improvement potential: <number> %"',
    ),
    "two bottlenecks": (report(entries="1. a\n2. b\n"), "2 numbered bottlenecks, not three to 8"),
    "nine of them": (report(entries=THREE * 3), "9 numbered bottlenecks, not three to 8"),
}


@pytest.mark.parametrize(("found", "problem"), MISSING.values(), ids=MISSING)
def test_what_is_missing_is_said(found, problem):
    assert (None, problem) == found


SHARES = {
    "right": (report(), CPU, ""),
    "the most that it could be": (report(ends=ENDS.replace("70", "81")), CPU, ""),
    "of a GPU, without steps": (report("GPU utilization: 20 %"), GPU, ""),
    "another share": (report("Operators: 50 %"), CPU, "no accepted definition gives that number"),
    "too much": (report(ends=ENDS.replace("70", "95")), CPU, "the potential must lie between the wait for data and everything that is not work"),
    "too little": (report(ends=ENDS.replace("70", "10")), CPU, "the potential must lie between the wait for data and everything that is not work"),
    "a GPU that is not there": (report("GPU utilization: 20 %"), CPU, "p.gz holds no work of a GPU"),
    "a GPU that is": (report(), GPU, "p.gz holds the work of a GPU"),
}  # fmt: skip


@pytest.mark.parametrize(("found", "trace", "why"), SHARES.values(), ids=SHARES)
def test_its_numbers_are_those_of_the_profile(found, trace, why):
    verdict = judges.shares_problem(found[0], trace, try_="look")

    assert isinstance(verdict, Failed if why else Passed)
    assert why in getattr(verdict, "why", "")


NAMED = {
    "three faults": (THREE, ""),
    "no line": ("1. line 46\n2. slow\n3. line 41\n", "bottleneck 2 names no line of the script"),
    "innocent lines": ("1. line 46\n2. lines 60, 61\n3. line 41\n", "bottleneck 2 names lines 60, 61, which wastes no time"),
    "an innocent line": ("1. line 60\n2. line 46\n3. line 41\n", "bottleneck 1 names line 60, which wastes no time"),
    "everything": ("1. lines 40-50\n2. line 46\n3. line 41\n", "bottleneck 1 names 11 lines, and at most 6 may be named"),
    "one fault twice": ("1. line 46\n2. line 47\n3. line 41\n", "2 faults named (batch, loader); 3 different ones are needed"),
}  # fmt: skip


@pytest.mark.parametrize(("entries", "problem"), NAMED.values(), ids=NAMED)
def test_its_lines_are_those_of_the_faults(entries, problem):
    assert problem == judges.faults_problem(report(entries=entries)[0], FAULTS, 3)
