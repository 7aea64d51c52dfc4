"""A class in nbgrader after a change of points, a bar or a check: only that is graded again, and who moved is told why."""

from __future__ import annotations

import csv
import json
import shutil
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("nbgrader.api", reason="nbgrader is an extra: pip install 'perflab[nbgrader]'")
pytestmark = pytest.mark.filterwarnings(
    "ignore"
)  # nbgrader and what it stands on warn of themselves

from autograder.batch import store  # noqa: E402
from autograder.batch.journal import Journal  # noqa: E402
from autograder.batch.lanes import Work  # noqa: E402
from autograder.batch.rounds import Rounds  # noqa: E402
from autograder.config import LatePolicy  # noqa: E402
from autograder.handed_in import times  # noqa: E402
from autograder.handed_in.times import Handed  # noqa: E402
from autograder.model import Compared  # noqa: E402
from autograder.nbgrader import results  # noqa: E402
from autograder.nbgrader.sync import sync  # noqa: E402
from autograder.result_file import load_result  # noqa: E402
from autograder.results import standing  # noqa: E402
from tests.nbgrader import course  # noqa: E402
from tests.nbgrader.course import LAB, PART, gradebook, hand_in, nbgrader, released, written  # noqa: E402

CLASS = {"ada": "return 2.0", "bob": "return -1.0", "cleo": "return 0.5"}
FASTER = 2.0  # times as fast as the baseline: everybody whose numbers are right


class Grader:
    """The lab as it stands in grading_config.yaml, workers that are fakes, and what they were asked."""

    def __init__(self, root: Path) -> None:
        self.root, self.kit, self.asked = root, course.kit(), list[str]()

    def set_part(self, **changes: Any) -> None:
        part = replace(self.kit.config.parts[PART], **changes)
        self.kit = replace(self.kit, config=replace(self.kit.config, parts={PART: part}))

    def set_check(self, name: str, **changes: Any) -> None:
        checks = self.kit.config.parts[PART].checks
        self.set_part(checks={**checks, name: replace(checks[name], **changes)})

    def session(self) -> Any:
        def run(job: Any) -> Any:
            self.asked += [job.probe] if job.side == "student" else []
            return course.worker(job)

        def clock(probe: Any, student: Any, baseline: Any, bar: float) -> Compared:
            self.asked.append("clock")
            return Compared("PASS" if bar <= FASTER else "FAIL", f"{FASTER:.2f}x")

        return replace(course.toy_session(run), clock=clock)

    def grade(self) -> None:
        """`perflab grade toy submitted --out results/toy`, in lanes of its own."""
        out = self.root / "results" / LAB
        found = {path.name: path / LAB for path in sorted((self.root / "submitted").iterdir())}
        with Journal(out) as journal:
            work = Work(self.kit, lambda: nullcontext(self.session()), out)
            list(Rounds(work, self.session(), journal, 7, 1).run(found))

    def autograde(self, *options: str) -> int:
        self.asked.clear()
        return nbgrader(self.root, "autograde", LAB, "--force", *options)

    def score(self, student: str) -> tuple[float, float]:
        with gradebook(self.root) as book:
            submission = book.find_submission(LAB, student)
            return submission.score, submission.max_score


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A class that was graded, and then taken into the gradebook; a person has read what they wrote."""
    root = tmp_path_factory.mktemp("regrade") / "course"
    course.make(root)
    with pytest.MonkeyPatch.context() as patch:
        grader = _patched(patch, root)
        assert 0 == nbgrader(root, "generate_assignment", LAB)
        for student, body in CLASS.items():
            hand_in(root, student, written(released(root), body))
        grader.grade()
        assert 0 == grader.autograde()
        assert [] == grader.asked
    with gradebook(root) as book:
        for student in CLASS:
            grade = book.find_grade("explains", PART, LAB, student)
            grade.manual_score, grade.needs_manual_grade = 1.5, False
        book.db.commit()
    return root


def _patched(patch: pytest.MonkeyPatch, root: Path) -> Grader:
    grader = Grader(root)
    patch.setattr(results, "_course", lambda root: SimpleNamespace(kit=lambda lab: grader.kit))
    patch.setattr(results, "_session", lambda *_: grader.session())
    return grader


@pytest.fixture
def grader(first: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Grader:
    root = tmp_path / "course"
    shutil.copytree(first, root)
    return _patched(monkeypatch, root)


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What nbgrader's log says of anybody's points."""
    return course.said(monkeypatch)


