"""Writes the files of a new part.

They already work, so the author changes one thing at a time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from autograder.course import CONFIG, PACKAGED, Course, first_exercise, first_part, own_course
from autograder.errors import UserError
from autograder.part_name import number

LAB_NAME = r"[a-z][a-z0-9_]*"
PART_NAME = r"[a-z]+[0-9]*_[a-z0-9_]+|bonus[a-z0-9_]*"
NO_COURSE = (
    f"no {CONFIG} here or above it, and a part has to stand in a course: "
    "begin one with perflab new-course FOLDER, or name one with --course"
)
README = """# Lab: {lab}

Say in one sentence what the lab is about.

| part | you submit |
|---|---|
| [{title}]({part}.md) | `{part}.py` |

## Begin

    unzip {lab}.zip && cd {lab}
    python3 -m venv ~/perflab && . ~/perflab/bin/activate    # not on Colab or Kaggle
    pip install perflab-*.whl          # the file that your course hands out
    pytest                             # everything fails: nothing is written yet

`given/` is handed out as it is; the grader uses its own copy. `baseline/` holds the versions
before your work, which yours are compared with. What `pytest` runs is what grades you.
"""


def scaffold(
    course: Course,
    lab: str,
    part: str,
    *,
    exercise: bool = False,
) -> tuple[list[Path], str]:
    """Write what is missing; return the files, and the lines left to add to the configuration.

    An *exercise* is one function and what is claimed of it; else the part has a probe and a check
    of its own.
    """
    if not (re.fullmatch(LAB_NAME, lab) and re.fullmatch(PART_NAME, part)):
        raise UserError(
            f"new {lab} {part}: use names such as resnet18 part4_memory, of small letters and "
            "digits: a part's has two words with _ between them, or begins with bonus"
        )
    if course.root == PACKAGED:
        raise UserError(NO_COURSE)
    if own_course.is_own(course.root) and lab in own_course.shipped():
        raise UserError(
            f"new {lab} {part}: {lab} is a lab of perflab, and a course has labs of its own: "
            "choose another name, or call this in a checkout of perflab"
        )
    start = first_exercise if exercise else first_part
    words = {"lab": lab, "part": part, "title": _title(part)}
    home = own_course.LABS if own_course.is_own(course.root) else "autograder/labs"
    files = {
        f"{home}/{lab}/{part}.py": start.JUDGED,
        f"reference/{lab}/{part}.py": start.REFERENCE,
        f"reference/{lab}/baseline/{part}.py": start.BASELINE,
        f"assignments/{lab}/{part}.md": start.HANDOUT,
        f"tests/submissions/{lab}/{part}.yaml": start.MUTANTS,
    }
    _write_new(course.root, {name: text.format(**words) for name, text in files.items()})
    written = [*files, *_shared_files(course.root, home, words)]
    lines = start.LINES.format(**words)
    entry = f"  {lab}:\n    version: 1\n    parts:\n{lines}"
    if lab not in course.labs and _add_lab(course.root / CONFIG, entry):
        return [Path(name) for name in [*written, CONFIG]], ""
    return [Path(name) for name in written], f"under labs.{lab}.parts:\n{lines}"


def _write_new(root: Path, files: dict[str, str]) -> None:
    for name in files:
        if (root / name).exists():
            raise UserError(f"{name}: exists already; choose another name, or edit it")
    for name, text in files.items():
        _write(root / name, text)


def _add_lab(config: Path, entry: str) -> bool:
    """Add a lab at the end of the configuration, where its labs stand last."""
    text = config.read_text(encoding="utf-8")
    sections = re.findall(r"^(\w+):", text, re.MULTILINE)
    if not sections or sections[-1] != "labs":
        return False
    before = re.sub(r"^labs: *\{\} *$", "labs:", text.rstrip(), flags=re.MULTILINE)
    gap = "\n\n" if "labs:\n" in before else "\n"
    _write(config, f"{before}{gap}{entry}")
    return True


def _title(part: str) -> str:
    """Write a part's id as a heading.

    >>> _title("part1_first_steps"), _title("bonus")
    ('Part 1: first steps', 'Bonus')
    """
    at, words = number(part), part.partition("_")[2].replace("_", " ")
    return part.replace("_", " ").capitalize() if at is None else f"Part {at}: {words}"


def _shared_files(root: Path, home: str, words: Mapping[str, str]) -> list[str]:
    """Write the files that a lab has once, and return their names."""
    lab = words["lab"]
    package = f'"""What each part of {lab} is judged on."""\n'
    given = '"""Handed out as it is: data and models that parts share."""\n'
    files = {
        f"{home}/{lab}/__init__.py": package,
        f"reference/{lab}/given/__init__.py": given,
        f"assignments/{lab}/README.md": README.format(**words),
    }
    missing = [name for name in files if not (root / name).exists()]
    for name in missing:
        _write(root / name, files[name])
    return missing


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
