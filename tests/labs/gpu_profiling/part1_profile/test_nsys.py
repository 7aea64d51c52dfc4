"""Command lines of nsys: every honest form passes, each mistake is told in a sentence."""

from __future__ import annotations

import shlex

import pytest

from autograder.labs.gpu_profiling.part1_profile import nsys

PROGRAM = ["python", "-m", "given.training", "--batches", "30"]
RUN = " ".join(PROGRAM)
FULL = "--trace=cuda,nvtx --capture-range=cudaProfilerApi --output=base"
CAPTURES = {
    "long, with =": (f"nsys profile {FULL} {RUN}", ""),
    "long, with a space": (f"nsys profile --trace cuda,nvtx --capture-range cudaProfilerApi --output base {RUN}", ""),
    "short": (f"nsys profile -t cuda,nvtx -c cudaProfilerApi -o base.nsys-rep {RUN}", ""),
    "short, without a space": (f"nsys profile -tcuda,nvtx -c=cudaProfilerApi -obase {RUN}", ""),
    "another order, other options": (f"nsys profile -o base --stats=true -c cudaProfilerApi --gpu-metrics-devices 0 -t osrt,nvtx,cuda-hw -w true {RUN}", ""),
    "two lists": (f"nsys profile -t cuda -t nvtx -c cudaProfilerApi -o base {RUN}", ""),
    "with an end": (f"nsys profile {FULL} --capture-range-end repeat:2 {RUN}", ""),
    "options ended by --": (f"nsys profile {FULL} -- {RUN}", ""),
    "in this folder": (f"nsys profile -t cuda,nvtx -c cudaProfilerApi -o ./base {RUN}", ""),
    "one dash": (f"nsys profile -trace=cuda,nvtx {FULL} {RUN}", "'-trace=cuda,nvtx' has one dash; nsys calls it --trace"),
    "by its path": (f"/opt/nvidia/nsys profile {FULL} {RUN}", ""),
    "nothing": ("", "it begins with nothing; it must be nsys profile"),
    "another tool": (f"ncu {FULL} {RUN}", "it begins with ncu --trace=cuda,nvtx; it must be nsys profile"),
    "no command": ("nsys", "it begins with nsys; it must be nsys profile"),
    "another command": (f"nsys launch {FULL} {RUN}", "it begins with nsys launch; it must be nsys profile"),
    "a list with spaces": (f"nsys profile --trace cuda nvtx -o base {RUN}", "'nvtx' would be run as the program: --trace takes one value, with commas and no spaces"),
    "a space in the list": (f"nsys profile '--trace=cuda, nvtx' -o base {RUN}", "--trace is 'cuda, nvtx', and nsys takes no spaces there"),
    "no CUDA": (f"nsys profile -t nvtx -o base {RUN}", "--trace is nvtx: without cuda, the report has no kernels, copies and calls"),
    "no trace at all": (f"nsys profile -o base {RUN}", "--trace is not there: without cuda, the report has no kernels, copies and calls"),
    "no NVTX": (f"nsys profile -t cuda,osrt -o base {RUN}", "--trace is cuda,osrt: without nvtx, the report has no ranges"),
    "an option without its value": (f"nsys profile --trace -c cudaProfilerApi -o base {RUN}", "--trace is not there: without cuda, the report has no kernels, copies and calls"),
    "no range": (f"nsys profile -t cuda,nvtx -o base {RUN}", "--capture-range is not there; it must be cudaProfilerApi, so that only the training is recorded, not the start of Python"),
    "another range": (f"nsys profile -t cuda,nvtx -c nvtx -o base {RUN}", "--capture-range is nvtx; it must be cudaProfilerApi, so that only the training is recorded, not the start of Python"),
    "an end that is none": (f"nsys profile {FULL} --capture-range-end=true {RUN}", "--capture-range-end is true; nsys accepts none, stop, stop-shutdown and repeat"),
    "another program": (f"nsys profile {FULL} python train.py", f"it runs python train.py, not {RUN} after all options"),
    "no program": (f"nsys profile {FULL}", f"it runs nothing, not {RUN} after all options"),
    "options too late": (f"nsys profile -t cuda,nvtx -c cudaProfilerApi {RUN} -o base", "-o comes after the program, so the program gets this option of nsys"),
    "no name": (f"nsys profile -t cuda,nvtx -c cudaProfilerApi {RUN}", "the line has no --output, so the report is called report1 or report2"),
    "an old name": (f"nsys profile -t cuda,nvtx -c cudaProfilerApi -o base.qdrep {RUN}", "--output is base.qdrep: nsys writes .nsys-rep, which was .qdrep until 2021"),
    "another name": (f"nsys profile -t cuda,nvtx -c cudaProfilerApi -o mine {RUN}", "--output is mine; base is right"),
}  # fmt: skip
STATS = {
    "both sums": ("nsys stats --report=cuda_gpu_kern_sum,cuda_gpu_mem_time_sum --format=csv base.nsys-rep", ""),
    "nsys's own choice": ("nsys stats -q -f csv -o out base.sqlite", ""),
    "old names, to a file": ("nsys stats -r gpukernsum:base -r gpumemtimesum --format csv:dur base.nsys-rep", ""),
    "the report first": ("nsys stats ./base.nsys-rep --report cuda_gpu_kern_sum --report cuda_gpu_mem_time_sum --format csv", ""),
    "to the terminal": ("nsys stats -f csv --output - base.nsys-rep", ""),
    "two reports": ("nsys stats -f csv base.nsys-rep mine.nsys-rep", "the line reads base.nsys-rep mine.nsys-rep; base.nsys-rep is right"),
    "all in one": ("nsys stats -r cuda_gpu_sum -f csv base.nsys-rep", ""),
    "kernels alone": ("nsys stats -r cuda_gpu_kern_sum -f csv base.nsys-rep", "--report is cuda_gpu_kern_sum: without cuda_gpu_mem_time_sum, no sum over copies is printed"),
    "calls alone": ("nsys stats -r cuda_api_sum -f csv base.nsys-rep", "--report is cuda_api_sum: without cuda_gpu_kern_sum, no sum over kernels is printed"),
    "no CSV": ("nsys stats base.nsys-rep", "--format is not there; it must be csv"),
    "an old report": ("nsys stats -f csv base.qdrep", "the line reads base.qdrep: nsys writes .nsys-rep, which was .qdrep until 2021"),
    "no report": ("nsys stats -f csv", "the line reads nothing; base.nsys-rep is right"),
    "another report": ("nsys stats -f csv mine.nsys-rep", "the line reads mine.nsys-rep; base.nsys-rep is right"),
}  # fmt: skip
EXPORTS = {
    "long": ("nsys export --type=sqlite --output=base.sqlite base.nsys-rep", ""),
    "short": ("nsys export -t sqlite base.nsys-rep", ""),
    "the report first": ("nsys export base.nsys-rep -t sqlite --force-overwrite true", ""),
    "no kind": ("nsys export base.nsys-rep", "--type is not there; it must be sqlite"),
    "of an export": (
        "nsys export -t sqlite base.sqlite",
        "the line reads base.sqlite; base.nsys-rep is right",
    ),
}


@pytest.mark.parametrize(("line", "problem"), CAPTURES.values(), ids=CAPTURES)
def test_a_line_that_records(line, problem):
    assert problem == nsys.capture_problem(shlex.split(line), PROGRAM, "base")


@pytest.mark.parametrize(("line", "problem"), STATS.values(), ids=STATS)
def test_a_line_that_adds_up(line, problem):
    assert problem == nsys.stats_problem(shlex.split(line), "base")


@pytest.mark.parametrize(("line", "problem"), EXPORTS.values(), ids=EXPORTS)
def test_a_line_that_exports(line, problem):
    assert problem == nsys.export_problem(shlex.split(line), "base")
