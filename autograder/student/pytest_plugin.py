"""`pytest -k part3` in a student's folder: the checks that grade, as tests.

Only a `perflab_lab` line in pytest.ini wakes this; everywhere else it adds nothing.
Part files are collected and never imported.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from autograder.errors import UserError

if TYPE_CHECKING:
    from autograder.course import Course
    from autograder.grading.kit import Kit, Session
    from autograder.grading.part import PartGrader
    from autograder.lab import Lab, Part
    from autograder.model import CheckResult, PartResult


class Practice:
    """One pytest run: the course, one session, and the part graders, each made when first asked for."""

    def __init__(self, lab_name: str, folder: Path) -> None:
        """Nothing is loaded before it is asked for."""
        self.lab_name, self.folder = lab_name, folder
        self._seed = secrets.randbits(48)
        self._graders: dict[str, PartGrader] = {}
        self.notes: dict[str, None] = {}
        """What is to be said of the files, each once."""
        self._open = ExitStack()

    @cached_property
    def course(self) -> Course:
        """The nearest course, else the installed one."""
        from autograder.course import Course, find_root

        return Course(find_root(start=self.folder))

    @cached_property
    def kit(self) -> Kit:
        """What the lab is graded with."""
        return self.course.kit(self.lab_name)

    @cached_property
    def session(self) -> Session:
        """The same session that `perflab check` opens."""
        from autograder.grading.session import open_session

        return self._open.enter_context(open_session(self.course.config.tier))

    def grader(self, part: Part) -> PartGrader:
        """Grade the files as they are on disk now."""
        from autograder.grading.part import PartGrader
        from autograder.handed_in import submission
        from autograder.student.practice import about_request

        if part.id not in self._graders:
            handed_in = submission.load(self.folder, self.kit.lab.files, released=self.kit.released)
            notes = (*handed_in.notes, *about_request(handed_in.request, self.kit))
            self.notes |= dict.fromkeys(notes)
            self._graders[part.id] = PartGrader(part, handed_in, self.kit, self.session, self._seed)
        return self._graders[part.id]

    def results(self) -> list[PartResult]:
        """What was judged in this run."""
        return [grader.judged() for grader in self._graders.values()]

    def progress(self, encoding: str) -> list[tuple[str, str]]:
        """Keep the parts that were judged whole; -k may choose single checks, which are not."""
        from autograder.student.attempts import attempt
        from autograder.student.how_far import keep_and_tell

        parts = {part.id: part for part in self.results()}
        whole = [
            parts[id_]
            for id_, grader in self._graders.items()
            if set(grader.part.checks) <= {check.id for check in parts[id_].checks}
        ]
        if not whole:
            return []
        run = attempt(self.lab_name, whole)
        return keep_and_tell(self.folder, run, list(self.kit.config.parts), encoding)

    def all_notes(self) -> list[str]:
        """What is to be said of the files and of how they ran, each once."""
        notes = list(self.notes)
        for grader in self._graders.values():
            notes += grader.notes
        return list(dict.fromkeys(notes))

    def close(self) -> None:
        """End the session, if it was opened."""
        self._open.close()


PRACTICE = pytest.StashKey[Practice]()
OPEN = ("skipped", "unavailable", "inconclusive", "unread")
"""Outcomes of a test that neither passes nor fails."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the two lines that a released folder's pytest.ini has."""
    parser.addini("perflab_lab", "the lab in this folder, as `perflab` names it", default="")
    parser.addini("perflab_version", "the version that this folder was released as", default="")


def pytest_configure(config: pytest.Config) -> None:
    """Wake only for a lab's folder."""
    lab = str(config.getini("perflab_lab"))
    if lab:
        config.stash[PRACTICE] = practice = Practice(lab, config.rootpath)
        try:
            practice.kit  # noqa: B018 a lab that cannot be loaded is said before anything is collected
        except UserError as error:
            raise pytest.UsageError(f"perflab: {error}") from None
        config.option.keyword = by_id(config.option.keyword, practice.kit.lab)


def by_id(keywords: str, lab: Lab) -> str:
    """Write a part's id for its number, since part1 is in part10_ as well; a check may be named as it is printed."""
    from autograder.part_name import same_part

    def id_of(number: re.Match[str]) -> str:
        ids = (part.id for part in lab.parts if same_part(part.id, number[0]))
        return next(ids, number[0])

    def alone(check: re.Match[str]) -> str:
        return f"({check[1]} and {check[2]})"

    checks = "|".join({name for part in lab.parts for name in part.checks})
    asked = re.sub(rf"\b(\w+)(?:\.|::)({checks})\b", alone, keywords) if checks else keywords
    return re.sub(r"\bpart\d+\b", id_of, asked)


