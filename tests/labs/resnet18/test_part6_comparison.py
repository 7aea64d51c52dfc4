"""Part 6 judged whole: right work passes on any seed; what no entry of the corpus shows, a check says here."""

from __future__ import annotations

import re

import pytest

from autograder import checks
from autograder.labs.resnet18.part6_comparison import part
from autograder.labs.resnet18.part6_comparison.comparison import mistaken
from autograder.model import Failed, Passed, Text
from tests.labs.bench import Bench, failing
from tests.worker.harness import observe

bench = Bench("resnet18", part)
pytestmark = pytest.mark.filterwarnings("ignore")


def handed_in(file, change=lambda text: text):
    data = (bench.reference / file).read_bytes()
    return checks.read(data if file.endswith(".png") else change(data.decode()).encode(), file)


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


def test_the_reference_passes(judge):
    assert {} == failing(judge(bench.source))


def test_a_program_that_was_not_handed_in_is_named(tmp_path):
    (tmp_path / part.file).write_bytes(bench.solution.read_bytes())
    seen = observe(part, "plain", tmp_path / part.file, 1)

    assert "raised" == seen.ended
    assert "optimized_training.py was not handed in" in seen.error


def shortened(text):
    """Keep the headings and a dozen words below each."""
    lines = [
        line if line.startswith("#") else " ".join(line.split()[:4]) for line in text.splitlines()
    ]
    return "\n".join(lines)


FILLER = "We looked at what was measured and thought about what it means for us. " * 30
LACKING = {  # a change of the report -> {check: words}
    "too short": (shortened, {"report_is_complete": "250 to 3000 words are expected"}),
    "too long": (lambda text: text + FILLER * 9, {"report_is_complete": "250 to 3000 words are expected"}),
    "nothing below a heading": (
        lambda text: text.replace("## Lessons Learned", "## Lessons Learned\n\n## More"),
        {"report_is_complete": "nothing below 'Lessons Learned'"},
    ),
    "too short, and figures alone below a heading": (
        lambda text: shortened(text).replace("## Lessons Learned", "## Lessons Learned\n\n## More"),
        {"report_is_complete": "below 'Lessons Learned'; 250 to 3000 words are expected"},
    ),
    "few recommendations": (
        lambda text: text.replace("2. Measure", "Measure").replace("3. Try", "Try").replace("4. Keep", "Keep"),
        {"report_is_complete": "recommendations of 6 words or more, and 3 are right"},
    ),
    "a bottleneck that is not named": (
        lambda text: re.sub(r"3\. \*\*Memory\*\* is none.*", "3. The process is a small one.", text),
        {"bottlenecks_have_evidence": "no item with a number by name speaks of memory"},
    ),
    "a number that is typed": (
        lambda text: text.replace("the process held {Baseline.peak_memory_mb} MB", "the process held 512 MB")
        .replace("only {Baseline.peak_memory_mb - Checkpointing.peak_memory_mb:.0f} MB less", "hardly less"),
        {"bottlenecks_have_evidence": "no item with a number by name speaks of memory"},
    ),
    "a point that stands for two": (
        lambda text: text.replace("the process held {Baseline.peak_memory_mb} MB", "nothing was near its limit")
        .replace("only {Baseline.peak_memory_mb - Checkpointing.peak_memory_mb:.0f} MB less", "hardly less")
        .replace("A synthetic sample costs", "A synthetic sample lies in memory and costs"),
        {"bottlenecks_have_evidence": "2 items with a number by name"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("change", "fails"), LACKING.values(), ids=LACKING)
def test_a_report_is_told_what_it_lacks(change, fails):
    rows = handed_in("optimization_results.csv")
    text = handed_in("optimization_report.md", change)
    assert text != handed_in("optimization_report.md")
    for name, words in fails.items():
        check = part.checks[name]
        found = check.judge(
            **{read: text if read == "optimization_report" else rows for read in check.reads}
        )
        assert isinstance(found, Failed)
        assert words in f"{found.measured} {found.why}"


def test_a_speedup_as_text_costs_the_table_and_not_the_report():
    rows = handed_in(
        "optimization_results.csv", lambda text: text.replace(",1.0,1.0,", ",1.00x,1.0,")
    )
    found = {
        name: check.judge(
            **{
                read: rows if read == "optimization_results" else handed_in(part.artefacts[read])
                for read in check.reads
            }
        )
        for name, check in part.checks.items()
        if "optimization_results" in check.reads
    }

    assert {"csv_is_consistent"} == set(failing(found))


NO_TABLE = {
    "no rows": lambda text: text.splitlines()[0] + "\n",
    "no throughput": lambda text: text.replace("throughput", "pace"),
    "nothing in a time": lambda text: text.replace("1.2662249880013405", "0.0"),
}


@pytest.mark.parametrize("change", NO_TABLE.values(), ids=NO_TABLE)
def test_a_table_without_figures_is_told_so(change):
    rows = handed_in("optimization_results.csv", change)

    assert isinstance(part.checks["csv_is_consistent"].judge(rows), Failed)


def test_a_report_beside_no_table_is_told_so():
    rows = handed_in("optimization_results.csv", NO_TABLE["no rows"])

    found = part.checks["report_agrees_with_csv"].judge(handed_in("optimization_report.md"), rows)
    assert "there is no row 'Baseline'; there are none" in found.measured


@pytest.mark.parametrize("fastest", ["Baseline", "AMP"])
def test_a_summary_names_one_row_twice_if_no_other_is_faster(fastest):
    said = "{Baseline.throughput} before; Baseline is the fastest: {Baseline.throughput}, {Baseline.speedup}"
    text = Text("optimization_report.md", f"## Executive Summary\n\n{said}\n")
    rows = handed_in(
        "optimization_results.csv",
        lambda it: it.replace("AMP,Data loader,", "AMP,Data loader,9") if fastest == "AMP" else it,
    )

    found = part.checks["report_agrees_with_csv"].judge(text, rows)
    assert isinstance(found, Passed if fastest == "Baseline" else Failed)


def test_a_summary_states_before_and_after():
    text = Text("optimization_report.md", "## Executive Summary\n\nIt is faster.\n")
    found = part.checks["report_agrees_with_csv"].judge(text, handed_in("optimization_results.csv"))

    assert isinstance(found, Failed)
    assert "the summary names the throughput of 0 rows" in found.measured


MISTAKEN = {
    "left out": ("fastest", None, "A", "no value under 'fastest'"),
    "no name": ("fastest", 3.0, "A", "the name of a configuration"),
    "the second": ("fastest", "B", "A", "usually your code leaves it out"),
    "the last": ("fastest", "C", "A", "takes the last row"),
    "another": ("leanest", "A", "B", "the best of another column"),
    "by the speedup": ("time_saved_s", 5.0, 4.0, "computed from the speedup"),
    "upside down": ("time_saved_s", -4.0, 4.0, "its sign"),
    "the slowest less the fastest": (
        "time_saved_s",
        14.0,
        4.0,
        "subtracted from that of the first row",
    ),
}


@pytest.mark.parametrize(("name", "value", "right", "words"), MISTAKEN.values(), ids=MISTAKEN)
def test_a_wrong_summary_says_which_row_or_figure_was_taken(name, value, right, words):
    rates, seconds, peaks = (100.0, 200.0, 50.0), (10.0, 6.0, 20.0), (300.0, 200.0, 400.0)
    rows = [
        {"configuration": each, "throughput": rate, "epoch_time": time, "peak_memory_mb": peak}
        for each, rate, time, peak in zip("ABC", rates, seconds, peaks, strict=True)
    ]

    assert words in mistaken(name, value, right, rows)
