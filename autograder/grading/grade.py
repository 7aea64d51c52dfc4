"""One submission -> Result. Read it top to bottom: parts, checks, evidence, verdict.

`run` is what starts workers; a test hands in a fake one, and then nothing here needs torch, a process or a clock.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from autograder import checks
from autograder.checks import memory
from autograder.config import LabConfig
from autograder.errors import OwedError, SpoiltError, SubmissionError
from autograder.grading import scoring
from autograder.handed_in.imports import ALLOWED
from autograder.handed_in.notebook import NOTHING, Released
from autograder.handed_in.percent import cells_in, in_cells
from autograder.lab import Check, Lab, Part, Probe, conform
from autograder.model import (
    FORMAT,
    OWED,
    Bar,
    CheckResult,
    Compared,
    Device,
    Failed,
    Inconclusive,
    Job,
    Observation,
    Pair,
    PartResult,
    Result,
    Side,
    Submission,
    Timed,
    Unavailable,
    Verdict,
)

Run = Callable[[Job], Observation]
Clock = Callable[[Probe, Job, Job, float], Compared]
"""Times a probe, the student's job against the baseline's, and judges the ratio by a bar."""
Squeeze = Callable[[Job, Job, int, int], Observation]
"""Runs the student's job with so many bytes of the GPU left (the last), where the baseline's took so many."""
HANDED_OUT = (".perflab/", "given/", "baseline/", "handout/", "pytest.ini", "perflab-")
"""Comes with the template; the grader stages its own."""
SLOW_IMPORT_SECONDS = 1.5
SLOW_IMPORT = (
    "{} took {:.0f} s of CPU time to be imported, and each probe imports it anew: "
    'put what runs there below `if __name__ == "__main__":`'
)
WAITED = "processes did not end"  # as worker/rigs/forked.py says it
TIMEOUTS = 3
"""After so many probes that ran out of time no other of the part is started."""
OVERTIME = "this part was stopped after its time had run out in {}"
NOT_IMPORTED = "{} could not be imported: "  # as worker/raised.py says it
NOTHING_OF_THE_LAB = "nothing was taken: there is not one file of this lab in it"
NO_CLOCK = "nothing was timed in this run"
NO_BALLAST = "a grading run decides, which leaves the work no more of the GPU than the bar says"
NO_TOLERANCE = "nobody has measured yet how far timed windows may be from the baseline's, so they are not timed"


@dataclass(frozen=True)
class Kit:
    """What a lab is graded with: its parts, its points, and the files that graders and students share."""

    lab: Lab
    config: LabConfig
    given: Mapping[str, bytes]
    baseline: Mapping[str, bytes]
    released: Released = NOTHING

    @property
    def files(self) -> list[str]:
        """What of a submission is looked at."""
        return [*self.lab.files, *self.released.notebooks]


@dataclass(frozen=True)
class Session:
    """What is the same for every submission of one run of the grader."""

    run: Run
    device: Device
    worker_device: str
    """What torch calls it: cpu, cuda:0."""
    isolation: str
    started: str
    now: Callable[[], float]
    """Seconds; only to say how long grading took."""
    clock: Clock | None = None
    """Without one, what has to be timed is owed."""
    squeeze: Squeeze | None = None
    """Without one, a bar on memory of a GPU is owed."""
    alone: Run | None = None
    """Runs a job with nothing beside it on the machine."""
    rehearsal: bool = False
    """A student's own run: a file that cannot be read is told as a failure at once, and no person is asked."""


def beside_others(session: Session) -> Session:
    """Where other work may be why a job runs out of time: it is run once more, alone, and only that counts."""
    run, alone = session.run, session.alone

    def once_more(job: Job) -> Observation:
        seen = run(job)
        return alone(job) if alone and _out_of_time(seen) else seen

    return replace(session, run=once_more)


def _out_of_time(seen: Observation) -> bool:
    """Whether time was up, for all of it or for processes that it waited for."""
    return seen.ended == "timeout" or (seen.ended == "raised" and WAITED in seen.error)


