"""A class in rounds, in real lanes with workers that are fakes: what is next, what is repeated, and what stops nobody."""

from __future__ import annotations

import json
import logging
import os
import signal
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from zipfile import ZipFile

import pytest

from autograder.batch import store
from autograder.batch.journal import Journal
from autograder.batch.lanes import LATER, Work, lanes_for
from autograder.batch.rounds import ASIDE, UNREAD, Rounds
from autograder.errors import UserError
from autograder.handed_in.submission import RECORD
from autograder.model import Compared, Device, Observation
from autograder.result_file import load_result
from autograder.results import drift
from tests.toy import CSV, good, toy_kit, toy_session

FILE = "part1_toy.py"
QUIET = ("tick", "starts", "says")
PASS = Compared("PASS", "2.00x", 1.0)
TOO_SLOW = {"endless": ("single", "both", "amp"), "starved": ("both",)}  # beside others
NOISY = Compared("INCONCLUSIVE", "", undecided="the pairs differ too much to tell")


@dataclass
class Machine:
    """Workers and a clock that do what a submission says; what they are asked is noted in a file, for lanes share none."""

    notes: Path
    run = toy_session(None).run

    def __call__(self, job):
        """Answer one job, or take the lane down."""
        code = next(data for name, data in job.files.items() if name.startswith("part")).decode()
        self.note("run", job.side, code, job.probe)
        if job.side == "student" and job.probe in TOO_SLOW.get(code, ()):
            return Observation(job.probe, "timeout", error="was stopped after 1 s")
        if job.side == "student" and code == "waits for its processes":
            return Observation(job.probe, "raised", error="1 processes did not end", kind="unended")
        if job.side == "student" and code == "deadly":
            os.kill(os.getpid(), signal.SIGKILL)
        other = sum(note[1:] == ["run", "student", code, "single"] for note in self.all()) > 1
        if job.side == "student" and code == "hangs its grader":
            signal.pause()
        if job.side == "student" and "deadly on other inputs" in code and other:
            os.kill(os.getpid(), signal.SIGKILL)
        if job.side == "student" and "fickle" in code and other:
            return good(job.probe, -1)
        if job.side == "student" and "once deadly" in code and self.asked("run", code) == 1:
            os._exit(3)
        return good(job.probe, 101 if "our fault" in code else 0.5 if "partly" in code else 2)

    def alone(self, job):
        """Answer one job with nothing beside it."""
        code = next(data for name, data in job.files.items() if name.startswith("part")).decode()
        self.note("alone", job.side, code, job.probe)
        endless = code == "endless"
        return (
            Observation(job.probe, "timeout", error="was stopped, alone")
            if endless
            else good(job.probe)
        )

    def clock(self, probe, student, baseline, bar):  # noqa: ARG002 a clock's signature
        """Time, or say that it was too noisy."""
        code = next(
            data for name, data in student.files.items() if name.startswith("part")
        ).decode()
        self.note("time", "student", code, probe.name)
        if "times out the grader" in code:
            os._exit(3)
        logging.getLogger("autograder.clock").info("%s is timed", code)
        noisy = {"noisy": 99, "noisy once": 1}.get(code, 0)
        return NOISY if self.asked("time", code) <= noisy else PASS

    def note(self, *words):
        """Add a line."""
        with self.notes.open("a") as file:
            file.write(json.dumps([os.getpid(), *words]) + "\n")

    def all(self):
        """Return every note: process, what, side, code, probe."""
        return (
            [json.loads(line) for line in self.notes.read_text().splitlines()]
            if self.notes.exists()
            else []
        )

    def asked(self, what, code):
        """Count what was asked of the student's side."""
        return sum(note[1:4] == [what, "student", code] for note in self.all())


