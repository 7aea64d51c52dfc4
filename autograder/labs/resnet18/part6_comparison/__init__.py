"""Part 6: everything together. One program with every optimization, a fair comparison of all, a report that is true."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

from autograder.checks import configurations, numerics, outputs, plot, report, table
from autograder.checks.configurations import BUILDS_ON, FIGURES
from autograder.checks.numerics import close, explained, shown
from autograder.claims.studies import Study
from autograder.lab import (
    CELL,
    INTEGER,
    NUMBER,
    PANELS,
    TEXT,
    Device,
    Failed,
    Observation,
    Pair,
    Part,
    Passed,
    Table,
    Text,
    Unavailable,
    Verdict,
    list_of,
    map_of,
    optional,
    record,
)
from autograder.traces.words import many

PROGRAM = "optimized_training.py"
part = Part(
    "part6_comparison",
    writes=["run_configuration", "compare_all", "summarize", "draw_dashboard"],
    hands_in=[
        PROGRAM,
        "optimization_results.csv",
        "optimization_dashboard.png",
        "optimization_report.md",
    ],
    tables=[configurations.RESULTS],
    made_by={
        PROGRAM: 'write it: see "The program" in the part 6 handout',
        "optimization_report.md": 'write it, with the figures of your table: see "The report" in the part 6 handout',
    },
)

BATCH = 8  # samples
EPOCHS = 2
SHORT, LONG = (0.05, 0.2), (0.3, 0.6)  # seconds that a batch is waited for
UNEVEN = 0.8  # of what an epoch waits: so much more and less, or the rate of one epoch would be that of both
SIDE = 8  # pixels
MOMENTUM = 0.9  # as the lab's own optimizer has
TINY = 1 << 18  # times is a loss, so that its gradients are 0 in float16 without a scaler
SMALLER = 64  # times is a loss, so that sums of its gradients fit into float16 with a scaler that begins high
STILL = 0.01  # of the baseline's update: weights that were not trained
COLD = 30.0  # seconds that the first pass of all takes longer: more than any epoch, so that nothing else looks alike
UNITS = {  # a panel's label must match
    "throughput": r"/|per|s⁻¹|\^\{?-1",
    "speedup": r"\bx\b|\u00d7|[Ss]peedup|ratio",
    "peak_memory_mb": r"MB|[Mm]egabyte",
    "gain": r"\bx\b|\u00d7|[Gg]ain|ratio",
}
PROGRAM_TEXT = 'see "The program" in the part 6 handout'
WRONG = 'see "What usually goes wrong" in the part 6 handout'


# --- what is run: the program -----------------------------------------------------------------------------------------

TOLD = ("throughput", "epoch_time", "data_wait", "warm_up_s", "peak_memory_mb", "loss", "accuracy")
RUN = {
    "told": record(**dict.fromkeys(TOLD, optional(NUMBER))),
    "device": TEXT,
    "asked": list_of(map_of(CELL)),
    "unsaved": TEXT,
    "after": TEXT,
    "worked": NUMBER,
    "peak_mb": NUMBER,
    "built": INTEGER,
    "segments": INTEGER,
    "script": record(
        samples=INTEGER,
        batches=INTEGER,
        wait=NUMBER,
        work=NUMBER,
        plain=NUMBER,
        once=NUMBER,
        uneven=NUMBER,
    ),
}
TRAINED = {
    "losses": ("float64", 1),
    "start": ("float32", 1),
    "weights": ("float32", 1),
    "running": ("float32", 1),
}
GROUP = 3  # batches of a step
SEGMENTS = 5  # the stem and the four layers
Prepared = tuple[list[str], Any, dict[str, float]]
"""Options, make_training, and the seconds of a batch: with the option, without it, and what comes once."""


def run(
    student: Any, rig: Any, prepare: Callable[[Any], Prepared], joined: int = 1, uneven: float = 0.0
) -> Any:
    """Run the program for two epochs on a scripted clock; the baseline joins batches and knows no options."""
    batches = (
        rig.integer(4, 6) if joined == 1 else joined * rig.integer(2, 3) + 1
    )  # so that the last group is short
    waits, at_once = (
        rig.seconds(*(LONG if uneven else SHORT), batches),
        1 if rig.side == "student" else joined,
    )
    sizes = [BATCH * min(at_once, batches - at) for at in range(0, batches, at_once)]
    window = rig.window(sizes)
    rig.script(window, waits, [], uneven)
    options, make, times = prepare(window)
    program, file = rig.program(student, PROGRAM), str(rig.folder / "model.pt")
    asked: list[Any] = []
    words = [
        "--epochs",
        EPOCHS,
        "--batches",
        batches,
        "--batch-size",
        BATCH,
        "--image-size",
        SIDE,
        "--save",
        file,
    ]
    stand_ins = {"make_training": make, "make_loader": rig.loader_for(window.loader, asked)}
    begun = rig.busy_since(window.loader)
    ran = program.run(*map(str, words), *options, **stand_ins)
    figures, worked, peak = ran.figures(), begun(), rig.peak_mb()
    plain, _, _ = make(rig.device)
    unsaved, saved = program.saved("model.pt", plain)
    return {
        "told": {name: rig.number(figures[name]) for name in TOLD},
        "device": rig.text(figures["device"]),
        "asked": asked[:8],
        "unsaved": unsaved,
        "after": ran.after(),
        "worked": worked / batches,
        "peak_mb": peak,
        "built": 0,
        "segments": 0,
        "script": {
            "samples": BATCH * batches,
            "batches": batches,
            "wait": sum(waits),
            "uneven": uneven,
            **times,
        },
        "losses": rig.series(figures["losses"], "losses"),
        "start": rig.weights_of(plain.state_dict(), plain)["weights"],
        **rig.weights_of(saved, plain),
    }


def of_a_resnet(
    rig: Any, options: list[str], runs: int = 1, half: float = 1.0, **more: Any
) -> Callable[[Any], Prepared]:
    """Let each convolution of a small ResNet take scripted seconds; with the option it runs so many times."""
    (each,) = rig.seconds(0.01, 0.02, 1)
    forward = each * sum(parameter.dim() == 4 for parameter in rig.nets.small().parameters())
    times = {"work": half * forward * runs, "plain": forward, "once": COLD}
    return lambda _: (
        options,
        rig.resnet_trainings(each, COLD, smaller=SMALLER, half=half, **more),
        times,
    )


@part.probe(pair=True, values=RUN, arrays=TRAINED)
def plain(student: Any, rig: Any) -> Any:
    """Its data is not what make_loader takes where nothing is said."""
    options = ["--workers", "2", "--data", "cifar10"]
    return run(student, rig, of_a_resnet(rig, options, momentum=MOMENTUM), uneven=UNEVEN)


@part.probe(pair=True, values=RUN, arrays=TRAINED)
def accumulated(student: Any, rig: Any) -> Any:
    """Without BatchNorm, so that a group is one large batch, which is what the baseline takes."""
    options = ["--accumulate", str(GROUP)]
    return run(student, rig, of_a_resnet(rig, options, norm="group"), joined=GROUP)


@part.probe(pair=True, values=RUN, arrays=TRAINED)
def checkpointed(student: Any, rig: Any) -> Any:
    """Each convolution runs again for the backward pass."""
    ran = list[int]()
    seen = run(student, rig, of_a_resnet(rig, ["--checkpoint"], runs=2, ran=ran))
    return {**seen, "segments": run_again(ran)}


def run_again(ran: Sequence[int]) -> int:
    """Return the most segments that ran between two passes through all convolutions, whose numbers go up in each."""
    whole, at, count, most = sorted({*ran}), 0, 0, 0
    while at < len(ran):
        if list(ran[at : at + len(whole)]) == whole:
            at, count = at + len(whole), 0
            continue
        count += at == 0 or ran[at] <= ran[at - 1]
        at, most = at + 1, max(most, count)
    return most


@part.probe(pair=True, values=RUN, arrays=TRAINED)
def half(student: Any, rig: Any) -> Any:
    """A pass in half precision takes half the seconds, or fewer; what float16 cannot hold needs a scaler."""
    (full,), (faster,) = rig.seconds(0.2, 0.4, 1), rig.seconds(2.0, 3.0, 1)
    make = rig.trainings(full, full / faster, COLD, TINY)
    with rig.half_as_on_a_gpu():
        return run(
            student,
            rig,
            lambda _: (["--amp"], make, {"work": full / faster, "plain": full, "once": COLD}),
        )


@part.probe(pair=True, values=RUN, arrays=TRAINED)
def compiled(student: Any, rig: Any) -> Any:
    """A build takes many scripted seconds; what was built runs in half the seconds, or fewer.

    In half precision, as in the comparison: a warm-up in another one builds what the epochs do not use.
    """
    (eager,), (faster,) = rig.seconds(0.2, 0.4, 1), rig.seconds(2.0, 3.0, 1)
    (forward,), (backward,) = rig.seconds(22.0, 28.0, 1), rig.seconds(16.0, 22.0, 1)
    times, made = {"work": eager / faster, "plain": eager, "once": forward + backward}, list[Any]()

    def prepare(window: Any) -> Prepared:
        make, options = rig.eager_trainings(eager, 0.0), ["--compile", "--amp"]
        if rig.side == "student":
            made.append(
                rig.compiler(
                    window, {"forward": forward, "backward": backward}, step=eager / faster
                )
            )
            options += ["--backend", rig.backend(made[0])]
        return options, make, times

    seen = run(student, rig, prepare)
    return {**seen, "built": len(made[0].values()["built"]) if made else 0}


@part.probe(pair=True, values=RUN, arrays=TRAINED)
def together(student: Any, rig: Any) -> Any:
    """What each option does alone, it has to do beside the others."""
    options = ["--amp", "--accumulate", str(GROUP), "--checkpoint"]
    return run(
        student, rig, of_a_resnet(rig, options, runs=2, norm="group", half=0.25), joined=GROUP
    )


REFUSED = (
    ["--accumulate", "0"],
    ["--epochs", "0"],
    ["--data", "nonsense"],
    ["--compile", "--checkpoint"],
)
TAKEN = (
    ["--amp", "--compile"],
    ["--compile", "--accumulate", "2"],
    ["--amp", "--accumulate", "2", "--checkpoint"],
)


@part.probe(values={"statuses": list_of(INTEGER)})
def refusals(student: Any, rig: Any) -> Any:
    """A training that is begun ends with status 0."""
    program = rig.program(student, PROGRAM)
    begun = {
        "make_training": lambda *_, **__: sys.exit(0),
        "make_loader": lambda *_, **__: sys.exit(0),
    }

    def status(options: list[str]) -> int:
        try:
            return int(program.run(*options, **begun).status)
        except (ArithmeticError, AssertionError, LookupError, TypeError, ValueError):
            return 1  # as Python ends after a traceback

    return {"statuses": [status(options) for options in (*REFUSED, *TAKEN)]}


# --- what is run: the comparison --------------------------------------------------------------------------------------

DEVICE = "a made device"
PAUSED = 1.3
NAMES = tuple(BUILDS_ON)


def drawn_rows(
    rig: Any, names: Sequence[str], *, pays: bool = True, paused: float = 1.0
) -> list[dict[str, Any]]:
    """Draw rows that hold what is asked for, in no order of merit; an epoch takes a little more than its samples.

    The first row is neither the fastest nor the slowest; where nothing *pays* it is the fastest and the leanest.
    Its epoch takes *paused* times as long as its throughput says.
    """
    samples, count = 160 * rig.integer(3, 9), len(names)
    steps = enumerate(rig.seconds(0.1, 0.9, count))  # so that no two rates are alike
    drawn = [
        float(rate)
        for rate in rig.random.permutation([60 + 340 * (at + more) / count for at, more in steps])
    ]
    peaks, rows = rig.seconds(300.0, 5000.0, count), []
    if pays:
        at = drawn.index(sorted(drawn)[1])
        drawn[0], drawn[at] = drawn[at], drawn[0]
    else:
        drawn, peaks = sorted(drawn, reverse=True), sorted(peaks)
    for name, rate, memory in zip(names, drawn, peaks, strict=True):
        seconds, (wait, warm, loss, right) = 1.02 * samples / rate, rig.seconds(0.1, 0.9, 4)
        values = (rate, seconds, wait * seconds, 40 * warm, memory, 2 * loss, 100 * right)
        rows.append(
            {
                "configuration": name,
                "builds_on": BUILDS_ON[name],
                **dict(zip(FIGURES, values, strict=True)),
            }
        )
    rows[0]["epoch_time"] *= paused
    rates = {row["configuration"]: row["throughput"] for row in rows}
    for row in rows:
        row["speedup"] = row["throughput"] / rows[0]["throughput"]
        row["gain"] = row["throughput"] / rates.get(row["builds_on"], row["throughput"])
        row["device"] = DEVICE
    return rows


@part.probe(
    pair=True, values={"rows": list_of(map_of(CELL)), "runs": list_of(map_of(CELL)), "csv": TEXT}
)
def comparison(student: Any, rig: Any) -> Any:
    """A made program instead of a training: it notices what reaches it from an earlier run, or from one beside it."""
    runs, folder = (
        drawn_rows(rig, NAMES[: rig.integer(5, 6)]),
        rig.folder / "results",
    )  # the fifth does not build on the fourth
    options = [["--number", str(rig.integer(1, 1 << 30))] for _ in runs]
    printed = [{name: drawn[name] for name in (*FIGURES, "device")} for drawn in runs]
    made = rig.made_program(
        {" ".join(words): figures for words, figures in zip(options, printed, strict=True)}
    )
    asked = [
        {"configuration": drawn["configuration"], "builds_on": drawn["builds_on"], "options": words}
        for drawn, words in zip(runs, options, strict=True)
    ]
    folder.mkdir()
    rows = rig.rows(student.compare_all(asked, script=str(made), folder=str(folder)), "compare_all")
    return {"rows": rows, "runs": runs, "csv": rig.file_text(folder / "optimization_results.csv")}


@part.probe(values={"raised": TEXT})
def failing(student: Any, rig: Any) -> Any:
    """The program prints figures, then says why it cannot go on, and ends with status 1."""
    made = str(rig.made_program({"--hopeless": None}))
    return {
        "raised": rig.matched.hopeless(
            lambda words: student.run_configuration(words[1:], script=words[0]), made
        )
    }


@part.probe(
    pair=True, values={"rows": list_of(list_of(map_of(CELL))), "told": list_of(map_of(CELL))}
)
def summaries(student: Any, rig: Any) -> Any:
    """Where something pays, the first row's epoch has pauses, so that what it saves is seen in the times alone."""
    drawn = ((6, PAUSED), (4, 1.0), (3, PAUSED), (6, PAUSED))
    tables = [
        drawn_rows(rig, NAMES[:count], pays=paused > 1, paused=paused) for count, paused in drawn
    ]
    told = [
        rig.rows([student.summarize([dict(row) for row in rows])], "summarize")[0]
        for rows in tables
    ]
    return {"rows": tables, "told": told}


