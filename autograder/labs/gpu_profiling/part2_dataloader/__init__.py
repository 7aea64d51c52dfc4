"""Part 2: the data loader. Workers that stay, copies nobody waits for, 32 configurations measured by whole batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

from autograder.checks import loaders
from autograder.checks import trace as profile
from autograder.checks.answer_lists import each
from autograder.checks.hints import caused, hinted
from autograder.checks.table_form import UNUSUAL, parted
from autograder.claims.loaders import Loader
from autograder.claims.studies import WRITTEN, Study, written
from autograder.claims.training_loop import TrainingLoop
from autograder.lab import (
    CELL,
    INTEGER,
    NUMBER,
    TEXT,
    Answer,
    Failed,
    Observation,
    Pair,
    Part,
    Passed,
    Student,
    Table,
    Text,
    Tolerance,
    Verdict,
    Window,
    list_of,
    map_of,
    optional,
    record,
)
from autograder.labs.gpu_profiling.part2_dataloader import judges
from autograder.model import verdict
from autograder.traces import Trace

if TYPE_CHECKING:
    from autograder.labs.gpu_profiling.part2_dataloader.rig import Rig
else:
    Rig = Any


part = Part(
    "part2_dataloader",
    writes=[
        "make_loader_optimized",
        "train_epoch_optimized",
        "measure_loader",
        "benchmark_dataloader",
        "best_configuration",
    ],
    hands_in=[
        "dataloader_results.csv",
        "dataloader_optimum.json",
        "before_profile.gz",
        "after_profile.gz",
        "part2_notes.md",
    ],
    tables=[judges.RESULTS],
)

RANGES = judges.RANGES
BATCH, LEAST, CONVOLUTIONS = 8, 5, 3  # samples; steps of a profile; of SimpleNet
BLANKS = 'see "The four blanks" in the part 2 handout'
AGAIN = "run part2_dataloader.py again and submit what it wrote, unchanged"


# --- the loader ---

loader = Loader(
    part,
    lambda student, data, batch, device, workers, _: student.make_loader_optimized(
        data, batch, device, num_workers=workers
    ),
    see=BLANKS,
    takes=["make_loader_optimized"],
)
loader.delivers()
loader.shuffles()
loader.has_options("fills_the_blanks")
loader.is_faster()


# --- what is run: the training ---


def train(student: Student, window: Window, on_step: Callable[[], Any] = lambda: None) -> Any:
    """Call the student's training loop, and count how often a profiler would move on."""
    steps = list[Any]()
    losses = student.train_epoch_optimized(
        window.model,
        window.loader,
        window.criterion,
        window.optimizer,
        window.device,
        on_step=lambda: steps.append(on_step()),
    )
    return {"losses": losses, "on_step": len(steps)}


@part.probe(
    values={
        "batches": INTEGER,
        "early": INTEGER,
        "entered": record(**dict.fromkeys(RANGES, INTEGER)),
    },
    takes=["train_epoch_optimized"],
)
def ranges(student: Student, rig: Rig) -> Answer:
    """How often each range of the script is entered, and on_step called before the step is taken."""
    window = rig.window([4] * rig.integer(5, 7))
    taken, ended = list[int](), list[int]()
    window.optimizer.register_step_post_hook(lambda *_: taken.append(1))
    with rig.ranges() as entered:
        train(student, window, lambda: ended.append(len(taken)))
    return {
        "batches": len(window.loader),
        "early": sum(steps < at for at, steps in enumerate(ended, 1)),
        "entered": {name: entered[name] for name in RANGES},
    }


# --- what is run: the measurement ---

FIGURES = ("samples", "seconds", "throughput")
START, COLD = (1.0, 2.0), 3.0  # seconds: of the workers, as drawn; of the first iterator
CASE = {
    "warm_up": INTEGER,
    "batches": INTEGER,
    "samples": INTEGER,
    "start": NUMBER,
    "waits": list_of(NUMBER),
}
TOLD = {name: optional(NUMBER) for name in FIGURES}
DEFAULTS = {"warm_up": 8, "batches": 24}
"""Of measure_loader, as the handout has them."""


