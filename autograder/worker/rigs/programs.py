"""Programs: a student's, run in this process as `python FILE ARGUMENTS` would; and made ones, for a student to start.

A made program needs no torch and takes a twentieth of a second, so a comparison of many runs is judged in one.
"""

from __future__ import annotations

import contextlib
import io
import json
import runpy
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from autograder.worker.rigs.returned import BadReturn, Returned, flat, text

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

    def figures(self) -> Returned:
        """Read the last line that is a JSON object."""
        for _, found in self._objects():
            return Returned(self.program, found)
        last = self._lines()[-1:]
        words = f"the last line is {text(last[0], 60)!r}" if last else "nothing was printed"
        raise BadReturn(
            f"{self.program} ended with status {self.status}; {words}, and there is no JSON object",
            "no figures",
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
                found = json.loads(line)
                if isinstance(found, dict):
                    yield number, found


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
        return Ran(status, output.getvalue(), self._file.name)

    def saved(self, name: str, plain: nn.Module) -> tuple[str, dict[str, Tensor]]:
        """Read the weights that it saved as those of a *plain* model: what is wrong with them, and those that fit."""
        path, wanted = self._folder / name, plain.state_dict()
        if not path.is_file():
            return "no file was written", {}
        try:
            found = torch.load(path, map_location="cpu", weights_only=True)
        except Exception as error:
            return (
                f"torch.load(..., weights_only=True) refuses the file: {text(type(error).__name__, 60)}",
                {},
            )
        if not isinstance(found, dict):
            return "the file holds no state_dict", {}
        odd = [name for name in wanted if name not in found] or [
            name for name in found if name not in wanted
        ]
        if odd:
            return (
                f"'{text(odd[0], 60)}' is {'missing' if odd[0] in wanted else 'no name of the model'}",
                {},
            )
        shapes = [
            name for name in wanted if getattr(found[name], "shape", None) != wanted[name].shape
        ]
        return (f"'{shapes[0]}' has another shape", {}) if shapes else ("", found)


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
    found = [
        (home, name, getattr(home, name))
        for home in homes
        for name in stand_ins
        if hasattr(home, name)
    ]
    for home, name, _ in found:
        setattr(home, name, stand_ins[name])
    try:
        yield
    finally:
        for home, name, old in found:
            setattr(home, name, old)


def loader_for(loader: Any, asked: list[dict[str, Any]]) -> Callable[..., Any]:
    """Return a stand-in for given.make_loader: always *loader*; what it was called with is appended to *asked*."""

    def make_loader(
        batch_size: int = 32,
        batches: int = 20,
        image_size: int = 32,
        num_workers: int = 0,
        data: str = "synthetic",
    ) -> Any:
        sizes = {"batch_size": batch_size, "batches": batches, "image_size": image_size}
        asked.append({**sizes, "num_workers": num_workers, "data": data})
        return loader

    return make_loader


def weights_of(saved: Mapping[str, Tensor], plain: nn.Module) -> dict[str, Any]:
    """Return parameters and running statistics, flat, in the order of *plain*; none where nothing was saved."""
    parameters, buffers = dict(plain.named_parameters()), dict(plain.named_buffers())
    return {
        name: flat([saved[key].float() for key in keys], torch.float32)
        if saved and keys
        else torch.zeros(0).numpy()
        for name, keys in (("weights", parameters), ("running", buffers))
    }