@part.probe(
    values={"rows": list_of(map_of(CELL)), "panels": PANELS}, arrays={"picture": ("uint8", 1)}
)
def dashboard(student: Any, rig: Any) -> Any:
    """Some of the configurations, in another order than the file's."""
    others = [str(name) for name in rig.random.permutation(NAMES[1:])]
    rows, file = drawn_rows(rig, [NAMES[0], *others[:4]]), "optimization_dashboard.png"
    with rig.figures() as figures:
        student.draw_dashboard([dict(row) for row in rows], str(rig.folder))
    picture = rig.file_bytes(rig.folder / file, plot.BYTES + 1)
    return {"rows": rows, "panels": figures.panels(file), "picture": picture}


# --- what is judged: the program --------------------------------------------------------------------------------------

# Relative: a program may ask before its last allocations; a MiB is 5 % more than a MB.
SAME_PEAK = 0.04
LOSSES, UPDATE = (
    1e-3,
    0.03,
)  # losses absolutely, the update relative to its norm: channels_last is up to 0.006 off
HALF_LOSSES, HALF_UPDATE = 0.02 / SMALLER, 0.1
ALL_LOSSES, ALL_UPDATE = (
    0.02 / SMALLER,
    0.25,
)  # of 100 seeds the furthest: 0.004, 0.07; no accumulation: 1.2 and more