@part.probe(pair=True, values={"cases": list_of(record(**CASE, reported=record(**TOLD)))})
def counted(student: Student, rig: Rig) -> Answer:
    """Loaders of more batches than are asked for, and of fewer, the last of which is short; each batch has its wait.

    The last loader is measured as the defaults say.
    """
    cases = []
    for more, default in ((5, False), (-2, False), (5, True)):
        asked = {"warm_up": rig.integer(2, 4), "batches": rig.integer(5, 8)}
        asked = DEFAULTS if default else asked
        count, (start,) = sum(asked.values()) + more, rig.seconds(*START, 1)
        stream: dict[str, Any] = {
            "samples": BATCH * count - 3,
            "waits": rig.seconds(0.2, 0.9, count),
        }
        stream["start"] = start
        loader = rig.loading.streams(**stream, pace={}, cold=COLD)(BATCH)
        words = {} if default else asked
        returned = student.measure_loader(loader, rig.device, **words)
        figures = rig.returned("measure_loader", returned)
        reported = {name: rig.number(figures[name]) for name in FIGURES}
        cases.append({**asked, **stream, "reported": reported})
    return {"cases": cases}


@part.probe(values=dict.fromkeys(loaders.MOVES, INTEGER))
def copies(student: Student, rig: Rig) -> Answer:
    """To a device without memory, so that any machine can show it."""
    loader = rig.loading.streams(BATCH * 6, [0.1], {}, start=0.0, cold=0.0)(BATCH)
    with rig.loading.moves() as moves:
        student.measure_loader(loader, rig.loading.device("meta"), warm_up=1, batches=4)
    return {**moves.of_batches(), "batches": 1 + 4}


GRID = {
    "sizes": list_of(INTEGER),
    "workers": list_of(INTEGER),
    "pace": list_of(NUMBER),
    "waits": list_of(NUMBER),
}
ONCE = {"warm_up": INTEGER, "batches": INTEGER, "samples": INTEGER, "start": NUMBER, "device": TEXT}


@part.probe(pair=True, values={**GRID, **ONCE, **WRITTEN, "begun": INTEGER, "pinned": INTEGER})
def benchmark(student: Student, rig: Rig) -> Answer:
    """Twelve configurations, each with a pace of its own."""
    sizes = [rig.integer(3, 5), rig.integer(6, 9)]
    workers = [0, rig.integer(1, 3), rig.integer(4, 6)]
    asked = {"warm_up": rig.integer(2, 3), "batches": rig.integer(4, 6)}
    places = list(product(sizes, workers, (False, True)))
    pace, (start,) = rig.seconds(0.2, 0.9, len(places)), rig.seconds(*START, 1)
    waits = rig.seconds(0.5, 0.9, sum(asked.values()) + 3)
    stream: dict[str, Any] = {"samples": sizes[-1] * len(waits), "waits": waits, "start": start}
    paces = dict(zip(places, pace, strict=True))
    make_loader = rig.loading.streams(**stream, pace=paces, cold=COLD)
    returned = student.benchmark_dataloader(
        make_loader,
        rig.device,
        list(sizes),
        list(workers),
        [False, True],
        folder=str(rig.made_folder()),
        **asked,
    )
    return {
        **asked,
        **stream,
        **written(rig, judges.RESULTS, "benchmark_dataloader", returned),
        "sizes": sizes,
        "workers": workers,
        "pace": pace,
        "begun": sum(loader["epochs"] for loader in make_loader.made),
        "pinned": sum(loader["pins"] for loader in make_loader.made),
        "device": rig.text(rig.given("device_name")(rig.device)),
    }


