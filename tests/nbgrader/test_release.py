"""A real lab as an nbgrader course and as plain files: whole, valid, and without the solution."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from pathlib import Path

import pytest
import yaml

from autograder import course as finding
from autograder.course import Course, find_root, own_course, read_tree
from autograder.course.build import built, write
from autograder.course.labs import load_lab
from autograder.errors import CourseError, UserError
from autograder.handed_in.notebook import read
from autograder.nbgrader import leaks
from autograder.nbgrader.release import handouts_of, release, where_wheels_are
from autograder.part_name import number
from autograder.yaml_file import read_yaml
from tests.nbgrader.course import nbgrader

LAB, PART = "resnet18", "part3_amp"


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("release")
    release(Course(find_root()), LAB, folder)
    return folder


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A copy of the course, to be spoilt."""
    root = tmp_path / "copy"
    for name in ("reference", "student_template", "assignments"):
        shutil.copytree(
            find_root() / name, root / name, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copy(find_root() / finding.CONFIG, root)
    return Course(root)


def source(out: Path) -> dict:
    return json.loads((out / "course" / "source" / LAB / f"{PART}.ipynb").read_text())


def test_points_of_the_cells_are_those_of_the_configuration(out: Path):
    """One locked cell for each check, one for each thing that a person reads."""
    config = Course(find_root()).config.labs[LAB].parts[PART]
    marked = [cell["metadata"].get("nbgrader", {}) for cell in source(out)["cells"]]

    assert {name: check.points for name, check in config.checks.items()} == {
        m["grade_id"]: m["points"]
        for m in marked
        if m.get("grade") and m["locked"] and not m["solution"]
    }
    assert config.rubric == {m["grade_id"]: m["points"] for m in marked if m.get("task")}


def test_cells_of_a_bonus_are_worth_nothing_by_themselves(out: Path):
    """nbgrader adds cells up; what a bonus counts is extra credit."""
    config = Course(find_root()).config.labs[LAB].parts["bonus"]
    cells = json.loads((out / "course" / "source" / LAB / "bonus.ipynb").read_text())["cells"]
    points = {
        m["grade_id"]: m["points"]
        for m in (cell["metadata"].get("nbgrader", {}) for cell in cells)
        if "points" in m
    }

    assert dict.fromkeys([*config.checks, *config.rubric], 0) == points


def test_each_function_has_its_cell_and_stays_what_it_is_called(out: Path):
    """Ids do not change from one release to the next."""
    cells = {cell["id"]: cell for cell in source(out)["cells"]}
    solutions = [
        name for name, cell in cells.items() if cell["metadata"].get("nbgrader", {}).get("solution")
    ]

    assert list(load_lab(LAB).part(PART).writes) == solutions
    assert len(cells) == len(source(out)["cells"])


def test_the_metadata_of_the_source_notebook_are_valid(out: Path):
    """nbgrader and nbformat say so."""
    nbformat = pytest.importorskip("nbformat")
    validator = pytest.importorskip(
        "nbgrader.nbgraderformat", reason="nbgrader is an extra"
    ).MetadataValidator()
    nb = nbformat.from_dict(source(out))

    nbformat.validate(nb)
    validator.validate_nb(nb)


def test_the_notebook_is_read_as_the_reference_that_it_was_made_from(out: Path):
    """Both ways lead to the same functions."""
    kit = Course(find_root()).kit(LAB)
    seen = read(json.dumps(source(out)).encode(), f"{PART}.ipynb", kit.released)
    reference = (find_root() / "reference" / LAB / f"{PART}.py").read_text()

    assert () == seen.notes
    functions = [
        line
        for line in reference.split("\n")
        if line.startswith(("    ", "def ", "import ", "from "))
    ]
    lines = {*seen.code.decode().split("\n"), "    ### END SOLUTION"}
    experiment = reference.partition('if __name__ == "__main__":\n')[2].splitlines()
    assert experiment == [line for line in functions if line not in lines]


@pytest.mark.parametrize("lab", Course(find_root()).labs)
def test_every_lab_can_be_released_and_its_notebooks_are_read_without_a_word(
    lab: str, tmp_path: Path
):
    """Nothing of a reference runs when its file is read, and nothing of it leaks."""
    course = Course(find_root())
    release(course, lab, tmp_path)
    released = course.kit(lab).released

    for name, file in released.notebooks.items():
        seen = read((tmp_path / "course" / "source" / lab / name).read_bytes(), name, released)
        assert () == seen.notes
        compile(seen.code, file, "exec")


def test_plain_files_are_the_template_and_what_people_read(out: Path):
    """The zip is the same for the same lab."""
    course = Course(find_root())
    with zipfile.ZipFile(out / "students" / f"{LAB}.zip") as archive:
        found = {name.removeprefix(f"{LAB}/"): archive.read(name) for name in archive.namelist()}
    handouts = {
        f"handout/{name}": data
        for name, data in read_tree(course.root / "assignments" / LAB).items()
    }

    page = {"students.md": (course.root / "docs/students.md").read_bytes()}
    assert {**built(course, LAB), **handouts, **page} == found


def test_what_nbgrader_hands_out_is_named(out: Path):
    """Notebooks, and what they import; nothing of the reference's results."""
    found = set(read_tree(out / "course" / "source" / LAB))

    notebooks = {f"{part.id}.ipynb" for part in load_lab(LAB).parts}
    programs = {name for part in load_lab(LAB).parts for name in part.programs}
    assert {*notebooks, *programs, "pytest.ini", "students.md"} == {
        name for name in found if not name.startswith(("given/", "baseline/", "handout/"))
    }


@pytest.mark.filterwarnings("ignore")  # nbgrader and what it stands on warn of themselves
def test_nbgrader_hands_out_all_of_it(out: Path):
    """What lies there and is nobody's stops the assignment, so nothing that is ours may."""
    pytest.importorskip(
        "nbgrader.api", reason="nbgrader is an extra: pip install 'perflab[nbgrader]'"
    )
    home = out / "course"

    assert 0 == nbgrader(home, "generate_assignment", LAB)
    assert (home / "release" / LAB / "students.md").is_file()


def test_notebooks_come_with_their_handouts(out: Path):
    """What is asked for stands there, and messages name it; the first cell says where it is."""
    found = read_tree(out / "course" / "source" / LAB / "handout")

    assert read_tree(find_root() / "assignments" / LAB) == found
    for part in load_lab(LAB).parts:
        cells = json.loads((out / "course" / "source" / LAB / f"{part.id}.ipynb").read_text())[
            "cells"
        ]
        assert f"(handout/{part.id}.md)" in cells[0]["source"]
        assert f"{part.id}.md" in found


def a_wheel(folder: Path, **changes: bytes) -> Path:
    """What the release looks at of one; *changes* are by the last of a name."""
    files = {
        f"student_template/{LAB}/{name}": data
        for name, data in built(Course(find_root()), LAB).items()
    }
    files["grading_config.yaml"] = (find_root() / finding.CONFIG).read_bytes()
    path = folder / "perflab-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(f"autograder/_course/{name}", changes.get(Path(name).stem, data))
    return path


def test_the_wheel_goes_to_all_students(tmp_path: Path):
    """Beside the notebooks, and into the zip."""
    wheel = a_wheel(tmp_path)
    release(Course(find_root()), LAB, tmp_path / "out", wheel)

    assert (
        wheel.read_bytes()
        == (tmp_path / "out" / "course" / "source" / LAB / wheel.name).read_bytes()
    )
    with zipfile.ZipFile(tmp_path / "out" / "students" / f"{LAB}.zip") as archive:
        assert wheel.read_bytes() == archive.read(f"{LAB}/{wheel.name}")


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"grading_config": b"old"}, "grading_config.yaml"),
        ({"pytest": b"old"}, f"student_template/{LAB}/pytest.ini"),
    ],
)
def test_a_wheel_of_other_points_is_not_handed_out(tmp_path: Path, changes: dict, name: str):
    """Its checks would show students what does not grade them."""
    said = rf"perflab-0\.1\.0-py3-none-any\.whl: holds another {name} than this course; build it again: pip wheel"
    with pytest.raises(CourseError, match=said):
        release(Course(find_root()), LAB, tmp_path / "out", a_wheel(tmp_path, **changes))
    assert not (tmp_path / "out").exists()