@part.check(basis="outputs", compared="losses and weights")
def trains_as_the_plain_loop(plain: Pair) -> Verdict:
    """Without --amp and the like, optimized_training.py trains for --epochs epochs as the plain loop does."""
    told, known = plain.student.values, plain.baseline.values
    why = "another loop: the warm-up left a trace (weights, momentum), a step was left out or taken twice, no zero_grad"
    found = _follows(plain, why)
    if isinstance(found, Failed):
        return found
    if not close(told["told"]["loss"], plain.student.arrays["losses"][-1], 1e-3):
        return Failed(
            f"loss is {shown(told['told']['loss'])}", "it is not the last of losses", WRONG
        )
    script = known["script"]
    sizes = {
        "batch_size": BATCH,
        "batches": script["batches"],
        "image_size": SIDE,
        "num_workers": 2,
    }
    asked = {**sizes, "data": "cifar10"}
    if asked not in told["asked"]:
        measured = f"make_loader was called with {told['asked'][:1]}"
        return Failed(
            measured,
            f"the options ask for {asked}",
            "hand every option on to make_loader, from given",
        )
    one = 101 / script["samples"]
    if (
        told["told"]["accuracy"] is None
        or abs(told["told"]["accuracy"] - known["told"]["accuracy"]) > one
    ):
        measured = f"accuracy {shown(told['told']['accuracy'])}"
        why = f"{known['told']['accuracy']:.4g} % of the samples of the last epoch were right"
        return Failed(measured, why, "100 * correct / samples of the last epoch")
    if told["device"].strip() != known["device"].strip():
        return Failed(
            f"device {told['device'][:60]!r}",
            f"it is called {known['device']!r}",
            "device_name(device)",
        )
    return found