@part.probe(
    pair=True, values={"asked": list_of(list_of(map_of(CELL))), "chosen": list_of(map_of(CELL))}
)
def choices(student: Student, rig: Rig) -> Answer:
    """Tables in which the largest batch, the most workers and pinned memory are not the fastest; some are equal."""
    asked, answers = [], []
    places = list(product((16, 64), (0, 2, 4), (False, True)))[:-1]
    # What most recipes take, row 5, is never the best.
    for ties, low, high in ((0, 0, 4), (1, 0, 3), (0, 6, 8)):
        rates = rig.seconds(20, 90, len(places))
        best = rig.integer(low, high)
        rates[best : best + 1 + ties] = [95.0] * (1 + ties)
        rows = [table_row(place, rate) for place, rate in zip(places, rates, strict=True)]
        asked.append(rig.rows(rows, "the table"))
        answers.append(student.best_configuration([dict(row) for row in rows]))
    return {"asked": asked, "chosen": rig.rows(answers, "best_configuration")}


def table_row(place: tuple[int, int, bool], rate: float) -> dict[str, Any]:
    """Return a row of 24 batches: the least seconds are a small batch's."""
    samples = 24 * place[0]
    figures = {"samples": samples, "seconds": samples / rate, "throughput": rate}
    return {**dict(zip(judges.KEYS, place, strict=True)), **figures}


# --- what is judged: the training ---

FOLLOWS = Tolerance(losses=3e-6, weights=4e-7)  # of plain float32, as in the lab resnet18, part 1
loop = TrainingLoop(part, "train_epoch_optimized", train)
follows_the_script = loop.follows(
    "follows_the_script",
    FOLLOWS,
    says="train_epoch_optimized trains as the script does: losses and weights, batch by batch; on_step after each.",
    see=judges.STEPS,
    counts="on_step",
    momentum=0.9,
)
loop.waits_rarely(
    "waits_for_nothing",
    says="In the loop, the host never waits for a copy. The host waits for a value at most once in ten batches. "
    "The steps keep the four ranges.",
    needs=[follows_the_script],
    also={loop.moves(): loaders.each_copied, ranges: judges.marked},
)


# --- what is judged: the measurement ---

COUNTED_HINTS = {
    "a second iterator": "call iter(loader) once, and islice it twice",
    "one batch too many": "islice(stream, batches) instead of break",
    "leaves out the wait": "read the clock before you ask for the first batch that counts",
    "counts batches": "add up len(labels)",
    "the warm-up is timed": "start the clock after the warm-up",
    "there is no warm-up": "take warm_up batches before the clock starts",
    "other defaults": "keep warm_up=8, batches=24 in the first line of measure_loader",
    "in milliseconds": "return the difference of two time.perf_counter(), in seconds",
}


@part.check(basis="scripted")
def counts_what_it_times(counted: Pair) -> Verdict:
    """measure_loader times the right number of batches after the warm-up, of one iterator, and counts samples."""
    expected = counted.baseline.values["cases"]

    def problem(case: Mapping[str, Any], right: Mapping[str, Any]) -> tuple[str, str]:
        stream = judges.Stream(**{name: right[name] for name in CASE}, batch_size=BATCH, cold=COLD)
        asked = f"warm_up={right['warm_up']}, batches={right['batches']}"
        default = right["warm_up"] == DEFAULTS["warm_up"]  # no drawn one is as large
        asked = f"with the defaults {asked}" if default else asked
        measured = f"a loader of {-(-right['samples'] // BATCH)} batches, {asked}"
        figure, why = parted(judges.figure_problem(case["reported"], stream))
        if default and why == UNUSUAL:
            why = "usually your code has other defaults"
        return f"{measured}: {figure}", why or figure

    try_ = "one iter(loader), and islice twice"
    passed = f"{len(expected)} loaders, on a clock that the grader moves"
    judged = each(counted.student.values["cases"], expected, problem, try_, passed)
    return hinted(judged, COUNTED_HINTS)


@part.check(basis="report")
def times_the_copies(copies: Observation) -> Verdict:
    """measure_loader moves images and labels to the device with non_blocking=True, those of the warm-up, too."""
    return loaders.each_copied(copies)


