"""Part 2: the data loader. Every sample once, read ahead by workers; a measurement that sees the wait for data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from autograder.checks import loaders, plot, table, timing
from autograder.checks.forms import samples_problem
from autograder.checks.numerics import shown
from autograder.checks.reported import each
from autograder.claims.epochs import TrainingLoop
from autograder.claims.loaders import Loader
from autograder.claims.studies import DRAWN, PICTURE, Study, written
from autograder.lab import (
    CELL,
    INTEGER,
    NUMBER,
    TEXT,
    Device,
    Failed,
    Observation,
    Pair,
    Part,
    Passed,
    Picture,
    Table,
    Verdict,
    list_of,
    map_of,
    optional,
)
from autograder.labs.resnet18.part2_dataloader import judges
from autograder.protocol.images import Samples, augmented

SWEPT, COMPARED = "num_workers_comparison.png", "dataloader_optimization.png"
part = Part(
    "part2_dataloader",
    writes=[
        "measure_loading",
        "make_loader_optimized",
        "sweep_workers",
        "best_workers",
        "compare_configurations",
    ],
    hands_in=[
        judges.SWEEP.file,
        SWEPT,
        judges.COMPARED.file,
        COMPARED,
        "part2_notes.md",
    ],
    tables=[judges.SWEEP, judges.COMPARED],
)

BATCH = 8  # samples
APART = 0.5  # seconds: so far is the epoch of any number of workers from that of none
ORDER = 'see "A loader with all of it" in the part 2 handout'
WRONG = 'see "What usually goes wrong" in the part 2 handout'
CLOCK = 'see "Where the clock starts" in the part 2 handout'
COLUMNS = (
    "see the columns of the table, and how they follow from each other, "
    'under "What to write" in the part 2 handout'
)
KEEPS = f"each configuration keeps the arguments of the one before; {WRONG}"


# --- the loader -------------------------------------------------------------------------------------------------------

loader = Loader(
    part,
    lambda student, data, batch, device, workers, seed: student.make_loader_optimized(
        data, batch, device, num_workers=workers, seed=seed
    ),
    see=ORDER,
    takes=["make_loader_optimized"],
    seeded=True,
)
loader.delivers()
loader.shuffles()
loader.follows_the_seed()
loader.draws_afresh()
loader.has_options("asks_for_what_helps")
loader.is_faster()


class Photographs(Samples):
    """Samples of which each picture is also work for a core: cropped, resized, flipped, normalised."""

    def picture(self, key: int) -> np.ndarray[Any, Any]:
        """Augment it by its key."""
        return augmented(np.random.default_rng(key))


loader.is_faster(
    "augmentation_is_faster",
    "slow_augmentation",
    Photographs,
    says="With augmentation that works a core, 4 workers are at least {bar} as fast as none, where they have cores.",
    why="pictures are augmented one after the other, or workers start anew",
)


# --- what is run: the measurement -------------------------------------------------------------------------------------

SCRIPT = {"workers": list_of(INTEGER), "pace": list_of(NUMBER), "start": NUMBER, "work": NUMBER}
FIGURES = ("throughput", "data_wait", "epoch_time", "samples")
COLD, FURTHER = 3.0, 0.8  # seconds; what a prefetch_factor above 2 makes of a wait


def measured(student: Any, window: Any) -> Any:
    """Measure an epoch whose step is a forward pass, and note what that was given."""
    given = list[Any]()

    def step(images: Any, labels: Any) -> None:
        given.append(labels)
        window.model(images)

    told = student.measure_loading(window.loader, step, window.device)
    told = window.returned("measure_loading", told)
    told["labels"] = [label for batch in given for label in batch.tolist()]
    return told


@part.probe(values={"devices": list_of(TEXT), "moved": INTEGER, "waited": INTEGER})
def moves(student: Any, rig: Any) -> Any:
    """To a device without memory, so that any machine can show it."""
    window, step = rig.window([BATCH] * 3), rig.loading.step([0.1])
    with rig.loading.moves() as seen:
        student.measure_loading(window.loader, step, rig.loading.device("meta"))
    return {"devices": step.devices, **seen.values()}


def _slower(
    workers: Sequence[int], pace: Sequence[float], start: float, batches: int
) -> list[float]:
    """Return by how many seconds an epoch of each number of workers is slower than one without."""
    return [
        number * start + batches * (one - pace[0])
        for number, one in zip(workers[1:], pace[1:], strict=True)
    ]


def scripted(rig: Any) -> tuple[Any, Any, dict[str, Any]]:
    """Return make_loader and step on a scripted clock, and what the script is."""
    few, some, many = (rig.integer(low, low + 2) for low in (1, 4, 7))
    workers = [0, some, few, many]  # as they are asked for, and not by their size
    pace, (start, work), batches = (
        rig.seconds(0.2, 0.9, len(workers)),
        rig.seconds(0.1, 0.4, 2),
        rig.integer(5, 7),
    )
    while not (
        max(slower := _slower(workers, pace, start, batches + 1)) >= APART <= min(map(abs, slower))
    ):
        pace = rig.seconds(0.2, 0.9, len(workers))
    make_loader = rig.loading.scripted(
        [BATCH] * batches + [3], dict(zip(workers, pace, strict=True)), start=start, cold=COLD
    )
    script = {"workers": workers, "pace": pace, "start": start, "work": work}
    return make_loader, rig.loading.step([work]), {**script, "samples": len(make_loader.dataset)}


OWN = list_of(map_of(optional(NUMBER)))


def own(
    student: Any, rig: Any, make_loader: Any, step: Any, options: Sequence[Mapping[str, Any]]
) -> list[Any]:
    """Return what the student's own measure_loading says of the second epoch of each loader; nothing if it stumbles."""
    rows = []
    with suppress(Exception):
        for named in options:
            loader = make_loader(**named)
            seen = [
                rig.returned("measure_loading", student.measure_loading(loader, step, rig.device))
                for _ in range(2)
            ]
            rows.append({name: rig.number(seen[1][name]) for name in FIGURES})
    return rows


