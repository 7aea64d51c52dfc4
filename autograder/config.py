"""grading_config.yaml: points, bars per device tier, limits and the late policy.

`load` reads it and checks it alone; `agree` holds one lab of it against the part files. Whatever is wrong is one line:
the file, the path in it, the value, what to do.
"""

from __future__ import annotations

import functools
import json
import re
import reprlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from autograder.errors import CourseError, nearest
from autograder.model import Bar, Limits

if TYPE_CHECKING:
    import yaml

FORMAT = 1  # of grading_config.yaml. 1: the first.
LOWEST_BAR, HIGHEST_BAR = 1.10, 100.0  # of speed and memory; a lower one could not be told from 1
RESERVED_TIERS = ("gpu", "cpu")  # a GPU that no tier names, and no GPU
OFF = "off"  # in place of a part or a check: this course does without it
SCHEMA = Path(__file__).parent / "schemas" / "config.schema.json"


@dataclass(frozen=True)
class CheckConfig:
    """What one check is worth, and what it asks for on each tier."""

    points: float
    bar: Mapping[str, float] = field(default_factory=dict)
    source: str = ""
    """Where the bars come from: seed, or calibrated <date>, <device>."""

    def bar_for(self, tier: str) -> Bar | None:
        """Find the bar of a tier; None where nobody has set one."""
        return Bar(self.bar[tier], self.source) if tier in self.bar else None


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

    @property
    def deadline(self) -> str:
        """Say in words until when it is, and what lateness costs."""
        if self.due is None:
            return "due at no time, and lateness costs nothing"
        if self.late is None:
            return f"due {self.due}, and lateness costs nothing"
        per_day, at_most = (
            f"{100 * share:g} %" for share in (self.late.per_day, self.late.at_most)
        )
        return f"due {self.due}, and each day late costs {per_day}, at most {at_most}"


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
        return next(
            (tier for tier, pattern in self.tiers.items() if re.search(pattern, device_name)), "gpu"
        )

    def lab(self, name: str) -> LabConfig:
        """Find a lab by its name."""
        if name not in self.labs:
            known = f"{nearest(name, self.labs)}; labs: {', '.join(self.labs)}"
            raise CourseError(f"{self.path}: labs: there is no lab '{name}'{known}")
        return self.labs[name]


def load(path: Path) -> Config:
    """Read the file; the first thing that is wrong is a CourseError."""
    raw = read_yaml(path)
    if problem := _shape_problem(raw):
        raise CourseError(f"{path}: {problem}")
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
    """Refuse points for what no part declares, and a declaration without points or without its bar."""
    parts, off = config.lab(lab_name).parts, config.lab(lab_name).off
    where = f"{config.path}: labs.{lab_name}.parts"
    for name in (*parts, *sorted(off)):
        if name not in declared:
            raise CourseError(
                f"{where}.{name}: there is no such part{nearest(name, declared)}; rename or remove it"
            )
    for name, checks in declared.items():
        if name not in parts and name not in off:
            raise CourseError(
                f"{where}: part '{name}' is missing; add it with its points and checks, or write off"
            )
        for problem in (
            _disagreements(parts[name], checks, barred.get(name, ())) if name in parts else ()
        ):
            raise CourseError(f"{where}.{name}.{problem}")


def _disagreements(
    part: PartConfig, declared: Sequence[str], barred: Collection[str]
) -> Iterator[str]:
    here = part.checks
    for name in (*here, *sorted(part.off)):
        if name not in declared:
            yield f"checks.{name}: the part has no such check{nearest(name, declared)}; rename or remove it"
    for name, check in here.items():
        if check.bar and name not in barred:
            yield f"checks.{name}.bar: the check reads no bar; remove 'bar' and 'from', or let its judge read `bar`"
        elif name in barred and not check.bar:
            yield f"checks.{name}: the check reads a bar and none is set; add one, like bar: {{t4: 1.5}}, from: seed"
    for name in declared:
        if name not in here and name not in part.off:
            yield f"checks: check '{name}' is missing; add it with its points, or write off"


# Reading


def read_yaml(path: Path) -> Any:
    """Return what a YAML file says; what cannot be read is one line that names the place."""
    import yaml

    try:
        return yaml.load(path.read_bytes().decode("utf-8-sig"), _strict_loader())  # noqa: S506 it is a SafeLoader
    except UnicodeDecodeError as error:
        raise CourseError(
            f"{path}: byte {error.start} is not UTF-8; save the file as UTF-8"
        ) from None
    except OSError as error:
        raise CourseError(
            f"{path}: {error.strerror}; name the folder of the course with --course"
        ) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise CourseError(f"{path}: {_yaml_words(error)}") from None


