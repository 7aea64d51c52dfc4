"""The records that the stages hand over: frozen, plain, and the same in JSON.

    Submission -> Job -> Observation -> Passed | Partial | Failed -> CheckResult -> PartResult -> Result

`to_json` and `from_json` carry every record; reading is strict (unknown, missing or mistyped names are refused).
"""

from __future__ import annotations

import dataclasses
import json
import sys
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from autograder.errors import ReadError, nearest

if TYPE_CHECKING:
    import numpy as np

FORMAT = 1  # of Result in JSON. 1: the first.

Ended = Literal["ok", "raised", "timeout", "memory", "crash", "refused", "tampering"]
Basis = Literal["outputs", "scripted", "report", "artefact", "person"]
# In the environment: the folder with a course's own labs; workers inherit it.
OWN_LABS = "PERFLAB_LABS"
Outcome = Literal[
    "passed", "partial", "failed", "skipped", "unavailable", "inconclusive", "error", "unread"
]
SettledBy = Literal["gpu", "again", "person"]
Side = Literal["student", "baseline"]
OWED: Mapping[str, SettledBy] = {
    "unavailable": "gpu",
    "inconclusive": "again",
    "error": "again",
    "unread": "person",
}


@dataclass(frozen=True)
class Limits:
    """What one worker may use."""

    seconds: float = 60.0
    memory_mb: int = 2048
    output_mb: int = 8


@dataclass(frozen=True)
class Submission:
    """What was handed in, as bytes of the files that the lab lists; nothing else was taken."""

    name: str
    sha256: str
    files: Mapping[str, bytes]
    refused: Mapping[str, str] = field(default_factory=dict)
    """A listed file that could not be taken -> why, in the student's words."""
    left_out: tuple[str, ...] = ()
    """Files that the lab does not list."""
    notes: tuple[str, ...] = ()
    """What became of a notebook."""


@dataclass(frozen=True)
class Job:
    """One probe to run in one fresh worker."""

    lab: str
    part: str
    probe: str
    side: Side
    seed: int
    limits: Limits
    files: Mapping[str, bytes]
    """The student's file or the baseline's, with `given/` beside it."""
    device: str = "cpu"

    @property
    def fingerprint(self) -> str:
        """Name the work, whatever its seed: the same bytes for the same probe on the same device."""
        parts = [
            self.lab,
            self.part,
            self.probe,
            self.device,
            *self.files,
            *map(bytes.hex, self.files.values()),
        ]
        return sha256("\0".join(parts).encode()).hexdigest()


@dataclass(frozen=True)
class Observation:
    """What one worker did: no verdict. The student's process may have invented `values` and `arrays`."""

    probe: str
    ended: Ended
    values: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    error: str = ""
    """The student's exception, or how the worker ended, in words."""
    log: str = ""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    import_seconds: float = 0.0
    """CPU time until the student's file was imported; said by its own process."""
    peak_bytes: int = 0
    gpu_bytes: int | None = None
    """The most memory of the GPU that NVML showed of it, on a machine that grades on one."""
    gpu_unseen: str = ""
    """Why NVML showed none, there."""


@dataclass(frozen=True)
class Pair:
    """The same probe with the same seed on the student's code and on the public baseline."""

    student: Observation
    baseline: Observation
    room_bytes: int = field(default=0, kw_only=True)
    """Memory of the GPU that was left to the student's side; 0: all that there was."""


@dataclass(frozen=True)
class Tolerance:
    """How far losses (absolutely) and weights (relative to their norm) of a training may be from the trusted run's."""

    losses: float
    weights: float


@dataclass(frozen=True)
class Close:
    """How far outputs of a call may be from the trusted run's: atol + rtol * |expected|, each of them."""

    rtol: float = 1e-3
    atol: float = 1e-4


@dataclass(frozen=True)
class Compared:
    """What the clock says about one speedup and one bar."""

    decision: Literal["PASS", "FAIL", "INCONCLUSIVE"]
    measured: str
    """1.01x (0.98 to 1.04, 9 pairs)"""
    credit: float = 0.0
    """Share of the points that is proved."""
    undecided: str = ""
    """Why nothing was decided."""
    evidence: Mapping[str, Any] = field(default_factory=dict)
    ended: Ended = "ok"
    """How the student's worker ended before its time; what it answered then is refused, or it answered nothing."""
    error: str = ""


