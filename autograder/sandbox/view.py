"""Lets another user read what lies behind a folder that only root may pass, such as a clone below
/root.

In a mount namespace of its own that folder is empty but for what is wanted, at the same path.
Nobody's folders change.
"""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from autograder.sandbox import tree


def opened(paths: Sequence[Path], bwrap: str) -> int | None:
    """Return a descriptor of such a namespace, or None where every user can read *paths* as
    they are.
    """
    # A path and where its links lead: Python asks for both.
    wanted = dict.fromkeys(name for path in paths for name in (path, path.resolve()))
    if not (behind := {path: folder for path in wanted if (folder := closed(path))}):
        return None
    return _held([bwrap, "--dev-bind", "/", "/", *_options(behind), "--", "/usr/bin/cat"])


def closed(path: Path) -> Path | None:
    """Return the first folder on the way to a path that only its owner may pass."""
    return next(
        (folder for folder in reversed(path.parents) if not folder.lstat().st_mode & stat.S_IXOTH),
        None,
    )


def is_open(path: Path) -> bool:
    """Return whether every user who gets to a path can read it."""
    mode = path.stat().st_mode
    needed = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(mode) else 0)
    return mode & needed == needed


def _options(behind: dict[Path, Path]) -> Iterator[str]:
    for folder in set(behind.values()):
        yield from ("--tmpfs", str(folder))
    for path in behind:
        # By itself, bubblewrap makes the way to a mount for its owner alone.
        yield from ("--dir", str(path.parent), "--bind", str(path), str(path))


def _held(command: list[str]) -> int:
    """Keep the namespace of a process that bubblewrap starts, and end the process."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, bufsize=0
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(b"\n")
        if process.stdout.read(1) != b"\n":
            raise OSError("bubblewrap could not make it")
        [cat] = tree.children(process.pid)
        return os.open(f"/proc/{cat}/ns/mnt", os.O_RDONLY)
