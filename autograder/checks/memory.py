"""Judges memory by the peaks that the supervisor saw from outside, beside those of the baseline."""

from __future__ import annotations

from autograder.model import Bar, Device, Failed, Pair, Passed, Unavailable, Verdict

MB = 1e6
IMPORTS = 96 * MB  # what a student's libraries may add to an idle worker
LEAST = 16 * MB  # of the baseline's peak: below it, the process counts for more than the work
NO_GPU = "memory of a GPU is not measured from outside yet"


def beyond(run: Pair, idle: Pair) -> tuple[float, float]:
    """Return the bytes that the student's side and the baseline's needed on top of an idle worker's."""
    before = min(idle.student.peak_bytes, idle.baseline.peak_bytes + IMPORTS)
    return max(0.0, run.student.peak_bytes - before), run.baseline.peak_bytes - idle.baseline.peak_bytes


def at_least_less(run: Pair, bar: Bar, device: Device, *, why: str, try_: str) -> Verdict:
    """Pass when the baseline's peak is at least `bar` times the student's; without such figures nobody is judged."""
    student, baseline = run.student.peak_bytes, run.baseline.peak_bytes
    if device.kind != "cpu":
        return Unavailable(NO_GPU)
    if baseline < LEAST or not student:
        return Unavailable(f"{baseline / MB:.1f} MB of the baseline's are too little to compare")
    peaks = f"{student / MB:.0f} MB, the baseline {baseline / MB:.0f} MB"
    measured = f"{baseline / student:.2f}x less than the baseline ({peaks}); the bar is {bar}"
    evidence = {"student_peak_bytes": student, "baseline_peak_bytes": baseline, "memory_bar": bar.value}
    return Passed(measured, evidence) if baseline / student >= bar.value else Failed(measured, why, try_, evidence)