def grade(
    submission: Submission,
    kit: Kit,
    session: Session,
    *,
    seed: int,
    attempt: int = 1,
    parts: Collection[str] = (),
    only: str = "",
    settled: Result | None = None,
    refusal: str = "",
) -> Result:
    """Grade a submission: every part, or the named ones; every check, or one and those it needs.

    What *settled*, its result so far, has settled is kept. With a *refusal* nothing is run: it is why the rest is owed.
    """
    begun = session.now()
    before = {part.id: part.checks for part in settled.parts} if settled else {}
    noted = settled.notes if settled else ()
    graders = [
        PartGrader(part, submission, kit, session, seed, before.get(part.id, ()), refusal)
        for part in kit.lab.parts
        if not parts or part.id in parts
    ]
    results = tuple(grader.result(only) for grader in graders)
    score, max_score, owed = scoring.totals(results)
    return Result(
        format=FORMAT,
        lab=kit.lab.name,
        lab_version=str(kit.config.version),
        submission=submission.name,
        submission_sha256=submission.sha256,
        attempt=attempt,
        seed=seed,
        started=session.started,
        seconds=round(session.now() - begun + (settled.seconds if settled else 0.0), 3),
        device=session.device,
        isolation=session.isolation,
        score=score,
        max_score=max_score,
        owed=owed,
        parts=results,
        notes=tuple(
            dict.fromkeys(
                [*_notes(submission), *noted, *(note for it in graders for note in it.notes)]
            )
        ),
    )


def _notes(submission: Submission) -> tuple[str, ...]:
    others = [name for name in submission.left_out if not name.startswith(HANDED_OUT)]
    return (
        *dict.fromkeys(_refusals(submission).values()),
        *submission.notes,
        *([f"not listed by the lab, so not looked at: {', '.join(others)}"] if others else []),
    )


def _refusals(submission: Submission) -> Mapping[str, str]:
    """Say of each file that was not taken why; where nothing was, for one and the same reason, that is said once."""
    refused = submission.refused
    if not submission.files and len(whole := {*refused.values()}) == 1 < len(refused):
        return dict.fromkeys(refused, f"nothing was taken: {whole.pop()}")
    taken = " was not taken: "  # said of a file, too, that a notebook stands for
    return {name: why if taken in why else f"{name}{taken}{why}" for name, why in refused.items()}


def _unread(submission: Submission, file: str) -> str:
    """Say why a part's file could not be read; nothing where it could, or where only other parts were handed in."""
    if file in submission.files:
        return ""
    return _refusals(submission).get(file, "" if submission.files else NOTHING_OF_THE_LAB)


class Settled(Exception):  # noqa: N818 a verdict is no error of ours
    """The evidence alone settles the check: the judge is not asked."""

    def __init__(self, verdict: Verdict, reason: str = "", *, whole_part: bool = False) -> None:
        """Keep the verdict, the word for it (timeout, memory, missing), and whether no probe of the part can run."""
        super().__init__(reason)
        self.whole_part = whole_part
        self.verdict = verdict
        self.reason = reason


