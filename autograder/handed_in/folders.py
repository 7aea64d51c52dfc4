"""Where submissions lie in a folder.

Each is a folder, an archive or a notebook of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from autograder.errors import UserError
from autograder.handed_in.unpack import ARCHIVE, is_file, passed_over

JOURNAL = "journal.sqlite"
"""A file of every folder of results."""


def find(paths: Sequence[Path], listed: Sequence[str]) -> list[Path]:
    """Name every submission.

    A path that holds a listed file is one, a folder of folders and archives is many.
    """
    return [submission for path in paths for submission in _below(path, listed)]


def _below(path: Path, listed: Sequence[str]) -> Iterator[Path]:
    if not path.exists():
        raise UserError(f"{path}: there is no such file or folder")
    if path.is_file() or any((path / name).is_file() for name in listed):
        yield path
        return
    inside = [child for child in _visible(path) if _may_be_a_submission(child)]
    if not inside:
        raise UserError(
            f"{path}: holds no submission; expected {listed[0]}, folders, archives or notebooks"
        )
    yield from inside


def others(path: Path, submissions: Collection[Path]) -> list[str]:
    """Name what lies beside submissions and is none.

    Nobody's work is passed over in silence.
    """
    if path in submissions or not path.is_dir():
        return []
    return [child.name for child in _visible(path) if child not in submissions]


def _visible(path: Path) -> list[Path]:
    return sorted(child for child in path.iterdir() if not passed_over((child.name,)))


def _may_be_a_submission(path: Path) -> bool:
    """Leave out results, which may stand in the same folder."""
    if path.is_dir():
        return not is_file(path / JOURNAL)
    return bool(ARCHIVE.search(path.name))