@part.check(basis="scripted")
def figures_are_honest(plain: Pair) -> Verdict:
    """Its throughput, epoch_time and data_wait are those of whole epochs after a warm-up; memory is in MB."""
    told, script = (
        plain.student.values["told"],
        configurations.Script(**plain.baseline.values["script"]),
    )
    measured = f"throughput {shown(told['throughput'])} samples/s on a clock that the grader moves"
    if why := configurations.pace_problem(told, script):
        return Failed(
            measured, why, f"one clock around all of an epoch, after warm_up; {PROGRAM_TEXT}"
        )
    if after := plain.student.values["after"]:
        why = "the last line of the output is the JSON object, which run_configuration reads"
        return Failed(
            f"after the figures the program printed {after!r}",
            why,
            "print(json.dumps(figures)) at the end",
        )
    memory, peak = told["peak_memory_mb"], plain.student.values["peak_mb"]
    if not close(memory, peak, SAME_PEAK):
        why = explained(
            memory, [(peak / 1.048576, "it is in MiB, and a MB is 1e6 bytes: ")], SAME_PEAK / 2
        )
        why = f"{why}the most that the process held was {peak:.4g} MB"
        return Failed(
            f"peak_memory_mb is {shown(memory)}", why, "return what peak_memory_mb(device) returns"
        )
    return Passed(measured)


