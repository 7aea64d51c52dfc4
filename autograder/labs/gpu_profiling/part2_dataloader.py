"""Part 2: the data loader. Workers that stay, copies nobody waits for, 32 configurations measured by whole batches."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

from autograder.checks import grid, loaders, numerics, speedup, timing
from autograder.checks import trace as profile
from autograder.claims.studies import WRITTEN, Study, written
from autograder.digest import Epoch, differing
from autograder.images import Samples
from autograder.lab import (
    BOOLEAN,
    CELL,
    INTEGER,
    NUMBER,
    TEXT,
    Bar,
    Failed,
    Observation,
    Pair,
    Part,
    Passed,
    Table,
    Text,
    Timed,
    Tolerance,
    Verdict,
    list_of,
    map_of,
    optional,
    record,
)
from autograder.traces import Trace

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
    tables=[grid.RESULTS],
)

BATCH, WORKERS = 8, 2
RANGES = ("copy", "forward", "backward", "optimizer_step")
LEAST, CONVOLUTIONS = 5, 3  # steps of a profile; of SimpleNet
BLANKS = 'see "The four blanks" in the part 2 handout'
STEPS = 'see "A step that waits for nothing" in the part 2 handout'
COUNTED = 'see "Which batches count" in the part 2 handout'
TABLE = 'see "The table" in the part 2 handout'
AGAIN = "run part2_dataloader.py again and hand in what it wrote, unchanged"


# --- what is run: the loader ------------------------------------------------------------------------------------------

EPOCHS = ("first", "second")
FORMS = {"commitments": ("uint8", 1), "sizes": ("int64", 1)}
SEVERAL = {f"{epoch}_{name}": form for epoch in EPOCHS for name, form in FORMS.items()}


def several(student: Any, rig: Any, workers: int) -> Any:
    """Two epochs of one loader."""
    data = rig.loading.pictures(BATCH * 5 + rig.integer(1, BATCH - 1))
    loader = student.make_loader_optimized(data, BATCH, rig.device, num_workers=workers)
    return {
        f"{epoch}_{name}": array
        for epoch in EPOCHS
        for name, array in rig.loading.epoch(loader).items()
    }


@part.probe(pair=True, arrays=SEVERAL)
def epochs(student: Any, rig: Any) -> Any:
    """With worker processes."""
    return several(student, rig, WORKERS)


@part.probe(pair=True, arrays=SEVERAL)
def alone(student: Any, rig: Any) -> Any:
    """Without worker processes."""
    return several(student, rig, 0)


OPTIONS = {"num_workers": INTEGER, "pin_memory": BOOLEAN, "persistent_workers": BOOLEAN}


@part.probe(
    values={
        "made": list_of(record(device=TEXT, workers=INTEGER, options=optional(record(**OPTIONS))))
    }
)
def arguments(student: Any, rig: Any) -> Any:
    """The loaders that are made for each kind of device; none of them is used."""
    made = []
    for device, workers in product(("cpu", "cuda"), (0, 3)):
        with rig.loading.built() as built:
            data = rig.loading.pictures(BATCH)
            student.make_loader_optimized(
                data, BATCH, rig.loading.device(device), num_workers=workers
            )
        made.append({"device": device, "workers": workers, "options": built.last()})
    return {"made": made}


@part.timed("load", dataset=Samples)
def slow_reads(student: Any, dataset: Any, device: Any) -> Any:
    """Batches of 4 and 4 workers: an epoch of 32 reads, of which none waits for a core."""
    return student.make_loader_optimized(dataset, 4, device, num_workers=4)


# --- what is run: the training ----------------------------------------------------------------------------------------


def train(student: Any, window: Any, on_step: Any = None) -> Any:
    """Call the student's training loop."""
    return student.train_epoch_optimized(
        window.model,
        window.loader,
        window.criterion,
        window.optimizer,
        window.device,
        on_step=on_step,
    )


@part.probe(
    pair=True,
    values={"stepped": INTEGER, "batches": INTEGER},
    arrays={"losses": ("float64", 1), "weights": ("float32", 1)},
)
def trained(student: Any, rig: Any) -> Any:
    window, steps = rig.window(momentum=0.9), list[int]()
    window.model.eval()
    window.criterion.label_smoothing = 0.1  # so that another criterion shows
    for parameter in window.model.parameters():
        parameter.grad = parameter.detach() + 1  # from before the epoch
    losses = rig.series(train(student, window, lambda: steps.append(1)), "losses")
    return {
        "losses": losses,
        "weights": window.weights(),
        "stepped": len(steps),
        "batches": len(window.loader),
    }


MOVES = {"moved": INTEGER, "waited": INTEGER, "batches": INTEGER}


