"""Reads what torch.profiler exports.

Chrome trace JSON of every version since 1.8, CPU only or with a GPU.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

from autograder.errors import SubmissionError
from autograder.traces.events import COMM_KERNEL, LOADER, STEP, Kind, Recording
from autograder.traces.jsonstream import ONE_CAP, Document, stream
from autograder.traces.metrics import COMM_MARK
from autograder.traces.operators import moved, work
from autograder.traces.record import Figure, Trace
from autograder.traces.source import Source
from autograder.traces.stretch import MOST_GPUS
from autograder.traces.summary import summarise, unread

# Category, in lower case -> kind. Up to torch 1.9 they were Operator, Kernel, Memcpy, Memset,
# Runtime; calls are whatever ends so (cuda_runtime, cuda_driver, xpu_runtime).
KINDS = {
    "kernel": Kind.KERNEL,
    "gpu_memcpy": Kind.COPY,
    "memcpy": Kind.COPY,
    "gpu_memset": Kind.SET,
    "memset": Kind.SET,
    "cpu_op": Kind.OP,
    "operator": Kind.OP,
    # Gpu_user_annotation repeats these on GPU tracks and is no work of its own.
    "user_annotation": Kind.MARK,
}
CALLS = ("runtime", "driver")
PYTHON = "python_function"
MEMORY = "[memory]"
CPU, CUDA = 0, 1
"""Torch's numbers of what memory is of; ROCm has that of CUDA, too."""
ON_CPU = -1
BIGGEST = 2**61  # ns: since the epoch they reach 2**60.6 now
MANY_FRAMES = 50_000
FACTS = (
    "trace_id",
    "cuda_runtime_version",
    "cuda_driver_version",
    "record_shapes",
    "with_stack",
    "profile_memory",
)


def read(source: Source) -> Trace:
    """Read every event that is one; the rest is counted."""
    recording = Recording()
    counts = Counter[str]()
    peaks: dict[int, int] = {}
    events, document = stream(source)
    for event in events:
        counts["any"] += 1
        _take(event, recording, counts)
        _remember_most(event, peaks)
    if not counts["any"]:
        raise SubmissionError(f"{source.name}: {_nothing(document)}")
    values = document.values
    base = values.get(
        "baseTimeNanoseconds"
    )  # files of 2023 and before have none, their times count from the epoch
    gpus = values.get(
        "deviceProperties", values.get("computeProperties")
    )  # the latter up to torch 1.9
    return summarise(
        source,
        "kineto",
        recording.events(base if type(base) is int and 0 <= base < BIGGEST else 0),
        devices=tuple(
            str(gpu.get("name"))[:100] for gpu in _list(gpus)[:64] if isinstance(gpu, dict)
        ),
        notes=tuple(_notes(document, counts, len(recording), recording.unread)),
        cut=document.truncated,
        signals=_facts(values),
        more=tuple(_memory(peaks)),
    )


def _nothing(document: Document) -> str:
    """Say why no event was read."""
    if document.too_long:
        return (
            f"its first event is longer than {ONE_CAP >> 20} MB, "
            "which no profiler writes; export it again"
        )
    if document.damaged:
        return (
            f"none of its events can be read ({document.damaged} broken or nested too deep); "
            "export it again"
        )
    return (
        "holds no trace events; write it with prof.export_chrome_trace(...) once the profiler ended"
    )


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _facts(values: Mapping[str, Any]) -> dict[str, str]:
    """Return short facts of the header, never its environment.

    The host is told apart without being named.
    """
    facts = {
        name: str(values[name])[:100] for name in FACTS if isinstance(values.get(name), str | int)
    }
    host = values.get("host_name")
    group = values.get("distributedInfo")
    if isinstance(host, str):
        facts["host"] = sha256(host.encode("utf-8", "replace")).hexdigest()[:12]
    if isinstance(group, dict):
        facts["rank"] = f"{group.get('rank')} of {group.get('world_size')}"[:100]
    return facts


def _notes(
    document: Document,
    counts: Mapping[str, int],
    kept: int,
    bad: int,
) -> Iterator[str]:
    """Say what is wrong with the file."""
    if document.too_long:
        yield (
            f"one event is longer than {ONE_CAP >> 20} MB: "
            "figures are of what stands before it; export it again"
        )
    elif document.truncated:
        yield "the file ends in the middle: these are figures of what is there; export it again"
    yield from unread(document.damaged + bad)
    if counts["python"] > max(2 * kept, MANY_FRAMES):
        yield (
            f"{counts['python']:,} events of Python frames: "
            "with_stack=True makes files large and slow"
        )