@dataclass
class Class:
    """Submissions that are graded into one folder, in one run after the other."""

    root: Path
    kit = toy_kit()

    @property
    def machine(self):
        """What stands for workers and clock."""
        return Machine(self.root / "notes")

    def hand_in(self, **codes):
        """Write one submission for each name."""
        for name, code in codes.items():
            (self.root / "in" / name).mkdir(parents=True, exist_ok=True)
            (self.root / "in" / name / FILE).write_text(code)
            (self.root / "in" / name / "table.csv").write_bytes(CSV)

    def work(self):
        """What lanes are given."""

        @contextmanager
        def opened():
            yield replace(
                toy_session(self.machine), clock=self.machine.clock, alone=self.machine.alone
            )

        return Work(self.kit, opened, self.root / "out")

    def events(self, journal, *, jobs=2, seed=7, asked_seed=None, twice=0.0):
        """Grade all that was handed in."""
        found = {path.name: path for path in sorted((self.root / "in").iterdir())}
        work = self.work()
        with work.open() as session:
            yield from Rounds(work, session, journal, seed, jobs, asked_seed, twice).run(found)

    def grade(self, **options):
        """Do one run; return what happened as a list of (what, submission)."""
        with Journal(self.root / "out") as journal:
            return [
                (e.what, e.submission)
                for e in self.events(journal, **options)
                if e.what not in QUIET
            ]

    def result(self, name):
        """Read a result."""
        return load_result(self.root / "out" / name / store.RESULT)

    def checks(self, name):
        """Read the checks of a result."""
        return {check.id: check for check in self.result(name).parts[0].checks}

    def rows(self, table):
        """Read the journal."""
        with Journal(self.root / "out") as journal:
            return journal._rows.execute(f"SELECT * FROM {table}").fetchall()


@pytest.fixture
def a_class(tmp_path):
    return Class(tmp_path)


def settled(happened):
    """What became of each submission at last."""
    return {name: what for what, name in happened if what in ("graded", "waits", "kept", "aside")}


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


def other_files(a_class):
    a_class.hand_in(ada="other")


def other_points(a_class):
    set_check(a_class, "positive", points=3.0)


def set_part(a_class, **changes):
    part = a_class.kit.config.parts["part1_toy"]
    parts = {"part1_toy": replace(part, **changes)}
    a_class.kit = replace(a_class.kit, config=replace(a_class.kit.config, parts=parts))


def set_check(a_class, name, **changes):
    checks = a_class.kit.config.parts["part1_toy"].checks
    set_part(a_class, checks={**checks, name: replace(checks[name], **changes)})


def other_given(a_class):
    a_class.kit = replace(a_class.kit, given={"given/__init__.py": b"# other"})


def lost_result(a_class):
    (a_class.root / "out" / "ada" / store.RESULT).unlink()


def edited_result(a_class):
    file = a_class.root / "out" / "ada" / store.RESULT
    file.write_text(file.read_text().replace('"passed"', '"failed"'))


CHANGES = {
    "the submission": (other_files, ["ada"]),
    "points": (other_points, ["ada", "bob"]),
    "what comes with the lab": (other_given, ["ada", "bob"]),
    "the result is gone": (lost_result, ["ada"]),
    "the result was edited": (edited_result, ["ada"]),
}


@pytest.mark.parametrize(("change", "again"), CHANGES.values(), ids=CHANGES)
def test_what_a_change_touches_is_graded_again(a_class, change, again):
    """And nothing else."""
    a_class.hand_in(ada="a", bob="b")
    a_class.grade()
    change(a_class)

    assert again == [
        name for name, what in sorted(settled(a_class.grade()).items()) if what == "graded"
    ]


def test_bars_of_other_devices_and_where_a_bar_comes_from_touch_nothing(a_class):
    """Only what could change a point."""
    a_class.hand_in(ada="a")
    a_class.grade()
    set_check(a_class, "faster", bar={"t4": 1.5, "hopper": 9.0}, source="calibrated")

    assert {"ada": "kept"} == settled(a_class.grade())


def points_up(a_class):
    set_check(a_class, "positive", points=5.0)


def no_rubric(a_class):
    set_part(a_class, rubric={})


def a_bonus(a_class):
    set_part(a_class, bonus=True)


def another_bar(a_class):
    set_check(a_class, "faster", bar={"t4": 1.7})


