"""Judges points of a fast training loop: batch size, groups of batches; and a run that has them all.

Each says what was measured and why it is wrong; nothing is wrong where the second is empty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autograder.checks import configurations, numerics
from autograder.checks.numerics import close, explained, shown
from autograder.model import Pair

Found = tuple[str, str]
"""What was measured, and what is wrong with it."""

SAME = 1e-4  # losses absolutely, updates relative to their norm: the same sums in another order


def fits(searches: Sequence[Mapping[str, Any]], other: str) -> Found:
    """Look at searches for the largest batch: the first half of a half that fits; *other* errors go through."""
    for it in searches:
        size = it["step"]
        while size > it["limit"] and size % 2 == 0:
            size //= 2
        if it["found"] != (size if size <= it["limit"] else None):
            found = "an error" if it["found"] is None else shown(it["found"])
            measured = f"{found} of a step of {it['step']}, where {it['limit']} samples fit"
            if size > it["limit"]:
                return measured, f"{size} is odd and does not fit, so its error goes through"
            return measured, f"{size} is the first of step, step / 2, step / 4 ... that fits"
    if other != "RuntimeError":
        why = "an error that is none of memory has to go through: a smaller batch does not mend it"
        return f"an attempt that is wrong raised {other or 'nothing'}", why
    return f"{len(searches)} limits of memory", "" if searches else "none was searched"


def grouped(pair: Pair) -> Found:
    """Compare steps of groups of batches with those of large batches."""
    got, want = pair.student.arrays["losses"], pair.baseline.arrays["losses"]
    if problem := numerics.misshapen(got, want, "step"):
        return problem, "losses holds the mean loss of each step"
    apart, moved = numerics.furthest(got, want), numerics.update(pair).error
    measured = f"losses of the steps apart by {apart:.1e}, the update by {moved:.1e} of its norm (allowed {SAME:.0e})"
    if not moved <= SAME:
        other = "or another criterion than the one handed in"
        return (
            measured,
            f"a step for each batch, a sum where a mean belongs, gradients from before, {other}",
        )
    if not apart <= SAME:
        return measured, "the steps are right, and losses is not the mean over the batches of each"
    calls, batches = pair.student.values["called"], pair.baseline.values["called"]
    return (
        (measured, "")
        if calls == batches
        else (f"on_step: {calls} calls", f"one after each of {batches} batches")
    )


def worked(pair: Pair, epochs: int, within: float) -> Found:
    """Compare a whole run with the baseline's: samples, steps, and the losses of the epochs."""
    told, samples = pair.student.values["told"], epochs * pair.baseline.values["script"]["samples"]
    for name, right in (("samples", samples), ("steps", epochs)):
        if told[name] != right:
            return (
                f"{name} is {shown(told[name])}",
                f"{epochs} epochs of one step each have {right}",
            )
    got, want = pair.student.arrays["losses"], pair.baseline.arrays["losses"]
    if problem := numerics.misshapen(got, want, "epoch"):
        return problem, "losses holds the mean loss of each epoch"
    apart = numerics.furthest(got, want)
    measured = f"losses of the epochs apart by {apart:.1e} (allowed {within:.0e})"
    if not apart <= within:
        return (
            measured,
            "another training: warmed-up weights (a state_dict() is no copy), or a warmed-up optimizer, or other steps",
        )
    right = close(told["loss"], float(got[-1]), 1e-3)
    return (
        measured,
        "" if right else f"loss is {shown(told['loss'])}, and the last of losses {got[-1]:.4g}",
    )


def paced(pair: Pair, epochs: int, once: str) -> Found:
    """Compare the figures of a whole run with what passed on a scripted clock; *once* is a part of the warm-up."""
    seen, known = pair.student.values, pair.baseline.values
    told, script = seen["told"], configurations.Script(**seen["script"])
    measured = f"throughput {shown(told['throughput'])} samples/s, warm_up_s {shown(told['warm_up_s'])} s (scripted)"
    if told["batch_size"] != seen["size"]:
        return (
            f"batch_size is {shown(told['batch_size'])}",
            f"{seen['size']} is what fits, of those asked for",
        )
    if seen["device"].strip() != known["device"].strip():
        return f"device {seen['device'][:60]!r}", f"it is called {known['device']!r}"
    if not close(told["seconds"], epochs * script.seconds, configurations.WHOLE):
        took = epochs * script.seconds
        late = f"; {script.once:.3g} s more: {once} is timed; warm up what is timed, compiled in the same way"
        along = ": one of them is profiled, which slows it; record one more"
        stories = [(script.seconds, ": it is of one epoch"), (took + script.once, late)]
        stories += [(took + script.batches * script.once, along)]
        words = explained(told["seconds"], stories, configurations.WHOLE)
        return f"seconds is {shown(told['seconds'])}", f"{epochs} epochs took {took:.4g} s{words}"
    each = {name: told[name] and told[name] / epochs for name in ("seconds", "data_wait")}
    figures = {
        "throughput": told["throughput"],
        "epoch_time": each["seconds"],
        "data_wait": each["data_wait"],
    }
    if why := configurations.pace_problem(figures, script):
        own = close(
            told["throughput"], (told["samples"] or 0) / (told["seconds"] or 1), configurations.PACE
        )
        return (
            measured,
            why if own or ":" in why else f"{why}, and it is samples / seconds of all timed epochs",
        )
    within = (
        told["warm_up_s"] is not None
        and 0.98 * script.once <= told["warm_up_s"] <= 10 * script.once
    )
    return (
        measured,
        "" if within else f"what happens once took {script.once:g} s, and belongs to the warm-up",
    )


OTHER_ROWS = (
    "rows of another table (ranges have Instances, too), or some left out: names hold commas"
)
ODD = {
    "launches": f"the Instances of each kernel add up; else {OTHER_ROWS}",
    "waiting_calls": "every call with Synchronize in its name counts, of the stream, the device, an event",
    "copy_to_gpu_ms": "copies back to the host do not count, and older versions write HtoD for Host-to-Device",
}


def counted(told: Sequence[Mapping[str, Any]], known: Sequence[Mapping[str, float]]) -> Found:
    """Compare what was read from texts of nsys stats with what is known of them."""
    for seen, right in zip(told, known, strict=False):
        for name, number in right.items():
            if not close(seen[name], number, 1e-6):
                units = {1e6: "nanoseconds", 1e3: "microseconds", 1e-3: "seconds"}
                stories = [(factor * number, f"it is in {unit}") for factor, unit in units.items()]
                words = explained(seen[name], stories, 1e-6) or ODD.get(name, OTHER_ROWS)
                return f"{name} is {shown(seen[name])}, and {number:.6g} is right", words
    return f"{len(told)} made texts", "" if len(told) == len(known) else f"{len(known)} were given"


def shared(told: Sequence[float | None], known: Sequence[float]) -> Found:
    """Compare shares of work with those of made profiles."""
    for value, right in zip(told, known, strict=False):
        if not close(value, right, 1e-3):
            stories = [
                (right / 100, "that is the fraction, and it must be in percent"),
                (100 - right, "that is the rest"),
            ]
            words = explained(value, stories, 1e-3)
            words = (
                words
                or "durations added up, another window, or the loader's operators counted as work"
            )
            return f"{shown(value)} % of a made profile, and {right:.4g} % is right", words
    return f"{len(told)} made profiles", "" if len(told) == len(
        known
    ) else f"{len(known)} were given"
