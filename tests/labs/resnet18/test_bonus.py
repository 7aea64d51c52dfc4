"""The bonus judged whole: right work passes on any seed, and an answer of another form is refused.

Each mistake is an entry of tests/submissions/resnet18/bonus.yaml.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from autograder.lab import conform
from autograder.labs.resnet18.bonus import part
from autograder.model import Limits, Observation, Pair, Passed
from tests.labs.bench import ROOT, Bench

TOGETHER = "ranks"  # its processes are forked, which takes a process that has not trained yet
RANKED = {check.name for check in part.checks.values() if TOGETHER in check.reads}
bench = Bench("resnet18", part, without=RANKED)


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.filterwarnings("ignore")
def test_the_reference_passes_in_one_process(judge):
    assert {} == not_passed(judge(bench.source))


@pytest.mark.slow
def test_the_reference_passes_in_two_processes(workers):
    seen = bench.in_workers(workers, TOGETHER, Limits(30))

    assert {} == not_passed({name: part.checks[name].judge(seen) for name in RANKED})


def not_passed(verdicts):
    return {name: it for name, it in verdicts.items() if not isinstance(it, Passed)}


@pytest.mark.parametrize("stem", ["cpu_study", "memory_plan"])
def test_the_files_of_the_reference_are_as_their_schema_says(stem):
    schema = json.loads(
        (ROOT / f"assignments/resnet18/schemas/{stem}.schema.json").read_text(encoding="utf-8")
    )
    columns = bench.handed_in(f"{stem}.csv").columns

    assert tuple(schema["required"]) == columns


FORGED = {
    "one process": (
        "ranks",
        {
            "samples": 1,
            "names": [],
            "left_open": False,
            "ranks": [{"asked": [], "files": [], "open": False, "steps": []}],
        },
    ),
}


@pytest.mark.parametrize(("probe", "values"), FORGED.values(), ids=FORGED)
def test_an_answer_of_another_length_is_refused_before_it_is_judged(probe, values):
    """Whatever a worker sends becomes a verdict."""
    declared = part.probes[probe]
    arrays = {name: np.zeros((0,) * ndim, dtype) for name, (dtype, ndim) in declared.arrays.items()}

    assert "refused" == conform(declared, Observation(probe, "ok", values, arrays)).ended


EMPTY = {
    "calls": {"rows": [], "result": None},
    "lines": {"rows": [{}], "result": None},
    "decorated": {"facts": {}},
    "study": {
        "rows": [{}],
        "panels": [],
        "csv": "",
        "ms": [],
        "counts": [],
        "before": 0,
        "after": 0,
    },
    "plans": {"cases": [], "slips": {}},
    "budgets": {"cases": [], "slips": {}},
    "decorator_times": {"cases": []},
    "ranks": {
        "samples": 0,
        "names": [],
        "left_open": True,
        "ranks": [{"asked": [], "files": [], "open": True, "steps": []}] * 2,
    },
}


@pytest.mark.parametrize(("probe", "values"), EMPTY.items(), ids=EMPTY)
@pytest.mark.filterwarnings("ignore")
def test_an_empty_answer_is_a_mistake_and_no_fault_of_ours(probe, values):
    declared = part.probes[probe]
    arrays = {name: np.zeros((0,) * ndim, dtype) for name, (dtype, ndim) in declared.arrays.items()}
    told = conform(declared, Observation(probe, "ok", values, arrays))
    assert "ok" == told.ended, told.error
    seen = Pair(told, bench.baseline_answer(probe))

    assert {"Failed"} == {
        type(one.judge(seen)).__name__ for one in part.checks.values() if one.reads == (probe,)
    }
