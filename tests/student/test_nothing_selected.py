"""Why pytest found no check to judge, in words for who typed the command."""

from __future__ import annotations

import pytest

from autograder.course import Course, find_root
from autograder.student import nothing_selected
from autograder.student.pytest_plugin import by_id

KIT = Course(find_root()).kit("foundations")
PART = KIT.lab.part("part2_loops")
LEFT = "part2_loops.py is not in this folder; "
COPY = "copy it from the lab as you got it"


@pytest.fixture
def folder(tmp_path):
    for part in KIT.lab.parts:
        (tmp_path / part.file).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("name", "said"),
    [
        pytest.param("", COPY, id="nothing"),
        pytest.param(
            "part2_loop.py",
            f"if part2_loop.py is your file, call it part2_loops.py; else {COPY}",
            id="another name",
        ),
        pytest.param(
            "Part2.ipynb",
            f"if Part2.ipynb is your file, call it part2_loops.ipynb; else {COPY}",
            id="a notebook",
        ),
        pytest.param("part3_mine.py", COPY, id="another part"),
    ],
)
def test_a_file_under_another_name_is_named_before_a_new_template_takes_its_place(
    folder, name, said
):
    (folder / PART.file).unlink()
    if name:
        (folder / name).touch()

    assert [LEFT + said] == list(nothing_selected.missing("part2_loops", KIT, folder))
    asked = by_id("part2.csv_is_consistent", KIT.lab)
    assert [LEFT + said] == list(nothing_selected.deselected(asked, KIT, folder))


def test_a_part_that_is_there_or_was_not_asked_for_is_not_missing(folder):
    (folder / "part3_profilers.py").unlink()

    assert [] == list(nothing_selected.missing("part2_loops", KIT, folder))


ALONE = "one check alone: pytest -k part"
WHY = {
    "part2_loops and nonsense": ("no part and no check has 'nonsense' in its name", "2_loops."),
    "bonus": ("no part and no check has 'bonus' in its name", "1_attention."),
    "csv_is_consistant": ("(did you mean 'csv_is_consistent'?)", "1_attention."),
    "part2_loops and not csv and matches_by_hand": ("no check fits all of that", "2_loops."),
}


@pytest.mark.parametrize(("asked", "words"), WHY.items(), ids=WHY)
def test_of_what_fits_no_check_the_unknown_word_is_named_and_how_one_is_chosen(
    folder, asked, words
):
    [said] = nothing_selected.deselected(asked, KIT, folder)

    assert words[0] in said
    assert ALONE + words[1] in said


@pytest.mark.parametrize("asked", ["part3.explains_memory", "explains_memory and part3"])
def test_what_a_person_reads_is_told_apart_from_a_name_that_is_wrong(folder, asked):
    [said] = nothing_selected.deselected(by_id(asked, KIT.lab), KIT, folder)

    told = "part3_profilers.explains_memory is no test: a person reads part3_notes.md"
    assert f"{told}; pytest -k part3_profilers shows it" == said


def test_who_is_in_another_folder_reads_the_way_to_the_labs(folder, tmp_path_factory):
    handout = folder / "handout"
    empty = tmp_path_factory.mktemp("empty")

    assert ["this is not the lab's folder; go to it: cd .."] == list(
        nothing_selected.elsewhere(handout, KIT, folder)
    )
    assert [] == list(nothing_selected.elsewhere(folder, KIT, folder))
    assert ["no part's file is in this folder; copy them from the lab as you got it"] == list(
        nothing_selected.elsewhere(empty, KIT, empty)
    )


def test_above_the_labs_folder_it_is_named(tmp_path):
    for name, text in {"loops": "[pytest]\nperflab_lab = x\n", "other": "[pytest]\n"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "pytest.ini").write_text(text)

    assert ["loops is a lab's folder; go to it: cd loops"] == list(nothing_selected.below(tmp_path))
