"""Judges what torch.compile built and when, and a table of an eager and a compiled epoch on a scripted clock."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from autograder.checks import slips
from autograder.checks.graphs import Seen, graph_problem
from autograder.checks.numerics import close, explained
from autograder.checks.slips import PACE, Epoch
from autograder.checks.table_form import (
    DEVICE,
    Form,
    Row,
    Slip,
    any_number,
    not_negative,
    positive,
    ratio,
    words,
)

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
        ratio("speedup", "throughput", "first throughput"),
        DEVICE,
    ),
    rows=("Eager", "Compiled"),
)
EXACT = 1e-4  # relative: of a loss beside the trusted one; right work was within 2e-7, and the rate is small
# Relative, of losses that a student measured. Rounding grows: means of eager epochs of 20 batches that
# differ by nothing else were up to 11 % apart (6 seeds, each with 4 or 5 roundings), and a compiled one was 16 % away.
FAR = 0.3
WARM = 6  # epochs that the steps of a warm-up may take


OTHER_MODE = "the warm-up was in a different mode (eval, no_grad, no autocast), or there was none"
NO_BACKWARD = "the warm-up had no backward pass with gradients in these modes"
SHORT_BATCH = "the last batch has fewer samples, a shape that the warm-up left out"


def late_build(builds: Seen, batches: int) -> tuple[str, str]:
    """Say what was built in an epoch that was warmed up, and why; or nothing."""
    if not builds["built"]:
        return "", ""
    kind, batch = builds["built"][0]["kind"], builds["built"][0]["batch"]
    measured = (
        f"{len(builds['built'])} graphs built in the epoch, "
        f"the first a {kind} graph at batch {batch + 1} of {batches}"
    )
    why = OTHER_MODE
    if kind == "backward":
        why = NO_BACKWARD
    elif batch == batches - 1:
        why = SHORT_BATCH
    return measured, why


def whole_problem(noted: Seen, batches: int, parameters: int, *, half: bool) -> tuple[str, str]:
    """Say how an epoch was not one forward and one backward graph for each batch, or nothing."""
    runs = {kind: noted["runs"][kind] for kind in ("forward", "backward")}
    measured, why = graph_problem(noted, runs, batches, parameters=parameters)
    if not why and half != any(graph["half"] for graph in noted["built"]):
        state = "in float32, or in float16" if half else "in half precision"
        why = "autocast must follow use_amp, in the warm-up and in the epoch"
        measured = f"{runs['forward']} graphs ran; convolutions {state}"
    return measured, why


def row_problem(rows: Sequence[Row]) -> str:
    """Say how two rows in the right form cannot be of an eager and a compiled epoch."""
    if rows[0]["compile_s"] != 0:
        return (
            f"compile_s of Eager is {rows[0]['compile_s']:.4g}, but must be 0: nothing is compiled"
        )
    if not rows[1]["compile_s"] > 0:
        return "compile_s of Compiled is not above 0: the cold start is missing"
    if close(rows[1]["loss"], rows[0]["loss"], FAR):
        return ""
    return "the two losses are far apart, but both train from the same weights on the same batches"


def figure_problem(rows: Sequence[Row], trusted: Row) -> str:
    """Say where what has nothing to do with time differs from *trusted*, the row of the eager model."""
    losses = (RESULTS.mismatch(row, "loss", trusted["loss"], EXACT) for row in rows)
    if wrong := next(filter(None, losses), ""):
        return f"{wrong} for an epoch from fresh weights"
    return RESULTS.machine_problem(rows, trusted["device"], on_gpu=True)


def time_problem(
    rows: Sequence[Row], epochs: Sequence[Epoch], script: Mapping[str, Any], built: bool = True
) -> str:
    """Say how throughput or epoch_time differ from what the clock showed; a script says what a build takes."""
    eager, compiled = epochs
    otherwise = ""
    if rows[1]["throughput"] < compiled.rate / 2:
        otherwise = "it includes builds: warm up first"
    if not built:
        otherwise = "the backend argument built nothing: pass it on to compile_model"
    of_eager = [(compiled.rate, "it is the speed of Compiled"), *_builds(eager, script)]
    of_compiled = [(eager.rate, "it is the speed of Eager"), *_builds(compiled, script)]
    return slips.time_problem(RESULTS, rows[0], eager, of_eager) or slips.time_problem(
        RESULTS, rows[1], compiled, of_compiled, PACE, otherwise
    )


def _builds(epoch: Epoch, script: Mapping[str, Any]) -> list[Slip]:
    """Return the throughput of an epoch with builds in it, and of the other usual mistakes."""
    late = "in the measured epoch: warm up with"
    back = epoch.seconds + script["backward"]
    both = "a forward and a backward graph were built"
    return [
        (epoch.samples / back, f"the backward graph was built {late} complete steps"),
        (
            epoch.samples / (back + script["forward"]),
            f"{both} {late} every shape, in the same modes",
        ),
        *epoch.slips(),
    ]


def cold_problem(
    reported: float,
    eager: Epoch,
    script: Mapping[str, Any],
    built: Sequence[Mapping[str, Any]],
    measured: float,
) -> str:
    """Say how compile_s is not the time of the warm-up, whose builds were seen; the last epoch began at *measured*."""
    cost = {name: script[name] for name in ("forward", "backward")}
    least = max(sum(cost.values()), sum(cost.get(graph["kind"], 0.0) for graph in built))
    most = least + WARM * eager.seconds + eager.cold
    compile_s = f"compile_s of Compiled is {reported:.4g} s, but"
    if least * (1 - PACE) <= reported <= most * (1 + PACE):
        # Before its first build a warm-up looks through the loader at most once.
        first = min((graph["at"] for graph in built), default=-math.inf)
        if reported <= (measured - first + eager.wait + script["fetch"]) * (1 + EXACT):
            return ""
        return f"{compile_s} that includes the measured epoch: stop its clock after the warm-up"
    stories = [(1000 * least, "it is in milliseconds"), (least / 60, "it is in minutes")]
    why = explained(reported, stories, 0.2)
    why = why or ("it leaves out builds" if reported < least else "it is more than a warm-up")
    return f"{compile_s} the builds took {least:.4g} s: {why}"


def mode_problem(eager: Mapping[str, int], built: Sequence[Mapping[str, Any]], batches: int) -> str:
    """Say which of the two epochs did not follow use_amp; *eager* are passes by their dtype."""
    ran = ""
    others = [dtype for dtype, count in eager.items() if count and dtype != "bfloat16"]
    if others or eager.get("bfloat16", 0) < batches:
        ran = f"Eager ran in {' and '.join(others) or 'other batches only'}"
    elif not (built and all(graph["half"] for graph in built)):
        ran = "Compiled ran in a different precision"
    where = "in its warm-up or its epoch, instead of bfloat16"
    return f"with use_amp=True {ran}, {where}" if ran else ""
