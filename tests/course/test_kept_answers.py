"""Answers that lanes share come back as they were, and nothing that is read can be code."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import autograder
from autograder.course import kept_answers
from autograder.model import Observation

VALUES = {"x": 1.5, "cases": [{"shape": [2, 3], "dtype": "é\n"}], "nothing": None}
RAISED = Observation("single", "raised", error="no", kind="syntax", imported=False, log="a\nb")
ANSWERS = {
    "values alone": Observation("single", "ok", VALUES, seconds=1.25, gpu_bytes=None),
    "an exception": RAISED,
    "bytes on a GPU": replace(RAISED, gpu_bytes=12, gpu_unseen="why"),
}
ARRAYS = {
    "float32": np.arange(6, dtype="float32").reshape(2, 3),
    "empty": np.zeros((0, 4)),
    "one": np.array(3),
    "not finite": np.array([np.nan, np.inf]),
    "bytes": np.arange(9, dtype="uint8"),
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_an_answer_comes_back(tmp_path, answer):
    kept_answers.keep(tmp_path / "answer", answer)

    assert answer == kept_answers.read(tmp_path / "answer")
    assert ["answer"] == [path.name for path in tmp_path.iterdir()]


def test_arrays_come_back_bit_by_bit(tmp_path):
    """Under their names, in their dtypes and shapes."""
    kept_answers.keep(tmp_path / "answer", Observation("single", "ok", VALUES, ARRAYS))
    arrays = kept_answers.read(tmp_path / "answer").arrays

    assert list(ARRAYS) == list(arrays)
    for name, expected in ARRAYS.items():
        assert (expected.dtype, expected.shape) == (arrays[name].dtype, arrays[name].shape)
        assert expected.tobytes() == arrays[name].tobytes()


def test_an_array_of_objects_is_refused(tmp_path):
    hostile = np.array([{"a": 1}], dtype=object)

    with pytest.raises(ValueError, match="allow_pickle"):
        kept_answers.keep(tmp_path / "answer", Observation("single", "ok", {}, {"x": hostile}))


def test_nothing_outside_of_the_worker_reads_pickles():
    package = Path(autograder.__file__).parent
    outside = [path for path in package.rglob("*.py") if "_course" not in path.parts]
    users = [
        path.relative_to(package).as_posix()
        for path in outside
        if {"pickle", "cPickle", "dill", "shelve"} & set(_imports(path))
        or "marshal.load" in path.read_text(encoding="utf-8")
    ]

    assert [] == [user for user in users if not user.startswith("worker/") and "/rig" not in user]


def _imports(path: Path) -> list[str]:
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name.split(".")[0] for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names.append((node.module or "").split(".")[0])
    return names
