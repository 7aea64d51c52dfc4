"""One submission -> Result: files that are missing, unread or refused, and notes that a person reads."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autograder.grading.grade import grade
from autograder.grading.unread import OTHER_NAMES
from autograder.model import Submission
from tests.grading.graded_toy import adds_up, graded
from tests.toy import FakeWorkers, toy_kit, toy_session, toy_submission


def test_programs_stand_beside_the_file_where_they_were_handed_in():
    """A table does not."""
    kit = toy_kit()
    [part] = kit.lab.parts
    part.artefacts["train"] = "train.py"
    _, _, run = graded(kit=kit, submission=toy_submission(train__py=b"print()"))

    files = {job.side: set(job.files) for job in run.asked}
    assert {"part1_toy.py", "train.py", "given/__init__.py"} == files["student"]
    assert {"part1_toy.py", "given/__init__.py"} == files["baseline"]


def test_a_part_that_was_not_handed_in_says_so_in_every_check():
    """No worker starts, and what was refused on reading is named."""
    submission = Submission("ada", "0" * 64, {}, {"part1_toy.py": "is a link"})
    run = FakeWorkers()
    result = grade(submission, toy_kit(), replace(toy_session(run), rehearsal=True), seed=7)

    [positive, *_] = result.parts[0].checks
    assert run.asked == []
    assert ("no part1_toy.py", "is a link", "missing") == (
        positive.measured,
        positive.why,
        positive.cause,
    )


UNLISTED = {
    "another name": ("toy.py", "toy.py", "part1_toy.py"),
    "in a folder": ("Toy/part1.py", "Toy/part1.py", "part1_toy.py"),
    "a notebook": ("Toy.ipynb", "Toy.ipynb", "part1_toy.ipynb"),
    "another part": ("part2.py", None, ""),
    "no code": ("toy.txt", None, ""),
    "handed out": ("Toy/baseline/part1_toy.py", None, ""),
}


@pytest.mark.parametrize(("name", "named", "wanted"), UNLISTED.values(), ids=UNLISTED)
def test_a_part_whose_file_is_missing_names_what_may_be_that_file(name, named, wanted):
    """A student who chose another name reads which one to give it."""
    submission = Submission("ada", "0" * 64, {"table.csv": b"a\n1\n"}, left_out=(name,))
    result, _, _ = graded(submission=submission)

    [first, *_] = result.parts[0].checks
    assert named == first.evidence.get(OTHER_NAMES)
    assert (named or "it is missing") in first.why
    if named:
        assert f"if that is your file, call it {wanted} and put it beside the others" == first.try_


BROKEN = dict.fromkeys(["part1_toy.py", "table.csv"], "ada.zip: is a damaged zip")
UNREAD = {
    "a damaged archive": ({}, BROKEN, "nothing was taken: ada.zip: is a damaged zip"),
    "a file in another encoding": (
        {"table.csv": b"a\n1\n"},
        {"part1_toy.py": "line 3 is not UTF-8"},
        "part1_toy.py was not taken: line 3 is not UTF-8",
    ),
    "a damaged notebook": (
        {},
        {
            "part1_toy.ipynb": "it is damaged",
            "part1_toy.py": "part1_toy.ipynb was not taken: it is damaged",
        },
        "part1_toy.ipynb was not taken: it is damaged",
    ),
    "other files alone": ({}, {}, "nothing was taken: there is not one file of this lab in it"),
}


@pytest.mark.parametrize(("files", "refused", "why"), UNREAD.values(), ids=UNREAD)
def test_what_cannot_be_read_is_no_zero_and_waits_for_a_person(files, refused, why):
    """Every point of the part is owed, what a person reads included, and the reason is told once."""
    result, _, run = graded(submission=Submission("ada", "0" * 64, files, refused))

    assert run.asked == []
    assert (why,) == result.unread
    assert ({"person"}, 14, 0) == (
        {one.settled_by for one in result.owed},
        result.points_owed,
        result.lost,
    )
    assert adds_up(result)


def test_a_part_that_nobody_handed_in_is_lost():
    """Other files of the lab were read, so nothing is unclear about it."""
    result, _, _ = graded(submission=Submission("ada", "0" * 64, {"table.csv": b"a\n1\n"}))

    assert () == result.unread
    assert result.lost > 0


NOTES = {
    "missing": ({}, {}, "failed"),
    "as they were handed out": (
        {"notes.md": b"# Why?\r\n\r\n*Your answer here.*\r\n"},
        {},
        "failed",
    ),
    "emptied": ({"notes.md": b"# Why?\n"}, {}, "failed"),
    "answered": ({"notes.md": b"# Why?\n\nThe loop waits.\n"}, {}, "unavailable"),
    "not taken": ({}, {"notes.md": "it is UTF-16 text"}, "unavailable"),
}


@pytest.mark.parametrize(("files", "refused", "outcome"), NOTES.values(), ids=NOTES)
def test_a_person_reads_only_notes_that_somebody_wrote(files, refused, outcome):
    """Notes that are missing, or are as they were handed out, owe nothing to anybody."""
    kit = toy_kit()
    kit.lab.parts[0].artefacts["notes"] = "notes.md"
    released = replace(kit.released, texts={"notes.md": "# Why?\n\n*Your answer here.*\n"})
    handed_in = toy_submission()
    handed_in = replace(handed_in, files={**handed_in.files, **files}, refused=refused)
    result, checks, _ = graded(kit=replace(kit, released=released), submission=handed_in)

    assert outcome == checks["explains"].outcome
    assert adds_up(result)


LEFT = "*Your answer here.*"
PLACES = {
    "one of two answered": (f"# A?\n\nIt waits.\n\n# B?\n\n{LEFT}\n", "1 of 2 times"),
    "an answer above them": (f"Both.\n\n{LEFT}\n{LEFT}\n", "2 of 2 times"),
    "both answered": ("# A?\n\nIt waits.\n\n# B?\n\nSo.\n", ""),
}


@pytest.mark.parametrize(("text", "times"), PLACES.values(), ids=PLACES)
def test_notes_of_which_questions_are_left_say_how_many(text, times):
    """They are a person's to read all the same."""
    kit = toy_kit()
    kit.lab.parts[0].artefacts["notes"] = "notes.md"
    texts = {"notes.md": f"# A?\n\n{LEFT}\n\n# B?\n\n{LEFT}\n"}
    kit = replace(kit, released=replace(kit.released, texts=texts))
    _, checks, _ = graded(kit=kit, submission=toy_submission(notes__md=text.encode()))

    measured = f"{LEFT} is still there, {times}" if times else ""
    assert ("unavailable", measured, "a person reads notes.md") == (
        checks["explains"].outcome,
        checks["explains"].measured,
        checks["explains"].reason,
    )


