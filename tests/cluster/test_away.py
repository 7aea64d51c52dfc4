"""A class that is graded elsewhere: what the run writes down of it, and what it takes for nobody's fault."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Listener
from pathlib import Path
from threading import Thread

import pytest

from autograder.batch import lanes, store
from autograder.batch.history import MOST_CUT_OFF, MOST_LOST
from autograder.batch.job import FORMAT, GradeJob
from autograder.batch.lanes import Errand, Work
from autograder.cluster import away
from autograder.cluster.away import Engine, cluster
from autograder.errors import GoneError, UserError
from autograder.model import Submission
from autograder.records import to_json
from tests.batch.graded_class import Class, settled
from tests.toy import FakeWorkers, toy_kit, toy_session, toy_submission


@dataclass
class Elsewhere(Class):
    """The same class, graded by somebody who does what a submission says."""

    gone: dict[str, str] = field(default_factory=dict)

    def work(self):
        """Lanes hand on what they read."""
        here = super().work()
        return replace(here, away=lambda errand: self.graded(here, errand))

    def graded(self, here, errand):
        code = errand.handed_in.files["part1_toy.py"].decode()
        self.machine.note("errand", errand.round, errand.timed, errand.settled is not None)
        if code in self.gone:
            raise GoneError(self.gone[code], f"{self.gone[code]}, said the node")
        with here.open() as session:
            return lanes._here(here, session, errand), "n1"

    def errands(self):
        return [note[2:] for note in self.machine.all() if note[1] == "errand"]

    def outcomes(self, name):
        ends = {row[0]: (row[2], row[4]) for row in self.rows("ends")}
        return [ends[row[0]] for row in self.rows("attempts") if row[2] == name]


@pytest.fixture
def elsewhere(tmp_path):
    return Elsewhere(tmp_path)


def test_the_clock_runs_on_as_many_devices_as_there_are(elsewhere):
    """In a round of its own, after what is not timed; each attempt is noted with where it was graded."""
    elsewhere.hand_in(ada="a", bob="b", cleo="c")
    happened = elsewhere.grade(jobs=3)

    assert {"ada": "graded", "bob": "graded", "cleo": "graded"} == settled(happened)
    assert [["first", False, False]] * 3 + [["timed", True, True]] * 3 == elsewhere.errands()
    assert 3 == len(
        {note[0] for note in elsewhere.machine.all() if note[1:3] == ["errand", "timed"]}
    )
    assert [("timing", "n1"), ("graded", "n1")] == elsewhere.outcomes("ada")


def test_grades_are_those_of_lanes_that_grade_themselves(elsewhere, tmp_path):
    """Who grades changes nothing."""
    here = Class(tmp_path / "here")
    for a_class in (elsewhere, here):
        a_class.hand_in(ada="a", bob="partly", cleo="noisy")
        a_class.grade()

    assert [here.result(n) for n in ("ada", "bob", "cleo")] == [
        elsewhere.result(n) for n in ("ada", "bob", "cleo")
    ]


# What is gone -> how often it is tried before a person looks at it.
GONE = {"lost": MOST_LOST, "cut off": MOST_CUT_OFF}


@pytest.mark.parametrize("outcome", GONE)
def test_who_takes_down_what_grades_it_is_set_aside_at_last(elsewhere, outcome):
    """Its own process soon, a whole node late: a node has reasons of its own to go."""
    elsewhere.hand_in(ada="a", bob="deadly")
    elsewhere.gone = {"deadly": outcome}
    happened = elsewhere.grade()

    assert {"ada": "graded", "bob": "aside"} == settled(happened)
    assert [(outcome, f"{outcome}, said the node")] * GONE[outcome] == elsewhere.outcomes("bob")


def test_an_attempt_that_waits_in_a_queue_is_not_killed(elsewhere, monkeypatch):
    """The limit is kept where it is graded; here the run's own clock is far ahead."""
    monkeypatch.setattr("autograder.batch.rounds.MOST_SECONDS", -1.0)
    elsewhere.hand_in(ada="a")

    assert {"ada": "graded"} == settled(elsewhere.grade())


class Node:
    """In the engine's place: answers each job as it is told to."""

    def __init__(self, root, answer, **changes):
        self.answer, self.changes, self.heard = answer, changes, []
        self.listener = Listener(str(root / "engine"), "AF_UNIX")
        Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with self.listener, self.listener.accept() as lane:
            file = Path(lane.recv_bytes().decode())
            self.heard.append(json.loads(file.read_text()))
            if self.answer.get("result") == "there":
                session = toy_session(FakeWorkers())
                result = lanes.grade(
                    toy_submission(), toy_kit(), session, seed=self.heard[0]["seed"]
                )
                store.save(replace(result, **self.changes), file.parent)
            if self.answer:
                lane.send_bytes(json.dumps(self.answer).encode())


DONE = {"result": "there", "where": {"node": "n1"}}


