"""Reads a profile that a student handed in, behind the fence, and judges what a report says of it."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from autograder.errors import SubmissionError
from autograder.model import Failed, Passed, Text, Verdict
from autograder.records import from_json
from autograder.sandbox import evaluate
from autograder.traces import figures_claimed
from autograder.traces.events import STEP
from autograder.traces.nsys_stats import EDITED
from autograder.traces.record import Trace
from autograder.traces.words import many, shown, titled

BYTES = 64 * 1024 * 1024
# As the rig of resnet18's part 1 notes them.
EARLY = "prof.step before a batch"
WARM_UP = "warm-up"


@lru_cache(maxsize=4)  # several checks read one file
def read(data: bytes, file: str) -> Trace:
    """Read a profile in a process of its own."""
    if len(data) > BYTES:
        raise SubmissionError(
            f"{file}: {len(data)} bytes; at most {BYTES} are read; record fewer steps"
        )
    return decoded(evaluate("autograder.traces", data, file))


def decoded(said: bytes) -> Trace:
    """Take what the reader's process printed."""
    answer = json.loads(said)
    if "error" in answer:
        raise SubmissionError(answer["error"])
    return from_json(Trace, answer["trace"])


def agrees(trace: Trace, quantity: str, value: float, *, try_: str) -> Passed | Failed:
    """Pass a number that the profile gives under some accepted definition; else say which mistake it looks like."""
    return _borne_out(figures_claimed.compare(trace, quantity, value), try_)


def _borne_out(finding: figures_claimed.Finding, try_: str) -> Passed | Failed:
    if finding.holds:
        return Passed(finding.words, {"definition": finding.definition})
    return Failed(finding.words, finding.why, try_)


def has_gpu(trace: Trace) -> bool:
    """Whether the work of a GPU is in it, be it sums alone."""
    return any(trace.figure(name) is not None for name in ("busy_any", "kernel_count", "h2d_time"))


def in_short(trace: Trace, quantity: str) -> str:
    """Say what the profile knows of a quantity, in a few words, or nothing."""
    first = next(figures_claimed.accepted(trace, quantity), None)
    return f"{shown(first.value, first.unit)} ({titled(first)})" if first else ""


def names_top(trace: Trace, named: Sequence[str], *, try_: str) -> Verdict:
    """Pass names that lead some table of the profile: kernels, operators by own time or by GPU work, and so on."""
    return _borne_out(figures_claimed.compare_top(trace, named), try_)


def recorded(trace: Trace, steps: int, passed_over: int, ranges: Sequence[str] = ()) -> str:
    """Say how a profile is not of so many steps after those passed over, with each range once a step; or nothing."""
    numbers = [int(match[1]) for step in trace.steps if (match := STEP.fullmatch(step.id))]
    if len(numbers) != steps:
        reasons = [note for note in trace.notes if not note.startswith("recorded without a GPU")]
        reason = f": {reasons[0].partition(':')[0]}" if reasons and not numbers else ""
        return f"it holds {many(len(numbers), 'step')}, expected {steps}{reason}"
    if numbers != list(range(passed_over, passed_over + steps)):
        asked = f"{passed_over} to {passed_over + steps - 1}"
        return f"its steps are {numbers[0]} to {numbers[-1]}; expected are {asked}"
    counts = {row.name: row.count for row in trace.rows("ranges")}
    odd = next((name for name in ranges if counts.get(name, 0) != steps), None)
    if odd is not None:
        return f"it holds the range '{odd}' {counts.get(odd, 0)} times in {steps} steps"
    return "" if trace.figure("dataloader", "steps") else "it holds no wait for a DataLoader"


def of_another(
    trace: Trace,
    least: int,
    ranges: Sequence[str],
    convolutions: int,
    *,
    workers: bool,
) -> str:
    """Say how a profile is not of a script: *least* steps, its ranges once a step, its network, its loader; or nothing.

    Whether a DataLoader has workers is seen in what torch.profiler writes.
    """
    steps = len(trace.steps)
    counts = {row.name: row.count for row in trace.rows("ranges")}
    note = f": {trace.notes[0]}" if trace.notes else ""
    if steps < least:
        return f"it holds {many(steps, 'step')}, expected at least {least}{note}"
    odd = next(
        (name for name in ranges if abs(counts.get(name, 0) - steps) > 1),
        None,
    )
    if odd is not None:
        return f"it holds the script's range '{odd}' {counts.get(odd, 0)} times in {steps} steps"
    return _another_loader(trace, counts, workers=workers) or another_network(trace, convolutions)


def _another_loader(trace: Trace, ranges: Collection[str], *, workers: bool) -> str:
    if not trace.figure("dataloader", "steps"):
        return "it holds no wait for a DataLoader"
    has_workers = any("_MultiProcessing" in name for name in ranges)
    if has_workers and not workers:
        return "its DataLoader has workers, and the script's has none: profile it as it is"
    return (
        "its DataLoader has no workers"
        if workers and not has_workers and trace.tool == "kineto"
        else ""
    )


def another_network(trace: Trace, convolutions: int) -> str:
    """Say that a network of so many convolutions was not what was profiled."""
    steps = len(trace.steps)
    operators = {row.name: row.count for row in trace.rows("operators")}
    backward = operators.get("aten::convolution_backward", 0)
    if operators and abs(backward - convolutions * steps) > convolutions:
        return f"its network has {backward / steps:.3g} convolutions a step, and the script's has {convolutions}"
    return ""


def fewer_waits(before: Text, after: Text) -> tuple[str, str]:
    """Compare how often the host waited, as two outputs of nsys stats have it: what was measured, and what is wrong."""
    calls = []
    for text in (before, after):
        try:
            stats = read(text.text.encode(), text.file)
        except SubmissionError as error:
            return f"{text.file} cannot be read", str(error)
        if (
            stats.tool != "nsys stats"
            or not stats.figure("kernel_count")
            or stats.figure("sync_count") is None
        ):
            why = "it lists no kernels, or no calls (cuda_gpu_kern_sum, cuda_api_sum)"
            return f"{text.file} is of {stats.tool}", why
        if EDITED in stats.notes:
            return f"{text.file} contradicts itself", EDITED
        calls.append(stats.figure("sync_count") or 0.0)
    why = "the host waits as often as before"
    if calls[1] > calls[0]:
        why = "the host waits more often after than before: usually the two files are swapped"
    return (
        f"{calls[0]:g} waiting calls before, {calls[1]:g} after",
        "" if calls[1] < calls[0] else why,
    )


def consists_of(trace: Trace) -> dict[str, Any]:
    """Note what the time of a profile consists of, which the feedback page draws."""
    return {
        "breakdown": {
            name: [[piece.name, piece.ns] for piece in slices]
            for name, slices in trace.breakdown.items()
        }
    }


def work_of(trace: Trace) -> Trace:
    """Leave out the tables of what is no operator or kernel: ranges, calls, copies."""
    kept = ("kernels", "operators", "device operators")
    return replace(
        trace,
        tables={name: rows for name, rows in trace.tables.items() if name in kept},
    )
