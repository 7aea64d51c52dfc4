"""What `nsys stats` prints: CSV and text, units, separators of other countries, and traces of single operations."""

from __future__ import annotations

import csv

import pytest

from autograder.errors import SubmissionError
from autograder.traces import nsys_stats, printed_tables
from tests.traces.made import figures, read_made

KERNELS = """Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
75.0,3000,2,1500.0,1500.0,1000,2000,1.5,"void gemm<float, 1>(int)"
25.0,1000,1,1000.0,1000.0,1000,1000,0.0,relu
"""
COPIES = """Time (%),Total Time (ns),Count,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Operation
90.0,900,3,300.0,300.0,1,2,0.0,[CUDA memcpy Host-to-Device]
10.0,100,1,100.0,100.0,1,2,0.0,[CUDA memcpy DtoH]
"""
SIZES = """Total (MB),Count,Avg (MB),Med (MB),Min (MB),Max (MB),StdDev (MB),Operation
1.500,3,0.5,0.5,0.5,0.5,0.0,[CUDA memcpy Host-to-Device]
"""
CALLS = """Time (%),Total Time (ns),Num Calls,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
60.0,600,3,200.0,200.0,1,2,0.0,cudaLaunchKernel
40.0,400,2,200.0,200.0,1,2,0.0,cudaStreamSynchronize
"""
SYSTEM = CALLS.replace("cudaLaunchKernel", "poll").replace("cudaStreamSynchronize", "ioctl")
RANGES = """Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Style,Range
100.0,5000,1,5000.0,5000.0,1,2,0.0,PushPop,epoch
"""
TRACE = """Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),Bytes (MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,Strm,Name
1000,500,1,,,,,,,,,,1.5,3000.0,Pinned,Device,NVIDIA A100 (1),1,7,[CUDA memcpy Host-to-Device]
1400,600,2,1,1,1,32,1,1,16,0.0,0.0,,,,,NVIDIA A100 (1),1,7,gemm
2000,100,3,,,,,,,,,,0.1,,,Device,NVIDIA A100 (1),1,7,[CUDA memset]
3000,1000,4,1,1,1,32,1,1,16,0.0,0.0,,,,,NVIDIA A100 (1),1,8,ncclDevKernel_AllReduce
soon,1000,4,1,1,1,32,1,1,16,0.0,0.0,,,,,NVIDIA A100 (1),1,8,no time
"""
TEXT = """Processing [x.sqlite] with [/opt/nvidia/nsight-systems/2024.6.2/host-linux-x64/reports/cuda_gpu_kern_sum.py]...

 ** CUDA GPU Kernel Summary (cuda_gpu_kern_sum):

 Time (%)  Total Time (us)  Instances  Avg (us)  Name
 --------  ---------------  ---------  --------  ------------------------
     75.0            3,000          2   1,500.0  void gemm<float, 1>(int)
     25.0            1,000          1   1,000.0  relu of a long name that…

SKIPPED: x.sqlite does not contain GPU memory data.
"""


def test_sums_are_read_and_added_up(tmp_path):
    """Sizes that nsys does not print, or rounds to nothing, are no figure of 0 bytes."""
    trace = read_made(
        tmp_path, f"{KERNELS}\n{COPIES}\n{SIZES}\n{SYSTEM}\n{CALLS}\n{RANGES}", "nsys.csv"
    )

    assert {
        ("kernel_count", "trace"): 3,
        ("kernel_sum", "trace"): 4000,
        ("kernel_mean", "trace"): pytest.approx(4000 / 3),
        ("h2d_count", "trace"): 3,
        ("h2d_sum", "trace"): 900,
        ("h2d_bytes", "trace"): 1_500_000,
        ("d2h_count", "trace"): 1,
        ("d2h_sum", "trace"): 100,
        ("launch_count", "trace"): 3,
        ("graph_launches", "trace"): 0,
        ("sync_count", "trace"): 2,
    } == figures(trace)
    assert ["void gemm<float, 1>(int)", "relu"] == [row.name for row in trace.rows("kernels")]
    assert ["epoch"] == [row.name for row in trace.rows("ranges")]
    assert (nsys_stats.SHARE, nsys_stats.ONLY_SUMS) == trace.notes


def test_the_same_as_text_of_a_terminal(tmp_path):
    """Columns lie under dashes, in any unit, and long names are cut."""
    trace = read_made(tmp_path, TEXT, "nsys.txt")

    assert (4_000_000, "2024.6.2") == (trace.figure("kernel_sum"), trace.version)
    assert ["void gemm<float, 1>(int)", "relu of a long name that…"] == [
        row.name for row in trace.rows("kernels")
    ]


def test_headers_of_2021(tmp_path):
    old = "Time(%),Total Time (ns),Instances,Average,Minimum,Maximum,Name\n100.0,300,3,100.0,50,150,gemm\n"

    assert (3, 300) == tuple(
        read_made(tmp_path, old, "nsys.csv").figure(f"kernel_{name}") for name in ("count", "sum")
    )


