"""What a profile teaches: which wait is worth most, said in words, in lines and on the page."""

from __future__ import annotations

import pytest

from autograder.report import insight, profile, profile_page
from autograder.traces.record import Figure, Slice, Trace
from tests.traces.made import kineto, processor, read_made, training


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

    assert f"  as it is                    1 ms           {'█' * 30}" in said
    assert f"  no wait for data          700 us    1.43x  {'█' * 21}" in said
    assert '<span class="loading" style="width: 70.00%">' in page
    assert '700 us <span class="quiet">1.43x as fast</span>' in page
    assert insight.REPLAYED in page


def test_a_profile_without_a_gpu_has_bars_of_the_cpu(tmp_path):
    said = list(profile.lines(read_made(tmp_path, kineto(processor()))))

    assert "\nCPU: what would help most: the same work without one cause of waiting" in said
    assert "  Start with the wait for data: it takes 40 % of the time." in said


def test_without_such_figures_there_are_no_bars():
    trace = Trace("a", "0", "ncu")

    assert {} == insight.what_if(trace)
    assert "would help most" not in profile_page.page(trace)
