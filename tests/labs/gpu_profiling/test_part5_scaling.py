"""Part 5 of gpu_profiling judged whole: right work passes on any seed; mistakes are entries of the corpus."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from autograder.json_schema import Draft202012Validator
from autograder.labs.gpu_profiling.part5_scaling import part
from autograder.model import Limits, Pair
from tests.labs.bench import ROOT, Bench, failing, says

TOGETHER = {name for name, check in part.checks.items() if "ranks" in check.reads}
bench = Bench(
    "gpu_profiling", part, without=TOGETHER
)  # its processes are forked from one that has not trained yet
HANDOUT = (ROOT / "assignments/gpu_profiling/part5_scaling.md").read_text(encoding="utf-8")
pytestmark = pytest.mark.filterwarnings("ignore")


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("run", [[], [2.0, 96.0]], ids=len)
def test_a_run_that_lacks_an_argument_is_refused(run):
    form = Draft202012Validator(part.probes["measured"].values["properties"]["runs"])

    assert form.is_valid([[2.0, 96.0, 6.0]])
    assert not form.is_valid([run])


@pytest.mark.parametrize("seed", range(3))
def test_the_reference_passes_in_one_process(judge, seed):
    assert {} == failing(judge(bench.source, seed))


@pytest.mark.slow
def test_the_reference_passes_in_two_processes(workers):
    seen = bench.in_workers(workers, "ranks", Limits(60))

    assert {} == failing({name: part.checks[name].judge(seen) for name in TOGETHER})


@pytest.fixture
def shared():
    """Three samples, two of each process, in two epochs; everything is as one process arrives at it."""
    known = bench.baseline_answer("ranks")
    short = {
        name: known.arrays[name][:2] for name in known.arrays if name[:-1] in ("losses", "seconds")
    }
    known = replace(known, values={**known.values, "samples": 3}, arrays={**known.arrays, **short})

    def told(*asked):
        ranks = [{"asked": list(mine), "files": [], "open": True} for mine in asked]
        return Pair(replace(known, values={**known.values, "ranks": ranks}), known)

    return told


SHARES = {
    "divided": (((0, 1, 2, 1), (2, 0, 0, 1)), {}),
    "the same order": (
        ((0, 1, 0, 1), (2, 0, 2, 0)),
        {"shuffles_each_epoch": "every epoch has the same order"},
    ),
    "alike": (
        ((0, 1, 1, 0), (0, 1, 1, 0)),
        {"divides_the_samples": "both processes read the same samples; in epoch"},
    ),
    "one reads": (((0, 1, 2, 1), ()), {"divides_the_samples": "each process must read 2 samples"}),
}


@pytest.mark.parametrize(("asked", "fails"), SHARES.values(), ids=SHARES)
def test_samples_are_divided_anew_in_each_epoch(shared, asked, fails):
    names = ("divides_the_samples", "shuffles_each_epoch")

    says(failing({name: part.checks[name].judge(shared(*asked)) for name in names}), fails)


ANEW, KEPT = ((0, 1, 2), (1, 2, 0)), ((0, 0, 0), (1, 1, 1))
ORDERS = {
    "kept, and trained so": (KEPT, "kept_", True),
    "anew, and trained so": (ANEW, "", True),
    "anew is read, the first is trained on": (ANEW, "kept_", False),
    "the first is read, anew is trained on": (KEPT, "", False),
}


@pytest.mark.parametrize(("asked", "trained", "right"), ORDERS.values(), ids=ORDERS)
def test_a_missing_set_epoch_costs_its_own_check_only(asked, trained, right):
    known = bench.baseline_answer("ranks")
    arrays = {
        name: known.arrays[f"{trained}{name}"]
        for name in ("weights0", "weights1", "losses0", "losses1")
    }
    values = {
        **known.values,
        "ranks": [{"asked": list(mine), "files": [], "open": True} for mine in asked],
    }
    seen = Pair(replace(known, values=values, arrays={**known.arrays, **arrays}), known)
    names = {"trains_as_one_process", "loss_is_of_all"}

    assert (set() if right else names) == set(
        failing({name: part.checks[name].judge(seen) for name in names})
    )


def test_a_check_points_to_sections_that_are_there():
    source = (ROOT / "autograder/labs/gpu_profiling/part5_scaling/__init__.py").read_text(
        encoding="utf-8"
    )

    assert set(re.findall(r"see \"(.*?)\" in the part 5 handout", source)) <= set(
        re.findall(r"^## (.*)$", HANDOUT, re.MULTILINE)
    )