def _take(event: Mapping[str, Any], recording: Recording, counts: Counter[str]) -> None:
    category = event.get("cat")
    if event.get("ph") != "X" or type(category) is not str:
        return
    category = category.lower()
    kind = KINDS.get(category, Kind.CALL if category.endswith(CALLS) else None)
    if kind is None and category != PYTHON:
        return
    start = nanoseconds(event.get("ts"))
    duration = nanoseconds(event.get("dur"))
    if start is None or duration is None or duration < 0:
        recording.unread += 1
        return
    if kind is None:
        counts["python"] += 1
        recording.saw(start, start + duration)
        return
    name = str(event.get("name", ""))
    args = event.get("args")
    args = args if type(args) is dict else {}
    if kind is Kind.OP and (STEP.fullmatch(name) or LOADER.search(name)):
        kind = Kind.MARK  # before 2022 the spans of steps and loaders were operators
    if kind < Kind.OP:
        _on_gpu(recording, kind, start, start + duration, name, event, args)
    else:
        track = (_key(event.get("pid")), _key(event.get("tid")))
        op = _id(args.get("External id", args.get("external id")))
        recording.add(
            kind,
            start,
            start + duration,
            name,
            track=track,
            link=_id(args.get("correlation")),
            op=op,
            size=moved(args) if COMM_MARK.match(name) else 0,
            work=work(name, args) if kind is Kind.OP else None,
        )


def _remember_most(event: Mapping[str, Any], peaks: dict[int, int]) -> None:
    """Keep for each device the most that was allocated at one time, as profile_memory records it."""
    args = event.get("args")
    if event.get("name") != MEMORY or event.get("ph") != "i" or type(args) is not dict:
        return
    kind, number = args.get("Device Type"), _id(args.get("Device Id"))
    if kind == CPU or (kind == CUDA and 0 <= number < MOST_GPUS):
        device = ON_CPU if kind == CPU else number
        peaks[device] = max(peaks.get(device, 0), _id(args.get("Total Allocated")))


def _memory(peaks: Mapping[int, int]) -> Iterator[Figure]:
    for device, peak in peaks.items():
        if peak > 0:
            on_cpu = device == ON_CPU
            name = "cpu_memory_peak" if on_cpu else "memory_peak"
            yield Figure(name, peak, "bytes", "trace", None if on_cpu else device)


def _on_gpu(
    recording: Recording,
    kind: Kind,
    start: int,
    end: int,
    name: str,
    event: Mapping[str, Any],
    args: dict[str, Any],
) -> None:
    if kind is Kind.KERNEL and ("Collective name" in args or COMM_KERNEL.search(name)):
        kind = Kind.COMM
    device = _id(args.get("device", event.get("pid")))
    recording.add(
        kind,
        start,
        end,
        name,
        device=max(device, 0),
        track=("gpu", device, _key(args.get("stream", event.get("tid")))),
        link=_id(args.get("correlation")),
        size=max(_id(args.get("bytes", args.get("Bytes"))), 0),
        op=_id(args.get("External id", args.get("external id"))),
        blocks=_number(args.get("blocks per SM")),
        occupancy=_number(args.get("est. achieved occupancy %")),
    )


def nanoseconds(us: Any) -> int | None:
    """Turn microseconds as JSON has them into whole nanoseconds, exactly.

    Us * 1000.0 would exceed a double.
    """
    if type(us) is int:
        return us * 1000 if abs(us) < BIGGEST // 1000 else None
    if type(us) is not float or not math.isfinite(us) or abs(us) >= BIGGEST // 1000:
        return None
    whole = int(us)
    return whole * 1000 + round((us - whole) * 1000)


def _id(value: Any) -> int:
    if type(value) is str and re.fullmatch(r"\d{1,18}", value, re.ASCII):
        return int(value)
    return value if type(value) is int and 0 <= value < BIGGEST else -1


def _key(value: Any) -> int | str:
    return value if type(value) is int else str(value)[:100]


def _number(value: Any) -> float:
    return float(value) if type(value) in (int, float) and abs(value) < BIGGEST else math.nan
