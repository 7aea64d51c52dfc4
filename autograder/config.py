"""grading_config.yaml: points, bars per device tier, limits and the late policy.

`load` reads it and checks it alone; `agree` holds one lab of it against the part files. Whatever is
wrong is one line: the file, the path in it, the value, what to do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from autograder.errors import CourseError, nearest
from autograder.model import Bar, Limits
from autograder.part_name import same_part
from autograder.yaml_file import read_yaml, shown

FORMAT = 1
"""Of grading_config.yaml. 1: the first."""
LOWEST_BAR = 1.10
"""Of speed and memory: a lower one could not be told from 1."""
HIGHEST_BAR = 100.0
RESERVED_TIERS = ("gpu", "cpu")
"""A GPU that no tier names, and no GPU."""
OFF = "off"
"""In place of a part or a check: this course does without it."""
LENT = 1  # GPUs that a session grades on
SCHEMA = Path(__file__).parent / "schemas" / "config.schema.json"


@dataclass(frozen=True)
class CheckConfig:
    """What one check is worth, and what it asks for on each tier."""

    points: float
    bar: Mapping[str, float] = field(default_factory=dict)
    source: str = ""
    """Where the bars come from: seed, or calibrated <date>, <device>."""
    gpus: int = 1
    """How many of them it takes where it is judged on GPUs."""

    def bar_for(self, tier: str) -> Bar | None:
        """Find the bar of a tier; None where nobody has set one, or more GPUs are needed than are ever lent."""
        lent = tier in self.bar and self.gpus <= LENT
        return Bar(self.bar[tier], self.source) if lent else None


@dataclass(frozen=True)
class PartConfig:
    """The points of a part, what its workers may use, and what a person reads."""

    points: float
    limits: Limits
    checks: Mapping[str, CheckConfig]
    rubric: Mapping[str, float]
    says: Mapping[str, str]
    """What a person looks for, by the rubric's names."""
    bonus: bool = False
    """Whether its points only make up for points lost in other parts."""
    off: frozenset[str] = frozenset()
    """Checks that this course does without."""


@dataclass(frozen=True)
class LatePolicy:
    """What lateness costs: shares of the score, 0 to 1."""

    grace_minutes: float
    per_day: float
    at_most: float


@dataclass(frozen=True)
class LabConfig:
    """One lab."""

    name: str
    version: int
    due: str | None
    """ISO 8601, always with its offset."""
    late: LatePolicy | None
    parts: Mapping[str, PartConfig]
    off: frozenset[str] = frozenset()
    """Parts that this course does without."""
    only: tuple[str, ...] = ()
    """Parts that this course has, where the file names them; the others are off."""

    @property
    def deadline(self) -> str:
        """Return in words until when it is, and what lateness costs."""
        if self.due is None:
            return "due at no time, and lateness costs nothing"
        if self.late is None:
            return f"due {self.due}, and lateness costs nothing"
        per_day = 100 * self.late.per_day
        at_most = 100 * self.late.at_most
        return f"due {self.due}, and each day late costs {per_day:g} %, at most {at_most:g} %"


@dataclass(frozen=True)
class Config:
    """The whole file."""

    path: Path
    tiers: Mapping[str, str]
    """Tier -> regex on the device's name."""
    labs: Mapping[str, LabConfig]

    def tier(self, device_name: str, kind: Literal["cpu", "cuda"]) -> str:
        """Name the first tier whose regex finds the device; any other GPU is 'gpu'."""
        if kind == "cpu":
            return "cpu"
        for tier, pattern in self.tiers.items():
            if re.search(pattern, device_name):
                return tier
        return "gpu"

    def lab(self, name: str) -> LabConfig:
        """Find a lab by its name."""
        if name not in self.labs:
            names = f"{nearest(name, self.labs)}; labs: {', '.join(self.labs)}"
            raise CourseError(f"{self.path}: labs: there is no lab '{name}'{names}")
        return self.labs[name]


def load(path: Path) -> Config:
    """Read the file; the first thing that is wrong is a CourseError."""
    raw = read_yaml(path)
    malformed = _shape_problem(raw)
    if malformed:
        raise CourseError(f"{path}: {malformed}")
    labs = {name: _lab(name, lab) for name, lab in raw["labs"].items()}
    config = Config(path, raw.get("tiers", {}), labs)
    for problem in _problems(config):
        raise CourseError(f"{path}: {problem}")
    return config