@part.check(basis="outputs", compared="losses and weights")
def accumulates(accumulated: Pair, plain: Pair) -> Verdict:
    """--accumulate N takes the step of one large batch for each N batches, the last ones included."""
    why = "the step of a group is not the mean over its samples, or the last group is dropped"
    return _follows(accumulated, why, plain=plain)


@part.check(basis="scripted")
def checkpoints(checkpointed: Pair, plain: Pair) -> Verdict:
    """--checkpoint runs every segment again, and changes neither losses nor weights nor running statistics."""
    why = "a segment without gradients, or BatchNorms whose statistics move twice"
    found = _follows(checkpointed, why, plain=plain)
    if isinstance(found, Passed):
        found = _at_work(checkpointed, "--checkpoint", found)
    count = checkpointed.student.values["segments"]
    if isinstance(found, Failed) or count >= SEGMENTS:
        return found
    why = "one of them is most of the network: running it again brings all of that back at once"
    try_ = f"a checkpoint each for the stem and the four layers; {PROGRAM_TEXT}"
    measured = f"{many(count, 'segment')} ran again" if count else "all ran again at once"
    return Failed(f"going back, {measured}", why, try_)


@part.check(basis="scripted")
def trains_in_half_precision(half: Pair, plain: Pair) -> Verdict:
    """--amp runs passes in half precision, and the losses follow FP32."""
    why = (
        "losses or weights leave FP32's: float16 without scaler.scale(loss), a step with scaled gradients,"
        " a loss in 16 bits, weights in 16 bits"
    )
    found = _follows(half, why, HALF_LOSSES * SMALLER / TINY, HALF_UPDATE, plain)
    return found if isinstance(found, Failed) else _at_work(half, "--amp", found)


@part.check(basis="scripted")
def compiles_before_the_clock(compiled: Pair, plain: Pair) -> Verdict:
    """--compile trains the model compiled by --backend; all builds are in warm_up_s, none in throughput."""
    found = _follows(
        compiled,
        "the compiled model is another one, or is another one's copy",
        ALL_LOSSES * SMALLER,
        HALF_UPDATE,
        plain,
    )
    if isinstance(found, Failed):
        return found
    if not compiled.student.values["built"]:
        why = "--backend goes nowhere, or the plain model is trained"
        return Failed(
            NONE_BUILT,
            why,
            "torch.compile(model, backend=options.backend), and train what it returns",
        )
    found, told = _at_work(compiled, "--compile", found), compiled.student.values["told"]
    if isinstance(found, Failed):
        return found
    script = configurations.Script(**compiled.baseline.values["script"])
    if configurations.holds_once(told["throughput"], script):
        measured, why = (
            f"throughput is {shown(told['throughput'])} samples/s",
            "it includes what happens once: a build",
        )
        return Failed(measured, why, f"warm up before, backward pass and step as well; {WRONG}")
    if told["warm_up_s"] is None or not 0.98 * script.once <= told["warm_up_s"] <= 10 * script.once:
        why = f"the builds took {script.once:.4g} s, and they are a part of the warm-up"
        try_ = "read the clock before and after warm_up; in seconds"
        return Failed(f"warm_up_s is {shown(told['warm_up_s'])}", why, try_)
    return found


NONE_BUILT = "nothing was built by the backend that --backend names"


@part.check(basis="scripted", needs=[accumulates, checkpoints, trains_in_half_precision])
def options_work_together(together: Pair, plain: Pair) -> Verdict:
    """--amp, --accumulate N and --checkpoint at once still take the step of one large batch."""
    options = f"--amp --accumulate {GROUP} --checkpoint"
    why = f"with {options}, one option switches another one off, or comes in its way"
    found = _follows(together, why, ALL_LOSSES, ALL_UPDATE, plain)
    return found if isinstance(found, Failed) else _at_work(together, options, found)


