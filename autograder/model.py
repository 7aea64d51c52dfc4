"""The records that the stages hand over: frozen, plain, and the same in JSON.

    Submission -> Job -> Observation -> Passed | Partial | Failed -> CheckResult -> PartResult -> Result

records.py writes each as JSON and reads it back; result_file.py reads what older versions wrote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np

Ended = Literal["ok", "raised", "timeout", "memory", "crash", "refused", "tampering"]
Kind = Literal[
    "", "unwritten", "missing module", "syntax", "missing function", "no figures", "failed program", "wrong type",
    "reused context", "changed segment", "recompiled", "unended", "apart", "left early", "other results",
    "ruled out", "bad return", "no return", "missing key",
]  # fmt: skip
"""What kind of end it was, where more is known than `Ended` says: for the words of a failure."""
Cause = Literal[
    "", "clock", "aside", "missing", "unwritten",
    "raised", "timeout", "memory", "crash", "refused", "tampering",
]  # fmt: skip
"""What an outcome comes of, as a word for programs; sentences are for people and never compared.

clock: it waits for its turn at the clock. aside: the whole submission was set aside. missing: there is no such file.
unwritten: the template's function was called. The others say how the student's worker ended.
"""
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
    request: str = ""
    """What the student asks a person to look at again: no part of the work."""


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
    kind: Kind = ""
    imported: bool = True
    """Whether the student's file could be imported: if not, no probe of the part can run."""
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
    kind: Kind = ""
    postponed: bool = False
    """Whether it is only not the clock's turn yet."""


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
    postponed: bool = False
    """Whether it only waits for its turn at the clock."""


@dataclass(frozen=True)
class NeedsRoom:
    """A judge's question: run the student's side of a probe again in less memory of the GPU, and ask once more."""

    probe: str
    full_bytes: int
    """What the baseline took."""
    room_bytes: int
    """What is left to the student's side."""
    otherwise: Failed
    """The verdict where it does not finish in that."""


Final = Passed | Partial | Failed | Unavailable | Inconclusive
Verdict = Final | NeedsRoom


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
    cause: Cause = ""
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
            dict.fromkeys(
                check.reason for check in self.checks.values() if check.outcome == "unread"
            )
        )

    @property
    def waits_for_the_clock(self) -> int:
        """How many checks were put off until nothing else runs."""
        return sum(check.cause == "clock" for check in self.checks.values())

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
