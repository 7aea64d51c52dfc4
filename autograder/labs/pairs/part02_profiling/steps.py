"""What is claimed of profile_steps: each batch once, and a file of the recorded steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autograder.checks import outputs
from autograder.lab import (
    BOOLEAN,
    CASES,
    INTEGER,
    NUMBERS,
    TEXT,
    Failed,
    Pair,
    Passed,
    Student,
    Verdict,
    list_of,
    record,
)
from autograder.labs.pairs.part02_profiling import judges
from autograder.labs.pairs.part02_profiling.part import SEE, TOP, part

if TYPE_CHECKING:
    from autograder.labs.pairs.part02_profiling.rig import Rig
else:
    Rig = Any


@part.probe(
    pair=True,
    values={
        **CASES,
        **TOP,
        "active": INTEGER,
        "sizes": list_of(INTEGER),
        "files": list_of(TEXT),
        "steps": list_of(record(number=INTEGER, rows=list_of(INTEGER))),
        "has_memory": BOOLEAN,
        "prepared": list_of(INTEGER),
    },
    arrays=NUMBERS,
)
def stepped(student: Student, rig: Rig) -> Any:
    """More batches than one cycle of a schedule, which would begin again."""
    active, folder = rig.integer(2, 4), rig.made_folder()
    steps, rows, calls, prepared = rig.steps(2 * active + 5), [], {}, []
    if rig.side == "student":
        with steps.watching() as prepared:
            returned = student.profile_steps(steps.step, steps.batches, str(folder), active)
        rows = rig.rows(returned, "profile_steps")
    else:
        calls = rig.trusted.calls_of_steps(steps, active)
    answers, written = rig.answers(), rig.written(folder / "step_trace.json")
    answers.add("rows of the batches", steps.taken)
    answers.add("weights", steps.weights())
    return {
        **answers.values(),
        "rows": rows,
        "written": written.operators(),
        "calls": calls,
        "timed": rig.device.type == "cpu",
        "active": active,
        "sizes": steps.sizes,
        "files": sorted(each.name for each in folder.iterdir()),
        "steps": written.steps(),
        "has_memory": written.has_memory,
        "prepared": prepared,
    }


LOOP = "for batch in batches: step(batch), then prof.step()"
PLAN = "schedule(wait=1, warmup=1, active=active, repeat=1)"


@part.check(basis="outputs")
def every_batch_once(stepped: Pair) -> Verdict:
    """profile_steps calls step once for each batch, in order."""
    why = {
        "rows": "batches are left out, repeated, or in another order",
        "": "the same batches give other weights",
    }
    return outputs.same(stepped, 1e-5, why=why, try_=LOOP)


@part.check(basis="outputs", needs=[every_batch_once])
def trace_holds_the_steps(stepped: Pair) -> Verdict:
    """step_trace.json holds the recorded steps and no others, with shapes and memory, and is the only file."""
    own, expected = stepped.student.values, stepped.baseline.values
    sizes, active = expected["sizes"], expected["active"]
    measured, why = judges.steps_problem(own["files"], own["steps"], sizes, active)
    if not measured and not own["has_memory"]:
        measured, why = "no [memory] event in the file", "profile_memory is not set"
    if not measured:
        measured, why = judges.plan_problem(own["prepared"])
    if measured:
        is_extra = "step_trace.json" in own["files"][:-1] + own["files"][1:]
        try_ = "write other files elsewhere" if is_extra else f"{PLAN}; {LOOP}; {SEE}"
        return Failed(measured, why, try_)
    return Passed(f"steps 2 to {active + 1}")
