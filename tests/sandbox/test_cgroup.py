"""A limit of the kernel's for all of a box, in both versions of its interface."""

from __future__ import annotations

import os

import pytest

from autograder.sandbox import cgroup
from autograder.sandbox.cgroup import ABOVE

MB = 1 << 20
VERSIONS = {
    "version 1": (
        "9:pids:/a\n4:cpu,memory:/a/b\n0::/\n",
        "memory/a/b",
        "memory.limit_in_bytes",
        "memory.oom_control",
    ),
    "version 2": ("0::/user.slice/session-1.scope\n", "user.slice", "memory.max", "memory.events"),
}


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """Stand in for the kernel's folders: what is written is kept, and a group is removed with its files."""
    monkeypatch.setattr(cgroup, "MOUNTED", tmp_path / "fs")
    monkeypatch.setattr(cgroup, "OWN", tmp_path / "own")
    (tmp_path / "fs" / "user.slice" / "session-1.scope").mkdir(parents=True)
    (tmp_path / "fs" / "user.slice" / "cgroup.subtree_control").write_text("cpu memory pids\n")
    (tmp_path / "fs" / "user.slice" / "session-1.scope" / "cgroup.subtree_control").write_text("\n")
    (tmp_path / "fs" / "memory" / "a" / "b").mkdir(parents=True)
    return tmp_path


@pytest.mark.parametrize(("own", "parent", "limit", "kills"), VERSIONS.values(), ids=VERSIONS)
def test_a_group_is_made_where_memory_is_handed_on(kernel, own, parent, limit, kills):
    """Of version 1 below our own group, of version 2 below the nearest that may have groups with a limit."""
    (kernel / "own").write_text(own)
    group = cgroup.limited_group(512 * MB)

    assert group is not None
    assert kernel / "fs" / parent == group.folder.parent
    assert str(512 * MB + ABOVE) == (group.folder / limit).read_text()
    group.take([7])
    assert "7" == (group.folder / "cgroup.procs").read_text()
    (group.folder / kills).write_text("low 0\noom_kill 0\n")
    assert not group.struck()
    (group.folder / kills).write_text("oom 2\noom_kill 1\n")
    assert group.struck()


def test_without_a_folder_that_may_be_written_there_is_none(kernel):
    """A limit is then held by looks alone."""
    (kernel / "own").write_text("0::/elsewhere\n")

    assert None is cgroup.limited_group(MB)


def test_groups_of_killed_graders_are_removed(kernel):
    """A grader that is alive keeps its own, also one that another container numbers differently."""
    (kernel / "own").write_text(VERSIONS["version 1"][0])
    parent = kernel / "fs" / "memory" / "a" / "b"
    dead, alive = parent / f"{cgroup.NAME}999999999-1", parent / f"{cgroup.NAME}{os.getpid()}-1"
    in_use = parent / f"{cgroup.NAME}999999998-1"
    for folder in (dead, alive, in_use / "which the kernel does not remove"):
        folder.mkdir(parents=True)

    cgroup.clear()
    assert {alive, in_use} == set(parent.iterdir())
