"""What of a part's file a probe can reach: files that differ only elsewhere answer it alike, so it runs once for them.

A probe says what it takes, or that is read off its text. Either is on the safe side: every name and every attribute
in what is reached reaches the definition called so; what finds things by their text (`getattr`, `globals`, `inspect`)
reaches all, and so does a probe whose text cannot be told: a closure, a partial, a lambda. For proving a course, where
hundreds of entries differ from the reference in one place each; never for grading.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from types import FunctionType

from autograder.course import kept_answers
from autograder.lab import Lab, Part, Probe
from autograder.model import Job, Observation

Run = Callable[[Job], Observation]
Names = frozenset[str]
Definition = ast.FunctionDef | ast.ClassDef
STUDENT = "student"  # what probes call the module that was handed in
RECORDERS = {
    "answers",
    "waits",
    "fetches",
    "program",
}  # of the rig: they look at the name of the file, or for one beside it
BY_TEXT = {"__import__", "builtins", "compile", "eval", "exec", "gc", "getattr", "globals"} | {
    "importlib", "inspect", "locals", "setattr", "sys", "vars"
}  # fmt: skip
PLAIN = {
    f"sys.{name}"
    for name in ("argv", "executable", "exit", "gettrace", "settrace", "stderr", "stdout")
} | {
    f"inspect.{name}"
    for name in ("isasyncgenfunction", "iscoroutinefunction", "isgeneratorfunction", "signature")
}
"""What of such modules finds nothing by its name."""
TEXTS, NODES = 8, 4096  # that are looked at again
ATTRIBUTES = {"__dict__", "__globals__", "f_globals", "f_locals"}


class Remembered:
    """Runs jobs; one that reaches nothing new gets the answer that is there."""

    def __init__(self, run: Run, labs: Mapping[str, Lab], shared: Path | None = None) -> None:
        """Nothing has been answered yet, but for what others left in a folder that they share."""
        self._run = run
        self._labs = labs
        self._shared = shared
        self._answers: dict[str, Observation] = {}

    def __call__(self, job: Job) -> Observation:
        """Run a job, or know the answer."""
        key = self._key(job)
        if key not in self._answers:
            self._answers[key] = self._answer(key, job)
        return self._answers[key]

    def _key(self, job: Job) -> str:
        if job.side == "student":
            return reached(job, self._labs[job.lab].part(job.part))
        return f"{job.seed} {job.fingerprint}"

    def _answer(self, key: str, job: Job) -> Observation:
        """Return what somebody left in the shared folder; or run the job, and leave its answer there."""
        if self._shared is None:
            return self._run(job)
        file = self._shared / sha256(key.encode()).hexdigest()
        if file.exists():
            return kept_answers.read(file)
        observation = self._run(job)
        kept_answers.keep(file, observation)
        return observation


def reached(job: Job, part: Part) -> str:
    """Return what tells a job from all that are answered otherwise."""
    text = job.files[part.file].decode("utf-8", "replace")
    beside = [data for name, data in job.files.items() if name != part.file]
    whole = any(part.id.encode() in data for data in beside)  # another file may import this one
    probe = part.probes[job.probe]
    kept = within(text, None if whole else asked(probe))
    asked_for = kept == text or runs_a_program(probe)
    idle = set() if asked_for else {name for name in part.programs if not gets_at(text, name)}
    files = {name: data for name, data in job.files.items() if name not in idle} | {
        part.file: kept.encode()
    }
    return f"{job.seed} {job.limits} {replace(job, files=files).fingerprint}"


@lru_cache(maxsize=TEXTS)
def gets_at(text: str, program: str) -> bool:
    """Whether a module may get at a program beside it: as the value of a parameter it is only a proposal."""
    module = ast.parse(text)  # one that is not shared: it is changed
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef):
            node.args.defaults = []
    dumped = "".join(ast.dump(stmt) for stmt in module.body if not _only_as_a_program(stmt))
    return Path(program).stem in dumped or "'__file__'" in dumped


def asked(probe: Probe) -> Names | None:
    """Name what a probe takes from the student's module; None when that cannot be told."""
    if probe.takes is not None:
        return probe.takes
    return _asked(*source(probe)) if told_by_text(probe) else None


def runs_a_program(probe: Probe) -> bool:
    """Whether a probe looks at a program that was handed in beside the part's file, or may do so."""
    return not told_by_text(probe) or _runs_a_program(*source(probe))


@lru_cache
def _runs_a_program(file: Path, run: str) -> bool:
    defined = definitions(parsed(file.read_text(encoding="utf-8")).body)
    return any("program" in _words(defined[name]) for name in _closure(defined, {run}))