def sent(root, node_answer, settled=None, **changes):
    """Send one errand; return what came back, and what the node was told."""
    node = Node(root, node_answer, **changes)
    (root / "jobs").mkdir()
    like = GradeJob(FORMAT, "toy", str(root / "out"), course="/course", parts=("part1_toy",))
    engine = Engine(str(root / "engine"), root / "jobs", like, toy_session(FakeWorkers()).device)
    errand = Errand(toy_submission(), 7, settled, timed=True, round="timed")
    return engine(errand), node.heard[0]


def test_a_node_is_told_all_that_a_lane_knows(tmp_path):
    """It reads what was kept, writes where nobody else does, and leaves nothing there."""
    before = lanes.grade(toy_submission(), toy_kit(), toy_session(FakeWorkers()), seed=7)
    (result, note), told = sent(tmp_path, DONE, before)
    expected = {
        "format": 1, "lab": "toy", "course": "/course", "submission": f"{tmp_path}/out/ada/handed_in.zip", "seed": 7,
        "parts": ["part1_toy"], "only": "", "device": "auto", "isolation": "bubblewrap", "settled": "settled.json",
        "timed": True, "round": "timed", "beside": True,
    }  # fmt: skip

    assert str(tmp_path / "jobs") == str(Path(told.pop("out")).parent)
    assert expected == told
    assert (7, "ada", '{"node": "n1"}') == (result.seed, result.submission, note)
    assert [] == list((tmp_path / "jobs").iterdir())


other = replace(toy_session(FakeWorkers()).device, name="another")
REFUSED = {
    "a grader that was killed": ({"lost": "killed"}, {}, GoneError, "killed"),
    "a node that is gone": ({"cut off": "gone"}, {}, GoneError, "gone"),
    "a course that is not there": ({"stop": "no course"}, {}, UserError, "no course"),
    "an engine that is gone": ({}, {}, UserError, "the engine of the cluster is gone"),
    "a result that is not there": (
        {**DONE, "result": "elsewhere"},
        {},
        UserError,
        "no result there; .*; do all nodes see",
    ),
    "a result of other files": (
        DONE,
        {"submission_sha256": "1"},
        UserError,
        "is not what was sent; do all nodes see",
    ),
    "a result of another seed": (
        DONE,
        {"seed": 8},
        UserError,
        "is not what was sent; do all nodes see",
    ),
    "another device": (
        DONE,
        {"device": other},
        UserError,
        "node n1 is another with {}, the class is graded on toy",
    ),
}


@pytest.mark.parametrize(("answer", "changes", "kind", "message"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_count_as_a_result_is_said(tmp_path, answer, changes, kind, message):
    """A class is graded on devices that are alike, and on what was handed in."""
    with pytest.raises(kind, match=message):
        sent(tmp_path, answer, **changes)


def test_without_parsl_it_is_said_how_to_get_it(tmp_path, monkeypatch):
    """One line, before anything starts."""
    monkeypatch.setattr("autograder.cluster.site.find_spec", lambda name: None)
    work = Work(toy_kit(), None, tmp_path / "out")
    with pytest.raises(UserError) as caught, cluster(tmp_path / "site.yaml", work, None, print):
        pass

    assert "grading on a cluster needs parsl: pip install 'perflab[cluster]'" == str(caught.value)


def test_a_site_file_with_a_mistake_lets_nobody_wait(tmp_path):
    """A node is waited for once Parsl has taken every line of the file."""
    pytest.importorskip("parsl", reason="parsl is an extra: pip install 'perflab[cluster]'")
    site, said = tmp_path / "site.yaml", []
    site.write_text("provider: Slurm\n")
    work = Work(toy_kit(), None, tmp_path / "out")
    named = pytest.raises(UserError, match=r"site\.yaml: provider: Parsl has no 'Slurm'")
    with named, cluster(site, work, None, said.append):
        pass

    assert [] == said


def test_the_first_node_that_goes_is_said(monkeypatch):
    """There is no result yet that could be owed for it."""

    def gone(*_, **__):
        raise GoneError("cut off", "the node was lost")

    monkeypatch.setattr(Engine, "ask", gone)
    with pytest.raises(UserError, match="the first node that was asked: the node was lost"):
        away._session(Engine("", Path(), None))


def test_a_site_with_gpus_is_not_graded_on_processors():
    """A driver that is missing would leave points owed, without a word."""
    on_gpu, on_cpu = (toy_session(FakeWorkers(), tier).device for tier in ("t4", "cpu"))
    away.refuse_processors(Path("site.yaml"), 2, on_gpu)
    with pytest.raises(UserError) as refused:
        away.refuse_processors(Path("site.yaml"), 2, on_cpu)

    assert (
        "site.yaml: gpus: 2, but the first node shows no NVIDIA GPU and would grade on toy; see perflab doctor "
        "there, or write workers: 2 to grade on processors"
    ) == str(refused.value)


def test_devices_are_told_as_records(monkeypatch):
    """What the node says of itself is what results must say."""
    device = toy_session(FakeWorkers()).device
    monkeypatch.setattr(
        Engine, "ask", lambda *_, **__: {"device": to_json(device), "isolation": "none"}
    )
    session = away._session(Engine("", Path(), None))

    assert (device, "none") == (session.device, session.isolation)
    with pytest.raises(RuntimeError, match="nothing runs where the run is"):
        session.run(Submission("", "", {}))
