"""Notebooks that are none, or hardly: each gets its score or the reason why there is none, and stops nobody else."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nbgrader.api", reason="nbgrader is an extra: pip install 'perflab[nbgrader]'")
pytestmark = pytest.mark.filterwarnings(
    "ignore"
)  # nbgrader and what it stands on warn of themselves

from autograder.batch import store  # noqa: E402
from autograder.nbgrader import results  # noqa: E402
from autograder.nbgrader.sync import Synced, sync  # noqa: E402
from tests.nbgrader import course  # noqa: E402
from tests.nbgrader.course import LAB, PART, gradebook, hand_in, nbgrader, released, written  # noqa: E402

RIGHT, NOTHING = 6.0, 2.0  # a right function, and none; the table of results is handed in by all
Made = Callable[[Any], bytes]


def edited(edit: Callable[[Any], Any]) -> Made:
    """Change the parsed notebook."""

    def make(nb: Any) -> bytes:
        found = edit(nb)
        return json.dumps(nb if found is None else found).encode()

    return make


def work(nb: Any) -> Any:
    return next(cell for cell in nb["cells"] if cell["id"] == "work")


def _format_3(nb: Any) -> Any:
    cells = [{**cell, "input": cell["source"], "language": "python"} for cell in nb["cells"]]
    return {
        "nbformat": 3,
        "nbformat_minor": 0,
        "metadata": {"name": ""},
        "worksheets": [{"cells": cells}],
    }


def _twice(nb: Any) -> None:
    first = copy.deepcopy(work(nb))
    first["source"] = "def work():\n    return -1.0\n"
    nb["cells"].insert(0, first)


def _megabytes(nb: Any) -> None:
    text = {"output_type": "stream", "name": "stdout", "text": "epoch\n" * 900_000}
    work(nb)["outputs"] = [text]


def _odd_ids(nb: Any) -> None:
    for number, cell in enumerate(nb["cells"]):
        cell["id"] = "../" * number + "\u202e<script>"
        if "nbgrader" in cell["metadata"]:
            cell["metadata"]["nbgrader"]["grade_id"] = "../../\ud800'; drop table grade"


def _half_characters(nb: Any) -> None:
    nb["cells"][0]["source"] = "# \ud800"


def _raw(nb: Any) -> None:
    work(nb).update(cell_type="raw")
    del work(nb)["outputs"], work(nb)["execution_count"]


def _no_source(nb: Any) -> None:
    for cell in nb["cells"]:
        if cell["id"] != "work":
            cell["source"] = None


def _no_metadata(nb: Any) -> None:
    nb["metadata"] = None
    for cell in nb["cells"]:
        cell["metadata"] = None


def _odd_metadata(nb: Any) -> None:
    nb["metadata"] = {"kernelspec": 3, "language_info": [], "colab": {"provenance": []}}
    for cell in nb["cells"]:
        cell["metadata"].update({"tags": 3, "vscode": {"languageId": "r"}, "perflab": "x"})


def _odd_attachments(nb: Any) -> None:
    nb["cells"].append(
        {
            "cell_type": "markdown",
            "metadata": {},
            "source": "",
            "attachments": {"a.png": "a picture"},
        }
    )


def _another_parts_cell(nb: Any) -> None:
    check = next(cell for cell in nb["cells"] if cell["metadata"].get("nbgrader", {}).get("grade"))
    check["metadata"]["nbgrader"].update(points=99, grade_id="masked_mean_is_right")
    check["source"] = "x = 1"


DAMAGED = "it is damaged, or no notebook; save it again"
NO_CELLS = "it has no cells, or is of an old format; open it in Jupyter and save it again"
CONFLICT = "git left its marks of a conflict in it; settle that, and save it again"
# Who -> the file they hand in, and their score, or words of the reason why they have none.
BROKEN: dict[str, tuple[Made, float | str]] = {
    "cut_in_half": (lambda nb: json.dumps(nb).encode()[:-2000], DAMAGED),
    "empty": (lambda nb: b"", DAMAGED),
    "a_conflict": (
        lambda nb: b"<<<<<<< HEAD\n" + json.dumps(nb).encode() + b"\n=======\n{}\n>>>>>>> mine",
        CONFLICT,
    ),
    "format_3": (edited(_format_3), NO_CELLS),
    "with_a_bom": (lambda nb: b"\xef\xbb\xbf" + json.dumps(nb).encode(), RIGHT),
    "latin_1": (lambda nb: json.dumps(nb).encode().replace(b"Part 1", b"Pi\xe8ce 1"), DAMAGED),
    "utf_16": (lambda nb: json.dumps(nb).encode("utf-16"), RIGHT),
    "a_list": (lambda nb: b"[]", NO_CELLS),
    "cells_are_null": (edited(lambda nb: {**nb, "cells": None}), NO_CELLS),
    "a_cell_is_text": (edited(lambda nb: {**nb, "cells": ["import os", *nb["cells"]]}), RIGHT),
    "nested_without_end": (lambda nb: b'{"cells": ' + b"[" * 200_000, DAMAGED),
    "one_cell_twice": (edited(_twice), RIGHT),
    "five_megabytes": (edited(_megabytes), RIGHT),
    "odd_ids": (edited(_odd_ids), RIGHT),
    "half_characters": (edited(_half_characters), RIGHT),
    "odd_metadata": (edited(_odd_metadata), RIGHT),
    "odd_attachments": (edited(_odd_attachments), RIGHT),
    "another_parts_cell": (edited(_another_parts_cell), RIGHT),
    "raw_for_code": (edited(_raw), NOTHING),
    "null_for_source": (edited(_no_source), RIGHT),
    "null_for_metadata": (edited(_no_metadata), RIGHT),
}


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """All of them, one who handed in a folder, and one who comes last and is right."""
    root = tmp_path_factory.mktemp("broken") / "course"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(results, "_course", lambda root: course.COURSE)
        patch.setattr(results, "_session", lambda *_: course.session())
        course.make(root)
        assert 0 == nbgrader(root, "generate_assignment", LAB)
        right = written(released(root), "return 2.0")
        for student, (make, _) in BROKEN.items():
            hand_in(root, student, right)
            (root / "submitted" / student / LAB / f"{PART}.ipynb").write_bytes(
                make(copy.deepcopy(right))
            )
        (root / "submitted" / "folder" / LAB / f"{PART}.ipynb").mkdir(parents=True)
        hand_in(root, "zoe_is_right", right)
        return root, nbgrader(root, "autograde", LAB)


def standing(root: Path, student: str) -> tuple[set[float | None], float, str]:
    """Automatic scores, the sum, and the comment."""
    with gradebook(root) as book:
        submission = book.find_submission(LAB, student)
        scores = {grade.auto_score for grade in submission.notebooks[0].grades}
        return scores, submission.score, book.find_comment("work", PART, LAB, student).auto_comment


def test_the_batch_goes_on_to_the_last(graded: tuple[Path, int]):
    """And says that some are not graded."""
    assert (1, RIGHT) == (graded[1], standing(graded[0], "zoe_is_right")[1])


@pytest.mark.parametrize(
    "student", [*(name for name, (_, said) in BROKEN.items() if isinstance(said, str)), "folder"]
)
def test_what_cannot_be_read_is_not_graded_and_says_why(graded: tuple[Path, int], student: str):
    """No zero, and no full marks."""
    scores, _, comment = standing(graded[0], student)

    assert {None} == scores
    assert comment.startswith("Not graded: ")
    assert (BROKEN[student][1] if student in BROKEN else "is no file") in comment


@pytest.mark.parametrize(
    "student", [name for name, (_, said) in BROKEN.items() if isinstance(said, float)]
)
def test_what_can_be_read_is_graded(graded: tuple[Path, int], student: str):
    """By what its cells say, whatever else it says of itself."""
    assert BROKEN[student][1] == standing(graded[0], student)[1]


def test_sync_leaves_ungraded_what_autograde_does(graded: tuple[Path, int]):
    """`perflab grade` fails every check of such a notebook, with the reason; a gradebook gets no zero for it."""
    kit, root = course.kit(), graded[0]
    for student in ("cut_in_half", "zoe_is_right"):
        handed_in = store.load_or_say(
            root / "submitted" / student / LAB, kit.lab.files, kit.released
        )
        store.grade_one(
            replace(handed_in, name=student), kit, course.session(), root / "graded", seed=1
        )
    seen = list(
        sync(root / "graded", f"sqlite:///{root}/gradebook.db", add_students=False, feedback=None)
    )

    assert [
        Synced("cut_in_half", f"{PART}.ipynb was not taken: {DAMAGED}"),
        Synced("zoe_is_right"),
    ] == seen
    assert {None} == standing(root, "cut_in_half")[0]