def told_by_text(probe: Probe) -> bool:
    """Whether a probe is a plain function of its file, so that the text under its name is what runs."""
    run = probe.run
    if not isinstance(run, FunctionType) or hasattr(run, "__wrapped__"):
        return False
    file, name = source(probe)
    function = definitions(parsed(file.read_text(encoding="utf-8")).body).get(name)
    if not isinstance(function, ast.FunctionDef) or run.__qualname__ != name:
        return False
    begins = {function.lineno, *(decorator.lineno for decorator in function.decorator_list)}
    return run.__code__.co_firstlineno in begins and [
        arg.arg for arg in function.args.args[:1]
    ] == [STUDENT]


def source(probe: Probe) -> tuple[Path, str]:
    return Path(inspect.getsourcefile(probe.run) or ""), probe.run.__name__


@lru_cache
def _asked(file: Path, run: str) -> Names | None:
    defined = definitions(parsed(file.read_text(encoding="utf-8")).body)
    taken: set[str] = set()
    for name in _closure(defined, {run}):
        handed_on = {id(node) for node in _handed_on(defined, defined[name])}
        for node in ast.walk(defined[name]):
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id == STUDENT
            ):
                taken.add(node.attr)
                handed_on.add(id(node.value))
        if any(
            isinstance(n, ast.Name) and n.id == STUDENT and id(n) not in handed_on
            for n in ast.walk(defined[name])
        ):
            return None
    return frozenset(taken)


def _handed_on(defined: Mapping[str, ast.AST], within: ast.AST) -> Iterator[ast.AST]:
    """Yield each `student` that goes to a function of the same file, under the same name there, or to a recorder."""
    for call in ast.walk(within):
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and call.func.attr in RECORDERS
        ):
            yield from call.args
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            called = defined.get(call.func.id)
            if isinstance(called, ast.FunctionDef):
                names = [argument.arg for argument in called.args.args]
                yield from (
                    given for name, given in zip(names, call.args, strict=False) if name == STUDENT
                )


def within(text: str, names: Names | None) -> str:
    """Return what of a module matters to who takes *names* from it: what runs on import, and what is reached."""
    try:
        body = [stmt for stmt in parsed(text).body if not _only_as_a_program(stmt)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text
    defined = definitions(body)
    runs = [node for stmt in body for node in _on_import(stmt)]
    kept = _closure(defined, (names or Names()).union(*map(_words, runs)))
    twice = len(defined) < sum(isinstance(stmt, Definition) for stmt in body)
    if names is None or twice or any(map(_by_text, (*runs, *(defined[name] for name in kept)))):
        return text
    unread = {
        name: [f"def {name}", *map(_dumped, _on_import(defined[name]))]
        for name in defined.keys() - kept
    }
    return "\n".join(
        line for stmt in body for line in unread.get(getattr(stmt, "name", ""), [_dumped(stmt)])
    )


def _on_import(stmt: ast.stmt) -> list[ast.AST]:
    """Return what of a statement runs when the module is imported."""
    if isinstance(stmt, ast.FunctionDef):
        return [
            *stmt.decorator_list,
            *stmt.args.defaults,
            *(value for value in stmt.args.kw_defaults if value),
        ]
    if isinstance(stmt, ast.ClassDef):
        heads = [*stmt.decorator_list, *stmt.bases, *stmt.keywords]
        return [*heads, *(node for inner in stmt.body for node in _on_import(inner))]
    return [stmt]


def _closure(defined: Mapping[str, ast.AST], start: Collection[str]) -> set[str]:
    reached: set[str] = set()
    todo = {name for name in start if name in defined}
    while todo:
        reached.add(name := todo.pop())
        todo |= {word for word in _words(defined[name]) if word in defined} - reached
    return reached


# The probes of a part ask of the same file, one after the other.
parsed = lru_cache(maxsize=TEXTS)(ast.parse)
_dumped = lru_cache(maxsize=NODES)(ast.dump)


@lru_cache(maxsize=NODES)
def _by_text(node: ast.AST) -> bool:
    """Whether some code may find a definition without naming it; `model.eval()` does not."""
    inside = [*ast.walk(node)]
    named = [n for n in inside if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)]
    plain = {id(n.value) for n in named if f"{n.value.id}.{n.attr}" in PLAIN}  # type: ignore[attr-defined]
    names = {n.id for n in inside if isinstance(n, ast.Name) and id(n) not in plain}
    return bool(BY_TEXT & names or ATTRIBUTES & _words(node))


@lru_cache(maxsize=NODES)
def _words(node: ast.AST) -> Names:
    """Return every name and attribute in some code."""
    inside = [*ast.walk(node)]
    attributes = (n.attr for n in inside if isinstance(n, ast.Attribute))
    return Names(n.id for n in inside if isinstance(n, ast.Name)).union(attributes)


def definitions(body: Collection[ast.stmt]) -> dict[str, Definition]:
    return {stmt.name: stmt for stmt in body if isinstance(stmt, Definition)}


@lru_cache(maxsize=NODES)
def _only_as_a_program(stmt: ast.stmt) -> bool:
    return (
        isinstance(stmt, ast.If)
        and not stmt.orelse
        and ast.unparse(stmt.test) == "__name__ == '__main__'"
    )
