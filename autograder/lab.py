"""What a part file is written with: `Part`, the evidence its checks read, and the verdicts they return.

part = Part("part3_amp", writes=[...], hands_in=[...])

@part.timed("train")        an adapter that the clock runs on the student and on the baseline; arrives as Timed
                            ("train" an epoch function, "call" any function, "load" a loader)
@part.probe(...)            runs once in a fresh worker; arrives as Observation, or as Pair with pair=True
@part.outputs               the same, for tensors that a function returned for a list of cases; arrives as Pair
@part.check(basis=...)      judges what its parameters name: probes, artefacts (by stem), `bar`, `device`
"""

from __future__ import annotations

import importlib
import inspect
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import PurePath
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from autograder.errors import CourseError, UserError, nearest
from autograder.model import (
    Bar,
    Basis,
    Device,
    Failed,
    Inconclusive,
    Observation,
    Pair,
    Partial,
    Passed,
    Picture,
    Table,
    Text,
    Timed,
    Unavailable,
    Verdict,
)
from autograder.part_name import same_part
from autograder.probe import (
    BOOLEAN,
    CASES,
    CELL,
    INTEGER,
    NUMBER,
    NUMBERS,
    PANELS,
    TEXT,
    TIMED_ARRAYS,
    Answer,
    Close,
    Dataset,
    Inputs,
    Kind,
    Probe,
    Schema,
    Tolerance,
    conform,
    exactly,
    list_of,
    map_of,
    optional,
    record,
)

if TYPE_CHECKING:
    # For editors and mypy: nothing of the worker is imported when a lab is loaded.
    from autograder.worker.rig import Rig, Window
else:
    Rig = Window = Any

__all__ = [
    "BOOLEAN",
    "CASES",
    "CELL",
    "INTEGER",
    "NUMBER",
    "NUMBERS",
    "PANELS",
    "TEXT",
    "Answer",
    "Bar",
    "Check",
    "Close",
    "Device",
    "Failed",
    "Inconclusive",
    "Lab",
    "Observation",
    "Pair",
    "Part",
    "Partial",
    "Passed",
    "Picture",
    "Probe",
    "Rig",
    "Student",
    "Table",
    "Text",
    "Timed",
    "Tolerance",
    "Unavailable",
    "Verdict",
    "Window",
    "conform",
    "exactly",
    "list_of",
    "load_part",
    "map_of",
    "optional",
    "record",
]  # fmt: skip

Student = ModuleType
"""What a student wrote, or the baseline: any name may be asked of it."""
F = TypeVar("F", bound=Callable[..., Any])


class TableForm(Protocol):
    """The form of a table; see checks/table_form.py."""

    @property
    def file(self) -> str:
        """The file that holds it."""

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of a row."""

    def listed(self) -> str:
        """Return the columns as a table of a handout."""


@dataclass(frozen=True)
class Check:
    """A judge: a pure function of the evidence that its parameters name."""

    name: str
    judge: Callable[..., Verdict]
    basis: Basis
    needs: tuple[str, ...]
    reads: tuple[str, ...]
    compared: str = ""
    """What of a probe with a script in it is compared with the baseline's, so that it rests on outputs all the same."""

    @property
    def title(self) -> str:
        """The line that a student reads."""
        return (inspect.getdoc(self.judge) or self.name).splitlines()[0]