def bar_of_the_last(a_class):
    set_check(a_class, "much_faster", bar={"t4": 1.9})


def other_limits(a_class):
    set_part(a_class, limits=replace(a_class.kit.config.parts["part1_toy"].limits, seconds=1))


def other_baseline(a_class):
    a_class.kit = replace(a_class.kit, baseline={FILE: b"# other"})


def another_part(a_class):
    """A second part of the lab, which is like the first."""
    second = copy(a_class.kit.lab.parts[0])
    second.id = "part2_toy"
    config = a_class.kit.config
    config = replace(config, parts={**config.parts, "part2_toy": config.parts["part1_toy"]})
    lab = replace(a_class.kit.lab, parts=(*a_class.kit.lab.parts, second))
    a_class.kit = replace(a_class.kit, lab=lab, config=config)


# What changed -> what runs again of the student's side, and the score out of how much.
REGRADED = {
    "points": (points_up, set(), (8.5, 17)),
    "the rubric": (no_rubric, set(), (7, 12)),
    "a part that is a bonus now": (a_bonus, set(), (7, 14)),
    "a bar": (another_bar, {"amp"}, (7, 14)),
    "the bar of a check that nothing needs": (bar_of_the_last, {"amp"}, (7, 14)),
    "limits": (other_limits, {"single", "both", "amp"}, (7, 14)),
    "what the part is compared with": (other_baseline, {"single", "both", "amp"}, (7, 14)),
    "another part, of which nothing was handed in": (another_part, set(), (9, 28)),
    "what all parts share": (other_given, {"single", "both", "amp"}, (7, 14)),
}


@pytest.mark.parametrize(("change", "again", "score"), REGRADED.values(), ids=REGRADED)
def test_only_what_a_change_affects_runs_again(a_class, change, again, score):
    """Points alone run nothing; a bar runs the clock for its check and those that need it; the seed stays."""
    a_class.hand_in(ada="partly")
    a_class.grade(seed=7)
    notes = len(a_class.machine.all())
    change(a_class)
    a_class.grade(seed=8)
    ran = [note for note in a_class.machine.all()[notes:] if note[1] == "run"]
    result = a_class.result("ada")

    assert again == {note[4] for note in ran}
    assert score == (result.score, result.max_score)
    assert a_class.kit.config.parts["part1_toy"].bonus == result.parts[0].bonus
    assert (
        8 if change is other_given or change is other_limits or change is other_baseline else 7
    ) == result.seed


def test_a_changed_part_alone_runs_again(a_class):
    """The verdicts of the other are those of before, of their seed."""
    another_part(a_class)
    a_class.kit = replace(a_class.kit, baseline={FILE: b"base", "part2_toy.py": b"base"})
    a_class.hand_in(ada="first")
    (a_class.root / "in/ada/part2_toy.py").write_text("second")
    a_class.grade()
    before, notes = a_class.checks("ada"), len(a_class.machine.all())
    a_class.kit = replace(a_class.kit, baseline={FILE: b"base", "part2_toy.py": b"other"})
    a_class.grade()

    assert before == a_class.checks("ada")
    assert {"second", "other"} == {note[3] for note in a_class.machine.all()[notes:]}


def test_who_asks_for_a_seed_gets_all_with_that_one(a_class):
    """A verdict of other inputs does not count then."""
    a_class.hand_in(ada="a")
    a_class.grade(seed=7)
    points_up(a_class)
    a_class.grade(seed=8, asked_seed=8)

    assert (8, 2) == (a_class.result("ada").seed, a_class.machine.asked("time", "a"))


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
    """Two of a run, and one of the next; then no more."""
    a_class.hand_in(ada="noisy")
    first = a_class.grade()
    by_then = {owed.settled_by for owed in a_class.result("ada").owed if "faster" in owed.check}
    second = a_class.grade()
    asked = a_class.machine.asked("time", "noisy")

    assert ("waits", "graded") == (settled(first)["ada"], settled(second)["ada"])
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
