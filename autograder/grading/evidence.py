"""What the checks of one part rest on: its probes run on both sides, the files that were handed in, bars and times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

from autograder import checks
from autograder.errors import OwedError, SubmissionError
from autograder.grading import unread
from autograder.grading.failures import cause_of, failed_to_run
from autograder.grading.kit import Kit, Session
from autograder.handed_in.percent_cells import cells_in
from autograder.lab import Check, Part, Probe, conform
from autograder.model import (
    Bar,
    Cause,
    Compared,
    Failed,
    Final,
    Job,
    NeedsRoom,
    Observation,
    Pair,
    Side,
    Submission,
    Timed,
    Unavailable,
)

TIMEOUTS = 3
"""After so many probes that ran out of time no other of the part is started."""
SHORTENED = (
    "was stopped after {:g} s, because an earlier run of this part had already used up its {:g} s"
)
NOT_RUN = f"not run: {TIMEOUTS} earlier runs of this part had already run out of time"
NO_CLOCK = "nothing was timed in this run"
NO_BALLAST = "a grading run decides, which leaves the work no more of the GPU than the bar says"
NO_TOLERANCE = (
    "nobody has measured yet how far timed windows may be from the baseline's, "
    "so they are not timed"
)


class Settled(Exception):  # noqa: N818 a verdict is no error of ours
    """The evidence alone settles the check: the judge is not asked."""

    def __init__(self, verdict: Final, cause: Cause = "", *, whole_part: bool = False) -> None:
        """Keep the verdict, what it comes of, and whether no probe of the part can run."""
        super().__init__(cause)
        self.verdict = verdict
        self.cause: Cause = cause
        self.whole_part = whole_part


class Evidence:
    """Finds what checks read; each probe runs at most once on each side, and is timed once for each bar."""

    def __init__(
        self, part: Part, submission: Submission, kit: Kit, session: Session, seed: int
    ) -> None:
        """Nothing runs before a check asks for it."""
        self._part = part
        self._config = kit.config.parts[part.id]
        self._submission = submission
        self._kit = kit
        self._session = session
        self._seed = seed
        self._observations: dict[tuple[str, Side], Observation] = {}
        self._compared: dict[tuple[str, float], Compared] = {}
        self._late = 0
        """How many of the student's probes ran out of time."""

    def read_by(self, check: Check) -> dict[str, Any]:
        """Find what the parameters of a check name."""
        return {name: self._named(name, check) for name in check.reads}

    @property
    def import_seconds(self) -> float:
        """The longest that the student's file took to be imported."""
        seconds = [
            observation.import_seconds
            for (_, side), observation in self._observations.items()
            if side == "student"
        ]
        return max(seconds, default=0.0)

    def bar_of(self, check: Check) -> Bar | None:
        """Return what a check asks for on this device."""
        return self._config.checks[check.name].bar_for(self._session.device.tier)

    def _named(self, name: str, check: Check) -> Any:
        if name == "bar":
            return self._bar(check)
        if name == "device":
            return self._session.device
        if name == "parts":
            return tuple(part.id for part in self._kit.lab.parts)
        if name in self._part.artefacts:
            return artefact(self._submission, self._part.artefacts[name], self._part)
        probe = self._part.probes[name]
        observed = self._observe(probe)
        if isinstance(observed, Timed) and "bar" in check.reads:
            return self._timed(probe, observed, self._bar(check))
        return observed

    def _bar(self, check: Check) -> Bar:
        bar = self.bar_of(check)
        if bar is not None:
            return bar
        tier, gpus = self._session.device.tier, self._config.checks[check.name].gpus
        if gpus > 1:
            raise Settled(Unavailable(f"{check.name} needs {gpus} GPUs"))
        if tier == "cpu":
            raise Settled(Unavailable(f"{check.name} needs a GPU"))
        missing = f"{check.name} has no bar for device tier '{tier}'"
        raise Settled(Unavailable(f"{missing}: `perflab calibrate {self._kit.lab.name}`"))

    def _observe(self, probe: Probe) -> Observation | Pair | Timed:
        student = self._run(probe, "student")
        if student.ended != "ok":
            failed = failed_to_run(student, probe.hints, self._own_files())
            raise Settled(failed, cause_of(student), whole_part=not student.imported)
        if not probe.pair:
            return student
        baseline = self._run(probe, "baseline")
        if baseline.ended != "ok":
            raise RuntimeError(f"probe {probe.name} on the baseline: {baseline.error}")
        if probe.timed:
            return Timed(student, baseline, unavailable=NO_CLOCK)
        return Pair(student, baseline)

    def _own_files(self) -> list[str]:
        """Name the files that a student has, whether or not the grader took them."""
        listed = (part.file for part in self._kit.lab.parts)
        return [*self._submission.files, *self._submission.left_out, *listed]

    def _timed(self, probe: Probe, timed: Timed, bar: Bar) -> Timed:
        """Let the clock run, once for each bar."""
        clock = self._session.clock
        if probe.within is None:
            return replace(timed, unavailable=NO_TOLERANCE)
        if clock is None:
            return timed
        key = (probe.name, bar.value)
        if key not in self._compared:
            student, baseline = self._jobs(probe)
            self._compared[key] = clock(probe, student, baseline, bar.value)
        compared = self._compared[key]
        if compared.ended != "ok":
            end = Observation(probe.name, compared.ended, error=compared.error, kind=compared.kind)
            raise Settled(failed_to_run(end), cause_of(end))
        return replace(timed, compared=compared)

    def in_less_memory(self, question: NeedsRoom) -> Pair:
        """Let the student's side do it again in little memory; who does not finish has its verdict."""
        if self._session.squeeze is None:
            raise OwedError(NO_BALLAST)
        probe = self._part.probes[question.probe]
        student, baseline = self._jobs(probe)
        answer = self._session.squeeze(student, baseline, question.full_bytes, question.room_bytes)
        observation = conform(probe, answer)
        if observation.ended != "ok":
            measured = f"{question.otherwise.measured}: {observation.error}"
            failed = replace(question.otherwise, measured=measured)
            raise Settled(failed, cause_of(observation))
        expected = self._run(probe, "baseline")
        return Pair(observation, expected, room_bytes=question.room_bytes)

    def _run(self, probe: Probe, side: Side) -> Observation:
        key = (probe.name, side)
        if key not in self._observations:
            self._observations[key] = (
                self._student(probe) if side == "student" else self._baseline(probe)
            )
        return self._observations[key]

    def _baseline(self, probe: Probe) -> Observation:
        return conform(probe, self._session.run(self.job(probe, "baseline")))

    def _student(self, probe: Probe) -> Observation:
        """Run the student's side, and so few that run out of time that a part ends."""
        if self._late >= TIMEOUTS:
            return Observation(probe.name, "timeout", error=NOT_RUN)
        job = self.job(probe, "student")
        observation = self._in_a_third(job) if self._late else self._session.run(job)
        if observation.ended == "timeout":
            self._late += 1
        return conform(probe, observation)

    def _in_a_third(self, job: Job) -> Observation:
        """Run it in a third of the time, and say so if that is not enough."""
        full, third = job.limits.seconds, job.limits.seconds / 3
        limits = replace(job.limits, seconds=third)
        observation = self._session.run(replace(job, limits=limits))
        if observation.ended != "timeout":
            return observation
        return replace(observation, error=SHORTENED.format(third, full))

    def _jobs(self, probe: Probe) -> tuple[Job, Job]:
        return self.job(probe, "student"), self.job(probe, "baseline")

    def job(self, probe: Probe, side: Side) -> Job:
        """Return what a worker has to run for one side of a probe."""
        return Job(
            self._kit.lab.name,
            self._part.id,
            probe.name,
            side,
            probe_seed(self._seed, self._part.id, probe.name),
            self._config.limits,
            {**self._code(side), **self._kit.given},
            self._session.worker_device,
        )

    def _code(self, side: Side) -> dict[str, bytes]:
        """Return the part's file of a side, and the programs beside it."""
        file = self._part.file
        files = self._submission.files if side == "student" else self._kit.baseline
        if file not in files:
            raise Settled(_no_code(self._submission, file), "missing", whole_part=True)
        names = [file, *self._part.programs]
        return {name: files[name] for name in names if name in files}