def test_what_is_no_wheel_is_said(tmp_path: Path):
    (tmp_path / "x.whl").write_text("x")

    with pytest.raises(
        UserError, match=r"x\.whl: this is no wheel; name what pip wheel --no-deps -w dist \. makes"
    ):
        release(Course(find_root()), LAB, tmp_path / "out", tmp_path / "x.whl")


def test_a_course_of_ones_own_is_not_told_to_build_a_wheel_there(
    course: Course, monkeypatch: pytest.MonkeyPatch
):
    """It has no package: the command that makes a wheel of a checkout fails in it."""
    monkeypatch.setattr(own_course, "is_own", lambda root: True)

    told = where_wheels_are(course)
    assert told.startswith("the file from which you installed perflab, or in a checkout of perflab")


def test_what_the_course_does_without_is_not_handed_out(course: Course, tmp_path: Path):
    """Neither its files nor its handout, nor its rows in other handouts, nor what an earlier release wrote."""
    said = read_yaml(course.root / finding.CONFIG)
    earlier = tmp_path / "out" / "course" / "source" / LAB
    release(course, LAB, tmp_path / "out")
    (earlier / "mine.txt").write_text("an instructor's own file")
    assert (earlier / "part5_compile.ipynb").exists()
    part = said["labs"][LAB]["parts"][PART]
    part["points"] -= part["checks"]["amp_is_faster"]["points"]
    part["checks"]["amp_is_faster"] = said["labs"][LAB]["parts"]["part5_compile"] = "off"
    (course.root / finding.CONFIG).write_text(yaml.safe_dump(said))
    course = Course(course.root)
    write(course, LAB)
    release(course, LAB, tmp_path / "out")
    with zipfile.ZipFile(tmp_path / "out" / "students" / f"{LAB}.zip") as archive:
        found = {
            name.removeprefix(f"{LAB}/"): archive.read(name).decode(errors="replace")
            for name in archive.namelist()
        }

    assert [] == [name for name in found if "part5" in name or "compile_results" in name]
    assert "part5_compile.md" not in found["handout/README.md"]
    assert "part4_memory.md" in found["handout/README.md"]
    assert "| `amp_is_faster` |" not in found[f"handout/{PART}.md"]
    assert [] == [it for it in earlier.rglob("*") if "part5" in it.name]
    assert (earlier / "mine.txt").exists()
    assert "amp_is_faster" not in {cell["id"] for cell in source(tmp_path / "out")["cells"]}


