"""A bonus part in a real gradebook, from the release to the export: extra credit, up to what was lost elsewhere."""

from __future__ import annotations

import csv
import json
from copy import copy
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("nbgrader.api", reason="nbgrader is an extra: pip install 'perflab[nbgrader]'")
pytestmark = pytest.mark.filterwarnings(
    "ignore"
)  # nbgrader and what it stands on warn of themselves

from autograder.grading.kit import Kit  # noqa: E402
from autograder.handed_in.notebook import Released  # noqa: E402
from autograder.lab import Lab  # noqa: E402
from autograder.nbgrader import results  # noqa: E402
from autograder.nbgrader.gradebook import record  # noqa: E402
from autograder.nbgrader.source_notebook import notebook  # noqa: E402
from autograder.nbgrader.sync import sync  # noqa: E402
from autograder.result_file import load_result  # noqa: E402
from tests.nbgrader import course  # noqa: E402
from tests.nbgrader.course import LAB, PART, gradebook, hand_in, nbgrader, written  # noqa: E402

BONUS = "bonus"
# Student -> the function in the part, the one in the bonus, and what of the bonus counts: no more than was lost.
CLASS = {
    "ada_lost_two": ("return 2.0", "return 2.0", 2.0),
    "bob_lost_five": ("return 0.5", "return 2.0", 5.0),
    "cleo_lost_five_and_won_three": ("return 0.5", "return 0.5", 3.0),
}


def kit() -> Kit:
    """The toy lab, with its part once more as a bonus."""
    made = course.kit()
    second = copy(made.lab.parts[0])
    second.id = BONUS
    config = made.config.parts[PART]
    templates = {**made.released.templates, second.file: course.TEMPLATE}
    return replace(
        made,
        lab=Lab(LAB, (*made.lab.parts, second)),
        config=replace(made.config, parts={PART: config, BONUS: replace(config, bonus=True)}),
        baseline={**made.baseline, second.file: b"def work(): ..."},
        released=Released("1", templates),
    )


def worker(job: Any) -> Any:
    """Each part has its file; the worker of the class knows the first."""
    file = f"{job.part}.py"
    return course.worker(replace(job, files={**job.files, f"{PART}.py": job.files.get(file, b"")}))


def _patched(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(results, "_course", lambda root: SimpleNamespace(kit=lambda lab: kit()))
    patch.setattr(results, "_session", lambda *_: course.toy_session(worker))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("bonus") / "course"
    with pytest.MonkeyPatch.context() as patch:
        _patched(patch)
        course.make(root)
        made = kit()
        extra = notebook(
            made.lab.parts[1], made.config.parts[BONUS], course.SOURCE, {}, course.OURS
        )
        (root / "source" / LAB / f"{BONUS}.ipynb").write_text(json.dumps(extra))
        assert 0 == nbgrader(root, "generate_assignment", LAB)
        for student, (part, bonus, _) in CLASS.items():
            theirs = {
                name: json.loads((root / "release" / LAB / f"{name}.ipynb").read_text())
                for name in (PART, BONUS)
            }
            more = json.dumps(written(theirs[BONUS], bonus)).encode()
            hand_in(root, student, written(theirs[PART], part), bonus__ipynb=more)
        assert (0, 0, 0) == tuple(
            nbgrader(root, *words)
            for words in (("autograde", LAB), ("generate_feedback", LAB), ("export",))
        )
    return root


def test_the_assignment_is_worth_what_it_is_without_the_bonus(root: Path):
    """So nobody needs it: nbgrader's maximum is perflab's."""
    with gradebook(root) as book:
        assignment = book.find_assignment(LAB)
        worth = {one.name: one.max_score for one in assignment.notebooks}

    assert ({PART: 14, BONUS: 0}, 14) == (worth, assignment.max_score)


@pytest.mark.parametrize("student", CLASS)
def test_what_was_won_counts_as_extra_credit(root: Path, student: str):
    """No cell of it waits for a person, and the score is that of the result."""
    with gradebook(root) as book:
        submission = book.find_submission(LAB, student)
        grades = book.find_submission_notebook(BONUS, LAB, student).grades
        extra, score = sum(grade.extra_credit for grade in grades), submission.score
        waits = any(grade.needs_manual_grade for grade in grades)

    assert (CLASS[student][2], False) == (extra, waits)
    result = load_result(root / "results" / LAB / student / "result.json")
    assert (result.score, result.made_up) == (score, extra)


def test_the_export_has_the_same_scores(root: Path):
    """A column that is out of 14 for everybody."""
    rows = list(csv.DictReader((root / "grades.csv").read_text().splitlines()))

    assert {"14.0"} == {row["max_score"] for row in rows}
    assert {"ada_lost_two": 8.0, "bob_lost_five": 8.0, "cleo_lost_five_and_won_three": 6.0} == {
        row["student_id"]: float(row["score"]) for row in rows
    }


def test_sync_writes_the_same(root: Path):
    """After the bonus was taken out by somebody, it is there again, and is told as what moved."""
    url = f"sqlite:///{root}/gradebook.db"
    with gradebook(root) as book:
        for grade in book.find_submission_notebook(BONUS, LAB, "bob_lost_five").grades:
            grade.extra_credit = 0.0
        book.db.commit()
    seen = {
        one.student: one.moved
        for one in sync(root / "results" / LAB, url, add_students=False, feedback=None)
    }

    assert "3 -> 8 points" == seen["bob_lost_five"][0]
    with gradebook(root) as book:
        assert 8.0 == book.find_submission(LAB, "bob_lost_five").score


def test_what_moved_in_one_notebook_is_told_with_the_score_of_all(root: Path):
    """Where a notebook is missing, nbgrader has emptied it: that did not move."""
    result = load_result(root / "results" / LAB / "ada_lost_two" / "result.json")
    with gradebook(root) as book:
        for grade in book.find_submission_notebook(BONUS, LAB, "ada_lost_two").grades:
            grade.extra_credit = 0.0
        book.db.commit()

        assert "6 -> 8 points" == record(book, LAB, "ada_lost_two", result, {BONUS})[0]


def test_feedback_says_what_it_won(root: Path):
    """nbgrader shows extra credit over a maximum of nothing; our line beside it says what it means."""
    page = (root / "feedback" / "bob_lost_five" / LAB / f"{BONUS}.html").read_text()

    assert "(Score: 5.0 / 0.0)" in page
    assert (
        "6 of 14 points that need not be won; 5 of them count, where other parts lost points"
        in page
    )


def test_who_handed_in_no_notebook_for_a_part_has_not_moved(
    root: Path, monkeypatch: pytest.MonkeyPatch
):
    """nbgrader puts a zero where a notebook is missing, each time, before anybody of ours is asked."""
    _patched(monkeypatch)
    hand_in(
        root,
        "dan",
        written(json.loads((root / "release" / LAB / f"{PART}.ipynb").read_text()), "return 2.0"),
    )
    once = nbgrader(root, "autograde", LAB, "--student=dan")
    said = course.said(monkeypatch)

    assert (0, 0) == (once, nbgrader(root, "autograde", LAB, "--student=dan", "--force"))
    assert [] == said
