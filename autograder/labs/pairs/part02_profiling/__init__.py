"""Part 2: profiling. What a profile says: of some steps, of memory at one moment, of each module."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from autograder.checks import outputs
from autograder.checks.hints import Causes, hint_for, hinted
from autograder.lab import (
    BOOLEAN,
    CASES,
    CELL,
    INTEGER,
    NUMBER,
    NUMBERS,
    TEXT,
    Device,
    Failed,
    Observation,
    Pair,
    Part,
    Passed,
    Student,
    Verdict,
    exactly,
    list_of,
    map_of,
    optional,
    record,
)
from autograder.labs.pairs.part02_profiling import judges
from autograder.traces.words import many

if TYPE_CHECKING:
    from autograder.labs.pairs.part02_profiling.rig import Rig
else:
    Rig = Any

part = Part("part02_profiling", writes=["profile_steps", "profile_memory", "profile_model"])
ROWS = list_of(map_of(CELL))
TOP = {
    "rows": ROWS,
    "written": map_of(exactly(3, NUMBER)),
    "calls": map_of(list_of(INTEGER)),
}
"""Of the top operators: rows that were returned, what the file says, and trusted counts."""

# --- profile_steps ---


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
    active, folder = 2 * rig.integer(1, 2), rig.made_folder()
    steps, rows, calls, prepared = rig.steps(2 * active + 5), [], {}, []
    if rig.side == "student":
        with steps.watching() as prepared:
            returned = student.profile_steps(steps.step, steps.batches, str(folder), active)
        rows = rig.rows(returned, "profile_steps")
    else:
        calls = rig.trusted.calls_of_steps(steps, active)
    answers, written = rig.answers(), rig.written(folder / "step_trace.json")
    answers.add("rows of each batch that step got", steps.taken)
    answers.add("weights", steps.weights())
    return {
        **answers.values(),
        "rows": rows,
        "written": written.operators(),
        "calls": calls,
        "active": active,
        "sizes": steps.sizes,
        "files": sorted(each.name for each in folder.iterdir()),
        "steps": written.steps(),
        "has_memory": written.has_memory,
        "prepared": prepared,
    }


LOOP = "for batch in batches: step(batch), then prof.step()"
PLAN = "schedule(wait=1, warmup=1, active=active, repeat=1)"
TRACE_HINTS = {
    "record_shapes is": "profile(..., record_shapes=True)",
    "profile_memory is": "profile(..., profile_memory=True)",
    **dict.fromkeys(
        ("no file is", "the trace has another"),
        "export the trace as step_trace.json, into the folder that is given",
    ),
    "more files": "write other files elsewhere",
    "began again": "repeat=1 in schedule(...)",
    "usually prof.step()": LOOP,
    "the schedule must": PLAN,
}


@part.check(basis="outputs", compared="calls of step, and weights")
def every_batch_once(stepped: Pair) -> Verdict:
    """profile_steps calls step once for each batch, in order."""
    why: Causes = {
        "got, number of entries": (
            "step must be called once for each batch",
            "call step in one loop over all batches and nowhere else",
        ),
        "": "step must get each batch once, as it is, in the order in which they come",
    }
    return outputs.same(stepped, 1e-5, why=why, try_=LOOP)


@part.check(basis="report", needs=[every_batch_once])
def trace_holds_the_steps(stepped: Pair) -> Verdict:
    """step_trace.json holds the recorded steps and no others, with shapes and memory, and is the only file."""
    own, expected = stepped.student.values, stepped.baseline.values
    active = expected["active"]
    if problem := judges.trace_problem(own, expected["sizes"], active):
        return hinted(Failed(*problem, f"{PLAN}; {LOOP}"), TRACE_HINTS)
    return Passed(f"steps 2 to {active + 1}")


# --- profile_model, and the rows that both return ---


@part.probe(
    pair=True,
    values={
        **TOP,
        "ranges": list_of(record(name=TEXT, inside=list_of(TEXT), computes=BOOLEAN)),
        "modules": map_of(INTEGER),
        "computing": list_of(TEXT),
        "passes": map_of(INTEGER),
    },
)
def modelled(student: Student, rig: Rig) -> Any:
    folder, rows, calls, modules = rig.made_folder(), [], {}, {}
    model, ids = rig.language_model(4)
    passes = rig.calls_counted(model)
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
        "ranges": written.ranges(),
        "modules": modules,
        "computing": rig.with_weights(model),
        "passes": passes,
    }


SORT = "sort all rows by self_us, the largest first, and then take the first ones"
FORM_HINTS = {
    **{
        f", and {it} are right": f"return the first {it} rows whose names have aten::"
        for it in (10, 20)
    },
    judges.NO_OPERATOR: 'keep the names that begin with "aten::"',
}
REVERSE = "sort with reverse=True, and then take the first rows"
ROW_HINTS: Causes = {
    judges.RISES: REVERSE,
    f"self_us {judges.GOES_UP}": SORT,
    f" {judges.IS_MISSING}, with": SORT,
    "profile_steps: 0 rows": ("usually the schedule began again, with no step recorded yet", PLAN),
    **FORM_HINTS,
    judges.SHAPES: "key_averages() without group_by_input_shape",
    judges.OF_ONE_CALL: "self_cpu_time_total as it is, not divided by count",
    judges.IN_MS: "self_cpu_time_total as it is: it is in microseconds",
    judges.WHOLE: "take self_cpu_time_total, and not cpu_time_total, into self_us",
    judges.OTHER_TIME: "take self_cpu_time_total of the recording that is exported",
    judges.NO_FILE: "export step_trace.json (profile_steps) or model_trace.json into the folder",
}
RECORDED: Mapping[str, Causes] = {
    "profile_steps": {
        judges.MORE: (f"usually {judges.MANY}", PLAN),
        judges.MANY: PLAN,
        judges.FEW: PLAN,
    },
    "profile_model": {
        judges.MORE: "record model.zero_grad(), the forward and the backward pass, and nothing else",
        judges.MANY: judges.RANGES[judges.ONE_STEP],
        judges.FEW: (
            "usually the recorded step is not a whole one",
            "record forward and backward pass of the third step",
        ),
    },
}
"""Why, and what to try where calls are too many or too few, by function."""


@part.check(basis="outputs", compared="operators and calls of a trusted profile")
def names_the_top_operators(stepped: Pair, modelled: Pair, device: Device) -> Verdict:
    """Rows name the top operators by self time; calls match a trusted profile, times match the file that you wrote."""
    of = {"profile_steps": (stepped, 10), "profile_model": (modelled, 20)}
    for function, (pair, count) in of.items():
        own, right = pair.student.values, pair.baseline.values
        problem = judges.time_rows_problem(
            own["rows"], own["written"], right["calls"], count, timed=device.kind == "cpu"
        )
        if problem:
            measured, why = problem
            try_ = "self_cpu_time_total and count of key_averages(), names with aten:: only"
            failed = Failed(f"{function}: {measured}", why, try_)
            return hinted(failed, {**ROW_HINTS, **RECORDED[function]})
    return Passed("30 rows")


@part.check(basis="outputs", compared="ranges of a trusted profile")
def ranges_name_modules(modelled: Pair) -> Verdict:
    """model_trace.json has the ranges forward and backward, and inside forward one around each call of a submodule."""
    problem = judges.ranges_problem(modelled.student.values, modelled.baseline.values)
    if not problem:
        return Passed("each call of each submodule")
    try_ = "record_function(name), entered in a forward pre-hook and left in a forward hook"
    return hinted(Failed(*problem, try_), judges.RANGES)


@part.probe(values={"models": exactly(3, map_of(TEXT))})
def left_behind(student: Student, rig: Rig) -> Any:
    """A model that works, one that raises an exception in its first step, and one in its third."""
    return {"models": [rig.left_behind(student.profile_model, call) for call in (0, 1, 3)]}


@part.check(basis="report")
def leaves_no_hooks(left_behind: Observation) -> Verdict:
    """profile_model leaves no hook of its own and no range open, also after an exception; hooks of the caller stay."""
    for model in left_behind.values["models"]:
        for kind, (measured, why, try_) in judges.LEFT.items():
            if left := model.get(kind):
                case = model.get("case", "")
                late = case and kind == "hooks"
                cause = f"{why} when an exception comes" if late else why
                case *= kind != "mode"
                return Failed(measured.format(left) + case, cause, try_)
    return Passed("none, with and without an exception")


# --- profile_memory ---

WAY = record(peak=INTEGER, kept=INTEGER, sum=INTEGER, left=INTEGER, operators=map_of(INTEGER))
PEAK_HINTS = {
    "a variable keeps": "model(inputs).float().square().mean().backward(), as one expression",
    "kilobytes": "return bytes: leave out the division",
    "of all [memory]": "record model(inputs).float().square().mean().backward() as a whole",
    judges.RISES: REVERSE,
    **dict.fromkeys(
        ("self_bytes includes", "the operator itself"),
        "take self_cpu_memory_usage, and not cpu_memory_usage, into self_bytes",
    ),
    **FORM_HINTS,
}
MODEL = record(name=TEXT, peak=optional(NUMBER), calls=INTEGER, rows=ROWS, ways=list_of(WAY))


@part.probe(pair=True, values={"models": exactly(3, MODEL)})
def remembered(student: Student, rig: Rig) -> Any:
    """The trusted side works in each way in which a mean square may be written."""
    models = []
    for name, model, inputs in rig.models():
        peak, rows, ways = None, [], []
        passes = rig.calls_counted(model)
        if rig.side == "student":
            returned = student.profile_memory(model, inputs, str(rig.made_folder()))
            answer = rig.returned("profile_memory", returned)
            peak = rig.number(answer["peak_bytes"])
            rows = rig.rows(answer["rows"], "profile_memory")
        else:
            ways = rig.trusted.memory(model, inputs, rig.folder / "trusted.json")
        calls = passes["forward"]
        models.append({"name": name, "peak": peak, "calls": calls, "rows": rows, "ways": ways})
    return {"models": models}


@part.check(basis="outputs", compared="bytes of a trusted profile")
def peak_to_the_byte(remembered: Pair) -> Verdict:
    """profile_memory returns the peak to the byte, and the ten operators with the largest self_bytes."""
    both = (side.values["models"] for side in (remembered.student, remembered.baseline))
    for own, right in zip(*both, strict=False):
        ways = right["ways"]
        problem = judges.peak_problem(own["peak"], ways)
        try_ = hint_for(problem[1], PEAK_HINTS) if problem else ""
        try_ = try_ or 'max(accumulate(event["args"]["Bytes"] for each [memory] event))'
        if own["calls"] != 1:
            measured = f"the model was called {many(own['calls'], 'time')}, and once is right"
            problem = measured, "your code runs the work again for the peak or for the rows"
            try_ = "record once, and read rows and peak from that recording"
        elif not problem:
            same = [way["operators"] for way in ways if way["peak"] == own["peak"]]
            problems = [judges.memory_rows_problem(own["rows"], operators) for operators in same]
            problem = () if () in problems else problems[0]
            try_ = hint_for(" ".join(problem), PEAK_HINTS)
            try_ = try_ or "sort by self_cpu_memory_usage, largest first"
        if problem:
            return Failed(f"{own['name']}: {problem[0]}", problem[1], try_)
    return Passed(f"{len(remembered.baseline.values['models'])} models")
