"""Submissions that are graded in rounds by workers that are fakes."""

from __future__ import annotations

import json
import logging
import os
import signal
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from autograder.batch import store
from autograder.batch.journal import Journal
from autograder.batch.lanes import Work
from autograder.batch.rounds import Rounds
from autograder.model import Compared, Observation
from autograder.result_file import load_result
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

    def events(self, journal, *, jobs=2, seed=7, asked_seed=None, twice=0.0, before=None):
        """Grade all that was handed in."""
        found = {path.name: path for path in sorted((self.root / "in").iterdir())}
        work = self.work()
        with work.open() as session:
            yield from Rounds(
                work, session, journal, seed, jobs, asked_seed, twice, before or {}
            ).run(found)

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


def settled(happened):
    """What became of each submission at last."""
    return {name: what for what, name in happened if what in ("graded", "waits", "kept", "aside")}
