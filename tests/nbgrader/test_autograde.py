"""The real nbgrader on a class of notebooks: nothing is executed, scores are perflab's, a doubt leaves one ungraded."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("nbgrader.api", reason="nbgrader is an extra: pip install 'perflab[nbgrader]'")
pytestmark = pytest.mark.filterwarnings(
    "ignore"
)  # nbgrader and what it stands on warn of themselves

from autograder.batch import store  # noqa: E402
from autograder.grading.grade import grade  # noqa: E402
from autograder.nbgrader import results  # noqa: E402
from autograder.result_file import load_result  # noqa: E402
from tests.nbgrader import course  # noqa: E402
from tests.nbgrader.course import LAB, PART, gradebook, hand_in, nbgrader, released, written  # noqa: E402
from tests.nbgrader.handing_in import CLASS, notebook  # noqa: E402


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Release, hand in, autograde, give back; what is asserted below is what is then there."""
    root = tmp_path_factory.mktemp("course")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(results, "_course", lambda root: course.COURSE)
        patch.setattr(results, "_session", lambda *_: course.session())
        course.make(root)
        made = nbgrader(root, "generate_assignment", LAB)
        for student, (body, more, _) in CLASS.items():
            hand_in(root, student, notebook(root, body, more))
        hand_in(root, "pat_broken", '{"cells": [')
        hand_in(root, "quin_large", json.dumps({"x": " " * (17 << 20)}))
        first = nbgrader(root, "autograde", LAB)
        feedback = nbgrader(root, "generate_feedback", LAB)
        yield SimpleNamespace(root=root, statuses=(made, first, feedback))


def scores(root: Path, student: str) -> dict[str, tuple[float | None, bool]]:
    """Every grade: its score, and whether a person is asked."""
    with gradebook(root) as book:
        submission = book.find_submission(LAB, student)
        return {
            g.name: (g.auto_score, g.needs_manual_grade) for g in submission.notebooks[0].grades
        }


def result_of(root: Path, student: str) -> Any:
    return load_result(root / "results" / LAB / student / store.RESULT)


def feedback(root: Path, student: str) -> str:
    return (root / "feedback" / student / LAB / f"{PART}.html").read_text()


def test_the_batch_goes_on_and_says_that_some_are_not_graded(graded: Any):
    """Exit status 1 for the two notebooks that cannot be read."""
    assert (0, 1, 0) == graded.statuses


@pytest.mark.parametrize("student", CLASS)
def test_scores_are_those_of_the_result_and_what_is_owed_waits_for_a_person(
    graded: Any, student: str
):
    """To the last digit; nothing that the notebook says of itself or did before counts."""
    found = scores(graded.root, student)
    wanted = {**CLASS[student][2], "explains": None}

    assert {name: (score, score is None) for name, score in wanted.items()} == found
    result = result_of(graded.root, student)
    assert {c.id: None if c.owed else c.points for c in result.parts[0].checks} == {
        n: s for n, (s, _) in found.items()
    }
    with gradebook(graded.root) as book:
        assert result.score == book.find_submission(LAB, student).score


def test_nothing_of_a_notebook_is_ever_executed(graded: Any):
    """The first cell of each would have left a file."""
    assert not (graded.root / "executed").exists()


@pytest.mark.parametrize("student", ["pat_broken", "quin_large"])
def test_a_notebook_that_cannot_be_read_leaves_its_student_ungraded(graded: Any, student: str):
    """No zero, no full marks, and the reason beside it."""
    assert {(None, True)} == set(scores(graded.root, student).values())
    with gradebook(graded.root) as book:
        comment = book.find_comment("work", PART, LAB, student).auto_comment
    assert comment.startswith("Not graded: ")


def test_feedback_shows_goal_measured_why_and_try(graded: Any):
    """In the cell of the check, and all of them where the checks are run."""
    page = feedback(graded.root, "fay_equal_to_all")

    for words in (
        "The number is positive.",
        "measured: -1.0",
        "why: it is not positive",
        "try: add to it",
    ):
        assert 2 <= page.count(words), words
    assert "0 of 14 points" not in page
    assert "2 of 14 points, 2 not settled yet" in page


def test_feedback_names_what_was_left_out(graded: Any):
    """As Markdown in which a student's text is only text."""
    page = feedback(graded.root, "gus_strips_asserts")

    assert "left out, because it runs something" in page
    assert "get_ipython().ast_transformers.append(None)" in page


