"""Part 6 of distributed judged whole: right work passes; mistakes are entries of the corpus."""

from __future__ import annotations

import pytest

from autograder import checks
from autograder.labs.distributed.part6_final import configurations, part
from autograder.labs.distributed.part6_final.part import PROGRAM
from autograder.model import Device, Failed, Job, Limits, Observation, Pair, Passed, Unavailable
from tests.labs.bench import ROOT, Bench, failing

PROGRAMS = ("plain", "halved", "grouped", "loaded", "together", "profiled")
TOGETHER = {name for name, check in part.checks.items() if {*check.reads} & {*PROGRAMS}}
# Its processes are forked from one that has not trained yet.
bench = Bench("distributed", part, without=TOGETHER)
pytestmark = pytest.mark.filterwarnings("ignore")
MADE = ROOT / "tests" / "submissions" / "distributed"
GPU = Device("NVIDIA H100 80GB HBM3", "cuda", "hopper")
CPU = Device("a CPU", "cpu", "cpu")


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


def test_the_reference_passes(judge):
    """All but the speed, which is owed without a GPU."""
    found = judge(bench.source)

    assert isinstance(found.pop("all_is_faster"), Unavailable)
    assert {} == failing(found)


def in_workers(workers, name):
    """Both sides' answers, with the program beside the part's file."""
    files = {
        f"given/{file.name}": file.read_bytes() for file in (bench.reference / "given").glob("*.py")
    }

    def answer(side, home):
        own = {file: (home / file).read_bytes() for file in (part.file, PROGRAM)}
        job = Job("distributed", part.id, name, side, 7, Limits(60), files | own, "cpu")
        return workers(job)

    seen = Pair(
        answer("student", bench.reference), answer("baseline", bench.reference / "baseline")
    )
    assert ("ok", "ok") == (seen.student.ended, seen.baseline.ended), seen.student.error
    return seen


@pytest.mark.slow
def test_the_reference_passes_in_two_processes(workers):
    seen = {name: in_workers(workers, name) for name in PROGRAMS}
    found = {
        name: part.checks[name].judge(*(seen[each] for each in part.checks[name].reads))
        for name in TOGETHER
    }

    assert {} == failing(found)


@pytest.mark.parametrize(
    ("folder", "device", "kind", "words"),
    [
        ("final_faster_on_two_gpus", GPU, Passed, "1.76 times as fast"),
        ("final_faster_on_two_gpus", CPU, Unavailable, "not comparable here"),
        ("final_slow_on_two_gpus", GPU, Failed, "expected 1.5 times or more"),
    ],
)
def test_a_speedup_counts_where_it_can_be_shown(folder, device, kind, words):
    files = (MADE / folder / name for name in ("distributed_results.csv", "after_trace.json.gz"))
    table, trace = (checks.read(file.read_bytes(), file.name) for file in files)

    found = part.checks["all_is_faster"].judge(table, trace, device)

    assert isinstance(found, kind)
    assert words in str(found)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"amp": 0, "accumulate": 1, "workers": 0}, "Baseline"),
        ({"amp": 1, "accumulate": 1, "workers": 0}, "+ AMP"),
        ({"amp": 0, "accumulate": 4, "workers": 0}, "+ Grad Accum"),
        ({"amp": 0, "accumulate": 1, "workers": 2}, "+ DataLoader"),
        ({"amp": 1, "accumulate": 4, "workers": 2}, "+ All"),
        ({"amp": 1, "accumulate": 1, "workers": 2}, "+ AMP and + DataLoader"),
    ],
)
def test_a_run_is_known_by_what_it_changes(changed, expected):
    assert expected == configurations.kind(changed)


def test_a_prediction_of_one_process_is_its_computing():
    call = {"processes": 1, "compute_ms": 340.0, "buckets": [10**6], "latency_ms": 1.0}

    found = configurations.predicted(**call, bytes_per_ms=1e5, hideable_ms=34.0)

    assert {"step_ms": 340.0, "efficiency": 1.0, "strong_efficiency": 1.0} == found


@pytest.mark.parametrize("epochs", [0, 3, 10**19])
def test_the_size_of_the_set_is_not_what_the_program_says(epochs):
    read = {"ranks": [{"asked": []}, {"asked": []}], "samples": 0, "epochs": epochs}
    sides = (Observation("plain", "ok", it) for it in (read, {**read, "samples": 4, "epochs": 3}))

    judged = part.checks["divides_the_samples"].judge(Pair(*sides))

    assert "the set has 4" in judged.measured
    assert "each process must read 2 samples in each of 3 epochs" in judged.why