@part.probe(
    values={
        "waits": list_of(record(line=INTEGER, call=TEXT, batches=list_of(INTEGER))),
        "kept": INTEGER,
        **MOVES,
    }
)
def waits(student: Any, rig: Any) -> Any:
    """A training whose waits are noted, and another whose copies are."""
    window, another = rig.window([4] * 23 + [3]), rig.window([4] * 24)
    graphs = rig.graphs(window)
    with rig.waits(window, student) as seen:
        train(student, window)
    with rig.loading.moves() as moves:
        train(student, another)
    told = {"batches": len(window.loader), "waits": seen.values(), "kept": graphs.kept}
    return {**told, "moved": moves.moved, "waited": moves.waited}


# --- what is run: the measurement -------------------------------------------------------------------------------------

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


@part.probe(pair=True, values={"cases": list_of(record(**CASE, told=record(**TOLD)))})
def counted(student: Any, rig: Any) -> Any:
    """Loaders of more batches than are asked for, and of fewer, the last of which is short; each batch has its wait."""
    cases = []
    for more in (5, -2):
        warm_up, batches, (start,) = rig.integer(2, 4), rig.integer(5, 8), rig.seconds(*START, 1)
        waits, samples = (
            rig.seconds(0.2, 0.9, warm_up + batches + more),
            BATCH * (warm_up + batches + more) - 3,
        )
        loader = rig.loading.streams(samples, waits, {}, start=start, cold=COLD)(BATCH)
        returned = student.measure_loader(loader, rig.device, warm_up=warm_up, batches=batches)
        seen = rig.returned("measure_loader", returned)
        case = {
            "warm_up": warm_up,
            "batches": batches,
            "samples": samples,
            "start": start,
            "waits": waits,
        }
        cases.append({**case, "told": {name: rig.number(seen[name]) for name in FIGURES}})
    return {"cases": cases}


@part.probe(values=MOVES)
def copies(student: Any, rig: Any) -> Any:
    """To a device without memory, so that any machine can show it."""
    loader = rig.loading.streams(BATCH * 6, [0.1], {}, start=0.0, cold=0.0)(BATCH)
    with rig.loading.moves() as seen:
        student.measure_loader(loader, rig.loading.device("meta"), warm_up=1, batches=4)
    return {"moved": seen.moved, "waited": seen.waited, "batches": 1 + 4}


GRID = {
    "sizes": list_of(INTEGER),
    "workers": list_of(INTEGER),
    "pace": list_of(NUMBER),
    "waits": list_of(NUMBER),
}
ONCE = {"warm_up": INTEGER, "batches": INTEGER, "samples": INTEGER, "start": NUMBER, "device": TEXT}


@part.probe(pair=True, values={**GRID, **ONCE, **WRITTEN})
def benchmark(student: Any, rig: Any) -> Any:
    """Twelve configurations, each with a pace of its own."""
    sizes, workers = (
        [rig.integer(3, 5), rig.integer(6, 9)],
        [0, rig.integer(1, 3), rig.integer(4, 6)],
    )
    warm_up, batches, (start,) = rig.integer(2, 3), rig.integer(4, 6), rig.seconds(*START, 1)
    waits, places = (
        rig.seconds(0.5, 0.9, warm_up + batches + 3),
        list(product(sizes, workers, (False, True))),
    )
    pace, samples = rig.seconds(0.2, 0.9, len(places)), sizes[-1] * len(waits)
    streams = rig.loading.streams(
        samples, waits, dict(zip(places, pace, strict=True)), start=start, cold=COLD
    )
    options = {"folder": str(rig.made_folder()), "warm_up": warm_up, "batches": batches}
    returned = student.benchmark_dataloader(
        streams, rig.device, list(sizes), list(workers), [False, True], **options
    )
    return {
        **written(rig, grid.RESULTS, "benchmark_dataloader", returned),
        "sizes": sizes,
        "workers": workers,
        "pace": pace,
        "waits": waits,
        "start": start,
        "samples": samples,
        "warm_up": warm_up,
        "batches": batches,
        "device": rig.text(rig.given("device_name")(rig.device)),
    }


@part.probe(
    pair=True, values={"asked": list_of(list_of(map_of(CELL))), "chosen": list_of(map_of(CELL))}
)
def choices(student: Any, rig: Any) -> Any:
    """Tables in which the largest batch, the most workers and pinned memory are not the fastest; some are equal."""
    asked, answers = [], []
    for ties, low, high in (
        (0, 0, 4),
        (1, 0, 3),
        (0, 6, 8),
    ):  # what most recipes take, row 5, is never the best
        places = list(product((16, 64), (0, 2, 4), (False, True)))[:-1]
        rates = rig.seconds(20, 90, len(places))
        best = rig.integer(low, high)
        rates[best : best + 1 + ties] = [95.0] * (1 + ties)
        rows = [  # 24 batches each, so the least seconds are a small batch's
            {
                **dict(zip(grid.KEYS, place, strict=True)),
                "samples": size,
                "seconds": size / rate,
                "throughput": rate,
            }
            for place, rate in zip(places, rates, strict=True)
            for size in (24 * place[0],)
        ]
        asked.append(rig.rows(rows, "the table"))
        answers.append(student.best_configuration([dict(row) for row in rows]))
    return {"asked": asked, "chosen": rig.rows(answers, "best_configuration")}


