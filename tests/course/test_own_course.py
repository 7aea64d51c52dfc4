"""A course of one's own: made anywhere, trusted only if nobody else can write there, and never from what is graded."""

from __future__ import annotations

import os
import subprocess
import sys
from zipfile import ZipFile

import pytest

from autograder import labs
from autograder.course import Course, find_root, own_course
from autograder.course.scaffold import scaffold
from autograder.errors import CourseError, UserError
from autograder.model import OWN_LABS


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A course with one lab; what perflab knows of it is forgotten afterwards."""
    monkeypatch.setattr(labs, "__path__", list(labs.__path__))
    monkeypatch.setenv(OWN_LABS, "")
    home = tmp_path / "course"
    own_course.make(home)
    scaffold(Course(home), "ownlab", "part1_sums", exercise=True)
    return home


def test_a_course_is_made_with_a_place_for_everything(course):
    assert all((course / name).is_dir() for name in own_course.FOLDERS)
    assert course == find_root(start=course / "labs")
    assert ["ownlab"] == Course(course).labs


def test_a_folder_with_something_in_it_is_refused(course):
    with pytest.raises(UserError, match="is not empty"):
        own_course.make(course)


def test_it_gets_no_part_of_a_lab_of_perflab(course):
    """Its files would be found nowhere."""
    with pytest.raises(UserError, match="resnet18 is a lab of perflab, and a course has labs"):
        scaffold(Course(course), "resnet18", "part7_more")

    assert not (course / "reference/resnet18").exists()


def test_its_labs_stand_beside_those_of_perflab(course):
    """Here, and in workers by the environment."""
    lab = Course(course).lab("ownlab")

    assert ["part1_sums"] == [part.id for part in lab.parts]
    assert os.environ[OWN_LABS] == str(course / "labs")


WRITABLE = {
    "the mark": ".perflab-course",
    "a part": "labs/ownlab/part1_sums.py",
    "its folder": "labs/ownlab",
}


@pytest.mark.parametrize("name", WRITABLE.values(), ids=WRITABLE)
def test_code_that_others_may_write_is_not_run(course, monkeypatch, name):
    monkeypatch.setattr(labs, "__path__", labs.__path__[:1])
    (course / name).chmod(0o777)

    with pytest.raises(CourseError, match="others may write to it, so its code is not run"):
        Course(course)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_code_of_another_user_is_not_run(course, monkeypatch):
    monkeypatch.setattr(labs, "__path__", labs.__path__[:1])
    os.chown(course / "labs/ownlab/part1_sums.py", 12345, 12345)

    with pytest.raises(CourseError, match="belongs to another user"):
        Course(course)


def test_a_lab_called_like_one_of_perflabs_is_refused(course, monkeypatch):
    monkeypatch.setattr(labs, "__path__", labs.__path__[:1])
    (course / "labs/resnet18").mkdir()
    (course / "labs/resnet18/__init__.py").touch()

    with pytest.raises(CourseError, match="perflab has a lab of this name"):
        Course(course)


def test_a_folder_without_the_mark_brings_no_code(course, monkeypatch):
    """Only new-course writes it."""
    monkeypatch.setattr(labs, "__path__", labs.__path__[:1])
    (course / own_course.MARK).unlink()
    Course(course)

    assert str(course / "labs") not in labs.__path__


def test_a_course_inside_what_is_graded_is_refused(course):
    with pytest.raises(UserError, match="inside of what is graded"):
        own_course.refuse_inside(course, [course.parent])
    own_course.refuse_inside(course, [course / "handed_in"])


def test_students_get_the_judges_and_no_solution(course):
    """A part may be a file, or a folder with judges and a rig of its own."""
    beside = course / "labs/ownlab/part2_own"
    beside.mkdir()
    for name in ("__init__.py", "judges.py", "rig.py"):
        (beside / name).write_text("")
    files = own_course.released(course, "ownlab", {"part1_sums.py": b"template"})

    assert b"template" == files[".perflab/student_template/ownlab/part1_sums.py"]
    assert {
        ".perflab/grading_config.yaml",
        ".perflab/.perflab-course",
        ".perflab/labs/ownlab/part1_sums.py",
        ".perflab/labs/ownlab/part2_own/judges.py",
        ".perflab/labs/ownlab/part2_own/rig.py",
    } <= set(files)
    assert not any("reference" in name for name in files)


def perflab(*words, cwd):
    return ran("autograder.cli", *words, cwd=cwd)


def ran(module, *words, cwd):
    run = [sys.executable, "-m", module, *map(str, words)]
    return subprocess.run(run, cwd=cwd, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.slow
def test_a_course_is_built_released_and_graded_without_a_checkout(tmp_path):
    home, autumn = tmp_path / "course", tmp_path / "autumn"
    assert 0 == perflab("new-course", home, cwd=tmp_path).returncode
    for words in (
        ("new", "ownlab", "part1_sums", "--exercise"),
        ("build",),
        ("release", "ownlab", "--to", autumn),
    ):
        done = perflab(*words, cwd=home)
        assert 0 == done.returncode, done.stdout + done.stderr
    with ZipFile(autumn / "students" / "ownlab.zip") as archive:
        archive.extractall(tmp_path / "student")
    student = tmp_path / "student" / "ownlab"
    (student / "part1_sums.py").write_bytes((home / "reference/ownlab/part1_sums.py").read_bytes())

    told = ran("pytest", "-q", "-k", "part1 and same_results", cwd=student)
    assert 0 == told.returncode, told.stdout + told.stderr
    assert "1 passed" in told.stdout
    told = perflab(
        "grade",
        "ownlab",
        student,
        "--only",
        "same_results",
        "--out",
        tmp_path / "results",
        cwd=home,
    )
    assert "4 of 4" in told.stdout, told.stdout + told.stderr
    refused = perflab("grade", "ownlab", ".", "--out", tmp_path / "more", cwd=student)
    assert 2 == refused.returncode
    assert "inside of what is graded" in refused.stderr
