"""The corpus: what an entry is made of, and each mistake in it named with its file and its entry."""

from __future__ import annotations

import pytest
import yaml

from autograder.course.cases import load_cases
from autograder.errors import CourseError
from tests.course.corpus import PART, REFERENCE, mutant, toy_course
from tests.toy import toy_kit


@pytest.fixture
def course(tmp_path):
    return toy_course(tmp_path)


def test_a_mutant_is_the_reference_with_its_replacements(course):
    """Everything else is handed in as it is."""
    home = course.root / "tests/submissions/toy"
    (home / "mutants.yaml").write_text(yaml.safe_dump([mutant()]))
    [found] = load_cases(course, toy_kit().lab)

    assert b"def work():\n    return 2\n" == found.submission.files["part1_toy.py"]
    assert ("wrong", {"positive": ""}) == (found.kind, found.fails)


def test_a_mutant_may_be_of_any_file(course):
    home = course.root / "tests/submissions/toy"
    (course.root / "reference/toy/table.csv").write_text("a\n1\n")
    said = mutant(file="table.csv", replace=[{"old": "1", "new": "2"}])
    (home / "mutants.yaml").write_text(yaml.safe_dump([said]))
    [found] = load_cases(course, toy_kit().lab)

    assert (b"a\n2\n", REFERENCE.encode()) == tuple(
        found.submission.files[it] for it in ("table.csv", "part1_toy.py")
    )


def test_a_list_may_have_any_name(course):
    """Mistakes, cheats and unusual work stand apart."""
    home = course.root / "tests/submissions/toy"
    for name in ("cheats", "mutants"):
        (home / f"{name}.yaml").write_text(yaml.safe_dump([mutant(id=name)]))

    assert ["cheats", "mutants"] == [found.id for found in load_cases(course, toy_kit().lab)]


def test_yaml_that_cannot_be_read_is_named_with_its_line(course):
    """A colon in a sentence is the usual mistake, and no fault of perflab."""
    folder = course.root / "tests/submissions/toy/colon"
    folder.mkdir()
    (folder / "expect.yaml").write_text("kind: wrong\nabout: one thing: another\n")
    with pytest.raises(CourseError, match=r"expect.yaml: line 2: this is not YAML"):
        load_cases(course, toy_kit().lab)


def test_lines_that_a_folder_lacks_are_named_with_an_example(course):
    """An author has no other place to look them up."""
    folder = course.root / "tests/submissions/toy/empty"
    folder.mkdir()
    (folder / "expect.yaml").write_text("about: by a matrix\nwhy: it is right\n")
    told = "empty/expect.yaml: fails, kind, part: missing; why: not known here; write a line for each, as about: "
    with pytest.raises(CourseError, match=told):
        load_cases(course, toy_kit().lab)


def test_words_that_a_folder_lacks_are_asked_for(course):
    folder = course.root / "tests/submissions/toy/empty"
    folder.mkdir()
    (folder / "expect.yaml").write_text(
        yaml.safe_dump({"about": "", "kind": "cheat", "part": PART, "fails": {"positive": None}})
    )
    told = "empty/expect.yaml: fails: positive is None; write words of its message, in quotes"
    with pytest.raises(CourseError, match=told):
        load_cases(course, toy_kit().lab)


def test_what_a_folder_may_not_hand_in_is_not_the_references(course):
    """Else a link would pass as the file that it hides."""
    folder = course.root / "tests/submissions/toy/links"
    folder.mkdir()
    (course.root / "reference/toy/table.csv").write_text("a\n1\n")
    (folder / "table.csv").symlink_to(course.root / "reference/toy/table.csv")
    (folder / "expect.yaml").write_text(
        yaml.safe_dump({"about": "", "kind": "hostile", "part": PART, "fails": {}})
    )
    [found] = load_cases(course, toy_kit().lab)

    assert ["part1_toy.py"] == list(found.submission.files)


CORPUS_MISTAKES = {
    "a replacement that is not there": (
        mutant(replace=[{"old": "return 3", "new": ""}]),
        "'return 3' occurs 0 times in part1_toy.py, not once",
    ),
    "a replacement that is there twice": (
        mutant(replace=[{"old": "r", "new": ""}]),
        "'r' occurs 3 times in part1_toy.py, not once",
    ),
    "a file that is not there": (
        mutant(file="part1_toi.py", replace=[{"old": "x", "new": "y"}]),
        "the reference has no part1_toi.py: run its part there, or mend the name",
    ),
    "a replacement by nothing": (
        mutant(replace=[{"old": "x"}]),
        "two: a replacement has old and new, and here old",
    ),
    "an unknown check": (
        mutant(fails={"posetive": ""}),
        "two: fails names 'posetive', which is no check of part1_toy",
    ),
    "an unknown check that is won": (
        mutant(unearned=["posetive"]),
        "two: unearned names 'posetive', which is no check",
    ),
    "outputs that are won without the work": (
        mutant(unearned=["equal"]),
        "two: unearned names equal, whose basis is outputs; mend the check",
    ),
    "no words": (
        mutant(fails={"positive": {}}),
        "mutants.yaml: two: fails: positive is {}; write words of its message, in quotes",
    ),
    "a number for words": (
        mutant(fails={"positive": 3}),
        "mutants.yaml: two: fails: positive is 3; write words of its message, in quotes",
    ),
    "a list for checks and words": (
        mutant(fails=["positive"]),
        r"mutants.yaml: two: fails is \['positive'\]; write a line CHECK: 'words of its message'",
    ),
    "one replacement, and no list": (
        mutant(replace={"old": "return 1", "new": "return 2"}),
        r"mutants.yaml: two: replace is \{'new': .*; write a list of replacements",
    ),
    "no replacement": (mutant(replace=["x"]), "two: 'x' is no replacement; write a list of"),
    "a check that is won, and no list": (
        mutant(unearned="equal"),
        r"two: unearned is 'equal'; write a list of checks, \[measures_honestly\]",
    ),
    "a limit that is none": (
        mutant(limits={"second": 3}),
        r"two: limits: there is no 'second' \(did you mean 'seconds'\?\)",
    ),
    "a number for a name": (mutant(id=2), "mutants.yaml: 2: id is 2; write a name"),
    "no entry": ("two", "mutants.yaml: 'two' is no entry; write its lines below - id: NAME"),
    "a missing name": ({"id": "two"}, "'two' lacks about, fails, part, replace"),
}


@pytest.mark.parametrize(("said", "message"), CORPUS_MISTAKES.values(), ids=CORPUS_MISTAKES)
def test_a_mistake_in_the_corpus_is_named(course, said, message):
    """An entry that tests nothing would be worse than none."""
    (course.root / "tests/submissions/toy/mutants.yaml").write_text(yaml.safe_dump([said]))
    with pytest.raises(CourseError, match=message):
        load_cases(course, toy_kit().lab)
