"""What a grade rests on, and what of it changed, in words for people."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autograder import labs
from autograder.batch.circumstances import changed, rests_on
from tests.toy import toy_kit

PART = "part1_toy"


def part(**changes):
    """The toy lab with another part."""
    kit = toy_kit()
    return replace(
        kit, config=replace(kit.config, parts={PART: replace(kit.config.parts[PART], **changes)})
    )


def check(name, **changes):
    checks = toy_kit().config.parts[PART].checks
    return part(checks={**checks, name: replace(checks[name], **changes)})


CHANGES = {
    "nothing": (toy_kit(), []),
    "points": (check("equal", points=3.0), [f"the points of {PART}.equal"]),
    "a bar": (check("faster", bar={"t4": 9.0}), [f"the bar of {PART}.faster"]),
    "a bar of another device": (check("faster", bar={"t4": 1.5, "hopper": 9.0}), []),
    "where a bar comes from": (check("faster", source="calibrated"), []),
    "the rubric": (part(rubric={}), [f"what a person reads of {PART}, or whether it is a bonus"]),
    "limits": (part(limits=replace(toy_kit().config.parts[PART].limits, seconds=1)), [f"the limits or the files of {PART}"]),
    "the baseline": (replace(toy_kit(), baseline={f"{PART}.py": b"# other"}), [f"the limits or the files of {PART}"]),
}  # fmt: skip


@pytest.mark.parametrize(("now", "said"), CHANGES.values(), ids=CHANGES)
def test_what_changed_is_named_by_what_a_person_would_have_edited(now, said):
    """On this tier: what cannot change a verdict on it is no change."""
    assert said == changed(rests_on(toy_kit(), "t4")[1], rests_on(now, "t4")[1])


def test_a_part_that_is_new_is_named():
    """It was not there to be judged."""
    assert [f"{PART}, which is new"] == changed("{}", rests_on(toy_kit(), "t4")[1])


def test_what_the_course_does_without_now_is_named():
    """A result still has it, and a gradebook has not."""
    checks = toy_kit().config.parts[PART].checks
    now = part(checks={name: check for name, check in checks.items() if name != "equal"})

    assert [f"{PART}.equal, which is off"] == changed(
        rests_on(toy_kit(), "t4")[1], rests_on(now, "t4")[1]
    )
    assert [f"{PART}, which is off"] == changed(rests_on(toy_kit(), "t4")[1], "{}")


def test_what_all_parts_share_is_one_hash():
    """given/ is among it; a baseline is its part's."""
    code, _ = rests_on(toy_kit(), "t4")

    assert code != rests_on(replace(toy_kit(), given={"given/x.py": b""}), "t4")[0]
    assert code == rests_on(replace(toy_kit(), baseline={f"{PART}.py": b"# other"}), "t4")[0]


def test_a_change_of_a_lab_of_ones_own_grades_again(tmp_path, monkeypatch):
    """A lab's code is part of what a grade depends on, wherever it lies."""
    monkeypatch.setattr(labs, "__path__", [*labs.__path__, str(tmp_path)])
    code = tmp_path / toy_kit().lab.name / "part1_toy.py"
    code.parent.mkdir()
    code.write_text("BAR = 1\n")
    before = rests_on(toy_kit(), "t4")
    code.write_text("BAR = 2\n")

    assert [f"the limits or the files of {PART}"] == changed(
        before[1], rests_on(toy_kit(), "t4")[1]
    )
