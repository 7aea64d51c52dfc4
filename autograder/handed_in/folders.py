"""Where submissions lie in a folder: each is a folder, an archive or a notebook of its own."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from autograder.errors import UserError
from autograder.handed_in.unpack import ARCHIVE, is_file, passed_over

JOURNAL = "journal.sqlite"  # in a folder of results


def find(paths: Sequence[Path], listed: Sequence[str]) -> list[Path]:
    """Name every submission: a path that holds a listed file is one, a folder of folders and archives is many."""
    return [one for path in paths for one in _below(path, listed)]


def _below(path: Path, listed: Sequence[str]) -> Iterator[Path]:
    if not path.exists():
        raise UserError(f"{path}: there is no such file or folder")
    if path.is_file() or any((path / name).is_file() for name in listed):
        yield path
        return
    inside = [one for one in _visible(path) if _is_one(one)]
    if not inside:
        raise UserError(
            f"{path}: holds no submission; expected {listed[0]}, folders, archives or notebooks"
        )
    yield from inside


def others(path: Path, found: Collection[Path]) -> list[str]:
    """Name what lies beside submissions and is none: nobody's work is passed over in silence."""
    return (
        [one.name for one in _visible(path) if one not in found]
        if path.is_dir() and path not in found
        else []
    )


def _visible(path: Path) -> list[Path]:
    return sorted(one for one in path.iterdir() if not passed_over((one.name,)))


def _is_one(path: Path) -> bool:
    """Whether it may be a submission: results, which may stand in the same folder, are none."""
    return not is_file(path / JOURNAL) if path.is_dir() else bool(ARCHIVE.search(path.name))
