"""One submission as a job: what job.json may say, what comes of it, and what stays warm from one to the next."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest

from autograder.batch import job, lanes, store
from autograder.batch.job import FORMAT, GradeJob, Grader, grade_one
from autograder.errors import UserError
from autograder.machine.device import node
from autograder.model import Compared, Observation
from autograder.result_file import load_result
from tests.toy import CSV, FakeWorkers, toy_kit, toy_session

FILE = "part1_toy.py"


class Toy:
    """A course of one lab, and a machine that counts its sessions."""

    def __init__(self, monkeypatch, root):
        self.root, self.opened, self.workers = root, [], FakeWorkers()
        course = lambda _: SimpleNamespace(  # noqa: E731
            kit=lambda lab: toy_kit(), config=SimpleNamespace(tier=None)
        )
        monkeypatch.setattr(job, "Course", course)
        monkeypatch.setattr(job, "find_root", lambda given: given or root)
        monkeypatch.setattr(job, "open_session", self.open)
        (root / "in/ada").mkdir(parents=True)
        (root / "in/ada" / FILE).write_text("def work(): ...")
        (root / "in/ada/table.csv").write_bytes(CSV)

    @contextmanager
    def open(self, _, device, isolation, *, rehearsal):
        """Note which session was asked for, and that it ended."""
        self.opened.append((device, isolation, rehearsal))
        clock = lambda *_: Compared("PASS", "2.00x", 1.0)  # noqa: E731
        yield replace(toy_session(self.workers), clock=clock, alone=FakeWorkers())
        self.opened.append("ended")

    def job(self, **changes):
        """Write job.json."""
        (self.root / "jobs").mkdir(exist_ok=True)
        told = {
            "format": FORMAT,
            "lab": "toy",
            "submission": "../in/ada",
            "out": "../out",
            "seed": 7,
            **changes,
        }
        file = self.root / "jobs/1.json"
        file.write_text(json.dumps(told))
        return file

    def result(self):
        return load_result(self.root / "out/ada" / store.RESULT)

    def outcomes(self):
        return {check.id: check.outcome for check in self.result().parts[0].checks}


@pytest.fixture
def toy(monkeypatch, tmp_path):
    return Toy(monkeypatch, tmp_path)


def test_a_job_is_graded_as_by_perflab_grade(toy):
    """The same result from the same seed, with the files kept beside it; the session ends with it."""
    file = grade_one(toy.job())
    handed_in = store.load_or_say(toy.root / "in/ada", toy_kit().lab.files)
    session = replace(toy_session(FakeWorkers()), clock=lambda *_: Compared("PASS", "2.00x", 1.0))
    alone = store.grade_one(handed_in, toy_kit(), session, toy.root / "alone", seed=7)

    assert (toy.root / "out/ada/result.json").resolve() == file.resolve()
    assert alone == toy.result()
    assert (toy.root / "out/ada/handed_in.zip").is_file()
    assert [("auto", "bubblewrap", False), "ended"] == toy.opened


def test_files_that_were_kept_beside_one_result_are_kept_beside_another(toy):
    """A replay, a sheet for a person and a search for similar work read them there."""
    grade_one(toy.job())
    first = toy.root / "out/ada" / store.HANDED_IN
    grade_one(toy.job(submission="../out/ada/handed_in.zip", out="../again"))
    again = load_result(toy.root / "again/ada" / store.RESULT)
    handed_in = store.kept("ada", toy.root / "again", toy_kit().lab.files)

    assert toy.result().submission_sha256 == again.submission_sha256 == handed_in.sha256
    written = first.stat().st_mtime_ns
    grade_one(toy.job(submission="../out/ada/handed_in.zip"))
    assert written == first.stat().st_mtime_ns


def test_a_half_written_result_is_never_seen(toy, monkeypatch):
    """It gets its name when it is whole; what was there before stays until then."""
    grade_one(toy.job())
    before = toy.result()
    monkeypatch.setattr(store, "to_json", lambda result: {"cannot be": object()})
    with pytest.raises(TypeError):
        grade_one(toy.job(seed=8))

    assert before == toy.result()


def test_without_a_seed_inputs_are_fresh(toy):
    """As everywhere."""
    grade_one(toy.job(seed=None))
    first = toy.result().seed
    grade_one(toy.job(seed=None))

    assert first != toy.result().seed


def test_what_has_to_be_timed_may_be_left_for_later(toy):
    """And a later job keeps what the first one settled, with its seed, and runs the rest alone."""
    grade_one(toy.job(timed=False))
    first, asked = toy.outcomes(), len(toy.workers.asked)
    (toy.root / "first.json").write_bytes((toy.root / "out/ada/result.json").read_bytes())
    grade_one(toy.job(submission="../out/ada/handed_in.zip", settled="../first.json", seed=8))

    assert ("passed", "inconclusive") == (first["positive"], first["faster"])
    assert ("passed", "passed", 7) == (
        toy.outcomes()["positive"],
        toy.outcomes()["faster"],
        toy.result().seed,
    )
    assert {"amp"} == {one.probe for one in toy.workers.asked[asked:]}


@pytest.mark.parametrize(("beside", "outcome"), [(False, "failed"), (True, "passed")])
def test_beside_other_jobs_time_is_up_only_alone(toy, beside, outcome):
    """Whoever starts jobs says whether there are others on the machine."""
    late = Observation("single", "timeout", error="was stopped after 1 s")
    toy.workers = FakeWorkers({("single", "student"): late})
    grade_one(toy.job(beside=beside))

    assert outcome == toy.outcomes()["positive"]


def test_one_check_of_one_part_may_be_asked_for(toy):
    """As by --part and --only."""
    grade_one(toy.job(parts=["part1"], only="positive"))

    assert {"positive": "passed"} == toy.outcomes()


def test_jobs_of_one_round_share_a_session_and_those_of_another_do_not(toy):
    """What was found out about the machine holds for a round."""
    with Grader() as grader:
        grader(toy.job(round="first"))
        grader(toy.job(round="first"))
        asked = grader(toy.job(round="look", submission=""))

    assert [("auto", "bubblewrap", False), "ended"] * 2 == toy.opened
    assert ("", "toy", "none") == (asked["result"], asked["device"]["name"], asked["isolation"])
    assert {"node", "gpus", "pid", "began", "ended"} == set(asked["where"])


MISTAKES = {
    "no JSON": ("{", "1.json: cannot be read: "),
    "another format": ({"format": 9}, "1.json: format 9; this perflab reads format 1"),
    "a misspelt name": ({"sede": 1}, "1.json: unknown name 'sede' (did you mean 'seed'?)"),
    "a wrong value": ({"seed": "1"}, "1.json.seed: '1' is not a whole number"),
    "no such submission": ({"submission": "../in/bob"}, "in/bob: there is no such file or folder"),
    "no such part": ({"parts": ["part9"]}, "lab toy has no part 'part9'"),
    "no such check": (
        {"only": "positiv"},
        "--only positiv: lab toy has no such check (did you mean 'positive'?)",
    ),
}


@pytest.mark.parametrize(("told", "message"), MISTAKES.values(), ids=MISTAKES)
def test_what_is_wrong_with_a_job_is_one_line(toy, told, message):
    """And nothing is written."""
    file = toy.job(**told) if isinstance(told, dict) else toy.job()
    if isinstance(told, str):
        file.write_text(told)
    with pytest.raises(UserError) as caught:
        grade_one(file)

    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (toy.root / "out").exists()


def test_a_job_that_is_written_is_the_one_that_is_read(tmp_path):
    """All of its fields."""
    told = GradeJob(
        FORMAT,
        "toy",
        "out",
        "in/ada",
        "course",
        7,
        ("part1",),
        "x",
        "cpu",
        "none",
        "old",
        False,
        "timed",
    )

    assert told == job.read(job.write(told, tmp_path / "job.json"))


COMMAND = [sys.executable, "-P", "-m", "autograder.cli", "grade-one"]


@pytest.mark.slow
def test_the_command_says_in_one_line_what_is_wrong(tmp_path):
    """And ends with the status of what a user can mend."""
    (tmp_path / "job.json").write_text('{"format": 1, "lab": "resnet18", "out": "out"}')
    done = subprocess.run(
        [*COMMAND, tmp_path / "job.json"], check=False, capture_output=True, text=True
    )

    assert (2, f"perflab: {tmp_path}/job.json: names no submission\n") == (
        done.returncode,
        done.stderr,
    )


@pytest.mark.slow
def test_the_command_answers_jobs_line_by_line(tmp_path):
    """A job that cannot be done is answered, and the next one is heard."""
    (tmp_path / "in/ada").mkdir(parents=True)
    (tmp_path / "in/ada/amp_results.csv").write_bytes(CSV)
    told = {
        "format": 1,
        "lab": "resnet18",
        "submission": "in/ada",
        "out": "out",
        "parts": ["part3"],
        "device": "cpu",
    }
    (tmp_path / "job.json").write_text(json.dumps({**told, "isolation": "none"}))
    jobs = f"{tmp_path}/nothing.json\n{tmp_path}/job.json\n"
    done = subprocess.run([*COMMAND, "-"], input=jobs, capture_output=True, text=True, check=True)
    first, second = map(json.loads, done.stdout.splitlines())

    assert first["stop"].startswith(f"node {node()}: {tmp_path}/nothing.json: cannot be read: ")
    assert f"{tmp_path}/out/ada/result.json" == second["result"]
    assert lanes.LATER not in (tmp_path / "out/ada/result.json").read_text()
