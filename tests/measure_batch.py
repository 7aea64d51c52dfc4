"""What a batch costs above the work: `python -m tests.measure_batch [SUBMISSIONS ...]` writes docs/measurements/batch.md.

The work is nothing: a lab of one part whose workers answer at once, without a process. What is left is finding, reading,
keeping, journalling, handing over, judging and writing. Each row is measured in a process of its own.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from autograder.batch.journal import Journal
from autograder.batch.lanes import Work
from autograder.batch.rounds import Rounds
from autograder.course import find_root
from autograder.handed_in import folders
from autograder.handed_in.submission import name_of
from autograder.machine import device
from autograder.report.html import write
from tests.toy import CSV, FakeWorkers, toy_kit, toy_session

PAGE = Path("docs/measurements/batch.md")
LANES = 2


def main(counts: list[int]) -> None:
    """Measure each size of class, and write the page as it grows."""
    rows = []
    for many in counts:
        with tempfile.TemporaryDirectory() as home:
            hand_in(Path(home), many)
            for what in ("grade", "again", "pages"):
                done = subprocess.run(
                    [sys.executable, "-m", "tests.measure_batch", what, home],
                    capture_output=True,
                    text=True,
                    check=True,
                )
                rows.append({"many": many, "what": what, **json.loads(done.stdout)})
                print(rows[-1], file=sys.stderr, flush=True)
                (find_root() / PAGE).write_text(page(rows), encoding="utf-8")
    (find_root() / PAGE).write_text(page(rows) + with_workers(100), encoding="utf-8")


def hand_in(home: Path, many: int) -> None:
    """Write the class."""
    for number in range(many):
        folder = home / "in" / f"student{number:05}"
        folder.mkdir(parents=True)
        (folder / "part1_toy.py").write_text(f"# {number}\ndef work(): ...\n")
        (folder / "table.csv").write_bytes(CSV)


def measure(what: str, home: Path) -> dict[str, float]:
    """Do one thing; return what this process and those that it started used for it."""
    before, began = cpu_seconds(), time.monotonic()
    if what == "pages":
        write(home / "out")
    else:
        grade(home)
    own, lanes = (
        resource.getrusage(who).ru_maxrss / 1024
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return {
        "cpu": cpu_seconds() - before,
        "seconds": time.monotonic() - began,
        "own_mb": own,
        "lane_mb": lanes,
    }


def grade(home: Path) -> None:
    """Grade the class; nothing has to be timed."""

    @contextmanager
    def opened():
        run = FakeWorkers()
        # It remembers what it was asked, which a class of thousands would show as memory of ours.
        run.asked = Nothing()
        yield toy_session(run)

    kit = toy_kit()
    with Journal(home / "out") as journal:
        found = {name_of(path): path for path in folders.find([home / "in"], kit.lab.files)}
        work = Work(kit, opened, home / "out")
        with work.open() as session:
            for _ in Rounds(work, session, journal, 7, LANES).run(found):
                pass


class Nothing(list):
    """Forgets."""

    def append(self, _):
        """Do nothing."""


def cpu_seconds() -> float:
    """Add up what this process and its ended children have used."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def with_workers(many: int) -> str:
    """Grade untouched templates with real workers, in the fence and in processes of their own; the work is the latter."""
    fenced, plain = (real(many, isolation) for isolation in ("bubblewrap", "none"))
    return f"""
With real workers: {many} untouched templates of part 3 of `resnet18`, of which each probe runs in a process forked from the
warm one, up to the first line that is not written. CPU is what the machine was busy, so nothing else may run on it.

| {many} submissions | CPU s each | wall s |
|---|---:|---:|
| in the fence | {fenced[0] / many:.2f} | {fenced[1]:.1f} |
| the same processes without it | {plain[0] / many:.2f} | {plain[1]:.1f} |

So the fence takes {(fenced[0] - plain[0]) / many:.2f} s of CPU a submission; the journal and the judging are in the first table.
"""


def real(many: int, isolation: str) -> tuple[float, float]:
    """Return what a class took, in seconds of CPU and of the clock."""
    template = find_root() / "student_template" / "resnet18" / "part3_amp.py"
    with tempfile.TemporaryDirectory() as home:
        for number in range(many):
            folder = Path(home) / "in" / f"student{number:03}"
            folder.mkdir(parents=True)
            (folder / template.name).write_text(f"{template.read_text()}\n# {number}\n")
        options = [
            "--part",
            "part3",
            "--twice",
            "0",
            "--isolation",
            isolation,
            "--out",
            f"{home}/out",
        ]
        command = [
            sys.executable,
            "-m",
            "autograder.cli",
            "grade",
            "resnet18",
            f"{home}/in",
            *options,
        ]
        before, began = busy(), time.monotonic()
        subprocess.run(command, check=True, capture_output=True, cwd=find_root())
        return busy() - before, time.monotonic() - began


def busy() -> float:
    """Return the seconds for which the machine's cores have been busy; ended workers count for nobody else."""
    user, nice, system, _, _, irq, softirq, *_ = map(
        int, Path("/proc/stat").read_text().split("\n")[0].split()[1:]
    )
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


NAMES = {"grade": "graded", "again": "again, nothing changed", "pages": "pages written"}


def page(rows: list[dict]) -> str:
    """Put the rows into words."""
    lines = [
        "# What a batch costs above the work",
        "",
        f"{datetime.now(UTC).date()}, {device.cpu_name()}, Python {platform.python_version()}, {LANES} lanes.",
        "Written by `python -m tests.measure_batch`.",
        "",
        "Submissions of a toy lab (one part, six checks, a Python file and a CSV) whose workers answer at once, without a process:",
        "all that is measured is perflab's own work. CPU is of the run and its lanes together, imports included. Real workers",
        "come on top: each lane starts one warm process for all of its submissions.",
        "",
        "| submissions | | CPU s | CPU ms each | wall s | memory of the run, MB | of its largest child, MB |",
        "|---:|---|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        cells = [
            f"{row['many']:,}", NAMES[row["what"]], f"{row['cpu']:.2f}", f"{1000 * row['cpu'] / row['many']:.1f}",
            f"{row['seconds']:.1f}", f"{row['own_mb']:.0f}", f"{row['lane_mb']:.0f}" if row["lane_mb"] else "",
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] in NAMES:
        print(json.dumps(measure(sys.argv[1], Path(sys.argv[2]))))
    else:
        main([int(word) for word in sys.argv[1:]] or [100, 1000])