# --- what is judged: the loader ---------------------------------------------------------------------------------------


@part.check(basis="outputs")
def every_sample_once(epochs: Pair) -> Verdict:
    """With 2 workers an epoch delivers every sample once, with its label; the last batch is shorter."""
    return loaders.delivered(epochs, try_=f"no drop_last, no sampler that replaces; {BLANKS}")


@part.check(basis="outputs")
def works_without_workers(alone: Pair) -> Verdict:
    """With num_workers=0 an epoch delivers every sample once as well."""
    return loaders.delivered(alone, try_=f"persistent_workers only where num_workers > 0; {BLANKS}")


@part.check(basis="outputs", needs=[every_sample_once, works_without_workers])
def shuffles_each_epoch(epochs: Pair, alone: Pair) -> Verdict:
    """Samples come in another order than they are stored in, and in another one in each epoch."""
    return loaders.shuffled({WORKERS: epochs, 0: alone}, try_=f"shuffle=True; {BLANKS}")


@part.check(basis="report")
def fills_the_blanks(arguments: Observation) -> Verdict:
    """num_workers as asked; pin_memory for a GPU only; workers that stay, if there are some."""
    return loaders.options(arguments.values["made"], try_=BLANKS)


@part.check(basis="outputs", needs=[every_sample_once])
def loading_is_faster(slow_reads: Timed, bar: Bar) -> Verdict:
    """An epoch of slow reads with 4 workers is at least {bar} as fast as with none, timed from outside."""
    problem = differing(Epoch(**slow_reads.student.arrays), Epoch(**slow_reads.baseline.arrays))
    if problem:
        return Failed(problem, "the loader that is timed delivers other samples", BLANKS)
    why = "reads wait for each other: nothing reads ahead, or workers start anew in each epoch"
    return speedup.at_least(
        slow_reads, bar, why=why, try_=f"num_workers, persistent_workers; {BLANKS}"
    )


# --- what is judged: the training -------------------------------------------------------------------------------------

FOLLOWS = Tolerance(losses=3e-6, weights=4e-7)  # of plain float32, as in the lab resnet18, part 1


@part.check(basis="outputs")
def follows_the_script(trained: Pair) -> Verdict:
    """train_epoch_optimized trains as the script does: losses and weights, batch by batch; on_step after each."""
    stepped, batches = trained.student.values["stepped"], trained.baseline.values["batches"]
    if stepped != batches:
        why = "a profiler moves on with it"
        return Failed(f"on_step was called {stepped} times in {batches} batches", why, STEPS)
    why = "a step is left out or taken twice, gradients pile up, the model is not in train(), or the loss is another"
    return numerics.same_trajectory(
        trained, FOLLOWS, why=why, try_=f"change the copies and the waits only; {STEPS}"
    )


def _copied(seen: Observation) -> Verdict:
    moved, waited, batches = (seen.values[name] for name in MOVES)
    if moved < 2 * batches:
        measured = f"{moved} tensors were moved in {batches} batches"
        return Failed(
            measured, "images and labels of each belong on the device", "images.to(device, ...)"
        )
    if waited:
        why = "the host stands still for each, so pinned memory gains nothing"
        return Failed(
            f"{waited} of {moved} copies wait until they are done",
            why,
            ".to(device, non_blocking=True)",
        )
    return Passed(f"{moved} copies, none of which waits")


@part.check(basis="report", needs=[follows_the_script])
def waits_for_nothing(waits: Observation) -> Verdict:
    """Between steps the host waits for no copy and no value: non_blocking, and the losses fetched at the end."""
    seen = waits.values
    found = timing.no_wait_per_step(
        seen["waits"], seen["batches"], seen["kept"], try_=f"loss.detach(); {STEPS}"
    )
    return _copied(waits) if isinstance(found, Passed) else found


# --- what is judged: the measurement ----------------------------------------------------------------------------------