NEAR = {
    "capitals at the end": ("Picture.PNG", True),
    "capitals": ("Picture.png", True),
    "a second copy": ("picture (1).png", True),
    "in a folder": ("plots/picture.png", True),
    "another picture": ("speed.png", False),
    "no picture": ("picture.svg", False),
    "handed out": ("handout/picture.png", False),
}


@pytest.mark.parametrize(("name", "meant"), NEAR.values(), ids=NEAR)
def test_an_artefact_under_a_name_that_is_nearly_right_is_named(name, meant):
    given = toy_submission()
    files = {file: data for file, data in given.files.items() if file != "picture.png"}
    submission = replace(given, files=files, left_out=(name,))
    _, checks, _ = graded(submission=submission)

    found = checks["has_picture"]
    assert ("no picture.png here", meant) == (found.measured, name in found.why)
    assert meant == ("call it picture.png and put it beside the others" in found.try_)
    assert (name if meant else None) == found.evidence.get(OTHER_NAMES)


def test_notes_under_a_name_that_is_nearly_right_are_named():
    kit = toy_kit()
    kit.lab.parts[0].artefacts["notes"] = "notes.md"
    submission = replace(toy_submission(), left_out=("Notes.md",))
    _, checks, _ = graded(kit=kit, submission=submission)

    assert "you submitted Notes.md, which the lab does not ask for" == checks["explains"].why


