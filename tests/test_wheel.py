"""What is handed out: the engine, the checks, handouts, given files and templates, and never a line of a solution."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile

import pytest

from autograder.course import find_root
from autograder.course.cut_solutions import BEGIN, END

ROOT = find_root()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    out = tmp_path_factory.mktemp("wheel")
    command = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(out),
        str(ROOT),
    ]
    subprocess.run(command, check=True, capture_output=True)
    [path] = out.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_wheel_holds_what_a_student_needs(wheel):
    """Checks, handout, template, given files, baseline and configuration."""
    course = "autograder/_course"
    needed = [
        "autograder/labs/resnet18/part3_amp.py",
        "autograder/labs/resnet18/part6_comparison/rig.py",
        "autograder/worker/zygote.py",
        "autograder/schemas/config.schema.json",
        "autograder/report/templates/feedback.html.j2",
        f"{course}/grading_config.yaml",
        f"{course}/assignments/resnet18/part3_amp.md",
        f"{course}/student_template/resnet18/part3_amp.py",
        f"{course}/student_template/resnet18/pytest.ini",
        f"{course}/student_template/resnet18/given/__init__.py",
        f"{course}/student_template/resnet18/baseline/part3_amp.py",
    ]

    assert [name for name in needed if name not in wheel] == []


def solution_lines():
    """Every line inside a solution region that says something of its own, and that no line outside of one says too."""
    found, outside = set(), []
    for path in (ROOT / "reference").rglob("*.py"):
        inside = False
        for line in path.read_text(encoding="utf-8").splitlines():
            inside = (inside or line.strip() == BEGIN) and line.strip() != END
            if inside and len(re.sub(r"\W", "", line)) > 25 and line.strip() != BEGIN:
                found.add(line.strip())
            elif not inside:
                outside.append(line)
    told = "\n".join(outside)
    return {line.encode() for line in found if line not in told}


def test_no_line_of_a_solution_is_in_the_wheel(wheel):
    """Neither as a file nor inside one; what handouts, the baseline and given/ show is public."""
    shown = [
        *(ROOT / "assignments").rglob("*.md"),
        *(ROOT / "reference").rglob("given/*.py"),
        *(ROOT / "reference").rglob("baseline/*.py"),
    ]
    public = b"".join(path.read_bytes() for path in shown)
    secret = {line for line in solution_lines() if line not in public}

    assert len(secret) > 10
    assert [name for name in wheel if "reference" in name] == []
    assert [(name, line) for name, data in wheel.items() for line in secret if line in data] == []


def test_nothing_of_a_solution_is_marked_in_the_template(wheel):
    """The markers are cut with what they enclose."""
    marked = [
        n
        for n, data in wheel.items()
        if "_course" in n and (BEGIN.encode() in data or b"BEGIN SOLUTION -->" in data)
    ]

    assert marked == []


def test_the_licence_goes_with_every_copy(wheel):
    """Its terms, as it asks for itself, and not its name alone."""
    [text] = [data for name, data in wheel.items() if name.endswith("/licenses/LICENSE")]

    assert b"Copyright (c) 2026 the perflab authors" in text
    assert b"The above copyright notice and this permission notice shall be included" in text
