"""Exports of Nsight Systems: old and new tables, graphs as wholes, several processes, and files that mean harm."""

from __future__ import annotations

import gzip
import sqlite3

import pytest

from autograder.errors import SubmissionError
from autograder.traces import database, nsys, read, summary
from autograder.traces.database import opened
from autograder.traces.source import Source
from tests.traces.made import PID, export, figures

KERNEL = (1000, 2000, 0, 7, 5, PID, 1, 2)
LAUNCH = (900, 950, 3, 5, PID + 41)


def test_an_export_is_read(tmp_path):
    """The figures of a few rows, worked out by hand; times count from the session's start."""
    path = export(
        tmp_path / "a.sqlite",
        CUPTI_ACTIVITY_KIND_KERNEL=[KERNEL, (2500, 3000, 0, 8, 6, PID, 4, 4)],
        CUPTI_ACTIVITY_KIND_MEMCPY=[
            (0, 500, 0, 7, 1, PID, 4096, 1, 1, 2),
            (600, 700, 0, 7, 1, PID, 64, 2, 2, 0),
        ],
        CUPTI_ACTIVITY_KIND_MEMSET=[(3000, 3100, 0, 7, 1, PID, 64)],
        CUPTI_ACTIVITY_KIND_RUNTIME=[LAUNCH],
        NVTX_EVENTS=[
            (0, 3000, 59, "epoch", None, PID + 41),
            (10, 20, 60, None, 2, PID + 41),
            (30, 50, 59, "aten::mm, op_id = 12", None, PID + 41),
            (60, None, 34, "a mark", None, PID + 41),
        ],
        META_DATA_EXPORT=[
            ("EXPORT_PRODUCT_VERSION", "2025.3.1"),
            ("EXPORT_SCHEMA_VERSION", "3.20.2"),
        ],
        TARGET_INFO_GPU=[(0, "NVIDIA H100"), ("odd", "x")],
        TARGET_INFO_SESSION_START_TIME=[(1_790_857_026 * 10**9,)],
    )
    trace, packed = read(path), tmp_path / "b.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    found = figures(trace)

    assert ("nsys", "2025.3.1", ("NVIDIA H100",), ()) == (
        trace.tool,
        trace.version,
        trace.devices,
        tuple(n for n in trace.notes if n != summary.COMM),
    )
    assert (1500 / 31, 2200 / 31) == pytest.approx(
        (found["busy_kernel", "gpu"], found["busy_any", "gpu"])
    )
    assert (2, 500, 4096, 100.0, 64) == tuple(
        found[name, "trace"]
        for name in ("kernel_count", "comm_time", "h2d_bytes", "h2d_pinned", "d2h_bytes")
    )
    assert (50, 1) == (found["launch_delay", "trace"], found["unmatched_kernels", "trace"])
    assert {"epoch", "gemm"} == {row.name for row in trace.rows("ranges")}
    assert ["aten::mm"] == [row.name for row in trace.rows("operators")]
    assert ("3.20.2", "2026-10-01") == (
        trace.signals["export schema"],
        trace.signals["recorded"][:10],
    )
    assert trace.figures == read(packed).figures


def test_an_export_of_2021_has_fewer_columns(tmp_path):
    path = tmp_path / "old.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE StringIds (id, value)")
    connection.execute("INSERT INTO StringIds VALUES (2, 'gemm')")
    columns = "start, end, deviceId, streamId, correlationId, shortName"
    connection.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL ({columns})")
    connection.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (0, 100, 0, 7, 1, 2)")
    connection.execute("CREATE TABLE TARGET_INFO_GPU (vmId, deviceId, name)")
    connection.execute("INSERT INTO TARGET_INFO_GPU VALUES (5, 0, 'Tesla T4')")
    connection.commit()
    connection.close()

    trace = read(path)

    assert ("2021 or older", ("Tesla T4",)) == (trace.version, trace.devices)
    assert ["gemm"] == [row.name for row in trace.rows("kernels")]