def agree(
    config: Config,
    lab_name: str,
    declared: Mapping[str, Sequence[str]],
    barred: Mapping[str, Collection[str]],
) -> None:
    """Refuse points for what no part declares, and a declaration without points or its bar."""
    for problem in _lab_disagreements(config.lab(lab_name), declared, barred):
        raise CourseError(f"{config.path}: labs.{lab_name}.parts{problem}")


def _lab_disagreements(
    lab: LabConfig,
    declared: Mapping[str, Sequence[str]],
    barred: Mapping[str, Collection[str]],
) -> Iterator[str]:
    for name in (*lab.parts, *sorted(lab.off)):
        if name not in declared:
            yield f".{name}: there is no such part{nearest(name, declared)}; rename or remove it"
    for name, checks in declared.items():
        if name in lab.parts:
            for problem in _disagreements(lab.parts[name], checks, barred.get(name, ())):
                yield f".{name}.{problem}"
        elif name not in lab.off:
            yield f": part '{name}' is missing; add it with its points and checks, or write off"


def _disagreements(
    part: PartConfig,
    declared: Sequence[str],
    barred: Collection[str],
) -> Iterator[str]:
    for name in (*part.checks, *sorted(part.off)):
        if name not in declared:
            close = nearest(name, declared)
            yield f"checks.{name}: the part has no such check{close}; rename or remove it"
    for name, check in part.checks.items():
        if check.bar and name not in barred:
            yield (
                f"checks.{name}.bar: the check reads no bar; remove 'bar' and 'from', "
                "or let its judge read `bar`"
            )
        elif name in barred and not check.bar:
            yield (
                f"checks.{name}: the check reads a bar and none is set; "
                "add one, like bar: {t4: 1.5}, from: seed"
            )
    for name in declared:
        if name not in part.checks and name not in part.off:
            yield f"checks: check '{name}' is missing; add it with its points, or write off"


# Reading


def _lab(name: str, raw: Mapping[str, Any]) -> LabConfig:
    late = raw.get("late")
    policy = late and LatePolicy(
        float(late.get("grace_minutes", 0)), _share(late["per_day"]), _share(late["at_most"])
    )
    on, off = _on(raw["parts"])
    only = tuple(raw.get("only", on))
    parts = {part: _part(value) for part, value in on.items() if _named(part, only)}
    off |= on.keys() - parts.keys()
    version = int(raw.get("version", 1))
    return LabConfig(name, version, raw.get("due"), policy, parts, off, tuple(raw.get("only", ())))


def _named(part: str, only: Collection[str]) -> bool:
    return any(same_part(part, it) for it in only)


def _on(raw: Mapping[str, Any]) -> tuple[Mapping[str, Any], frozenset[str]]:
    """Tell what a course has from what it does without."""
    on = {name: value for name, value in raw.items() if value != OFF}
    return on, frozenset(raw) - frozenset(on)


def _part(raw: Mapping[str, Any]) -> PartConfig:
    on, off = _on(raw["checks"])
    items = _rubric(raw)
    says = {
        name: item.get("says", name.replace("_", " ").capitalize()) for name, item in items.items()
    }
    return PartConfig(
        points=float(raw["points"]),
        limits=_limits(raw.get("limits", {})),
        checks={name: _check(value) for name, value in on.items()},
        rubric={name: float(item["points"]) for name, item in items.items()},
        says=says,
        bonus=raw.get("bonus", False),
        off=off,
    )


def _limits(raw: Mapping[str, Any]) -> Limits:
    limits: dict[str, Any] = {name: int(value) for name, value in raw.items()}
    if "seconds" in raw:
        limits["seconds"] = float(raw["seconds"])
    return Limits(**limits)


