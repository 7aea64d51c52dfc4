"""Plans, profiles, a study of the CPU, divided samples: what is wrong with each, in words."""

from __future__ import annotations

import pytest

from autograder.labs.resnet18.bonus import cpu, plans, profilers
from autograder.labs.resnet18.bonus.part import BYTES, CPU, PLANS
from autograder.model import Failed, Observation, Pair, Passed


def pair(name, told, known, **values):
    seen = [Observation("p", "ok", {name: rows, **values}) for rows in (told, known)]
    return Pair(*seen)


def planned(name, images, **changes):
    """A row of the file; in this world an image of resnet50 keeps a million bytes."""
    row = {"model": name, "batch_size": images, "buffers": 5, "gradients": 7, "optimizer": 9}
    row |= {"parameters": plans.PARAMETERS[name], "activations": 1_000_000 * images}
    row |= {"batch": images * (4 * plans.PIXELS + 8)}
    row["total"] = sum(row[kind] for kind in BYTES)
    each = 1_000_000 + 4 * plans.PIXELS + 8
    row["largest_batch"] = (plans.BUDGET - row["total"] + images * each) // each
    return {**row, **changes}


FILES = {
    "right": ({}, ""),
    "another order": (
        {"model": "resnet18"},
        "of row 2 is resnet18 32; expected from row 2 on, in that order: resnet50 32",
    ),
    "another batch": ({"batch_size": 64}, "of row 2 is resnet50 64"),
    "no sum": ({"total": 5}, "total of resnet50 is 5, but the six kinds add up to"),
    "a thousand classes": (
        {"parameters": plans.PARAMETERS["resnet50"] + 8, "buffers": 0, "gradients": 4},
        "parameters of resnet50 is 94,114,096, but with ten classes they take 94,114,088",
    ),
    "another size": (
        {"batch": 32 * (4 * plans.PIXELS + 8) - 5, "buffers": 10},
        "images in float32 and their labels take 19,267,840",
    ),
    "no straight line": ({"activations": 32_000_001, "buffers": 4}, ""),
    "not the same for each image": (
        {"activations": 32_000_001, "total": planned("resnet50", 32)["total"] + 1},
        "each image does not add the same number of bytes",
    ),
    "another largest": (
        {"largest_batch": 128},
        "largest_batch of resnet50 is 128, but by its two plans",
    ),
}


@pytest.mark.parametrize(("changes", "problem"), FILES.values(), ids=FILES)
def test_rows_of_a_plan_fit_each_other(changes, problem):
    rows = [planned("resnet18", 32), planned("resnet50", 32, **changes), planned("resnet50", 128)]
    found = PLANS.problem(rows) or plans.plan_problem(rows)

    assert problem in found
    assert bool(problem) == bool(found)


KNOWN = [
    {"function": "hot", "calls": 4, "own_seconds": 2.0, "seconds": 2.5},
    {"function": "main", "calls": 1, "own_seconds": 0.5, "seconds": 3.0},
]


def profiled(rows, result=5.0):
    told, known = ({"rows": it, "result": value} for it, value in ((rows, result), (KNOWN, 5.0)))
    seen = Pair(Observation("p", "ok", told), Observation("p", "ok", known))
    return profilers.same_profile(seen, "function")


PROFILES = {
    "another row twice": ([KNOWN[0], *KNOWN], "one function must have one row"),
    "a row is missing": (KNOWN[1:], "each function that ran must have a row"),
    "swapped": ([{**KNOWN[0], "own_seconds": 2.5}, KNOWN[1]], "that is its seconds"),
    "text": ([{**KNOWN[0], "calls": "4"}, KNOWN[1]], "it must be a number"),
    "another clock": (
        [{**KNOWN[0], "own_seconds": 2e-6}, KNOWN[1]],
        "the clock is not time.perf_counter",
    ),
    "a call too few": ([{**KNOWN[0], "calls": 3}, KNOWN[1]], "some calls are missing"),
    "the longest first": (KNOWN[::-1], "in the wrong order"),
}


@pytest.mark.parametrize(("rows", "why"), PROFILES.values(), ids=PROFILES)
def test_a_profile_says_what_is_known(rows, why):
    verdict = profiled(rows)

    assert isinstance(verdict, Failed)
    assert why in verdict.why


