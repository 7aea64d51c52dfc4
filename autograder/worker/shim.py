"""The worker's end of the channel: takes one task, runs one probe beside the student's code, answers once.

Or it runs timed work, as often as it is told to: see windows.py.

Nothing here is trusted by the supervisor: the student's code lives in the same process and may answer in its place.
"""

from __future__ import annotations

import importlib.util
import os
import socket
import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from types import ModuleType
from typing import Any

from autograder.lab import Part, Probe, load_part
from autograder.model import Kind
from autograder.protocol.wire import Message, encode
from autograder.worker import windows
from autograder.worker.raised import ImportFailed, as_text, in_words, kind_of
from autograder.worker.rig import BadReturn, Rig
from autograder.worker.timed_once import once


def serve(descriptor: int, staged: Path) -> None:
    """Say that we are ready, run the task, answer with values and arrays or with the student's exception."""
    channel = socket.socket(fileno=descriptor)
    channel.sendall(encode(Message("READY", {})))
    task, descriptors = windows.hear(channel)
    try:
        timed = task.kind == "TIME"
        channel.sendall(
            _time(channel, task.body, staged, descriptors) if timed else _answer(task.body, staged)
        )
        channel.recv(1)  # until it is ended, so that what it held can be looked up
    except OSError:  # the student's code closed it
        os._exit(os.EX_IOERR)


def _answer(task: Mapping[str, Any], staged: Path) -> bytes:
    began, seconds = process_time(), 0.0
    try:
        probe, student, rig = prepared(task, staged)
        seconds = process_time() - began
        values, arrays = run_probe(probe, student, rig)
        return encode(_result(seconds, values=values, arrays=arrays))
    except BaseException as error:
        answer = _result(
            seconds,
            error=in_words(error, staged),
            kind=kind_of(error, staged),
            imported=not isinstance(error, ImportFailed),
        )
        print(as_text(error, staged), flush=True)
        return encode(answer)


def _result(
    seconds: float,
    *,
    values: Mapping[str, Any] | None = None,
    arrays: Mapping[str, Any] | None = None,
    error: str = "",
    kind: Kind = "",
    imported: bool = True,
) -> Message:
    """Return the answer to a task: values and arrays, or the student's exception."""
    body = {
        "ended": "raised" if values is None else "ok",
        "values": values or {},
        "error": error,
        "kind": kind,
        "imported": imported,
        "import": seconds,
    }
    return Message("RESULT", body, arrays or {})


def _time(
    channel: socket.socket,
    task: Mapping[str, Any],
    staged: Path,
    descriptors: list[int],
) -> bytes:
    """Run windows until the supervisor ends this process, or the student's code does not go on."""
    try:
        windows.serve(channel, *prepared(task, staged), descriptors)
    except BaseException as error:
        print(as_text(error, staged), flush=True)
        body = {"error": in_words(error, staged), "kind": kind_of(error, staged)}
        return encode(Message("RAISED", body))


def prepared(task: Mapping[str, Any], staged: Path) -> tuple[Probe, ModuleType, Rig]:
    """Import the part's probe and the student's file."""
    name = f"autograder.labs.{task['lab']}.{task['part']}"
    part = load_part(name)
    probe = part.probes[task["probe"]]
    kind = toolkit(sys.modules[name])
    rig = kind(
        seed=task["seed"],
        side=task["side"],
        device=task["device"],
        folder=Path.cwd(),
    )
    rig.install()
    return probe, taken(import_student(part, staged), probe), rig


def toolkit(part: ModuleType) -> type[Rig]:
    """Return what a part's probes are handed: its own rig, where one stands beside it."""
    if not hasattr(part, "__path__") or find_spec(f"{part.__name__}.rig") is None:
        return Rig
    own: type[Rig] = import_module(f"{part.__name__}.rig").Rig
    return own


def run_probe(probe: Probe, student: ModuleType, rig: Rig) -> tuple[dict[str, Any], dict[str, Any]]:
    """Run one probe; what it declared as arrays is kept apart from its values."""
    answer = once(probe, student, rig) if probe.timed else probe.run(student, rig)
    arrays = {name: answer[name] for name in probe.arrays}
    return {name: value for name, value in answer.items() if name not in arrays}, arrays


def import_student(part: Part, staged: Path) -> ModuleType:
    """Import the part's file with `given` beside it; a function that it lacks is missed by who asks for it."""
    sys.path.insert(0, str(staged))
    spec = importlib.util.spec_from_file_location(part.id, staged / part.file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[part.id] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        raise ImportFailed(part.file) from error
    functions = {name for name in part.writes if callable(getattr(module, name, None))}

    def lacks(name: str) -> Any:
        if name in part.writes:
            raise BadReturn(f"{part.file} defines no function {name}", "missing function")
        raise AttributeError(name)

    for name in {*part.writes} - functions:
        vars(module).pop(name, None)
    vars(module)["__getattr__"] = lacks
    return module


def taken(student: ModuleType, probe: Probe) -> ModuleType:
    """Return the student's module with what a probe takes of it and nothing else; all of it where it does not say."""
    if probe.takes is None:
        return student

    def refuse(name: str) -> Any:
        raise AttributeError(f"the probe {probe.name} does not say that it takes {name}")

    view = ModuleType(student.__name__)
    names = {name: getattr(student, name) for name in probe.takes}
    vars(view).update(names, __file__=student.__file__, __getattr__=refuse)
    return view