class PartGrader:
    """One part of one submission; each probe runs at most once, each check is judged at most once."""

    def __init__(
        self,
        part: Part,
        submission: Submission,
        kit: Kit,
        session: Session,
        seed: int,
        before: Collection[CheckResult] = (),
        refusal: str = "",
    ) -> None:
        """Nothing runs before a check asks for it."""
        self.part, self.config = part, kit.config.parts[part.id]
        self._submission, self._kit, self._session, self._seed = submission, kit, session, seed
        self._seen: dict[tuple[str, Side], Observation] = {}
        self._timed: dict[tuple[str, float], Compared] = {}
        self._judged = _kept(part, before)
        self._refusal = refusal
        self._unread = "" if refusal or session.rehearsal else _unread(submission, part.file)
        self._cells = cells_in(submission.files.get(part.file, b""))
        self._late: list[str] = []
        """The student's probes that used up their time."""
        self._unusable = ""
        """Why no probe can run the student's file, told by the check named first."""

    def result(self, only: str = "") -> PartResult:
        """Judge every check of the part, or `only` one with those it needs."""
        chosen = [name for name in self.part.checks if only in ("", name)]
        for name in chosen:
            self.check(name)
        return self.judged()

    def judged(self) -> PartResult:
        """Add up what was judged so far; what a person reads comes after the last check."""
        rubric = self._rubric() if len(self._judged) == len(self.part.checks) else []
        judged = [self._judged[name] for name in self.part.checks if name in self._judged]
        return scoring.part_result(
            self.part.id, self.part.title, [*judged, *rubric], bonus=self.config.bonus
        )

    @property
    def notes(self) -> list[str]:
        """What is to be said beside the verdicts: that each probe was slow."""
        took = max(
            (seen.import_seconds for (_, side), seen in self._seen.items() if side == "student"),
            default=0.0,
        )
        return [SLOW_IMPORT.format(self.part.file, took)] * (took > SLOW_IMPORT_SECONDS)

    def check(self, name: str) -> CheckResult:
        """Judge one check, after those it needs."""
        if name not in self._judged:
            check = self.part.checks[name]
            needed = [self.check(need) for need in check.needs]
            self._judged[name] = (
                self._not_asked(check) or self._blocked(check, needed) or self._judge(check)
            )
        return self._judged[name]

    def _not_asked(self, check: Check) -> CheckResult | None:
        if self._refusal:
            return self._error(check, self._refusal)
        if self._unread:
            unread = self._result(check, Unavailable(self._unread))
            return replace(unread, outcome="unread")
        return None

    def _rubric(self) -> list[CheckResult]:
        """What a person reads, and what nobody has to: notes that are missing, or are as they were handed out."""
        pages = [file for file in self.part.artefacts.values() if file.endswith(".md")]
        return [
            self._read_by_a_person(name, points, pages)
            for name, points in self.config.rubric.items()
        ]

    def _read_by_a_person(self, name: str, points: float, pages: list[str]) -> CheckResult:
        title, reason = self.config.says[name], f"a person reads {', '.join(pages) or 'it'}"
        owed = CheckResult(name, "unavailable", "person", 0.0, points, title, reason=reason)
        if self._unread:
            return replace(owed, outcome="unread", reason=self._unread)
        if self._refusal or not pages or any(map(self._is_written, pages)):
            return owed
        there = [page for page in pages if page in self._submission.files]
        measured = f"{', '.join(there)} as it was handed out" if there else f"no {', '.join(pages)}"
        why = "none of its questions is answered" if there else "it was not handed in"
        try_ = f"answer the questions of {', '.join(pages)} in your own words"
        return replace(owed, outcome="failed", reason="", measured=measured, why=why, try_=try_)

    def _is_written(self, page: str) -> bool:
        """Whether a page may hold anything of the student's own: one that was not taken may."""
        if page in self._submission.refused:
            return True
        template = self._kit.released.texts.get(page, "")
        lines = self._submission.files.get(page, b"").decode(errors="replace").splitlines()
        return not {line.strip() for line in lines} <= {
            "",
            *(line.strip() for line in template.splitlines()),
        }

    def _blocked(self, check: Check, needed: list[CheckResult]) -> CheckResult | None:
        for need in needed:
            if need.owed:
                return self._result(check, Unavailable(f"waits for {need.id}, which is owed"))
            if need.outcome not in ("passed", "partial"):
                return self._result(check, None, reason=f"{need.id} did not pass")
        return None

    def _judge(self, check: Check) -> CheckResult:
        try:
            evidence = {name: self._evidence(name, check) for name in check.reads}
            return self._result(check, self._verdict(check, evidence))
        except Settled as settled:
            return self._settled(check, settled)
        except OwedError as why:
            return self._result(check, Unavailable(str(why)))
        except SpoiltError as why:
            return self._result(check, Inconclusive("", str(why)))
        except Exception as fault:
            return self._fault(check, fault)

    def _settled(self, check: Check, settled: Settled) -> CheckResult:
        """Tell once, of the first check that meets it, that the file cannot be used at all."""
        if not settled.whole_part:
            return self._result(check, settled.verdict, settled.reason)
        if self._unusable:
            return self._result(
                check, None, reason=f"{self.part.file} cannot be used: see {self._unusable}"
            )
        self._unusable = check.name
        return self._result(check, settled.verdict, settled.reason)

    def _verdict(self, check: Check, evidence: dict[str, Any]) -> Verdict:
        try:
            return check.judge(**evidence)
        except memory.Within as asked:
            return check.judge(**{**evidence, asked.probe: self._squeezed(asked)})

    def _squeezed(self, asked: memory.Within) -> Pair:
        """Let the student's side do it again in little memory; who does not finish has its verdict."""
        if self._session.squeeze is None:
            raise OwedError(NO_BALLAST)
        probe = self.part.probes[asked.probe]
        jobs = self.job(probe, "student"), self.job(probe, "baseline")
        seen = conform(probe, self._session.squeeze(*jobs, asked.full, asked.room))
        if seen.ended != "ok":
            measured = f"{asked.failed.measured}: {seen.error}"
            raise Settled(replace(asked.failed, measured=measured), seen.ended)
        return Pair(seen, self._run(probe, "baseline"), room_bytes=asked.room)

    def _evidence(self, name: str, check: Check) -> Any:
        """Find what a parameter of a check names."""
        if name == "bar":
            return self._bar(check)
        if name == "device":
            return self._session.device
        if name in self.part.artefacts:
            return _artefact(self._submission, self.part.artefacts[name], self.part)
        probe = self.part.probes[name]
        seen = self._observe(probe)
        if isinstance(seen, Timed) and "bar" in check.reads:
            return self._compare(probe, seen, self._bar(check))
        return seen

    def _compare(self, probe: Probe, seen: Timed, bar: Bar) -> Timed:
        """Let the clock run, once for each bar."""
        clock, key = self._session.clock, (probe.name, bar.value)
        if probe.within is None:
            return replace(seen, unavailable=NO_TOLERANCE)
        if clock is None:
            return seen
        if key not in self._timed:
            self._timed[key] = clock(
                probe, self.job(probe, "student"), self.job(probe, "baseline"), bar.value
            )
        found = self._timed[key]
        if found.ended != "ok":
            raise Settled(
                _failed_to_run(Observation(probe.name, found.ended, error=found.error)), found.ended
            )
        return replace(seen, compared=found)

    def _bar(self, check: Check) -> Bar:
        bar = self.config.checks[check.name].bar_for(self._session.device.tier)
        if bar is None:
            tier = self._session.device.tier
            why = (
                "needs a GPU"
                if tier == "cpu"
                else f"has no bar for device tier '{tier}': `perflab calibrate {self._kit.lab.name}`"
            )
            raise Settled(Unavailable(f"{check.name} {why}"))
        return bar

    def _observe(self, probe: Probe) -> Observation | Pair | Timed:
        student = self._run(probe, "student")
        if student.ended != "ok":
            whole = student.error.startswith(NOT_IMPORTED.format(self.part.file))
            raise Settled(_failed_to_run(student, probe.hints), student.ended, whole_part=whole)
        if not probe.pair:
            return student
        baseline = self._run(probe, "baseline")
        if baseline.ended != "ok":
            raise RuntimeError(f"probe {probe.name} on the baseline: {baseline.error}")
        return (
            Timed(student, baseline, unavailable=NO_CLOCK)
            if probe.timed
            else Pair(student, baseline)
        )

    def _run(self, probe: Probe, side: Side) -> Observation:
        key = (probe.name, side)
        if key not in self._seen:
            self._seen[key] = (
                self._ran(probe)
                if side == "student"
                else self._run_once(self.job(probe, side), probe)
            )
        return self._seen[key]

    def _ran(self, probe: Probe) -> Observation:
        """Run the student's side; what follows one that ran out of time has a third of it, so that a part ends."""
        if len(self._late) >= TIMEOUTS:
            return Observation(probe.name, "timeout", error=OVERTIME.format(", ".join(self._late)))
        job = self.job(probe, "student")
        if self._late:
            job = replace(job, limits=replace(job.limits, seconds=job.limits.seconds / 3))
        seen = self._run_once(job, probe)
        if seen.ended == "timeout":
            self._late.append(probe.name)
        return seen

    def _run_once(self, job: Job, probe: Probe) -> Observation:
        return conform(probe, self._session.run(job))

    def job(self, probe: Probe, side: Side) -> Job:
        """Say what a worker has to run for one side of a probe."""
        source = self._submission.files if side == "student" else self._kit.baseline
        if self.part.file not in source:
            why = self._submission.refused.get(self.part.file, "it was not handed in")
            raise Settled(
                Failed(
                    f"no {self.part.file}",
                    why,
                    f"hand in {self.part.file}, as the template names it",
                ),
                "missing",
                whole_part=True,
            )
        code = [self.part.file, *self.part.programs]
        files = {**{name: source[name] for name in code if name in source}, **self._kit.given}
        seed = probe_seed(self._seed, self.part.id, probe.name)
        lab, limits = self._kit.lab.name, self.config.limits
        return Job(
            lab, self.part.id, probe.name, side, seed, limits, files, self._session.worker_device
        )

    def _result(self, check: Check, verdict: Verdict | None, reason: str = "") -> CheckResult:
        points = self.config.checks[check.name].points
        bar = self.config.checks[check.name].bar_for(self._session.device.tier)
        title = check.title.replace("{bar}", str(bar or "the bar of this device"))
        if verdict is None:
            return CheckResult(
                check.name, "skipped", check.basis, 0.0, points, title, reason=reason
            )
        if isinstance(verdict, Unavailable):
            owed = CheckResult(
                check.name, "unavailable", check.basis, 0.0, points, title, reason=verdict.reason
            )
            return replace(owed, evidence=verdict.evidence)
        outcome, won = scoring.points_for(verdict, points)
        reason = verdict.reason if isinstance(verdict, Inconclusive) else reason
        why, try_ = getattr(verdict, "why", ""), getattr(verdict, "try_", "")
        measured, why = self._in_cells(verdict.measured), self._in_cells(why)
        return CheckResult(
            check.name,
            outcome,
            check.basis,
            won,
            points,
            title,
            measured,
            why,
            try_,
            reason,
            verdict.evidence,
        )

    def _in_cells(self, text: str) -> str:
        return in_cells(text, self.part.file, self._cells) if self._cells else text

    def _fault(self, check: Check, fault: Exception) -> CheckResult:
        last = traceback.extract_tb(fault.__traceback__)[-1]
        return self._error(
            check,
            f"{type(fault).__name__}: {fault} ({Path(last.filename).name}, line {last.lineno})",
        )

    def _error(self, check: Check, words: str) -> CheckResult:
        points = self.config.checks[check.name].points
        return CheckResult(check.name, "error", check.basis, 0.0, points, check.title, reason=words)


