"""Folders of a grader that was killed do not stay."""

from __future__ import annotations

import os

from autograder.sandbox import stage


def test_the_folders_of_killed_graders_are_removed_and_no_others(tmp_path, monkeypatch):
    """Nobody holds their lock; what is in use, what is new and what is a file stay."""
    monkeypatch.setattr(stage.tempfile, "tempdir", str(tmp_path))
    killed, new, file = (tmp_path / f"{stage.PREFIX}{name}" for name in ("killed", "new", "file"))
    for folder in (killed, new):
        folder.mkdir()
    (killed / "code").mkdir()
    file.touch()
    with stage.staged({"part.py": b""}) as (code, _):
        for path in (killed, file, code.parent):
            os.utime(path, (0, 0))
        stage.clear()

        assert {new, file, code.parent} == set(tmp_path.iterdir())
        assert [code / "part.py"] == list(code.iterdir())
    assert {new, file} == set(tmp_path.iterdir())
