"""A hook is judged by the means that come out of it, and by what happens while it runs."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.claims.gradient_hooks import Hooks, averaged
from autograder.lab import Part
from autograder.model import Failed, Observation, Pair

MEANS = np.array([1.0, -2.0, 4e4])
EXPECTED = {"float160": MEANS, "float161": MEANS}
ROUNDED = dict.fromkeys(EXPECTED, MEANS * (1 + 0.0005))
BEGIN, END = "hook", "hook ends"


def hooked(student, rig):
    """The probe's name is all that is needed."""


def judged(name, events=((), ()), **arrays):
    part = Part("part1_hooks")
    hooks = Hooks(part, hooked, "see")
    hooks.rounds("rounds", {"float16": (1e-4, 2e-3)}, "It rounds.", "try")
    hooks.does_not_block("does_not_block", "It does not block.", "try")
    ranks = [{"steps": [], "events": [list(own)]} for own in events]
    student = Observation("hooked", "ok", {"ranks": ranks}, {**ROUNDED, **arrays})
    return part.checks[name].judge(hooked=Pair(student, Observation("hooked", "ok", {}, EXPECTED)))


MADE = {
    "right": ({}, ""),
    "exact": ({"float160": MEANS}, "those of float32"),
    "sums": ({"float160": 2 * MEANS}, "returns sums"),
    "infinite sums": ({"float160": np.array([2.0, -4.0, np.inf])}, "returns sums"),
    "halves": ({"float161": MEANS / 2}, "divides twice"),
    "too large": ({"float161": np.array([1.0, -2.0, np.inf])}, "divides after the sum"),
    "coarse": ({"float160": MEANS * 1.01}, "in another precision"),
    "another in each": ({"float161": MEANS * (1 + 6e-4)}, "own unrounded gradients"),
}
RUNNING = {
    "right": ([BEGIN, "call", END, "wait"], ""),
    "blocks": ([BEGIN, "blocking call", "wait", END], "blocks the backward pass"),
    "waits": ([BEGIN, "call", END, BEGIN, "call", "wait", END], "blocks the backward pass"),
    "never called": (["call"], "never called"),
}


@pytest.mark.parametrize(("made", "why"), MADE.values(), ids=MADE)
def test_means_are_rounded_and_no_more(made, why):
    _says(judged("rounds", **made), why)


@pytest.mark.parametrize(("events", "why"), RUNNING.values(), ids=RUNNING)
def test_nothing_is_waited_for_while_a_hook_runs(events, why):
    _says(judged("does_not_block", events=(RUNNING["right"][0], events)), why)


def _says(verdict, why):
    assert isinstance(verdict, Failed) == bool(why)
    assert why in getattr(verdict, "why", "")


def test_the_form_of_the_answer_names_each_array():
    assert set(EXPECTED) == set(averaged("float16")["arrays"])
