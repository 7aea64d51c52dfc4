"""The seven points, and a run that has them all: what each judge says of right work and of each mistake."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autograder.labs.gpu_profiling.part6_final import judges
from autograder.model import Observation, Pair


def search(found, step=96, limit=30):
    return {"step": step, "limit": limit, "largest": found, "asked": []}


FITS = {
    "right": ([search(24)], "RuntimeError", ""),
    "none": ([], "RuntimeError", "none was searched"),
    "an odd one": ([search(None, 28, 5)], "RuntimeError", ""),
    "half of an odd one": ([search(3, 28, 5)], "RuntimeError", "7 is odd and does not fit"),
    "too large": ([search(48)], "RuntimeError", "24 is right"),
    "no number": ([search(None)], "RuntimeError", "24 is right"),
    "hides errors": ([search(24)], "", "not about memory must go through"),
}


@pytest.mark.parametrize(("searches", "other", "words"), FITS.values(), ids=FITS)
def test_a_batch_is_the_first_half_that_fits(searches, other, words):
    measured, why = judges.fits(searches, other)

    assert (words in f"{measured} {why}") if words else "" == why


def trained(losses, weights, called=12, waited=0.0, steps=4, passes=12):
    arrays = {
        "start": np.zeros(2, np.float32),
        "losses": np.array(losses),
        "weights": np.array(weights, np.float32),
    }
    counts = {"called": called, "passes": passes, "steps": steps}
    return Observation("grouped", "ok", {**counts, "waited": waited}, arrays)


GROUPED = {
    "alike": ([2.0, 1.0], [3.0, 4.0], ""),
    "weights that went further": (
        [2.0, 1.0],
        [6.0, 8.0],
        "2 times as far as they should usually the gradient is a sum",
    ),
    "other weights": ([2.0, 1.0], [4.0, 3.0], "usually old gradients are in the steps"),
    "another criterion": ([2.1, 1.0], [4.0, 3.0], "usually the criterion is another"),
    "other losses": ([2.0, 1.1], [3.0, 4.0], "losses is not the mean over the batches"),
    "a loss for each batch": ([2.0, 1.0, 1.0], [3.0, 4.0], "the mean loss of each step"),
}


def test_a_profiler_is_told_of_each_batch():
    seen = judges.grouped(Pair(trained([2.0], [3.0, 4.0], called=4), trained([2.0], [3.0, 4.0])))

    assert "on_step was called 4 times in 12 batches" == seen[0]


def test_what_a_profiler_takes_is_no_wait_for_the_loader():
    right = trained([2.0], [3.0, 4.0])

    _, why = judges.grouped(Pair(trained([2.0], [3.0, 4.0], waited=24.0), right))

    assert "data_wait includes on_step()" in why


def test_a_step_for_each_batch_is_counted():
    seen = judges.grouped(Pair(trained([2.0], [6.0, 8.0], steps=12), trained([2.0], [3.0, 4.0])))

    assert "12 steps of the optimizer were taken, and 4 are right" == seen[0]
    assert "each group of batches must be one step" == seen[1]


def test_batches_that_are_left_out_are_counted():
    own = trained([2.0], [6.0, 8.0], steps=2, passes=6)

    assert (
        "only 6 of 12 batches are trained on"
        == judges.grouped(Pair(own, trained([2.0], [3.0, 4.0])))[1]
    )


@pytest.mark.parametrize(("losses", "weights", "words"), GROUPED.values(), ids=GROUPED)
def test_a_group_is_one_large_batch(losses, weights, words):
    measured, why = judges.grouped(Pair(trained(losses, weights), trained([2.0, 1.0], [3.0, 4.0])))

    assert (words in f"{measured} {why}") if words else "" == why


SCRIPT = {
    "samples": 40,
    "batches": 4,
    "wait": 1.0,
    "work": 0.5,
    "plain": 0.5,
    "once": 20.0,
}  # 3 s an epoch
FIGURES = {
    "throughput": 40 / 3,
    "seconds": 6.0,
    "data_wait": 2.0,
    "warm_up_s": 25.0,
    "samples": 80,
    "steps": 2,
}
TOLD = {**FIGURES, "batch_size": 10, "loss": 1.0}


def whole(losses=(2.0, 1.0), device="a machine", photos=40, **told):
    values = {"reported": {**TOLD, **told}, "device": device, "script": SCRIPT, "size": 10}
    values["photos"] = photos
    return Pair(Observation("whole", "ok", values, {"losses": np.array(losses)}), KNOWN)


KNOWN = Observation(
    "whole",
    "ok",
    {"device": "a machine", "script": {**SCRIPT, "batches": 1}, "last": [1.9, 0.9]},
    {"losses": np.array([2.0, 1.0])},
)

WORKED = {
    "right": (whole(), ""),
    "samples of one epoch": (
        whole(samples=40),
        "80 is right samples must be those of all 2 timed epochs",
    ),
    "photos of another number": (
        whole(samples=160, photos=80),
        "make_photos(80) was called, and --samples is 40",
    ),
    "steps of batches": (
        whole(steps=8),
        "steps is 8, and 2 is right your code counts batches as steps",
    ),
    "a loss for each step": (whole(losses=[2.0]), "the mean loss of each epoch"),
    "other losses": (whole(losses=[2.0, 1.5]), "a different training"),
    "the last losses": (whole(losses=[1.9, 0.9]), "the loss of the last step of each epoch"),
    "the first loss": (whole(loss=2.0), "the last of losses"),
}


@pytest.mark.parametrize(("seen", "words"), WORKED.values(), ids=WORKED)
def test_a_run_does_the_work_of_the_baseline(seen, words):
    measured, why = judges.worked(seen, 2, 1e-3)

    assert (words in f"{measured} {why}") if words else "" == why


PACED = {
    "right": (whole(), ""),
    "another batch": (
        whole(batch_size=20),
        "is 20, and 10 is right batch_size must be the largest that fits",
    ),
    "another machine": (whole(device="mine"), "'a machine' is right"),
    "seconds of one epoch": (whole(seconds=3.0), "seconds is of one epoch"),
    "no seconds": (
        whole(seconds=None),
        "6 is right (scripted) seconds must be the time of all 2 timed epochs",
    ),
    "a first pass": (
        whole(seconds=26.0),
        "6 is right (scripted) 20 s more: the first pass is timed",
    ),
    "another loader": (whole(seconds=36.0), "30 s more: a start of workers is timed"),
    "a loader for each epoch": (
        whole(seconds=66.0),
        "30 s more in each epoch: starts of workers are timed",
    ),
    "the best epoch": (
        whole(throughput=14.0),
        "13.33 is right throughput must be samples / seconds of all timed epochs",
    ),
    "a profiled epoch": (whole(seconds=86.0), "a timed epoch is profiled"),
    "twice as fast": (
        whole(throughput=80 / 3),
        "13.33 samples/s is right it is twice samples / seconds",
    ),
    "no wait": (whole(data_wait=0.0), "and 1 is right"),
    "a short warm-up": (whole(warm_up_s=2.0), "only once took 20 s warm_up_s must be"),
    "no warm-up": (whole(warm_up_s=None), "only once took 20 s warm_up_s must be"),
}


@pytest.mark.parametrize(("seen", "words"), PACED.values(), ids=PACED)
def test_the_figures_of_a_run_are_what_passed(seen, words):
    measured, why = judges.paced(seen, 2)

    assert (words in f"{measured} {why}") if words else "" == why


@pytest.mark.parametrize(
    "changed",
    [{"batches": 0}, {"work": 0.0}, {"work": 0.0, "wait": 0.0}, {"once": -30.0}],
    ids=", ".join,
)
def test_notes_that_no_clock_makes_are_a_failure(changed):
    script = {**SCRIPT, **changed}
    seconds = 2 * (script["wait"] + script["batches"] * script["work"])
    seen = whole(seconds=seconds, throughput=1.0)
    own = replace(seen.student, values={**seen.student.values, "script": script})

    assert "noted of a run is of no epoch" in judges.paced(Pair(own, KNOWN), 2)[1]


BUILT = {
    "none": (6.0, ""),
    "the forward pass": (31.0, "25 s more: a build of the compiler is timed"),
    "both": (51.0, "45 s more: a build of the compiler is timed"),
    "something else": (36.0, ""),
}


@pytest.mark.parametrize(("seconds", "words"), BUILT.values(), ids=BUILT)
def test_a_build_among_the_seconds_is_found_and_nothing_else(seconds, words):
    _, why = judges.built_before(whole(seconds=seconds), 2, (25.0, 20.0))

    assert (words in why) if words else "" == why
