"""Judges points of a fast training loop: batch size, groups of batches; and a run that has them all.

Each says what was measured and why it is wrong; nothing is wrong where the second is empty.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from autograder.checks import configurations, numerics
from autograder.checks.configurations import Script
from autograder.checks.numerics import close, explained, shown
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
            why = f"{size} is the first of step, step / 2, step / 4 ... that fits"
            if size > limit:
                why = f"{size} is odd and does not fit, so its error goes through"
            return f"{answer} of a step of {search['step']}, where {limit} samples fit", why
    if other != "RuntimeError":
        why = "an error that is not about memory must go through: a smaller batch does not fix it"
        return f"an attempt that is wrong raised {other or 'nothing'}", why
    return f"{len(searches)} limits of memory", "" if searches else "none was searched"


def grouped(pair: Pair) -> Finding:
    """Compare steps of groups of batches with those of large batches."""
    losses, expected = (side.arrays["losses"] for side in (pair.student, pair.baseline))
    if problem := numerics.misshapen(losses, expected, "step"):
        return problem, "losses holds the mean loss of each step"
    apart, moved = numerics.furthest(losses, expected), numerics.update(pair)
    measured = (
        f"losses of the steps off by {apart:.1e}, "
        f"the update by {moved.error:.1e} of its norm (allowed {SAME:.0e})"
    )
    if not moved.error <= SAME:
        steps, right = (side.values["steps"] for side in (pair.student, pair.baseline))
        why = "gradients from before are in the steps, or another criterion than the given one is used"
        if steps != right:
            taken = f"{steps} steps were taken where {right} are right"
            why = f"{taken}: a group of batches is one step"
        elif moved.ratio > FURTHER:
            far = f"the steps go {moved.ratio:.2g} times as far"
            why = f"{far}: the gradient is a sum and not a mean, or has the scaler's scale in it"
        return measured, why
    if not apart <= SAME:
        return measured, "the steps are right, but losses is not the mean over the batches of each"
    calls, batches = pair.student.values["called"], pair.baseline.values["called"]
    if calls != batches:
        return f"on_step: {calls} calls", f"one after each of {batches} batches"
    waited = pair.student.values["waited"]
    if waited > 1:
        told = f"data_wait is {waited:.3g} s of a loader that never waits (scripted)"
        return told, "it includes on_step(), and only waiting for the loader counts"
    return measured, ""


def worked(pair: Pair, epochs: int, within: float) -> Finding:
    """Compare a whole run with the baseline's: samples, steps, and the losses of the epochs."""
    reported = pair.student.values["reported"]
    script = pair.baseline.values["script"]  # each of its batches is a step
    samples, steps = epochs * script["samples"], epochs * script["batches"]
    batches = epochs * pair.student.values["script"]["batches"]
    for name, expected in (("samples", samples), ("steps", steps)):
        if reported[name] != expected:
            why = f"{epochs} epochs have {expected}"
            if name == "steps" and reported[name] == batches:
                why = f"{batches} are the batches; a group of batches is one step, and {steps} were taken"
            return f"{name} is {shown(reported[name])}", why
    losses, right = (side.arrays["losses"] for side in (pair.student, pair.baseline))
    if problem := numerics.misshapen(losses, right, "epoch"):
        return problem, "losses holds the mean loss of each epoch"
    apart = numerics.furthest(losses, right)
    measured = f"losses of the epochs off by {apart:.1e} (allowed {within:.0e})"
    if not apart <= within:
        why = (
            "a different training: the timed epochs begin with weights or an optimizer that "
            "the warm-up changed, the steps differ, or a loss is not the mean over its epoch"
        )
        return measured, why
    if not close(reported["loss"], float(losses[-1]), 1e-3):
        last = f"the last of losses {losses[-1]:.4g}"
        return measured, f"loss is {shown(reported['loss'])}, and {last}"
    return measured, ""


def paced(pair: Pair, epochs: int) -> Finding:
    """Compare the figures of a whole run with what passed on a scripted clock."""
    run, device = pair.student.values, pair.baseline.values["device"]
    reported, script = run["reported"], Script(**run["script"])
    if reported["batch_size"] != run["size"]:
        why = f"of the sizes to try, {run['size']} is the largest that fits"
        return f"batch_size is {shown(reported['batch_size'])}", why
    if run["device"].strip() != device.strip():
        return f"device {run['device'][:60]!r}", f"it is called {device!r}"
    if not close(reported["seconds"], epochs * script.seconds, configurations.WHOLE):
        why = _seconds_reason(reported["seconds"], script, epochs)
        return f"seconds is {shown(reported['seconds'])}", why
    warm = reported["warm_up_s"]
    measured = (
        f"throughput {shown(reported['throughput'])} samples/s, "
        f"warm_up_s {shown(warm)} s (scripted)"
    )
    if why := _pace_reason(reported, script, epochs):
        return measured, why
    if warm is None or not 0.98 * script.once <= warm <= 10 * script.once:
        return (
            measured,
            f"what happens only once took {script.once:g} s, which belongs to the warm-up",
        )
    return measured, ""


def built_before(pair: Pair, epochs: int, builds: Collection[float]) -> Finding:
    """Look for builds among the seconds of a whole run; whatever else is wrong with them, another run shows."""
    reported, script = pair.student.values["reported"], Script(**pair.student.values["script"])
    took, seconds = epochs * script.seconds, reported["seconds"]
    measured = f"seconds is {shown(seconds)}, and {epochs} epochs took {took:.4g} s (scripted)"
    for build in (*builds, sum(builds)):
        if close(seconds, took + build, configurations.WHOLE):
            why = f"{build:.3g} s more: a build is timed"
            return measured, f"{why}; warm up what is timed, compiled in the same way"
    return measured, ""


def _seconds_reason(seconds: float | None, script: Script, epochs: int) -> str:
    took = epochs * script.seconds
    late = f"; {script.once:.3g} s more: the first pass is timed; warm up what is timed"
    start = f"; {START:.3g} s more for each start of workers: warm up with the loader that is timed"
    along = ": one of them is profiled, which slows it: record one more"
    stories = [
        (script.seconds, ": it is of one epoch"),
        (took + script.once, late),
        (took + START, start),
        (took + epochs * START, f"{start}, one for all epochs"),
        (took + script.batches * script.once, along),
    ]
    story = explained(seconds, stories, configurations.WHOLE)
    return f"{epochs} epochs took {took:.4g} s{story}"


def _pace_reason(reported: Mapping[str, Any], script: Script, epochs: int) -> str:
    """Say which figure of an epoch is wrong; the throughput may be that of all of them, or of something else."""
    rate, seconds = reported["throughput"], reported["seconds"]
    figures = {
        "throughput": rate,
        "epoch_time": seconds and seconds / epochs,
        "data_wait": reported["data_wait"] and reported["data_wait"] / epochs,
    }
    why = configurations.pace_problem(figures, script)
    own = close(rate, (reported["samples"] or 0) / (seconds or 1), configurations.PACE)
    if not why or own or ":" in why:
        return why
    return f"{why}, and it is samples / seconds of all timed epochs"