def test_without_a_change_nothing_runs_and_nobody_moves(grader: Grader, said: list[str]):
    """Again and again."""
    assert 0 == grader.autograde()
    assert ([], []) == (grader.asked, said)


def test_another_bar_runs_the_clock_and_says_who_moved_and_why(grader: Grader, said: list[str]):
    """Whoever failed before the clock is untouched; what a person gave stays."""
    grader.set_check("faster", bar={"t4": 2.5})

    assert 0 == grader.autograde()
    assert {"amp", "clock"} == {*grader.asked}
    assert [
        "ada: 11.5 -> 7.5 points",
        f"ada: {PART}.faster: 2 -> 0 (failed: 2.00x; the bar is 2.50x, slow)",
        f"ada: {PART}.much_faster: 2 -> 0 (skipped: faster did not pass)",
        "cleo: 8.5 -> 4.5 points",
    ] == said[:4]
    assert {"ada", "cleo"} == {line.partition(":")[0] for line in said}
    assert [(7.5, 14), (3.5, 14), (4.5, 14)] == [grader.score(student) for student in CLASS]


def test_where_only_what_is_there_is_taken_another_bar_leaves_all_ungraded(grader: Grader):
    """An old verdict is none; the reason names what changed, and how to go on."""
    grader.set_check("faster", bar={"t4": 2.5})

    assert 1 == grader.autograde("--Verdicts.grade_when_absent=False")
    with gradebook(grader.root) as book:
        comment = book.find_comment("work", PART, LAB, "ada").auto_comment
    assert "is from before a change of the bar of part1" in comment
    assert "run perflab grade toy submitted --out results/toy" in comment
    assert [(1.5, 14)] * 3 == [grader.score(student) for student in CLASS]


def test_other_points_run_nothing_and_want_the_assignment_released_again(
    grader: Grader, said: list[str]
):
    """The gradebook knows the old ones until then."""
    grader.set_check("positive", points=4.0)
    grader.set_part(points=16.0)

    assert 1 == grader.autograde()
    made = course.notebook(
        grader.kit.lab.parts[0], grader.kit.config.parts[PART], course.SOURCE, {}, course.OURS
    )
    (grader.root / "source" / LAB / f"{PART}.ipynb").write_text(json.dumps(made))
    assert 0 == nbgrader(grader.root, "generate_assignment", LAB, "--force")
    assert 0 == grader.autograde()
    assert [] == grader.asked
    assert [(13.5, 16), (3.5, 16), (9.5, 16)] == [grader.score(student) for student in CLASS]


def test_another_file_of_the_part_runs_the_part(grader: Grader):
    """Here what it is compared with."""
    grader.kit = replace(
        grader.kit, baseline={**grader.kit.baseline, f"{PART}.py": b"def work(): return 1.0"}
    )

    assert 0 == grader.autograde()
    assert {"single", "both", "amp", "clock"} == {*grader.asked}


def test_what_nbgrader_had_graded_is_not_graded_again_by_the_grading_machine(grader: Grader):
    """Both write the same journal; the seed of a result stays."""
    grader.set_check("faster", bar={"t4": 2.5})
    grader.autograde()
    before = _results(grader)
    grader.grade()

    assert before == _results(grader)


def test_a_result_that_somebody_edited_is_graded_again(grader: Grader):
    """It is not what the journal says was written."""
    file = grader.root / "results" / LAB / "bob" / store.RESULT
    file.write_text(file.read_text().replace('"outcome": "failed"', '"outcome": "passed"'))

    assert 0 == grader.autograde()
    assert (3.5, 14) == grader.score("bob")
    assert "single" in grader.asked


def test_sync_says_who_moved_too(grader: Grader):
    """After `perflab grade` on the other machine; said once."""
    grader.set_check("faster", bar={"t4": 2.5})
    grader.grade()

    def pushed() -> dict[str, tuple[str, ...]]:
        url = f"sqlite:///{grader.root}/gradebook.db"
        found = sync(grader.root / "results" / LAB, url, add_students=False, feedback=None)
        return {one.student: one.moved for one in found}

    once = pushed()
    assert ("11.5 -> 7.5 points", 3) == (once["ada"][0], len(once["ada"]))
    assert () == once["bob"]
    assert dict.fromkeys(CLASS, ()) == pushed()


def _results(grader: Grader) -> list[Any]:
    return [
        load_result(path)
        for path in sorted((grader.root / "results" / LAB).glob(f"*/{store.RESULT}"))
    ]