OF_2019 = """CUDA Kernel Statistics (nanoseconds)

Time(%)      Total Time   Instances         Average  Name
-------  --------------  ----------  --------------  ----------------------------
  100.0      2307581036           1    2307581036.0  addVectorsInto


CUDA Memory Operation Statistics (nanoseconds)

Time(%)      Total Time  Operations         Average  Name
-------  --------------  ----------  --------------  ----------------------------
   76.6        68338400        2304         29660.8  [CUDA memcpy HtoD]

CUDA Memory Operation Statistics (KiB)

            Total      Operations            Average  Name
-----------------  --------------  -----------------  ----------------------------
         393216.0            2304              170.7  [CUDA memcpy HtoD]

CUDA API Statistics (nanoseconds)

Time(%)      Total Time       Calls         Average  Name
-------  --------------  ----------  --------------  ----------------------------
   90.0           51349           1         51349.0  cudaLaunchKernel
"""


def test_text_of_2019(tmp_path):
    """Columns had other names, and sizes were KiB without a word."""
    trace = read_made(tmp_path, OF_2019, "nsys.txt")

    assert {
        ("kernel_count", "trace"): 1,
        ("kernel_sum", "trace"): 2_307_581_036,
        ("kernel_mean", "trace"): 2_307_581_036,
        ("h2d_count", "trace"): 2304,
        ("h2d_sum", "trace"): 68_338_400,
        ("h2d_bytes", "trace"): 393_216 * 1024,
        ("launch_count", "trace"): 1,
        ("graph_launches", "trace"): 0,
        ("sync_count", "trace"): 0,
    } == figures(trace)


TRACE_OF_2020 = """
 Start(sec)  Duration(nsec)  CorrId    Bytes    Thru(MB/s)  SrcMemKd  DstMemKd        Device        Ctx  Strm         Name
 ----------  --------------  ------  ---------  ----------  --------  --------  ------------------  ---  ----  ------------------
   0.357341       1,400,294      63  4,000,000   2,856.543  Pageable  Device    A100-PCIE-40GB (0)    1    13  [CUDA memcpy HtoD]
   0.364801         222,080      74                                             A100-PCIE-40GB (0)    1    13  omp_offloading
"""


def test_a_trace_of_2020(tmp_path):
    """Starts were seconds, durations nanoseconds, and bytes bytes."""
    trace = read_made(tmp_path, TRACE_OF_2020, "nsys.txt")

    assert (4_000_000, 1_400_294, 222_080) == tuple(
        map(trace.figure, ("h2d_bytes", "h2d_time", "kernel_sum"))
    )
    assert 364_801_000 + 222_080 - 357_341_000 == next(
        one.length for one in trace.windows if one.id == "gpu0"
    )


@pytest.mark.parametrize("sign", [";", "\t"])
def test_tables_of_other_separators(tmp_path, sign):
    assert 4000 == read_made(tmp_path, "\n".join(
        sign.join(row) for row in csv.reader(KERNELS.splitlines())
    ), "nsys.txt").figure("kernel_sum")  # fmt: skip


def test_a_table_ends_where_the_next_begins(tmp_path):
    """Some put titles between reports and leave out the blank line."""
    trace = read_made(
        tmp_path, f"{KERNELS}** CUDA API Summary (cuda_api_sum):\n{CALLS}", "nsys.csv"
    )

    assert (3, 3) == (trace.figure("kernel_count"), trace.figure("launch_count"))


def test_a_number_beyond_all_bounds_is_none(tmp_path):
    assert 1000 == read_made(tmp_path, KERNELS.replace(",3000,", ",1e999,"), "nsys.csv").figure(
        "kernel_sum"
    )


def test_a_trace_of_operations_says_when_they_ran(tmp_path):
    """cuda_gpu_trace alone allows shares and overlap: 1000 to 2100, then 3000 to 4000."""
    trace = read_made(tmp_path, TRACE + "\n" + CALLS, "nsys.csv")

    assert (1600 / 30, 2100 / 30) == pytest.approx(
        (trace.figure("busy_kernel", "gpu", 1), trace.figure("busy_any", "gpu", 1))
    )
    assert (1_500_000, 20.0, 1000) == tuple(
        trace.figure(name) for name in ("h2d_bytes", "h2d_overlap", "comm_time")
    )
    assert {"kernels", "copies", "calls"} == set(trace.tables)


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        pytest.param(
            "SKIPPED: x.sqlite does not contain CUDA kernel data.\n",
            (nsys_stats.NO_CUDA,),
            id="no CUDA at all",
        ),
        pytest.param(
            "SKIPPED: x.sqlite does not contain CUDA kernel data.\n\n" + CALLS,
            (nsys_stats.NO_CUDA, nsys_stats.SHARE, nsys_stats.ONLY_SUMS),
            id="calls alone",
        ),
        pytest.param(
            "SKIPPED: x.sqlite does not contain CUDA kernel data.\n\n" + KERNELS,
            (nsys_stats.SHARE, nsys_stats.ONLY_SUMS),
            id="one of two files",
        ),
    ],
)
def test_the_reader_is_told_what_is_missing(tmp_path, text, notes):
    assert notes == read_made(tmp_path, text, "nsys.txt").notes


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "Time (%),Total Time (ns),Instances,Category,Operation\n1.0,5,1,CUDA_KERNEL,gemm\n",
            id="mixed",
        ),
        pytest.param(
            "Time (%),Total Time (ns),Instances,Source,Name\n1.0,5,1,rank,MPI_Bcast\n", id="of MPI"
        ),
        pytest.param("Time (%),Total Time (ns),Count,Name\n1.0,5,1,omp_task\n", id="of OpenMP"),
        pytest.param(SYSTEM, id="of the operating system"),
        pytest.param("Time (%),Other\n1.0,5\n", id="unknown columns"),
        pytest.param("Time (%),Total Time (ns),Instances,Name\n", id="no rows"),
    ],
)
def test_other_tables_alone_are_refused(tmp_path, text):
    with pytest.raises(
        SubmissionError, match=r"nsys.csv: holds no report that is read here: print nsys stats -r"
    ):
        read_made(tmp_path, text, "nsys.csv")


