"""Judges points of a fast training loop: batch size, groups of batches; and a run that has them all.

Each says what was measured and why it is wrong; nothing is wrong where the second is empty.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from autograder.checks import configurations, numerics
from autograder.checks.configurations import Script
from autograder.checks.numerics import close, explained, shown
from autograder.checks.table_form import parted, told_wrong
from autograder.labs.gpu_profiling.part6_final.versions import START
from autograder.model import Pair

Finding = tuple[str, str]
"""What was measured, and what is wrong with it."""

FURTHER = 1.5  # times as far go steps of gradients that are added up, or scaled
SAME = 1e-4  # losses absolutely, updates relative to their norm: the same sums in another order


def fits(searches: Sequence[Mapping[str, Any]], other: str) -> Finding:
    """Look at searches for the largest batch: the first half of a half that fits; *other* errors go through."""
    for search in searches:
        limit, size = search["limit"], search["step"]
        while size > limit and size % 2 == 0:
            size //= 2
        if search["largest"] != (size if size <= limit else None):
            answer = "an error" if search["largest"] is None else shown(search["largest"])
            right, why = str(size), "it must be the first of step, step / 2, step / 4 ... that fits"
            if size > limit:
                right, why = (
                    "an error",
                    f"{size} is odd and does not fit: its error must go through",
                )
            gave = f"largest_batch gave {answer} for step {search['step']}"
            return f"{gave} where {limit} samples fit, and {right} is right", why
    if other != "RuntimeError":
        why = "an error that is not about memory must go through: a smaller batch does not fix it"
        came = f"raised {other}" if other else "did not raise this error at once"
        return f"attempt raised RuntimeError; largest_batch {came}", why
    return f"{len(searches)} limits of memory", "" if searches else "none was searched"


def grouped(pair: Pair) -> Finding:
    """Compare steps of groups of batches with those of large batches."""
    losses, expected = (side.arrays["losses"] for side in (pair.student, pair.baseline))
    if problem := numerics.misshapen(losses, expected, "step"):
        return problem, "losses must hold the mean loss of each step"
    apart, moved = numerics.furthest(losses, expected), numerics.update(pair)
    measured = (
        f"losses of the steps off by {apart:.1e}; "
        f"the change of the weights is {numerics.off(moved.error, SAME)}"
    )
    if not moved.error <= SAME:
        steps, right = (side.values["steps"] for side in (pair.student, pair.baseline))
        why = "the first loss is right, the weights are not: usually old gradients are in the steps"
        if abs(losses[0] - expected[0]) > SAME:
            why = "the loss of the first step differs already: usually the criterion is another"
        trained, batches = (side.values["passes"] for side in (pair.student, pair.baseline))
        if steps != right:
            measured = f"{steps} steps of the optimizer were taken, and {right} are right"
            why = "each group of batches must be one step"
            if trained < batches:
                why = f"only {trained} of {batches} batches are trained on"
        elif moved.ratio > FURTHER:
            measured = f"the steps go {moved.ratio:.2g} times as far as they should"
            why = "usually the gradient is a sum and not a mean, or holds the scaler's scale"
        return measured, why
    if not apart <= SAME:
        return measured, "the steps are right, but losses is not the mean over the batches of each"
    calls, batches = pair.student.values["called"], pair.baseline.values["called"]
    if calls != batches:
        called = f"on_step was called {calls} times in {batches} batches"
        return called, "on_step must be called once after each batch"
    waited = pair.student.values["waited"]
    if waited > 1:
        told = f"data_wait is {waited:.3g} s, and 0 s is right: this loader never waits (scripted)"
        return told, "data_wait includes on_step(), and only waiting for the loader counts"
    return measured, ""


def worked(pair: Pair, epochs: int, within: float) -> Finding:
    """Compare a whole run with the baseline's: samples, steps, and the losses of the epochs."""
    reported = pair.student.values["reported"]
    script = pair.baseline.values["script"]  # each of its batches is a step
    samples, steps = epochs * script["samples"], epochs * script["batches"]
    batches = epochs * pair.student.values["script"]["batches"]
    for name, expected in (("samples", samples), ("steps", steps)):
        if reported[name] != expected:
            photos = pair.student.values["photos"]
            if photos not in (None, script["samples"]):
                told = (
                    f"make_photos({shown(photos)}) was called, and --samples is {script['samples']}"
                )
                return told, "the data set must be as large as --samples says"
            why = f"{name} must be those of all {epochs} timed epochs, and no others"
            if name == "steps" and reported[name] == batches:
                why = "your code counts batches as steps; each group of batches is one step"
            return f"{name} is {shown(reported[name])}, and {expected} is right", why
    losses, right = (side.arrays["losses"] for side in (pair.student, pair.baseline))
    if problem := numerics.misshapen(losses, right, "epoch"):
        return problem, "losses must hold the mean loss of each epoch"
    apart = numerics.furthest(losses, right)
    measured = f"losses of the epochs off by {apart:.1e} (allowed {within:.0e})"
    if not apart <= within:
        why = (
            "a different training: usually the timed epochs begin with weights or an optimizer "
            "that the warm-up changed"
        )
        if numerics.furthest(losses, np.array(pair.baseline.values["last"])) <= within:
            why = "losses holds the loss of the last step of each epoch"
        return measured, why
    if not close(reported["loss"], float(losses[-1]), 1e-3):
        told = f"loss is {shown(reported['loss'])}, and {losses[-1]:.4g} is right"
        return told, "loss must be the last of losses"
    return measured, ""


