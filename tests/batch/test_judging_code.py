"""A change of code grades again those parts whose verdicts rest on it, and no other."""

from __future__ import annotations

import pytest

from autograder import labs
from autograder.batch.judging_code import own, shared

FILES = {
    "part1_ours/__init__.py": "from autograder.labs.ours.part1_ours import judges\n",
    "part1_ours/judges.py": "from autograder.claims import precision\n",
    "part1_ours/rig.py": "from autograder.worker import rig\n",
    "part2_ours.py": "from autograder.checks.table import row_problem\n",
}


@pytest.fixture
def ours(tmp_path, monkeypatch):
    """A lab of two parts."""
    monkeypatch.setattr(labs, "__path__", [*labs.__path__, str(tmp_path)])
    folder = tmp_path / "ours"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize("file", ["__init__.py", "judges.py", "rig.py"])
def test_a_change_of_a_parts_own_file_is_a_change_of_that_part_alone(ours, file):
    before = own("ours", "part1_ours"), own("ours", "part2_ours"), shared()
    with (ours / "part1_ours" / file).open("a") as changed:
        changed.write("# other\n")
    after = own("ours", "part1_ours"), own("ours", "part2_ours"), shared()

    assert [False, True, True] == [then == now for then, now in zip(before, after, strict=True)]


def test_a_claim_counts_for_the_parts_that_use_it_and_with_it_what_it_imports(ours):
    first, second = own("ours", "part1_ours"), own("ours", "part2_ours")

    assert {"autograder.claims.precision", "autograder.checks.precision"} <= first.keys()
    assert "autograder.claims.precision" not in second
    assert "autograder.checks.table" in second


def test_what_probes_run_on_counts_for_all_parts():
    """So do the readers of files, and the form of an answer."""
    code = shared()

    assert {"worker/rig.py", "worker/rigs/nets.py", "autograder.lab"} <= code.keys()
    assert {"autograder.checks", "autograder.checks.plot"} <= code.keys()
    assert not any(name.startswith("autograder.claims") for name in code)


def test_a_lab_that_is_no_module_has_no_code():
    """Such as one that a test puts together."""
    assert {} == own("nowhere", "part1")
