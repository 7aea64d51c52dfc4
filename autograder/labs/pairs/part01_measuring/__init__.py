"""Part 1: numbers one can trust. A benchmark of one function, and a verdict about two."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from autograder.checks.hints import hint_for
from autograder.checks.numerics import shown
from autograder.checks.table_form import parted
from autograder.claims.exercise import Exercise
from autograder.lab import (
    INTEGER,
    NUMBER,
    TEXT,
    Failed,
    Pair,
    Part,
    Passed,
    Rig,
    Student,
    Verdict,
    list_of,
    map_of,
    optional,
    record,
)
from autograder.labs.pairs.part01_measuring import judges
from autograder.traces.words import many

part = Part("part01_measuring")
SEE = 'see "What usually goes wrong" in the part 1 handout'
SIGNATURE = "def benchmark(name, fn, meter, iterations=100, warmup=10)"
NUMBERS = ("iterations", "mean_time", "std_time", "memory_peak")
ROW = record(**dict.fromkeys(NUMBERS, optional(NUMBER)))


def figures(rig: Rig, result: Any) -> dict[str, float | None]:
    """Read the numbers of a BenchmarkResult."""
    return {name: rig.number(getattr(result, name, None)) for name in NUMBERS}


def nothing() -> None:
    """Stand in for a function that is timed."""


# --- benchmark ---


BARE = "without iterations and warmup given"
OWN, COLD = "with warmup and iterations given", "with warmup=0"
CALLS = {BARE: {}, COLD: {"iterations": 3, "warmup": 0}}
"""What else benchmark is called with, to count the calls of fn."""


@part.probe(
    pair=True,
    takes=["benchmark"],
    values={
        "row": ROW,
        "name": TEXT,
        "calls": map_of(INTEGER),
        "cold": list_of(NUMBER),
        "times": list_of(NUMBER),
    },
)
def cold_and_warm_calls(student: Student, rig: Rig) -> Any:
    """Cold calls take five times as long; each of the others takes a time of its own."""
    metered, name = rig.metered(), f"function {rig.integer(100, 999)}"
    warmup, iterations = rig.integer(4, 12), rig.integer(20, 60)
    unit = rig.seconds(0.01, 0.03, 1)[0]
    cold = [5 * unit] * warmup
    times = [unit * it for it in rig.seconds(0.8, 5.0, iterations)]
    script = {"cold": cold, "times": times}
    if rig.side != "student":
        calls = {OWN: warmup + iterations, BARE: 110, COLD: 3}
        return {**script, "name": name, "calls": calls, "row": figures(rig, None)}
    calls = dict.fromkeys((OWN, *CALLS), 0)

    def counted(kind: str, call: Any = nothing) -> Any:
        def run() -> None:
            calls[kind] += 1
            call()

        return run

    call = counted(OWN, metered.function([*cold, *times]))
    result = student.benchmark(name, call, metered, iterations=iterations, warmup=warmup)
    for kind, numbers in CALLS.items():
        student.benchmark(name, counted(kind), metered, **numbers)
    name = rig.text(getattr(result, "name", "missing"))
    return {**script, "name": name, "calls": calls, "row": figures(rig, result)}


@part.check(basis="scripted")
def times_each_call(cold_and_warm_calls: Pair) -> Verdict:
    """benchmark returns mean and standard deviation of the timed calls alone, and makes no other calls."""
    reported, script = cold_and_warm_calls.student.values, cold_and_warm_calls.baseline.values
    row, times = reported["row"], script["times"]
    for kind, right in script["calls"].items():
        if (calls := reported["calls"].get(kind)) != right:
            measured = f"fn was called {calls} times {kind}; {right} times is right"
            why = "fn must be called `warmup` times, then `iterations` times, and no more"
            loops = "for _ in range(warmup): fn(), then the timed loop, and no other call of fn"
            default = "usually the defaults are not iterations=100 and warmup=10", SIGNATURE
            return Failed(measured, *(default if kind == BARE else (why, loops)))
    right = {"name": script["name"], "iterations": len(times)}
    for field, own in (("name", reported["name"]), ("iterations", row["iterations"])):
        if own != right[field]:
            measured = f"{field} is {shown(own)}, and {shown(right[field])} is right"
            why = "the result must have the name and the iterations that benchmark was given"
            return Failed(measured, why, "put name and iterations into the result as they are")
    problem = judges.time_problem(row, script["cold"], times)
    if problem:
        measured, why = parted(problem)
        if not (try_ := hint_for(why, judges.TIMES)):
            why = "mean_time and std_time must be those of the timed calls, one by one"
            try_ = "read the clock before and after each timed call, and keep each time"
        return Failed(measured, why, try_)
    return Passed(
        f"mean {row['mean_time']:.4g} s, std {row['std_time']:.4g} s of {len(times)} calls"
    )


@part.probe(
    pair=True,
    takes=["benchmark"],
    values={"row": ROW, "times": list_of(NUMBER), "share": NUMBER, "before": NUMBER},
)
def queued_calls(student: Student, rig: Rig) -> Any:
    """Calls that return early and leave work on the device, where other work is queued before."""
    iterations, (share, unit) = rig.integer(10, 20), rig.seconds(0.3, 0.7, 2)
    times = [unit / 20] * iterations  # what is made of different times is judged above
    metered, result = rig.metered(queued=0.03 * rig.integer(20, 40)), None
    script = {"times": times, "share": share, "before": metered.queued}
    if rig.side == "student":
        call = metered.function(times, queued=share, busy=judges.THREADS)
        result = student.benchmark("queued", call, metered, iterations=iterations, warmup=0)
    return {**script, "row": figures(rig, result)}


@part.check(basis="scripted")
def waits_for_the_device(queued_calls: Pair) -> Verdict:
    """The time of a call includes the work that it leaves on the device, and no work that was queued before it."""
    row, script = queued_calls.student.values["row"], queued_calls.baseline.values
    problem = judges.wait_problem(row, script["times"], script["share"], script["before"])
    if problem:
        measured, why = parted(problem)
        if not (try_ := hint_for(why, judges.TIMES)):
            why = "mean_time must include the work that each timed call queues, and no other work"
            try_ = "fix times_each_call first if it fails; else synchronize() before each reading"
        return Failed(measured, why, try_)
    return Passed(f"mean {row['mean_time']:.4g} s, and {script['share']:.0%} of it was queued")


SCRIPT = ("held", "cold", "kept", "timed", "output")
TIMED = 5


class Output:
    """What a call returns: it holds bytes of the device while somebody keeps it."""

    def __init__(self, metered: Any, size: int) -> None:
        """Hold them."""
        self._metered, self._size = metered, size
        metered.held += size

    def __del__(self) -> None:
        self._metered.held -= self._size


@part.probe(
    pair=True, takes=["benchmark"], values={"rows": list_of(ROW), "script": map_of(INTEGER)}
)
def peaks(student: Student, rig: Rig) -> Any:
    """The cold call needs most, and keeps something, as each timed call does; no memory told; none needed."""
    drawn = [int(it) * 10**6 + 1 for it in rig.random.permutation([5, 9, 3, 7])]
    sizes = dict(zip(SCRIPT, [*drawn, 10**6], strict=True))
    sizes |= {"cold": 10**6 * rig.integer(90, 900), "each": 10**4}
    rows = []
    for held, tells in ((sizes["held"], True), (sizes["held"], False), (0, True)):
        if rig.side != "student":
            break
        metered = rig.metered(held=held, tells=tells)
        call = _needing(metered, sizes) if held else nothing
        result = student.benchmark("peak", call, metered, iterations=TIMED, warmup=2)
        rows.append(figures(rig, result))
    return {"rows": rows, "script": sizes}


def _needing(metered: Any, sizes: Mapping[str, int]) -> Any:
    """Return a function: the last timed call but one needs most, as each keeps a little, and the last one less."""
    warm = sizes["timed"] - (TIMED - 2) * sizes["each"]
    timed = [(warm // 2, sizes["each"]), *[(warm, sizes["each"])] * (TIMED - 1)]
    left = [*timed, (warm, 0), (sizes["cold"], sizes["kept"])]

    def call() -> Output:
        metered.clock.advance(0.01)
        metered.needs(*(left.pop() if left else (warm, sizes["each"])))
        return Output(metered, sizes["output"])

    return call


@part.check(basis="scripted")
def peak_is_of_the_timed_calls(peaks: Pair) -> Verdict:
    """memory_peak is what the timed calls need beyond what was held before them, and None if meter.peak() is None."""
    rows, script = peaks.student.values["rows"], peaks.baseline.values["script"]
    if len(rows) != 3:
        return Failed(many(len(rows), "result"), "each call of benchmark returns one", SEE)
    problem = judges.peak_problem(rows[0], script)
    if problem:
        measured, why = parted(problem)
        if not (try_ := hint_for(why, judges.PEAKS)):
            why = "memory_peak must be peak() over the timed calls, minus allocated() before them"
            try_ = "fix times_each_call first if it fails; else call nothing else between the two"
        return Failed(measured, why, try_)
    unknown, none = (row["memory_peak"] for row in rows[1:])
    if unknown is not None:
        measured = f"memory_peak is {unknown:.0f} where meter.peak() is None, and None is right"
        why = "your code makes a number of an unknown peak"
        return Failed(measured, why, "return None where meter.peak() is None")
    if none != 0:
        measured = f"memory_peak is {none} where meter.peak() is 0, and 0 is right"
        why = "your code must tell a peak of 0 from None: `if peak` is false for both"
        return Failed(measured, why, "write `if peak is None`")
    return Passed(f"{script['timed']} B, and None where it is unknown")


IDLE = SimpleNamespace(
    device="cpu",
    synchronize=nothing,
    allocated=lambda: 0,
    reset_peak=nothing,
    peak=nothing,
)
alone = Exercise(
    "benchmark",
    part,
    call=lambda written, inputs: written("nothing", nothing, IDLE, **inputs),
)


@alone.inputs
def draw_iterations(random: np.random.Generator) -> dict[str, Any]:
    return {"iterations": 3}


alone.refuses(
    {"0 iterations": {"iterations": 0}, "1 iteration": {"iterations": 1}},
    takes={"2 iterations": {"iterations": 2}},
    name="refuses_one_call",
    says="benchmark raises ValueError for 0 iterations and for 1 iteration.",
    needs=[],
    why="your code must refuse fewer than 2 iterations: one call has no standard deviation",
    try_="if iterations < 2: raise ValueError, in the first line",
)

# --- speedup ---


S = "s = sqrt(sum of (r.std_time / r.mean_time) ** 2 / r.iterations over both results r)"


def on_results(written: Any, inputs: Mapping[str, Any]) -> Any:
    result = importlib.import_module("given").BenchmarkResult
    return written(
        *(result(name, calls, mean, std, None) for name, (mean, std, calls) in inputs.items())
    )


two = Exercise(
    "speedup",
    part,
    call=on_results,
    holes={"empties_its_inputs": "a BenchmarkResult cannot be changed"},
)


@two.inputs
def draw_results(
    random: np.random.Generator,
    calls: Any = (5, 200),
    others: Any = (5, 200),
    gain: float = 1.2,
    noise: float = 0.2,
) -> dict[str, Any]:
    mean = random.uniform(1e-3, 1e-1)
    first, second = noise * random.uniform(0.8, 1.2, 2)
    baseline = [gain * mean, gain * mean * float(first), calls]
    return {"baseline": baseline, "candidate": [mean, mean * float(second), others]}


two.same(
    {
        "clearly faster": {"gain": 1.5, "calls": 100, "others": 50},
        "clearly slower": {"gain": 0.7, "calls": 50, "others": 100},
        "faster by chance": {"gain": 1.04, "noise": 0.3, "calls": 10, "others": 12},
        "slower by chance": {"gain": 0.96, "noise": 0.3, "calls": 12, "others": 10},
        "equal results without noise": {"gain": 1.0, "noise": 0.0},
        "faster without noise": {"gain": 1.001, "noise": 0.0},
    },
    oracle=judges.compared,
    within=1e-4,
    slips={
        (
            "your code takes 2 standard deviations, and not 1.96",
            "put 1.96 in the place of 2",
        ): judges.of_two_deviations,
        (
            "your ratio is upside down: the candidate's mean over the baseline's",
            "baseline.mean_time / candidate.mean_time",
        ): judges.upside_down,
        (
            "your code computes ratio * (1 -+ 1.96 s), and not ratio * exp(-+1.96 s)",
            "ratio * math.exp(-1.96 * s), ratio * math.exp(1.96 * s)",
        ): judges.of_a_line,
        (
            "your code divides by iterations - 1, and not by iterations",
            "divide (std_time / mean_time) squared by iterations",
        ): judges.of_one_less,
    },
    name="knows_the_noise",
    says='speedup returns the ratio, its interval, and "cannot tell" where 1 lies in the interval.',
    why={
        "by chance, entry 4": (
            "1 lies in the interval: the verdict must be cannot tell, whatever the ratio is",
            "compare low and high with 1, and not the ratio",
        ),
        "entry 4": (
            "the verdict must be faster if low > 1, slower if high < 1, else cannot tell",
            "compare low and high with 1, in this order",
        ),
        "entry 1": (
            "the ratio (first value) must be the baseline's mean over the candidate's",
            "baseline.mean_time / candidate.mean_time",
        ),
        "entry": (
            "low and high (second and third value) follow from s: each result has its own iterations",
            S,
        ),
        "": (
            "speedup must return ratio, low, high, verdict",
            "return these four in this order, as one tuple",
        ),
    },
    try_=SEE,
)
