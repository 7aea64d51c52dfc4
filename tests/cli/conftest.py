"""`perflab grade` in the process of the test."""

from __future__ import annotations

import sys

import pytest

from autograder import cli

ROSTER = "student,email,canvas_id\nada,ada@example.org,1001\nben,ben@example.org,1002\n"


@pytest.fixture
def grade(monkeypatch, capsys, tmp_path):
    """Run the command in this process; return its exit status, output and errors."""
    (tmp_path / "roster.csv").write_text(ROSTER)

    def run(*arguments, out="out"):
        words = [
            "--out",
            tmp_path / out,
            "--part",
            "part3",
            "--device",
            "cpu",
            "--isolation",
            "none",
            "--jobs",
            "2",
        ]
        monkeypatch.setattr(
            sys, "argv", ["perflab", "grade", "resnet18", *map(str, arguments), *map(str, words)]
        )
        with pytest.raises(SystemExit) as left:
            cli.main()
        said = capsys.readouterr()
        return left.value.code, said.out, said.err

    return run
