"""What is claimed of profile_model, and of the rows that it and profile_steps return."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autograder.lab import (
    BOOLEAN,
    INTEGER,
    TEXT,
    Failed,
    Observation,
    Pair,
    Passed,
    Student,
    Verdict,
    list_of,
    map_of,
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
        **TOP,
        "ranges": list_of(record(name=TEXT, inside=list_of(TEXT), computes=BOOLEAN)),
        "modules": map_of(INTEGER),
        "computing": list_of(TEXT),
        "called": INTEGER,
    },
)
def modelled(student: Student, rig: Rig) -> Any:
    folder, rows, calls, modules = rig.made_folder(), [], {}, {}
    model, ids = rig.language_model(4)
    called = rig.calls_counted(model)
    if rig.side == "student":
        returned = student.profile_model(model, ids, str(folder))
        rows = rig.rows(returned, "profile_model")
    else:
        calls = rig.trusted.calls_of_model(model, ids)
        modules = rig.calls_of_modules(model, ids)
    written = rig.written(folder / "model_trace.json")
    return {
        "rows": rows,
        "written": written.operators(),
        "calls": calls,
        "timed": rig.device.type == "cpu",
        "ranges": written.ranges(),
        "modules": modules,
        "computing": rig.with_weights(model),
        "called": len(called),
    }


@part.check(basis="outputs", compared="operators and calls of a trusted profile")
def names_the_top_operators(stepped: Pair, modelled: Pair) -> Verdict:
    """Rows name the operators with the most self time; calls match a trusted profile, and times match the file."""
    of = {"profile_steps": (stepped, 10), "profile_model": (modelled, 20)}
    for function, (pair, count) in of.items():
        own, right = pair.student.values, pair.baseline.values
        measured, why = judges.rows_problem(
            own["rows"], own["written"], right["calls"], count, timed=right["timed"]
        )
        if measured:
            if judges.is_order(measured):
                return Failed(f"{function}: {measured}", why, "sort by the time that you show")
            try_ = f"self_cpu_time_total and count of key_averages(), names with aten:: only; {SEE}"
            return Failed(f"{function}: {measured}", why, try_)
    return Passed("30 rows")


@part.check(basis="outputs", compared="ranges of a trusted profile")
def ranges_name_modules(modelled: Pair) -> Verdict:
    """model_trace.json has the ranges forward and backward, and inside forward one around each call of a submodule."""
    own, expected = modelled.student.values, modelled.baseline.values
    modules = expected["modules"]
    computing = ["backward", *expected["computing"]]
    measured, why = judges.ranges_problem(own["ranges"], modules, computing, own["called"])
    try_ = f"record_function(name), entered in a forward pre-hook and left in a forward hook; {SEE}"
    return Failed(measured, why, try_) if measured else Passed(f"{len(modules)} names")


LEFT = record(
    call=INTEGER,
    reached=BOOLEAN,
    raised=BOOLEAN,
    hooks=list_of(TEXT),
    missing=list_of(TEXT),
    mode=BOOLEAN,
    open=INTEGER,
    on=BOOLEAN,
)


@part.probe(values={"models": list_of(LEFT)})
def left_behind(student: Student, rig: Rig) -> Any:
    """A model that works, one that raises an exception in its first step, and one in its third."""
    models = []
    for call in (0, 1, 3):
        (model, ids), raised, ranges = rig.broken_model(call), False, rig.open_ranges()
        hooks = rig.hooks_on(model)
        model.train(call != 0)
        with ranges.watching():
            try:
                student.profile_model(model, ids, str(rig.made_folder()))
            except ArithmeticError:
                raised = True
        models.append({
            "call": call,
            "reached": rig.reached(model),
            "raised": raised,
            "hooks": sorted(rig.hooks_on(model) - hooks),
            "missing": sorted(hooks - rig.hooks_on(model)),
            "mode": all(module.training == (call != 0) for module in model.modules()),
            "open": ranges.count,
            "on": rig.profiles.profiling(),
        })  # fmt: skip
    return {"models": models}


@part.check(basis="report")
def leaves_no_hooks(left_behind: Observation) -> Verdict:
    """profile_model leaves no hook of its own and no range open, also after an exception; hooks of the caller stay."""
    for model in left_behind.values["models"]:
        measured, why, try_ = judges.left_problem(model)
        if measured:
            return Failed(measured, why, try_)
    return Passed("none, with and without an exception")
