"""Part 6 of gpu_profiling judged whole: right work passes on any seed; mistakes are entries of the corpus."""

from __future__ import annotations

import re
import shutil

import numpy as np
import pytest

from autograder import checks
from autograder.checks import trace
from autograder.labs.gpu_profiling.part6_final import part
from autograder.labs.gpu_profiling.part6_final.files import HEADINGS
from autograder.labs.gpu_profiling.part6_final.part import PROGRAM
from autograder.labs.gpu_profiling.part6_final.rig.sums import Sums
from autograder.model import Device, Failed, Passed, Text, Unavailable
from tests.labs.bench import Bench, failing

bench = Bench("gpu_profiling", part, without={"loading_is_faster"})
pytestmark = pytest.mark.filterwarnings("ignore")
MACHINE = Device("a CPU", "cpu", "cpu")
CODE = [name for name, check in part.checks.items() if set(check.reads) <= set(part.probes)]


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


def test_the_reference_passes(judge):
    assert {} == failing(judge(bench.source, only=CODE))


def test_a_program_that_is_missing_is_said(tmp_path):
    shutil.copy(bench.reference / part.file, tmp_path / part.file)

    found = bench.judged(tmp_path / part.file, only=["accumulates"])["accumulates"]

    assert f"{PROGRAM} was not submitted" in found.why


# --- what is handed in ------------------------------------------------------------------------------------------------

MADE = bench.reference.parent.parent / "tests" / "submissions" / "gpu_profiling"
GPU = Device("NVIDIA H100 80GB HBM3", "cuda", "hopper")


def handed_in(folder, file):
    return checks.read((MADE / folder / file).read_bytes(), file)


@pytest.mark.parametrize(
    ("folder", "device", "kind", "words"),
    [
        pytest.param(
            "final_on_a_gpu", GPU, Passed, "3.902 times as fast", id="fast, and measured here"
        ),
        pytest.param(
            "final_on_a_gpu",
            MACHINE,
            Unavailable,
            "not comparable here",
            id="fast, and measured elsewhere",
        ),
        pytest.param("final_twice_on_a_gpu", GPU, Failed, "and 3 times is right", id="too slow"),
    ],
)
def test_three_times_count_where_they_can_be_shown(folder, device, kind, words):
    table, profile = handed_in(folder, "final_results.csv"), handed_in(folder, "final_profile.gz")

    found = part.checks["three_times_as_fast"].judge(table, profile, device)

    assert isinstance(found, kind)
    assert words in f"{getattr(found, 'measured', '')} {getattr(found, 'why', '')} {found}"


def test_the_reader_of_profiles_reads_what_is_made_of_nsys_stats():
    """Both read the same text: what a student is asked for, and what the grader sees in it."""
    made = Sums(np.random.default_rng(1), new=True)

    found = trace.read(made.text().encode(), "stats_before.txt")

    assert "nsys stats" == found.tool
    assert made.expected["launches"] == found.figure("kernel_count")
    assert made.expected["waiting_calls"] == found.figure("sync_count")
    assert made.expected["copy_to_gpu_ms"] == pytest.approx(found.figure("h2d_sum") / 1e6)


STATS = {
    "no text of nsys": ("nothing\n", "cannot be read"),
    "no calls": ("Time (%),Total Time (ns),Instances,Name\n100,5000,2,gemm\n", "no calls"),
}


@pytest.mark.parametrize(("text", "words"), STATS.values(), ids=STATS)
def test_what_nsys_did_not_print_is_said(text, words):
    found = part.checks["stats_show_the_difference"].judge(
        Text("stats_before.txt", text), Text("stats_after.txt", text)
    )

    assert isinstance(found, Failed)
    assert words in f"{found.measured} {found.why}"


def test_fewer_waits_are_looked_for_where_nsys_was():
    """The two texts of a GPU, then the same in the wrong order."""
    before, after = (
        handed_in("final_on_a_gpu", file) for file in ("stats_before.txt", "stats_after.txt")
    )
    judge = part.checks["stats_show_the_difference"].judge

    assert isinstance(judge(before, after), Passed)
    assert "more often after than before" in judge(after, before).why
    assert isinstance(
        judge(*(Text(one.file, "No nsys here.") for one in (before, after))), Unavailable
    )
    assert (
        "the other file is of nsys" in judge(before, Text("stats_after.txt", "No nsys here.")).why
    )
    fewer = before.text.replace(",893,18535.0,", ",8,18535.0,")
    assert "not its count times its average" in judge(before, Text("stats_after.txt", fewer)).why


REFLECTIONS = {
    "a heading is gone": (
        lambda text: text.replace("## Lessons learned", "## Afterwards"),
        "no heading 'Lessons learned'",
    ),
    "something to fill in": (lambda text: text + "\n*Your answer here.*\n", "Your answer here"),
    "too short": (
        lambda text: "\n\nFine.\n\n".join(f"## {name}" for name in [*HEADINGS, "Rest"]),
        "150 to 2000",
    ),
    "no figures": (
        lambda text: re.sub(r"\{[^}]*\}", "some", text),
        "4 of the table are needed",
    ),
    "few figures, and what to do": (
        lambda text: re.sub(r"\{[^}]*\}", "some", text),
        "name more figures: write it by its name",
    ),
}


@pytest.mark.parametrize(("change", "words"), REFLECTIONS.values(), ids=REFLECTIONS)
def test_a_reflection_has_four_answers_with_figures(change, words):
    text = change(handed_in("final_on_a_gpu", "reflection.md").text)

    found = part.checks["reflection_is_true"].judge(
        Text("reflection.md", text), handed_in("final_on_a_gpu", "final_results.csv")
    )

    assert isinstance(found, Failed)
    assert words in f"{found.measured} {found.why} {found.try_}"
