"""Part 6: all of it together. Seven points of a checklist at work, five versions of equal work, a true reflection."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from autograder.checks import loaders, plot, speedup, table, timing
from autograder.checks import trace as profile
from autograder.checks.numerics import shown
from autograder.claims.graphs import Compiled
from autograder.claims.precision import HalfPrecision
from autograder.claims.studies import WRITTEN, Study, written
from autograder.lab import (
    BOOLEAN,
    CELL,
    INTEGER,
    NUMBER,
    PANELS,
    TEXT,
    Bar,
    Device,
    Failed,
    Observation,
    Pair,
    Part,
    Passed,
    Table,
    Text,
    Timed,
    Unavailable,
    Verdict,
    list_of,
    map_of,
    optional,
    record,
)
from autograder.labs.gpu_profiling.part6_final import judges
from autograder.labs.gpu_profiling.part6_final import versions as configurations
from autograder.protocol.digest import Epoch, differing
from autograder.traces import Trace

POINTS = 'see "Seven points" in the part 6 handout'
SAME_WORK = 'see "The same work" in the part 6 handout'
TABLE = 'see "The table" in the part 6 handout'
BEFORE_AFTER = 'see "Before and after" in the part 6 handout'
PROGRAM = "training_final_optimized.py"
NAMES = configurations.VERSIONS.rows or ()
TABLES = ("final_results.csv", "final_comparison.png")
STATS = ("stats_before.txt", "stats_after.txt")
part = Part(
    "part6_final",
    writes=["run_version", "busy_percent", "compare_versions", "draw_comparison", "read_stats"],
    hands_in=[PROGRAM, *TABLES, "final_profile.gz", *STATS, "reflection.md"],
    tables=[configurations.VERSIONS],
    made_by=dict.fromkeys(STATS, BEFORE_AFTER),
)


def program(student: Any) -> Any:
    """Return what the program that was handed in defines; nothing of it runs."""
    path = Path(str(student.__file__)).parent / PROGRAM
    if not path.is_file():
        raise FileNotFoundError(f"{PROGRAM} was not handed in")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for what a name means
    spec.loader.exec_module(module)
    return module


# --- what is run: the seven points ------------------------------------------------------------------------------------

LOADED = {
    f"{e}_{n}": (t, 1)
    for e in ("first", "second")
    for n, t in (("commitments", "uint8"), ("sizes", "int64"))
}
OPTIONS = record(num_workers=INTEGER, pin_memory=BOOLEAN, persistent_workers=BOOLEAN)
SEARCH = record(step=INTEGER, limit=INTEGER, found=optional(NUMBER))
TRAINED = {"start": ("float32", 1), "losses": ("float64", 1), "weights": ("float32", 1)}
WAITED = list_of(record(line=INTEGER, call=TEXT, batches=list_of(INTEGER)))
BATCH = 8  # samples
GROUP = 3  # batches of a step
SEARCHED = ((256, 256, 900), (96, 12, 90), (32, 1, 1), (28, 3, 6))
"""Steps, and between which sizes the limit of memory lies: all fit, a part, one sample, no half."""


@part.probe(pair=True, arrays=LOADED)
def epochs(student: Any, rig: Any) -> Any:
    """Two epochs of a loader with two processes; the last batch is shorter."""
    data = rig.loading.pictures(BATCH * 5 + rig.integer(1, BATCH - 1))
    loader = program(student).make_loader(data, BATCH, 2, rig.device)
    return {
        f"{epoch}_{name}": array
        for epoch in ("first", "second")
        for name, array in rig.loading.epoch(loader).items()
    }


@part.probe(
    values={"made": list_of(record(device=TEXT, workers=INTEGER, options=optional(OPTIONS)))}
)
def arguments(student: Any, rig: Any) -> Any:
    """Loaders for each kind of device; none of them is used."""
    made, code = [], program(student)
    for device, workers in product(("cpu", "cuda"), (0, rig.integer(4, 8))):
        with rig.loading.built() as built:
            data = rig.loading.pictures(BATCH)
            code.make_loader(data, BATCH, workers, rig.loading.device(device))
        made.append({"device": device, "workers": workers, "options": built.last()})
    return {"made": made}


class Samples:
    """A number and a label of each key that a store hands out, some milliseconds after it was asked."""

    def __init__(self, store: Sequence[int]) -> None:
        self._store = store

    def __len__(self) -> int:
        return len(self._store)

    def __getitem__(self, index: int) -> tuple[float, int]:
        key = self._store[index]
        return float(key % 100_003), key % 10


@part.timed("load", dataset=Samples)
def slow_reads(student: Any, dataset: Any, device: Any) -> Any:
    """Batches of 4 and 4 workers: an epoch of 32 reads, of which none waits for a core."""
    return program(student).make_loader(dataset, 4, 4, device)


@part.probe(values={"searches": list_of(SEARCH), "other": TEXT, "tries": INTEGER})
def searches(student: Any, rig: Any) -> Any:
    """Limits of memory, and an attempt that is wrong at every size."""
    look, noted = program(student).largest_batch, []
    for step, low, high in (*SEARCHED, (8 * rig.integer(3, 9), 9, 20)):
        limit = rig.integer(low, high)
        largest = rig.number(rig.sizes.found(look, limit, step))
        noted.append({"step": step, "limit": limit, "found": largest})
    broken, other = rig.sizes.attempt(64, broken=True), ""
    try:
        look(broken, 64)
    except Exception as error:
        other = type(error).__name__[:60]
    return {"searches": noted, "other": other, "tries": len(broken.asked)}


def train(student: Any, window: Any, *more: Any) -> Any:
    """Train an epoch by the program's loop: amp, accumulate and on_step may follow."""
    arguments = (
        window.model,
        window.loader,
        window.criterion,
        window.optimizer,
        window.scaler,
        window.device,
    )
    return window.returned("train_epoch", program(student).train_epoch(*arguments, *more))


