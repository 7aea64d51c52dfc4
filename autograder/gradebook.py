"""The journal of a folder of results: every attempt, written before it starts and ended once. Rows are only added.

    sessions   one run of the grader: under which circumstances, with which seed
    attempts   one submission, begun;  ends  what became of it;  finished  sessions that got through

An attempt without an end was cut off: the whole grader was gone. On a cluster a node can be gone; that is written down.
result.json is the product; its hash is here.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from autograder import __version__
from autograder.errors import UserError

FILE = "journal.sqlite"
FORMAT = 1  # 1: the first.
PATIENCE_SECONDS = 30.0  # with another program that reads or copies the journal
MOST_TRIES = 3  # of what is owed again
MOST_LOST = 2  # graders that one submission may take down
MOST_CUT_OFF = 5  # times that the whole grader may be gone under it: mostly no doing of its own
TABLES = {
    "about": "format INTEGER, perflab TEXT",
    "sessions": "id INTEGER PRIMARY KEY, began TEXT, key TEXT, ground TEXT, seed INTEGER, submissions INTEGER, "
    "lab TEXT, lab_version TEXT, code TEXT, grader TEXT, device TEXT, isolation TEXT, only TEXT, parts TEXT, "
    "facts TEXT",
    "attempts": "id INTEGER PRIMARY KEY, session INTEGER REFERENCES sessions, submission TEXT, sha256 TEXT, began TEXT",
    "ends": "attempt INTEGER PRIMARY KEY REFERENCES attempts, ended TEXT, outcome TEXT, result_sha256 TEXT, note TEXT",
    "finished": "session INTEGER PRIMARY KEY REFERENCES sessions, ended TEXT",
}

Outcome = Literal["graded", "timing", "again", "lost", "stopped", "cut off"]
"""Settled; waits for the clock; something is undecided; its grader died; someone stopped the grader; the node died."""
Standing = Literal["new", "timing", "again", "settled", "person", "aside"]


@dataclass(frozen=True)
class Circumstances:
    """All that a grade depends on beside the submission and the seed."""

    lab: str
    lab_version: str
    code: str
    """Hash of what all parts share: given/, judges, the worker's toolkit."""
    grader: str
    device: str
    isolation: str
    only: str
    """The one check that was asked for."""
    parts: str
    """JSON: of each chosen part, what its verdicts and its points depend on."""

    @property
    def key(self) -> str:
        """Name them in one word."""
        return sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()

    @property
    def ground(self) -> str:
        """Name all but the parts: on the same ground some verdicts may still count."""
        return replace(self, parts="").key


class Last(NamedTuple):
    """The latest session of a journal."""

    lab: str
    seed: int
    submissions: int
    graded: int
    """Submissions that have a result."""
    finished: bool


class Before(NamedTuple):
    """The latest result on the same ground, and what its verdicts depended on, part by part."""

    result_sha256: str = ""
    parts: str = "{}"


@dataclass(frozen=True)
class History:
    """What became of the attempts at one submission under the same circumstances."""

    outcomes: tuple[str, ...] = ()
    """`cut off` where there is no end."""
    result_sha256: str = ""
    """Of the latest result."""

    @property
    def tries(self) -> int:
        """Attempts that left something undecided."""
        return self.outcomes.count("again")

    @property
    def standing(self) -> Standing:
        """Say what is next."""
        if self.outcomes.count("lost") >= MOST_LOST or self.outcomes.count("cut off") >= MOST_CUT_OFF:
            return "aside"
        judged = [outcome for outcome in self.outcomes if outcome in ("graded", "timing", "again")]
        match judged[-1:]:
            case ["graded"]:
                return "settled"
            case ["again"]:
                return "again" if self.tries < MOST_TRIES else "person"
            case ["timing"]:
                return "timing"
        return "new"


