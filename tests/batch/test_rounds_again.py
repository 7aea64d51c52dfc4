"""A class in rounds: who is graded again although nothing changed, and when a person decides."""

from __future__ import annotations

import pytest

from autograder.batch import store
from autograder.batch.journal import Journal
from autograder.batch.rounds import ASIDE, Rounds
from autograder.results import drift, overrides, standing
from autograder.results.settle import taken
from tests.batch.graded_class import settled
from tests.toy import FakeWorkers, toy_session


def test_an_attempt_that_takes_its_grader_down_twice_stops_nobody(a_class):
    """It is tried once more after the others, then set aside with its points owed to a person."""
    a_class.hand_in(ada="a", bob="deadly", cleo="c")
    happened = a_class.grade()
    bob = a_class.result("bob")

    assert {"ada": "graded", "bob": "aside", "cleo": "graded"} == settled(happened)
    assert ["lost", "aside"] == [what for what, name in happened if name == "bob"]
    assert {"person"} == {owed.settled_by for owed in bob.owed}
    assert (0, 14, 14) == (bob.score, bob.points_owed, bob.max_score)
    assert {ASIDE, "a person reads it"} == {c.reason for c in bob.parts[0].checks}
    assert ["its grader was killed by SIGKILL"] * 2 == [
        row[4] for row in a_class.rows("ends") if row[2] == "lost"
    ]
    assert 2 == a_class.machine.asked("run", "deadly")
    assert {"ada": "kept", "bob": "aside", "cleo": "kept"} == settled(a_class.grade())
    assert 2 == a_class.machine.asked("run", "deadly")


def test_who_was_set_aside_and_hands_in_something_else_is_graded(a_class):
    """It was about those files."""
    a_class.hand_in(bob="deadly")
    a_class.grade()
    a_class.hand_in(bob="mended")

    assert {"bob": "graded"} == settled(a_class.grade())


STARVED = {
    "a worker": ("starved", "both", "equal"),
    "processes in it": ("waits for its processes", "single", "positive"),
}


@pytest.mark.parametrize(("code", "probe", "check"), STARVED.values(), ids=STARVED)
def test_who_runs_out_of_time_beside_others_is_run_again_alone(a_class, code, probe, check):
    """Another lane may have been why: only the second run counts, and nothing else is run twice."""
    a_class.hand_in(ada=code, bob="b", cleo="c")
    happened = a_class.grade()
    again = [note[2:] for note in a_class.machine.all() if note[1] == "alone"]

    assert {"ada": "graded", "bob": "graded", "cleo": "graded"} == settled(happened)
    assert "passed" == a_class.checks("ada")[check].outcome
    assert ["student", code, probe] in again
    assert {code} == {note[1] for note in again}
    assert {"ada": "kept", "bob": "kept", "cleo": "kept"} == settled(a_class.grade())


def test_what_never_ends_is_run_again_once(a_class):
    """Then it has lost its points, and the part is run no further; a class is not held up for each check of it."""
    a_class.hand_in(ada="endless", bob="b")
    a_class.grade()
    positive = a_class.checks("ada")["positive"]

    assert ("failed", "was stopped, alone") == (positive.outcome, positive.why)
    assert (1, 1) == (
        a_class.machine.asked("alone", "endless"),
        a_class.machine.asked("run", "endless"),
    )


def test_in_the_only_lane_time_is_up_when_it_is_up(a_class):
    """Nothing was beside it."""
    a_class.hand_in(ada="endless", bob="b")
    a_class.grade(jobs=1)

    assert ("failed", "was stopped after 1 s") == (
        a_class.checks("ada")["positive"].outcome,
        a_class.checks("ada")["positive"].why,
    )
    assert 0 == a_class.machine.asked("alone", "endless")


def test_a_grader_that_dies_while_it_times_loses_nothing_of_before(a_class):
    """What the first round settled stays; the rest is a person's."""
    a_class.hand_in(ada="times out the grader", bob="b")
    happened = a_class.grade()
    checks = a_class.checks("ada")

    assert {"ada": "aside", "bob": "graded"} == settled(happened)
    assert ("passed", "error", "person") == (
        checks["positive"].outcome,
        checks["faster"].outcome,
        {o.check: o.settled_by for o in a_class.result("ada").owed}["part1_toy.faster"],
    )


def test_what_was_settled_elsewhere_for_who_was_set_aside_stays(a_class):
    """As does what was judged before the grader died: nothing is written anew, and a person sees that it is done."""
    a_class.hand_in(ada="times out the grader", bob="deadly")
    a_class.grade()
    ada, home = a_class.result("ada"), a_class.root / "out/bob"
    aside = a_class.result("bob")
    judged = graded_by(toy_session(FakeWorkers()), a_class, "bob")
    made = [*taken(aside, judged, by="meera", at="now")]
    overrides.append(home, made)
    before = {"bob": standing.load(home / "result.json")}
    settled_by_hand = a_class.grade(before=before)

    assert {"ada": "aside", "bob": "kept"} == settled(settled_by_hand)
    assert 6 == judged.score == standing.load(home / "result.json").score
    assert ada == a_class.result("ada")
    assert 2 == a_class.machine.asked("run", "deadly")


def graded_by(session, a_class, name):
    """Grade one alone, as on another machine."""
    handed_in = store.load_or_say(a_class.root / "in" / name, a_class.kit.lab.files)
    return store.grade_one(handed_in, a_class.kit, session, a_class.root / "alone", seed=7)


