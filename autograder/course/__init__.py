"""Finds the course: its root, its configuration, its labs, and what each lab is graded with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from autograder import __version__
from autograder import config as configuration
from autograder.config import Config
from autograder.course import own_course
from autograder.course.labs import load_lab
from autograder.course.own_course import CONFIG as CONFIG
from autograder.course.own_course import RELEASED
from autograder.errors import CourseError, nearest
from autograder.grading.kit import Kit
from autograder.handed_in.notebook import Released
from autograder.handed_in.unpack import passed_over
from autograder.lab import Lab

PACKAGED = Path(__file__).parents[1] / "_course"
CHECKOUT = Path(__file__).parents[2]
"""Of an editable install: the course stands beside the package."""


def find_root(given: Path | None = None, start: Path | None = None) -> Path:
    """Choose the course: the one named, the nearest parent with a configuration, or the
    installed.
    """
    if given is not None:
        if not (given / CONFIG).is_file():
            raise CourseError(f"{given}: no {CONFIG} there; name the folder of a course")
        return given
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / CONFIG).is_file():
            return folder
        if (folder / RELEASED / CONFIG).is_file():
            return folder / RELEASED
    if (PACKAGED / CONFIG).is_file():
        return PACKAGED
    if (CHECKOUT / CONFIG).is_file():
        return CHECKOUT
    raise CourseError(f"no {CONFIG} in {here} or above it; name the course with --course")


@dataclass(frozen=True)
class Course:
    """A folder with grading_config.yaml, assignments/ and student_template/.

    Instructors also have reference/.
    """

    root: Path

    def __post_init__(self) -> None:
        """Let the labs be found that a course has of its own."""
        if own_course.is_own(self.root):
            own_course.open_labs(self.root)

    @cached_property
    def config(self) -> Config:
        """The one file that an instructor edits."""
        return configuration.load(self.root / CONFIG)

    @property
    def labs(self) -> list[str]:
        """Names of the labs that the configuration knows."""
        return list(self.config.labs)

    def lab(self, name: str) -> Lab:
        """Load a lab and hold its declarations against the configuration."""
        if name not in self.config.labs:
            raise CourseError(self._unknown(name))
        lab = load_lab(name)
        declared = {part.id: list(part.checks) for part in lab.parts}
        barred = {
            part.id: [check.name for check in part.checks.values() if "bar" in check.reads]
            for part in lab.parts
        }
        configuration.agree(self.config, name, declared, barred)
        config = self.config.labs[name]
        on = tuple(
            part.without(config.parts[part.id].off) for part in lab.parts if part.id in config.parts
        )
        return Lab(name, on, config.off)

    def left_out(self, name: str) -> set[str]:
        """Name the files of parts that this course does without, each part's id among them."""
        lab = self.lab(name)
        names = set[str]()
        for part in load_lab(name).parts:
            if part.id in lab.off:
                names |= {part.id, part.file, *part.artefacts.values()}
        return names - set(lab.files)

    def _unknown(self, name: str) -> str:
        if self.root != PACKAGED:
            return f"{self.root.name}/{CONFIG} has no lab '{name}'{nearest(name, self.labs)}"
        return (
            f"this perflab ({__version__}) does not know the lab {name}, "
            f"it knows {', '.join(self.labs)}: install the wheel that came with the lab"
        )

    def kit(self, name: str) -> Kit:
        """Gather what a lab is graded with; all of it is public."""
        lab = self.lab(name)
        template = self.handed_out(name)
        given = read_tree(template / "given")
        return Kit(
            lab,
            self.config.labs[name],
            {f"given/{path}": data for path, data in given.items()},
            read_tree(template / "baseline"),
            self.released(lab),
        )

    def released(self, lab: Lab) -> Released:
        """Gather what the notebooks are made of that students were given."""
        home = self.handed_out(lab.name)
        released = {
            name: (home / name).read_text(encoding="utf-8")
            for name in lab.files
            if name.endswith((".py", ".md")) and (home / name).is_file()
        }
        files = [part.file for part in lab.parts if part.file in released]
        templates = {file: released[file] for file in files}
        texts = {name: released.get(name, "") for name in lab.files if name.endswith(".md")}
        version = str(self.config.labs[lab.name].version)
        return Released(version, templates, texts)

    def template(self, lab: str) -> Path:
        """Where the students' copy of a lab is."""
        return self.root / "student_template" / lab

    def handed_out(self, lab: str) -> Path:
        """Where what students were given is: a course that holds no templates has those installed."""
        folders = [self.template(lab)]
        folders += [root / "student_template" / lab for root in (PACKAGED, CHECKOUT)]
        for folder in folders:
            if folder.is_dir():
                return folder
        raise CourseError(
            f"{self.root}: no student_template/{lab}, without which no part can be run; run perflab build there"
        )

    def reference(self, lab: str) -> Path:
        """Where the one source of a lab is; only instructors have it."""
        folder = self.root / "reference" / lab
        if not folder.is_dir():
            self.lab(lab)  # a name that is wrong is the likelier cause
            raise CourseError(
                f"{folder.name}: this course has no reference/{lab}; "
                "only an instructor's checkout has it: run the command there"
            )
        return folder


def read_tree(folder: Path) -> dict[str, bytes]:
    """Read every source file below a folder, by its name relative to it.

    Caches and what is hidden, such as .perflab, are nobody's sources.
    """
    paths = {path.relative_to(folder): path for path in sorted(folder.rglob("*"))}
    return {
        name.as_posix(): path.read_bytes()
        for name, path in paths.items()
        if path.is_file() and not passed_over(name.parts)
    }
