"""A sweep over numbers of workers, and four configurations of one loader, on a scripted clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any

from autograder.checks import plot, table
from autograder.checks.answer_lists import each
from autograder.checks.hints import hint_for
from autograder.checks.numerics import shown
from autograder.checks.table_form import Row, samples_problem
from autograder.claims.studies import DRAWN, MISSHAPEN, PICTURE, Study, changed, drawn
from autograder.lab import (
    CELL,
    INTEGER,
    NUMBER,
    Answer,
    Device,
    Failed,
    Pair,
    Passed,
    Picture,
    Student,
    Table,
    Verdict,
    list_of,
    map_of,
    optional,
)
from autograder.labs.resnet18.part2_dataloader import judges
from autograder.labs.resnet18.part2_dataloader.part import (
    BATCH,
    COMPARED,
    SWEPT,
    Rig,
    part,
)

EACH = (
    "your code does not make and measure a loader of its own for each row",
    "make_loader(**options) in every row, also for the options of the row before",
)
PINS = (
    "pin_memory must follow the device",
    'pin_memory=device.type == "cuda" in the last two rows',
)
NO_RATIO = "speedup does not follow from the throughputs of the rows"
UNSUBTRACTED = "usually data_wait is not subtracted from epoch_time"
WITHOUT = "without_wait = samples / (epoch_time - data_wait)"
COLUMNS = "fix honest_throughput first; then follow the handout's table of columns"
TAKEN = {
    "pass num_workers on": "make_loader(num_workers=number) for each number",
    "passed on": "persistent_workers=True and prefetch_factor=4 for make_loader in the last row",
}
"""What to try, by words of what is wrong with the figures of a row."""
UNFIT = "this figure does not follow from the others of its row as the table of columns says"
KEEPS = "for each row: a new loader, measure_loading twice, the second result unchanged in the row"
SETS = "num_workers=0 in the first row, num_workers=best in the others"

SCRIPT = {
    "samples": INTEGER,
    "batches": INTEGER,
    "workers": list_of(INTEGER),
    "pace": list_of(NUMBER),
    "start": NUMBER,
    "work": NUMBER,
    "late": INTEGER,
}
FIGURES = ("throughput", "data_wait", "epoch_time", "samples")


def scripted(rig: Rig, *, late: bool = False) -> tuple[Any, Any, judges.Script]:
    """Return make_loader and step on a scripted clock, and what the script is; one second epoch may be *late*."""
    few, some, many = (rig.integer(low, low + 2) for low in (1, 4, 7))
    workers = [0, some, few, many]  # as they are asked for, and not by their size
    slow = some if late else -1
    start, work = rig.seconds(0.1, 0.4, 2)
    sizes = [BATCH] * rig.integer(5, 7) + [3]
    while True:
        pace = rig.seconds(0.2, 0.9, len(workers))
        script = judges.Script(sum(sizes), len(sizes), workers, pace, start, work, slow)
        if script.tells_apart():
            break
    paces = dict(zip(workers, pace, strict=True))
    make_loader = rig.loading.scripted(sizes, paces, start=start, cold=judges.COLD, late=slow)
    return make_loader, rig.loading.step([work]), script


OWN = list_of(map_of(optional(NUMBER)))


def own(
    student: Student, rig: Rig, make_loader: Any, step: Any, options: Sequence[Mapping[str, Any]]
) -> list[Any]:
    """Return what the student's own measure_loading says of the second epoch of each loader; nothing if it stumbles."""
    rows = []
    with suppress(Exception):
        for named in options:
            loader = make_loader(**named)
            _, figures = (student.measure_loading(loader, step, rig.device) for _ in range(2))
            returned = rig.returned("measure_loading", figures)
            rows.append({name: rig.number(returned[name]) for name in FIGURES})
    return rows


@part.probe(pair=True, values={**SCRIPT, **DRAWN, "own": OWN}, arrays=PICTURE)
def sweep(student: Student, rig: Rig) -> Answer:
    """Each number of workers has its pace, more of them are not faster, and each worker takes its time to start.

    One of them is slower in the second epoch: the better of two epochs is seen.
    """
    make_loader, step, script = scripted(rig, late=True)
    arguments = make_loader, script.workers, step, rig.device
    answer = drawn(rig, judges.SWEEP, SWEPT, student.sweep_workers, *arguments)
    options = [{"num_workers": number} for number in script.workers]
    measured = own(student, rig, make_loader, step, options)
    return {**asdict(script), **answer, "own": measured}


