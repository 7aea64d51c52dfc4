"""The files of one job, on disk for one worker, under a name that says nothing."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path


@contextlib.contextmanager
def staged(files: Mapping[str, bytes], reader: int | None = None) -> Iterator[tuple[Path, Path]]:
    """Yield the folder with the files, read-only, and an empty folder to work in; both go away after.

    Nobody but their owner may pass to them: us, or another user who is to read and work there.
    """
    root = Path(tempfile.mkdtemp(prefix="perflab-"))
    try:
        code, work = root / "code", root / "work"
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
    finally:
        shutil.rmtree(root, ignore_errors=True)
