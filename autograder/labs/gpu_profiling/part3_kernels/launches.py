"""Launches: counted in traces, and a table of nets that says how many each has and how long it takes."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from autograder.checks.answer_lists import each
from autograder.checks.hints import caused, hinted
from autograder.checks.slips import COUNTS
from autograder.claims.studies import WRITTEN, Study, written
from autograder.lab import (
    INTEGER,
    NUMBER,
    TEXT,
    Answer,
    Pair,
    Student,
    Verdict,
    list_of,
    map_of,
    optional,
)
from autograder.labs.gpu_profiling.part3_kernels import judges
from autograder.labs.gpu_profiling.part3_kernels.part import LAUNCH, Rig, part

KINDS = ("eager", "compiled", "on_gpu")


@part.probe(
    pair=True,
    values={"reported": list_of(map_of(optional(NUMBER))), "expected": list_of(map_of(INTEGER))},
)
def counted(student: Student, rig: Rig) -> Answer:
    """Made traces of which everything is known."""
    reported, expected = [], []
    for kind in KINDS:
        made = getattr(rig.launches, kind)(rig.random)
        file = rig.folder / f"made_{kind}.json.gz"
        file.write_bytes(made.data())
        expected.append(dict(made.counts))
        if rig.side == "student":
            counts = rig.returned("count_launches", student.count_launches(str(file)))
            reported.append({name: rig.number(count) for name, count in counts.items()})
    return {"reported": reported, "expected": expected}


APART = 0.05  # so that a speedup of 1 shows


@part.probe(
    pair=True,
    values={
        **WRITTEN,
        "names": list_of(TEXT),
        "launches": list_of(INTEGER),
        "own": list_of(optional(NUMBER)),
        "calls": COUNTS,
        "seconds": list_of(NUMBER),
        "repeats": INTEGER,
        "device": TEXT,
    },
)
def scripted_nets(student: Student, rig: Rig) -> Answer:
    """Nets of a known number of operators that take scripted seconds."""
    names = ["simple", "optimized", "compiled"]  # not in the order of the alphabet
    repeats = 2 * rig.integer(3, 5) + 1  # never the five that go without saying
    rows = rig.integer(8, 30)
    counts = [rig.integer(5, 25) for _ in names]
    seconds = rig.seconds(0.05, 0.9, len(names))
    while abs(seconds[1] / seconds[0] - 1) < APART:
        seconds = rig.seconds(0.05, 0.9, len(names))
    nets = {
        name: rig.scripted_net(own, rows, operators, repeats)
        for name, own, operators in zip(names, seconds, counts, strict=True)
    }
    images = rig.tensor(rig.random.normal(size=(2, 3, rows, 4)))
    folder = str(rig.made_folder())
    returned = student.compare_nets(nets, images, folder=folder, repeats=repeats)
    return {
        **written(rig, judges.RESULTS, "compare_nets", returned),
        "names": names,
        "launches": counts,
        "seconds": seconds,
        "repeats": repeats,
        "calls": [dict(net.counts) for net in nets.values()],
        "own": [launched(student, rig, net, images) for net in nets.values()],
        "device": rig.text(rig.given("device_name")(rig.device)),
    }


def launched(student: Student, rig: Rig, net: Any, images: Any) -> Any:
    """Return what the student's own count_launches finds in one call, right or wrong: it is judged by itself."""
    file = str(rig.folder / "one_call.json")
    with rig.no_grad(), suppress(Exception):
        rig.given("record")(lambda on_step: (net(images), on_step()), file, 1)
        return rig.number(sum(student.count_launches(file).values()))
    return None


CONSTANT = "your code returns the same counts for each trace that the grader made"
LAUNCH_HINTS = {
    CONSTANT: "count the events of the file",
    "operators are left out": "skip an operator only inside one of its own thread that has not ended",
    "the compiler wrote": "count each cpu_op whose name holds 'fused' and does not begin with aten::",
    "kernels": "if the trace has events of category kernel, count these alone",
    "events of category": "count all events of category kernel",
    "launches nothing": "skip operators whose names are in given.NO_WORK",
    "no kernel of the": "test for 'fused' only names that do not begin with aten::",
    "inside another": "skip operators that lie inside another one of their thread",
    "a range around": "besides aten:: operators, count only events with 'fused' in their names",
}


@part.check(basis="scripted")
def counts_launches(counted: Pair) -> Verdict:
    """count_launches counts the launches in a trace, from a GPU, a CPU, or compiled code on a CPU."""
    expected = list(zip(KINDS, counted.baseline.values["expected"], strict=True))
    first, *others = counted.student.values["reported"] or [{}]
    constant = first and others and all(it == first for it in others)

    def problem(reported: judges.Counts, case: tuple[str, Mapping[str, int]]) -> tuple[str, str]:
        kind, counts = case
        measured, why = judges.miscounted(reported, counts)
        why = why and CONSTANT if constant else why
        return f"a made trace ({kind.replace('_', ' a ')}): {measured}", why

    passed = ", ".join(f"{sum(counts.values())} launches ({kind})" for kind, counts in expected)
    judged = each([first, *others], expected, problem, LAUNCH, passed)
    return hinted(judged, LAUNCH_HINTS)


COMPARED_HINTS = {
    "records the first call": "call the net once before you record",
    "records several calls": "record a single call",
    "your count_launches": "record one call, and add up what count_launches returns for the trace",
    "the profiler ran": "time the calls after the profiler has stopped",
    "gradients were recorded": "call the net under torch.no_grad()",
}


def _compared(scripted_nets: Pair) -> str | tuple[str, str]:
    values = scripted_nets.student.values
    problem = judges.unlike(values["rows"], scripted_nets.baseline.values, values)
    return caused(problem, COMPARED_HINTS)


study = Study(
    part,
    judges.RESULTS,
    "compare_nets",
    by=scripted_nets,
    expected=lambda script: script["names"],
)
study.is_measured(
    "compares_honestly",
    _compared,
    says="compare_nets counts the launches of one call, and times the median call after a warm-up, "
    "without the profiler.",
    try_="warm up, record one call, then time as many calls as `repeats` says, one by one; statistics.median",
    shows=["launches", "ms"],
)
study.is_written()