def _rubric(raw: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    return {
        name: value if isinstance(value, dict) else {"points": value}
        for name, value in raw.get("rubric", {}).items()
    }


def _check(raw: Any) -> CheckConfig:
    if not isinstance(raw, dict):
        return CheckConfig(float(raw))
    bar = {tier: float(value) for tier, value in raw.get("bar", {}).items()}
    return CheckConfig(float(raw["points"]), bar, raw.get("from", ""), raw.get("gpus", 1))


def _share(percent: str) -> float:
    return float(percent.rstrip("% ")) / 100


# Shape: the schema says it, and each of its descriptions ends the sentence "... is not".


def _shape_problem(raw: Any) -> str:
    from autograder.json_schema import Draft202012Validator

    # Of another format nothing else here is worth a word.
    if isinstance(raw, dict) and raw.get("format", FORMAT) != FORMAT:
        return f"format: {shown(raw['format'])}; this perflab reads format {FORMAT}"
    schema = json.loads(SCHEMA.read_text("utf-8"))
    errors = sorted(Draft202012Validator(schema).iter_errors(raw), key=_place)
    return _shape_words(errors[0]) if errors else ""


def _place(error: Any) -> tuple[bool, list[str]]:
    """A misspelt name is also a missing one.

    The first of the two has the nearest name to offer.
    """
    path = [str(step) for step in error.absolute_path]
    return error.validator != "additionalProperties", path


def _shape_words(error: Any) -> str:
    where = ".".join(map(str, error.absolute_path)) or "the file"
    names = error.schema.get("properties", {})
    if error.validator == "additionalProperties":
        name = next(name for name in error.instance if name not in names)
        close = nearest(name, names)
        return f"{where}: unknown name {shown(name)}{close}; known here: {', '.join(names)}"
    if error.validator in ("required", "dependentRequired"):
        name = _missing(error.validator_value, error.instance)
        return f"{where}: '{name}' is missing; add {names[name]['description']}"
    return f"{where}: {shown(error.instance)} is not {error.schema['description']}"


def _missing(required: Any, given: Mapping[str, Any]) -> str:
    names = required
    if isinstance(required, dict):
        names = [name for key in required if key in given for name in required[key]]
    return str(next(name for name in names if name not in given))


# Sense: what a schema cannot say


def _problems(config: Config) -> Iterator[str]:
    for tier, pattern in config.tiers.items():
        yield from _tier_problems(tier, pattern)
    tiers = [*config.tiers, *RESERVED_TIERS]
    for name, lab in config.labs.items():
        yield from (f"labs.{name}.{problem}" for problem in _due_problems(lab))
        yield from (f"labs.{name}.only: {problem}" for problem in _only_problems(lab))
        if not lab.parts:
            yield f"labs.{name}.parts: every part is off; a lab needs one"
        for part_id, part in lab.parts.items():
            for problem in _part_problems(part, tiers):
                yield f"labs.{name}.parts.{part_id}.{problem}"


def _only_problems(lab: LabConfig) -> Iterator[str]:
    parts = [*lab.parts, *sorted(lab.off)]
    for it in lab.only:
        if not any(same_part(part, it) for part in parts):
            yield f"there is no part '{it}'{nearest(it, parts)}; parts: {', '.join(parts)}"


def _tier_problems(tier: str, pattern: str) -> Iterator[str]:
    if tier in RESERVED_TIERS:
        yield (
            f"tiers.{tier}: '{tier}' is what machines without a tier are called; "
            "choose another name"
        )
    try:
        re.compile(pattern)
    except re.error as error:
        yield f"tiers.{tier}: {pattern!r} is not a regex: {error.msg}; mend it"


def _due_problems(lab: LabConfig) -> Iterator[str]:
    if lab.late and not lab.due:
        yield "late: has no due time to count from; add 'due'"
    try:
        aware = lab.due is None or datetime.fromisoformat(lab.due).tzinfo is not None
    except ValueError:
        aware = False
    if not aware:
        yield (
            f"due: {lab.due!r} is not a time with its offset; write it like 2027-01-20T23:59+05:30"
        )


def _part_problems(part: PartConfig, tiers: Collection[str]) -> Iterator[str]:
    for name in part.rubric:
        if name in part.checks:
            yield f"rubric.{name}: is the name of a check too; give the rubric item its own"
    for name, check in part.checks.items():
        yield from (f"checks.{name}.bar.{problem}" for problem in _bar_problems(check.bar, tiers))
    worth = {f"checks.{name}": check.points for name, check in part.checks.items()}
    worth |= {f"rubric.{name}": points for name, points in part.rubric.items()}
    for path, points in worth.items():
        if points != round(points, 2):
            yield f"{path}: {points} points are finer than 0.01; round them"
    total = round(sum(worth.values()), 2)
    if total != part.points:
        yield (
            f"points: {part.points:g} is not {total:g}, the sum of its checks and rubric; "
            "change one of them"
        )


def _bar_problems(bars: Mapping[str, float], tiers: Collection[str]) -> Iterator[str]:
    for tier, value in bars.items():
        if tier not in tiers:
            close = nearest(tier, tiers)
            yield f"{tier}: there is no tier '{tier}'{close}; tiers: {', '.join(tiers)}"
        if not LOWEST_BAR <= value <= HIGHEST_BAR:
            yield (
                f"{tier}: {value:g} is no bar; write a ratio to the baseline "
                f"from {LOWEST_BAR:.2f} to {HIGHEST_BAR:g}"
            )
