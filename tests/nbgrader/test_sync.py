"""Results straight into a gradebook, in SQLite and in a real PostgreSQL server: again and again, by one writer."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

pytest.importorskip("nbgrader.api", reason="nbgrader is an extra: pip install 'perflab[nbgrader]'")
pytestmark = pytest.mark.filterwarnings(
    "ignore"
)  # nbgrader and what it stands on warn of themselves

from autograder import cli  # noqa: E402
from autograder.batch import store  # noqa: E402
from autograder.batch.store import HANDED_IN  # noqa: E402
from autograder.errors import UserError  # noqa: E402
from autograder.handed_in.roster import Roster, Student  # noqa: E402
from autograder.nbgrader import results  # noqa: E402
from autograder.nbgrader.sync import Synced, sync  # noqa: E402
from autograder.results.standing import Rules  # noqa: E402
from tests.nbgrader import course  # noqa: E402
from tests.nbgrader.course import LAB, PART, nbgrader  # noqa: E402

POSTGRES = next((p.parent for p in sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))), None)
WORK = {"ada": "return 2.0", "bob": "return -1.0", "cleo": "while True: pass"}
SCORES = {"ada": 6.0, "bob": 2.0, "cleo": 2.0}


@contextmanager
def _course() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(results, "_course", lambda root: course.COURSE)
        yield


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course of which nbgrader has made the assignment, and plain files that were graded without nbgrader."""
    root = tmp_path_factory.mktemp("sync") / "course"
    course.make(root)
    with _course():
        assert 0 == nbgrader(root, "generate_assignment", LAB)
    for student, body in WORK.items():
        home = root / "plain" / student
        home.mkdir(parents=True)
        (home / f"{PART}.py").write_text(f"def work():\n    {body}\n")
        (home / "table.csv").write_bytes(course.CSV)
    kit = course.kit()
    for path in sorted((root / "plain").iterdir()):
        store.grade_one(
            store.load_or_say(path, kit.lab.files), kit, course.session(), root / "results", seed=1
        )
    return root


