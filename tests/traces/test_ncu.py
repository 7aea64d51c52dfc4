"""Nsight Compute: the details and raw pages as CSV, text, reports, and the refusals of a rented machine."""

from __future__ import annotations

import csv
import io
import sys
from types import SimpleNamespace

import pytest

from autograder.errors import SubmissionError
from autograder.traces import ncu
from autograder.traces.ncu import PEAK
from tests.traces.made import read_made

HEAD = '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC"'
ROW = '"{id}","12","main","ada-laptop","{name}","1","7","(64, 1, 1)","(8, 1, 1)","0","7.5"'
DETAILS = HEAD + ',"Section Name","Metric Name","Metric Unit","Metric Value","Rule Name"\n'


def details(*metrics, id=0, name="gemm(int)"):  # noqa: A002
    return "".join(
        f'{ROW.format(id=id, name=name)},"Some Section","{m}","{unit}","{value}"\n'
        for m, unit, value in metrics
    )


MEASURED = details(
    ("Duration", "usecond", "993.02"),
    ("Compute (SM) Throughput", "%", "40.19"),
    ("Memory Throughput", "byte/s", "196,456,177,859.63"),
    ("Memory Throughput", "%", "40.56"),
    ("DRAM Throughput", "%", "40.22"),
    ("Achieved Occupancy", "%", "93.79"),
    ("Registers Per Thread", "register/thread", "16"),
    ("Elapsed Cycles", "cycle", "12,319,469"),
)
EXPECTED = {
    "duration": 993_020,
    "sm_throughput": 40.19,
    "memory_throughput": 40.56,
    "dram_throughput": 40.22,
    "achieved_occupancy": 93.79,
    "registers": 16,
}
RAW = f"""==PROF== Connected to process 12
the program's own words
{HEAD},"gpu__time_duration.sum","sm__throughput{PEAK}elapsed"
"","","","","","","","","","","","ns","%"
{ROW.format(id=0, name="gemm(int)")},"993020","40.19"
{ROW.format(id=1, name="relu")},"6980",""
==PROF== Disconnected
"""
TEXT = """[12541] main@127.0.0.1
  gemm(int) (256000, 1, 1)x(64, 1, 1), Context 1, Stream 7, Device 0, CC 7.5
    Section: GPU Speed Of Light Throughput
    ----------------------- ------------- -------------
    Metric Name               Metric Unit  Metric Value
    ----------------------- ------------- -------------
    Duration                           ms          1.17
    Compute (SM) Throughput             %         80.30
    ----------------------- ------------- -------------

    INF   The kernel is utilizing greater than 80.0% of the available compute.
"""


def values(trace):
    return {one.id: one.value for one in trace.figures}


def test_details_are_read_in_base_units(tmp_path):
    """Of two metrics with one name, the share of the peak counts."""
    trace = read_made(tmp_path, DETAILS + MEASURED, "ncu.csv")

    assert pytest.approx(EXPECTED) == values(trace)
    assert {("kernel", 0, "gemm(int)")} == {
        (one.window, one.device, one.subject) for one in trace.figures
    }
    assert "ada-laptop" not in str(trace)


def test_the_raw_page_has_its_units_in_the_second_line(tmp_path):
    """What the program printed in between does not matter; a cell may be empty."""
    trace = read_made(tmp_path, RAW, "ncu.csv")

    assert [("duration", 993_020), ("sm_throughput", 40.19), ("duration", 6980)] == [
        (one.id, one.value) for one in trace.figures
    ]
    assert [("gemm(int)", 993_020, 99.302), ("relu", 6980, 0.698)] == [
        (r.name, r.total_ns, round(r.share, 3)) for r in trace.rows("kernels")
    ]


def test_the_same_kernel_twice_is_one_row(tmp_path):
    twice = details(("Duration", "ns", "10"), id=0) + details(("Duration", "ns", "30"), id=1)

    assert [("gemm(int)", 2, 40)] == [
        (r.name, r.count, r.total_ns)
        for r in read_made(tmp_path, DETAILS + twice, "ncu.csv").rows("kernels")
    ]


def test_launches_keep_the_ids_of_the_file_or_are_numbered(tmp_path):
    twice = details(("Duration", "ns", "10"), id=7) + details(("Duration", "ns", "30"), id=9)

    cases = (
        (DETAILS + twice, "csv", ["7", "9"]),
        (RAW, "csv", ["0", "0", "1"]),
        (TEXT * 2, "txt", ["0", "0", "1", "1"]),
    )
    for text, kind, ids in cases:
        assert ids == [one.launch for one in read_made(tmp_path, text, f"ncu.{kind}").figures]


def test_text_of_a_terminal_is_read(tmp_path):
    trace = read_made(tmp_path, TEXT, "ncu.txt")

    assert {"duration": 1_170_000, "sm_throughput": 80.30} == pytest.approx(values(trace))
    assert (ncu.SERIAL,) == trace.notes


