"""A class of 60 under kill -9: `python -m tests.kill_a_class [KILLS]` compares it with an undisturbed run.

A third is good, a third wrong, a third hostile or no archive at all. Real workers in the fence, one check of the lab
foundations and the one that it needs, with a limit of a few seconds so that what hangs does not hold up the proof.
"""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

from autograder.batch.journal import Journal
from autograder.course import find_root
from autograder.result_file import load_result
from autograder.results import diff

LAB, PART, CHECK, SEED = "foundations", "part2_loops", "distances_keep_digits", "5"
CODE = (find_root() / "reference" / LAB / f"{PART}.py").read_text()
INSIDE = "def pairwise_distances("
WRONG = ("return points", "raise ValueError('no')", "return 1 / 0", "return None")
HOSTILE = (  # none races with its own end: what it gets must not be chance
    "import os; os._exit(0)",
    "import os, signal, time; os.kill(-1, signal.SIGKILL); time.sleep(9)",
    "import os, signal; os.kill(os.getppid(), signal.SIGKILL)",
    "while True: pass",
    "x = b'x' * (1 << 32)",
    "import os; [os.fork() or os._exit(0) for _ in range(9999)]",
    "print('x' * (1 << 28))",
    "import ctypes; ctypes.string_at(0)",
    "raise SystemExit(0)",
    "import shutil; shutil.rmtree('/', ignore_errors=True)",
)


def main(kills: int) -> None:
    """Grade undisturbed, then under kills, and say what differs."""
    chance = random.Random(11)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        home.chmod(0o755)
        course(home / "course")
        hand_in(home / "in")
        began = time.monotonic()
        finish(home, "whole")
        whole = time.monotonic() - began
        print(f"undisturbed: {whole:.0f} s, {outcomes(home / 'whole')}", flush=True)
        for number in range(kills):
            said = killed(home, "killed", chance.randrange(9), chance.random())
            print(f"kill {number + 1} {said}: {standing(home / 'killed')}", flush=True)
        finish(home, "killed", "--resume")
        print(f"then to its end: {standing(home / 'killed')}")
        differ = differences(home / "whole", home / "killed")
        tables = [(home / out / "grades.csv").read_text() for out in ("whole", "killed")]
        print(
            f"results that differ: {differ or 'none'}; grades.csv the same: {tables[0] == tables[1]}"
        )
        sys.exit(bool(differ))


def course(root: Path) -> None:
    """Copy the course, with short limits."""
    for name in ("assignments", "student_template"):
        shutil.copytree(find_root() / name / LAB, root / name / LAB)
    config = (find_root() / "grading_config.yaml").read_text()
    head, lab = config.split("  foundations:\n")
    lab = lab.replace("{seconds: 30, memory_mb: 2048}", "{seconds: 3, memory_mb: 1024}")
    (root / "grading_config.yaml").write_text(
        head[: head.index("labs:")] + "labs:\n  foundations:\n" + lab
    )


def hand_in(folder: Path) -> None:
    """Write 60 submissions: folders, zips and tars."""
    folder.mkdir()
    for number in range(20):
        put(folder, f"good{number:02}", f"{CODE}\n# {number}\n", number)
    for number in range(20):
        put(folder, f"wrong{number:02}", f"{spiked(WRONG[number % 4])}\n# {number}\n", number)
    for number, line in enumerate(HOSTILE):
        code = (
            spiked(line)
            if number % 2
            else CODE.replace("import torch\n", f"import torch\n{line}\n", 1)
        )
        put(folder, f"hostile{number:02}", code, number)
    for name, data in no_archives().items():
        (folder / name).write_bytes(data)


def put(folder: Path, name: str, code: str, shape: int) -> None:
    """Hand a file in as a folder, a zip or a tar."""
    if shape % 3 == 0:
        (folder / name).mkdir()
        (folder / name / f"{PART}.py").write_text(code)
    elif shape % 3 == 1:
        with zipfile.ZipFile(folder / f"{name}.zip", "w") as archive:
            archive.writestr(f"{PART}.py", code)
    else:
        with tarfile.open(folder / f"{name}.tar", "w") as archive:
            added(archive, f"{PART}.py", code.encode())


