"""The real command, killed at any moment: the next run goes on, and grades are those of an undisturbed one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from autograder.batch.journal import Journal
from autograder.course import find_root

pytestmark = pytest.mark.slow
REFERENCE = find_root() / "reference" / "resnet18"
FILES = ("amp_results.csv", "amp_comparison.png")


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory):
    """Ten submissions that are graded without a worker: artefacts, and archives that are none."""
    root = tmp_path_factory.mktemp("class")
    for number, name in enumerate(("ada", "bob", "cleo", "dan", "gil", "hana", "ida", "jon")):
        (root / name).mkdir()
        for file in FILES[: number % 3]:
            (root / name / file).write_bytes((REFERENCE / file).read_bytes())
        (root / name / "amp_results_notes.txt").write_text(name)
    (root / "eve.zip").write_bytes(b"PK\3\4 no archive")
    with zipfile.ZipFile(root / "fay.zip", "w") as archive:
        archive.write(REFERENCE / FILES[0], FILES[0])
    (root / "dan" / FILES[0]).write_text("a,b\n1,2\n")
    return root


def start(handed_in, out, *options):
    """Start the command in a process group of its own."""
    command = [
        sys.executable, "-m", "autograder.cli", "grade", "resnet18", str(handed_in), "--out", str(out), "--part", "part3",
        "--device", "cpu", "--isolation", "none", "--jobs", "2", "--json", *options,
    ]  # fmt: skip
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, start_new_session=True, **pipes)


def finish(handed_in, out, *options):
    """Run the command to its end; return its events."""
    with start(handed_in, out, *options) as process:
        said, errors = process.communicate(timeout=120)
    assert 0 == process.returncode, errors
    return [json.loads(line) for line in said.splitlines()]


def grades(out):
    """Return all that a run leaves but times."""
    results = [json.loads(file.read_text()) for file in sorted(out.glob("*/result.json"))]
    fixed = [
        {k: v for k, v in result.items() if k not in ("started", "seconds")} for result in results
    ]
    return fixed, (out / "grades.csv").read_text()


@pytest.fixture(scope="module")
def undisturbed(handed_in, tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed")
    finish(handed_in, out, "--seed", "5")
    return grades(out)


def after(process, lines):
    """Wait until the command has said so many lines."""
    return [process.stdout.readline() for _ in range(lines)]


def children(pid):
    """Find the processes that one started."""
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []


def gone(pids, seconds=10.0):
    """Wait until none of them runs."""
    end = time.monotonic() + seconds
    while any(
        Path(f"/proc/{pid}/cmdline").exists() and Path(f"/proc/{pid}/cmdline").read_bytes()
        for pid in pids
    ):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


@pytest.mark.parametrize("lines", [0, 1, 3, 5, 8])
def test_killed_once_it_goes_on_where_it_was(handed_in, undisturbed, tmp_path, lines):
    """Before the first event, between two, and when nearly all is done; nothing that is done is repeated."""
    with start(handed_in, tmp_path, "--seed", "5") as process:
        before = [json.loads(line) for line in after(process, lines)]
        lanes = children(process.pid)
        process.kill()
        before += [json.loads(line) for line in process.stdout]
    done = {event["submission"] for event in before if event["event"] == "graded"}
    resumed = finish(handed_in, tmp_path, "--resume", *(["--seed", "5"] if lines == 0 else []))

    assert gone(lanes)
    assert undisturbed == grades(tmp_path)
    assert not done & {event["submission"] for event in resumed if event["event"] == "starts"}


def test_killed_ten_times_the_grades_are_the_same(handed_in, undisturbed, tmp_path):
    """Each time a little later; nobody is set aside for it."""
    for number in range(10):
        with start(
            handed_in,
            tmp_path,
            "--resume",
            *([] if (tmp_path / "journal.sqlite").exists() else ["--seed", "5"]),
        ) as process:
            after(process, 1 + number)
            process.kill()
    finish(handed_in, tmp_path, "--resume")

    assert undisturbed == grades(tmp_path)


def test_a_lane_that_is_killed_is_replaced(handed_in, undisturbed, tmp_path):
    """The run itself goes on, and loses nothing."""
    with start(handed_in, tmp_path, "--seed", "5") as process:
        after(process, 3)  # begins, round, the first attempt
        for lane in children(process.pid):
            os.kill(lane, signal.SIGKILL)
        said, errors = process.communicate(timeout=120)

    assert 0 == process.returncode, errors
    assert "lost" in {json.loads(line)["event"] for line in said.splitlines()}
    assert undisturbed == grades(tmp_path)


def test_ctrl_c_ends_all_of_it_and_says_how_to_go_on(handed_in, undisturbed, tmp_path):
    """Exit status 130, no process left, the command that resumes; without --resume nothing is begun anew."""
    with start(handed_in, tmp_path, "--seed", "5") as process:
        after(process, 3)
        lanes = children(process.pid)
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)

    assert 130 == process.returncode, errors
    assert gone(lanes)
    assert "Traceback" not in errors
    assert "are done; go on with\n  perflab grade resnet18" in errors
    assert "--seed 5 --resume\n" in errors
    with Journal(tmp_path) as journal:
        assert {} == journal.cut_off()
    with start(handed_in, tmp_path) as process:
        _, errors = process.communicate(timeout=60)
    assert (2, True) == (process.returncode, "was not finished" in errors)
    finish(handed_in, tmp_path, "--resume")
    assert undisturbed == grades(tmp_path)


def test_two_runs_into_one_folder_do_not_meet(handed_in, tmp_path):
    """The second is told; the first is not disturbed."""
    with start(handed_in, tmp_path, "--seed", "5") as first:
        after(first, 1)
        os.kill(first.pid, signal.SIGSTOP)
        with start(handed_in, tmp_path, "--resume") as second:
            _, errors = second.communicate(timeout=60)
        os.kill(first.pid, signal.SIGCONT)
        first.communicate(timeout=60)

    assert (2, True, 0) == (
        second.returncode,
        "another perflab grades into it" in errors,
        first.returncode,
    )
