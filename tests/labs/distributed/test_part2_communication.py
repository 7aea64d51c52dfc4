"""Part 2 of distributed: right work passes in real workers; mistakes are entries of the corpus."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.checks.hints import hinted
from autograder.labs.distributed.part2_communication import judges, part, stories
from autograder.model import Failed, Limits
from tests.labs.bench import Bench, failing

# Its processes are forked from one that has not trained yet.
bench = Bench("distributed", part, without=part.checks)


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.slow
def test_the_reference_passes_in_two_processes(workers):
    seen = {name: bench.in_workers(workers, name, Limits(40)) for name in part.probes}
    verdicts = {
        name: check.judge(**{each: seen[each] for each in check.reads})
        for name, check in part.checks.items()
        if set(check.reads) <= set(seen)
    }

    assert {} == failing(verdicts)


# --- the script of a clock --------------------------------------------------------------------


def test_figures_of_a_step_by_hand():
    link = stories.Link(latency=0.01, bandwidth=1e6)
    script = stories.Script([1.0], slower=0)
    story = stories.Story(128, 0.1, 2, compute=0.34, exposed=0.05, link=link, script=script)
    figures = story.figures()

    assert 170_536 - 4 * 128 == story.bytes
    assert pytest.approx(390.0) == figures["step_ms"]
    assert pytest.approx(20.0 + 170.024) == figures["total_ms"]
    assert pytest.approx(100 * (1 - 50 / 190.024)) == figures["hidden_percent"]


def test_each_advice_is_asked_for():
    advised = {
        kind: stories.advised(**stories.drawn_figures(np.random.default_rng(1), **fixed))
        for kind, fixed in stories.SITUATIONS.items()
    }

    assert {"nothing", "larger buckets", "accumulate", "overlap", "compress"} == {*advised.values()}
    assert "nothing" != advised["5 percent are exposed"]
    assert "compress" == advised["latencies are half of total_ms"]
    assert "compress" == advised["as much communication as computation"]


@pytest.mark.parametrize("world", [2, 3])
def test_no_mistake_gives_the_right_time(world):
    for seed in range(50):
        script = stories.drawn_script(np.random.default_rng(seed), seed % world)

        for words, number in script.slips(1.0, world).items():
            assert abs(number - 1) > 2 * judges.WITHIN, words


# --- what is handed in ------------------------------------------------------------------------


def test_the_table_of_the_reference_is_consistent():
    rows = judges.LINK.read(bench.handed_in(judges.LINK.file))

    assert "" == (judges.LINK.problem(rows) or judges.table_problem(rows))


@pytest.mark.parametrize("processes", [2, 8, 512])
def test_bandwidths_of_any_number_of_processes_fit(processes):
    factor = 2 * (processes - 1) / processes
    rows = [
        {"bytes": 1024 * 8**k, "ms": 1.0 + k, "bus_gb_s": factor * 1024 * 8**k / (1 + k) / 1e6}
        for k in range(4)
    ]

    assert "" == judges.table_problem(rows)


def test_no_call_at_all_is_not_one_of_four_times_the_bytes():
    assert "" == judges._other_calls({"alone": [], "buckets": []})


def test_a_time_without_synchronisation_has_a_hint_of_its_own():
    failed = hinted(Failed("", judges.WHY["compute_ms"], ""), judges.TIMED)

    assert "start the clock" in failed.try_