def probe_seed(seed: int, part: str, probe: str) -> int:
    """Derive one probe's seed, so that a single check can be run again alone with the same inputs."""
    return int.from_bytes(sha256(f"{seed}/{part}/{probe}".encode()).digest()[:6], "big")


def _no_code(submission: Submission, file: str) -> Failed:
    """Fail for a part's file that is missing, and name what may be that file."""
    others = unread.other_names(submission, file)
    if others and file not in submission.refused:
        return _other_name(f"no {file}", unread.wanted_name(file, others), others)
    reason = submission.refused.get(file, "it is missing, or has another name")
    try_ = f"put your file beside the others, under the name that the template has: {file}"
    return Failed(f"no {file}", reason, try_)


def _other_name(measured: str, wanted: str, others: Sequence[str]) -> Failed:
    why, try_ = unread.under_another_name(wanted, others)
    return Failed(measured, why, try_, {unread.OTHER_NAMES: ", ".join(others)})


def artefact(submission: Submission, file: str, part: Part) -> Any:
    """Read a file that comes with a part's code."""
    if file in submission.refused:
        reason = submission.refused[file]
        raise Settled(
            Failed(f"{file} was not taken", reason, f"put the file itself at {file}"), "missing"
        )
    if file not in submission.files:
        raise Settled(_not_there(submission, file, part), "missing")
    try:
        return checks.read(submission.files[file], file)
    except SubmissionError as problem:
        try_ = f"write {file} again and submit what your code wrote"
        failed = Failed(f"{file} cannot be read", str(problem), try_)
        raise Settled(failed, "refused") from None


def _not_there(submission: Submission, file: str, part: Part) -> Failed:
    """Fail for a file that is missing: name what may be it, or say how it comes about."""
    measured = f"no {file} here"
    if others := unread.near_names(submission, file):
        return _other_name(measured, file, others)
    if file in part.made_by:
        reason = f"it is submitted beside {part.file}, which does not write it"
        return Failed(measured, reason, part.made_by[file])
    in_notebook = cells_in(submission.files.get(part.file, b""))
    run = "run your notebook to its end" if in_notebook else f"python {part.file}"
    reason = f"{part.file} writes it when it is run"
    return Failed(measured, reason, f"{run}, and keep {file} beside it")