def _kept(part: Part, before: Collection[CheckResult]) -> dict[str, CheckResult]:
    """Keep what is not owed again and rests on nothing that is; a check stands below those it needs."""
    found = {check.id: check for check in before if OWED.get(check.outcome) != "again"}
    kept: dict[str, CheckResult] = {}
    for name, check in part.checks.items():
        if name in found and all(need in kept for need in check.needs):
            kept[name] = found[name]
    return kept


def probe_seed(seed: int, part: str, probe: str) -> int:
    """Derive one probe's seed, so that a single check can be run again alone with the same inputs."""
    return int.from_bytes(sha256(f"{seed}/{part}/{probe}".encode()).digest()[:6], "big")


def _artefact(submission: Submission, file: str, part: Part) -> Any:
    if file in submission.refused:
        raise Settled(
            Failed(f"{file} was not taken", submission.refused[file], f"write {file} again"),
            "missing",
        )
    if file not in submission.files:
        in_notebook = cells_in(submission.files.get(part.file, b""))
        run = "run your notebook to its end" if in_notebook else f"python {part.file}"
        why, try_ = f"{part.file} writes it when it is run", f"{run}, and keep {file} beside it"
        if file in part.made_by:
            why, try_ = (
                f"it is handed in beside {part.file}, which does not write it",
                part.made_by[file],
            )
        raise Settled(Failed(f"no {file} here yet", why, try_), "missing")
    try:
        return checks.read(submission.files[file], file)
    except SubmissionError as problem:
        why, try_ = str(problem), f"write {file} again and hand in what your code wrote"
        raise Settled(Failed(f"{file} cannot be read", why, try_), "refused") from None