@part.probe(
    pair=True,
    values={**SCRIPT, **DRAWN, "best": INTEGER, "made": list_of(map_of(INTEGER)), "own": OWN},
    arrays=PICTURE,
)
def comparison(student: Student, rig: Rig) -> Answer:
    """Workers that stay start once, and a larger prefetch_factor makes each wait shorter.

    The Baseline is not the slowest one: a speedup over the slowest is seen.
    """
    make_loader, step, script = scripted(rig)
    slower = script.slower()
    best = script.workers[1 + slower.index(max(slower))]
    arguments = make_loader, best, step, rig.device
    answer = drawn(rig, judges.COMPARED, COMPARED, student.compare_configurations, *arguments)
    made = make_loader.made[:16]
    first = {"num_workers": best}
    stays = {**first, "persistent_workers": True, "prefetch_factor": 4}
    measured = own(student, rig, make_loader, step, [{"num_workers": 0}, first, first, stays])
    return {**asdict(script), "best": best, "made": made, "own": measured, **answer}


REFUSES = (
    "pass no persistent_workers and prefetch_factor if best is 0: "
    "a DataLoader without workers refuses them"
)


@part.probe(pair=True, values={"rows": list_of(map_of(CELL))}, hints={"raised": REFUSES})
def no_workers_are_best(student: Student, rig: Rig) -> Answer:
    """The comparison, where the sweep said 0; the loaders refuse what a DataLoader refuses."""
    make_loader, step, _ = scripted(rig)
    returned = student.compare_configurations(
        make_loader, 0, step, rig.device, folder=str(rig.made_folder())
    )
    return {"rows": rig.rows(returned, "compare_configurations")}


@part.probe(
    pair=True, values={"asked": list_of(list_of(map_of(CELL))), "chosen": list_of(optional(NUMBER))}
)
def choices(student: Student, rig: Rig) -> Answer:
    """Rows of a sweep in which throughput and what is without the wait disagree; some are equally fast."""
    asked = []
    for fastest, blind in enumerate((1, 2, 0, 1)):
        rates = sorted(rig.seconds(20, 90, 4))
        rates[-2] = 0.997 * rates[-1]  # near is not equal
        best, near = rates.pop(), rates[-1]
        while rates[blind - (blind > fastest)] == near:  # who is blind to the wait is far off
            rates = rig.random.permutation(rates).tolist()
        rates.insert(fastest, best)
        rates += [max(rates)] * (fastest % 2)  # a tie: with more workers, and no faster
        rows: list[dict[str, Any]] = [
            {
                "num_workers": (at > 0) * (8 + 2 * at),
                "throughput": rate,
                "without_wait": 195.0 if at == blind else 190.0 - at,
            }
            for at, rate in enumerate(rates)
        ]
        for row in rows:
            seconds, work = 1000 / row["throughput"], 1000 / row["without_wait"]
            wait = seconds - work
            row |= {"epoch_time": seconds, "data_wait": wait, "device": "a made device"}
        order = rig.random.permutation(len(rows)).tolist()
        if fastest == 1:  # the tie: the most first
            order.sort(reverse=True)
        asked.append([rows[at] for at in order])
    chosen = [student.best_workers([dict(row) for row in rows]) for rows in asked]
    return {"asked": asked, "chosen": [rig.number(choice) for choice in chosen]}


def _script(probe: Pair) -> judges.Script:
    return judges.Script(**{name: probe.baseline.values[name] for name in SCRIPT})


def _device_problem(probe: Pair) -> str:
    rows, right = (side.values["rows"] for side in (probe.student, probe.baseline))
    return table.other_device(rows, right[0]["device"])


