"""Judges memory by the peaks that were seen from outside, beside those of the baseline.

Of a processor those peaks decide. Of a GPU they are what is shown, and a run in less memory decides: a judge returns
`NeedsRoom`, and is asked again with what the student's side answered then.
"""

from __future__ import annotations

from typing import Any

from autograder.checks.numerics import off
from autograder.errors import OwedError
from autograder.model import (
    Bar,
    Device,
    Failed,
    NeedsRoom,
    Observation,
    Pair,
    Passed,
    Unavailable,
    Verdict,
)

CORRECT = "fix the checks of results if one fails"
LARGE = "else compute large inputs as you compute small ones"
MB = 1e6
LEAST = 16 * MB  # of the baseline's peak: below it, the process counts for more than the work
TOO_LITTLE = "{:.1f} MB of the baseline's are too little to compare"
NOT_SEEN = "the use of GPU memory was not observed"


def beyond(run: Pair, idle: Pair) -> tuple[float, float]:
    """Return the bytes that the student's side and the baseline's needed on top of a trusted idle worker's."""
    # What a student's idle worker holds is its own doing: a context and the libraries are as large on both sides.
    if _on_gpu(run):
        context = _gpu_bytes(idle.baseline)
        return max(0.0, _gpu_bytes(run.student) - context), _gpu_bytes(run.baseline) - context
    before = idle.baseline.peak_bytes
    return max(0.0, run.student.peak_bytes - before), run.baseline.peak_bytes - before


def at_most(run: Pair, idle: Pair, allowed: float, measured: str, why: str, try_: str) -> Verdict:
    """Pass a student's side that needs *allowed* bytes on top of an idle worker's; on a GPU ask for such a run."""
    needed, plain = beyond(run, idle)
    evidence: dict[str, Any] = {
        "student_peak_bytes": int(needed),
        "baseline_peak_bytes": int(max(0.0, plain)),
    }
    if allowed > 0:
        evidence["memory_bar"] = plain / allowed
    if not _on_gpu(run):
        if needed <= allowed:
            return Passed(measured, evidence)
        return Failed(measured, why, try_, evidence)
    if plain < LEAST:
        raise OwedError(TOO_LITTLE.format(plain / MB))
    room = int(_gpu_bytes(idle.baseline) + allowed)
    if run.room_bytes == room:
        return Passed(
            f"{measured}; it finished with no more than that left on the GPU",
            evidence,
        )
    measured += f"; with {allowed / MB:.0f} MB left on the GPU it did not finish"
    otherwise = Failed(measured, why, try_, evidence)
    return NeedsRoom(run.student.probe, _gpu_bytes(run.baseline), room, otherwise)


def leaner(
    run: Pair,
    idle: Pair,
    share: float,
    apart: float,
    within: float,
    why: str,
    try_: str,
    first: str = CORRECT,
) -> Verdict:
    """Pass a run in at most a *share* of the baseline's memory, whose results are *apart* by no more than *within*.

    *first* says which checks of results to fix first.
    """
    if not apart <= within:
        measured = f"results on the large inputs of this check are {off(apart, within)}"
        why = "your code returns wrong results, so its memory is not compared"
        return Failed(measured, why, f"{first}; {LARGE}")
    needed, plain = beyond(run, idle)
    taken = f"{needed / MB:.0f} MB where the baseline takes {plain / MB:.0f} MB"
    return at_most(
        run,
        idle,
        share * plain,
        f"{taken}; allowed {share * plain / MB:.0f} MB, {share:.0%} of that",
        why,
        try_,
    )


def at_least_less(
    run: Pair,
    idle: Pair,
    bar: Bar,
    device: Device,
    *,
    why: str,
    try_: str,
) -> Verdict:
    """Pass when the baseline's peak is at least `bar` times the student's; without such figures nobody is judged."""
    if device.kind != "cpu":
        _gpu_bytes(run.baseline)
        needed, plain = beyond(run, idle)
        measured = f"{needed / MB:.0f} MB, the baseline {plain / MB:.0f} MB; the bar is {bar}"
        return at_most(run, idle, plain / bar.value, measured, why, try_)
    student = run.student.peak_bytes
    baseline = run.baseline.peak_bytes
    if baseline < LEAST or not student:
        return Unavailable(TOO_LITTLE.format(baseline / MB))
    peaks = f"{student / MB:.0f} MB, the baseline {baseline / MB:.0f} MB"
    measured = f"{baseline / student:.2f}x less than the baseline ({peaks}); the bar is {bar}"
    evidence = {
        "student_peak_bytes": student,
        "baseline_peak_bytes": baseline,
        "memory_bar": bar.value,
    }
    return (
        Passed(measured, evidence)
        if baseline / student >= bar.value
        else Failed(measured, why, try_, evidence)
    )


def _on_gpu(run: Pair) -> bool:
    return run.baseline.gpu_bytes is not None or bool(run.baseline.gpu_unseen)


def _gpu_bytes(observation: Observation) -> int:
    if observation.gpu_bytes is None:
        raise OwedError(observation.gpu_unseen or NOT_SEEN)
    return observation.gpu_bytes
