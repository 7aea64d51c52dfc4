"""Judges what torch.compile built and when, and a table of an eager and a compiled epoch on a scripted clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autograder.checks import slips
from autograder.checks.forms import (
    DEVICE,
    Form,
    Row,
    any_number,
    not_negative,
    positive,
    ratio,
    words,
)
from autograder.checks.graphs import Seen, graph_problem
from autograder.checks.numerics import close, explained
from autograder.checks.slips import PACE, Epoch

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
    """Say how two rows in the right form cannot be of an eager and a compiled epoch."""
    if rows[0]["compile_s"] != 0:
        return f"compile_s of Eager is {rows[0]['compile_s']:.4g}, and nothing is compiled there: 0"
    if not rows[1]["compile_s"] > 0:
        return "compile_s of Compiled is not above 0: the cold start is missing"
    if not close(rows[1]["loss"], rows[0]["loss"], FAR):
        return (
            "the two losses are far apart, and both train from the same weights on the same batches"
        )
    return ""


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
    late = "in the measured epoch: warm up with"
    both = script["forward"] + script["backward"]
    for row, epoch, other in zip(rows, epochs, reversed(epochs), strict=True):
        usual = [
            (other.rate, f"it is the pace of {'Eager' if epoch is epochs[1] else 'Compiled'}"),
            (
                epoch.samples / (epoch.seconds + script["backward"]),
                f"the backward graph was built {late} complete steps",
            ),
            (
                epoch.samples / (epoch.seconds + both),
                f"a forward and a backward graph were built {late} every shape, in the same modes",
            ),
            *epoch.slips(),
        ]
        building = epoch is epochs[1] and row["throughput"] < epoch.rate / 2
        otherwise = "it includes builds: warm up before" if building else ""
        if epoch is epochs[1] and not built:
            otherwise = "nothing was built by the backend that is handed in"
        if wrong := slips.time_problem(RESULTS, row, epoch, usual, PACE, otherwise):
            return wrong
    return ""


def cold_problem(
    told: float,
    eager: Epoch,
    script: Mapping[str, Any],
    built: Sequence[Mapping[str, Any]],
    measured: float,
) -> str:
    """Say how compile_s is not the time of the warm-up, whose builds were seen; the last epoch began at *measured*."""
    cost = {name: script[name] for name in ("forward", "backward")}
    least = max(sum(cost.values()), sum(cost.get(one["kind"], 0.0) for one in built))
    most = least + WARM * eager.seconds + eager.cold
    if least * (1 - PACE) <= told <= most * (1 + PACE):
        # Before its first build a warm-up looks through the loader at most once.
        until = (
            measured - min(one["at"] for one in built) + eager.wait + script["fetch"]
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
