"""Reads what `nsys export --type sqlite` writes, from the exports of 2021 to those of 2026.

Tables are made when there is something to write: one that is missing means that nothing of its
kind happened. The environment of the profiled process lies in tables that are never read here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from autograder.traces.database import Database, opened, whole
from autograder.traces.events import COMM_KERNEL, Kind, Recording
from autograder.traces.record import Trace
from autograder.traces.source import Source
from autograder.traces.summary import summarise, unread

CUPTI = "CUPTI_ACTIVITY_KIND_"
COPIES = {
    1: "HtoD",
    2: "DtoH",
    3: "HtoA",
    4: "AtoH",
    5: "AtoA",
    6: "AtoD",
    7: "DtoA",
    8: "DtoD",
    9: "HtoH",
    10: "PtoP",
}
COPIES |= {11: "UVM HtoD", 12: "UVM DtoH", 13: "UVM DtoD"}
MEMORY = {
    0: "Pageable",
    1: "Pinned",
    2: "Device",
    3: "Array",
    4: "Managed",
    5: "Device",
    6: "Managed",
}
RANGES = (59, 60)  # pushed and popped, started and ended
EMITTED = re.compile(
    r"([\w:.]+), (?:seq|op_id) = "
)  # how torch.autograd.profiler.emit_nvtx names operators
PRIVATE = ("META_DATA_CAPTURE", "TARGET_INFO_SYSTEM_ENV")
PRINTED = "ProcessStreams"

ENVIRONMENT = (
    "holds the environment variables of the profiled process, "
    "passwords and tokens included; "
    "share a copy without them: perflab trace FILE --redact"
)
OUTPUT = (
    "holds what the profiled process printed; "
    "share a copy without that: perflab trace FILE --redact"
)
NO_CUDA = "the report holds no CUDA work: --trace lacks cuda, or the program ran on the CPU"


def read(source: Source) -> Trace:
    """Read the tables that the figures need."""
    with opened(source) as database:
        recording = Recording()
        names = {
            key: str(value)
            for key, value in database.rows("StringIds", "id", "value")
            if value is not None
        }
        _kernels(database, recording, names)
        _copies(database, recording)
        _graphs(database, recording)
        _calls(database, recording, names)
        _ranges(database, recording, names)
        about = {
            str(name): str(value)[:100]
            for name, value in database.rows("META_DATA_EXPORT", "name", "value")
        }
        began = next(
            (
                whole(moment)
                for (moment,) in database.rows("TARGET_INFO_SESSION_START_TIME", "utcEpochNs")
            ),
            None,
        )
        return summarise(
            source,
            "nsys",
            recording.events(began or 0),
            version=about.get("EXPORT_PRODUCT_VERSION", "2021 or older"),
            devices=_devices(database),
            notes=tuple(_notes(database.tables, recording)),
            signals={"export schema": about.get("EXPORT_SCHEMA_VERSION", "none")},
        )


def _notes(tables: set[str], recording: Recording) -> Iterator[str]:
    if tables.intersection(PRIVATE):
        yield ENVIRONMENT
    elif PRINTED in tables:
        yield OUTPUT
    if not any(name.startswith(CUPTI) for name in tables):
        yield NO_CUDA
    yield from unread(recording.unread)


def _devices(database: Database) -> tuple[str, ...]:
    rows = database.rows(
        "TARGET_INFO_GPU", "id", "deviceId", "name"
    )  # the latter number until 2021
    threads = {
        whole(old if number is None else number): str(name)[:100] for number, old, name in rows
    }
    return tuple(
        threads[number] for number in sorted(number for number in threads if number is not None)
    )


def _gpu(kind: str, *columns: str) -> tuple[str, ...]:
    return (
        CUPTI + kind,
        "start",
        "end",
        "deviceId",
        "streamId",
        "correlationId",
        "globalPid",
        *columns,
    )


def _kernels(database: Database, recording: Recording, names: dict[Any, str]) -> None:
    for *where, long, short in database.rows(*_gpu("KERNEL", "demangledName", "shortName")):
        name = names.get(long) or names.get(short) or "(unnamed kernel)"
        _add(recording, Kind.COMM if COMM_KERNEL.search(name) else Kind.KERNEL, where, name)


def _copies(database: Database, recording: Recording) -> None:
    for *where, size, kind, source, target in database.rows(
        *_gpu("MEMCPY", "bytes", "copyKind", "srcKind", "dstKind")
    ):
        name = (
            f"Memcpy {COPIES.get(kind, 'of some kind')} "
            f"({MEMORY.get(source, '?')} -> {MEMORY.get(target, '?')})"
        )
        _add(recording, Kind.COPY, where, name, size)
    for *where, size in database.rows(*_gpu("MEMSET", "bytes")):
        _add(recording, Kind.SET, where, "Memset (Device)", size)


def _graphs(database: Database, recording: Recording) -> None:
    for where in database.rows(*_gpu("GRAPH_TRACE")):
        _add(recording, Kind.GRAPH, list(where), "CUDA graph")


def _add(
    recording: Recording,
    kind: Kind,
    where: list[Any],
    name: str,
    size: Any = 0,
) -> None:
    device, stream, link, process = map(whole, where[2:])
    if times := _times(recording, *where[:2]):
        recording.add(
            kind,
            *times,
            name,
            device=max(device or 0, 0),
            track=("gpu", device, stream),
            link=_link(link, process),
            size=max(whole(size) or 0, 0),
        )


def _times(recording: Recording, start: Any, end: Any) -> tuple[int, int] | None:
    """Return when something began and ended; what cannot be is counted."""
    begin = whole(start)
    stop = whole(end)
    if begin is not None and stop is not None and stop >= begin:
        return begin, stop
    recording.unread += 1
    return None


def _link(link: int | None, process: int | None) -> int:
    """Number a launch: each process counts its own, so the number alone would join strangers."""
    return -1 if link is None else (((process or 0) >> 24 & 0xFFFFFF) << 32) + (link & 0xFFFFFFFF)


def _calls(database: Database, recording: Recording, names: dict[Any, str]) -> None:
    table = (CUPTI + "RUNTIME", "start", "end", "nameId", "correlationId", "globalTid")
    for *where, name, link, thread in database.rows(*table):
        if times := _times(recording, *where):
            track = ("cpu", whole(thread))
            joined = _link(whole(link), whole(thread))
            recording.add(
                Kind.CALL, *times, names.get(name, "(unnamed call)"), track=track, link=joined
            )


def _ranges(database: Database, recording: Recording, names: dict[Any, str]) -> None:
    table = ("NVTX_EVENTS", "start", "end", "eventType", "text", "textId", "globalTid")
    for start, end, kind, text, number, thread in database.rows(*table):
        if kind not in RANGES or end is None:  # a mark, or a range that was still open at the end
            continue
        if times := _times(recording, start, end):
            name = str(text) if text is not None else names.get(number, "(unnamed range)")
            emitted = EMITTED.match(name)
            what = Kind.OP if emitted else Kind.MARK
            recording.add(
                what, *times, emitted[1] if emitted else name, track=("cpu", whole(thread))
            )
