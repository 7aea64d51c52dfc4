"""The files of one job, on disk for one worker, under a name that says nothing."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

PREFIX = "perflab-worker-"
SURE_SECONDS = 60.0  # a folder that is younger may be about to be locked


@contextlib.contextmanager
def temporary() -> Iterator[Path]:
    """Yield an empty folder that goes away after, or when the next grader starts after this
    one was killed.
    """
    root = Path(tempfile.mkdtemp(prefix=PREFIX))
    lock = os.open(root, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        yield root
    finally:
        shutil.rmtree(root, ignore_errors=True)
        os.close(lock)


@contextlib.contextmanager
def staged(
    files: Mapping[str, bytes],
    reader: int | None = None,
) -> Iterator[tuple[Path, Path]]:
    """Yield the folder with the files, read-only, and an empty folder to work in; both go away after.

    Nobody but their owner may pass to them: us, or another user who is to read and work there.
    """
    with temporary() as root:
        code = root / "code"
        work = root / "work"
        code.mkdir()
        work.mkdir()
        if reader is not None:
            for folder in (root, work):
                os.chown(folder, reader, reader)
        for name, data in files.items():
            target = code / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
            target.chmod(0o444)
        yield code, work


def clear() -> None:
    """Remove the folders of graders that were killed: nobody holds their lock."""
    for root in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # it is another user's, or somebody works in it
            if not root.is_dir() or time.time() - root.stat().st_mtime < SURE_SECONDS:
                continue
            lock = os.open(root, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(root, ignore_errors=True)
            finally:
                os.close(lock)