def test_graphs_recorded_as_wholes_keep_the_gpu_busy(tmp_path):
    """nsys records graphs as wholes unless told otherwise: kernels alone would say that the GPU idled."""
    path = export(
        tmp_path / "a.sqlite",
        CUPTI_ACTIVITY_KIND_KERNEL=[(0, 10, 0, 7, 5, PID, 1, 2)],
        CUPTI_ACTIVITY_KIND_GRAPH_TRACE=[(10, 1000, 0, 7, 6, PID)],
    )
    trace = read(path)

    assert (100.0, 1.0) == (
        trace.figure("busy_kernel", "gpu"),
        trace.figure("busy_kernel_only", "gpu"),
    )
    assert summary.GRAPHS in trace.notes


def test_launches_of_two_processes_are_kept_apart(tmp_path):
    """Each process numbers its own launches: joined by number alone, an effect would come before its cause."""
    other = 1 << 48 | 78 << 24
    path = export(
        tmp_path / "a.sqlite",
        CUPTI_ACTIVITY_KIND_KERNEL=[
            KERNEL,
            (100, 200, 1, 7, 5, other, 1, 2),
            (300, 400, 1, 7, None, None, 1, 2),
        ],
        CUPTI_ACTIVITY_KIND_RUNTIME=[
            LAUNCH,
            (50, 60, 3, 5, other + 3),
            (1, 2, 99, None, None),
            (9, 2, 3, 7, other),
        ],
    )
    trace = read(path)

    assert "0" == trace.signals["kernels that start before their launch"]
    assert "2 of 3" == trace.signals["kernels with their launch"]


def test_no_cuda_work_and_private_tables_are_said(tmp_path):
    """The environment is never read, only its presence is told."""
    path = export(
        tmp_path / "a.sqlite",
        META_DATA_CAPTURE=[("PROCESS_0:ENVIRONMENT_VARIABLE", "TOKEN=s3cret")],
    )

    trace = read(path)

    assert (nsys.ENVIRONMENT, nsys.NO_CUDA) == trace.notes
    assert "s3cret" not in str(trace)


def test_ranges_without_operators_are_no_overwritten_trace(tmp_path):
    """NVTX marks steps; that operators are missing is no sign of torch.profiler's schedule."""
    path = export(
        tmp_path / "a.sqlite", NVTX_EVENTS=[(0, 100, 59, "ProfilerStep#2", None, PID + 41)]
    )

    assert (nsys.NO_CUDA,) == read(path).notes


def test_values_of_any_type_are_survived(tmp_path):
    """SQLite holds anything in any column."""
    odd = [None, "text", b"\xff", 1.5, 2**63 - 1, -(2**63)]
    rows = [
        tuple(value if i == at else KERNEL[i] for i in range(8)) for value in odd for at in range(8)
    ]
    path = export(
        tmp_path / "a.sqlite", CUPTI_ACTIVITY_KIND_KERNEL=[*rows, (9, 3, 0, 7, 5, PID, 1, 2)]
    )

    assert 0 < read(path).figure("kernel_count") < len(rows)


HOSTILE = {
    "a view": "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT 1",
    "a trigger": "CREATE TRIGGER t AFTER INSERT ON StringIds BEGIN SELECT 1; END",
    "a table of a module": "CREATE VIRTUAL TABLE NVTX_EVENTS USING fts4(start)",
}


@pytest.mark.parametrize("sql", HOSTILE.values(), ids=HOSTILE)
def test_what_runs_when_it_is_read_is_refused(tmp_path, sql):
    path = export(tmp_path / "a.sqlite")
    with sqlite3.connect(path) as connection:
        connection.execute(sql)
    connection.close()

    with pytest.raises(SubmissionError, match="that nsys never writes"):
        read(path)


