"""The bonus judged whole: right work passes on any seed, and what students write is held to what the handout says.

Each mistake is an entry of tests/submissions/resnet18/bonus.yaml.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import autograder
from autograder import checks
from autograder.lab import conform
from autograder.labs.resnet18.bonus import part
from autograder.model import Job, Limits, Observation, Pair, Passed
from autograder.sandbox.workers import Workers
from tests.worker.harness import observe

ROOT = Path(autograder.__file__).parent.parent
REFERENCE = ROOT / "reference" / "resnet18"
BASELINE = REFERENCE / "baseline" / part.file
HANDOUT = (ROOT / "assignments/resnet18/bonus.md").read_text(encoding="utf-8")
TOGETHER = "ranks"  # its processes are forked, which takes a process that has not trained yet


@pytest.fixture(autouse=True)
def surroundings(monkeypatch):
    """What a worker has: `given` to import, no display."""
    monkeypatch.syspath_prepend(str(REFERENCE))
    monkeypatch.setenv("MPLBACKEND", "Agg")
    yield
    for name in [name for name in sys.modules if name.split(".")[0] in ("given", part.id)]:
        del sys.modules[name]


def evidence(name, seed):
    if name in part.artefacts:
        file = part.artefacts[name]
        return checks.read((REFERENCE / file).read_bytes(), file)
    seen = observe(part, name, REFERENCE / part.file, seed)
    assert "ok" == seen.ended, seen.error
    return (
        Pair(seen, observe(part, name, BASELINE, seed, "baseline"))
        if part.probes[name].pair
        else seen
    )


def judged(chosen, read):
    return {
        one.name: it
        for one in chosen
        if not isinstance(it := one.judge(**{n: read[n] for n in one.reads}), Passed)
    }


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.filterwarnings("ignore")
def test_the_reference_passes_in_one_process(seed):
    chosen = [check for check in part.checks.values() if TOGETHER not in check.reads]
    read = {
        name: evidence(name, seed)
        for name in dict.fromkeys(n for check in chosen for n in check.reads)
    }

    assert {} == judged(chosen, read)


@pytest.mark.slow
def test_the_reference_passes_in_two_processes():
    given = {f"given/{path.name}": path.read_bytes() for path in (REFERENCE / "given").glob("*.py")}
    chosen = [check for check in part.checks.values() if TOGETHER in check.reads]
    with Workers() as run:
        sides = {"student": REFERENCE / part.file, "baseline": BASELINE}
        seen = [
            run(
                Job(
                    "resnet18",
                    part.id,
                    TOGETHER,
                    side,
                    7,
                    Limits(30),
                    {part.file: path.read_bytes(), **given},
                    "cpu",
                )
            )
            for side, path in sides.items()
        ]

    assert ["ok", "ok"] == [one.ended for one in seen]
    assert {} == judged(chosen, {TOGETHER: Pair(*seen)})


@pytest.mark.parametrize("stem", ["cpu_study", "memory_plan"])
def test_the_files_of_the_reference_are_as_their_schema_says(stem):
    schema = json.loads(
        (ROOT / f"assignments/resnet18/schemas/{stem}.schema.json").read_text(encoding="utf-8")
    )
    columns = checks.read((REFERENCE / f"{stem}.csv").read_bytes(), f"{stem}.csv").columns

    assert tuple(schema["required"]) == columns


def test_a_check_points_to_sections_that_are_there():
    sections = re.findall(r"^## (.*)$", HANDOUT, re.MULTILINE)
    source = (ROOT / "autograder/labs/resnet18/bonus.py").read_text(encoding="utf-8")

    assert set(re.findall(r"see \"(.*?)\" in the bonus handout", source)) <= set(sections)


FORGED = {
    "one process": (
        "ranks",
        {
            "samples": 1,
            "names": [],
            "left_open": False,
            "ranks": [{"asked": [], "files": [], "open": False}],
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
    "plans": {"cases": []},
    "budgets": {"cases": []},
    "decorator_times": {"cases": []},
    "ranks": {
        "samples": 0,
        "names": [],
        "left_open": True,
        "ranks": [{"asked": [], "files": [], "open": True}] * 2,
    },
}


@pytest.mark.parametrize(("probe", "values"), EMPTY.items(), ids=EMPTY)
@pytest.mark.filterwarnings("ignore")
def test_an_empty_answer_is_a_mistake_and_no_fault_of_ours(probe, values):
    declared = part.probes[probe]
    arrays = {name: np.zeros((0,) * ndim, dtype) for name, (dtype, ndim) in declared.arrays.items()}
    told = conform(declared, Observation(probe, "ok", values, arrays))
    assert "ok" == told.ended, told.error
    seen = Pair(told, observe(part, probe, BASELINE, 1, "baseline"))

    assert {"Failed"} == {
        type(one.judge(seen)).__name__ for one in part.checks.values() if one.reads == (probe,)
    }