@pytest.fixture(scope="module")
def server(released: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of its own, reached through a socket in a temporary folder."""
    if POSTGRES is None:
        pytest.skip("no PostgreSQL server; make system installs it")
    pytest.importorskip(
        "psycopg", reason="psycopg comes with the extra: pip install 'perflab[nbgrader]'"
    )
    home = (
        Path("/tmp") / f"perflab-pg-{os.getpid()}"
    )  # a socket's path is at most 107 characters long
    home.mkdir(mode=0o755)
    user = (
        ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    )  # it refuses to serve as root
    if user:
        shutil.chown(home, "postgres")
    pg_ctl = [str(POSTGRES / "pg_ctl"), "-D", str(home / "data"), "-w", "-l", str(home / "log")]

    def run(*command: str) -> None:
        subprocess.run([*user, *command], check=True, stdout=subprocess.DEVNULL, cwd="/")

    try:
        run(
            str(POSTGRES / "initdb"),
            "-D",
            str(home / "data"),
            "-A",
            "trust",
            "-N",
            "-U",
            "postgres",
        )
        run(*pg_ctl, "-o", f"-k {home} -c listen_addresses='' -c fsync=off", "start")
        url = f"postgresql+psycopg://postgres@/postgres?host={home}"
        root = tmp_path_factory.mktemp("postgresql") / "course"
        shutil.copytree(released, root)
        with _course():
            assert 0 == nbgrader(
                root, "generate_assignment", LAB, f"--CourseDirectory.db_url={url}", "--force"
            )
        yield url
    finally:
        run(*pg_ctl, "-m", "immediate", "stop")
        shutil.rmtree(home)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, released: Path, tmp_path: Path) -> str:
    """A gradebook that knows the assignment and no student."""
    if request.param == "sqlite":
        shutil.copy(released / "gradebook.db", tmp_path)
        return f"sqlite:///{tmp_path}/gradebook.db"
    found: str = request.getfixturevalue("server")
    with book(found) as gradebook:
        for student in gradebook.students:
            gradebook.remove_student(student.id)
    return found


def push(
    released: Path, url: str, *, add_students: bool = True, feedback: Path | None = None
) -> list[Synced]:
    return list(sync(released / "results", url, add_students=add_students, feedback=feedback))


def book(url: str) -> Any:
    from nbgrader.api import Gradebook

    return Gradebook(url, "perflab")


def totals(url: str) -> dict[str, float]:
    with book(url) as found:
        return {one.student.id: one.score for one in found.find_assignment(LAB).submissions}


def grades(url: str, student: str) -> dict[str, tuple[float | None, bool]]:
    with book(url) as found:
        notebook = found.find_submission(LAB, student).notebooks[0]
        return {
            grade.name: (grade.auto_score, grade.needs_manual_grade) for grade in notebook.grades
        }


def test_results_are_written_and_written_again_without_a_difference(released: Path, url: str):
    """Plain files need no notebook; what is owed waits for a person."""
    assert [Synced("ada"), Synced("bob"), Synced("cleo")] == push(released, url)
    before = [grades(url, student) for student in WORK]

    assert SCORES == totals(url)
    assert {"faster", "much_faster", "explains"} == {
        name for name, (_, asked) in before[0].items() if asked
    }
    assert [Synced("ada"), Synced("bob"), Synced("cleo")] == push(released, url)
    assert before == [grades(url, student) for student in WORK]


def test_a_persons_score_stays(released: Path, url: str):
    """And is not asked for again."""
    push(released, url)
    with book(url) as found:
        grade = found.find_grade("explains", PART, LAB, "ada")
        grade.manual_score, grade.needs_manual_grade = 1.5, False
        found.db.commit()
    push(released, url)

    assert SCORES["ada"] + 1.5 == totals(url)["ada"]
    assert (None, False) == grades(url, "ada")["explains"]


def test_writers_wait_for_each_other(released: Path, url: str):
    """Four at once leave what one leaves."""
    failures: list[BaseException] = []

    def write() -> None:
        try:
            push(released, url)
        except BaseException as error:
            failures.append(error)

    writers = [threading.Thread(target=write) for _ in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    assert ([], SCORES) == (failures, totals(url))


def test_a_student_whom_the_gradebook_does_not_know_is_named_and_not_added(
    released: Path, url: str
):
    """A folder's name is no roster."""
    with book(url) as found:
        found.add_student("ada")
    seen = push(released, url, add_students=False)

    unknown = "no student {} in the gradebook; --add-students adds them"
    assert [Synced("ada"), *(Synced(it, unknown.format(it)) for it in ("bob", "cleo"))] == seen
    assert {"ada": 6.0} == totals(url)


def test_a_groups_result_is_every_members(released: Path, url: str):
    """Who of them uploaded it makes no difference."""
    students = {name: Student(name, group="blue") for name in ("ada", "zoe")}
    rules = Rules(roster=Roster({**students, "bob": Student("bob")}))
    list(sync(released / "results", url, add_students=True, feedback=None, rules=rules))

    assert {**SCORES, "zoe": SCORES["ada"]} == totals(url)


def test_a_broken_result_does_not_keep_the_others_out(released: Path, tmp_path: Path):
    """It is named, and its student keeps what stood there."""
    url = f"sqlite:///{shutil.copy(released / 'gradebook.db', tmp_path)}"
    shutil.copytree(released / "results", tmp_path / "results")
    (tmp_path / "results" / "bob" / store.RESULT).write_text("{")
    seen = push(tmp_path, url)

    assert ["", True, ""] == [seen[0].problem, "cannot be read" in seen[1].problem, seen[2].problem]
    assert {"ada": 6.0, "cleo": 2.0} == totals(url)


def test_points_that_changed_since_the_release_are_refused(released: Path, tmp_path: Path):
    """Nothing of that result is written."""
    url = f"sqlite:///{shutil.copy(released / 'gradebook.db', tmp_path)}"
    file = tmp_path / "results" / "ada" / store.RESULT
    file.parent.mkdir(parents=True)
    text = (released / "results" / "ada" / store.RESULT).read_text()
    file.write_text(text.replace('"max_points": 2.0', '"max_points": 2.5', 1))
    [seen] = push(tmp_path, url)

    mend = "release the lab again, then nbgrader generate_assignment toy --force"
    assert (
        f"{PART}.positive: 2.0 points in the gradebook, 2.5 in the result; {mend}" == seen.problem
    )
    assert {None} == {auto for auto, _ in grades(url, "ada").values()}


def test_a_part_that_is_new_since_the_release_is_refused(released: Path, tmp_path: Path):
    """Or one that is gone."""
    url = f"sqlite:///{shutil.copy(released / 'gradebook.db', tmp_path)}"
    file = tmp_path / "results" / "ada" / store.RESULT
    file.parent.mkdir(parents=True)
    text = (released / "results" / "ada" / store.RESULT).read_text()
    file.write_text(text.replace(f'"id": "{PART}"', '"id": "part2_new"'))
    [seen] = push(tmp_path, url)

    assert (
        f"'{PART}' is not a part of both; run nbgrader generate_assignment toy --force"
        == seen.problem
    )


def test_plain_files_get_their_feedback_too(released: Path, tmp_path: Path):
    """A notebook is made of what was handed in, from which nbgrader makes the page, and gives it out."""
    root = tmp_path / "course"
    shutil.copytree(released, root)
    submitted = root / "submitted" / "bob" / LAB
    submitted.mkdir(parents=True)
    for name in ("timestamp.txt", "submission_secret.txt"):
        (submitted / name).write_text("2026-10-01 12:00:00 UTC")
    with ZipFile(root / "results" / "bob" / HANDED_IN, "a") as kept:
        kept.writestr("notes.md", "I took the *sum*.\n<script>")
    push(root, f"sqlite:///{root}/gradebook.db", feedback=root / "autograded")

    assert 0 == nbgrader(root, "generate_feedback", LAB)
    page = (root / "feedback" / "bob" / LAB / f"{PART}.html").read_text()
    assert [] == [
        words
        for words in ("it is not positive", "add to it", "2 of 14 points")
        if words not in page
    ]
    assert 0 == nbgrader(
        root,
        "release_feedback",
        LAB,
        f"--Exchange.root={tmp_path}",
        "--CourseDirectory.course_id=autumn",
        "--CourseDirectory.student_id_exclude=ada,cleo",
    )
    assert 1 == len([*(tmp_path / "autumn" / "feedback").iterdir()])
    notebook = json.loads((root / "autograded" / "bob" / LAB / f"{PART}.ipynb").read_text())
    written = [cell["source"] for cell in notebook["cells"][:2]]
    assert written == [
        "def work():\n    return -1.0\n",
        r"I took the \*sum\*." + "  \n&lt;script&gt;",
    ]
    assert "NotImplementedError" not in json.dumps(notebook)


MISTAKES = {
    "no such file": (
        "sqlite:////nonexistent/gradebook.db",
        "there is no such file; run nbgrader generate_assignment first",
    ),
    "no URL": ("gradebook.db", "write sqlite:////path/gradebook.db or postgresql://..."),
    "no server": (
        "postgresql+psycopg://nobody@/x?host=/nonexistent",
        "write sqlite:////path/gradebook.db or postgresql://...",
    ),
}


@pytest.mark.parametrize(("url", "message"), MISTAKES.values(), ids=MISTAKES)
def test_what_the_user_can_mend_is_one_line(released: Path, url: str, message: str):
    """No traceback of a database."""
    with pytest.raises(UserError) as caught:
        push(released, url)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_assignment_that_the_gradebook_does_not_know_is_said(released: Path):
    """It is nbgrader's to make."""
    url = f"sqlite:///{released}/gradebook.db"

    with pytest.raises(
        UserError,
        match="the gradebook has no assignment 'other': nbgrader generate_assignment first",
    ):
        list(sync(released / "results", url, assignment="other", add_students=True, feedback=None))


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Any:
    monkeypatch.setattr(sys, "argv", ["perflab", "sync", *arguments])
    with pytest.raises(SystemExit) as left:
        cli.main()
    return left.value.code


def test_the_command_says_what_became_of_each(released: Path, tmp_path: Path, monkeypatch, capsys):
    """Exit status 2 where something is left to mend."""
    url = f"sqlite:///{shutil.copy(released / 'gradebook.db', tmp_path)}"

    assert 2 == run(monkeypatch, str(released / "results"), "--gradebook", url)
    assert "ada: no student ada in the gradebook" in capsys.readouterr().out
    assert 0 == run(monkeypatch, str(released / "results"), "--gradebook", url, "--add-students")
    assert "ada: written\nbob: written\ncleo: written\n" == capsys.readouterr().out
    assert 2 == run(monkeypatch, str(tmp_path), "--gradebook", url)
    assert "no */result.json here" in capsys.readouterr().err


def test_scores_of_formgrader_come_back_and_are_in_an_export(
    released: Path, tmp_path: Path, monkeypatch, capsys
):
    """What a check cannot be worth is named; a second time there is nothing new."""
    monkeypatch.setattr("autograder.cli.base.open_course", lambda _: course.COURSE)
    url = f"sqlite:///{shutil.copy(released / 'gradebook.db', tmp_path)}"
    home = tmp_path / "results"
    shutil.copytree(released / "results", home)
    push(tmp_path, url)
    with book(url) as found:
        found.find_grade("explains", PART, LAB, "ada").manual_score = 1.5
        found.find_comment("explains", PART, LAB, "ada").manual_comment = "Say why."
        found.find_grade("explains", PART, LAB, "bob").manual_score = 99.0
        found.db.commit()
    words = (str(home), "--gradebook", url, "--back")
    first = run(monkeypatch, *words), capsys.readouterr().out
    second = capsys.readouterr().out if run(monkeypatch, *words) else ""

    assert 2 == first[0]
    assert f"ada: {PART}.explains 1.5\nbob: {PART}.explains: 99 points; give 0 to" in first[1]
    assert "ada:" not in second
    assert "Say why." in (home / "ada/feedback.html").read_text()
