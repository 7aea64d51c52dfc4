"""Handouts are short, and what points to one of their sections finds it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LABS = sorted(path.name for path in (ROOT / "assignments").iterdir() if path.is_dir())
GENERATED = re.compile(r"<!-- BEGIN (\w+).*?<!-- END \1.*?-->", re.DOTALL)
POINTER = re.compile(r'see "([^"]+)" in the (?:part (?P<number>\d+)|bonus) handout')
WORDS = 1150
"""Of a page on average: a student who has twenty minutes reads it before writing code."""


@pytest.mark.parametrize("lab", LABS)
def test_the_pages_of_a_lab_are_short(lab):
    """Tables that perflab writes do not count. A page that grows has to be shortened elsewhere."""
    pages = [
        GENERATED.sub("", path.read_text()) for path in (ROOT / "assignments" / lab).glob("*.md")
    ]

    words = sum(len(page.split()) for page in pages)

    assert words <= WORDS * len(pages)


def _pointers():
    for path in sorted((ROOT / "autograder" / "labs").rglob("*.py")):
        lab = path.relative_to(ROOT / "autograder" / "labs").parts[0]
        for match in POINTER.finditer(path.read_text()):
            yield lab, match["number"], match[1]


@pytest.mark.parametrize(("lab", "number", "section"), sorted(set(_pointers()), key=str))
def test_the_section_that_a_message_names_is_there(lab, number, section):
    name = rf"part0?{number}_" if number else "bonus"
    pages = (ROOT / "assignments" / lab).glob("*.md")

    (page,) = (page for page in pages if re.match(name, page.name))

    assert section in re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