@pytest.mark.parametrize("student", CLASS)
def test_feedback_holds_nothing_of_the_solution(graded: Any, student: str):
    """Nor does the notebook that students got."""
    assert "the_secret_of_the_reference" not in feedback(graded.root, student)
    assert "the_secret_of_the_reference" not in json.dumps(released(graded.root))


# One submission again: what is reused, what is refused, and what a person did


@pytest.fixture
def one(graded: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A copy of the course in which only one student has handed in."""
    root = tmp_path / "course"
    keep = shutil.ignore_patterns(
        *(name for name in [*CLASS, "pat_broken", "quin_large"] if name != "ada_right")
    )
    shutil.copytree(graded.root, root, ignore=keep)
    monkeypatch.setattr(results, "_course", lambda root: course.COURSE)
    monkeypatch.setattr(results, "_session", lambda *_: course.session())
    return root


def again(root: Path, *options: str) -> int:
    return nbgrader(root, "autograde", LAB, "--student=ada_right", "--force", *options)


def test_an_unchanged_submission_is_not_graded_again(one: Path):
    """Its result is taken as it is."""
    before = (one / "results" / LAB / "ada_right" / store.RESULT).read_bytes()

    assert 0 == again(one)
    assert before == (one / "results" / LAB / "ada_right" / store.RESULT).read_bytes()


def test_a_changed_submission_is_graded_anew(one: Path):
    """The score follows the files."""
    hand_in(one, "ada_right", written(released(one), "return -1.0"))

    assert 0 == again(one)
    assert (0.0, False) == scores(one, "ada_right")["positive"]


def _changed(root: Path) -> None:
    hand_in(root, "ada_right", written(released(root), "return 3.0"))


def _absent(root: Path) -> None:
    shutil.rmtree(root / "results")


def _broken(root: Path) -> None:
    (root / "results" / LAB / "ada_right" / store.RESULT).write_text("{")


def _of_another_version(root: Path) -> None:
    _rewritten(root, '"lab_version": "1"', '"lab_version": "0"')


def _of_another_lab(root: Path) -> None:
    _rewritten(root, f'"lab": "{LAB}"', '"lab": "other"')


def _of_other_points(root: Path) -> None:
    (root / "results" / LAB / "journal.sqlite").unlink()  # as jobs of a cluster write results
    _rewritten(root, '"max_points": 2.0', '"max_points": 3.0')


def _of_one_check(root: Path) -> None:
    (root / "results" / LAB / "journal.sqlite").unlink()
    kit = course.kit()
    handed_in = store.load_or_say(
        root / "submitted" / "ada_right" / LAB, kit.lab.files, kit.released
    )
    result = grade(handed_in, kit, course.session(), seed=1, only="positive")
    (root / "results" / LAB / "ada_right" / store.RESULT).write_text(
        json.dumps(store.to_json(result)).replace(
            f'"submission": "{LAB}"', '"submission": "ada_right"'
        )
    )


def _edited_by_hand(root: Path) -> None:
    _rewritten(root, '"outcome": "passed"', '"outcome": "partial"')


def _rewritten(root: Path, old: str, new: str) -> None:
    file = root / "results" / LAB / "ada_right" / store.RESULT
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


REFUSED = {
    "absent": (
        _absent,
        "no result for ada\\_right in results/toy; run perflab grade toy submitted --out results/toy",
    ),
    "of other files": (
        _changed,
        "the result in results/toy/ada\\_right is of other files than were handed in",
    ),
    "of another version": (_of_another_version, "the result is of version 0, now 1"),
    "of another lab": (_of_another_lab, "the result in results/toy/ada\\_right is of lab other"),
    "broken": (_broken, "ada\\_right/result.json: cannot be read"),
    "of other points": (
        _of_other_points,
        "2.0 points in the gradebook, 3.0 in the result; release the lab again",
    ),
    "edited": (_edited_by_hand, "the result in results/toy/ada\\_right is not as it was written"),
    "of one check": (_of_one_check, "2.0 points in the gradebook, no in the result"),
}


@pytest.mark.parametrize(("spoil", "reason"), REFUSED.values(), ids=REFUSED)
def test_without_a_result_that_fits_a_student_stays_ungraded(one: Path, spoil: Any, reason: str):
    """What stood in the gradebook before goes, too: it has no verdict behind it any more."""
    spoil(one)

    assert 1 == again(one, "--Verdicts.grade_when_absent=False")
    assert {(None, True)} == set(scores(one, "ada_right").values())
    with gradebook(one) as book:
        assert reason in book.find_comment("work", PART, LAB, "ada_right").auto_comment


def test_a_fence_that_is_missing_leaves_a_student_ungraded(
    one: Path, monkeypatch: pytest.MonkeyPatch
):
    """The same words as those of `perflab grade`."""
    from autograder.errors import UserError

    def no_session(*_: Any) -> Any:
        raise UserError("no sandbox: bubblewrap is not installed")

    monkeypatch.setattr(results, "_session", no_session)
    _absent(one)

    assert 1 == again(one)
    with gradebook(one) as book:
        assert "no sandbox" in book.find_comment("work", PART, LAB, "ada_right").auto_comment


def test_a_persons_score_stays_and_is_looked_at_again_when_the_verdict_moves(one: Path):
    """Owed points that a person settled are not asked for twice."""
    with gradebook(one) as book:
        for name, score in (("explains", 1.5), ("positive", 2.0), ("faster", 1.0)):
            grade_ = book.find_grade(name, PART, LAB, "ada_right")
            grade_.manual_score, grade_.needs_manual_grade = score, False
        book.db.commit()

    assert 0 == again(one)
    assert {"much_faster"} == {
        name for name, (_, asked) in scores(one, "ada_right").items() if asked
    }
    hand_in(one, "ada_right", written(released(one), "return -1.0"))
    assert 0 == again(one)
    # faster is skipped now, so lost: the person who gave a point for it is asked, too
    assert {"positive", "faster"} == {
        name for name, (_, asked) in scores(one, "ada_right").items() if asked
    }
    with gradebook(one) as book:
        assert 1.5 + 2.0 + 1.0 + 2.0 == book.find_submission(LAB, "ada_right").score


# What students get


def test_what_lies_beside_the_source_and_was_not_put_there_by_the_release_is_refused(one: Path):
    """Such as the results of a reference that was run there."""
    (one / "source" / LAB / "table.csv").write_text("a,b\n1,2\n")

    assert 1 == nbgrader(one, "generate_assignment", LAB, "--force")
    assert not (one / "release" / LAB / f"{PART}.ipynb").exists()


def test_what_a_course_of_ones_own_needs_at_home_is_handed_out(one: Path):
    """Its labs are in no wheel, so the release puts them beside the notebooks."""
    mark = one / "source" / LAB / ".perflab" / ".perflab-course"
    mark.parent.mkdir()
    mark.touch()

    assert 0 == nbgrader(one, "generate_assignment", LAB, "--force")
    assert (one / "release" / LAB / ".perflab" / mark.name).is_file()


def test_a_line_of_the_solution_elsewhere_is_refused(one: Path):
    """Here an instructor copied a line into a text cell."""
    file = one / "source" / LAB / f"{PART}.ipynb"
    nb = json.loads(file.read_text())
    nb["cells"][0]["source"] += "\n\n    return the_secret_of_the_reference"
    file.write_text(json.dumps(nb))

    assert 1 == nbgrader(one, "generate_assignment", LAB, "--force")


def test_a_program_that_students_write_beside_the_notebooks_is_handed_out_and_stays_theirs(
    one: Path, monkeypatch: pytest.MonkeyPatch
):
    """nbgrader would put its own copy in the place of theirs, for whoever grades by hand."""
    kit = course.kit()
    kit.lab.parts[0].artefacts["program"] = "program.py"
    monkeypatch.setattr(results, "_course", lambda root: SimpleNamespace(kit=lambda lab: kit))
    (one / "source" / LAB / "program.py").write_text("# yours to write\n")
    hand_in(one, "ada_right", written(released(one), "return 2.0"), program__py=b"print('mine')\n")

    assert 0 == nbgrader(one, "generate_assignment", LAB, "--force")
    assert "# yours to write\n" == (one / "release" / LAB / "program.py").read_text()
    assert 0 == again(one)
    assert "print('mine')\n" == (one / "autograded" / "ada_right" / LAB / "program.py").read_text()
