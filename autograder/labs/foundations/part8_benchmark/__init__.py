"""Part 8: benchmarks. Times that can be believed, comparisons in pairs, and tables of speedups and memory.

Above 60 lines an exercise: benchmark and compare run on a machine whose clock, noise and queue are scripted, and have
eight of the ten checks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from autograder.checks import outputs
from autograder.checks.hints import Causes
from autograder.checks.numerics import close
from autograder.checks.table_form import DEVICE, Form, chosen, positive, words
from autograder.claims.exercise import Exercise
from autograder.claims.several import Several
from autograder.claims.studies import Study
from autograder.lab import Failed, Pair, Part, Rig, Student, Verdict
from autograder.labs.foundations.part8_benchmark import judges

RESULTS = Form(
    "benchmark_results.csv",
    (
        words("version", "its name"),
        positive("mean_ms", "mean of the calls", "ms"),
        positive("std_ms", "their standard deviation", "ms"),
        positive("p50_ms", "half of the calls take less", "ms"),
        positive("p95_ms", "95 % of the calls take less", "ms"),
        positive("p99_ms", "99 % of the calls take less", "ms"),
        positive("per_second", "calls in a second", "1/s"),
        positive("ratio", "how many times as fast as the first version", "x"),
        positive("low", "lower end of its interval", "x"),
        positive("high", "upper end of its interval", "x"),
        chosen("verdict", "what the interval says", "faster", "slower", "no difference"),
        DEVICE,
    ),
)
part = Part("part8_benchmark", hands_in=[RESULTS.file, "part8_notes.md"], tables=[RESULTS])
DOCSTRING = "compare with the docstring of"
ONE_PERCENT, COMPARED = 0.01, 0.002

# --- benchmark ---


@part.outputs
def counted_calls(student: Student, rig: Rig) -> Any:
    """Calls of a function that is slow until it is warm; what is expected is what was asked for."""
    rig.clock.freeze()
    answers, inputs = rig.answers(student), (rig.tensor([1.0]), rig.tensor([2.0]))
    warmup, repeats = rig.integer(3, 9), rig.integer(12, 40)
    call = judges.Machine(rig.clock.advance).function([1.0] * warmup + [0.01] * repeats)
    same: list[bool] = [] if rig.side == "student" else [True] * (warmup + repeats)

    def function(*given: Any) -> None:
        same.append(len(given) == 2 and given[0] is inputs[0] and given[1] is inputs[1])
        call()

    runs = np.zeros(0)
    if rig.side == "student":
        returned = student.benchmark(function, *inputs, warmup=warmup, repeats=repeats)
        runs = rig.series(rig.returned("benchmark", returned)["runs"], "runs")
    answers.add(f"calls for warmup={warmup} and repeats={repeats}", len(same))
    answers.add("calls with other inputs", same.count(False))
    answers.add("slow first calls among the runs", int((runs > 500).sum()))
    return answers.values()


@part.outputs
def scripted_runs(student: Student, rig: Rig) -> Any:
    """Calls of known times, in an order that comes again, so that a warm-up does not matter."""
    rig.clock.freeze()
    answers = rig.answers(student)
    for repeats in (rig.integer(11, 20), rig.integer(30, 60), 100):
        seconds = (0.01 * np.exp(rig.random.normal(0, 0.6, repeats))).tolist()
        figures, runs = judges.spread(seconds), 1000 * np.array(seconds)
        if rig.side == "student":
            call = judges.Machine(rig.clock.advance).function(seconds)
            summary = rig.returned("benchmark", student.benchmark(call, warmup=2, repeats=repeats))
            either = {"std_ms": figures["std_ms"] * np.sqrt(repeats / (repeats - 1))}
            figures = {
                name: _either(rig.number(summary[name]), either, name, figures) for name in figures
            }
            runs = rig.series(summary["runs"], "runs")
        answers.add(f"{repeats} repeats, runs", rig.tensor(np.sort(runs)[:, None], "float64"))
        answers.add(f"{repeats} repeats", figures)
    return answers.values()


def _either(value: float | None, either: dict[str, float], name: str, figures: Any) -> Any:
    """Take a standard deviation with n - 1 for the one with n."""
    return figures[name] if name in either and close(value, either[name], ONE_PERCENT) else value


@part.outputs
def queued_work(student: Student, rig: Rig) -> Any:
    """Calls that return early and leave work on a device, where other work was queued before."""
    rig.clock.freeze()
    answers, repeats = rig.answers(student), rig.integer(11, 20)
    host, device, other = (it * 0.01 for it in rig.seconds(1, 6, 3))
    runs, ratio = np.full(repeats, 1000 * (host + device)), (host + device) / (host + other)
    if rig.side == "student":
        machine = judges.Machine(rig.clock.advance)
        first, second = (machine.function([host], queues=it) for it in (device, other))
        machine.queued = 0.5
        returned = student.benchmark(
            first, warmup=0, repeats=repeats, synchronize=machine.synchronize
        )
        runs = rig.series(rig.returned("benchmark", returned)["runs"], "runs")
        returned = student.compare(first, second, pairs=8, synchronize=machine.synchronize)
        ratio = rig.number(rig.returned("compare", returned)["ratio"]) or 1.0
    later = "runs[1:] of benchmark, of calls that leave work on the device"
    answers.add(later, rig.tensor(runs[1:, None], "float64"))
    first_of_all = "runs[0] of benchmark, with 500 ms of other work queued before"
    answers.add(first_of_all, rig.tensor(runs[:1, None], "float64"))
    answers.add("ratio of compare, or 1 / ratio", max(ratio, 1 / ratio))
    return answers.values()


@part.check(basis="report")
def warms_up_and_counts(counted_calls: Pair) -> Verdict:
    """benchmark calls the function warmup + repeats times, with the same inputs, and times the last ones only."""
    return outputs.same(counted_calls, 0.0, why=judges.CALLS, try_=f"{DOCSTRING} benchmark")


@part.check(basis="scripted")
def statistics_are_right(scripted_runs: Pair) -> Verdict:
    """benchmark returns mean, standard deviation, percentiles, rate and runs of calls whose times are known."""
    return outputs.same(
        scripted_runs, ONE_PERCENT, why=judges.STATISTICS, try_=f"{DOCSTRING} benchmark"
    )


@part.check(basis="scripted")
def waits_for_the_device(queued_work: Pair) -> Verdict:
    """The time of a call does not contain work queued before it, but contains the work that it queues itself."""
    why = {
        "[1:]": (
            "the time of a call, in ms, must include what it leaves on the device",
            "synchronize() after each call, before the clock is read",
        ),
        "[0]": (
            "later calls are right; the first one pays for what was queued before it, and must not",
            "synchronize() also before the clock is read for the first time",
        ),
        "": (
            "benchmark is right, and compare must wait for the device, too",
            "synchronize() in compare as well",
        ),
    }
    return outputs.same(queued_work, ONE_PERCENT, why=why, try_=f"{DOCSTRING} benchmark")


# --- compare ---

PAIRS, WARMUP = 30, 3
SIDES = ("baseline", "candidate")
FIRST = ", side that begins pairs 1 to 6"
SLOWING, NOISY, JUDGED = "calls get slower", "noise of 4 %", "a candidate"
RATIO = f"{SLOWING}, ratio"
SLOWER = 0.5 / (2 * (PAIRS + WARMUP))  # for each call: by half until the end


@dataclass(frozen=True)
class Script:
    """What calls of two functions take."""

    pairs: int
    gain: float
    noise: float = 0.0
    slow: int = 0
    """So many calls of the baseline take four times as long."""
    against: int = 0
    """In so many pairs the candidate takes 3 % longer."""
    slower: float = 0.0

    def seconds(self, random: np.random.Generator) -> tuple[list[float], list[float]]:
        """Draw them for both, the warm-up included."""
        shape = (2, WARMUP + self.pairs)
        baseline, candidate = (1 + self.noise * random.normal(size=shape).clip(-2, 2)) / 16
        order = WARMUP + random.permutation(self.pairs)
        baseline *= self.gain
        baseline[order[: self.slow]] *= 4
        candidate[order[: self.against]] *= 1.03
        return baseline.tolist(), candidate.tolist()


SCRIPTS = {
    SLOWING: Script(PAIRS, 1.05, slower=SLOWER),
    f"{SLOWING}, and two take 4 times as long": Script(
        PAIRS, 1.05, noise=0.01, slow=2, slower=SLOWER
    ),
    **{f"{NOISY}, pairs={n}": Script(n, 1.05, noise=0.04) for n in (6, 10, 30, 50)},
    f"{JUDGED} 1.3 times as fast": Script(PAIRS, 1.3, noise=0.02),
    f"{JUDGED} 0.8 times as fast": Script(PAIRS, 0.8, noise=0.02),
    f"{JUDGED} slower in half of the pairs": Script(PAIRS, 1.015, against=PAIRS // 2),
    f"{JUDGED} slower in 3 of 10 pairs": Script(10, 1.01, against=3),
    f"{JUDGED} slower in 7 of 10 pairs": Script(10, 1.01, against=7),
    f"{JUDGED} of equal times": Script(PAIRS, 1.0),
}


@part.outputs
def comparisons(student: Student, rig: Rig) -> Any:
    """Two functions that take known times, call by call, on a machine that may get slower."""
    rig.clock.freeze(tick=0)
    answers = rig.answers(student)
    for case, script in SCRIPTS.items():
        seconds = script.seconds(rig.random)
        machine = judges.Machine(rig.clock.advance, script.slower)
        compare = partial(judges.compared, *seconds, slower=script.slower)
        if rig.side == "student":
            compare = partial(student.compare, *map(machine.function, seconds, SIDES))
        comparison = answers.tried(partial(compare, pairs=script.pairs, warmup=WARMUP))
        calls, first = 2 * (WARMUP + script.pairs), ", ".join(3 * SIDES)
        if rig.side == "student":
            calls, first = len(machine.called), judges.begun(machine.called[2 * WARMUP :])
        if not isinstance(comparison, Exception):
            answers.add(f"{case}, calls", calls)
            answers.add(f"{case}{FIRST}", first)
        answers.add(case, comparison)
    return answers.values()


FIGURES = (FIRST, ", ratio", ", low", ", high", ", verdict", ", names")


def _of(pair: Pair, cases: str, figures: tuple[str, ...], why: Causes) -> Verdict:
    others = [it for it in (SLOWING, NOISY, JUDGED) if it != cases]
    without = [*others, *(it for it in FIGURES if it not in figures)]
    verdict = outputs.same(
        pair, COMPARED, why={**judges.CALLED, **why}, try_=f"{DOCSTRING} compare", without=without
    )
    _, _, got, want = next(it for it in outputs.paired(pair) if it[1]["case"] == RATIO)
    inverted = got is not None and close(float(got[0] * want[0]), 1.0, COMPARED)
    wrong_number = isinstance(verdict, Failed) and not any(
        it in verdict.measured for it in (*judges.CALLED, FIRST, ": raised ")
    )
    return Failed(verdict.measured, *judges.INVERTED) if inverted and wrong_number else verdict


@part.check(basis="scripted")
def compares_in_pairs(comparisons: Pair) -> Verdict:
    """compare finds the ratio although calls get slower, up to 1.5 times, and two single calls take 4 times as long."""
    return _of(comparisons, SLOWING, (FIRST, ", ratio"), judges.DRIFT)


@part.check(basis="scripted")
def interval_is_right(comparisons: Pair) -> Verdict:
    """low and high are the k-th smallest and the k-th largest ratio, for 6, 10, 30 and 50 pairs."""
    why = (
        "low and high must each be the ratio of one pair; k must be 1, 2, 10 and 18",
        (
            "k is how many terms math.comb(pairs, i) / 2**pairs, "
            "from i = 0, add up to at most 0.025; "
            "in a sorted list, the k-th smallest is ratios[k - 1]"
        ),
    )
    return _of(comparisons, NOISY, (", low", ", high"), {"": why})


@part.check(basis="scripted")
def verdict_follows_the_interval(comparisons: Pair) -> Verdict:
    """The verdict is "faster" or "slower" only where the whole interval is on one side of 1."""
    return _of(comparisons, JUDGED, (", verdict",), judges.VERDICTS)


# --- what is refused ---


LEAST = {"benchmark": ("repeats", 2), "compare": ("pairs", 6)}


def one_call() -> float:
    return sum(range(100))


def refuse(exercise: Exercise) -> None:
    name, least = LEAST[exercise.function]
    exercise.inputs(lambda _: {name: least})
    exercise.refuses(
        {f"{name}={few}": {name: few} for few in (0, least - 1)},
        takes={f"{name}={least}": {name: least}},
        name="refuses_too_few",
        why="too few calls must be refused: one has no spread, and five pairs no interval that is 95 % sure",
        try_="raise ValueError first: below 2 repeats, below 6 pairs",
        needs=[],
    )


Several(
    Exercise("benchmark", part, call=lambda written, given: written(one_call, **given)),
    Exercise("compare", part, call=lambda written, given: written(one_call, one_call, **given)),
).claim("benchmark refuses fewer than 2 repeats, compare fewer than 6 pairs.", refuse)

# --- tables ---

rows, memory = Exercise("speedup_rows", part), Exercise("training_memory", part)
SLIDES = {"baseline": 120, "loader": 86, "mixed precision": 45, "compiled": 37, "channels last": 31}


@rows.inputs
def draw_minutes(
    random: np.random.Generator, steps: Any = (0, 7), slides: bool = False
) -> dict[str, Any]:
    times = random.uniform(10, 200, steps).round(1).tolist()
    return {"minutes": SLIDES if slides else {f"step {at}": own for at, own in enumerate(times)}}


rows.same(
    {"120, 86, 45, 37, 31 minutes": {"slides": True}, "a step that is slower": {"steps": 6}},
    oracle=judges.speedups,
    name="speedups_follow_the_times",
    says="In speedup_rows, cumulative and saved_percent compare with the first row, incremental with the row before.",
    why=judges.SPEEDUPS,
    try_=f"{DOCSTRING} speedup_rows",
)


BATCH = ("micro_batch", "accumulation", "processes")


@memory.inputs
def draw_training(
    random: np.random.Generator, recipe: str = "fp32", parameters: int = 0
) -> dict[str, Any]:
    return {
        "parameters": parameters or int(random.integers(10**6, 10**10)),
        "recipe": recipe,
        "activations_per_sample": int(random.integers(10**6, 10**8)),
        **dict(zip(BATCH, random.integers(2, 9, 3).tolist(), strict=True)),
    }


memory.same(
    {
        "7 billion in fp32": {"recipe": "fp32", "parameters": 7 * 10**9},
        "7 billion in pure half": {"recipe": "pure_half", "parameters": 7 * 10**9},
        **{recipe: {"recipe": recipe} for recipe in judges.RECIPES},
    },
    oracle=judges.held,
    name="memory_adds_up",
    says="training_memory counts weights, gradients, master weights, optimizer, activations and the effective batch.",
    why=judges.MEMORY,
    try_=f"{DOCSTRING} training_memory",
)

# --- the table handed in ---

Study(part, RESULTS, "part8_benchmark.py").is_consistent(
    judges.row_problem,
    says="benchmark_results.csv has percentiles in order, ratios in their intervals, and verdicts that fit.",
)
