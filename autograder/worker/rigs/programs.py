"""Programs: a student's, run in this process as `python FILE ARGUMENTS` would; and made ones, for a student to start.

A made program needs no torch and takes a twentieth of a second, so a comparison of many runs is judged in one.
"""

from __future__ import annotations

import contextlib
import io
import json
import runpy
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autograder.worker.rigs.returned import BadReturn, Returned, text

MOST = 1_000_000  # characters of output that are looked at
LAST = 100  # lines of it that may be the figures
MADE = """
import json, os, sys, time
from pathlib import Path
here, options = Path(__file__).parent, " ".join(sys.argv[1:])
figures = json.loads((here / "figures.json").read_text())[options]
if figures is None:
    print(json.dumps({"throughput": 1.0}))
    print(*["a warning of which there are many"] * 70, sep="; ", file=sys.stderr)  # 2450 characters
    sys.exit("out of ideas, says the made program")
if sys.prefix != PREFIX:
    figures["throughput"] *= 5  # another Python, which may have no torch
try:
    (here / "running").touch(exist_ok=False)
except FileExistsError:
    figures["throughput"] /= 2  # another one takes its cores
with (here / "processes").open("a+") as used:
    used.seek(0)
    if str(os.getpid()) in used.read().split():
        figures["throughput"] *= 3  # an earlier one ran in this process
    print(os.getpid(), file=used)
print("epoch 1 of 1: 100 %")
print(json.dumps({**figures, "throughput": 1.0}))  # so far
for new in here.glob(f"*.made_by_{sys.argv[-1]}"):  # what a run writes replaces what was there before
    new.replace(new.with_suffix(""))
print("a warning", file=sys.stderr)
time.sleep(0.05)
(here / "running").unlink(missing_ok=True)
print(json.dumps(figures))
"""


@dataclass(frozen=True)
class Ran:
    """How a run of a program ended."""

    status: int
    output: str
    program: str
    options: str = field(default="", compare=False)

    def figures(self) -> Returned:
        """Read the last line that is a JSON object."""
        for _, value in self._objects():
            return Returned(self.program, value)
        last = self._lines()[-1:]
        words = f"the last line is {text(last[0], 60)!r}" if last else "nothing was printed"
        called = f"{self.program}{f' {self.options}' * bool(self.options and self.status)}"
        raise BadReturn(
            f"{called} ended with status {self.status}; {words}, and there is no JSON object",
            "failed program" if self.status else "no figures",
        )

    def after(self) -> str:
        """Return the last line, where it is none and something else is."""
        behind = next((number for number, _ in self._objects()), 0)
        return text(self._lines()[-1], 60) if behind else ""

    def _lines(self) -> list[str]:
        return self.output[-MOST:].strip().splitlines()

    def _objects(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield JSON objects from the end, each with the number of lines behind it."""
        for number, line in enumerate(self._lines()[: -LAST - 1 : -1]):
            with contextlib.suppress(ValueError, RecursionError):
                message = json.loads(line)
                if isinstance(message, dict):
                    yield number, message


class Program:
    """A file that is run as a program, with stand-ins for what it imports from `given`."""

    def __init__(self, file: Path, folder: Path) -> None:
        """*folder* is where it may write."""
        self._file, self._folder = file, folder

    def run(self, *options: str, **stand_ins: Any) -> Ran:
        """Run it once; an exception of its own goes through."""
        if not self._file.is_file():
            raise BadReturn(f"{self._file.name} was not handed in")
        before, sys.argv = sys.argv, [str(self._file), *options]
        output, status = io.StringIO(), 0
        try:
            with contextlib.redirect_stdout(output), replaced(stand_ins):
                runpy.run_path(str(self._file), run_name="__main__")
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
        finally:
            sys.argv = before
        return Ran(status, output.getvalue(), self._file.name, " ".join(options))


def made_program(folder: Path, figures: Mapping[str, Mapping[str, Any] | None]) -> Path:
    """Write a program that prints the figures of its options, joined by spaces; where there are none, it fails."""
    (folder / "figures.json").write_text(json.dumps(figures), encoding="utf-8")
    path = folder / "made_program.py"
    path.write_text(f"PREFIX = {sys.prefix!r}\n{MADE}", encoding="utf-8")
    return path


@contextlib.contextmanager
def replaced(stand_ins: Mapping[str, Any]) -> Iterator[None]:
    """Put stand-ins for names of `given` wherever one of its files has them, and the old ones back."""
    import given  # type: ignore[import-not-found]  # the lab's, staged beside the student's file

    homes = [module for name, module in sys.modules.items() if name.split(".")[0] == given.__name__]
    replaced = [
        (home, name, getattr(home, name))
        for home in homes
        for name in stand_ins
        if hasattr(home, name)
    ]
    for home, name, _ in replaced:
        setattr(home, name, stand_ins[name])
    try:
        yield
    finally:
        for home, name, old in replaced:
            setattr(home, name, old)