@dataclass(frozen=True)
class Timed:
    """The same timed work on both sides; `compared` is there for a check with a bar when a trusted clock ran."""

    student: Observation
    baseline: Observation
    compared: Compared | None = None
    unavailable: str = ""
    """Why it is not."""


@dataclass(frozen=True)
class Table:
    """A CSV that was handed in: header, rows as text, and its file name."""

    file: str
    columns: tuple[str, ...]
    rows: tuple[Mapping[str, str], ...]


@dataclass(frozen=True)
class Picture:
    """A PNG that was handed in: what its bytes say without drawing it."""

    file: str
    width: int
    height: int
    distinct_lines: int
    """Different pixel rows, counted up to a handful: a blank picture has one or two."""
    crc: int = field(default=0, compare=False)
    """Of the whole file."""
    packed: float = field(default=0.0, compare=False)
    """How small its pixels become when they are compressed: 0.03 of a plot, nearly 1 of noise."""


@dataclass(frozen=True)
class Text:
    """A report or a source file that was handed in."""

    file: str
    text: str


@dataclass(frozen=True)
class Bar:
    """What a timed or memory check asks for on this device."""

    value: float
    source: str

    def __str__(self) -> str:
        """Show the bar as students read it: 1.50x."""
        return f"{self.value:.2f}x"


@dataclass(frozen=True)
class Device:
    """The machine that graded."""

    name: str
    kind: Literal["cpu", "cuda"]
    tier: str
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Passed:
    """The check holds."""

    measured: str
    evidence: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Partial:
    """The check holds in part: `credit` of its points, 0 to 1."""

    credit: float
    measured: str
    why: str
    try_: str
    evidence: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Failed:
    """The check does not hold: what was measured, why that is, what to try."""

    measured: str
    why: str
    try_: str
    evidence: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Unavailable:
    """This machine cannot show it; `reason` says what would."""

    reason: str
    evidence: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Inconclusive:
    """The machine was too noisy, or too little was measured: to be measured again."""

    measured: str
    reason: str
    evidence: Mapping[str, Any] = field(default_factory=dict)


Verdict = Passed | Partial | Failed | Unavailable | Inconclusive


def verdict(measured: str, why: str, try_: str) -> Passed | Failed:
    """Fail for a reason, or pass where there is none."""
    return Failed(measured, why, try_) if why else Passed(measured)


@dataclass(frozen=True)
class CheckResult:
    """One check of one submission, as every page shows it."""

    id: str
    outcome: Outcome
    basis: Basis
    points: float
    max_points: float
    title: str
    measured: str = ""
    why: str = ""
    try_: str = ""
    reason: str = ""
    """Why it was skipped, owed or in error."""
    evidence: Mapping[str, Any] = field(default_factory=dict)

    @property
    def owed(self) -> float:
        """Points that nobody has lost or won yet."""
        return self.max_points if self.outcome in OWED else 0.0


@dataclass(frozen=True)
class PartResult:
    """One part: its checks, rubric items included."""

    id: str
    title: str
    score: float
    max_score: float
    checks: tuple[CheckResult, ...]
    bonus: bool = False
    """Whether its points only make up for points lost in other parts."""


@dataclass(frozen=True)
class Owed:
    """Points that wait for a machine or a person."""

    check: str
    points: float
    settled_by: SettledBy


@dataclass(frozen=True)
class Result:
    """One graded submission; score + lost + owed = max_score."""

    format: int
    lab: str
    lab_version: str
    submission: str
    submission_sha256: str
    attempt: int
    seed: int
    started: str
    seconds: float
    device: Device
    isolation: str
    score: float
    max_score: float
    owed: tuple[Owed, ...]
    parts: tuple[PartResult, ...]
    notes: tuple[str, ...] = ()
    """What the student should know that is no check: files left out or refused."""

    @property
    def points_owed(self) -> float:
        """All points that are not settled."""
        return round(sum(item.points for item in self.owed), 2)

    @property
    def checks(self) -> Mapping[str, CheckResult]:
        """Every check under the name by which its points are owed: part3_amp.follows_fp32."""
        return {f"{part.id}.{check.id}": check for part in self.parts for check in part.checks}

    @property
    def unread(self) -> tuple[str, ...]:
        """Why what was handed in could not be read, so that a person has to look: each reason once."""
        return tuple(
            dict.fromkeys(one.reason for one in self.checks.values() if one.outcome == "unread")
        )

    @property
    def lost(self) -> float:
        """Points that are gone."""
        return round(self.max_score - self.score - self.points_owed, 2) + 0.0  # never -0.0

    @property
    def made_up(self) -> float:
        """Points lost in other parts that bonus points stand for in the score."""
        return round(self.score - sum(part.score for part in without_bonus(self.parts)), 2) + 0.0