def test_undecided_is_tried_once_more_in_the_same_run(a_class):
    """By another lane, whose machine is examined anew; what is decided then is final."""
    a_class.hand_in(ada="noisy once", bob="b")
    happened = a_class.grade()
    lanes = {
        note[0] for note in a_class.machine.all() if note[1] == "time" and note[3] == "noisy once"
    }

    assert {"ada": "graded", "bob": "graded"} == settled(happened)
    assert "passed" == a_class.checks("ada")["faster"].outcome
    assert 2 == len(lanes)


def test_after_three_tries_a_person_decides(a_class):
    """Two of a run, and one of the next; then no more. Nobody waits for a round that never comes."""
    a_class.hand_in(ada="noisy")
    first = a_class.grade()
    by_then = {owed.settled_by for owed in a_class.result("ada").owed if "faster" in owed.check}
    second = a_class.grade()
    asked = a_class.machine.asked("time", "noisy")

    assert ("graded", "graded") == (settled(first)["ada"], settled(second)["ada"])
    assert ({"again", "gpu"}, 3) == (by_then, asked)
    assert {"person"} == {
        o.settled_by for o in a_class.result("ada").owed if o.check == "part1_toy.faster"
    }
    assert {"ada": "kept"} == settled(a_class.grade())
    assert 3 == a_class.machine.asked("time", "noisy")


def test_a_fault_of_ours_is_tried_again_and_then_a_persons(a_class):
    """Never a zero, and never for ever."""
    a_class.hand_in(ada="our fault")
    a_class.grade()

    assert ["again"] * 3 == [row[2] for row in a_class.rows("ends")]
    assert "error" == a_class.checks("ada")["positive"].outcome
    assert (
        "person"
        == {o.check: o.settled_by for o in a_class.result("ada").owed}["part1_toy.positive"]
    )


SECOND = {
    "the same": ("a", "the same"),
    "another verdict": ("fickle", "part1_toy.positive: passed 2/2 -> failed 0/2"),
    "its grader dies": (
        "deadly on other inputs",
        "all: graded -> its grader was killed by SIGKILL",
    ),
}


@pytest.mark.parametrize(("code", "said"), SECOND.values(), ids=SECOND)
def test_some_are_graded_twice_and_the_first_grade_stands(a_class, code, said):
    """On other inputs, when all else is done; what differs is told, and counts for nothing."""
    a_class.hand_in(ada=code)
    happened = a_class.grade(twice=0.5)

    assert ("twice", "ada") == happened[-2]
    assert said in [str(one).removeprefix("ada: ") for one in drift.read(a_class.root / "out")]
    assert ("passed", 7) == (a_class.checks("ada")["positive"].outcome, a_class.result("ada").seed)
    assert {"ada": "kept"} == settled(a_class.grade(twice=0.5))
    assert 1 == len(a_class.rows("chosen"))


def test_nobody_is_graded_twice_who_could_not_be_read(a_class):
    """A damaged zip has no grade that another one could differ from."""
    (a_class.root / "in").mkdir(parents=True)
    (a_class.root / "in" / "ada.zip").write_bytes(b"PK")

    assert "twice" not in [what for what, _ in a_class.grade(twice=1.0)]


def test_a_second_grade_that_was_cut_off_is_done_when_the_run_goes_on(a_class):
    """Of the same student, although nothing else is left to do."""
    a_class.hand_in(ada="a", bob="b", cleo="c")
    with Journal(a_class.root / "out") as journal:
        events = a_class.events(journal, twice=0.3)
        next(e for e in events if e.what == "round" and e.facts["round"] == "twice")
        events.close()
        [(_, _, drawn)] = a_class.rows("chosen")
    happened = a_class.grade(twice=0.3)

    assert [("twice", drawn)] == [one for one in happened if one[0] == "twice"]
    assert 1 == len(a_class.rows("chosen"))


def test_a_second_grade_of_what_cannot_be_read_back_is_told(a_class):
    """The first one stands, and no lane dies."""
    a_class.hand_in(ada="a")
    with Journal(a_class.root / "out") as journal:
        events = a_class.events(journal, twice=1)
        next(e for e in events if e.what == "round" and e.facts["round"] == "twice")
        (a_class.root / "out" / "ada" / store.HANDED_IN).unlink()
        [told] = [e.facts["moved"] for e in events if e.what == "twice"]

    assert "not there; only submissions graded with --out are kept" in told[0][2]
    assert "passed" == a_class.checks("ada")["faster"].outcome


def test_a_grader_that_was_killed_does_not_count_against_whom_it_graded(a_class):
    """They come last, the one it was gone under most often last of all, and alone, since they may be why."""
    a_class.hand_in(ada="a", bob="b", cleo="c", dan="d")
    with Journal(a_class.root / "out") as journal:
        run = Rounds(a_class.work(), toy_session(a_class.machine), journal, 7, 1)
        next(run.run({}))
        for name in ("ada", "ada", "bob"):
            journal.start(
                name, store.load_or_say(a_class.root / "in" / name, a_class.kit.lab.files).sha256
            )
    with Journal(a_class.root / "out") as journal:
        happened = list(a_class.events(journal))
    judged = [event.submission for event in happened if event.what in ("waits", "graded")]
    lanes = {
        event.facts["round"]: event.facts["lanes"] for event in happened if event.what == "round"
    }

    assert ({"cleo", "dan"}, ["bob", "ada"]) == ({*judged[:2]}, judged[2:4])
    assert {"first": 2, "alone": 1, "timed": 1} == lanes
    assert {"ada", "bob", "cleo", "dan"} == {*judged[4:]}


def test_a_grader_that_hangs_is_killed(a_class, monkeypatch):
    """An hour for one attempt; here no time at all."""
    a_class.hand_in(ada="hangs its grader")
    monkeypatch.setattr("autograder.batch.rounds.MOST_SECONDS", -1.0)

    assert {"ada": "aside"} == settled(a_class.grade())
