"""A copy to share: the figures stay, the environment, the host and the folders go."""

from __future__ import annotations

import pytest

from autograder.errors import UserError
from autograder.traces import read
from autograder.traces.redact import redact, without_paths
from tests.traces.made import PID, event, export, kineto, training

PRIVATE = ("s3cret", "ada", "/home")


def test_a_trace_without_host_and_folders(tmp_path):
    extra = [
        event("python_function", "/home/ada/lab/train.py(12): forward", 5, 5),
        event(
            "cpu_op",
            "aten::mm",
            6,
            1,
            **{"Call stack": ["/home/ada/x.py(3): f", {"at": "/home/ada/y.py"}]},
        ),
        {"ph": "M", "name": "process_name", "args": {"name": "ada"}, "pid": 1},
    ]
    path = tmp_path / "a_trace.json"
    path.write_bytes(
        kineto(
            [*training(), *extra], host_name="ada-laptop", env={"TOKEN": "s3cret"}, trace_id="AB"
        )
    )

    copy, left = redact(path)

    assert tmp_path / "a_trace.redacted.json" == copy
    assert "without the names of processes, folders, and env, host_name" == left
    assert not any(word in copy.read_text() for word in PRIVATE)
    assert "train.py(12): forward" in copy.read_text()
    assert (read(path).figures, "AB") == (read(copy).figures, read(copy).signals["trace_id"])
    assert "without the names of processes, folders" == redact(copy)[1]


def test_an_export_without_environment(tmp_path):
    """Only the names that the kept tables use are kept."""
    path = export(
        tmp_path / "a.sqlite",
        CUPTI_ACTIVITY_KIND_KERNEL=[(1000, 2000, 0, 7, 5, PID, 1, 2)],
        NVTX_EVENTS=[(0, 3000, 59, "load /home/ada/data", None, PID)],
        META_DATA_CAPTURE=[("PROCESS_0:ENVIRONMENT_VARIABLE", "TOKEN=s3cret")],
        META_DATA_EXPORT=[
            ("EXPORT_PRODUCT_VERSION", "2025.3"),
            ("EXPORT_FILE", "/home/ada/a.sqlite"),
        ],
        StringIds=[(1, "gemm"), (2, "gemm"), (3, "s3cret")],
    )

    copy, left = redact(path)

    assert (tmp_path / "a.redacted.sqlite", "without META_DATA_CAPTURE") == (copy, left)
    assert not any(word.encode() in copy.read_bytes() for word in PRIVATE)
    assert (read(path).figures, "2025.3", ()) == (
        read(copy).figures,
        read(copy).version,
        read(copy).notes,
    )
    assert "it held nothing to leave out" == redact(copy)[1]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        pytest.param(
            b"NVIDIA Tegra Profiler Report 2025@1@1",
            "no copy can be made of this kind; export it first",
            id="raw",
        ),
        pytest.param(None, "there is no such file", id="not there"),
    ],
)
def test_what_cannot_be_redacted(tmp_path, data, words):
    path = tmp_path / "a.nsys-rep"
    if data:
        path.write_bytes(data)

    with pytest.raises(UserError, match=words):
        redact(path)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("/home/ada/lab/train.py(12): forward", "train.py(12): forward"),
        (r"C:\Users\ada\train.py", "train.py"),
        ("void at::native::op<a / b>(int)", "void at::native::op<a / b>(int)"),
        (12, 12),
    ],
)
def test_folders_are_cut_from_texts_alone(given, kept):
    assert kept == without_paths(given)