def _measured(benchmark: Pair) -> str | tuple[str, ...]:
    rows, script = benchmark.student.values["rows"], benchmark.baseline.values
    if (begun := benchmark.student.values["begun"]) > len(rows):
        why = "your code measures a row more than once: the best of several is no fair figure"
        return why, "call measure_loader once a row", f"{begun} measurements for {len(rows)} rows"
    problem = judges.paces_problem(rows, judges.streams(script, COLD), script["device"])
    if problem and not benchmark.student.values["pinned"]:
        why = "make_loader was never called with pin_memory=True"
        return why, "pass all three options of the row to make_loader", parted(problem)[0]
    hints = {**COUNTED_HINTS, "the figure of": "make a new loader, with the row's own options"}
    return caused(problem, hints)


study = Study(
    part,
    judges.RESULTS,
    "benchmark_dataloader",
    by=benchmark,
    expected=lambda script: list(product(script["sizes"], script["workers"], judges.PINS)),
)
study.is_measured(
    "measures_each_configuration",
    _measured,
    says="Each combination is measured once, in order, with its batch_size, num_workers and pin_memory.",
    try_="put what measure_loader(loader, device, warm_up, batches) returns into the row, unchanged",
    shows=["num_workers", "throughput"],
    needs=["counts_what_it_times"],
)
study.is_written()


@part.check(basis="outputs")
def best_is_the_fastest(choices: Pair) -> Verdict:
    """best_configuration returns the configuration with the highest throughput; of equal ones, the first."""
    asked = choices.baseline.values["asked"]
    return each(
        choices.student.values["chosen"],
        asked,
        lambda row, rows: (judges.chose(row), judges.choice_problem(judges.choice(row), rows)),
        'return batch_size, num_workers and pin_memory of max(rows, key=lambda row: row["throughput"])',
        f"{len(asked)} tables",
    )


# --- what is judged: the submitted files ---


csv_is_consistent = study.is_consistent(
    judges.whole_problem,
    says="The submitted dataloader_results.csv has one row for each combination of four batch sizes, "
    "four numbers of workers and both values of pin_memory.",
    try_=f"{AGAIN}; keep the template's sizes and workers",
)


@part.check(basis="artefact", needs=[csv_is_consistent])
def optimum_is_the_best_row(dataloader_results: Table, dataloader_optimum: Text) -> Verdict:
    """The submitted dataloader_optimum.json is the best row of the submitted table."""
    why = judges.optimum_problem(dataloader_optimum.text, judges.RESULTS.read(dataloader_results))
    measured = dataloader_optimum.text.strip()[:120] or "nothing"
    return verdict(measured, why, f"fix best_is_the_fastest first if it fails; {AGAIN}")


PROFILE_HINTS = {
    "has no workers": "record train_epoch_optimized with a loader of num_workers above 0",
    "has workers": "record the script before any change, as part2_dataloader.py does",
    "range": "keep the ranges copy, forward, backward and optimizer_step, once a step",
}


@part.check(basis="artefact")
def profiles_are_of_both(before_profile: Trace, after_profile: Trace) -> Verdict:
    """before_profile.gz shows the unchanged script, after_profile.gz your training with workers; both have ranges."""
    for trace, workers in ((before_profile, False), (after_profile, True)):
        if why := profile.of_another(trace, LEAST, RANGES, CONVOLUTIONS, workers=workers):
            return hinted(
                Failed(f"{trace.file}: {why}", judges.PROFILED[workers], AGAIN), PROFILE_HINTS
            )
    return Passed(f"steps before: {len(before_profile.steps)}, after: {len(after_profile.steps)}")


@part.check(basis="artefact", needs=[profiles_are_of_both])
def waits_less_for_data(before_profile: Trace, after_profile: Trace) -> Verdict:
    """The share of the steps' time that is spent waiting for data is smaller after than before."""
    both = (before_profile, after_profile)
    before, after = (trace.figure("dataloader", "steps") or 0.0 for trace in both)
    measured = f"{before:.1f} % of the steps before, {after:.1f} % after"
    why = "usually the workers do not keep up with the training" * (after >= before)
    return verdict(measured, why, f"use more workers; {AGAIN}")