class Journal:
    """journal.sqlite below --out; a context. One process writes it."""

    def __init__(self, folder: Path, now: Any = lambda: datetime.now(UTC)) -> None:
        """Open the journal, or begin one."""
        self.file, self._now = folder / FILE, now
        self.key, self._ground, self._session = "", "", 0
        with self._said():
            folder.mkdir(parents=True, exist_ok=True)
            self._rows = sqlite3.connect(self.file, timeout=PATIENCE_SECONDS, isolation_level=None)
            if not self._rows.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                self._create()
            self._check()
            # A commit is one wait for the disk, not four, and still survives a power cut.
            self._rows.execute("PRAGMA journal_mode = WAL")
            self._rows.execute("PRAGMA synchronous = FULL")

    def __enter__(self) -> Self:
        """Nothing more to open."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._rows.close()

    def last(self) -> Last | None:
        """Describe the latest session, if there is one."""
        with self._said():
            row = self._rows.execute(
                "SELECT id, lab, seed, submissions, session IS NOT NULL"
                " FROM sessions LEFT JOIN finished ON session = id ORDER BY id DESC"
            ).fetchone()
            if row is None:
                return None
            graded = self._rows.execute(
                "SELECT count(DISTINCT submission) FROM attempts JOIN ends ON attempt = attempts.id"
                " WHERE result_sha256 != ''"
            ).fetchone()[0]
        return Last(row[1], row[2], row[3], graded, bool(row[4]))

    def seed_for(self, lab: str, asked: int | None, *, resume: bool) -> int:
        """Choose the seed of a session; work that is not finished goes on with its own, and only when told to."""
        last, folder = self.last(), self.file.parent
        if last is not None and last.lab != lab:
            raise UserError(f"{folder}: holds results of lab '{last.lab}'; choose another --out")
        if last is None or last.finished:
            return secrets.randbits(48) if asked is None else asked
        if not resume:
            so_far = f"{last.graded} of {last.submissions} submissions have a result"
            mend = "go on with --resume, or choose another --out"
            raise UserError(f"{folder}: a grading here was not finished ({so_far}); {mend}")
        if asked not in (None, last.seed):
            raise UserError(f"--seed {asked}: the grading in {folder} has seed {last.seed}; leave --seed out")
        return last.seed

    def begin(self, under: Circumstances, seed: int, submissions: int, facts: Mapping[str, Any]) -> None:
        """Begin a session; what follows belongs to it."""
        names = {"key": under.key, "ground": under.ground}
        row = {**asdict(under), **names, "began": self._stamp(), "seed": seed, "submissions": submissions}
        self._session = self._add("sessions", **row, facts=json.dumps(facts))
        self.key, self._ground = under.key, under.ground

    def start(self, submission: str, digest: str) -> int:
        """Note an attempt that is about to start, and return its number; on disk when this returns."""
        return self._add("attempts", session=self._session, submission=submission, sha256=digest, began=self._stamp())

    def end(self, attempt: int, outcome: Outcome, result_sha256: str = "", note: str = "") -> None:
        """Note what became of an attempt."""
        self._add("ends", attempt=attempt, ended=self._stamp(), outcome=outcome, result_sha256=result_sha256, note=note)

    def stop(self) -> None:
        """Note that whatever of this session is under way was stopped; it counts against nobody."""
        with self._said():
            self._rows.execute(
                "INSERT INTO ends SELECT id, ?, 'stopped', '', '' FROM attempts LEFT JOIN ends ON attempt = id"
                " WHERE session = ? AND attempt IS NULL",
                (self._stamp(), self._session),
            )

    def finish(self) -> None:
        """Note that the session got through all of its submissions."""
        self._add("finished", session=self._session, ended=self._stamp())

    def history(self, submission: str, digest: str, seed: int | None = None) -> History:
        """Look up the attempts at these very files under the present circumstances, with this seed if one is given."""
        with self._said():
            rows = self._rows.execute(
                "SELECT coalesce(outcome, 'cut off'), coalesce(result_sha256, '') FROM attempts"
                " JOIN sessions ON session = sessions.id LEFT JOIN ends ON attempt = attempts.id"
                " WHERE submission = ? AND sha256 = ? AND key = ? AND seed = coalesce(?, seed) ORDER BY attempts.id",
                (submission, digest, self.key, seed),
            ).fetchall()
        results = [result for _, result in rows if result]
        return History(tuple(outcome for outcome, _ in rows), results[-1] if results else "")

    def before(self, submission: str, digest: str, seed: int | None = None) -> Before:
        """Look up the latest result of these very files on this ground, whatever has become of the parts since."""
        with self._said():
            row = self._rows.execute(
                "SELECT result_sha256, parts FROM attempts JOIN sessions ON session = sessions.id"
                " JOIN ends ON attempt = attempts.id WHERE submission = ? AND sha256 = ? AND ground = ?"
                " AND seed = coalesce(?, seed) AND result_sha256 != '' ORDER BY attempts.id DESC",
                (submission, digest, self._ground, seed),
            ).fetchone()
        return Before(*row) if row else Before()

    def cut_off(self) -> set[str]:
        """Name the submissions that were being graded when a grader was gone."""
        with self._said():
            rows = self._rows.execute(
                "SELECT submission FROM attempts LEFT JOIN ends ON attempt = attempts.id WHERE attempt IS NULL"
            )
            return {name for (name,) in rows}

    def _create(self) -> None:
        script = "".join(f"CREATE TABLE {name} ({columns});" for name, columns in TABLES.items())
        for name in TABLES:
            for change in ("UPDATE", "DELETE"):
                script += (
                    f"CREATE TRIGGER {name}_{change} BEFORE {change} ON {name}"
                    " BEGIN SELECT raise(ABORT, 'rows are only added'); END;"
                )
        script += "CREATE INDEX by_submission ON attempts (submission);"
        script += f"INSERT INTO about VALUES ({FORMAT}, '{__version__}');"  # noqa: S608 both are ours
        self._rows.executescript(f"BEGIN EXCLUSIVE; {script} COMMIT;")

    def _check(self) -> None:
        ours = self._rows.execute("SELECT count(*) FROM sqlite_master WHERE name = 'about'").fetchone()[0]
        found = self._rows.execute("SELECT format FROM about").fetchone()[0] if ours else "of another program"
        if found != FORMAT:
            self._rows.close()
            raise UserError(
                f"{self.file}: format {found}; this perflab reads format {FORMAT}; choose another --out, or go on with"
                " the perflab that wrote it"
            )

    def _add(self, table: str, **row: Any) -> int:
        marks = ", ".join("?" * len(row))
        with self._said():
            # table and columns are ours
            done = self._rows.execute(
                f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})",  # noqa: S608
                tuple(row.values()),
            )
        return int(done.lastrowid or 0)

    def _stamp(self) -> str:
        return str(self._now().isoformat(timespec="milliseconds"))

    @contextmanager
    def _said(self) -> Iterator[None]:
        """Say in one line what is wrong with the file; nothing that was written before is lost."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            words = str(error)
            mend = next((advice for part, advice in ADVICE.items() if part in words), "see that it can be written")
            raise UserError(f"{self.file}: {words}; {mend}, then go on with --resume") from None


ADVICE = {
    "locked": "another program holds it; close that",
    "full": "free some space",
    "No space left": "free some space",
    "not a database": "it is no journal, or a damaged one; move it away",
    "malformed": "it is damaged; move it away",
    "readonly": "it may not be written; mend its permissions",
    "unable to open": "it may not be written; mend the permissions of its folder",
}