def _yaml_words(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    line = f"line {mark.line + 1}: " if mark else ""
    deep = "nested too deep" if isinstance(error, RecursionError) else ""
    words = deep or getattr(error, "problem", None) or str(error).partition("\n")[0]
    return f"{line}this is not YAML that can be read: {words}"


@functools.cache
def _strict_loader() -> type[yaml.SafeLoader]:
    """Make a loader that refuses what YAML would take in silence: a second value, `on` as true, 1:30 as 90."""
    import yaml

    class Strict(yaml.SafeLoader):
        yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 PyYAML's own way

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            seen = set()
            for key, _ in node.value:
                text = key.tag == "tag:yaml.org,2002:str"
                if not text or key.value in seen:
                    problem = "stands twice; keep one" if text else "is no text; put it in quotes"
                    raise yaml.MarkedYAMLError(
                        problem=f"key {_show(key.value)} {problem}", problem_mark=key.start_mark
                    )
                seen.add(key.value)
            return super().construct_mapping(node, deep)

    for name, pattern, first in (
        ("null", r"^(null|~|)$", ["n", "~", ""]),
        ("bool", r"^(true|false)$", ["t", "f"]),
        ("int", r"^[-+]?[0-9]+$", list("-+0123456789")),
        ("float", r"^[-+]?[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?$", list("-+0123456789")),
    ):
        Strict.add_implicit_resolver(f"tag:yaml.org,2002:{name}", re.compile(pattern), first)
    return Strict


def _lab(name: str, raw: Mapping[str, Any]) -> LabConfig:
    late = raw.get("late")
    policy = late and LatePolicy(
        float(late.get("grace_minutes", 0)), _share(late["per_day"]), _share(late["at_most"])
    )
    on, off = _on(raw["parts"])
    parts = {part: _part(value) for part, value in on.items()}
    return LabConfig(name, int(raw.get("version", 1)), raw.get("due"), policy, parts, off)


def _on(raw: Mapping[str, Any]) -> tuple[Mapping[str, Any], frozenset[str]]:
    """Tell what a course has from what it does without."""
    on = {name: value for name, value in raw.items() if value != OFF}
    return on, frozenset(raw) - frozenset(on)


def _part(raw: Mapping[str, Any]) -> PartConfig:
    limits = {
        name: float(value) if name == "seconds" else int(value)
        for name, value in raw.get("limits", {}).items()
    }
    on, off = _on(raw["checks"])
    checks = {name: _check(value) for name, value in on.items()}
    items = {
        name: value if isinstance(value, dict) else {"points": value}
        for name, value in _rubric(raw).items()
    }
    rubric = {name: float(value["points"]) for name, value in items.items()}
    says = {
        name: value.get("says", name.replace("_", " ").capitalize())
        for name, value in items.items()
    }
    bonus = raw.get("bonus", False)
    return PartConfig(float(raw["points"]), Limits(**limits), checks, rubric, says, bonus, off)  # type: ignore[arg-type]


def _rubric(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = raw.get("rubric", {})
    return found


def _check(raw: Any) -> CheckConfig:
    if not isinstance(raw, dict):
        return CheckConfig(float(raw))
    bar = {tier: float(value) for tier, value in raw.get("bar", {}).items()}
    return CheckConfig(float(raw["points"]), bar, raw.get("from", ""))


def _share(percent: str) -> float:
    return float(percent.rstrip("% ")) / 100


# Shape: the schema says it, and each of its descriptions ends the sentence "... is not".


def _shape_problem(raw: Any) -> str:
    import jsonschema

    if (
        isinstance(raw, dict) and raw.get("format", FORMAT) != FORMAT
    ):  # then nothing else here is worth a word
        return f"format: {_show(raw['format'])}; this perflab reads format {FORMAT}"
    errors = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text("utf-8"))).iter_errors(raw)
    # A misspelt name is also a missing one: the first of the two has the nearest name to offer.
    order = sorted(
        errors,
        key=lambda e: (e.validator != "additionalProperties", list(map(str, e.absolute_path))),
    )
    return _shape_words(order[0]) if order else ""


def _shape_words(error: Any) -> str:
    where = ".".join(map(str, error.absolute_path)) or "the file"
    known = error.schema.get("properties", {})
    if error.validator == "additionalProperties":
        name = next(name for name in error.instance if name not in known)
        return f"{where}: unknown name {_show(name)}{nearest(name, known)}; known here: {', '.join(known)}"
    if error.validator in ("required", "dependentRequired"):
        name = _missing(error.validator_value, error.instance)
        return f"{where}: '{name}' is missing; add {known[name]['description']}"
    return f"{where}: {_show(error.instance)} is not {error.schema['description']}"


def _missing(wanted: Any, found: Mapping[str, Any]) -> str:
    names = (
        wanted
        if isinstance(wanted, list)
        else [name for key in wanted if key in found for name in wanted[key]]
    )
    return str(next(name for name in names if name not in found))


def _show(value: Any) -> str:
    return reprlib.repr(value)


# Sense: what a schema cannot say


def _problems(config: Config) -> Iterator[str]:
    for tier, pattern in config.tiers.items():
        yield from _tier_problems(tier, pattern)
    tiers = [*config.tiers, *RESERVED_TIERS]
    for name, lab in config.labs.items():
        yield from (f"labs.{name}.{problem}" for problem in _due_problems(lab))
        if not lab.parts:
            yield f"labs.{name}.parts: every part is off; a lab needs one"
        for part_id, part in lab.parts.items():
            yield from (
                f"labs.{name}.parts.{part_id}.{problem}" for problem in _part_problems(part, tiers)
            )


def _tier_problems(tier: str, pattern: str) -> Iterator[str]:
    if tier in RESERVED_TIERS:
        yield f"tiers.{tier}: '{tier}' is what machines without a tier are called; choose another name"
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
        yield f"due: {lab.due!r} is not a time with its offset; write it like 2027-01-20T23:59+05:30"


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
    if (total := round(sum(worth.values()), 2)) != part.points:
        yield f"points: {part.points:g} is not {total:g}, the sum of its checks and rubric; change one of them"


def _bar_problems(bars: Mapping[str, float], tiers: Collection[str]) -> Iterator[str]:
    for tier, value in bars.items():
        if tier not in tiers:
            yield f"{tier}: there is no tier '{tier}'{nearest(tier, tiers)}; tiers: {', '.join(tiers)}"
        if not LOWEST_BAR <= value <= HIGHEST_BAR:
            yield f"{tier}: {value:g} is no bar; write a ratio to the baseline from {LOWEST_BAR:.2f} to {HIGHEST_BAR:g}"
