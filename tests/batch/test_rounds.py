"""A class in rounds, in real lanes with workers that are fakes: what is next, and what stops the run."""

from __future__ import annotations

import json
import os
from zipfile import ZipFile

import pytest

from autograder.batch import store
from autograder.batch.journal import Journal
from autograder.batch.lanes import LATER, lanes_for
from autograder.batch.rounds import UNREAD
from autograder.errors import UserError
from autograder.handed_in.submission import RECORD
from autograder.model import Device
from tests.batch.graded_class import settled


def test_nothing_is_timed_before_all_else_is_done(a_class):
    """The first round puts the clock off; the timed one is a single lane that runs only what it needs for it."""
    a_class.hand_in(ada="a", bob="b", cleo="c")
    happened = a_class.grade()
    notes = a_class.machine.all()
    timed = [i for i, note in enumerate(notes) if note[1] == "time"]
    before = {note[0] for note in notes[: timed[0]] if note[1] == "run"}

    assert {"ada": "graded", "bob": "graded", "cleo": "graded"} == settled(happened)
    assert 6 == sum(what in ("waits", "graded") for what, _ in happened)
    assert 1 == len({notes[i][0] for i in timed})
    assert {"amp"} == {note[4] for note in notes[timed[0] :]}
    assert 2 <= len(before) <= 3
    assert 0 == a_class.machine.asked("run", "nobody")


def test_what_the_clock_tells_is_an_event_of_whom_it_times(a_class):
    """Minutes may pass until there is a verdict."""
    a_class.hand_in(ada="a", bob="b")
    with Journal(a_class.root / "out") as journal:
        said = sorted(
            (e.submission, e.lane, e.facts["says"])
            for e in a_class.events(journal)
            if e.what == "says"
        )

    assert [("ada", 1, "a is timed"), ("bob", 1, "b is timed")] == said


def test_grades_are_those_of_one_submission_graded_alone(a_class):
    """Rounds change nothing but the time it took."""
    a_class.hand_in(ada="a")
    a_class.grade()
    together = a_class.result("ada")
    with a_class.work().open() as session:
        handed_in = store.load_or_say(a_class.root / "in" / "ada", a_class.kit.lab.files)
        alone = store.grade_one(handed_in, a_class.kit, session, a_class.root / "alone", seed=7)

    assert together == alone


def test_what_waits_for_the_clock_says_so_until_then(a_class):
    """A result is whole after the first round: it may be all that there is for a while."""
    a_class.hand_in(ada="a")
    with Journal(a_class.root / "out") as journal:
        events = a_class.events(journal)
        next(e for e in events if e.what == "waits")
        waiting = a_class.checks("ada")
        events.close()

    assert ("inconclusive", LATER) == (waiting["faster"].outcome, waiting["faster"].reason)
    assert ("passed", "passed") == (waiting["positive"].outcome, waiting["equal"].outcome)


def test_a_run_that_ended_between_two_rounds_goes_on_with_the_clock(a_class):
    """What the first round settled is not run again, and a result keeps the seed that its inputs were drawn from."""
    a_class.hand_in(ada="a")
    with Journal(a_class.root / "out") as journal:
        events = a_class.events(journal, seed=7)
        next(e for e in events if e.what == "waits")
        events.close()
    before = len(a_class.machine.all())
    a_class.grade(seed=8)

    assert {"amp"} == {note[4] for note in a_class.machine.all()[before:]}
    assert (7, "passed") == (a_class.result("ada").seed, a_class.checks("ada")["faster"].outcome)


def removed(file):
    file.unlink()


def damaged(file):
    file.write_bytes(b"PK")


def of_an_unknown_form(file):
    with ZipFile(file, "w") as kept:
        kept.writestr(RECORD, "[]")


@pytest.mark.parametrize("how", [removed, damaged, of_an_unknown_form])
def test_what_was_kept_and_cannot_be_read_stops_nobody(a_class, how):
    """Between two rounds something befell it: a person's, and no lane dies of it."""
    a_class.hand_in(ada="a", bob="b")
    with Journal(a_class.root / "out") as journal:
        events = a_class.events(journal)
        next(e for e in events if e.what == "round" and e.facts["round"] == "timed")
        how(a_class.root / "out" / "ada" / store.HANDED_IN)
        last = [(e.what, e.submission) for e in events]

    assert {"ada": "aside", "bob": "graded"} == settled(last)
    assert "lost" not in [what for what, _ in last]
    assert ("passed", UNREAD) == (
        a_class.checks("ada")["positive"].outcome,
        a_class.checks("ada")["faster"].reason,
    )
    assert {"ada": "graded", "bob": "kept"} == settled(a_class.grade())


def test_what_is_done_is_not_done_again(a_class):
    """Without any change a second run starts no worker and no clock, and changes no byte."""
    a_class.hand_in(ada="a", bob="b")
    a_class.grade()
    notes, before = a_class.machine.all(), a_class.result("ada")

    assert {"ada": "kept", "bob": "kept"} == settled(a_class.grade())
    assert (notes, before) == (a_class.machine.all(), a_class.result("ada"))


def test_who_stops_the_run_ends_its_lanes_and_says_so_in_the_journal(a_class):
    """What was under way counts against nobody."""
    a_class.hand_in(ada="a", bob="b", cleo="c")
    with Journal(a_class.root / "out") as journal:
        events = a_class.events(journal)
        next(e for e in events if e.what == "starts")
        events.close()
        last = journal.last()

    assert {"stopped"} <= {row[2] for row in a_class.rows("ends")}
    assert len(a_class.rows("attempts")) == len(a_class.rows("ends"))
    assert not last.finished
    assert {"ada", "bob", "cleo"} == set(settled(a_class.grade()))


def test_what_stops_a_lane_for_a_reason_stops_the_run_with_it(a_class, monkeypatch):
    """A full disk: one line, and the journal knows what to repeat."""
    a_class.hand_in(ada="a", bob="b")

    def full(*_):
        raise OSError(28, "No space left on device", "out/ada/result.json.part")

    monkeypatch.setattr(store, "save", full)
    with pytest.raises(
        UserError, match=r"No space left on device: .*; mend that, then go on with --resume"
    ):
        a_class.grade()
    monkeypatch.undo()

    assert {"ada": "graded", "bob": "graded"} == settled(a_class.grade())


def test_a_session_says_where_and_how_it_was_graded(a_class):
    """Device, versions, fence, kernel, host, lanes, command."""
    a_class.hand_in(ada="a")
    a_class.grade()
    [session] = a_class.rows("sessions")
    facts = json.loads(session[-1])

    assert {
        "boot", "command", "cores", "device", "host", "isolation", "jobs", "kernel", "versions",
    } == set(facts)  # fmt: skip
    assert ("toy", "none", 2) == (facts["device"], facts["isolation"], facts["jobs"])


def test_lanes_are_one_a_core_and_on_a_gpu_one(monkeypatch):
    """As far as memory goes."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(8))
    monkeypatch.setattr(
        os, "sysconf", lambda name: {"SC_PAGE_SIZE": 4096}.get(name, (10 << 30) // 4096)
    )

    assert (3, 1) == (
        lanes_for(Device("x", "cpu", "cpu")),
        lanes_for(Device("x", "cuda", "t4")),
    )