def test_a_column_that_computes_is_not_computed(tmp_path):
    """A generated column would call functions of the file's choice: it counts as absent."""
    path = export(tmp_path / "a.sqlite", CUPTI_ACTIVITY_KIND_KERNEL=[KERNEL])
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE StringIds")
        connection.execute("CREATE TABLE StringIds (id, value AS (hex(zeroblob(100000000))))")
        connection.execute("INSERT INTO StringIds (id) VALUES (1)")
    connection.close()

    assert ["(unnamed kernel)"] == [row.name for row in read(path).rows("kernels")]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT hex(id) FROM StringIds",
        "ATTACH 'other' AS o",
        "DELETE FROM StringIds",
        "PRAGMA journal_mode",
    ],
)
def test_nothing_but_plain_reading_is_allowed(tmp_path, sql):
    with (
        opened(Source(export(tmp_path / "a.sqlite"))) as found,
        pytest.raises(SubmissionError, match="not authorized"),
    ):
        found._run(sql)


def test_reading_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(database, "STEPS_AT_ONCE", 10)
    monkeypatch.setattr(database, "MOST_LOOKS", 3)
    path = export(tmp_path / "a.sqlite", CUPTI_ACTIVITY_KIND_KERNEL=[KERNEL] * 1000)

    with pytest.raises(SubmissionError, match="interrupted"):
        read(path)


@pytest.mark.parametrize("at", [16, 100, 8192])
def test_a_damaged_file_is_said_to_be_one(tmp_path, at):
    path = export(tmp_path / "a.sqlite", CUPTI_ACTIVITY_KIND_KERNEL=[KERNEL] * 1000)
    data = bytearray(path.read_bytes())
    data[at : at + 400] = b"\xa5" * 400
    path.write_bytes(data)

    with pytest.raises(SubmissionError, match="cannot be read as a database"):
        read(path)


def test_a_database_of_something_else_is_refused(tmp_path):
    """No table of nsys is no old export of nsys."""
    with sqlite3.connect(tmp_path / "users.sqlite") as connection:
        connection.execute("CREATE TABLE users (name)")
    connection.close()

    with pytest.raises(
        SubmissionError, match=r"users\.sqlite: is a database, and no export of nsys"
    ):
        read(tmp_path / "users.sqlite")


def test_names_that_are_no_utf_8_are_a_damaged_file(tmp_path):
    """sqlite3 decodes names of columns and words of errors itself."""
    path = export(tmp_path / "a.sqlite")
    path.write_bytes(
        path.read_bytes().replace(b"CREATE TABLE StringIds", b"CREATE TABBE \xff\xfeingIds")
    )

    with pytest.raises(SubmissionError, match="cannot be read as a database"):
        read(path)


@pytest.mark.parametrize(
    ("table", "note"),
    [
        ("META_DATA_CAPTURE", nsys.ENVIRONMENT),
        ("TARGET_INFO_SYSTEM_ENV", nsys.ENVIRONMENT),
        ("ProcessStreams", nsys.OUTPUT),
    ],
)
def test_what_is_private_is_called_what_it_is(tmp_path, table, note):
    path = export(tmp_path / "a.sqlite", CUPTI_ACTIVITY_KIND_KERNEL=[KERNEL])
    with sqlite3.connect(path) as connection:
        connection.execute(f"CREATE TABLE {table} (name, value)")
    connection.close()

    assert (note,) == read(path).notes


def test_rows_with_impossible_times_are_counted(tmp_path):
    """A range that was still open at the end is none of them."""
    path = export(
        tmp_path / "a.sqlite",
        CUPTI_ACTIVITY_KIND_KERNEL=[KERNEL, (9, 3, *KERNEL[2:]), ("text", 3, *KERNEL[2:])],
        CUPTI_ACTIVITY_KIND_RUNTIME=[(900, None, 3, 5, PID + 41)],
        NVTX_EVENTS=[
            (5, None, 59, "open", None, PID + 41),
            (5, 1, 59, "backwards", None, PID + 41),
        ],
    )

    assert ("4 events could not be read and are left out",) == read(path).notes
