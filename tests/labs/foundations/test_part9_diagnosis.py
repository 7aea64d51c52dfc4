"""Part 9 of foundations: right work passes on any seed; mistakes are entries of the corpus."""

from __future__ import annotations

import os

import pytest

from autograder.labs.foundations.part9_diagnosis import judges, machine_of, part
from tests.labs.bench import Bench, failing

bench = Bench("foundations", part)


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(4))
def test_the_reference_passes(judge, seed):
    assert {} == failing(judge(bench.source, seed))


def test_the_case_study_of_the_handout():
    step = {"input": 0.074, "copy": 0.003, "communication": 0.0, "launch": 0.013, "kernel": 0.03}
    fixes = {"compile": {"launch": 8}, "precision": {"kernel": 2.5}, "workers": {"input": 6}}

    rows = judges.planned(step, fixes)

    assert ["workers", "precision", "compile"] == [row["fix"] for row in rows]
    assert [2.06, 1.45, 1.39] == [round(row["speedup"], 2) for row in rows]


def test_what_is_visible_is_what_torch_sees(monkeypatch):
    cuda = pytest.importorskip("torch").cuda
    for value in ("", "2,0", "0,-1,1", "0,0", " 3", "a", "1gpu,2", "1,,2", "03,1"):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", value)
        assert cuda._parse_visible_devices() == judges.visible(value, 99)


def test_a_function_imported_by_its_name_sees_the_same_machine():
    names = {"os": os, "sched_getaffinity": os.sched_getaffinity}
    exec(
        "def counted():\n    return len(sched_getaffinity(0)), len(os.sched_getaffinity(0))\n",
        names,
    )

    with machine_of(names["counted"], 5):
        assert (5, 5) == names["counted"]()
    assert names["sched_getaffinity"] is os.sched_getaffinity