# Lateness comes from one place

DUE = "2027-01-20T12:00+00:00"
POLICY = LatePolicy(grace_minutes=10, per_day=0.1, at_most=0.5)
ZERO = "--LateSubmissionPlugin.penalty_method=zero"


def _late_class(grader: Grader, policy: LatePolicy | None) -> None:
    """Bob came two days late by nbgrader's clock, and nbgrader knows when it was due."""
    grader.kit = replace(grader.kit, config=replace(grader.kit.config, due=DUE, late=policy))
    (grader.root / "submitted" / "bob" / LAB / "timestamp.txt").write_text(
        "2027-01-22 11:00:00 UTC\n"
    )
    with gradebook(grader.root) as book:
        book.update_or_create_assignment(LAB, duedate="2027-01-20 12:00:00 UTC")


def _exported(grader: Grader) -> dict[str, tuple[float, float]]:
    """What nbgrader export says was taken, and is left."""
    assert 0 == nbgrader(grader.root, "export")
    rows = csv.DictReader((grader.root / "grades.csv").read_text().splitlines())
    return {
        row["student_id"]: (float(row["late_submission_penalty"]), float(row["score"]))
        for row in rows
    }


def test_the_late_policy_of_the_lab_is_all_that_is_taken(grader: Grader):
    """nbgrader's own plugin would take everything, and is not asked; what a person gave counts, too."""
    _late_class(grader, POLICY)

    assert 0 == grader.autograde(ZERO)
    assert {"ada": (0, 11.5), "bob": (0.7, 2.8), "cleo": (0, 8.5)} == _exported(grader)


def test_a_lab_without_one_is_left_to_nbgrader(grader: Grader):
    """There its plugin is the one place."""
    _late_class(grader, None)

    assert 0 == grader.autograde(ZERO)
    assert (3.5, 0.0) == _exported(grader)["bob"]


@pytest.mark.parametrize("extension", [0, 48], ids=["none", "of two days"])
def test_sync_takes_the_same_as_our_own_exports(grader: Grader, extension: int):
    """From handed_in.csv and roster.csv beside the results; what is not known to be late costs nothing."""
    _late_class(grader, POLICY)
    out = grader.root / "results" / LAB
    handed = {
        "bob": Handed("bob", datetime(2027, 1, 22, 11, tzinfo=UTC)),
        "cleo": Handed("cleo", marked_late=True),
    }
    times.write(out, handed)
    (out / "roster.csv").write_text(f"student,extension_hours\nbob,{extension}\n")
    rules = standing.rules({LAB: grader.kit.config}, out)
    with gradebook(grader.root) as book:  # our exports know nothing of what nbgrader's graders gave
        book.find_grade("explains", PART, LAB, "bob").manual_score = None
        book.db.commit()
    seen = list(
        sync(
            out,
            f"sqlite:///{grader.root}/gradebook.db",
            add_students=False,
            feedback=None,
            rules=rules,
        )
    )
    [ours] = [one for one in standing.read(out, rules).whole if one.student.student == "bob"]

    assert (ours.late.points if ours.late else 0.0, ours.final) == _exported(grader)["bob"]
    assert (2.0 if extension else 1.6) == ours.final
    said = {one.student: one.late for one in seen}
    unclear = "marked as late, and when it was handed in is not known; write it into handed_in.csv"
    assert {"ada": "", "bob": str(ours.late or ""), "cleo": unclear} == said


def test_sync_after_autograde_keeps_the_notebooks_of_students(grader: Grader):
    """Verdicts in them are the new ones; what students wrote in other cells stays to be read."""
    file = grader.root / "submitted" / "ada" / LAB / f"{PART}.ipynb"
    notebook = json.loads(file.read_text())
    notebook["cells"].append(
        {"cell_type": "markdown", "id": "mine", "metadata": {}, "source": "My own thoughts."}
    )
    file.write_text(json.dumps(notebook))
    grader.grade()
    assert 0 == grader.autograde()
    grader.set_check("faster", bar={"t4": 2.5})
    grader.grade()
    url, to = f"sqlite:///{grader.root}/gradebook.db", grader.root / "autograded"
    list(sync(grader.root / "results" / LAB, url, add_students=False, feedback=to))
    text = (to / "ada" / LAB / f"{PART}.ipynb").read_text()

    assert "My own thoughts." in text
    assert "the bar is 2.50x" in text
