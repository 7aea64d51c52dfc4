"""Made profiles: what is known of them is what the readers of profiles find, by another way."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.claims.answers import idle
from autograder.labs.gpu_profiling.part1_profile.profile import ON_A_CPU, ON_A_GPU
from autograder.traces import figures_claimed, read
from autograder.worker.rigs.timelines import Timeline


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("gpu", [True, False], ids=["GPU", "CPU"])
def test_what_is_known_is_what_the_file_says(tmp_path, seed, gpu):
    made, file = Timeline(np.random.default_rng(seed), gpu=gpu), tmp_path / "a_profile.gz"
    file.write_bytes(made.data())
    trace, known = read(file), made.expected()
    questions = ON_A_GPU if gpu else ON_A_CPU

    assert set(questions) == set(known)
    assert made.cause == known["gap_cause"] == idle(trace)[0][0].name
    for name, question in questions.items():
        if question.quantity and known[name] is not None:
            figure = next(figures_claimed.accepted(trace, question.quantity))
            assert pytest.approx(figure.value / question.unit) == known[name], name


@pytest.mark.parametrize("gpu", [True, False], ids=["GPU", "CPU"])
def test_a_usual_mistake_gives_another_number(gpu):
    made = Timeline(np.random.default_rng(1), gpu=gpu)

    for name, stories in made.slips().items():
        assert all(abs(number - made.expected()[name]) > 1e-3 for number in stories.values())
