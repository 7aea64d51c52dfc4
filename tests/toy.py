"""A lab of one part without torch, a process or a clock: what grade() needs, made by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from autograder.checks import speedup
from autograder.config import CheckConfig, LabConfig, PartConfig
from autograder.grading.kit import Kit, Session
from autograder.lab import (
    NUMBER,
    Bar,
    Failed,
    Lab,
    Observation,
    Pair,
    Part,
    Partial,
    Passed,
    Picture,
    Table,
    Timed,
    Tolerance,
)  # fmt: skip
from autograder.model import Device, Job, Limits, Submission

CSV = b"a,b\n1,2\n"


def toy_part() -> Part:
    """A part with one check for each way in which a check can end."""
    part = Part("part1_toy", writes=["work"], hands_in=["table.csv", "picture.png"])
    part.title = "Part 1: toy"

    @part.timed("train", within=Tolerance(1e-3, 1e-3))
    def amp(student, window):
        """Timed work."""

    @part.probe(values={"x": NUMBER})
    def single(student, rig):
        """One side."""

    @part.probe(pair=True, values={"x": NUMBER})
    def both(student, rig):
        """Both sides."""

    @part.check(basis="outputs")
    def positive(single: Observation):
        """The number is positive."""
        x = single.values["x"]
        if x > 100:
            raise KeyError("our own bug")
        if 0 < x < 1:
            return Partial(x, f"{x}", "only a part of it", "more")
        return Passed(f"{x}") if x > 0 else Failed(f"{x}", "it is not positive", "add to it")

    @part.check(basis="outputs", needs=[positive])
    def equal(both: Pair):
        """The number equals the baseline's."""
        same = both.student.values == both.baseline.values
        return Passed("equal") if same else Failed("not equal", "they differ", "compare them")

    @part.check(basis="outputs", needs=[positive])
    def faster(amp: Timed, bar: Bar):
        """It is at least {bar} as fast."""
        return speedup.at_least(amp, bar, why="slow", try_="faster")

    @part.check(basis="outputs", needs=[faster])
    def much_faster(amp: Timed, bar: Bar):
        """It is much faster."""
        return speedup.at_least(amp, bar, why="slow", try_="faster")

    @part.check(basis="artefact")
    def has_table(table: Table, device: Device):
        """The table has rows."""
        return Passed(f"{len(table.rows)} rows on {device.name}")

    @part.check(basis="artefact")
    def has_picture(picture: Picture):
        """The picture is one."""
        return Passed(f"{picture.width} wide")

    return part


@dataclass
class FakeWorkers:
    """Answers each job from a table, and remembers what it was asked."""

    answers: Mapping[tuple[str, str], Observation] = field(default_factory=dict)
    asked: list[Job] = field(default_factory=list)

    def __call__(self, job: Job) -> Observation:
        """Answer one job."""
        self.asked.append(job)
        return self.answers.get((job.probe, job.side), good(job.probe))


def good(probe: str, x: float = 2.0) -> Observation:
    """An answer of the declared form."""
    import numpy as np

    if probe == "amp":
        arrays = {"losses": np.zeros(3), "weights": np.zeros(5, dtype="float32")}
        return Observation(probe, "ok", arrays=arrays)
    return Observation(probe, "ok", {"x": x})


def toy_kit(bars: Mapping[str, float] | None = None) -> Kit:
    """Points: 12 for checks, 2 for a person."""
    part = toy_part()
    points = {name: CheckConfig(2.0, {}, "") for name in part.checks}
    for name in ("faster", "much_faster"):
        points[name] = CheckConfig(2.0, bars if bars is not None else {"t4": 1.5}, "seed")
    config = PartConfig(14.0, Limits(), points, {"explains": 2.0}, {"explains": "Explains"})
    lab = LabConfig("toy", 1, None, None, {part.id: config})
    return Kit(
        Lab("toy", (part,)), lab, {"given/__init__.py": b""}, {part.file: b"def work(): ..."}
    )


def toy_submission(**files: bytes) -> Submission:
    """The part's file and a table; keyword names have _ for the dot."""
    named = {name.replace("__", "."): data for name, data in files.items()}
    return Submission(
        "ada", "0" * 64, {"part1_toy.py": b"def work(): ...", "table.csv": CSV, **named}
    )


def toy_session(run: Callable[[Job], Observation], tier: str = "t4") -> Session:
    """A session on a machine that does not exist, with a clock that stands still."""
    kind = "cpu" if tier == "cpu" else "cuda"
    return Session(
        run, Device("toy", kind, tier), kind, "none", "2026-01-01T00:00:00+00:00", lambda: 0.0
    )