RULE = "-" * 40 + " " + "-" * 15 + " " + "-" * 15
OF_2020 = f"""[73376] sums@127.0.0.1
  row_sums(float const *,float*,unsigned long), 2020-Jul-28 06:48:36, Context 1, Stream 7
    Section: GPU Speed Of Light
    {RULE}
    SOL FB                                                 %           36.25
    Elapsed Cycles                                     cycle         4341767
    Memory [%]                                             %           77.32
    Duration                                         msecond            3.32
    SM [%]                                                 %            2.42
    {RULE}
"""
OF_2022 = OF_2020.replace("SM [%]          ", "Compute (SM) [%]").replace("SOL FB  ", "SOL DRAM")
SPANISH = OF_2022.replace(".", ",").replace("4341767", "4.341.767")
FRENCH = OF_2020.replace(".", ",").replace("4341767", "4 341 767").replace("3,32", "1 003,32")
SUMMARY = f"""[69642] transpose@127.0.0.1
  transpose(float *, int), Block Size 256, Grid Size 32, Device 0, 2 invocations
    Section: GPU Speed Of Light Throughput
    Metric Name                              Metric Unit     Minimum         Maximum         Average
    {RULE} {"-" * 15} {"-" * 15}
    Memory Throughput                        %               35.00           37.50           36.25
    gpu__time_duration.sum                   msecond         3.30            3.34            3.32
"""
SEEN = {
    "dram_throughput": 36.25,
    "memory_throughput": 77.32,
    "duration": 3_320_000,
    "sm_throughput": 2.42,
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(OF_2020, SEEN, id="2020"),
        pytest.param(OF_2022, SEEN, id="2022"),
        pytest.param(SPANISH, SEEN, id="2022, in Spain"),
        pytest.param(FRENCH, {**SEEN, "duration": 1_003_320_000}, id="2020, in France"),
    ],
)
def test_text_of_older_versions(tmp_path, text, expected):
    """Metrics had other names, the line of the kernel no shape, and numbers are those of the country."""
    trace = read_made(tmp_path, text, "ncu.txt")

    assert pytest.approx(expected) == values(trace)
    assert {"row_sums(float const *,float*,unsigned long)"} == {
        one.subject for one in trace.figures
    }


def test_a_summary_of_launches_counts_by_its_mean(tmp_path):
    trace = read_made(tmp_path, SUMMARY, "ncu.txt")

    assert {"memory_throughput": 36.25, "duration": 3_320_000} == pytest.approx(values(trace))
    assert {("transpose(float *, int)", 0)} == {(one.subject, one.device) for one in trace.figures}


def saved_again(sign):
    """Return the details as a spreadsheet or pandas writes them: no quotes but where they are needed."""
    rows = list(csv.reader((DETAILS + MEASURED).splitlines()))
    text = io.StringIO()
    csv.writer(text, delimiter=sign).writerows(rows)
    return text.getvalue()


@pytest.mark.parametrize("sign", [",", ";", "\t"])
def test_a_table_that_was_saved_again(tmp_path, sign):
    assert pytest.approx(EXPECTED) == values(read_made(tmp_path, saved_again(sign), "ncu.csv"))


def test_launches_of_two_runs_stay_two(tmp_path):
    """Each process counts its launches from 0."""
    one = DETAILS + details(("Duration", "ns", "10"))
    other = one.replace('"12"', '"13"').replace('"10"', '"30"')

    assert [("gemm(int)", 2, 40)] == [
        (r.name, r.count, r.total_ns)
        for r in read_made(tmp_path, one + other, "ncu.csv").rows("kernels")
    ]


def test_what_the_memory_did_has_two_raw_names(tmp_path):
    asked = details((f"dram__throughput{PEAK}elapsed", "%", "12.50"))

    assert {"dram_throughput": 12.5} == values(read_made(tmp_path, DETAILS + asked, "ncu.csv"))


def test_durations_that_were_not_measured_are_said(tmp_path):
    trace = read_made(tmp_path, DETAILS + details(("DRAM Throughput", "%", "5.00")), "ncu.csv")

    assert (ncu.NO_DURATION,) == trace.notes


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param(
            "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission",
            ncu.NO_PERMISSION,
            id="no permission",
        ),
        pytest.param(
            DETAILS, "holds no metrics of kernels; use ncu --set basic", id="nothing measured"
        ),
        pytest.param(
            HEAD + ',"gpu__time_duration.sum"\n', "holds no metrics of kernels", id="no launch"
        ),
        pytest.param(
            DETAILS + details(("Duration", "fortnight", "1.5")),
            "holds no metrics of kernels",
            id="a unit of its own",
        ),
        pytest.param(
            DETAILS + details(("Duration", "ns", "1.234")),
            "may be thousands or decimals",
            id="doubtful numbers",
        ),
    ],
)
def test_what_cannot_be_read_says_why(tmp_path, text, words):
    with pytest.raises(SubmissionError) as error:
        read_made(tmp_path, text, "ncu.csv")

    assert words in str(error.value)


def test_a_report_needs_nvidias_library(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ncu_report", None)

    with pytest.raises(SubmissionError) as error:
        read_made(tmp_path, b"NVR\0...", "a.ncu-rep")

    assert (
        "a.ncu-rep: reading it needs NVIDIA's ncu-report: pip install 'perflab[ncu]'; or hand in"
        in str(error.value)
    )


class Action:
    """Stands for one launch in ncu_report."""

    def name(self):
        return "gemm"

    def metric_names(self):
        return ["gpu__time_duration.sum", "other"]

    def __getitem__(self, name):
        return SimpleNamespace(unit=lambda: "ns", value=lambda: 1234)


def test_a_report_is_read_through_it(tmp_path, monkeypatch):
    fake = SimpleNamespace(load_report=lambda path: [[Action()]])
    monkeypatch.setitem(sys.modules, "ncu_report", fake)

    assert {"duration": 1234} == values(read_made(tmp_path, b"NVR\0...", "a.ncu-rep"))


def test_a_report_that_the_library_refuses(tmp_path, monkeypatch):
    def refuse(path):
        raise RuntimeError("bad file")

    monkeypatch.setitem(sys.modules, "ncu_report", SimpleNamespace(load_report=refuse))

    with pytest.raises(SubmissionError, match=r"a.ncu-rep: ncu-report cannot read it: bad file"):
        read_made(tmp_path, b"NVR\0...", "a.ncu-rep")