# How a worker ended -> what was measured, and what to try. The why is the worker's own words.
ENDS = {
    "raised": (
        "your code raised an exception",
        "make that call at the end of your own file and read the traceback",
    ),
    "timeout": (
        "no answer in time",
        "look for an endless loop, or for far more work than the part asks for",
    ),
    "memory": (
        "too much memory",
        "look for tensors that are kept from step to step, such as losses with their graph",
    ),
    "crash": (
        "the process died",
        "let functions return; do not end the process or start processes that outlive it",
    ),
    "tampering": (
        "its processes worked while they were stopped",
        "let nothing continue a process that the grader has stopped, and start none that does",
    ),
    "refused": (
        "the answer was refused",
        "return what the handout names, and leave the process that runs your code alone",
    ),
}


ANOTHER_KIND = (
    "something else was returned",
    "return what the docstring names; dict(...), ._asdict() or dataclasses.asdict(...) make a dict, .tolist() a list",
)

# Words of a worker's end that say more than the kind of end does -> what was measured, and what to try.
TELLING = {
    "No module named '": (
        "a module is missing here",
        f"a part's file may import {ALLOWED}, and none of your other files: copy what it needs",
    ),
    "SyntaxError: ": (
        "the file cannot be read as Python",
        "open it at that line; `python -m py_compile` with the file's name shows the place",
    ),
    "is not written yet": (
        "nothing yet",
        "fill in the function; the handout says what is asked and how it is judged",
    ),
    "defines no function": (
        "a function is missing",
        "define it, under the name that the template has; in a notebook, in a code cell",
    ),
    "and there is no JSON object": (
        "the program printed no figures",
        "print(json.dumps(figures)) as the last line of its output",
    ),
    "instead of a dict": ANOTHER_KIND,
    "; return a list of": ANOTHER_KIND,
    " returned no '": ANOTHER_KIND,
    "'_GeneratorContextManager' object has no attribute": (
        "a context was entered a second time",
        "what a function with @contextmanager returns works once; write a class with __enter__ and __exit__",
    ),
    "CheckpointError": (
        "the second run of a segment saved other tensors than the first",
        "leave eval(), track_running_stats and random numbers as they were; a momentum of 0 holds running statistics",
    ),
    "FailOnRecompileLimitHit": (
        "compiled in pieces",
        "compile the whole model, torch.compile(model, ...), and not its layers: each is a graph of its own",
    ),
    "in a timed window": (
        "other results than the baseline's",
        "call both on the same fresh inputs, many times, and compare; each call has to compute its own result",
    ),
}


def _failed_to_run(seen: Observation, hints: Mapping[str, str] | None = None) -> Failed:
    measured, try_ = next(
        (said for words, said in TELLING.items() if words in seen.error), ENDS[seen.ended]
    )
    try_ = (hints or {}).get(seen.ended, try_)
    return Failed(measured, seen.error, try_, {"log": seen.log[-2000:]} if seen.log else {})