@part.check(basis="report")
def saves_a_plain_model(plain: Pair, half: Pair, checkpointed: Pair, compiled: Pair) -> Verdict:
    """--save writes a state_dict that a plain ResNet loads, with every option."""
    runs = {"no option": plain, "--amp": half, "--checkpoint": checkpointed, "--compile": compiled}
    for option, seen in runs.items():
        if why := seen.student.values["unsaved"]:
            measured = f"with {option}: {why}"
            names = "is missing" in why or "no name" in why
            why = (
                "what is trained in the model's place has other names"
                if names
                else "the file holds no state_dict"
            )
            return Failed(
                measured,
                why,
                "torch.save(model.state_dict(), options.save), of the model from make_training",
            )
    return Passed(f"weights and running statistics with {', '.join(runs)}")


@part.check(basis="outputs")
def refuses_what_it_cannot_do(refusals: Observation) -> Verdict:
    """What cannot be done is a usage error: status 2, before anything is trained; nothing else is."""
    statuses = refusals.values["statuses"]
    if len(statuses) != len(REFUSED) + len(TAKEN):
        return Failed(
            f"{len(statuses)} runs", f"{len(REFUSED) + len(TAKEN)} were begun", PROGRAM_TEXT
        )
    refused, taken = statuses[: len(REFUSED)], statuses[len(REFUSED) :]
    odd = [" ".join(words) for words, status in zip(REFUSED, refused, strict=True) if status != 2]
    if odd:
        why = "argparse ends a program so when parser.error(...) is called"
        return Failed(
            f"{odd[:1]} ended with another status than 2", why, "parser.error(...) in read_options"
        )
    if 2 in taken:
        measured = f"{' '.join(TAKEN[taken.index(2)])} ended with status 2"
        why = "only --compile and --checkpoint exclude each other: all other options go together"
        return Failed(measured, why, f"no parser.error for these; {PROGRAM_TEXT}")
    return Passed(f"{len(refused)} times status 2")


def _follows(
    seen: Pair,
    why: str,
    losses: float = LOSSES / SMALLER,
    update: float = UPDATE,
    plain: Pair | None = None,
) -> Verdict:
    """Judge the losses of the epochs, and the weights where they could be read.

    Where the run without options, *plain*, is off already, statistics are not judged again, and it is what to mend.
    """
    got, want = seen.student, seen.baseline
    problem = numerics.misshapen(got.arrays["losses"], want.arrays["losses"], "epoch")
    if problem:
        return Failed(
            problem, f"it ran with --epochs {EPOCHS}", "losses: the mean loss of each epoch"
        )
    apart = numerics.furthest(got.arrays["losses"], want.arrays["losses"])
    measured, evidence = (
        f"losses of the epochs apart by {apart:.1e} (allowed {losses:.0e})",
        {"losses": apart / losses},
    )
    try_ = f"compare with a plain run on the same batches, and without the warm-up; {WRONG}"
    off = plain is not None and not isinstance(_follows(plain, why), Passed)
    if off:
        why, try_ = (
            "without options it is another training already",
            "look at trains_as_the_plain_loop first",
        )
    if not apart <= losses:
        return Failed(measured, why, try_, numerics.shares(**evidence))
    if got.values["unsaved"]:
        return Passed(measured, numerics.shares(**evidence))
    moved = numerics.update(seen)
    running = 0.0 if off else outputs.furthest(got.arrays["running"], want.arrays["running"])
    measured += f", update by {moved.error:.1e} of its norm (allowed {update:.0e}), running statistics by {running:.1e}"
    evidence |= {"update": moved.error / update, "running": running / update}
    right = moved.error <= update and running <= update
    if moved.ratio < STILL:
        why = "the losses are right and the weights that were saved never moved: saved too early, or those of a copy"
    elif moved.error <= update:
        why = "weights are right and statistics are not: a warm-up moved them and left them so, or they move twice"
    return (Passed if right else _failed(why, try_))(measured, numerics.shares(**evidence))


def _failed(why: str, try_: str) -> Callable[[str, Any], Failed]:
    return lambda measured, evidence: Failed(measured, why, try_, evidence)


def _at_work(seen: Pair, options: str, found: Verdict) -> Verdict:
    """Fail a run whose batches did not take the work of its options, whatever figures it prints."""
    worked, script = (
        seen.student.values["worked"],
        configurations.Script(**seen.baseline.values["script"]),
    )
    if close(worked, script.work, configurations.PACE):
        return found
    plain = close(worked, script.plain, configurations.PACE)
    why = (
        f"that is the pace without {options}"
        if plain
        else f"with {options} it is {script.work:.4g} s"
    )
    measured = f"a batch took {worked:.4g} s on a clock that the grader moves"
    return Failed(measured, why, f"apply {options}, and leave nothing of it out; {WRONG}")