class Part:
    """One part of a lab: what is run, then what is judged."""

    def __init__(
        self,
        id: str,  # noqa: A002
        *,
        writes: Sequence[str] = (),
        hands_in: Sequence[str] = (),
        made_by: Mapping[str, str] | None = None,
        tables: Sequence[TableForm] = (),
        warm: Sequence[str] = (),
    ) -> None:
        """Name the functions that a student writes, but for exercises, and the files that come with them.

        *made_by* says of a file how it is made, where running the student's file does not write it. *tables* are the
        forms of results that it hands in: their schemas and lists of columns are written by `perflab build`. *warm*
        names modules that are imported once, before workers are forked.
        """
        self.id = id
        self.warm = tuple(warm)
        self.writes = tuple(writes)
        stems = [PurePath(name).name.split(".")[0] for name in hands_in]  # of .json.gz, too
        self.artefacts = dict(zip(stems, hands_in, strict=True))
        self._stems = stems
        self.made_by = dict(made_by or {})
        self.tables = tuple(tables)
        self.probes: dict[str, Probe] = {}
        self.checks: dict[str, Check] = {}
        self.exercises: list[Any] = []
        """What its claims hang on; see claims/exercise.py."""
        self.off: frozenset[str] = frozenset()
        """Checks that the course does without."""
        self.title = id

    @property
    def file(self) -> str:
        """The student's file."""
        return f"{self.id}.py"

    @property
    def programs(self) -> tuple[str, ...]:
        """Python files that are handed in beside the student's file: a probe may run them."""
        return tuple(name for name in self.artefacts.values() if name.endswith(".py"))

    @property
    def is_compared(self) -> bool:
        """Whether a probe of it runs on the baseline as well."""
        return any(probe.pair for probe in self.probes.values())

    def timed(
        self,
        kind: Kind,
        inputs: Inputs | None = None,
        within: Close | Tolerance | None = None,
        dataset: Dataset | None = None,
    ) -> Callable[[F], F]:
        """Register an adapter that the clock runs on both sides; calls get *inputs*, loaders *dataset* and device."""
        within = within or (
            None if kind == "train" else Close() if kind == "call" else Close(0.0, 0.0)
        )

        def register(run: F) -> F:
            self.probes[run.__name__] = Probe(
                run.__name__,
                run,
                pair=True,
                timed=kind,
                arrays=TIMED_ARRAYS[kind],
                inputs=inputs,
                within=within,
                dataset=dataset,
            )
            return run

        return register

    def probe(
        self,
        *,
        pair: bool = False,
        values: Mapping[str, Schema] | None = None,
        arrays: Mapping[str, tuple[str, int]] | None = None,
        hints: Mapping[str, str] | None = None,
        takes: Collection[str] | None = None,
    ) -> Callable[[F], F]:
        """Register a probe with the names and forms that it answers with, and what it *takes* of the module."""

        def register(run: F) -> F:
            name = run.__name__
            form = record(**(values or {}))
            taken = None if takes is None else frozenset(takes)
            self.probes[name] = Probe(
                name, run, pair, "", form, arrays or {}, hints=hints or {}, takes=taken
            )
            return run

        return register

    def outputs(self, run: F) -> F:
        """Register a probe that runs on both sides and answers with `rig.answers()`."""
        return self.probe(pair=True, values=CASES, arrays=NUMBERS)(run)

    def check(
        self, *, basis: Basis, needs: Sequence[Callable[..., Any]] = (), compared: str = ""
    ) -> Callable[[F], F]:
        """Register a check; its docstring is the line that students read. *compared*: see Check."""

        def register(judge: F) -> F:
            reads = tuple(inspect.signature(judge).parameters)
            needed = tuple(need.__name__ for need in needs)
            self.checks[judge.__name__] = Check(
                judge.__name__, judge, basis, needed, reads, compared
            )
            return judge

        return register

    def add_check(
        self,
        name: str,
        says: str,
        basis: Basis,
        judge: Callable[..., Verdict],
        reads: Sequence[str],
        needs: Sequence[str] = (),
        compared: str = "",
    ) -> Callable[..., Verdict]:
        """Register a check that hands what it *reads* to the judge, in this order; *says* is what students read."""

        def judged(*first: Any, **evidence: Any) -> Verdict:
            return judge(*first, *(evidence[each] for each in reads[len(first) :]))

        judged.__name__, judged.__doc__ = name, says
        self.checks[name] = Check(name, judged, basis, tuple(needs), tuple(reads), compared)
        return judged

    def without(self, off: Collection[str]) -> Part:
        """Leave checks out that a course does without; one that another check needs is refused."""
        part = copy(self)
        part.checks = {name: check for name, check in self.checks.items() if name not in off}
        part.off = frozenset(off)
        for check in part.checks.values():
            if need := next((need for need in check.needs if need in off), ""):
                raise CourseError(
                    f"{self.id}.{need} is off, but {check.name} needs it; switch that off, too"
                )
        return part

    def problems(self) -> list[str]:
        """What is wrong with the declarations, in words for the author."""
        names = Counter([*self.probes, *self._stems, "bar", "device", "parts"])
        own_names = list(names)
        problems = [
            f"{self.id}: {count} things are called '{name}', of probes and of files without their ending; rename one"
            for name, count in names.items()
            if count > 1
        ]
        problems += [
            f"{self.id}.{probe.name}: values '{name}' is no form; use NUMBER, TEXT, list_of(...) of autograder.lab"
            for probe in self.probes.values()
            for name, form in probe.values["properties"].items()
            if not isinstance(form, Mapping)
        ]
        problems += [
            f"{self.id}.{check.name}: parameter '{name}' is no probe, file, bar, device or parts"
            f"{nearest(name, own_names)}"
            for check in self.checks.values()
            for name in check.reads
            if name not in own_names
        ]
        problems += [
            f"{self.id}.{c.name}: has no docstring; students read it"
            for c in self.checks.values()
            if not inspect.getdoc(c.judge)
        ]
        problems += [
            f"{self.id}.{check.name}: needs '{need}', which is not declared above it"
            for i, check in enumerate(self.checks.values())
            for need in check.needs
            if need not in list(self.checks)[:i]
        ]
        return problems


