"""Which code verdicts rest on: what a part imports of judges and claims, and what all parts share."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from autograder import labs

PACKAGE = Path(labs.__file__).parents[1]
FOLLOWED = ("checks", "claims", "labs", "protocol", "traces")
"""Rooms whose modules count for the parts that import them."""
SHARED = ("lab", "probe", "checks")
"""Modules that judge or read for every part, with what they import; all of the worker counts as well."""


def shared() -> dict[str, str]:
    """Hash the code that every part's verdicts rest on."""
    worker = {
        path.relative_to(PACKAGE).as_posix(): path
        for path in sorted((PACKAGE / "worker").rglob("*.py"))
    }
    imported = _closure(f"autograder.{name}" for name in SHARED)
    return {name: _hash(path) for name, path in {**worker, **imported}.items()}


def own(lab: str, part: str) -> dict[str, str]:
    """Hash the code of one part: its file or its folder, and all that they import of judges and claims."""
    home = f"autograder.labs.{lab}.{part}"
    file = _file(home)
    if file is None:
        return {}
    beside = sorted(file.parent.rglob("*.py")) if file.name == "__init__.py" else [file]
    files = {f"{home}/{path.relative_to(file.parent).as_posix()}": path for path in beside}
    imported = _closure(name for path in beside for name in _followed(path))
    return {name: _hash(path) for name, path in {**imported, **files}.items()}


def _closure(names: Iterator[str]) -> dict[str, Path]:
    """Find the files of modules and of what they import, as far as it is followed."""
    files: dict[str, Path] = {}
    waiting = set(names)
    while waiting:
        name = waiting.pop()
        path = _file(name)
        if name in files or path is None:
            continue
        files[name] = path
        waiting |= _followed(path)
    return files


def _followed(path: Path) -> set[str]:
    imported = _imports(path, path.stat().st_mtime_ns)
    return {name for name in imported if name.split(".")[1] in FOLLOWED}


@lru_cache(maxsize=1000)
def _imports(path: Path, _: int) -> Collection[str]:
    """Name what a file may import of perflab; a name may be a module's or something inside of one."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {name for name in names if name.startswith("autograder.")}


def _file(name: str) -> Path | None:
    """Return the file of a module; a course's own labs lie elsewhere."""
    _, room, *inside = name.split(".")
    homes = [Path(home) for home in labs.__path__] if room == "labs" else [PACKAGE / room]
    stems = [home.joinpath(*inside) for home in homes]
    files = [path for stem in stems for path in (stem.with_suffix(".py"), stem / "__init__.py")]
    return next((path for path in files if path.is_file()), None)


def _hash(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()