def added(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    """Add a file to a tar."""
    info = tarfile.TarInfo(name)
    info.size = len(data)
    archive.addfile(info, io.BytesIO(data))


def spiked(line: str) -> str:
    """Put a line first into the function that is asked."""
    head, tail = CODE.split(INSIDE, 1)
    signature, body = tail.split(":\n", 1)
    return f"{head}{INSIDE}{signature}:\n    {line}\n{body}"


def no_archives() -> dict[str, bytes]:
    """Make files that only look like archives, or hold what none should."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{PART}.py", CODE)
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{PART}.py", "#" * (1 << 28))
    away, link = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(away, "w") as archive:
        archive.writestr(f"../../{PART}.py", CODE)
    with tarfile.open(fileobj=link, mode="w") as archive:
        info = tarfile.TarInfo(f"{PART}.py")
        info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(info)
    half = whole.getvalue()[: len(whole.getvalue()) // 2]
    return {
        "broken00.zip": b"", "broken01.zip": b"PK\3\4 none", "broken02.zip": half, "broken03.zip": bomb.getvalue(),
        "broken04.zip": away.getvalue(), "broken05.tar": link.getvalue(), "broken06.tar": b"\0" * 512,
        "broken07.tgz": b"\x1f\x8b\x08none", "broken08.zip": whole.getvalue().replace(b"PK\1\2", b"PK\0\2"),
        "broken09.tar.gz": whole.getvalue(),
    }  # fmt: skip


def start(home: Path, out: str, *options: str) -> subprocess.Popen[str]:
    """Start the real command."""
    command = [
        sys.executable, "-m", "autograder.cli", "grade", LAB, str(home / "in"), "--out", str(home / out), "--part", PART,
        "--only", CHECK, "--course", str(home / "course"), "--device", "cpu", "--json", *options,
    ]  # fmt: skip
    errors = (home / f"{out}.log").open("a")
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True
    )


def finish(home: Path, out: str, *options: str) -> None:
    """Run it to its end."""
    process = start(home, out, *(options or ("--seed", SEED)))
    process.communicate()
    if process.returncode not in (0, 3):
        sys.exit((home / f"{out}.log").read_text()[-2000:])


def killed(home: Path, out: str, graded: int, seconds: float) -> str:
    """Kill it after so many submissions and a moment: the command alone, what it started has to end with it."""
    begun = (home / out / "journal.sqlite").exists()
    seed = () if begun and sessions(home / out) else ("--seed", SEED)
    process = start(home, out, "--resume", *seed)
    assert process.stdout is not None
    left = graded
    while left and (line := process.stdout.readline()):
        left -= json.loads(line)["event"] == "graded"
    time.sleep(seconds)
    ended = process.poll() is not None
    process.kill()
    process.communicate()
    return "came too late" if ended else f"{seconds:.1f} s after {graded} submissions"


def sessions(out: Path) -> int:
    """Count the sessions that the journal knows."""
    with Journal(out) as journal:
        return int(journal.last() is not None)


def standing(out: Path) -> str:
    """Say what the journal has."""
    if not (out / "journal.sqlite").exists():
        return "no journal yet"
    with Journal(out) as journal:
        found = Counter(
            outcome for (outcome,) in journal._rows.execute("SELECT outcome FROM story")
        )
    return (
        f"{len(list(out.glob('*/result.json')))} results; attempts: {dict(sorted(found.items()))}"
    )


def differences(one: Path, other: Path) -> list[str]:
    """Compare all that two runs leave but times."""
    found = []
    for file in sorted(
        {path.relative_to(run) for run in (one, other) for path in run.glob("*/result.json")}
    ):
        old, new = (load_result(run / file) for run in (one, other))
        if replace(old, started="", seconds=0.0) != replace(new, started="", seconds=0.0):
            found += [f"{old.submission}: {said}" for said in diff.outcomes(old, new)] or [
                f"{old.submission}: evidence"
            ]
    return found


def outcomes(out: Path) -> str:
    """Count the outcomes of the check, by kind of submission."""
    found: dict[str, Counter[str]] = {}
    for file in sorted(out.glob("*/result.json")):
        checks = {
            check["id"]: check["outcome"]
            for part in json.loads(file.read_text())["parts"]
            for check in part["checks"]
        }
        found.setdefault(file.parent.name.rstrip("0123456789"), Counter())[checks[CHECK]] += 1
    return "; ".join(f"{kind}: {dict(counts)}" for kind, counts in found.items())


if __name__ == "__main__":
    os.environ.setdefault("PYTHONPATH", str(find_root()))
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