def without_bonus(parts: Sequence[PartResult]) -> tuple[PartResult, ...]:
    """Leave bonus parts out; graded by themselves, they are the whole."""
    return tuple(part for part in parts if not part.bonus) or tuple(parts)


def to_json(record: Any) -> Any:
    """Turn a record into plain JSON values; `try_` is written `try`."""
    if dataclasses.is_dataclass(record):
        fields = dataclasses.fields(record)
        return {f.name.rstrip("_"): to_json(getattr(record, f.name)) for f in fields}
    if isinstance(record, Mapping):
        return {key: to_json(value) for key, value in record.items()}
    if isinstance(record, list | tuple):
        return [to_json(value) for value in record]
    return record


T = TypeVar("T")


def from_json(kind: type[T], value: Any, where: str = "") -> T:
    """Read *value* as a *kind*: a dataclass, a container of known types, or a plain value."""
    return typing.cast("T", _read(kind, value, where or kind.__name__))


def read_result(value: Any, where: str) -> Result:
    """Read a `result.json`; a newer format is named as such."""
    found = value.get("format") if isinstance(value, dict) else None
    if found != FORMAT:
        raise ReadError(f"{where}: format {found!r}; this perflab reads format {FORMAT}")
    return from_json(Result, value, where)


def load_result(file: Path) -> Result:
    """Read a `result.json` from disk; whatever is wrong with it is said with its folder's name."""
    where = f"{file.parent.name}/{file.name}"
    try:
        value = json.loads(file.read_bytes())
    except FileNotFoundError:
        raise ReadError(
            f"{where}: no result there; each lies in the folder of its submission"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise ReadError(f"{where}: cannot be read: {error}") from None
    return read_result(value, where)


def _read(kind: Any, value: Any, where: str) -> Any:  # noqa: PLR0911 one return per kind of type
    if dataclasses.is_dataclass(kind):
        return _read_record(kind, value, where)
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return value
    if origin is Literal:
        return _expect(
            value in args and type(value) is type(args[0]),
            value,
            where,
            f"one of {', '.join(map(str, args))}",
        )
    if origin in (typing.Union, types.UnionType):
        return (
            None
            if value is None
            else _read(next(a for a in args if a is not type(None)), value, where)
        )
    if origin is tuple:
        _expect(type(value) is list, value, where, "a list")
        return tuple(_read(args[0], item, f"{where}[{i}]") for i, item in enumerate(value))
    if origin is not None and issubclass(origin, Mapping):
        _expect(type(value) is dict, value, where, "an object")
        return {
            _read(args[0], k, where): _read(args[1], v, f"{where}.{k}") for k, v in value.items()
        }
    return _read_plain(kind, value, where)


def _read_plain(kind: Any, value: Any, where: str) -> Any:
    if kind is float:
        number = type(value) in (int, float) and abs(value) <= sys.float_info.max
        return float(_expect(number, value, where, "a finite number"))
    names = {int: "a whole number", str: "text", bool: "true or false"}
    return _expect(type(value) is kind, value, where, names[kind])


def _read_record(kind: Any, value: Any, where: str) -> Any:
    _expect(type(value) is dict, value, where, "an object")
    hints = _hints(kind)
    fields = {f.name.rstrip("_"): f for f in dataclasses.fields(kind)}
    for name in value:
        if name not in fields:
            raise ReadError(f"{where}: unknown name '{name}'{nearest(name, fields)}")
    for name, f in fields.items():
        if (
            name not in value
            and f.default is dataclasses.MISSING
            and f.default_factory is dataclasses.MISSING
        ):
            raise ReadError(f"{where}: '{name}' is missing")
    return kind(
        **{
            fields[k].name: _read(hints[fields[k].name], v, f"{where}.{k}")
            for k, v in value.items()
        }
    )


@cache  # they are text until then, and a class has many records
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _expect(holds: bool, value: Any, where: str, wanted: str) -> Any:
    if not holds:
        raise ReadError(f"{where}: {value!r} is not {wanted}")
    return value
