"""Opens a file that may be hostile.

What it is by its first bytes, and its bytes unpacked, under caps.
"""

from __future__ import annotations

import codecs
import gzip
import re
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Literal

from autograder.errors import SubmissionError

MIB = 1024 * 1024
FILE_CAP = 512 * MIB
UNPACKED_CAP = 1024 * MIB
CHUNK = 2 * MIB
Form = Literal["sqlite", "nsys-rep", "ncu-rep", "json", "text"]
JSON = re.compile(r"\s*+(?:\{|\[\s*+(?:\{|\]|$))")  # ncu's text begins with [12541]
MAGIC: dict[bytes, Form] = {
    b"SQLite format 3\0": "sqlite",
    b"NVIDIA Tegra Profiler Report ": "nsys-rep",
    b"NVR\0": "ncu-rep",
}


def no_file(path: Path) -> str:
    """Say why a path that a person gave is no file to read, or nothing."""
    if path.is_file():
        return ""
    if path.is_dir():
        return "is a folder; name the profile in it"
    return (
        "is no ordinary file; write what it gives to one"
        if path.exists()
        else "there is no such file"
    )


class Source:
    """One file; gzip is known by its content, never by its name."""

    def __init__(self, path: Path, name: str = "") -> None:
        """Look at the first bytes."""
        self.path = path
        self.name = name or path.name
        try:
            size = path.stat().st_size
            with path.open("rb") as file:
                self.packed = file.read(2) == b"\x1f\x8b"
        except OSError as error:
            raise SubmissionError(f"{self.name}: cannot be read: {error.strerror}") from None
        if size > FILE_CAP:
            raise SubmissionError(
                f"{self.name}: {size / MIB:.0f} MiB; "
                f"at most {FILE_CAP // MIB} are read; record fewer steps"
            )
        self.head = next(self.chunks(4096), b"")
        if not self.head:
            raise SubmissionError(
                f"{self.name}: is empty; was the program killed before the profile was written?"
            )

    @property
    def form(self) -> Form:
        """What the first bytes say."""
        for magic, form in MAGIC.items():
            if self.head.startswith(magic):
                return form
        return "json" if JSON.match(self._text_head()) else "text"

    @contextmanager
    def opened(self) -> Iterator[IO[bytes] | gzip.GzipFile]:
        """Open the bytes, unpacked."""
        with self.path.open("rb") as file:
            if self.packed:
                with gzip.GzipFile(fileobj=file) as unpacked:
                    yield unpacked
            else:
                yield file

    def chunks(self, size: int = CHUNK) -> Iterator[bytes]:
        """Yield the bytes, unpacked."""
        total = 0
        with self.opened() as file:
            while data := self._read(file, size):
                total += len(data)
                if total > UNPACKED_CAP:
                    raise SubmissionError(
                        f"{self.name}: unpacks to more than {UNPACKED_CAP // MIB} MiB"
                    )
                yield data

    def _read(self, file: IO[bytes] | gzip.GzipFile, size: int) -> bytes:
        try:
            return file.read(size)
        except EOFError:
            problem = (
                "ends in the middle; was the copy interrupted, "
                "or the program killed while it wrote?"
            )
        except (OSError, zlib.error):
            problem = "is damaged: it cannot be unpacked; hand in the file as the profiler wrote it"
        raise SubmissionError(f"{self.name}: {problem}")

    def text(self, size: int = CHUNK) -> Iterator[str]:
        """Yield the text; bytes that are no UTF-8 become a mark of that (profilers write such)."""
        decoder = codecs.getincrementaldecoder(self._encoding)("replace")
        for data in self.chunks(size):
            yield decoder.decode(data)
        yield decoder.decode(b"", final=True)

    @contextmanager
    def unpacked(self) -> Iterator[Path]:
        """Give a path to the unpacked bytes, for readers that need a file."""
        if not self.packed:
            yield self.path
            return
        with tempfile.NamedTemporaryFile(prefix="perflab-") as copy:
            for data in self.chunks():
                copy.write(data)
            copy.flush()
            yield Path(copy.name)

    @property
    def _encoding(self) -> str:
        """PowerShell's > writes UTF-16."""
        return (
            "utf-16" if self.head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"
        )

    def _text_head(self) -> str:
        return self.head[: len(self.head) // 2 * 2].decode(self._encoding, "replace")
