"""Where the course is, and what a lab is graded with."""

from __future__ import annotations

import pytest
import yaml

from autograder import config
from autograder import course as finding
from autograder.course import CONFIG, Course, find_root, read_tree
from autograder.course.build import built
from autograder.course.cases import load_cases
from autograder.errors import CourseError


def test_the_nearest_parent_with_a_configuration_is_the_course(tmp_path):
    """A student works below it."""
    (tmp_path / CONFIG).write_text("")
    inside = tmp_path / "student_template" / "lab"
    inside.mkdir(parents=True)

    assert tmp_path == find_root(start=inside)


def test_a_course_that_is_named_comes_first(tmp_path):
    """--course."""
    (tmp_path / CONFIG).write_text("")

    assert tmp_path == find_root(tmp_path)
    with pytest.raises(
        CourseError, match=r"no grading_config\.yaml there; name the folder of a course"
    ):
        find_root(tmp_path / "elsewhere")


def test_elsewhere_the_installed_course_is_used(tmp_path, monkeypatch):
    """A released folder has no configuration of its own."""
    packaged = tmp_path / "_course"
    packaged.mkdir()
    (packaged / CONFIG).write_text("")
    monkeypatch.setattr(finding, "PACKAGED", packaged)

    assert packaged == find_root(start=tmp_path)


def test_a_folder_with_a_configuration_alone_has_the_templates_of_the_installed_course(tmp_path):
    """An instructor edits one file; without `given` every submission would fail for a fault of ours."""
    (tmp_path / CONFIG).write_bytes((find_root() / CONFIG).read_bytes())
    own, installed = Course(tmp_path).kit("resnet18"), Course(find_root()).kit("resnet18")

    assert (installed.given, installed.baseline) == (own.given, own.baseline)


def test_a_lab_without_templates_anywhere_is_not_graded(tmp_path):
    with pytest.raises(CourseError, match="no student_template/ours, without which no part"):
        Course(tmp_path).handed_out("ours")


def test_given_files_are_the_graders_own_and_include_no_reference():
    """What a worker is given beside the student's file is public."""
    course = Course(find_root())
    kit = course.kit("resnet18")

    assert "given/__init__.py" in kit.given
    assert {f"{part.id}.py" for part in kit.lab.parts} <= set(kit.baseline) <= set(kit.lab.files)
    assert all(name.startswith("given/") for name in kit.given)


def without(tmp_path, *checks, parts=()):
    """A course that does without some of part 3, and of the lab."""
    said = config.read_yaml(find_root() / CONFIG)
    found = said["labs"]["resnet18"]["parts"]
    for check in checks:
        worth = found["part3_amp"]["checks"][check]
        found["part3_amp"]["points"] -= worth["points"] if isinstance(worth, dict) else worth
        found["part3_amp"]["checks"][check] = "off"
    found |= dict.fromkeys(parts, "off")
    for name in ("reference", "student_template", "assignments"):
        (tmp_path / name).symlink_to(find_root() / name)
    (tmp_path / CONFIG).write_text(yaml.safe_dump(said), encoding="utf-8")
    return Course(tmp_path)


def test_what_is_off_is_no_part_of_the_lab(tmp_path):
    """Neither judged, nor handed out, nor taken."""
    course = without(tmp_path, "amp_is_faster", parts=["part5_compile"])
    lab = course.lab("resnet18")

    assert "part5_compile" not in [part.id for part in lab.parts]
    assert "amp_is_faster" not in lab.part("part3").checks
    assert "amp_is_faster" in Course(find_root()).lab("resnet18").part("part3").checks
    assert {"part5_compile.py", "part5_notes.md", "compile_results.csv"} <= course.left_out(
        "resnet18"
    )
    assert [] == [name for name in built(course, "resnet18") if "part5" in name]
    assert "part5_compile.py" not in lab.files


def test_entries_about_what_is_off_are_left_out_of_the_proof(tmp_path):
    """What fails more than that still has to fail it."""
    course = without(tmp_path, "amp_is_faster", parts=["part5_compile"])
    (tmp_path / "tests").symlink_to(find_root() / "tests")
    cases = load_cases(course, course.lab("resnet18"))

    assert {"part5_compile"} & {case.part for case in cases} == set()
    assert [case.id for case in cases if "amp_is_faster" in case.fails] == []
    assert len(cases) > 50


def test_a_check_that_another_needs_stays(tmp_path):
    """Or the other would be judged of work that nobody looked at."""
    course = without(tmp_path, "follows_fp32")

    with pytest.raises(
        CourseError, match=r"part3_amp\.follows_fp32 is off, but \w+ needs it; switch that off, too"
    ):
        course.lab("resnet18")


def test_a_lab_that_the_configuration_does_not_know_is_said():
    """With the nearest name."""
    with pytest.raises(CourseError, match=r"has no lab 'resnet' \(did you mean 'resnet18'\?\)"):
        Course(find_root()).lab("resnet")


def test_a_lab_that_the_installed_wheel_does_not_know_says_which_it_knows(tmp_path, monkeypatch):
    """A student installed last term's."""
    (tmp_path / CONFIG).write_bytes((find_root() / CONFIG).read_bytes())
    monkeypatch.setattr(finding, "PACKAGED", tmp_path)
    said = r"this perflab \(.+\) does not know the lab ours, it knows .*resnet18.*: install the wheel that came with"

    with pytest.raises(CourseError, match=said):
        Course(tmp_path).lab("ours")


def test_a_course_without_a_reference_says_who_has_it(tmp_path):
    """Students have none."""
    (tmp_path / CONFIG).write_bytes((find_root() / CONFIG).read_bytes())

    with pytest.raises(
        CourseError, match="this course has no reference/resnet18; only an instructor's checkout"
    ):
        Course(tmp_path).reference("resnet18")


def test_a_misspelt_lab_is_not_told_that_its_reference_is_missing(tmp_path):
    """Whether the configuration has its name wrong, or whoever asked for it."""
    said = (find_root() / CONFIG).read_text(encoding="utf-8").replace("  resnet18:", "  resnet81:")
    (tmp_path / CONFIG).write_text(said, encoding="utf-8")
    course = Course(tmp_path)

    with pytest.raises(
        CourseError, match=r"no lab 'resnet81' \(did you mean 'resnet18'\?\); labs:"
    ):
        course.reference("resnet81")
    with pytest.raises(CourseError, match=r"has no lab 'resnet' \(did you mean 'resnet81'\?\)"):
        course.reference("resnet")


def test_a_tree_is_read_without_caches(tmp_path):
    """The same bytes on every machine, also where somebody ran the checks."""
    (tmp_path / "a" / "__pycache__").mkdir(parents=True)
    (tmp_path / ".perflab").mkdir()
    (tmp_path / ".perflab" / "attempts.jsonl").write_bytes(b"{}")
    (tmp_path / "a" / "__pycache__" / "x.pyc").write_bytes(b"1")
    (tmp_path / "a" / "b.py").write_bytes(b"2")

    assert {"a/b.py": b"2"} == read_tree(tmp_path)