# --- what is judged: the comparison -----------------------------------------------------------------------------------


def _builds_on(known: Mapping[str, Any]) -> dict[str, str]:
    return {run["configuration"]: run["builds_on"] for run in known["runs"]}


def _compared(comparison: Pair) -> str:
    rows, known = comparison.student.values["rows"], comparison.baseline.values
    return configurations.copied_problem(
        configurations.RESULTS, FIGURES, rows, known["runs"]
    ) or configurations.row_problem(rows, _builds_on(known))


study = Study(part, configurations.RESULTS, "compare_all", by=comparison, expected=_builds_on)
study.is_measured(
    "starts_a_process_each",
    _compared,
    says="compare_all runs each configuration in a process of its own, one after the other; "
    "its rows are their figures.",
    try_=f"subprocess.run([sys.executable, script, *options], ...) for each, and speedup from this table; {WRONG}",
    shows=["throughput"],
)
study.is_written()


@part.check(basis="scripted")
def a_failed_run_is_an_error(failing: Observation) -> Verdict:
    """run_configuration raises a RuntimeError with the end of stderr when the program fails."""
    raised = failing.values["raised"]
    try_ = "if ended.returncode != 0: raise RuntimeError(... ended.stderr[-2000:])"
    why = "the made program ended with status 1, after a line of figures"
    if "No such file" in raised:
        why, try_ = "the program was not found", "start sys.executable, not 'python', with script"
    elif raised.startswith("RuntimeError"):
        if "out of ideas" in raised:
            return Passed("a RuntimeError that says what the program said")
        why = "the end of what the program wrote to stderr is not in it"
    return Failed(f"it raised {raised[:200]}", why, try_)


@part.check(basis="outputs")
def summary_is_right(summaries: Pair) -> Verdict:
    """summarize names the fastest and the leanest configuration, and what they save, from measured figures."""
    tables, answers = summaries.baseline.values["rows"], summaries.student.values["told"]
    if len(answers) != len(tables):
        return Failed(
            f"{len(answers)} answers", f"{len(tables)} tables were given", "return a dict for each"
        )
    for rows, told in zip(tables, answers, strict=True):
        known = configurations.summary_of(rows)
        for name, right in known.items():
            given = told.get(name)
            if given != right and not (isinstance(right, float) and table.alike(right, given)):
                measured = (
                    f"{name} is {shown(given)}, and {shown(right)} is right, of {len(rows)} rows"
                )
                why = explained(given, configurations.summary_slips(name, right), 1e-6)
                why = (
                    why
                    or "it is of the last row, of another column, or worked out from the speedup"
                )
                return Failed(
                    measured,
                    why,
                    "max and min over all rows; time from epoch_time, memory in percent",
                )
    return Passed(f"{len(tables)} tables")


@part.check(basis="scripted")
def dashboard_shows_the_rows(dashboard: Observation) -> Verdict:
    """draw_dashboard draws four panels: throughput, speedup, memory and gain of the rows that it is given."""
    try_ = "one bar per row, named and as high as the row says, and set_ylabel with the unit"
    return plot.shows_the_rows(
        dashboard, "optimization_dashboard.png", UNITS, "configuration", try_
    )


# --- what is judged: the files that are handed in ---------------------------------------------------------------------


def _measured(results: Table) -> list[dict[str, Any]]:
    """Return what the runs printed, whatever was worked out from it."""
    names = ("configuration", *FIGURES)
    return [
        {name: row.get(name) for name in names} for row in table.as_numbers(results.rows, FIGURES)
    ]


def _unread(rows: Sequence[dict[str, Any]]) -> str:
    return table.form_problem(rows, ("configuration", *FIGURES), FIGURES, NAMES) or (
        ""
        if all(row["throughput"] > 0 and row["epoch_time"] > 0 for row in rows)
        else "a throughput or time is 0"
    )


AGAIN = "run part6_comparison.py again and hand in the file that it wrote, unchanged"


study.is_consistent(
    configurations.row_problem,
    says="The optimization_results.csv handed in has six rows of numbers that fit each other.",
)


@part.check(basis="artefact")
def csv_is_plausible(optimization_results: Table, device: Device) -> Verdict:
    """Its figures are ones that this machine can give; those of another machine are for a person."""
    rows = _measured(optimization_results)
    devices = [{"device": row.get("device", "")} for row in optimization_results.rows]
    name = devices[0]["device"].strip() if devices else ""
    if why := _unread(rows) or table.device_problem(devices) or configurations.implausible(rows):
        return Failed(f"{len(rows)} rows, measured on {name[:60]}", why, AGAIN)
    if not device.name.startswith(name):
        return Unavailable(
            f"measured on {name[:60]}, and this machine is {device.name}: not comparable here"
        )
    return Passed(f"{len(rows)} rows, measured on this machine")


