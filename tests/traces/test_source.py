"""Files by their content: what they are, and why they are not read."""

from __future__ import annotations

import gzip

import pytest

from autograder.errors import SubmissionError
from autograder.traces import read, source
from autograder.traces.source import Source

ZIPPED = gzip.compress(b'{"traceEvents": []}' * 100)


@pytest.mark.parametrize(
    ("data", "form"),
    [
        pytest.param(b'\xef\xbb\xbf {"traceEvents"', "json", id="object"),
        pytest.param(b"[\n {", "json", id="list"),
        pytest.param(b"[]", "json", id="empty list"),
        pytest.param(b"[12541] main@127.0.0.1\n  kernel", "text", id="text of ncu"),
        pytest.param('{"a"'.encode("utf-16"), "json", id="UTF-16"),
        pytest.param(b"SQLite format 3\0...", "sqlite", id="export"),
        pytest.param(b"NVIDIA Tegra Profiler Report 1.", "nsys-rep", id="raw nsys"),
        pytest.param(b"NVR\0...", "ncu-rep", id="raw ncu"),
        pytest.param(b"Time (%),Total", "text", id="CSV"),
    ],
)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
def test_a_form_is_known_by_its_first_bytes(tmp_path, data, form, packed):
    path = tmp_path / "any.name"
    path.write_bytes(gzip.compress(data) if packed else data)

    assert form == Source(path).form


@pytest.mark.parametrize(
    ("data", "words"),
    [
        pytest.param(b"", "t: is empty; was the program killed", id="empty"),
        pytest.param(
            ZIPPED[:-20], "t: ends in the middle; was the copy interrupted", id="cut gzip"
        ),
        pytest.param(
            ZIPPED[:20] + b"\0" * 40, "t: is damaged: it cannot be unpacked", id="damaged gzip"
        ),
        pytest.param(
            b"NVIDIA Tegra Profiler Report 2025@5@2@266-abc",
            "raw report of nsys 2025.5.2.266",
            id="nsys",
        ),
        pytest.param(
            b"NVIDIA Tegra Profiler Report 1.\n",
            "raw report of nsys of 2021 or older",
            id="old nsys",
        ),
        pytest.param(
            b"hello",
            "t: is no profile that is read here; hand in a torch.profiler trace",
            id="text",
        ),
        pytest.param(
            b'{"a": 1}',
            "t: holds no trace events; write it with prof.export_chrome_trace",
            id="other JSON",
        ),
    ],
)
def test_what_cannot_be_read_says_what_to_do(tmp_path, data, words):
    path = tmp_path / "t"
    path.write_bytes(data)

    with pytest.raises(SubmissionError) as error:
        read(path)

    assert words in str(error.value)


def test_caps_hold_before_and_after_unpacking(tmp_path, monkeypatch):
    path = tmp_path / "t"
    path.write_bytes(gzip.compress(b"[" + b" " * 100_000))
    monkeypatch.setattr(source, "UNPACKED_CAP", 50_000)
    with pytest.raises(SubmissionError, match="unpacks to more than"):
        read(path)

    monkeypatch.setattr(source, "FILE_CAP", 10)
    with pytest.raises(SubmissionError, match="at most 0 are read; record fewer steps"):
        read(path)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(SubmissionError, match="none: cannot be read: No such file"):
        read(tmp_path / "none")
