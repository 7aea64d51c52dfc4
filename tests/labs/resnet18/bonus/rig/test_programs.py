"""Programs on a scripted clock: what is said of them is what passes."""

from __future__ import annotations

import cProfile
import pstats
import statistics
import sys
import time

import numpy as np
import pytest
import torch

from autograder.labs.resnet18.bonus import cpu
from autograder.labs.resnet18.bonus.rig.programs import AGAIN, COLD, PATTERN, USED, Programs
from autograder.worker.rigs.clock import VirtualClock


@pytest.fixture
def clock():
    made = VirtualClock()
    made.install()
    made.freeze()
    yield made
    made.uninstall()


@pytest.fixture
def programs(clock):
    return Programs(np.random.default_rng(3), clock)


def seconds_of(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def test_a_program_of_calls_takes_what_its_outermost_function_takes(programs):
    program, known = programs.calls()
    seconds = seconds_of(lambda: program(1))
    outer = max(known, key=lambda row: row.get("seconds", 0.0))

    assert outer["seconds"] == pytest.approx(seconds, abs=1e-4)
    assert outer["seconds"] == pytest.approx(sum(row["own_seconds"] for row in known))
    assert (1, 2) == (outer["calls"], program(1))


def test_one_function_calls_itself_and_each_of_its_calls_counts(programs):
    program, known = programs.calls()
    profile = cProfile.Profile(time.perf_counter)
    profile.runcall(program, 1)
    seen = {name: calls for (_, _, name), (*calls, _, _, _) in pstats.Stats(profile).stats.items()}
    [again] = [row for row in known if "seconds" not in row]

    assert {row["function"]: row["calls"] for row in known}.items() <= {
        name: it[1] for name, it in seen.items()
    }.items()
    assert again["calls"] == seen[again["function"]][1] == (1 + AGAIN) * seen[again["function"]][0]


def test_a_program_of_lines_takes_what_its_lines_take(programs):
    program, known = programs.lines()

    assert sum(row["seconds"] for row in known) == pytest.approx(
        seconds_of(lambda: program(1)), abs=1e-4
    )
    assert all(row["line"] > program.__code__.co_firstlineno for row in known)
    assert "return helper(done) + rounds" == known[-1]["text"]


def test_each_draw_is_another_program(programs):
    assert programs.calls()[1] != programs.calls()[1]


def lets_go(program, argument):
    return program(argument), []


def stays(program, argument):
    sys.setprofile(lambda *_: None)
    return program(argument), []


def runs_on(program, argument):
    profile = cProfile.Profile()
    profile.enable()
    result = program(argument)
    profile.disable()
    return result, []


def swallows(program, argument):
    try:
        return program(argument), []
    except ZeroDivisionError:
        return None, []


def ends_all_traces(program, argument):
    try:
        return program(argument), []
    finally:
        sys.settrace(None)


LEFT = {
    "nothing": (lets_go, []),
    "a profiler": (
        stays,
        ["stays still watches after a call", "stays still watches after a call that raised"],
    ),
    "the library's profiler": (runs_on, ["runs_on still watches after a call that raised"]),
    "a trace that was there": (
        ends_all_traces,
        [
            f"a trace that was on before ends_all_traces is off after {it}"
            for it in ("a call", "a call that raised")
        ],
    ),
    "an exception": (swallows, ["swallows let no exception through"]),
}


@pytest.mark.parametrize(("profiler", "expected"), LEFT.values(), ids=LEFT)
def test_what_a_profiler_leaves_behind_is_said_and_put_away(programs, profiler, expected):
    before = sys.getprofile()

    assert expected == programs.left(profiler)
    assert before is sys.getprofile()
    assert expected == programs.left(profiler)


def test_steps_take_their_time_by_the_threads_that_torch_has(programs):
    """The first one is cold; of any seven after it the median is the same, and with it another."""
    count = torch.get_num_threads()
    step = programs.steps({"plain": 2.0}, {count: 4.0})("plain")

    assert COLD == pytest.approx(seconds_of(step), abs=1e-4)
    assert 1.0 == statistics.median(PATTERN)
    assert cpu.COLD == statistics.median([COLD, *PATTERN[1:]])
    assert cpu.MEAN == pytest.approx(statistics.mean(PATTERN))
    others = {statistics.median((PATTERN[1:] + PATTERN)[:few]) for few in (3, 4, 5, 6, 8, 9, 10)}
    assert sorted(others) == pytest.approx(cpu.COUNTS)
    assert sorted(0.5 * it for it in PATTERN) == pytest.approx(
        sorted(seconds_of(step) for _ in range(7)), abs=1e-4
    )
    assert 20.0 <= seconds_of(
        lambda: [programs.steps({"plain": 2.0}, {})("plain")() for _ in range(5)]
    )


def test_a_step_that_ran_with_other_threads_is_slower(programs):
    before = torch.get_num_threads()
    step = programs.steps({"plain": 2.0}, {before: 1.0, before + 1: 1.0})("plain")
    step()
    try:
        programs.threads(before + 1)
        used = seconds_of(step)
    finally:
        programs.threads(before)

    assert 2.0 * USED * PATTERN[1] == pytest.approx(used, abs=1e-4)


def test_time_of_computing_adds_up_over_threads(programs):
    before = programs.threads()
    try:
        programs.threads(3)
        step, start = programs.steps({"plain": 2.0}, {3: 1.0})("plain"), time.process_time()
        step()
    finally:
        programs.threads(before)

    assert 3 * COLD == pytest.approx(time.process_time() - start, abs=1e-4)


def test_threads_are_said_and_set(programs):
    before = programs.threads()
    try:
        assert (3, 3) == (programs.threads(3), programs.threads())
    finally:
        assert before == programs.threads(before)
