"""Judges of part 2: what a process says of its steps, beside the script of its clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autograder.checks.numerics import close, explained, shown
from autograder.checks.table_form import DEVICE, Form, Row, count, positive
from autograder.labs.distributed.part2_communication.stories import FIGURES, WARMUP

LINK = Form(
    "allreduce_times.csv",
    (
        count("bytes", "size of the tensor"),
        positive("ms", "the largest of all ranks' medians of the calls", "ms"),
        positive(
            "bus_gb_s",
            "2 (n - 1) / n x `bytes` / time: what each of n processes sends in a ring",
            "GB/s",
        ),
        DEVICE,
    ),
)
WITHIN = 2e-3  # relative: each reading of the clock takes a microsecond
POINTS = 0.3  # of a percentage
LEAST, SPAN = 4, 256  # sizes handed in, and how many times as large the largest is
MOST = 1024  # processes
RANKS = 2  # processes of a step
WORLD = 3  # processes of the link: with two, 2 (n - 1) / n is 1
BUS = "bus_gb_s must be 2 (n - 1) / n x bytes / time, in 1e9 bytes a second; here n is 3"
BITS, GIBI = "your bandwidth is in bits, not in bytes", "your GB has 2**30 bytes, not 1e9"
NO_FACTOR = "your bus_gb_s is bytes / time; with 3 processes it is 4 / 3 of that"
NO_SHARE = "your bus_gb_s is 2 x bytes / time, without (n - 1) / n; here n is 3"
BUS_SLIPS = [
    (1e9 / 2**30, GIBI),
    (8.0, BITS),
    (WORLD / 2 / (WORLD - 1), NO_FACTOR),
    (WORLD / (WORLD - 1), NO_SHARE),
]
NOT_ALONE = "ms must be the median of `repeats` calls of all_reduce, and of nothing else"
UNDONE = 0.01  # ms: the clock has shown no work, only its own readings
NOT_WAITED = "your clock stops when the call returns, before its work is done"
FOURFOLD = "your tensor has a number for each byte, and four bytes are one number"
SEVERAL = "your code counts the calls of several steps"
BYTES = "bytes must be the sum of the bytes of the calls"
EXACT = 1e-9
UNLIKE = "each rank returns its own times, not the largest median"
LINKED = {
    "different rows": "all_reduce the medians with ReduceOp.MAX, then compute bus_gb_s of them",
    **dict.fromkeys(
        ("bus_gb_s must be", NO_FACTOR, NO_SHARE),
        "2 * (world - 1) / world * size / seconds / 1e9, with world = dist.get_world_size()",
    ),
    GIBI: "divide by 1e9",
    BITS: "leave out the factor 8",
    "barrier's time": "call dist.barrier() before the clock starts",
    "time.time()": "read time.perf_counter()",
    "in seconds": "multiply by 1e3",
    **dict.fromkeys(
        ("faster rank", "over ranks", "slowest rank"),
        "take each rank's median, then dist.all_reduce it with op=dist.ReduceOp.MAX",
    ),
    **dict.fromkeys(
        ("the mean,", "fastest call", "larger middle"), "statistics.median of a rank's times"
    ),
    FOURFOLD: "torch.zeros(size // 4)",
    NOT_WAITED: "leave out async_op=True, or call wait() on what all_reduce returns",
}
TIMED = {
    **LINKED,
    "different numbers": "all_reduce step_ms, compute_ms and total_ms, then compute the others",
    "with synchronisation, and": "the clock goes around forward and backward, and nothing else",
    "both within": "with model.no_sync(): start the clock, forward, backward, stop it",
    "no_sync()": "with model.no_sync(): forward and backward",
    "must be a number": "return a float for each figure",
    "alternate": "in one loop, time one step of each kind in each turn",
    **dict.fromkeys(
        ("all buckets", "more calls than", "before the next"),
        "send a tensor of each bucket's bytes by dist.all_reduce, one by one",
    ),
    "is exposed_ms;": "send a tensor of each bucket's bytes by dist.all_reduce, without a model",
    "first step;": "take the warm-up steps first, then note the buckets of a step",
    "exposed_ms must be": "all_reduce step_ms and compute_ms first, then subtract compute_ms",
    "share of 1": "multiply by 100",
    "exposed_percent is": "divide by step_ms",
    "hidden_percent is": "take 100 * exposed_ms / total_ms off 100, and do not cut the result",
    **dict.fromkeys(
        ("a frozen one", BYTES),
        "add up the bytes of the calls that given.watch_collectives() has noted",
    ),
    "takes too few": "for _ in range(warmup): one step; then each of the steps that are timed",
    "changes the weights": "leave out optimizer.step()",
}
"""What to try, by words of what is wrong."""
WHY = {
    "step_ms": "step_ms must be that of forward and backward with synchronisation, and of no barrier",
    "compute_ms": "compute_ms must be the time of forward and backward, both within no_sync()",
    "total_ms": "total_ms must be the time of the calls alone, from the first to the end of the last",
    "exposed_ms": "exposed_ms must be step_ms - compute_ms of the figures that you return",
    "exposed_percent": "exposed_percent must be 100 * exposed_ms / step_ms",
    "hidden_percent": "hidden_percent must be 100 * (1 - exposed_ms / total_ms), also below 0",
}
EARLY = "your buckets are those of the first step; DDP makes its final ones after it"
Case = Mapping[str, Any]


def figure_problem(own: Case, expected: Case, names: Sequence[str]) -> tuple[str, str]:
    """Return what was measured and why it is wrong, of the first of these figures that is."""
    measured = ""
    for name in names:
        right = expected["figures"][name]
        both = [rank["figures"].get(name) for rank in own["ranks"]]
        measured = " and ".join(shown(it) for it in both)
        measured = f"{name} is {measured} in ranks 0 and 1; expected {right:.5g}"
        if not all(isinstance(it, float) for it in both):
            return measured, "each figure must be a number"
        allowed = POINTS if name.endswith("percent") else WITHIN * right
        if wrong := [it for it in both if not abs(it - right) <= allowed]:
            slips = _slips(expected["slips"].get(name, {}))
            passes = own["ranks"][0]["passes"]
            if name == "step_ms" and passes and all(passes):
                return _never_alone(own["ranks"][0])
            if name == "total_ms" and own["ranks"][0]["figures"].get("collectives") == 1:
                return measured, EARLY
            other = "the ranks return different numbers: usually each returns its own"
            why = explained(wrong[0], slips, WITHIN)
            if name == "total_ms":
                why = NOT_WAITED if wrong[0] <= UNDONE else _other_calls(own["ranks"][0]) or why
            follows = name.startswith(("exposed", "hidden"))
            return measured, why or (WHY[name] if follows or both[0] == both[1] else other)
    return measured, ""


def _never_alone(rank: Case) -> tuple[str, str]:
    measured = f"{rank['passes'][-1]} collectives in a step that should have none"
    outside = "forward stands outside of no_sync(), and DDP decides there whether to send"
    return measured, outside if rank["outside"] else "no step is inside of no_sync()"


def _other_calls(rank: Case) -> str:
    """Say how the calls that are timed alone are not one for each bucket."""
    alone, buckets = rank["alone"], rank["buckets"]
    if alone and sorted(alone) == sorted(4 * size for size in buckets):
        return FOURFOLD
    if alone == [sum(buckets)]:
        return "your total_ms has one latency: one call sends all buckets"
    if len(alone) > len(buckets) and sum(alone) <= sum(buckets):
        return f"you time more calls than the {len(buckets)} buckets of a step"
    return ""


def rest_problem(own: Case, expected: Case) -> tuple[str, str]:
    """Say that no step was without collectives, or all of them in a row, or which other figure is wrong."""
    passes = own["ranks"][0]["passes"]
    alone = [at for at, sent in enumerate(passes) if not sent]
    if passes and not alone:
        return _never_alone(own["ranks"][0])
    if len(alone) > 1 and alone[-1] - alone[0] == len(alone) - 1:
        measured = f"{len(alone)} steps without synchronisation in a row"
        return measured, "the three kinds of steps must alternate"
    return figure_problem(own, expected, FIGURES[1:])


def count_problem(own: Case, expected: Case) -> tuple[str, str]:
    """Say how the collectives of a step were counted wrongly."""
    right = expected["figures"]
    measured = ""
    for rank, each in enumerate(own["ranks"]):
        calls, size = each["figures"].get("collectives"), each["figures"].get("bytes")
        name, found = ("bytes", size) if calls == right["collectives"] else ("collectives", calls)
        measured = f"rank {rank}: {name} is {found}; expected {right[name]:.0f}"
        if calls == 1:
            return measured, EARLY
        if (calls, size) != (right["collectives"], right["bytes"]):
            return measured, _counted(own, expected, calls, size)
        together, least = sum(map(bool, each["passes"])), WARMUP + own["steps"]
        if together < least:
            measured = (
                f"rank {rank}: {together} steps with synchronisation; expected {least} or more"
            )
            few = f"takes too few steps: here warmup is {WARMUP}, steps {own['steps']}"
            return measured, f"your code {few if each['passes'] else 'never calls the model'}"
    return measured, ""


def _counted(own: Case, expected: Case, calls: Any, size: Any) -> str:
    """Say what was counted in place of the calls of one step."""
    right = expected["figures"]
    if calls == right["collectives"]:
        return explained(_number(size), _slips(expected["slips"]["bytes"]), EXACT) or BYTES
    if _number(calls) > 2 * right["collectives"] and _number(size) > 2 * right["bytes"]:
        return SEVERAL
    slips = _slips(expected["slips"]["collectives"])
    return explained(_number(calls), slips, EXACT) or "your collectives are not those of one step"


def _number(value: Any) -> float:
    return value if isinstance(value, int | float) else 0.0


def state_problem(own: Case, _: Case) -> tuple[str, str]:
    """Say how a model was not left as it was."""
    first, second = own["ranks"]
    if first["end"] != second["end"]:
        why = "your code changes the weights, with the gradients of one rank"
        return "the ranks' weights differ", why
    if first["end"] != first["start"]:
        return (
            "the weights have changed",
            "your code changes the weights, usually by optimizer.step()",
        )
    for rank, each in enumerate(own["ranks"]):
        if each["gradients"]:
            measured = f"rank {rank}: {each['gradients']} parameters have a gradient"
            if each["zeros"] == each["gradients"]:
                return f"{measured} of zeros", "your code sets gradients to 0, not to None"
            return measured, "your code leaves gradients of a backward pass"
    return "weights as before, no gradients", ""


def link_problem(own: Mapping[str, Any], script: Mapping[str, Any]) -> str | tuple[str, ...]:
    """Say how rows are not what the script of the link gives."""
    if not own["alike"]:
        return UNLIKE, LINKED["different rows"], "the ranks return different rows"
    last = own["rows"][-1]["ms"]
    largest = script["slips"][-1]
    for row, ms, slips_of in zip(own["rows"], script["ms"], script["slips"], strict=True):
        usual = {why: it for why, it in slips_of.items() if close(last, largest[why], WITHIN)}
        bus = 2 * (WORLD - 1) / WORLD * row["bytes"] / ms / 1e6
        otherwise = NOT_WAITED if row["ms"] <= UNDONE else NOT_ALONE
        problem = LINK.mismatch(row, "ms", ms, WITHIN, _slips(usual), otherwise)
        slips = [(bus * factor, words) for factor, words in BUS_SLIPS]
        problem = problem or LINK.mismatch(row, "bus_gb_s", bus, WITHIN, slips, BUS)
        if problem:
            return problem
        if row["device"] != script["device"]:
            measured = f"device is {row['device']!r}; expected {script['device']!r}"
            why = "your rows do not have the name that given.device_name returns"
            return why, "device is given.device_name of the tensors' device", measured
    return ""


def _slips(usual: Mapping[str, float]) -> list[tuple[float, str]]:
    return [(number, words) for words, number in usual.items()]


def table_problem(rows: Sequence[Row]) -> str:
    """Say how the rows handed in do not fit each other."""
    sizes = [row["bytes"] for row in rows]
    if len(rows) < LEAST or sizes != sorted(set(sizes)) or sizes[-1] < SPAN * sizes[0]:
        had = f"the table has {len(sizes)} sizes, {sizes[0]:.0f} to {sizes[-1]:.0f} bytes"
        return f"{had}; it needs at least {LEAST}, rising to at least {SPAN} times the smallest"
    if rows[-1]["ms"] <= rows[0]["ms"]:
        both = f"{rows[-1]['ms']:.4g} ms, and the smallest {rows[0]['ms']:.4g} ms"
        return f"the largest size takes {both}; it must take longer"
    for row in rows:
        factor = row["bus_gb_s"] * row["ms"] * 1e6 / row["bytes"]
        right = any(close(factor, 2 * (n - 1) / n, 0.01) for n in range(2, MOST))
        if not right:
            what = f"bus_gb_s of {row['bytes']:g} bytes is {factor:.4g} x bytes / time"
            return f"{what}; the factor must be 2 (n - 1) / n, which is between 1 and 2"
    return ""
