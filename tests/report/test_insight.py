"""What a profile teaches: which wait is worth most, said in words, in lines and on the page."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autograder.report import advice, insight, profile, profile_page, speedup_stack
from autograder.traces.record import Figure, Rule, Slice, Trace
from tests.traces.made import kineto, processor, read_made, training
from tests.traces.test_stack import BEFORE, NOW


def gpu(**times):
    """Return a profile of 1000 ns on a GPU, with what it would take without each cause."""
    figures = tuple(Figure(name, value, "ns", "steps", 0) for name, value in times.items())
    parts = {"gpu0": (Slice("kernels", 400), Slice("data loading", 600))}
    return Trace("a", "0", "kineto", figures=figures, breakdown=parts)


def processor_only(without_data):
    figures = (Figure("without_data", without_data, "ns", "steps"),)
    return Trace(
        "a", "0", "kineto", figures=figures, breakdown={"cpu": (Slice("operators", 1000),)}
    )


@pytest.mark.parametrize(
    ("trace", "words"),
    [
        pytest.param(gpu(without_data=500, without_sync=990, never_idle=400), "Start with the wait for data: without it, this would run 2.00x as fast.", id="data"),
        pytest.param(gpu(without_data=980, without_sync=500, never_idle=400), "Start with the wait of the host for the GPU: without it, this would run 2.00x as fast.", id="synchronization"),
        pytest.param(gpu(without_data=900, never_idle=400), "The GPU has no work for 60 % of the time, mostly because the host is slow to launch it", id="launches"),
        pytest.param(gpu(without_data=990, never_idle=960), "The GPU almost always has work", id="the GPU"),
        pytest.param(processor_only(250), "Start with the wait for data: it takes 75 % of the time.", id="data, no GPU"),
        pytest.param(processor_only(990), "Waiting for data takes next to nothing", id="operators, no GPU"),
    ],
)  # fmt: skip
def test_what_to_do_first_follows_from_what_is_worth_most(trace, words):
    (found,) = insight.what_if(trace).values()

    assert found.advice.startswith(words)


def test_bars_are_lines_and_a_picture_with_its_words(tmp_path):
    trace = read_made(tmp_path, kineto(training()))
    said = list(profile.lines(trace))
    page = profile_page.page(trace)

    assert f"  as it is                         1 ms           {'█' * 30}" in said
    assert f"  no wait for data               700 us    1.43x  {'█' * 21}" in said
    assert '<span class="loading" style="width: 70.00%">' in page
    assert '700 us <span class="quiet">1.43x as fast</span>' in page
    assert insight.REPLAYED in page


def test_a_profile_without_a_gpu_has_bars_of_the_cpu(tmp_path):
    said = list(profile.lines(read_made(tmp_path, kineto(processor()))))

    assert "\nCPU: what would help most: the same work without one thing that slows it down" in said
    assert "  Start with the wait for data: it takes 40 % of the time." in said


def test_without_such_figures_there_are_no_bars():
    trace = Trace("a", "0", "ncu")

    assert {} == insight.what_if(trace)
    assert "would help most" not in profile_page.page(trace)


def test_a_speedup_is_lines_and_a_picture_with_its_words():
    said = list(profile.comparison(NOW, BEFORE))
    page = profile_page.page(NOW, BEFORE)

    assert "\nGPU 0: where the speedup comes from" in said
    assert (
        "  communicating        0 ns      50 ns    -0.10x  communication in which no other kernel ran"
        in said
    )
    assert (
        "  together             1 us     500 ns     2.00x  1.00x + 0.70x + 0.10x + 0.20x - 0.10x + 0.10x = 2.00x"
        in said
    )
    first = (
        "The mean step takes 500 ns instead of 1 us: 2.00x as fast. Most of the gain is in waiting."
    )
    assert f"  {first} Communicating takes longer than before." in said
    assert first in page
    assert '<span class="loading" style="width: 35.000%">' in page
    assert "1.00x + 0.70x + 0.10x + 0.20x - 0.10x + 0.10x = 2.00x" in page


def test_what_became_slower_says_where():
    (found,) = speedup_stack.speedups(BEFORE, NOW)

    assert found.said.endswith("0.50x as fast. Most of the loss is in waiting.")


def test_steps_that_differ_are_said():
    """The ratio of the median steps may be another."""
    median = Figure("step_median", 100.0, "ns", "steps")
    now = replace(NOW, figures=(*NOW.figures, median))
    before = replace(BEFORE, figures=(*BEFORE.figures, replace(median, value=300.0)))
    (found,) = speedup_stack.speedups(now, before)

    assert found.said.endswith(
        "The median step is 3.00x as fast: the steps of one profile differ a lot."
    )


@pytest.mark.parametrize(
    ("parts", "whole", "rounded"),
    [
        pytest.param([1 / 3] * 3, 1.0, [0.34, 0.33, 0.33], id="thirds"),
        pytest.param([0.126, -0.126], 0.0, [0.13, -0.13], id="against each other"),
        pytest.param([0.004, 0.004, -0.008], 0.0, [0.01, 0.0, -0.01], id="next to nothing"),
        pytest.param([], 0.0, [], id="nothing"),
    ],
)
def test_rounded_parts_add_up(parts, whole, rounded):
    assert rounded == speedup_stack.hundredths(parts, whole)
    assert round(whole, 2) == pytest.approx(sum(rounded))


RULES = (
    Rule("Coalescing", "gemm()", 74.14, False, "Load <b>neighbours</b>.", 3, 15_600_000),
    Rule("Pipes", "relu()", 98.86, True, "Launch more."),
)


def test_advice_of_nsight_compute_says_what_it_promises():
    """Every text of the file is escaped on the page."""
    trace = Trace("a", "0", "ncu", rules=RULES)
    said = list(profile.lines(trace))
    page = profile_page.page(trace)

    first = "up to 74.1 % less time in this kernel (saves up to 15.6 ms, in 3 launches): Coalescing, gemm()"
    assert f"  {first}" in said
    assert "      Load <b>neighbours</b>." in said
    assert "  98.9 % better use of one part, maybe no less time: Pipes, relu()" in said
    assert "Load &lt;b&gt;neighbours&lt;/b&gt;." in page
    assert "Up to 74.1 % less time in this kernel" in page
    assert advice.ADVISED in page
