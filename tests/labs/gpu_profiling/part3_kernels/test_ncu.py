"""Command lines of ncu as data, in all the forms that ncu takes; and what is said of figures that were misread."""

from __future__ import annotations

import pytest

from autograder.labs.gpu_profiling.part3_kernels import ncu

WANTED = ncu.Wanted("train.py", "kernels", launches=10, skipped=0)
RIGHT = [
    "ncu",
    "--set",
    "full",
    "-k",
    "regex:^(a|b)$",
    "-c",
    "10",
    "-o",
    "kernels",
    "python",
    "train.py",
]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        pytest.param(RIGHT, "", id="short names"),
        pytest.param(
            [
                "/opt/ncu",
                "--launch-count=10",
                "--csv",
                "--export=kernels.ncu-rep",
                "--set=basic",
                "python3",
                "train.py",
            ],
            "",
            id="= forms, a flag, a path, the ending",
        ),
        pytest.param(
            [*RIGHT[:-2], "-s", "0", "python", "train.py"], "", id="none skipped, and said so"
        ),
        pytest.param(
            ["ncu", "--call-stack", "--kill", "yes", *RIGHT[1:]], "", id="other options of ncu"
        ),
        pytest.param(
            [*RIGHT[:3], "-c10", "-kconv", "-okernels", "--", *RIGHT[-2:]], "", id="in one word"
        ),
        pytest.param(
            ["ncu", "-set", "full"], "'-set' has one dash; ncu calls it --set", id="one dash"
        ),
        pytest.param([], "it begins with nothing; it must be ncu", id="nothing"),
        pytest.param(["nsys", "profile"], "it begins with nsys; it must be ncu", id="nsys"),
        pytest.param(
            ["ncu", "--output=kernels"],
            "no option '--output'; it calls it --export",
            id="of Lab 02",
        ),
        pytest.param(["ncu", "--fast"], "no option '--fast'", id="unknown"),
        pytest.param(["ncu", "--set"], "--set has no value", id="no value"),
        pytest.param(RIGHT[:-2], "it runs nothing", id="no program"),
        pytest.param(
            [*RIGHT[:-2], "train.py"],
            "it runs train.py, not python train.py after all options",
            id="no python",
        ),
        pytest.param(
            [*RIGHT, "-c", "10"],
            "it runs python train.py with -c: the program gets",
            id="options of the program",
        ),
        pytest.param([*RIGHT[:1], *RIGHT[3:]], "--set is not there", id="no set"),
        pytest.param([*RIGHT[:7], *RIGHT[9:]], "the report goes to nowhere", id="no report"),
        pytest.param(
            [*RIGHT[:6], "1", *RIGHT[7:]], "--launch-count is 1; it must be 10", id="another count"
        ),
        pytest.param(
            [*RIGHT[:-2], "-s", "3", *RIGHT[-2:]],
            "--launch-skip is 3; it must be 0",
            id="skips too many",
        ),
    ],
)
def test_a_command_line_is_judged_by_what_ncu_makes_of_it(words, problem):
    found = ncu.command_problem(words, WANTED)

    assert bool(problem) == bool(found)
    assert problem in found


@pytest.mark.parametrize(
    ("said", "chosen"),
    [
        pytest.param("regex:^(conv|gemm)$", ["conv", "gemm"], id="both, and no more"),
        pytest.param("regex:conv", ["conv", "conv_bias"], id="anywhere in a name"),
        pytest.param("conv", ["conv"], id="exact"),
        pytest.param(".*conv.*", [], id="an expression for a name"),
    ],
)
def test_kernels_are_chosen_as_ncu_does(said, chosen):
    assert chosen == ncu.chosen(["ncu", "-k", said], ["conv", "gemm", "conv_bias"])


def test_without_a_name_every_kernel_is_measured():
    assert ["conv", "gemm"] == ncu.chosen(["ncu", "python"], ["conv", "gemm"])


@pytest.mark.parametrize(
    ("words", "seen", "problem"),
    [
        pytest.param(
            ["ncu", "python"],
            ["conv", "gemm"],
            "the line has no --kernel-name, so every kernel is measured",
            id="none",
        ),
        pytest.param(
            ["ncu", "--fast"],
            ["conv", "gemm"],
            "ncu has no option '--fast', so nothing is measured",
            id="unread",
        ),
        pytest.param(["ncu", "-k", "regex:^conv.1$"], ["conv.1"], "", id="what was asked for"),
        pytest.param(
            ["ncu", "-k", "regex:conv"],
            ["conv.1", "my_conv"],
            "my_conv is measured, too: the expression may match anywhere in a name",
            id="within a name",
        ),
        pytest.param(
            ["ncu", "-k", "regex:^conv.1$"],
            ["conv.1", "conv_1"],
            "conv_1 is measured, too: the dot in conv.1 matches any character",
            id="a dot",
        ),
    ],
)
def test_what_a_line_measures_is_told_by_what_it_says(words, seen, problem):
    assert problem == ncu.choice_problem(words, seen, ["conv.1"])


@pytest.mark.parametrize(
    ("sm", "memory", "limit"),
    [(59.9, 59.0, "latency"), (60.0, 60.0, "compute"), (61.0, 90.0, "memory")],
)
def test_what_limits_a_kernel_is_the_busier_side_or_neither(sm, memory, limit):
    assert limit == ncu.bound({"sm_percent": sm, "memory_percent": memory})
