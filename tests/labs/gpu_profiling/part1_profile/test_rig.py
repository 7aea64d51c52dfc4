"""A training that is profiled notes how it was called; lines are found without running their module."""

from __future__ import annotations

from autograder.labs.gpu_profiling.part1_profile.rig import Profiles, Rig


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
