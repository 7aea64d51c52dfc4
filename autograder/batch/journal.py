"""The journal of a folder of results: every attempt, written before it starts and ended once, and what follows of it.

An attempt without an end was cut off: the whole grader was gone. On a cluster a node can be gone; that is written down.
result.json is the product; its hash is here.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, Literal, NamedTuple

from autograder.batch.history import History
from autograder.batch.journal_file import JournalFile
from autograder.errors import UserError
from autograder.handed_in.folders import JOURNAL
from autograder.results.drift import Drift

Outcome = Literal["graded", "timing", "again", "lost", "stopped", "cut off", "twice"]
"""Settled; waits for the clock; undecided; its grader died; someone stopped it; its node died; a second grade."""


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

    @property
    def so_far(self) -> str:
        """Say how far it came; results may be of earlier sessions, of others."""
        return f"{self.graded} of {self.submissions} submissions have a result"


class Before(NamedTuple):
    """The latest result on the same ground, and what its verdicts depended on, part by part."""

    result_sha256: str = ""
    parts: str = "{}"


class Ground(NamedTuple):
    """What a result rested on beside the files and the machine; empty where the journal has only other results."""

    code: str = ""
    parts: str = ""


class Conditions(NamedTuple):
    """Of the latest session: what a run into the same folder is not to change unsaid."""

    device_kind: str = ""
    parts: tuple[str, ...] = ()


class Journal(JournalFile):
    """journal.sqlite below --out; a context. One process writes it."""

    def __init__(self, folder: Path, now: Any = lambda: datetime.now(UTC)) -> None:
        """Open the journal, or begin one."""
        super().__init__(folder)
        self._now = now
        self.key = ""
        self._ground = ""
        self._session = 0

    def last(self) -> Last | None:
        """Describe the latest session, if there is one."""
        rows = self._ask(
            "SELECT lab, seed, submissions, session IS NOT NULL"
            " FROM sessions LEFT JOIN finished ON session = id ORDER BY id DESC LIMIT 1"
        )
        [(graded,)] = self._ask(
            "SELECT count(DISTINCT submission) FROM story WHERE result_sha256 != ''"
        )
        return next(
            (Last(lab, seed, many, graded, bool(done)) for lab, seed, many, done in rows), None
        )

    def conditions(self) -> Conditions:
        """Say on what kind of device the latest session ran, and what parts it graded."""
        rows = self._ask("SELECT device, parts FROM sessions ORDER BY id DESC LIMIT 1")
        read = ((json.loads(device), json.loads(parts)) for device, parts in rows)
        return next((Conditions(str(of["kind"]), (*parts,)) for of, parts in read), Conditions())

    def seed_for(self, lab: str, asked: int | None, *, resume: bool) -> int:
        """Choose the seed of a session; work that is not finished goes on with its own, and only when told to."""
        last = self.last()
        folder = self.file.parent
        if last is not None and last.lab != lab:
            raise UserError(f"{folder}: holds results of lab '{last.lab}'; choose another --out")
        if last is None or last.finished:
            return secrets.randbits(48) if asked is None else asked
        if not resume:
            mend = "go on with --resume, or choose another --out"
            raise UserError(f"{folder}: a grading here was not finished ({last.so_far}); {mend}")
        if asked not in (None, last.seed):
            raise UserError(
                f"--seed {asked}: the grading in {folder} has seed {last.seed}; leave --seed out"
            )
        return last.seed

    def begin(
        self, circumstances: Circumstances, seed: int, submissions: int, facts: Mapping[str, Any]
    ) -> None:
        """Begin a session; what follows belongs to it."""
        self.key = circumstances.key
        self._ground = circumstances.ground
        self._session = self._add(
            "sessions",
            **asdict(circumstances),
            key=self.key,
            ground=self._ground,
            began=self._stamp(),
            seed=seed,
            submissions=submissions,
            facts=json.dumps(facts),
        )

    def start(self, submission: str, digest: str, *, twice: bool = False) -> int:
        """Note an attempt that is about to start, and return its number; on disk when this returns."""
        return self._add(
            "attempts",
            session=self._session,
            submission=submission,
            sha256=digest,
            began=self._stamp(),
            twice=int(twice),
        )

    def end(self, attempt: int, outcome: Outcome, result_sha256: str = "", note: str = "") -> None:
        """Note what became of an attempt."""
        self._add(
            "ends",
            attempt=attempt,
            ended=self._stamp(),
            outcome=outcome,
            result_sha256=result_sha256,
            note=note,
        )

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
        rows = self._ask(
            "SELECT outcome, result_sha256 FROM story WHERE submission = ? AND sha256 = ? AND key = ?"
            " AND seed = coalesce(?, seed) AND NOT twice ORDER BY id",
            submission, digest, self.key, seed,
        )  # fmt: skip
        results = [result for _, result in rows if result]
        return History(tuple(outcome for outcome, _ in rows), results[-1] if results else "")

    def before(self, submission: str, digest: str, seed: int | None = None) -> Before:
        """Look up the latest result of these very files on this ground, whatever has become of the parts since."""
        rows = self._ask(
            "SELECT result_sha256, parts FROM story WHERE submission = ? AND sha256 = ? AND ground = ?"
            " AND seed = coalesce(?, seed) AND result_sha256 != '' ORDER BY id DESC LIMIT 1",
            submission, digest, self._ground, seed,
        )  # fmt: skip
        return Before(*rows[0]) if rows else Before()

    def made_under(self, submission: str, result_sha256: str) -> Ground | None:
        """Look up what a very result rested on; nothing about a submission that was never graded here."""
        rows = self._ask(
            "SELECT result_sha256 = ?, code, parts FROM attempts JOIN sessions ON session = sessions.id"
            " JOIN ends ON attempt = attempts.id WHERE submission = ? AND result_sha256 != '' AND NOT twice"
            " ORDER BY 1 DESC, attempts.id DESC LIMIT 1",
            result_sha256, submission,
        )  # fmt: skip
        return next((Ground(code, parts) if same else Ground() for same, code, parts in rows), None)

    def choose(self, share: float, may: Callable[[str], bool] = lambda _: True) -> list[str]:
        """Draw who is graded twice, this share of all that was ever settled here, among those who *may* be.

        Who was drawn before a kill stays.
        """
        drawn = self._names(
            "SELECT submission FROM chosen JOIN through WHERE session > through.last"
        )
        settled = self._names(
            "SELECT submission FROM story WHERE open AND outcome = 'graded' AND key = ?", self.key
        )
        [(ever, already, seed)] = self._ask(
            "SELECT (SELECT count(*) FROM (SELECT DISTINCT submission, key FROM story WHERE outcome = 'graded')),"
            " (SELECT count(*) FROM chosen), (SELECT seed FROM sessions WHERE id = ?)",
            self._session,
        )
        candidates = sorted(settled - drawn)
        missing = max(int(share * ever + 0.5) - already, 0)
        mixed = Random(seed).sample(candidates, len(candidates))  # noqa: S311 the same after a kill
        lot = list(islice(filter(may, mixed), missing))
        for name in lot:
            self._add("chosen", session=self._session, submission=name)
        done = self._names(
            "SELECT submission FROM story WHERE open AND twice AND outcome IN ('twice', 'lost')"
        )
        return sorted((drawn | {*lot}) - done)

    def drift(self) -> list[Drift]:
        """List who was graded twice, and what came out differently."""
        rows = self._ask(
            "SELECT submission, outcome, note FROM story WHERE twice AND outcome IN ('twice', 'lost') ORDER BY id"
        )
        return [drift for row in rows for drift in _drift(*row)]

    def cut_off(self) -> dict[str, int]:
        """Count how often a grader was gone under a submission that has had no result since."""
        rows = self._ask(
            "SELECT submission, count(*) FROM story WHERE outcome = 'cut off' AND id > ("
            " SELECT coalesce(max(id), 0) FROM story AS judged"
            " WHERE judged.submission = story.submission AND judged.result_sha256 != '') GROUP BY submission"
        )
        return dict(rows)

    def forget(self, submission: str) -> int:
        """Remove every row about a submission, and say that somebody was removed; return how many attempts it had."""
        attempts = self._remove(submission)
        self._add("forgotten", at=self._stamp(), attempts=attempts)
        return attempts

    def _stamp(self) -> str:
        return str(self._now().isoformat(timespec="milliseconds"))


def _drift(name: str, outcome: str, note: str) -> list[Drift]:
    if outcome == "lost":
        return [Drift(name, "all", "graded", note)]
    return [Drift(name, *moved) for moved in json.loads(note)] or [Drift(name)]


def conditions(folder: Path) -> Conditions:
    """Say how the results of a folder were made last; nothing where none were."""
    if not (folder / JOURNAL).is_file():
        return Conditions()
    with Journal(folder) as journal:
        return journal.conditions()


def unfinished(folder: Path) -> str:
    """Say that the latest session did not get through; pages do not need a journal that is whole."""
    last = None
    if (folder / JOURNAL).is_file():
        with suppress(UserError), Journal(folder) as journal:
            last = journal.last()
    if last is None or last.finished:
        return ""
    counted = f": {last.so_far}" if last.graded < last.submissions else ""
    return f"The last grading is not finished{counted}. Go on with perflab grade and --resume."
