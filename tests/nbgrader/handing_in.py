"""A class of notebooks: right, wrong and empty ones, and those that were edited to get more points."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from tests.nbgrader.course import canary, released, written

SPOOFS: dict[str, Any] = {
    "points": 400,
    "grade": False,
    "solution": True,
    "locked": False,
    "schema_version": 1,
}


def _edited(nb: Any, edit: Any) -> Any:
    nb = copy.deepcopy(nb)
    edit(nb)
    return nb


def _spoof(nb: Any) -> None:
    for number, cell in enumerate(nb["cells"]):
        if "nbgrader" in cell["metadata"]:
            cell["metadata"]["nbgrader"] |= SPOOFS
        else:
            cell["metadata"]["nbgrader"] = {
                "grade_id": f"bonus{number}",
                "grade": True,
                "points": 1000,
                "schema_version": 3,
            }
    nb["metadata"]["perflab"] = {"version": ["9"]}


def _duplicate(nb: Any) -> None:
    nb["cells"] += copy.deepcopy(nb["cells"])


def _delete(nb: Any) -> None:
    nb["cells"] = [cell for cell in nb["cells"] if cell["id"] == "work"]


def _retype(nb: Any) -> None:
    for cell in nb["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade"):
            cell["cell_type"] = "markdown"
            del cell["outputs"], cell["execution_count"]


def _talk(nb: Any) -> None:
    for cell in nb["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = [
                {
                    "output_type": "stream",
                    "name": "stderr",
                    "text": "UserWarning: old\n" + "x" * 500_000,
                },
                {
                    "output_type": "execute_result",
                    "data": {"text/plain": "400"},
                    "metadata": {},
                    "execution_count": 1,
                },
            ]


def _strip(nb: Any) -> None:
    nb["nbformat_minor"] = 2
    nb["metadata"] = {"kernelspec": {"name": "conda-env-lab", "display_name": "x", "language": "R"}}
    for cell in nb["cells"]:
        cell["metadata"] = {}
        del cell["id"]


RIGHT = {
    "positive": 2.0,
    "equal": 2.0,
    "faster": None,
    "much_faster": None,
    "has_table": 2.0,
    "has_picture": 0.0,
}
WRONG = {**RIGHT, "positive": 0.0, "equal": 0.0, "faster": 0.0, "much_faster": 0.0}
LOST = {**WRONG}
# Student -> what the function says, what else was done to the notebook, and the scores (None: waits for a person).
CLASS: dict[str, tuple[str, Any, dict[str, float | None]]] = {
    "ada_right": ("return 2.0", None, RIGHT),
    "bob_partly": ("return 0.5", None, {**RIGHT, "positive": 1.0, "equal": 0.0}),
    "cleo_empty": ("", None, LOST),
    "dan_loops": ("while True: pass", None, LOST),
    "eve_dies": ("import os; os._exit(0)", None, LOST),
    "fay_equal_to_all": (
        "return -1.0",
        "class A:\n    def __eq__(self, other): return True",
        WRONG,
    ),
    "gus_strips_asserts": ("return -1.0", "get_ipython().ast_transformers.append(None)", WRONG),
    "hal_displays_points": ("return -1.0", "get_ipython().displayhook('x')", WRONG),
    "ivy_writes_scores": (
        "return -1.0",
        "import sqlite3; sqlite3.connect('../../../gradebook.db').execute('update grade set auto_score=99')",
        WRONG,
    ),
    "jo_spoofs": ("return -1.0", _spoof, WRONG),
    "kim_copies": ("return 2.0", _duplicate, RIGHT),
    "lee_deletes": ("return 2.0", _delete, RIGHT),
    "mia_retypes": ("return 2.0", _retype, RIGHT),
    "ned_warns": ("return 2.0", _talk, RIGHT),
    "oda_strips": ("return 2.0", _strip, RIGHT),
}


def notebook(root: Path, body: str, more: Any) -> Any:
    nb = released(root) if not body else written(released(root), body)
    nb["cells"].insert(0, canary(root / "executed"))
    if isinstance(more, str):
        nb["cells"].append(
            {
                "cell_type": "code",
                "id": "more",
                "metadata": {},
                "source": more,
                "outputs": [],
                "execution_count": None,
            }
        )
    return _edited(nb, more) if callable(more) else nb