@part.probe(pair=True, values={"called": INTEGER}, arrays=TRAINED)
def grouped(student: Any, rig: Any) -> Any:
    """Groups of small batches, and on the baseline's side large ones; samples are kept apart."""
    group = GROUP if rig.side == "student" else 1
    net, options = rig.matched.simple_net(), {"momentum": 0.9, "enlarged": 2, "lr": 0.05}
    window = rig.window([GROUP * BATCH // group] * (4 * group), model=net, **options)
    window.criterion.label_smoothing = 0.1  # so that another criterion shows
    start, called = window.weights(), list[int]()
    losses = train(student, window, False, group, lambda: called.append(1))["losses"]
    noted = {"losses": rig.series(losses, "losses"), "weights": window.weights()}
    return {"start": start, "called": len(called) * GROUP // group, **noted}


MANY = [4] * 24  # so many batches that a wait in every tenth differs from one in every fifth


@part.probe(
    values={
        "waits": WAITED,
        "queued": NUMBER,
        "seconds": optional(NUMBER),
        **dict.fromkeys(("kept", "images", "labels", "waited", "batches"), INTEGER),
    }
)
def loop(student: Any, rig: Any) -> Any:
    """Waits for the device, copies to it, and the clock of an epoch whose work a GPU ends later."""
    watched, moved = rig.window(MANY), rig.window(MANY)
    graphs, waits = rig.graphs(watched), rig.waits(watched, program(student))
    with waits:
        train(student, watched)
    with rig.loading.moves(moved.loader) as moves:
        train(student, moved)

    def epoch(device: Any) -> Any:
        window, left = rig.window(), 0.25 * (device.type != "cpu")  # a CPU leaves nothing
        rig.clock.freeze()
        scaler = type(window.scaler)("cpu", enabled=False)  # an enabled one waits at each step
        window = replace(window, device=device, scaler=scaler)
        with rig.queue(window, left):
            return len(window.loader) * left, train(student, window)["seconds"]

    queued, seconds = rig.on_a_gpu(epoch)
    return {
        "waits": waits.values(),
        "kept": graphs.kept,
        "batches": len(moved.loader),
        "seconds": rig.number(seconds),
        "queued": queued,
        "images": moves.by_dimensions[4],
        "labels": moves.by_dimensions[1],
        "waited": moves.waited,
    }


# --- what is run: the program as a whole ------------------------------------------------------------------------------

EPOCHS = 3
SCRIPT = record(
    samples=INTEGER, batches=INTEGER, wait=NUMBER, work=NUMBER, plain=NUMBER, once=NUMBER
)
WHOLE = {
    "told": map_of(optional(NUMBER)),
    "device": TEXT,
    "script": SCRIPT,
    "size": INTEGER,
    "after": TEXT,
    "recorded": INTEGER,
}


@part.probe(pair=True, values=WHOLE, arrays={"losses": ("float64", 1)})
def whole(student: Any, rig: Any) -> Any:
    """Memory for a quarter of a step, which the program has to find out; whoever doubles a batch finds it as well."""
    size, code = 2 ** rig.integer(1, 3), rig.program(student, PROGRAM)
    options = ["--batch-size", 0, "--profile", rig.folder / "profile.json"]
    return rig.matched.run(code, 4 * size, size, EPOCHS, options, rig.integer(size, 2 * size - 1))


@part.probe(
    pair=True,
    values={**WHOLE, "half": INTEGER, "runs": INTEGER, "found": optional(NUMBER)},
    arrays={"losses": ("float64", 1)},
)
def together(student: Any, rig: Any) -> Any:
    """Mixed precision, one graph, and two batches of a step at once; then once more, where no more than that fits.

    A step that is not compiled has room for all of it, one in full precision for less: an attempt is as the training.
    """
    size, code, (work,) = (
        2 ** rig.integer(2, 3),
        rig.program(student, PROGRAM),
        rig.seconds(0.4, 0.9, 1),
    )
    compiler = rig.compiler(None, {"forward": 25.0, "backward": 20.0}, step=work)
    options = ["--batch-size", size, "--amp", "--compile", "--backend", rig.backend(compiler)]
    seen, built = (
        rig.matched.run(code, 2 * size, size, EPOCHS, options, 2 * size),
        compiler.values(),
    )
    seen["script"] |= {"work": work, "once": 45.0}
    compiler.room = rig.integer(size, 2 * size - 1)
    again = rig.matched.run(code, 2 * size, size, 1, ["--batch-size", 0, *options[2:]], 2 * size)
    seen["found"] = again["told"]["batch_size"]
    return {
        **seen,
        "half": sum(one["half"] for one in built["built"]),
        "runs": sum(built["runs"].values()),
    }


# --- what is run: the comparison --------------------------------------------------------------------------------------

ROWS = list_of(map_of(CELL))


PICTURE = TABLES[1]
COMPARED = {
    **WRITTEN,
    "runs": ROWS,
    "busy": list_of(optional(NUMBER)),
    "raised": TEXT,
    "drawn": BOOLEAN,
}


@part.probe(pair=True, values=COMPARED)
def comparison(student: Any, rig: Any) -> Any:
    """A made program instead of trainings: it notices what reaches it from an earlier run; at last it fails.

    Shares are those of the own busy_percent, which is judged by itself.
    """
    asked, runs = rig.matched.versions(NAMES[: rig.integer(4, 5)])
    folder = rig.made_folder()
    returned = student.compare_versions(asked, folder=str(folder))
    drawn = (folder / PICTURE).is_file()
    if not drawn:  # a drawing that writes nothing is judged by itself
        student.draw_comparison([dict(row) for row in runs], str(folder))
        drawn = not (folder / PICTURE).is_file()
    answer = written(rig, configurations.VERSIONS, "compare_versions", returned)
    raised = rig.matched.hopeless(student.run_version, asked[0]["command"][0])
    busy = [rig.number(student.busy_percent(one["profile"])) for one in asked]
    return {**answer, "runs": runs, "busy": busy, "raised": raised, "drawn": drawn}


@part.probe(pair=True, values={"told": list_of(optional(NUMBER)), "known": list_of(NUMBER)})
def shares(student: Any, rig: Any) -> Any:
    """Made profiles, with a GPU and without."""
    made = [rig.matched.profile(number) for number in range(4)]
    return {
        "told": [rig.number(student.busy_percent(file)) for file, _ in made],
        "known": [share for _, share in made],
    }


@part.probe(values={"rows": ROWS, "panels": PANELS}, arrays={"picture": ("uint8", 1)})
def drawing(student: Any, rig: Any) -> Any:
    rows, file = rig.matched.rows(NAMES[:4]), rig.made_folder() / PICTURE
    with rig.figures() as figures:
        student.draw_comparison([dict(row) for row in rows], str(file.parent))
    return {
        "rows": rows,
        "panels": figures.panels(file.name),
        "picture": rig.file_bytes(file, plot.BYTES + 1),
    }


@part.probe(
    pair=True, values={"told": list_of(map_of(optional(NUMBER))), "known": list_of(map_of(NUMBER))}
)
def sums(student: Any, rig: Any) -> Any:
    """Made outputs of nsys stats, of today's and of older ones."""
    reported, expected = [], []
    for number, new in enumerate((True, False)):
        made, file = rig.sums(rig.random, new=new), rig.folder / f"stats_{number}.txt"
        file.write_text(made.text(), encoding="utf-8")
        stats = rig.returned("read_stats", student.read_stats(str(file)))
        reported.append({name: rig.number(stats[name]) for name in made.known})
        expected.append(made.known)
    return {"told": reported, "known": expected}


# --- what is judged: the seven points ---------------------------------------------------------------------------------


def _said(found: judges.Found, try_: str) -> Verdict:
    measured, why = found
    return Failed(measured, why, try_) if why else Passed(measured)


@part.check(basis="outputs")
def every_sample_once(epochs: Pair) -> Verdict:
    """make_loader delivers every sample once in each epoch, in another order each time."""
    try_ = f"shuffle=True, and no drop_last; {POINTS}"
    whole = loaders.delivered(epochs, try_=try_)
    first, second = (loaders.epoch(epochs.student, name) for name in ("first", "second"))
    if isinstance(whole, Failed) or list(first.samples()) != list(second.samples()):
        return whole
    return Failed("two epochs in one order", "nothing is shuffled, or once for all", try_)


@part.check(basis="report")
def loader_asks_for_what_helps(arguments: Observation) -> Verdict:
    """Point 2: num_workers as asked; pinned memory for a GPU only; workers that stay, if there are some."""
    return loaders.options(arguments.values["made"], try_=POINTS)


@part.check(basis="outputs", needs=[every_sample_once])
def loading_is_faster(slow_reads: Timed, bar: Bar) -> Verdict:
    """An epoch of slow reads with 4 workers is at least {bar} as fast as the baseline's, timed from outside."""
    problem = differing(Epoch(**slow_reads.student.arrays), Epoch(**slow_reads.baseline.arrays))
    if problem:
        return Failed(problem, "the loader that is timed delivers other samples", POINTS)
    return speedup.at_least(
        slow_reads, bar, why="reads wait for each other, or workers start anew", try_=POINTS
    )


@part.check(basis="scripted")
def finds_the_largest_batch(searches: Observation) -> Verdict:
    """Point 1: largest_batch halves the step until it fits into memory, and hides no other error."""
    seen = searches.values
    found = judges.fits(
        seen["searches"], seen["other"] if seen["tries"] == 1 else "nothing at once"
    )
    return _said(found, f"except torch.OutOfMemoryError, and half the size; {POINTS}")


@part.check(basis="outputs")
def accumulates(grouped: Pair) -> Verdict:
    """Point 7: each group of batches is one step, that of one large batch."""
    return _said(
        judges.grouped(grouped), f"loss / accumulate, and one step for each group; {POINTS}"
    )


half = HalfPrecision(part, lambda student, window: train(student, window, True), POINTS)
half.rounds_as_autocast(
    "Point 3: with amp=True the losses are rounded as 16-bit arithmetic rounds them.", scaler=True
)
half.uses_the_scaler_in_order(
    "Point 3: each step calls the scaler once and in order: scale, backward, step, update."
)


compiled = Compiled(
    part, lambda student, rig: (rig.matched.simple_net(), program(student).fuse), 2e-5, POINTS
)
is_one_graph = compiled.is_one_graph(
    "Point 4: fuse makes one graph of the whole network for each shape, by the backend asked for, with its answers."
)


@part.check(basis="report")
def no_wait_per_step(loop: Observation) -> Verdict:
    """Point 5: the host waits for the device in every tenth batch and for the results, and keeps no old graphs."""
    try_ = f"losses.append(loss.detach()); bring them to the host after the loop; {POINTS}"
    seconds, queued = loop.values["seconds"], loop.values["queued"]
    if (
        seconds is None or seconds < 0.4 * queued
    ):  # half of it: batches were skipped, which others see
        measured = (
            f"seconds is {shown(seconds)} where the device worked for {queued:.4g} s (scripted)"
        )
        return Failed(
            measured,
            "the clock stops before the results are on the host",
            f"read it after them; {POINTS}",
        )
    return timing.no_wait_per_step(
        loop.values["waits"], loop.values["batches"], loop.values["kept"], try_=try_
    )


@part.check(basis="report")
def moves_without_waiting(loop: Observation) -> Verdict:
    """Point 6: images and labels of each batch are moved to the device, and nobody waits for the copies."""
    seen, batches = loop.values, loop.values["batches"]
    moved = f"{seen['images']} images and {seen['labels']} labels moved"
    measured = f"{moved} in {batches} batches; {seen['waited']} times the host waited"
    if min(seen["images"], seen["labels"]) >= batches and not seen["waited"]:
        return Passed(measured)
    why = (
        "the host stands still for each copy"
        if seen["waited"]
        else "images and labels are to be moved, each"
    )
    return Failed(measured, why, f".to(device, non_blocking=True), of images and labels; {POINTS}")


# --- what is judged: the program as a whole ---------------------------------------------------------------------------

LOSSES, HALF_LOSSES = 1e-3, 0.02


@part.check(basis="scripted", needs=[accumulates])
def does_the_same_work(whole: Pair) -> Verdict:
    """The program takes the baseline's steps with its losses, in batches that fit, and times whole epochs alone."""
    found, after = judges.worked(whole, EPOCHS, LOSSES), whole.student.values["after"]
    if after:
        found = (
            f"after the figures the program printed {after!r}",
            "the last line of the output is the JSON object",
        )
    if not found[1] and not whole.student.values["recorded"]:
        found = "no epoch was recorded with --profile", "record one more after the timed ones"
    return _said(
        found if found[1] else judges.paced(whole, EPOCHS, once="the first pass"), SAME_WORK
    )


@part.check(basis="scripted", needs=[accumulates, is_one_graph])
def points_work_together(together: Pair) -> Verdict:
    """With --amp, --compile and two batches a step at once, losses are the baseline's, and no build is timed."""
    found, seen = judges.worked(together, EPOCHS, HALF_LOSSES), together.student.values
    if not found[1] and not (seen["runs"] and seen["half"]):
        measured = f"{seen['runs']} passes were compiled, {seen['half']} graphs in half precision"
        found = measured, "one option switches another one off"
    if not found[1] and seen["found"] != seen["size"]:
        measured = (
            f"with --batch-size 0, --amp and --compile it takes {shown(seen['found'])} samples"
        )
        found = (
            measured,
            f"{seen['size']} is the first that fits: attempt is one step as it will be trained",
        )
    return _said(found if found[1] else judges.paced(together, EPOCHS, once="a build"), SAME_WORK)


# --- what is judged: the comparison -----------------------------------------------------------------------------------


@part.check(basis="scripted")
def finds_the_busy_share(shares: Pair) -> Verdict:
    """busy_percent finds the share of the steps in which a kernel ran, or without kernels an operator."""
    return _said(
        judges.shared(shares.student.values["told"], shares.baseline.values["known"]), TABLE
    )


def _compared(comparison: Pair) -> str | tuple[str, str]:
    seen, known = comparison.student.values, comparison.baseline.values["runs"]
    runs = [{**run, "busy_percent": busy} for run, busy in zip(known, seen["busy"], strict=False)]
    rows, form = seen["rows"], configurations.VERSIONS
    why = configurations.copied_problem(form, configurations.PRINTED, rows, runs)
    if wrong := why or configurations.work_problem(rows):
        return wrong
    if not seen["drawn"]:
        return f"no {PICTURE} is in folder", f"call draw_comparison(rows, folder); {TABLE}"
    if not (seen["raised"].startswith("RuntimeError") and "out of ideas" in seen["raised"]):
        why = "a program that ends with status 1 is a RuntimeError with the end of its stderr"
        return (
            f"a run that failed raised {seen['raised'][:100]}: {why}",
            f"look at returncode; {TABLE}",
        )
    csv = table.holds_the_rows(seen["csv"], form.file, rows)
    return (f"{csv.measured}: {csv.why}", csv.try_) if isinstance(csv, Failed) else ""


UNITS = {
    "busy_percent": r"%|percent",
    "throughput": r"/|per|s⁻¹|\^\{?-1",
    "speedup": r"\bx\b|\u00d7|[Ss]peedup|ratio",
}


@part.check(basis="scripted")
def figure_shows_the_rows(drawing: Observation) -> Verdict:
    """draw_comparison draws three panels: busy share, throughput and speedup of the rows that it is given."""
    try_ = "one bar per row, named and as high as the row says, and set_ylabel with the unit"
    return plot.shows_the_rows(drawing, PICTURE, UNITS, "version", try_)


@part.check(basis="scripted")
def reads_stats(sums: Pair) -> Verdict:
    """read_stats finds launches, time of kernels, time of copies to the GPU and waiting calls in what nsys printed."""
    return _said(
        judges.counted(sums.student.values["told"], sums.baseline.values["known"]), BEFORE_AFTER
    )


# --- what is judged: the files that are handed in ---------------------------------------------------------------------

AGAIN = "run part6_final.py again and hand in the files that it wrote, unchanged"
GPU_TIMES, GPU_BUSY = 3.0, 80.0  # x of the baseline; percent of the steps with a kernel


study = Study(
    part,
    configurations.VERSIONS,
    "compare_versions",
    by=comparison,
    expected=lambda known: [run["version"] for run in known["runs"]],
)
study.is_measured(
    "compares_versions",
    _compared,
    says="compare_versions runs each version in a process of its own; rows and CSV are their figures; failures raise.",
    try_=TABLE,
    shows=["throughput"],
)
csv_is_consistent = study.is_consistent(
    lambda rows: configurations.work_problem(rows) or configurations.learning_problem(rows),
    says="The final_results.csv handed in has five versions that did the same work, with losses alike.",
)
study.is_pictured(PICTURE, name="comparison_is_a_picture")


@part.check(basis="artefact", needs=[csv_is_consistent])
def profile_bears_out_the_table(final_results: Table, final_profile: Trace) -> Verdict:
    """busy_percent of Final in final_results.csv is what the final_profile.gz handed in with it shows."""
    last = configurations.VERSIONS.read(final_results)[-1]
    steps = len(final_profile.steps)
    if not steps or not final_profile.figure("dataloader", "steps"):
        return Failed(
            f"{final_profile.tool}, {steps} steps",
            "it holds no steps, or no wait for a loader",
            AGAIN,
        )
    quantity = "gpu_utilization" if profile.has_gpu(final_profile) else "operator_share"
    return profile.agrees(final_profile, quantity, last["busy_percent"], try_=AGAIN)


@part.check(basis="artefact", needs=[profile_bears_out_the_table])
def three_times_as_fast(final_results: Table, final_profile: Trace, device: Device) -> Verdict:
    """On a GPU, Final has at least 3 times the throughput of Baseline."""
    rows = configurations.VERSIONS.read(final_results)
    found, name = rows[-1]["speedup"], rows[0]["device"].strip()
    measured = f"{found:.4g} times as fast, measured on {name[:60]}"
    if not profile.has_gpu(final_profile):
        return Unavailable(f"{measured}: without a GPU")
    if found < GPU_TIMES:
        return Failed(
            measured,
            f"it is less than {GPU_TIMES:g} times on a GPU",
            "profile the version that gained nothing",
        )
    if not device.name.startswith(name):
        return Unavailable(f"{measured}, and this machine is {device.name}: not comparable here")
    return Passed(measured)


@part.check(basis="artefact", needs=[profile_bears_out_the_table])
def keeps_the_gpu_busy(final_profile: Trace) -> Verdict:
    """On a GPU, a kernel runs in more than 80 % of the steps of Final."""
    busy = final_profile.figure("busy_kernel", "steps")
    if not profile.has_gpu(final_profile) or busy is None:
        return Unavailable("the profile was recorded without a GPU")
    why = "" if busy > GPU_BUSY else f"it is not more than {GPU_BUSY:g} %"
    return _said(
        (f"kernels ran {busy:.1f} % of the steps", why),
        "perflab trace final_profile.gz says what the rest is",
    )


@part.check(basis="artefact")
def stats_show_the_difference(stats_before: Text, stats_after: Text) -> Verdict:
    """What nsys stats printed before and after shows fewer waiting calls; without nsys, both say so and are owed."""
    without = [
        text.file for text in (stats_before, stats_after) if text.text.lower().startswith("no nsys")
    ]
    if len(without) == 1:
        return Failed(
            f"{without[0]} says that there was no nsys", "the other one is of nsys", BEFORE_AFTER
        )
    if without:
        return Unavailable("both say that there was no nsys; a machine with one can make them")
    return _said(profile.fewer_waits(stats_before, stats_after), BEFORE_AFTER)


HEADINGS = {
    "The biggest bottleneck": r"bottleneck",
    "What had the most impact": r"impact|most",
    "What to optimize next": r"next",
    "Lessons learned": r"lesson",
}


@part.check(basis="artefact")
def reflection_is_true(reflection: Text, final_results: Table) -> Verdict:
    """The reflection answers four questions in 150 to 2000 words, and names four or more figures of the table."""
    return _said(configurations.reflected(reflection, final_results, HEADINGS), BY_NAME)


BY_NAME = (
    'write it by its name, {Final.speedup}, or quote it: see "The reflection" in the part 6 handout'
)
