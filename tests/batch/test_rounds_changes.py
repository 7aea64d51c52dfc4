"""A class in rounds: what is graded again after a change of submissions, of the lab or of results."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from itertools import count

import pytest

from autograder.batch import store
from autograder.batch.journal import Journal
from autograder.results.overrides import append, decide
from tests.batch.graded_class import FILE, settled
from tests.toy import toy_session


def other_files(a_class):
    a_class.hand_in(ada="other")


def other_points(a_class):
    set_check(a_class, "positive", points=3.0)


def set_part(a_class, **changes):
    part = a_class.kit.config.parts["part1_toy"]
    parts = {"part1_toy": replace(part, **changes)}
    a_class.kit = replace(a_class.kit, config=replace(a_class.kit.config, parts=parts))


def set_check(a_class, name, **changes):
    checks = a_class.kit.config.parts["part1_toy"].checks
    set_part(a_class, checks={**checks, name: replace(checks[name], **changes)})


def other_given(a_class):
    a_class.kit = replace(a_class.kit, given={"given/__init__.py": b"# other"})


def lost_result(a_class):
    (a_class.root / "out" / "ada" / store.RESULT).unlink()


def edited_result(a_class):
    file = a_class.root / "out" / "ada" / store.RESULT
    file.write_text(file.read_text().replace('"passed"', '"failed"'))


CHANGES = {
    "the submission": (other_files, ["ada"]),
    "points": (other_points, ["ada", "bob"]),
    "what comes with the lab": (other_given, ["ada", "bob"]),
    "the result is gone": (lost_result, ["ada"]),
    "the result was edited": (edited_result, ["ada"]),
}


@pytest.mark.parametrize(("change", "again"), CHANGES.values(), ids=CHANGES)
def test_what_a_change_touches_is_graded_again(a_class, change, again):
    """And nothing else."""
    a_class.hand_in(ada="a", bob="b")
    a_class.grade()
    change(a_class)

    assert again == [
        name for name, what in sorted(settled(a_class.grade()).items()) if what == "graded"
    ]


def test_bars_of_other_devices_and_where_a_bar_comes_from_touch_nothing(a_class):
    """Only what could change a point."""
    a_class.hand_in(ada="a")
    a_class.grade()
    set_check(a_class, "faster", bar={"t4": 1.5, "hopper": 9.0}, source="calibrated")

    assert {"ada": "kept"} == settled(a_class.grade())


def points_up(a_class):
    set_check(a_class, "positive", points=5.0)


def no_rubric(a_class):
    set_part(a_class, rubric={})


def a_bonus(a_class):
    set_part(a_class, bonus=True)


def another_bar(a_class):
    set_check(a_class, "faster", bar={"t4": 1.7})


def bar_of_the_last(a_class):
    set_check(a_class, "much_faster", bar={"t4": 1.9})


def other_limits(a_class):
    set_part(a_class, limits=replace(a_class.kit.config.parts["part1_toy"].limits, seconds=1))


def other_baseline(a_class):
    a_class.kit = replace(a_class.kit, baseline={FILE: b"# other"})


def another_part(a_class):
    """A second part of the lab, which is like the first."""
    second = copy(a_class.kit.lab.parts[0])
    second.id = "part2_toy"
    config = a_class.kit.config
    config = replace(config, parts={**config.parts, "part2_toy": config.parts["part1_toy"]})
    lab = replace(a_class.kit.lab, parts=(*a_class.kit.lab.parts, second))
    a_class.kit = replace(a_class.kit, lab=lab, config=config)


# What changed -> what runs again of the student's side, and the score out of how much.
REGRADED = {
    "points": (points_up, set(), (8.5, 17)),
    "the rubric": (no_rubric, set(), (7, 12)),
    "a part that is a bonus now": (a_bonus, set(), (7, 14)),
    "a bar": (another_bar, {"amp"}, (7, 14)),
    "the bar of a check that nothing needs": (bar_of_the_last, {"amp"}, (7, 14)),
    "limits": (other_limits, {"single", "both", "amp"}, (7, 14)),
    "what the part is compared with": (other_baseline, {"single", "both", "amp"}, (7, 14)),
    "another part, of which nothing was handed in": (another_part, set(), (9, 28)),
    "what all parts share": (other_given, {"single", "both", "amp"}, (7, 14)),
}


@pytest.mark.parametrize(("change", "again", "score"), REGRADED.values(), ids=REGRADED)
def test_only_what_a_change_affects_runs_again(a_class, change, again, score):
    """Points alone run nothing; a bar runs the clock for its check and those that need it; the seed stays."""
    a_class.hand_in(ada="partly")
    a_class.grade(seed=7)
    notes = len(a_class.machine.all())
    change(a_class)
    a_class.grade(seed=8)
    ran = [note for note in a_class.machine.all()[notes:] if note[1] == "run"]
    result = a_class.result("ada")

    assert again == {note[4] for note in ran}
    assert score == (result.score, result.max_score)
    assert a_class.kit.config.parts["part1_toy"].bonus == result.parts[0].bonus
    assert (
        8 if change is other_given or change is other_limits or change is other_baseline else 7
    ) == result.seed


def test_a_changed_part_alone_runs_again(a_class):
    """The verdicts of the other are those of before, of their seed."""
    another_part(a_class)
    a_class.kit = replace(a_class.kit, baseline={FILE: b"base", "part2_toy.py": b"base"})
    a_class.hand_in(ada="first")
    (a_class.root / "in/ada/part2_toy.py").write_text("second")
    a_class.grade()
    before, notes = a_class.checks("ada"), len(a_class.machine.all())
    a_class.kit = replace(a_class.kit, baseline={FILE: b"base", "part2_toy.py": b"other"})
    a_class.grade()

    assert before == a_class.checks("ada")
    assert {"second", "other"} == {note[3] for note in a_class.machine.all()[notes:]}


def test_who_asks_for_a_seed_gets_all_with_that_one(a_class):
    """A verdict of other inputs does not count then."""
    a_class.hand_in(ada="a")
    a_class.grade(seed=7)
    points_up(a_class)
    a_class.grade(seed=8, asked_seed=8)

    assert (8, 2) == (a_class.result("ada").seed, a_class.machine.asked("time", "a"))


LINES = {
    "graded again": (points_up, ("graded", 14.0)),
    "unchanged": (lambda _: None, ("kept", 11.0)),
    "without points": (no_rubric, ("graded", 10.0)),
}


@pytest.mark.parametrize(("change", "said"), LINES.values(), ids=LINES)
def test_a_line_says_the_score_as_it_counts_and_what_this_run_took(
    a_class, monkeypatch, change, said
):
    """With the points that a person gave; where nothing runs, no seconds of an older run."""
    ticks = count()
    session = replace(toy_session(a_class.machine), now=lambda: float(next(ticks)))
    monkeypatch.setattr("tests.batch.graded_class.toy_session", lambda _: session)
    a_class.hand_in(ada="a")
    a_class.grade()
    made = decide(a_class.result("ada"), "explains", 1, "read", by="meera", at="now")
    append(a_class.root / "out" / "ada", [made])
    change(a_class)
    with Journal(a_class.root / "out") as journal:
        line = [event for event in a_class.events(journal) if event.submission][-1]

    assert said == (line.what, line.facts["score"])
    assert line.facts["seconds"] < a_class.result("ada").seconds