EACH_PART = [
    (lab, part) for lab, it in Course(find_root()).config.labs.items() for part in it.parts
]


@pytest.mark.parametrize(("lab", "part"), EACH_PART)
def test_students_who_get_one_part_read_of_no_other(tmp_path: Path, lab: str, part: str):
    """A command or a hint about a part that is off leads nowhere."""
    said = read_yaml(find_root() / finding.CONFIG)
    parts = said["labs"][lab]["parts"]
    parts |= dict.fromkeys(set(parts) - {part}, "off")
    (tmp_path / finding.CONFIG).write_text(yaml.safe_dump(said))
    for name in ("reference", "assignments"):
        (tmp_path / name).symlink_to(find_root() / name)
    course = Course(tmp_path)
    texts = handouts_of(course, lab)
    files = built(course, lab)
    texts |= {name: files[name] for name in course.lab(lab).files if name in files}
    assert {"README.md", f"{part}.md", f"{part}.py"} <= set(texts)

    assert {} == {
        name: others
        for name, data in texts.items()
        if (others := parts_named(data.decode()) - {str(number(part)), part.partition("_")[0]})
    }
    left_out = course.left_out(lab)
    assert [] == [it for it in left_out for data in texts.values() if it.encode() in data]


def parts_named(text: str) -> set[str]:
    """Return the numbers of the parts that a text names, and "bonus" where it names that."""
    numbers = re.findall(r"\bparts? ?0*(\d+)", text, re.IGNORECASE)
    return {*numbers, *(["bonus"] if re.search(r"\bbonus\b", text, re.IGNORECASE) else [])}


def test_settings_that_an_instructor_changed_stay(tmp_path: Path):
    """A second release brings the lab up to date and nothing else."""
    config = tmp_path / "course" / "nbgrader_config.py"
    config.parent.mkdir()
    config.write_text("# mine")
    release(Course(find_root()), LAB, tmp_path)

    assert "# mine" == config.read_text()


OLD = {
    f"student_template/{LAB}/{PART}.py": "train_epoch_amp",
    f"assignments/{LAB}/{PART}.md": "follows_fp32",
}


@pytest.mark.parametrize(("name", "word"), OLD.items(), ids=OLD)
def test_what_is_not_current_is_not_released(course: Course, tmp_path: Path, name: str, word: str):
    """What students get is what the reference builds; the file is named as it lies in the course."""
    file = course.root / name
    file.write_text(file.read_text().replace(word, "old"))

    with pytest.raises(CourseError, match=rf"^{name} is not current; run perflab build"):
        release(course, LAB, tmp_path / "out")


def test_a_lab_that_shows_a_line_of_the_solution_is_not_released(course: Course, tmp_path: Path):
    """And nothing is written."""
    reference = (course.reference(LAB) / f"{PART}.py").read_text()
    shown = read_tree(course.reference(LAB) / "given").values()
    hidden = max(leaks.secrets([reference], [data.decode() for data in shown]), key=len)
    for folder in (course.reference(LAB), course.template(LAB)):
        file = folder / f"{PART}.py"
        file.write_text(f"# %% [markdown]\n# A hint:\n#\n# {hidden}\n\n{file.read_text()}")

    with pytest.raises(UserError, match=r"students would see a line of the solution in part3_amp"):
        release(course, LAB, tmp_path / "out")
    assert not (tmp_path / "out").exists()