def nothing_selected(config: pytest.Config, exit_status: int, deselected: bool) -> Iterator[str]:
    """Say why there was nothing to judge."""
    nothing = exit_status == pytest.ExitCode.NO_TESTS_COLLECTED
    practice = config.stash.get(PRACTICE, None)
    if practice is None and not nothing:
        return
    from autograder.student import nothing_selected as why

    here = config.invocation_params.dir
    if practice is None:
        yield from why.below(here)
        return
    keywords, kit, folder = config.option.keyword, practice.kit, practice.folder
    missing = list(why.missing(keywords, kit, folder))
    yield from missing
    if nothing and deselected and not missing:
        yield from why.deselected(keywords, kit, folder)
    elif nothing and not missing:
        yield from why.elsewhere(here, kit, folder)


def pytest_unconfigure(config: pytest.Config) -> None:
    """End what was started."""
    practice = config.stash.get(PRACTICE, None)
    if practice is not None:
        practice.close()


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Name the lab, the fence, and a template that is older than the checks."""
    practice = config.stash.get(PRACTICE, None)
    if practice is None:
        return []
    released = str(config.getini("perflab_version"))
    current = str(practice.kit.config.version)
    lines = [
        f"perflab: lab {practice.lab_name}, version {current}; your code runs in its own process, without a sandbox"
    ]
    if released != current:
        lines.append(
            f"perflab: this folder is version {released}, the checks are version {current}; see CHANGELOG.md"
        )
    return lines


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.File | None:
    """Collect part files of the lab by name, or the notebook where there is no file."""
    practice = parent.config.stash.get(PRACTICE, None)
    if practice is None or file_path.parent != practice.folder:
        return None
    names = {part.file for part in practice.kit.lab.parts}
    for notebook, file in practice.kit.released.notebooks.items():
        if not (practice.folder / file).exists():
            names.add(notebook)
    if file_path.name not in names:
        return None
    return PartFile.from_parent(parent, path=file_path)


class PartFile(pytest.File):
    """One part: its checks, in the order in which they are judged."""

    def collect(self) -> Iterator[CheckItem]:
        """Make one test of each check; the student's file is not imported."""
        part = self.config.stash[PRACTICE].kit.lab.part(self.path.stem)
        for name in part.checks:
            yield CheckItem.from_parent(self, name=name, part=part)


class CheckItem(pytest.Item):
    """One check as one test."""

    def __init__(self, *, part: Part, **kwargs: Any) -> None:
        """Remember the part; pytest makes the rest."""
        super().__init__(**kwargs)
        self.part = part

    def runtest(self) -> None:
        """Judge the check; passed is the only way to return."""
        result = self.config.stash[PRACTICE].grader(self.part).check(self.name)
        if result.outcome in OPEN:
            word = "owed" if result.owed else result.outcome
            pytest.skip(": ".join(filter(None, (word, result.measured, result.reason))))
        if result.outcome != "passed":
            raise NotPassed(self.part.id, result)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show the four parts and nothing of how we got there."""
        if isinstance(excinfo.value, NotPassed):
            return str(excinfo.value)
        return (
            f"perflab: {excinfo.value}"
            if isinstance(excinfo.value, UserError)
            else super().repr_failure(excinfo, style)
        )

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Name the test as students and instructors name the check."""
        return self.path, None, f"{self.part.id}.{self.name}"


class NotPassed(Exception):  # noqa: N818 a verdict is no error
    """A check that did not pass, in the words that `perflab check` would use."""

    def __init__(self, part_id: str, result: CheckResult) -> None:
        """Keep what is to be shown."""
        super().__init__(part_id, result)
        self.part_id, self.result = part_id, result

    def __str__(self) -> str:
        """Write the four parts."""
        from autograder.report.terminal import four_parts

        return four_parts(self.part_id, self.result)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
) -> None:
    """Print the points of this run, or why there are none."""
    deselected = bool(terminalreporter.stats.get("deselected"))
    for line in nothing_selected(config, exitstatus, deselected):
        terminalreporter.write_line(f"perflab: {line}")
    practice = config.stash.get(PRACTICE, None)
    if practice is None or not practice.results():
        return
    from rich.console import Console

    from autograder.report.points_table import points_table
    from autograder.report.terminal import four_parts, labelled, width_of

    results = practice.results()
    checks = [(part.id, check) for part in results for check in part.checks]
    # What a person reads is no test: notes that nobody wrote yet are told here, or nowhere.
    open_ = [
        (part, check) for part, check in checks if check.outcome in OPEN or check.basis == "person"
    ]
    if open_:
        terminalreporter.section("owed and skipped, and what a person reads")
    for part_id, check in open_:
        terminalreporter.write_line(four_parts(part_id, check))
    if notes := practice.all_notes():
        terminalreporter.section("notes")
    for note in notes:
        terminalreporter.write_line(note)
    terminalreporter.section("points")
    console = Console(file=terminalreporter._tw._file, force_terminal=terminalreporter.hasmarkup)  # noqa: SLF001 its stream has no public name
    console.print(points_table(results))
    if progress := practice.progress(console.encoding):
        terminalreporter.section("progress")
        console.print(labelled(progress, width_of(console)), soft_wrap=True)