def test_of_a_function_that_calls_itself_the_seconds_are_not_judged():
    """Those within a call of itself may count once or twice; its calls count all."""
    known = [{"function": "again", "calls": 6, "own_seconds": 3.5}]

    def judged(calls):
        rows = [{**known[0], "seconds": 5.0, "calls": calls}]
        return profilers.same_profile(pair("rows", rows, known, result=1.0), "function")

    assert isinstance(judged(6), Passed)
    assert "the function calls itself" in judged(2).why


def test_a_line_is_shown_with_its_text():
    known = [{"line": 65, "hits": 4, "seconds": 2.0, "text": "helper(item)"}]
    rows = [{"line": 65, "hits": 4, "seconds": 1.0}]
    found = profilers.same_profile(pair("rows", rows, known, result=1.0), "line")

    assert "add the time since the last one" in found.try_
    line = "line 65 of the grader's program, `helper(item)`"
    assert found.measured == f"{line}: seconds is 1, and 2 is right"


def test_a_right_profile_passes_whatever_else_it_holds():
    others = {"function": "<built-in>", "calls": 9, "own_seconds": 9.0, "seconds": 9.0}

    assert Passed("2 rows, on a clock that the grader moves") == profiled([others, *KNOWN])
    assert isinstance(profiled(KNOWN, result=None), Failed)


def study(**changes):
    """Three rows of one thread; plain ones take 10 ms."""
    rows = [
        {"option": option, "threads": 1, "ms": ms, "speedup": 10 / ms, "device": "CPU"}
        for option, ms in (("plain", 10.0), ("channels_last", 5.0), ("bfloat16", 40.0))
    ]
    rows[1] |= changes
    return rows


ROWS = {
    "right": ({}, ""),
    "text": ({"ms": "5 ms"}, "ms of channels_last 1 is '5 ms', and it must be a number"),
    "another option": ({"option": "jit"}, "but must be each option with each number of threads"),
    "no time": ({"ms": 0.0}, "ms of channels_last, threads 1 is 0"),
    "upside down": (
        {"speedup": 0.5},
        "speedup of channels_last, threads 1 is 0.5, but ms of the first row / ms is 2",
    ),
    "no device": ({"device": None}, "the device is not named"),
    "two devices": ({"device": "GPU"}, "the rows are from two machines"),
}


@pytest.mark.parametrize(("changes", "problem"), ROWS.values(), ids=ROWS)
def test_rows_of_a_study_fit_each_other(changes, problem):
    found = CPU.problem(study(**changes)) or cpu.options_problem(study(**changes))

    assert problem in found
    assert bool(problem) == bool(found)


def test_a_study_without_rows_is_none():
    assert "there are no rows" in CPU.problem([])


MILLISECONDS = {
    "right": ({}, ""),
    "the mean": ({"ms": 5 * cpu.MEAN}, "the mean, which one slow call decides"),
    "the fastest": ({"ms": 3.0}, "the fastest call"),
    "seconds": ({"ms": 0.005}, "in seconds"),
    "threads that were not set": ({"ms": 400.0}, "torch had a different number of threads"),
    "the first call": ({"ms": 6.0}, "it includes the slow first call"),
    "five calls": ({"ms": 4.5}, "the median of fewer or more than seven calls"),
    "anything else": ({"ms": 60.0}, "not the median of seven timed calls"),
    "a used step": ({"ms": 12.5}, "the step ran before with a different number of threads"),
    "time of all threads": ({"ms": 20.0, "threads": 4}, "time.process_time(), which adds up"),
}


@pytest.mark.parametrize(("changes", "problem"), MILLISECONDS.values(), ids=MILLISECONDS)
def test_milliseconds_are_those_that_passed(changes, problem):
    found = cpu.time_problem(study(**changes), [10.0, 5.0, 40.0])

    assert problem in found
    assert bool(problem) == bool(found)


@pytest.mark.parametrize(("more", "found"), [(0, False), (1, True), (-1, True)])
def test_the_largest_batch_of_a_single_plan_fits_and_the_next_one_does_not(more, found):
    small = planned("resnet18", 32)
    small["largest_batch"] += more
    problem = plans.plan_problem([small, planned("resnet50", 32), planned("resnet50", 128)])

    assert found == ("largest_batch of resnet18" in problem)
