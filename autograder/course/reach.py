"""What of a part's file a probe can reach: files that differ only elsewhere answer it alike, so it runs once for them.

It is read off the text, on the safe side: every name and every attribute in what is reached reaches the definition
called so, and what finds things by their text (`getattr`, `globals`, `inspect`) reaches all. For proving a course,
where hundreds of entries differ from the reference in one place each; never for grading.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from autograder.lab import Lab, Part, Probe
from autograder.model import Job, Observation

Run = Callable[[Job], Observation]
Names = frozenset[str]
Definition = ast.FunctionDef | ast.ClassDef
STUDENT = "student"  # what probes call the module that was handed in
RECORDERS = {"waits", "fetches", "program"}  # of the rig: they look at the name of the file, or for one beside it
BY_TEXT = {"__import__", "builtins", "compile", "eval", "exec", "gc", "getattr", "globals"} | {
    "importlib", "inspect", "locals", "setattr", "sys", "vars"
}  # fmt: skip


class Remembered:
    """Runs jobs; one that reaches nothing new gets the answer that is there."""

    def __init__(self, run: Run, labs: Mapping[str, Lab]) -> None:
        """Nothing has been answered yet."""
        self._run, self._labs = run, labs
        self._seen: dict[str, Observation] = {}

    def __call__(self, job: Job) -> Observation:
        """Run a job, or know the answer; the baseline's are known elsewhere."""
        if job.side != "student":
            return self._run(job)
        key = reached(job, self._labs[job.lab].part(job.part))
        if key not in self._seen:
            self._seen[key] = self._run(job)
        return self._seen[key]


def reached(job: Job, part: Part) -> str:
    """Return what tells a job from all that are answered otherwise."""
    text = job.files[part.file].decode("utf-8", "replace")
    beside = [data for name, data in job.files.items() if name != part.file]
    whole = any(part.id.encode() in data for data in beside)  # another file may import this one
    kept = within(text, None if whole else asked(part.probes[job.probe]))
    return f"{job.seed} {job.limits} {replace(job, files={**job.files, part.file: kept.encode()}).fingerprint}"


def asked(probe: Probe) -> Names | None:
    """Name what a probe takes from the student's module; None when that cannot be told."""
    return _asked(Path(inspect.getsourcefile(probe.run) or ""), probe.run.__name__)


@lru_cache
def _asked(file: Path, run: str) -> Names | None:
    known = _definitions(ast.parse(file.read_text(encoding="utf-8")))
    taken: set[str] = set()
    for name in _closure(known, {run}):
        handed_on = {id(node) for node in _handed_on(known, known[name])}
        for node in ast.walk(known[name]):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == STUDENT:
                taken.add(node.attr)
                handed_on.add(id(node.value))
        if any(isinstance(n, ast.Name) and n.id == STUDENT and id(n) not in handed_on for n in ast.walk(known[name])):
            return None
    return frozenset(taken)


def _handed_on(known: Mapping[str, ast.AST], within: ast.AST) -> Iterator[ast.AST]:
    """Yield each `student` that goes to a function of the same file, under the same name there, or to a recorder."""
    for call in ast.walk(within):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in RECORDERS:
            yield from call.args
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            called = known.get(call.func.id)
            if isinstance(called, ast.FunctionDef):
                names = [argument.arg for argument in called.args.args]
                yield from (given for name, given in zip(names, call.args, strict=False) if name == STUDENT)


def within(text: str, names: Names | None) -> str:
    """Return what of a module matters to who takes *names* from it: what runs on import, and what is reached."""
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text
    body = [one for one in module.body if not _only_as_a_program(one)]
    known = _definitions(ast.Module(body, []))
    runs = [node for one in body for node in _on_import(one)]
    kept = _closure(known, {*(names or ()), *_words(*runs)})
    twice = len(known) < sum(isinstance(one, Definition) for one in body)
    if names is None or twice or _by_text(*runs, *(known[name] for name in kept)):
        return text
    unread = {name: [f"def {name}", *map(ast.dump, _on_import(known[name]))] for name in known.keys() - kept}
    return "\n".join(line for one in body for line in unread.get(getattr(one, "name", ""), [ast.dump(one)]))


def _on_import(one: ast.stmt) -> list[ast.AST]:
    """Return what of a statement runs when the module is imported."""
    if isinstance(one, ast.FunctionDef):
        return [*one.decorator_list, *one.args.defaults, *(value for value in one.args.kw_defaults if value)]
    if isinstance(one, ast.ClassDef):
        heads = [*one.decorator_list, *one.bases, *one.keywords]
        return [*heads, *(node for inner in one.body for node in _on_import(inner))]
    return [one]


def _closure(known: Mapping[str, ast.AST], start: Collection[str]) -> set[str]:
    found: set[str] = set()
    todo = {name for name in start if name in known}
    while todo:
        found.add(name := todo.pop())
        todo |= {word for word in _words(known[name]) if word in known} - found
    return found


def _by_text(*nodes: ast.AST) -> bool:
    """Whether some code may find a definition without naming it; `model.eval()` does not."""
    inside = [one for node in nodes for one in ast.walk(node)]
    names = {n.id for n in inside if isinstance(n, ast.Name)}
    return bool(BY_TEXT & names or {"__dict__", "__globals__"} & _words(*nodes))


def _words(*nodes: ast.AST) -> set[str]:
    """Return every name and attribute in some code."""
    inside = [one for node in nodes for one in ast.walk(node)]
    return {n.id for n in inside if isinstance(n, ast.Name)} | {n.attr for n in inside if isinstance(n, ast.Attribute)}


def _definitions(module: ast.Module) -> dict[str, Definition]:
    return {one.name: one for one in module.body if isinstance(one, Definition)}


def _only_as_a_program(one: ast.stmt) -> bool:
    return isinstance(one, ast.If) and not one.orelse and ast.unparse(one.test) == "__name__ == '__main__'"
