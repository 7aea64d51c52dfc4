"""What is claimed of profile_memory: the peak to the byte."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autograder.lab import (
    CELL,
    INTEGER,
    NUMBER,
    TEXT,
    Failed,
    Pair,
    Passed,
    Student,
    Verdict,
    list_of,
    map_of,
    optional,
    record,
)
from autograder.labs.pairs.part02_profiling import judges
from autograder.labs.pairs.part02_profiling.part import SEE, part
from autograder.traces.words import many

if TYPE_CHECKING:
    from autograder.labs.pairs.part02_profiling.rig import Rig
else:
    Rig = Any


@part.probe(
    pair=True,
    values={
        "models": list_of(
            record(
                name=TEXT,
                peak=optional(NUMBER),
                called=INTEGER,
                rows=list_of(map_of(CELL)),
                ways=list_of(
                    record(
                        peak=INTEGER,
                        kept=INTEGER,
                        sum=INTEGER,
                        left=INTEGER,
                        operators=map_of(INTEGER),
                    )
                ),
            )
        )
    },
)
def remembered(student: Student, rig: Rig) -> Any:
    """The trusted side works in each way in which a mean square may be written."""
    models = []
    for name, model, inputs in rig.models():
        peak, rows, ways = None, [], []
        called = rig.calls_counted(model)
        if rig.side == "student":
            returned = student.profile_memory(model, inputs, str(rig.made_folder()))
            answer = rig.returned("profile_memory", returned)
            peak = rig.number(answer["peak_bytes"])
            rows = rig.rows(answer["rows"], "profile_memory")
        else:
            ways = rig.trusted.memory(model, inputs, rig.folder / "trusted.json")
        models.append(
            {"name": name, "peak": peak, "called": len(called), "rows": rows, "ways": ways}
        )
    return {"models": models}


TRY = f'max(accumulate(event["args"]["Bytes"] for each [memory] event)); {SEE}'


@part.check(basis="outputs", compared="bytes of a trusted profile")
def peak_to_the_byte(remembered: Pair) -> Verdict:
    """profile_memory returns the peak to the byte, and the bytes of the ten operators that allocate most."""
    both = (side.values["models"] for side in (remembered.student, remembered.baseline))
    for own, right in zip(*both, strict=False):
        ways, try_ = right["ways"], TRY
        measured, why = judges.peak_problem(own["peak"], ways)
        if own["called"] != 1:
            measured = f"the model was called {many(own['called'], 'time')}"
            why, try_ = "rows and peak are read from one recording", TRY
        elif not measured:
            try_ = "sort by self_cpu_memory_usage, largest first"
            same = [way["operators"] for way in ways if way["peak"] == own["peak"]]
            problems = [judges.memory_problem(own["rows"], operators) for operators in same]
            measured, why = judges.FINE if judges.FINE in problems else problems[0]
        if measured:
            return Failed(f"{own['name']}: {measured}", why, try_)
    return Passed(f"{len(remembered.baseline.values['models'])} models")