@part.check(basis="scripted")
def counts_what_it_times(counted: Pair) -> Verdict:
    """measure_loader times the batches after the warm-up, as many as asked for, of one iterator; and counts samples."""
    told, known = counted.student.values["cases"], counted.baseline.values["cases"]
    if len(told) != len(known):
        return Failed(f"{len(told)} answers", f"{len(known)} loaders were shown", COUNTED)
    for case, right in zip(told, known, strict=True):
        options = {name: right[name] for name in CASE}
        why = grid.figure_problem(case["told"], grid.Stream(**options, batch_size=BATCH, cold=COLD))
        batches = -(-right["samples"] // BATCH)
        measured = (
            f"a loader of {batches} batches, warm_up={right['warm_up']}, batches={right['batches']}"
        )
        if why:
            return Failed(measured, why, f"one iter(loader), and islice twice; {COUNTED}")
    return Passed(f"{len(known)} loaders, on a clock that the grader moves")


@part.check(basis="report")
def times_the_copies(copies: Observation) -> Verdict:
    """measure_loader moves images and labels to the device with non_blocking=True, those of the warm-up, too."""
    return _copied(copies)


def _streams(known: Mapping[str, Any]) -> list[grid.Stream]:
    places = product(known["sizes"], known["workers"], grid.PINS)
    once = {name: known[name] for name in ("samples", "start", "warm_up", "batches")}
    return [
        grid.Stream(
            **once, batch_size=size, waits=[pace * wait for wait in known["waits"]], cold=COLD
        )
        for (size, _, _), pace in zip(places, known["pace"], strict=True)
    ]


def _measured(benchmark: Pair) -> str:
    rows, known = benchmark.student.values["rows"], benchmark.baseline.values
    return grid.paces_problem(rows, _streams(known), known["device"])


study = Study(
    part,
    grid.RESULTS,
    "benchmark_dataloader",
    by=benchmark,
    expected=lambda known: list(product(known["sizes"], known["workers"], grid.PINS)),
)
study.is_measured(
    "measures_each_configuration",
    _measured,
    says="benchmark_dataloader measures each combination once, in order, with a loader that has all three options.",
    try_=f"make_loader(batch_size=..., num_workers=..., pin_memory=...); {TABLE}",
    shows=["num_workers", "throughput"],
    needs=["counts_what_it_times"],
)
study.is_written()


@part.check(basis="outputs")
def best_is_the_fastest(choices: Pair) -> Verdict:
    """best_configuration returns the configuration with the highest throughput; of equal ones, the first."""
    asked, told = choices.baseline.values["asked"], choices.student.values["chosen"]
    if len(told) != len(asked):
        return Failed(f"{len(told)} answers", f"{len(asked)} tables were shown", TABLE)
    for rows, one in zip(asked, told, strict=True):
        if why := grid.choice_problem(grid.choice(one), rows):
            return Failed(
                f"{dict(one)}"[:200], why, f'max(rows, key=lambda row: row["throughput"]); {TABLE}'
            )
    return Passed(f"{len(asked)} tables")


# --- what is judged: the files that are handed in ---------------------------------------------------------------------


csv_is_consistent = study.is_consistent(
    grid.whole_problem,
    says="The dataloader_results.csv handed in has four batch sizes, four numbers of workers and both pins, once each.",
)


@part.check(basis="artefact", needs=[csv_is_consistent])
def optimum_is_the_best_row(dataloader_results: Table, dataloader_optimum: Text) -> Verdict:
    """The dataloader_optimum.json handed in is the best row of the table handed in with it."""
    why = grid.optimum_problem(dataloader_optimum.text, grid.RESULTS.read(dataloader_results))
    measured = dataloader_optimum.text.strip()[:120] or "nothing"
    return Failed(measured, why, AGAIN) if why else Passed(measured)


@part.check(basis="artefact")
def profiles_are_of_both(before_profile: Trace, after_profile: Trace) -> Verdict:
    """before_profile.gz is of the script as it is, after_profile.gz of your training with workers: steps and ranges."""
    measured = f"{len(before_profile.steps)} steps before, {len(after_profile.steps)} after"
    for trace, workers in ((before_profile, False), (after_profile, True)):
        if why := profile.of_another(trace, LEAST, RANGES, CONVOLUTIONS, workers=workers):
            return Failed(
                measured, f"{trace.file}: {why}", f"keep the ranges copy, forward, ...; {STEPS}"
            )
    return Passed(measured)


@part.check(basis="artefact", needs=[profiles_are_of_both])
def waits_less_for_data(before_profile: Trace, after_profile: Trace) -> Verdict:
    """After, a smaller share of the steps is waiting for data than before."""
    before, after = (
        it.figure("dataloader", "steps") or 0.0 for it in (before_profile, after_profile)
    )
    measured = f"{before:.1f} % of the steps before, {after:.1f} % after"
    why = "the workers do not keep up, or are not there; a profile of one cannot be the other's"
    return Passed(measured) if after < before else Failed(measured, why, f"more workers; {AGAIN}")