@part.probe(pair=True, values={**SCRIPT, **DRAWN, "samples": INTEGER, "own": OWN}, arrays=PICTURE)
def sweep(student: Any, rig: Any) -> Any:
    """Each number of workers has its pace, more of them are not faster, and each worker takes its time to start."""
    make_loader, step, script = scripted(rig)
    with rig.figures() as figures:
        returned = student.sweep_workers(
            make_loader, script["workers"], step, rig.device, folder=str(rig.made_folder())
        )
    measured = own(
        student, rig, make_loader, step, [{"num_workers": number} for number in script["workers"]]
    )
    answer = written(rig, judges.SWEEP, "sweep_workers", returned, SWEPT, figures)
    return {**script, **answer, "own": measured}


DEVICE = "a made device"
MADE = list_of(map_of(INTEGER))


@part.probe(
    pair=True,
    values={**SCRIPT, **DRAWN, "samples": INTEGER, "best": INTEGER, "made": MADE, "own": OWN},
    arrays=PICTURE,
)
def comparison(student: Any, rig: Any) -> Any:
    """Workers that stay start once, and a larger prefetch_factor makes each wait shorter.

    The Baseline is not the slowest one: a speedup over the slowest is seen.
    """
    make_loader, step, script = scripted(rig)
    slower = _slower(
        script["workers"], script["pace"], script["start"], -(-script["samples"] // BATCH)
    )
    best = script["workers"][1 + slower.index(max(slower))]
    with rig.figures() as figures:
        returned = student.compare_configurations(
            make_loader, best, step, rig.device, folder=str(rig.made_folder())
        )
    made, workers = make_loader.made[:16], {"num_workers": best}
    stays = {**workers, "persistent_workers": True, "prefetch_factor": 4}
    measured = own(student, rig, make_loader, step, [{"num_workers": 0}, workers, workers, stays])
    answer = written(rig, judges.COMPARED, "compare_configurations", returned, COMPARED, figures)
    return {**script, "best": best, "made": made, "own": measured, **answer}


@part.probe(pair=True, values={"rows": list_of(map_of(CELL))})
def no_workers_are_best(student: Any, rig: Any) -> Any:
    """The comparison, where the sweep said 0; the loaders refuse what a DataLoader refuses."""
    make_loader, step, _ = scripted(rig)
    returned = student.compare_configurations(
        make_loader, 0, step, rig.device, folder=str(rig.made_folder())
    )
    return {"rows": rig.rows(returned, "compare_configurations")}


@part.probe(
    pair=True, values={"asked": list_of(list_of(map_of(CELL))), "chosen": list_of(optional(NUMBER))}
)
def choices(student: Any, rig: Any) -> Any:
    """Rows of a sweep in which throughput and what is without the wait disagree; some are equally fast."""
    asked = []
    for fastest, blind in enumerate((1, 2, 0, 1)):
        rates = sorted(rig.seconds(20, 90, 4))
        rates[-2] = 0.997 * rates[-1]  # near is not equal
        rates[:-1] = rig.random.permutation(rates[:-1]).tolist()
        rates.insert(fastest, rates.pop())
        rates += [max(rates)] * (fastest % 2)  # a tie: with more workers, and no faster
        rows = [
            {
                "num_workers": (at > 0) * (8 + 2 * at),
                "throughput": rate,
                "without_wait": 195.0 if at == blind else 190.0 - at,
            }
            for at, rate in enumerate(rates)
        ]
        for row in rows:
            seconds, work = 1000 / row["throughput"], 1000 / row["without_wait"]
            row |= {"epoch_time": seconds, "data_wait": seconds - work, "device": DEVICE}
        drawn = rig.random.permutation(len(rows))
        asked.append(
            [rows[at] for at in (sorted(drawn)[::-1] if fastest == 1 else drawn)]
        )  # the tie: the most first
    return {
        "asked": asked,
        "chosen": [rig.number(student.best_workers([dict(row) for row in rows])) for rows in asked],
    }


# --- what is judged: the measurement ----------------------------------------------------------------------------------


TrainingLoop(part, "measure_loading", measured).keeps_an_honest_clock(
    says="measure_loading counts whole iterations, waiting for data included; data_wait is that waiting.",
    figures=("epoch_time", "samples"),
    handed_on="labels",
    start=timing.START,
    see=CLOCK,
)


@part.check(basis="report")
def moves_without_waiting(moves: Observation) -> Verdict:
    """Batches are moved to the device with non_blocking=True."""
    devices, waited = moves.values["devices"], moves.values["waited"]
    try_ = ".to(device, non_blocking=True), of images and labels"
    if not devices or set(devices) != {"meta"}:
        where = ", ".join(sorted(set(devices))) or "nowhere"
        return Failed(
            f"step got tensors on: {where}", "batches were not moved to the device asked for", try_
        )
    return loaders.copied(moves.values["moved"], waited)


def _script(known: Mapping[str, Any]) -> judges.Script:
    pace = dict(zip(known["workers"], known["pace"], strict=True))
    batches = -(-known["samples"] // BATCH)
    return judges.Script(
        known["samples"],
        batches,
        pace,
        known["start"],
        COLD,
        known["work"],
        FURTHER,
        known["rows"][0]["device"],
    )


def _swept(sweep: Pair) -> tuple[str, str] | None:
    seen, script = sweep.student.values, _script(sweep.baseline.values)
    rows, own = seen["rows"], seen["own"]
    settings = [judges.Setting(int(row["num_workers"])) for row in rows]
    if judges.as_measured(rows, own):
        why = judges.without_problem(rows, own) or table.other_device(rows, script.device)
        return (why, COLUMNS) if why else None
    if why := judges.figures_problem(judges.SWEEP, rows, settings, script):
        return why, f"measure_loading twice for each loader; {CLOCK}"
    why = judges.SWEEP.problem(rows) or judges.sweep_problem(rows)
    return (why, COLUMNS) if why else None


sweeping = Study(
    part, judges.SWEEP, "sweep_workers", by=sweep, expected=lambda known: known["workers"]
)
sweeping.is_measured(
    "sweep_is_honest",
    _swept,
    says="sweep_workers measures the second epoch of a loader for each number of workers, whole iterations.",
    try_=COLUMNS,
    shows=["throughput"],
    loose=True,
)


@part.check(basis="outputs")
def best_is_the_fastest(choices: Pair) -> Verdict:
    """best_workers returns the number of workers with the highest throughput; of equal ones, the fewest."""
    asked, chosen = choices.baseline.values["asked"], choices.student.values["chosen"]
    places = [[row["num_workers"] for row in rows].index(judges.fastest(rows)) for rows in asked]
    if chosen == places:
        why = "that is the place of the row in the list"
        return Failed(f"{shown(chosen[0])} for the first sweep", why, BEST)

    def problem(answer: float | None, rows: Sequence[Mapping[str, float]]) -> tuple[str, str]:
        right = judges.fastest(rows)
        rates = ", ".join(f"{row['num_workers']:g}: {row['throughput']:.4g}" for row in rows)
        measured = f"{shown(answer)} instead of {right} of {rates} samples/s"
        return measured, "" if answer == right else _not_best(rows, answer)

    return each(chosen, asked, problem, BEST, f"{len(asked)} sweeps")


BEST = "find the row with the highest throughput, of equal ones that with the fewest workers; return its num_workers"


def _not_best(rows: Sequence[Mapping[str, float]], told: float | None) -> str:
    if told is None:
        return "that is no number: it has to be the num_workers of a row"
    if told not in [row["num_workers"] for row in rows]:
        return f"{told:g} is not the num_workers of any row: is it the place of the row, or its throughput?"
    top = max(row["throughput"] for row in rows)
    if any(row["throughput"] == top for row in rows if row["num_workers"] == told):
        return "that is as fast, with more workers than another"
    blind = max(rows, key=lambda row: row["without_wait"])["num_workers"]
    return (
        "that is the best without the wait for data"
        if told == blind
        else "another row has a higher throughput"
    )


def _compared(comparison: Pair, device: Device) -> str | tuple[str, str]:
    seen, known = comparison.student.values, comparison.baseline.values
    rows, script, best, form = seen["rows"], _script(known), known["best"], judges.COMPARED
    if why := judges.workers_problem(rows, best):
        return why, KEEPS
    if judges.as_measured(rows, seen["own"]):
        why = form.ratio_problem(rows) or table.other_device(rows, script.device)
    else:
        settings = judges.settings(best)
        if why := judges.figures_problem(form, rows, settings, script):
            return why, KEEPS
        why = form.problem(rows) or judges.compared_problem(rows)
    if why:
        return why
    why = judges.made_problem(seen["made"], pins=2 * (device.kind == "cuda"))
    return why and (why, f"make_loader(**options), one for each row; {WRONG}")


comparing = Study(part, judges.COMPARED, "compare_configurations", by=comparison)
comparing.is_measured(
    "compares_four",
    _compared,
    says="compare_configurations measures the second epoch of four loaders, each with one argument more.",
    try_=COLUMNS,
    shows=["throughput"],
    reads=["device"],
    loose=True,
)


@part.check(basis="scripted")
def survives_a_best_of_zero(no_workers_are_best: Pair) -> Verdict:
    """The comparison goes through as well where 0 workers were the fastest."""
    rows = no_workers_are_best.student.values["rows"]
    found = ", ".join(
        f"{shown(row.get('configuration'))}: {shown(row.get('num_workers'))}" for row in rows[:6]
    )
    wanted = [(name, 0) for name in judges.COMPARED.rows or ()]
    if [(row.get("configuration"), row.get("num_workers")) for row in rows] == wanted:
        return Passed(f"{len(rows)} rows, each with 0 workers")
    return Failed(
        found or "no rows", "four rows are expected, each with 0 workers", f"best may be 0; {WRONG}"
    )


@part.check(basis="scripted")
def csv_says_what_was_measured(sweep: Pair, comparison: Pair) -> Verdict:
    """worker_sweep.csv and dataloader_results.csv hold the rows that are returned."""
    for seen, form in ((sweep, judges.SWEEP), (comparison, judges.COMPARED)):
        values = seen.student.values
        found = table.holds_the_rows(values["csv"], form.file, values["rows"])
        if isinstance(found, Failed):
            break
    return found


UNITS = {"throughput": r"/|per|s⁻¹|\^\{?-1"}  # a panel's label must match
SECONDS = r"\(s\)|\bs\b|[Ss]econds?|\bsec\b"


@part.check(basis="scripted")
def figures_show_the_rows(sweep: Pair, comparison: Pair) -> Verdict:
    """Both figures are written, and show the rows that are returned, with units."""
    try_ = "one panel for each quantity with all its rows, and set_ylabel with the unit"
    units = {**UNITS, "epoch_time": SECONDS}
    found = plot.shows_the_rows(sweep.student, SWEPT, units, "num_workers", try_, apart="panels")
    if not isinstance(found, Passed):
        return found
    units = {**UNITS, "speedup": r"\bx\b|\xd7|[Ss]peed-?up|times"}
    return plot.shows_the_rows(
        comparison.student, COMPARED, units, "configuration", try_, apart="bars"
    )


# --- what is judged: the files that are handed in ---------------------------------------------------------------------


@part.check(basis="artefact")
def csv_is_consistent(worker_sweep: Table, dataloader_results: Table) -> Verdict:
    """Both tables handed in hold numbers that fit each other, and the comparison has the best workers of the sweep."""
    swept, compared = judges.SWEEP.read(worker_sweep), judges.COMPARED.read(dataloader_results)
    measured, try_ = (
        f"{len(swept)} and {len(compared)} rows",
        "run part2_dataloader.py again; hand in what it writes",
    )
    form = judges.SWEEP.problem(swept) or judges.numbers_problem(swept)
    for file, why in (
        (worker_sweep.file, form or judges.sweep_problem(swept)),
        (
            dataloader_results.file,
            judges.COMPARED.problem(compared) or judges.compared_problem(compared),
        ),
    ):
        if why:
            return Failed(measured, f"{file}: {why}", try_)
    every = [*swept, *compared]
    if why := table.device_problem(every) or samples_problem(every, judges.SAME):
        return Failed(measured, f"the two tables are not of one run: {why}", try_)
    best, used = judges.fastest(swept), compared[1]["num_workers"]
    if used != best:
        return Failed(
            measured,
            f"{best} workers are the fastest of the sweep, and {used:g} were compared",
            try_,
        )
    return Passed(measured)


@part.check(basis="artefact")
def plots_are_pictures(
    num_workers_comparison: Picture, dataloader_optimization: Picture
) -> Verdict:
    """Both figures handed in are pictures with something on them."""
    try_ = "hand in the files that part2_dataloader.py wrote"
    if num_workers_comparison.crc == dataloader_optimization.crc:
        return Failed(
            f"{num_workers_comparison.file}, {dataloader_optimization.file}",
            "they are one picture",
            try_,
        )
    found = plot.is_drawn(num_workers_comparison, try_=try_)
    return plot.is_drawn(dataloader_optimization, try_=try_) if isinstance(found, Passed) else found