def paced(pair: Pair, epochs: int) -> Finding:
    """Compare the figures of a whole run with what passed on a scripted clock."""
    run, device = pair.student.values, pair.baseline.values["device"]
    reported, script = run["reported"], Script(**run["script"])
    if reported["batch_size"] != run["size"]:
        told = f"batch_size is {shown(reported['batch_size'])}, and {run['size']} is right"
        return told, "batch_size must be the largest that fits"
    if run["device"].strip() != device.strip():
        told = f"device is {run['device'][:60]!r}, and {device!r} is right"
        return told, "device must be what given.device_name says"
    if not close(reported["seconds"], epochs * script.seconds, configurations.WHOLE):
        took = epochs * script.seconds
        told = f"seconds is {shown(reported['seconds'])}, and {took:.4g} is right (scripted)"
        return told, _seconds_reason(reported["seconds"], script, took, epochs)
    warm = reported["warm_up_s"]
    if why := _pace_reason(reported, script, epochs):
        figure, cause = parted(why)
        return figure, cause or why
    measured = f"warm_up_s is {shown(warm)} s (scripted)"
    if warm is None or not 0.98 * script.once <= warm <= 10 * script.once:
        least = f"{measured}, and what happens only once took {script.once:g} s"
        return least, "warm_up_s must be the time before the first timed epoch"
    return measured, ""


def built_before(pair: Pair, epochs: int, builds: Collection[float]) -> Finding:
    """Look for builds among the seconds of a whole run; whatever else is wrong with them, another run shows."""
    reported, script = pair.student.values["reported"], Script(**pair.student.values["script"])
    took, seconds = epochs * script.seconds, reported["seconds"]
    measured = f"seconds is {shown(seconds)}, and {epochs} epochs took {took:.4g} s (scripted)"
    for build in (*builds, sum(builds)):
        if close(seconds, took + build, configurations.WHOLE):
            return measured, f"{build:.3g} s more: a build of the compiler is timed"
    return measured, ""


def _seconds_reason(seconds: float | None, script: Script, took: float, epochs: int) -> str:
    stories = [
        (script.seconds, "seconds is of one epoch"),
        (took + script.once, f"{script.once:.3g} s more: the first pass is timed"),
        (took + START, f"{START:.3g} s more: a start of workers is timed"),
        (took + epochs * START, f"{START:.3g} s more in each epoch: starts of workers are timed"),
        (took + script.batches * script.once, "a timed epoch is profiled, which slows it"),
    ]
    why = f"seconds must be the time of all {epochs} timed epochs, and of nothing else"
    return explained(seconds, stories, configurations.WHOLE) or why


def _pace_reason(reported: Mapping[str, Any], script: Script, epochs: int) -> str:
    """Say which figure of an epoch is wrong; the throughput may be that of all of them, or of something else."""
    if not (script.batches > 0 <= script.once and script.seconds > script.wait >= 0):
        return "what was noted of a run is of no epoch: usually your code changed it"
    rate, seconds = reported["throughput"], reported["seconds"]
    figures = {
        "throughput": rate,
        "epoch_time": seconds and seconds / epochs,
        "data_wait": reported["data_wait"] and reported["data_wait"] / epochs,
    }
    if close(rate, 2 * script.rate, configurations.PACE):
        right = f"{shown(script.rate)} samples/s is right"
        return told_wrong(f"throughput is {shown(rate)}", "it is twice samples / seconds", right)
    why = configurations.pace_problem(figures, script)
    own = close(rate, (reported["samples"] or 0) / (seconds or 1), configurations.PACE)
    if not why or own or ":" in why:
        return why
    figure, _, right = why.partition(" where ")
    return f"{figure}: throughput must be samples / seconds of all timed epochs ({right})"