def _swept(sweep: Pair) -> str | tuple[str, ...]:
    rows, own = sweep.student.values["rows"], sweep.student.values["own"]
    if judges.as_measured(rows, own):
        measured = zip(rows, own, strict=True)
        problems = (judges.without_problem(row, it.get("samples") or 0.0) for row, it in measured)
        if odd := next(filter(None, problems), ""):
            return UNSUBTRACTED, WITHOUT, odd
    else:
        settings = [judges.Setting(int(row["num_workers"])) for row in rows]
        if why := judges.figures_problem(judges.SWEEP, rows, settings, _script(sweep)):
            return why, hint_for(why, TAKEN) or KEEPS
        odd = judges.SWEEP.problem(rows) or judges.sweep_problem(rows)
    return (UNFIT, COLUMNS, odd) if odd else _device_problem(sweep)


sweeping = Study(
    part, judges.SWEEP, "sweep_workers", by=sweep, expected=lambda script: script["workers"]
)
sweeping.is_measured(
    "sweep_is_honest",
    _swept,
    says=(
        "sweep_workers measures the second epoch of a "
        "loader for each number of workers, waiting for data included."
    ),
    try_=COLUMNS,
    shows=["throughput"],
    loose=True,
)


@part.check(basis="outputs")
def best_is_the_fastest(choices: Pair) -> Verdict:
    """best_workers returns the number of workers with the highest throughput, the fewest if several are equal."""
    asked, chosen = choices.baseline.values["asked"], choices.student.values["chosen"]
    numbers = [[row["num_workers"] for row in rows] for rows in asked]
    places = [it.index(judges.fastest(rows)) for it, rows in zip(numbers, asked, strict=True)]
    verdict = each(chosen, asked, _choice_problem, BEST, f"{len(asked)} sweeps")
    largest = chosen == [max(it) for it in numbers]
    if not isinstance(verdict, Failed) or not (largest or chosen == places):
        return verdict
    slip = "largest num_workers" if largest else "index of the row, not its num_workers"
    return replace(verdict, why=f"your code returns the {slip}")


BEST = (
    "find the row with the highest throughput, "
    "if several are equal the one with the fewest workers, and return its num_workers"
)


NEARLY = 0.98  # of the highest throughput


def _choice_problem(choice: float | None, rows: Sequence[Row]) -> tuple[str, str]:
    right = judges.fastest(rows)
    rates = ", ".join(
        f"{row['throughput']:.4g} with {row['num_workers']:g} workers" for row in rows
    )
    measured = f"returned {shown(choice)}, expected {right} (samples/s: {rates})"
    return measured, "" if choice == right else _not_best(rows, choice)


def _not_best(rows: Sequence[Row], choice: float | None) -> str:
    row = next((row for row in rows if row["num_workers"] == choice), None)
    if row is None:
        return "best_workers must return the num_workers of a row"
    highest = max(row["throughput"] for row in rows)
    if row["throughput"] == highest:
        return "a row with fewer workers is equally fast"
    if row["throughput"] > NEARLY * highest:
        return "that row is slower, if only by a little"
    if row["without_wait"] == max(row["without_wait"] for row in rows):
        return "that row is the best by without_wait, which ignores the wait for data"
    return "a different row has a higher throughput"


def _compared(comparison: Pair, device: Device) -> str | tuple[str, ...]:
    observed, form = comparison.student.values, judges.COMPARED
    rows, best = observed["rows"], comparison.baseline.values["best"]
    if why := judges.workers_problem(rows, best):
        return MISSHAPEN, SETS, why
    if not judges.as_measured(rows, observed["own"]):
        settings = judges.settings(best)
        if why := judges.figures_problem(form, rows, settings, _script(comparison)):
            return why, hint_for(why, TAKEN) or KEEPS
        if why := form.problem(rows) or samples_problem(rows, judges.SAME):
            return MISSHAPEN, COLUMNS, why
    if why := form.ratio_problem(rows):
        return NO_RATIO, "divide each row's throughput by the first row's", why
    if why := _device_problem(comparison):
        return why
    why = judges.made_problem(observed["made"], pins=2 if device.kind == "cuda" else 0)
    return (*(PINS if "pin" in why else EACH), why) if why else ""


comparing = Study(part, judges.COMPARED, "compare_configurations", by=comparison)
comparing.is_measured(
    "compares_four",
    _compared,
    says=(
        "compare_configurations measures the second epoch of four loaders, "
        "made with the options of the four configurations."
    ),
    try_=COLUMNS,
    shows=["throughput"],
    reads=["device"],
    loose=True,
)


