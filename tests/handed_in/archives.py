"""Submissions as a folder, a zip and a tar, and what is said of one that cannot be read."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from autograder.errors import SubmissionError
from autograder.handed_in.submission import load
from autograder.handed_in.unpack import Caps

PY, CSV, PNG = "part3_amp.py", "amp_results.csv", "amp_comparison.png"
LISTED = [PY, CSV, PNG]
CODE = b"import torch\r\n\nprint('\xc3\xa9')\n"
FILES = {PY: CODE, CSV: b"precision,speedup\n", PNG: b"\x89PNG\r\n\x1a\n\x00\xff"}
DAMAGED = "it is damaged in the archive; make the archive again"


def folder(at: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (at / name).parent.mkdir(parents=True, exist_ok=True)
        (at / name).write_bytes(data)
    return at


def zipped(
    at: Path, *entries: tuple[str | zipfile.ZipInfo, bytes], how: int = zipfile.ZIP_DEFLATED
) -> Path:
    with zipfile.ZipFile(at, "w", how) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return at


def tarred(at: Path, *entries: tuple[str | tarfile.TarInfo, bytes], mode: str = "w:gz") -> Path:
    with tarfile.open(at, mode) as archive:
        for name, data in entries:
            info = tarfile.TarInfo(name) if isinstance(name, str) else name
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return at


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def answer(path: Path, caps: Caps | None = None) -> str:
    with pytest.raises(SubmissionError) as caught:
        load(path, LISTED, caps or Caps())
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(f"{path}: ")