study.is_pictured("optimization_dashboard.png", name="dashboard_is_a_picture")


HEADINGS = {  # of the report -> what one has to hold
    "Executive Summary": r"summary",
    "Bottlenecks Identified": r"bottlenecks?",
    "DataLoader Optimization": r"data[ -]?load",
    "Mixed Precision (AMP)": r"mixed precision|\bAMP\b",
    "torch.compile": r"compile",
    "Production Recommendations": r"recommendation",
    "Lessons Learned": r"lessons?",
}
LEAST, MOST = 250, 3000  # words
SUMMARY = {"throughput": 2, "speedup": 1}  # column -> how many rows of it
RECOMMENDATIONS, WORDS = 3, 6


@part.check(basis="artefact")
def report_is_complete(optimization_report: Text) -> Verdict:
    """The report has its seven headings with something below each, nothing left to fill in, and 250 to 3000 words."""
    text = optimization_report.text
    measured, why = report.incomplete(text, HEADINGS, LEAST, MOST)
    if why:
        return Failed(
            measured, why, "keep the headings, write sentences below each: figures alone are none"
        )
    cuts = report.points(report.below(text, HEADINGS["Production Recommendations"]))
    given = max((sum(report.words(it) >= WORDS for it in cut) for cut in cuts), default=0)
    if given < RECOMMENDATIONS:
        why = f"fewer than {RECOMMENDATIONS} recommendations have {WORDS} words or more"
        return Failed(f"{given} recommendations", why, "what to switch on, when, and why")
    return Passed(f"{measured}, {given} recommendations")


@part.check(basis="artefact")
def report_agrees_with_csv(optimization_report: Text, optimization_results: Table) -> Verdict:
    """Each figure of the report is one of optimization_results.csv; the summary has before and after."""
    named, wrong = report.figures(
        optimization_report, optimization_results, configurations.RESULTS.units
    )
    if wrong:
        return Failed(
            f"{many(len(wrong), 'figure')} not in the table", report.listed(wrong), BY_NAME
        )
    summary = report.below(optimization_report.text, HEADINGS["Executive Summary"])
    said = {(one.said, *place) for one in named for place in one.places}
    alone = _first_is_fastest(_measured(optimization_results))
    for column, least in SUMMARY.items():
        rows = [
            row for text, row, other in said if other == column for _ in range(summary.count(text))
        ]
        count = len(rows if alone else set(rows))
        if count < least:
            why = f"the summary names the {column} of {many(count, 'row')}, and {least} at least are needed"
            return Failed(f"{len(named)} figures of the table", why, SUMMED_UP)
    return Passed(f"{len(named)} figures, all of them of the table")


def _first_is_fastest(rows: Sequence[dict[str, Any]]) -> bool:
    """Whether no row is faster than the first, which then is before and after."""
    return not _unread(rows) and rows[0]["throughput"] == max(row["throughput"] for row in rows)


BY_NAME = (
    'write it by its name, {AMP.speedup}, or quote it: see "Figures by name" in the part 6 handout'
)
SUMMED_UP = "the throughput before and after, and the speedup: {Baseline.throughput}, {AMP.throughput}, {AMP.speedup}"
EVIDENCE = {
    "data loading": r"data|load",
    "compute": r"comput|arithmetic|GPU|CPU|kernel",
    "memory": r"memory|activation",
}


@part.check(basis="artefact")
def bottlenecks_have_evidence(optimization_report: Text) -> Verdict:
    """Data loading, compute and memory are each discussed as bottlenecks, with a figure of the table."""
    cuts = report.points(report.below(optimization_report.text, HEADINGS["Bottlenecks Identified"]))
    if any(_apart(cut) for cut in cuts):
        return Passed(f"{', '.join(EVIDENCE)}: each with a figure")
    for name, one in EVIDENCE.items():
        about = [it for cut in cuts for it in cut if re.search(one, it, re.IGNORECASE)]
        if not any(map(report.names, about)):
            why = f"{name} is {'named without a figure' if about else 'not named'}"
            measured = f"{max(map(len, cuts), default=0)} points"
            return Failed(measured, why, POINTS)
    return Failed("fewer than three points with a figure", "one of them stands for two", POINTS)


POINTS = "one point for each, with a figure of the table: {Baseline.data_wait}"


def _apart(points: Sequence[str]) -> bool:
    """Whether each of the three has a point of its own with a figure in it."""
    told = [(at, it) for at, it in enumerate(points) if report.names(it)]
    about = [
        [at for at, it in told if re.search(one, it, re.IGNORECASE)][:3]
        for one in EVIDENCE.values()
    ]
    return any(len({*chosen}) == len(EVIDENCE) for chosen in product(*about))