def test_a_header_without_dashes_is_none(tmp_path):
    text = (
        "Time (%)  Total Time (ns)  Name\nno dashes\n\nSKIPPED: does not contain CUDA kernel data"
    )

    assert {} == read_made(tmp_path, text, "nsys.txt").tables


@pytest.mark.parametrize(
    ("made", "point"),
    [
        pytest.param(["12", "5", "x"], ".", id="no separators"),
        pytest.param(["12,319,469"], ".", id="two groups, English"),
        pytest.param(["1.234", "0.5"], ".", id="a decimal beside a doubtful one"),
        pytest.param(["1,234.56"], ".", id="both, English"),
        pytest.param(["27.595.520"], ",", id="two groups, European"),
        pytest.param(["1.234", "0,5"], ",", id="a European decimal beside a doubtful one"),
        pytest.param(["1.234,56"], ",", id="both, European"),
        pytest.param(["1 234,56"], ",", id="both, French"),
    ],
)
def test_the_decimal_sign_is_found(made, point):
    assert point == printed_tables.point(made, "a.csv")


@pytest.mark.parametrize(
    ("made", "words"),
    [
        pytest.param(
            ["1.234", "7"],
            "a.csv: '1.234' may be thousands or decimals; write it again with LC_ALL=C",
            id="only doubtful",
        ),
        pytest.param(
            ["0.5", "0,5"], "a.csv: some numbers are thousands or decimals", id="both kinds"
        ),
    ],
)
def test_numbers_that_could_be_either_are_not_guessed(made, words):
    with pytest.raises(SubmissionError) as error:
        printed_tables.point(made, "a.csv")

    assert words in str(error.value)


@pytest.mark.parametrize(
    ("cell", "point", "value"),
    [
        ("1,234.5", ".", 1234.5),
        ("1.234,5", ",", 1234.5),
        ("1 234 567,5", ",", 1_234_567.5),
        ("1'234.5", ".", 1234.5),
        ("-7", ".", -7),
        ("1e3", ".", 1000),
        ("", ".", None),
        ("n/a", ".", None),
        ("٣", ".", None),
    ],
)
def test_a_number_is_read_or_is_none(cell, point, value):
    assert value == printed_tables.number(cell, point)


def test_text_is_read_up_to_a_cap(tmp_path, monkeypatch):
    monkeypatch.setattr(printed_tables, "TEXT_CAP", 100)

    with pytest.raises(SubmissionError, match="export only what was asked for"):
        read_made(tmp_path, KERNELS, "nsys.csv")


def test_powershell_writes_utf_16(tmp_path):
    assert 3 == read_made(tmp_path, KERNELS.encode("utf-16"), "nsys.csv").figure("kernel_count")


@pytest.mark.parametrize(
    ("text", "edited"),
    [
        pytest.param(f"{KERNELS}\n{COPIES}\n{CALLS}", False, id="as printed"),
        pytest.param(TEXT, False, id="text in microseconds"),
        pytest.param(KERNELS.replace(",2,1500.0", ",2,-"), False, id="no average"),
        pytest.param(KERNELS.replace(",2,1500.0", ",20,1500.0"), True, id="another count"),
        pytest.param(CALLS.replace("600,3,", "6000,3,"), True, id="another time"),
    ],
)
def test_a_row_that_contradicts_itself_is_noted(tmp_path, text, edited):
    """The average is the total over the count, rounded."""
    assert edited == (nsys_stats.EDITED in read_made(tmp_path, text, "nsys.csv").notes)


def test_a_cell_without_end_is_refused_in_words(tmp_path):
    """A quote that is opened and never closed swallows all lines behind it."""
    with pytest.raises(
        SubmissionError, match="is no table of nsys stats: field larger than field limit"
    ):
        read_made(tmp_path, KERNELS + '1,2,3,4,5,6,7,8,"' + 20 * (10_000 * "x" + "\n"), "nsys.csv")
