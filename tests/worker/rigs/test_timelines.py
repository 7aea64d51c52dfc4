"""Made profiles: what is known of them is what the readers of profiles find, by another way."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.claims.answers import idle
from autograder.labs.gpu_profiling.part1_profile import ON_A_CPU, ON_A_GPU
from autograder.traces import figures_claimed, read
from autograder.worker.rig import Rig
from autograder.worker.rigs.profiles import Profiles
from autograder.worker.rigs.timelines import Timeline


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("gpu", [True, False], ids=["GPU", "CPU"])
def test_what_is_known_is_what_the_file_says(tmp_path, seed, gpu):
    made, file = Timeline(np.random.default_rng(seed), gpu=gpu), tmp_path / "a_profile.gz"
    file.write_bytes(made.data())
    trace, known = read(file), made.known()
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
        assert all(abs(number - made.known()[name]) > 1e-3 for number in stories.values())


def test_a_training_notes_how_it_was_called(tmp_path):
    rig = Rig(seed=1, side="student", device="cpu", folder=tmp_path)
    train, steps = Profiles.training(rig.window([4] * 5)), []
    losses = train(lambda: steps.append(1), 3)

    assert (3, [1, 1, 1], [3], 3) == (len(losses), steps, train.asked, train.stepped)
    assert losses is train.losses
    train(batches=1)
    assert ([3, 1], 3) == (train.asked, train.stepped)


def test_lines_are_found_without_running_the_module():
    found = Profiles.lines(
        "autograder.worker.rigs.timelines",
        {"the class": r"^class Timeline", "nothing": "no such words" + "!"},
    )

    assert (1, []) == (len(found["the class"]), found["nothing"])
