"""What a profile teaches: which wait is worth most, said in words, in lines and on the page."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autograder.report import advice, insight, profile, profile_page, speedup_stack
from autograder.traces.record import Figure, Rule, Slice, Trace
from autograder.traces.stack import CPU, GPU
from tests.traces.made import kineto, processor, read_made, training
from tests.traces.test_stack import BEFORE, NOW


def gpu(largest="data loading", **times):
    """Return a profile of 1000 ns on a GPU, with what it would take without each cause."""
    figures = tuple(Figure(name, value, "ns", "steps", 0) for name, value in times.items())
    parts = Slice("kernels", 400), Slice("allocating", 100), Slice(largest, 500)
    return Trace("a", "0", "kineto", figures=figures, breakdown={"gpu0": parts})


def processor_only(without_data, largest="operators"):
    figures = (Figure("without_data", without_data, "ns", "steps"),)
    parts = Slice("data loading", 400), Slice(largest, 600)
    return Trace("a", "0", "kineto", figures=figures, breakdown={"cpu": parts})


LOST = "The GPU has no work for 60 % of the time, 50 % while the host"


@pytest.mark.parametrize(
    ("trace", "words"),
    [
        pytest.param(gpu(without_data=500, without_sync=990, never_idle=400), "Start with the wait for data: without it, this would run 2.00x as fast.", id="data"),
        pytest.param(gpu(without_data=980, without_sync=500, never_idle=400), "Start with the wait of the host for the GPU: without it, this would run 2.00x as fast.", id="synchronization"),
        pytest.param(gpu("launching", never_idle=400), f"{LOST} launches work: give it larger batches", id="launches"),
        pytest.param(gpu("Python and other", never_idle=400), f"{LOST} runs Python or what was not recorded: look", id="Python"),
        pytest.param(gpu(without_data=900, never_idle=400), f"{LOST} waits for data", id="data, but not alone"),
        pytest.param(gpu(without_data=990, never_idle=960), "The GPU almost always has work", id="the GPU"),
        pytest.param(processor_only(250), "Start with the wait for data: it takes 75 % of the time.", id="data, no GPU"),
        pytest.param(processor_only(990), "Operators take 60 % of the time", id="operators, no GPU"),
        pytest.param(processor_only(900), "Operators take 60 % of the time", id="operators, and little waiting, no GPU"),
        pytest.param(processor_only(990, "Python and other"), "Python, and what was not recorded, takes 60 %", id="Python, no GPU"),
        pytest.param(processor_only(990, "communication"), "Communication in which no operator runs takes 60 %", id="communication, no GPU"),
    ],
)  # fmt: skip
def test_what_to_do_first_follows_from_what_is_worth_most(trace, words):
    (found,) = insight.what_if(trace).values()

    assert found.advice.startswith(words)


def test_advice_names_a_part_of_every_breakdown():
    """Whatever is the largest."""
    idle = {name for name, layer in GPU.items() if layer in ("waiting", "launching")}

    assert set(insight.ON_CPU) == set(CPU)
    assert set(insight.WHILE_IDLE) == idle


def test_a_wait_for_the_gpu_that_is_worth_nothing_alone_is_no_praise():
    """Beside a GPU that is idle; without such a wait, or beside a busy one, nothing is said."""
    idle = gpu(without_data=500, without_sync=990, never_idle=400)
    others = (
        gpu(without_data=500, without_sync=500, never_idle=400),
        gpu(without_data=500, never_idle=400),
        gpu(without_sync=990, never_idle=960),
    )
    advice = [bars.advice for trace in (idle, *others) for bars in insight.what_if(trace).values()]

    assert [True, False, False, False] == [said.endswith(insight.STILL_WAITS) for said in advice]


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


def test_a_speedup_of_whole_recordings_does_not_speak_of_steps():
    now, before = (replace(one, windows=one.windows[1:]) for one in (NOW, BEFORE))
    (whole,) = speedup_stack.speedups(now, before)

    assert "what the recording saves there, over what the recording takes now" in whole.summed
    assert whole.summed in profile_page.page(now, before)
    assert f"  {whole.summed}" in list(profile.comparison(now, before))
    assert "what a step saves there" in speedup_stack.speedups(NOW, BEFORE)[0].summed


def test_what_became_slower_says_where():
    (found,) = speedup_stack.speedups(BEFORE, NOW)

    assert found.said.endswith("0.50x as fast. Most of the loss is in waiting.")


def test_a_small_loss_does_not_look_like_a_gain():
    """Its part of the ratio may be nothing in hundredths."""
    slower = [
        Slice(it.name, it.ns + 1 if it.name == "copies" else it.ns)
        for it in BEFORE.breakdown["gpu0"]
    ]
    (found,) = speedup_stack.speedups(replace(BEFORE, breakdown={"gpu0": slower}), BEFORE)
    gains = {part.layer.name: part.gain for part in found.parts}

    assert ("-0.00x", "+0.00x") == (gains.pop("copying"), *set(gains.values()))
    assert "- 0.00x" in found.sum


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
