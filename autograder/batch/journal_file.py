"""journal.sqlite as a file: its tables, to which rows are only added, and in one line what is wrong with it.

sessions   one run of the grader: under which circumstances, with which seed
attempts   one submission, begun;  ends  what became of it;  finished  sessions that got through
chosen     by lot, to be graded twice;  forgotten  that somebody's rows were removed, not whose
"""

from __future__ import annotations

import errno
import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

from autograder import __version__
from autograder.errors import UserError
from autograder.handed_in.folders import JOURNAL

FORMAT = 1  # 1: the first.
PATIENCE_SECONDS = 30.0  # with another program that reads or copies the journal
TABLES = {
    "about": "format INTEGER, perflab TEXT",
    "sessions": "id INTEGER PRIMARY KEY, began TEXT, key TEXT, ground TEXT, seed INTEGER, submissions INTEGER, "
    "lab TEXT, lab_version TEXT, code TEXT, grader TEXT, device TEXT, isolation TEXT, only TEXT, parts TEXT, "
    "facts TEXT",
    "attempts": "id INTEGER PRIMARY KEY, session INTEGER REFERENCES sessions, submission TEXT, sha256 TEXT, "
    "began TEXT, twice INTEGER",
    "chosen": "id INTEGER PRIMARY KEY, session INTEGER REFERENCES sessions, submission TEXT",
    "ends": "attempt INTEGER PRIMARY KEY REFERENCES attempts, ended TEXT, outcome TEXT, result_sha256 TEXT, note TEXT",
    "finished": "session INTEGER PRIMARY KEY REFERENCES sessions, ended TEXT",
    "forgotten": "id INTEGER PRIMARY KEY, at TEXT, attempts INTEGER",
}
VIEWS = {
    # the last session that was finished: what came after it is one run, stopped or killed and gone on with
    "through": "SELECT coalesce(max(session), 0) AS last FROM finished",
    # every attempt, with what became of it and under which circumstances
    "story": "SELECT attempts.id, submission, sha256, twice, session > through.last AS open, key, ground, seed, parts,"
    " coalesce(outcome, 'cut off') AS outcome, coalesce(result_sha256, '') AS result_sha256, note"
    " FROM attempts JOIN sessions ON session = sessions.id JOIN through LEFT JOIN ends ON attempt = attempts.id",
}
GUARDED = [(name, change) for name in TABLES for change in ("UPDATE", "DELETE")]
GUARDS = "".join(
    f"CREATE TRIGGER {name}_{change} BEFORE {change} ON {name} BEGIN SELECT raise(ABORT, 'rows are only added'); END;"
    for name, change in GUARDED
)
FULL = (errno.ENOSPC, errno.EDQUOT)
NO_ROOM = "free some space"
WRITABLE = "see that it can be written"
ADVICE = {
    "SQLITE_BUSY": "another program holds it; close that",
    "SQLITE_LOCKED": "another program holds it; close that",
    "SQLITE_FULL": NO_ROOM,
    "SQLITE_NOTADB": "it is no journal, or a damaged one; move it away",
    "SQLITE_CORRUPT": "it is damaged; move it away",
    "SQLITE_READONLY": "it may not be written; mend its permissions",
    "SQLITE_CANTOPEN": "it may not be written; mend the permissions of its folder",
}


class JournalFile:
    """The open file; a context."""

    def __init__(self, folder: Path) -> None:
        """Open the file, or begin one."""
        self.file = folder / JOURNAL
        with self._said():
            folder.mkdir(parents=True, exist_ok=True)
            self._rows = sqlite3.connect(self.file, timeout=PATIENCE_SECONDS, isolation_level=None)
            with ExitStack() as refused:
                refused.callback(self._rows.close)
                self._open()
                refused.pop_all()

    def __enter__(self) -> Self:
        """Nothing more to open."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._rows.close()

    def _ask(self, query: str, *values: Any) -> list[Any]:
        with self._said():
            return self._rows.execute(query, values).fetchall()

    def _names(self, query: str, *values: Any) -> set[str]:
        return {name for (name,) in self._ask(query, *values)}

    def _open(self) -> None:
        if not self._rows.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            self._create()
        self._check()
        # A commit is one wait for the disk, not four, and still survives a power cut.
        self._rows.execute("PRAGMA journal_mode = WAL")
        self._rows.execute("PRAGMA synchronous = FULL")

    def _create(self) -> None:
        script = "".join(f"CREATE TABLE {name} ({columns});" for name, columns in TABLES.items())
        script += GUARDS + "".join(
            f"CREATE VIEW {name} AS {query};" for name, query in VIEWS.items()
        )
        script += "CREATE INDEX by_submission ON attempts (submission);"
        script += f"INSERT INTO about VALUES ({FORMAT}, '{__version__}');"  # noqa: S608 both are ours
        self._rows.executescript(f"BEGIN EXCLUSIVE; {script} COMMIT;")

    def _check(self) -> None:
        ours = self._rows.execute(
            "SELECT count(*) FROM sqlite_master WHERE name = 'about'"
        ).fetchone()[0]
        kept_format = (
            self._rows.execute("SELECT format FROM about").fetchone()[0]
            if ours
            else "of another program"
        )
        if kept_format != FORMAT:
            raise UserError(
                f"{self.file}: format {kept_format}; this perflab reads format {FORMAT}; "
                "choose another --out, or go on with the perflab that wrote it"
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

    def _remove(self, submission: str) -> int:
        """Remove every row about a submission, from free pages of the file too; return how many attempts it had."""
        mine = "(SELECT id FROM attempts WHERE submission = :name)"
        with self._said():
            self._rows.create_function("unnamed", 1, lambda facts: _unnamed(facts, submission))
            self._rows.execute("BEGIN EXCLUSIVE")
            [(attempts,)] = self._ask(
                "SELECT count(*) FROM attempts WHERE submission = ?", submission
            )
            for trigger in GUARDED:
                self._rows.execute("DROP TRIGGER {}_{}".format(*trigger))
            for change in (
                f"DELETE FROM ends WHERE attempt IN {mine}",  # noqa: S608 ours
                "DELETE FROM attempts WHERE submission = :name",
                "DELETE FROM chosen WHERE submission = :name",
                "UPDATE sessions SET facts = unnamed(facts) WHERE :name != ''",
            ):
                self._rows.execute(change, {"name": submission})
            for guard in filter(None, GUARDS.split("END;")):
                self._rows.execute(f"{guard}END;")
            self._rows.execute("COMMIT")
            self._rows.execute("VACUUM")
            self._rows.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return int(attempts)

    @contextmanager
    def _said(self) -> Iterator[None]:
        """Say in one line what is wrong with the file; nothing that was written before is lost."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            advice = _advice(error)
            raise UserError(f"{self.file}: {error}; {advice}, then go on with --resume") from None


def _advice(error: sqlite3.Error | OSError) -> str:
    if isinstance(error, OSError):
        return NO_ROOM if error.errno in FULL else WRITABLE
    # Extended codes, such as SQLITE_IOERR_WRITE, begin with the name of the plain one.
    name = getattr(error, "sqlite_errorname", "")
    return next((advice for code, advice in ADVICE.items() if name.startswith(code)), WRITABLE)


def _unnamed(facts: str, name: str) -> str:
    """Take a name out of the command that a session was started with."""
    whole = json.loads(facts)
    said = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    return json.dumps(
        {**whole, "command": [said.sub("(forgotten)", word) for word in whole.get("command", [])]}
    )