def test_what_is_set_aside_stays_a_persons_to_read():
    """A grader that died says nothing about the notes."""
    kit = toy_kit()
    kit.lab.parts[0].artefacts["notes"] = "notes.md"
    result, checks, _ = graded(
        kit=kit, submission=Submission("ada", "0" * 64, {}), refusal="set aside"
    )

    assert "unavailable" == checks["explains"].outcome
    assert result.lost == 0


@pytest.mark.parametrize(
    ("made_by", "refused", "said"),
    [
        pytest.param(
            {"picture.png": "draw it"},
            {},
            (
                "no picture.png here",
                "it is submitted beside part1_toy.py, which does not write it",
                "draw it",
            ),
            id="not there yet, and nothing writes it",
        ),
        pytest.param(
            {},
            {},
            (
                "no picture.png here",
                "part1_toy.py writes it when it is run",
                "python part1_toy.py, and keep picture.png beside it",
            ),
            id="not there yet",
        ),
        pytest.param(
            {},
            {"picture.png": "is a link"},
            ("picture.png was not taken", "is a link", "put the file itself at picture.png"),
            id="there and refused",
        ),
    ],
)
def test_a_missing_artefact_says_what_writes_it(made_by, refused, said):
    """While the work goes on, as well as after it was handed in."""
    given, kit = toy_submission(), toy_kit()
    kit.lab.parts[0].made_by.update(made_by)
    files = {name: data for name, data in given.files.items() if name != "picture.png"}
    _, checks, _ = graded(kit=kit, submission=Submission(given.name, given.sha256, files, refused))

    assert said == (
        checks["has_picture"].measured,
        checks["has_picture"].why,
        checks["has_picture"].try_,
    )
    assert ("failed", "missing") == (checks["has_picture"].outcome, checks["has_picture"].cause)


def test_an_artefact_that_cannot_be_read_fails_with_its_reason():
    """A picture that is none."""
    _, checks, _ = graded(submission=toy_submission(picture__png=b"GIF89a"))

    assert ("failed", "refused", "picture.png cannot be read") == (
        checks["has_picture"].outcome,
        checks["has_picture"].cause,
        checks["has_picture"].measured,
    )


def test_an_artefact_is_handed_to_the_judge_parsed():
    """A CSV arrives as a Table; a judge may also ask what the machine is."""
    _, checks, _ = graded()

    assert ("passed", "1 rows on toy") == (
        checks["has_table"].outcome,
        checks["has_table"].measured,
    )


def test_what_was_left_out_or_refused_is_told():
    """Notes for the student."""
    submission = Submission(
        "ada",
        "0" * 64,
        {},
        {"table.csv": "is no text"},
        ("extra.txt", "given/data.py", "students.md"),
    )
    result, _, _ = graded(submission=submission)

    assert (
        "table.csv was not taken: is no text",
        "not listed by the lab, so not looked at: extra.txt",
    ) == result.notes


def test_of_a_notebook_that_was_refused_one_note_tells():
    """The file that it stands for was refused for that reason."""
    why = "part1_toy.ipynb was not taken: is no text"
    submission = Submission(
        "ada", "0" * 64, {}, {"part1_toy.ipynb": "is no text", "part1_toy.py": why}
    )

    assert (why,) == graded(submission=submission)[0].notes


def test_what_holds_of_all_files_is_said_once():
    """An archive that cannot be read is one mistake."""
    why = "ada.rar: is a RAR archive; hand in a folder, zip or tar"
    result = grade(
        Submission("ada", "", {}, {"part1_toy.py": why, "table.csv": why}),
        toy_kit(),
        toy_session(FakeWorkers()),
        seed=1,
    )

    assert (f"nothing was taken: {why}",) == result.notes