@part.check(basis="scripted")
def survives_a_best_of_zero(no_workers_are_best: Pair) -> Verdict:
    """compare_configurations also works if 0 workers were the fastest."""
    rows = no_workers_are_best.student.values["rows"]
    pairs = [(row.get("configuration"), row.get("num_workers")) for row in rows]
    if pairs == [(name, 0) for name in judges.COMPARED.rows or ()]:
        return Passed(f"{len(rows)} rows, each with 0 workers")
    measured = ", ".join(f"{shown(name)}: {shown(workers)}" for name, workers in pairs[:6])
    why = "compare_configurations must return its four rows, each with 0 workers"
    return Failed(measured or "no rows", why, SETS)


@part.check(basis="scripted")
def csv_says_what_was_measured(sweep: Pair, comparison: Pair) -> Verdict:
    """worker_sweep.csv and dataloader_results.csv hold the returned rows."""
    for probe, form in ((sweep, judges.SWEEP), (comparison, judges.COMPARED)):
        values = probe.student.values
        verdict = table.holds_the_rows(values["csv"], form.file, values["rows"])
        if isinstance(verdict, Failed):
            break
    return verdict


@part.check(basis="scripted")
def figures_show_the_rows(sweep: Pair, comparison: Pair) -> Verdict:
    """Both figures are written, and show the returned rows, with units."""
    try_ = "one panel for each quantity with all its rows, and set_ylabel with the unit"
    units = {"throughput": plot.RATE, "epoch_time": plot.SECONDS}
    verdict = plot.shows_the_rows(sweep.student, SWEPT, units, "num_workers", try_, apart="panels")
    if not isinstance(verdict, Passed):
        return verdict
    units = {"throughput": plot.RATE, "speedup": plot.RATIO}
    return plot.shows_the_rows(
        comparison.student, COMPARED, units, "configuration", try_, apart="bars"
    )


@part.check(basis="artefact")
def csv_is_consistent(worker_sweep: Table, dataloader_results: Table) -> Verdict:
    """Both submitted tables hold consistent numbers, and the comparison uses the best workers of the sweep."""
    swept, compared = judges.SWEEP.read(worker_sweep), judges.COMPARED.read(dataloader_results)
    why = _problem(worker_sweep.file, swept, dataloader_results.file, compared)
    try_ = "fix sweep_is_honest and compares_four first if one fails; then submit both tables "
    try_ += "that one run of part2_dataloader.py writes"
    if why:
        return changed(why, try_)
    return Passed(f"{len(swept)} and {len(compared)} rows")


def _problem(sweep: str, swept: Sequence[Row], comparison: str, compared: Sequence[Row]) -> str:
    """Say how two tables, each in its file, contradict themselves or each other."""
    why = judges.SWEEP.problem(swept) or judges.numbers_problem(swept)
    if why := why or judges.sweep_problem(swept):
        return f"{sweep}: {why}"
    if why := judges.COMPARED.problem(compared) or judges.workers_problem(compared):
        return f"{comparison}: {why}"
    every = [*swept, *compared]
    if why := table.device_problem(every) or samples_problem(every, judges.SAME):
        return f"the two tables are not of one run: {why}"
    best, used = judges.fastest(swept), compared[1]["num_workers"]
    if used == best:
        return ""
    return f"{best} workers are the fastest of the sweep, but {used:g} were compared"


@part.check(basis="artefact")
def plots_are_pictures(
    num_workers_comparison: Picture, dataloader_optimization: Picture
) -> Verdict:
    """Both submitted figures are pictures with something on them."""
    try_ = "call savefig before show, clf and close, then submit what part2_dataloader.py writes"
    if num_workers_comparison.crc == dataloader_optimization.crc:
        files = f"{num_workers_comparison.file}, {dataloader_optimization.file}"
        return Failed(files, "both files hold the same picture", try_)
    verdict = plot.is_drawn(num_workers_comparison, try_=try_)
    if isinstance(verdict, Passed):
        verdict = plot.is_drawn(dataloader_optimization, try_=try_)
    return verdict
