"""Judges what torch.compile built and when, and a table of an eager and a compiled epoch on a scripted clock.

A row has model, throughput, epoch_time, compile_s, loss, speedup and device. Each judge of rows says what is wrong in
one sentence, or nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autograder.checks import table
from autograder.checks.forms import DEVICE, Form, any_number, not_negative, positive, words
from autograder.checks.numerics import close, explained

MODELS = ("Eager", "Compiled")
RESULTS = Form(
    "compile_results.csv",
    (
        words("model", "Eager in the first row, Compiled in the second"),
        positive("throughput", "waiting for data included", "samples/s"),
        positive("epoch_time", "of the measured epoch", "s"),
        not_negative(
            "compile_s",
            "what the warm-up of the compiled model took, builds included; 0 for Eager",
            "s",
        ),
        any_number("loss", "mean over the epoch"),
        positive("speedup", "throughput / Eager's throughput", "x"),
        DEVICE,
    ),
    rows=MODELS,
)
PACE, WHOLE = (
    0.02,
    0.05,
)  # relative: of throughput; of epoch_time, which may hold a little more than the training
EXACT = 1e-4  # relative: of a loss beside the trusted one; right work was within 2e-7, and the rate is small
# Relative, of losses that a student measured. Rounding grows: means of eager epochs of 20 batches that
# differ by nothing else were up to 11 % apart (6 seeds, each with 4 or 5 roundings), and a compiled one was 16 % away.
FAR = 0.3
WARM = 6  # epochs that the steps of a warm-up may take

Row = Mapping[str, Any]
Seen = Mapping[str, Any]
"""What a recording backend noted: `built`, a list of {kind, batch, half}; `runs` by kind; `parameters`; `breaks`."""


@dataclass(frozen=True)
class Script:
    """What the clock was told: seconds until all batches arrived, of one, of a pass, of the first, and of a build."""

    samples: int
    batches: int
    wait: float
    fetch: float
    """The longest."""
    eager: float
    compiled: float
    cold: float
    forward: float
    backward: float

    def seconds(self, model: str) -> float:
        """Return how long an epoch takes that was warmed up before."""
        return self.wait + self.batches * (self.eager if model == "Eager" else self.compiled)


def late_build(seen: Seen, batches: int) -> tuple[str, str]:
    """Say what was built in an epoch that was warmed up, and why; or nothing."""
    if not seen["built"]:
        return "", ""
    kind, batch = seen["built"][0]["kind"], seen["built"][0]["batch"]
    measured = f"{len(seen['built'])} built in the epoch, the first a {kind} graph at batch {batch + 1} of {batches}"
    if kind == "backward":
        return measured, "the warm-up had no backward pass with gradients in these modes"
    if batch == batches - 1:
        return measured, "the last batch has fewer samples, a shape that the warm-up left out"
    return (
        measured,
        "the warm-up was in another mode (eval, no_grad, no autocast), or there was none",
    )


def graph_problem(
    noted: Seen,
    runs: Mapping[str, int],
    calls: int,
    *,
    built: int = 0,
    builds: int = 0,
    parameters: int = 0,
) -> tuple[str, str]:
    """Say how calls did not run one graph each, of all *parameters*, and why; or nothing.

    *runs* counts the graphs of each kind that ran. *built* were made, and *builds* are enough, where they are counted.
    """
    ran = " and ".join(f"{count} {kind}" for kind, count in runs.items())
    measured = f"{ran} graphs ran in {calls} calls" + f", {built} were built" * (builds > 0)
    took = f"; a graph takes {noted['parameters']} of {parameters} parameters"
    eager = "nothing that was compiled ran: it is used as it is, or another backend was asked"
    pieces = "the model is compiled in pieces, or a part of the batches is not"
    problems = (
        (noted["breaks"], f"Python has to look at the data: {''.join(noted['breaks'][:1])}"),
        (not sum(runs.values()), eager),
        (built > builds, "it is built again: a number of Python's that changes is in the graph"),
        (set(runs.values()) != {calls}, pieces),
        (noted["parameters"] < parameters, f"only a part of the model is compiled{took}"),
        (built < builds, "one graph serves several sizes, as by default from the second size on"),
    )
    return next(((measured, why) for wrong, why in problems if wrong), ("", ""))


def whole_problem(noted: Seen, batches: int, parameters: int, *, half: bool) -> tuple[str, str]:
    """Say how an epoch was not one forward and one backward graph for each batch, or nothing."""
    runs = {kind: noted["runs"][kind] for kind in ("forward", "backward")}
    measured, why = graph_problem(noted, runs, batches, parameters=parameters)
    if not why and half != any(one["half"] for one in noted["built"]):
        state = "in half precision" if not half else "in float32, or in float16"
        why = "autocast follows use_amp, in the warm-up as in the epoch"
        measured = f"{runs['forward']} graphs ran; convolutions {state}"
    return measured, why


def row_problem(rows: Sequence[Row]) -> str:
    """Say what is wrong with the form of the two rows, or how they contradict themselves."""
    odd = RESULTS.problem(rows) or next(
        (why for row in rows if (why := _odd_speedup(row, rows[0]))), ""
    )
    if odd:
        return odd
    if rows[0]["compile_s"] != 0:
        return f"compile_s of Eager is {rows[0]['compile_s']:.4g}, and nothing is compiled there: 0"
    if not rows[1]["compile_s"] > 0:
        return "compile_s of Compiled is not above 0: the cold start is missing"
    if not close(rows[1]["loss"], rows[0]["loss"], FAR):
        return (
            "the two losses are far apart, and both train from the same weights on the same batches"
        )
    return ""


def _odd_speedup(row: Row, eager: Row) -> str:
    ratio = row["throughput"] / eager["throughput"]
    if not table.alike(row["speedup"], ratio):
        return f"speedup of {row['model']} is {row['speedup']:.4g}, but its throughput / Eager's is {ratio:.4g}"
    return ""


def figure_problem(rows: Sequence[Row], trusted: Row) -> str:
    """Say where what has nothing to do with time differs from *trusted*, the row of the eager model."""
    for row in rows:
        if not close(row["loss"], trusted["loss"], EXACT):
            told = f"loss of {row['model']} is {row['loss']:.6g}"
            return f"{told}; an epoch from fresh weights gives {trusted['loss']:.6g}"
        if row["device"].strip() != trusted["device"].strip():
            return f"the device is called {row['device'][:60]!r}, and its name is {trusted['device']!r}"
    return ""


def time_problem(rows: Sequence[Row], script: Script) -> str:
    """Say how throughput or epoch_time differ from what the clock showed."""
    for row in rows:
        seconds, told = script.seconds(row["model"]), f"of {row['model']} is"
        if not close(row["throughput"], script.samples / seconds, PACE):
            why = explained(row["throughput"], _rates(script, row["model"]), PACE) or _slower(
                row, script
            )
            return f"throughput {told} {row['throughput']:.4g} samples/s: {why}"
        if not close(row["epoch_time"], seconds, WHOLE):
            return f"epoch_time {told} {row['epoch_time']:.4g} s, and {seconds:.4g} s passed"
    return ""


def _rates(script: Script, model: str) -> list[tuple[float, str]]:
    seconds, other = script.seconds(model), MODELS[model == "Eager"]
    late = "in the measured epoch: warm up with"
    return [
        (
            script.samples / (seconds + script.cold),
            "it includes the slow first pass: warm up before",
        ),
        (script.samples / (seconds - script.wait), "it leaves out the wait for data"),
        (script.samples / script.seconds(other), f"it is the pace of {other}"),
        (
            script.samples / (seconds + script.backward),
            f"the backward graph was built {late} complete steps",
        ),
        (
            script.samples / (seconds + script.forward + script.backward),
            f"a forward and a backward graph were built {late} every shape, in the same modes",
        ),
    ]


def _slower(row: Row, script: Script) -> str:
    rate = script.samples / script.seconds(row["model"])
    building = row["model"] == "Compiled" and row["throughput"] < rate / 2
    return "it includes builds: warm up before" if building else f"it was {rate:.4g} samples/s"


def cold_problem(
    told: float, script: Script, built: Sequence[Mapping[str, Any]], measured: float
) -> str:
    """Say how compile_s is not the time of the warm-up, whose builds were seen; the last epoch began at *measured*."""
    cost = {"forward": script.forward, "backward": script.backward}
    least = max(script.forward + script.backward, sum(cost.get(one["kind"], 0.0) for one in built))
    most = least + WARM * script.seconds("Eager") + script.cold
    if least * (1 - PACE) <= told <= most * (1 + PACE):
        # Before its first build a warm-up looks through the loader at most once.
        until = (
            measured - min(one["at"] for one in built) + script.wait + script.fetch
            if built
            else told
        )
        if told <= until * (1 + EXACT):
            return ""
        return f"compile_s of Compiled is {told:.4g} s, and holds the measured epoch: it ends where the warm-up does"
    stories = [(1000 * least, "it is in milliseconds"), (least / 60, "it is in minutes")]
    why = explained(told, stories, 0.2) or (
        "it leaves out builds" if told < least else "it holds more than a warm-up"
    )
    return f"compile_s of Compiled is {told:.4g} s, and the builds took {least:.4g} s: {why}"


def mode_problem(eager: Mapping[str, int], built: Sequence[Mapping[str, Any]], batches: int) -> str:
    """Say which of the two epochs did not follow use_amp; *eager* are passes by their dtype."""
    ran = "with use_amp=True {} ran in {}, in its warm-up or its epoch, and not in bfloat16"
    others = [dtype for dtype, count in eager.items() if count and dtype != "bfloat16"]
    if others or eager.get("bfloat16", 0) < batches:
        return ran.format("Eager", " and ".join(others) or "other batches only")
    return (
        ""
        if built and all(one["half"] for one in built)
        else ran.format("Compiled", "another precision")
    )
