"""Part 5 judged whole: right work passes on any seed; mistakes are entries of the corpus."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autograder import checks
from autograder.labs.resnet18.part5_compile import part
from autograder.model import Bar, Failed, Pair, Timed, Unavailable
from tests.labs.bench import Bench, failing, says

TIMED = {"compiled_is_faster"}
bench = Bench("resnet18", part, without=TIMED)
pytestmark = pytest.mark.filterwarnings("ignore")


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


def test_the_reference_passes(judge):
    assert {} == failing(judge(bench.source))


def test_a_number_of_pythons_is_told_even_where_it_changes_the_answer(judge):
    """Whoever is graded is told of the answer first."""
    source = bench.entry("guard_with_a_limit_that_grows")
    fails = {"guard_is_one_graph": "a Python number that changes"}

    says(failing(judge(source, only=fails)), fails)


def test_autocast_that_is_always_on_may_be_why_the_first_loss_is_another(judge):
    source = bench.changed((", enabled=use_amp):", "):"))

    assert "autocast" in judge(source, only=["follows_eager"])["follows_eager"].why


def test_graphs_of_one_precision_say_nothing_of_what_the_other_noted():
    trusted = bench.answer("training", 1)
    nothing = {**trusted.values["amp_epoch"], "built": [], "runs": {}}
    values = {**trusted.values, "amp_warm": nothing, "amp_epoch": nothing}

    found = part.checks["nothing_is_built_later"].judge(
        Pair(replace(trusted, values=values), trusted)
    )

    assert "usually compile_model does not compile with the backend argument" == found.why


def test_without_a_clock_the_speed_is_owed():
    answer = bench.baseline_answer("training")
    timed = Timed(answer, answer, unavailable="no clock")

    assert Unavailable("no clock") == part.checks["compiled_is_faster"].judge(Bar(1.1, "t4"), timed)


HEADER = "model,throughput,epoch_time,compile_s,loss,speedup,device\n"


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        pytest.param("", "there are no rows", id="a header only"),
        pytest.param("Eager,10,2,0,2,1,AMD\nCompiled,20,1,30,2,2x,AMD\n", "'2x'", id="a unit"),
        pytest.param(
            "Eager,10,2,0,2,1,AMD\nCompiled,20,1,0,2,2,AMD\n",
            "the cold start is missing",
            id="no cold start",
        ),
    ],
)
def test_a_file_that_contradicts_itself_fails(rows, words):
    found = part.checks["csv_is_consistent"].judge(
        checks.read((HEADER + rows).encode(), "compile_results.csv")
    )

    assert isinstance(found, Failed)
    assert words in found.measured