@dataclass(frozen=True)
class Lab:
    """A folder of parts."""

    name: str
    parts: tuple[Part, ...]
    off: frozenset[str] = frozenset()
    """Parts that the course does without."""

    @property
    def files(self) -> tuple[str, ...]:
        """Every file that is taken from a submission."""
        return tuple(file for part in self.parts for file in (part.file, *part.artefacts.values()))

    def part(self, id: str) -> Part:  # noqa: A002
        """Find a part by its id, by its number (part3, part03), or by the beginning of it that is its own."""
        numbered = [p for p in self.parts if same_part(p.id, id)]
        named = numbered or [p for p in self.parts if p.id.startswith(id)]
        if len(named) != 1:
            ids = [part.id for part in self.parts]
            raise CourseError(
                f"lab {self.name} has no part '{id}'{nearest(id, ids)}; its parts: {', '.join(ids)}"
            )
        return named[0]

    def chosen(self, parts: Collection[str], only: str = "") -> list[str]:
        """Return the ids of the parts to grade: the named ones, and of these the one that holds the check."""
        named = [self.part(part) for part in parts] or list(self.parts)
        declared = [check for part in named for check in part.checks]
        if only and only not in declared:
            raise UserError(
                f"--only {only}: lab {self.name} has no such check{nearest(only, declared)}"
            )
        return [part.id for part in named if not only or only in part.checks]


def load_part(module_name: str) -> Part:
    """Import a part file and take its part, or that of its one exercise."""
    try:
        module = importlib.import_module(module_name)
        part: Part = getattr(module.part, "part", module.part)  # an exercise has one
    except Exception as error:
        raise CourseError(_in_its_file(module_name, error)) from error
    part.title = (module.__doc__ or part.id).split(". ")[0].strip()
    return part


def _in_its_file(module_name: str, error: Exception) -> str:
    """Say what is wrong with a part file, and in which line of it."""
    home = module_name.removeprefix("autograder.").replace(".", "/")
    steps = traceback.extract_tb(error.__traceback__)
    own = [step for step in steps if f"{home}.py" in step.filename or f"{home}/" in step.filename]
    place, close = f"{home}.py", ""
    if own:
        known = dir(error.obj) if isinstance(error, AttributeError) else []
        close = nearest(getattr(error, "name", None) or "", known)
        place = f"{home}{own[-1].filename.rpartition(home)[2]}, line {own[-1].lineno}"
    kind = "" if isinstance(error, UserError) else f"{type(error).__name__}: "
    return f"{place}: {kind}{error}{close}"
