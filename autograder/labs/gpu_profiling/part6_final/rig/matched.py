"""Trainings that do the same work: a program run whole on a scripted clock, and made versions to compare.

Both sides draw the same. The student's side trains in the batches that are asked for, the baseline's in one a step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from autograder.labs.gpu_profiling.part6_final.versions import PRINTED
from autograder.worker.rigs import matched
from autograder.worker.rigs.matched import WIDTH

COLD = 40.0  # seconds that the first pass of all takes longer
SIDE = 16  # pixels
*TOLD, _ = PRINTED
FIGURES = (*PRINTED, "speedup")
Row = dict[str, Any]


class Marked:
    """`given.spanned` without a profiler: counts the batches that pass."""

    def __init__(self) -> None:
        self.batches = 0

    def __call__(self, loader: Iterable[Any]) -> Iterator[Any]:
        for batch in loader:
            self.batches += 1
            yield batch


class Matched(matched.Matched):
    """`rig.matched`, and what this part compares."""

    def run(
        self,
        program: Any,
        step: int,
        size: int,
        epochs: int,
        options: Sequence[Any],
        limit: int,
        steps: int = 1,
    ) -> dict[str, Any]:
        """Run a program for some epochs, with room for *limit* samples; order does not matter.

        So an epoch has one step, or all of its samples are equal. The baseline's side takes a step as one batch;
        *size* is what the student's is to take at once.
        """
        rig = self._rig
        state = rig.copies(self.simple_net().state_dict())
        wait, work = rig.seconds(1.0, 3.0, 1)[0] / size, rig.seconds(2.0, 4.0, 1)[0]
        samples, drawn = steps * step, step if steps == 1 else 1
        pixels = rig.random.normal(size=(drawn, 3, SIDE, SIDE))
        images = torch.from_numpy(pixels).float()  # as a loader has them
        images = images.repeat(samples // drawn, 1, 1, 1)
        labels = [int(label) for label in rig.random.integers(0, 10, drawn)] * (samples // drawn)
        if rig.side != "student":
            size, limit, options = step, step, ["--batch-size", step]
        rig.clock.freeze()
        recorded, photos = -1, None  # batches, or never; how many were asked for
        seen: list[Any] = []

        def make() -> Any:
            net = rig.given("SimpleNet")(WIDTH)
            net.load_state_dict(state)
            window = rig.window([2], model=net, momentum=0.9, lr=0.05)
            if rig.side != "student":
                window.criterion.register_forward_hook(lambda *it: seen.append(float(it[-1])))
            return window.model, window.criterion, window.optimizer

        def make_photos(asked: int) -> Any:
            """Return the photos, and all of them twice where another number is asked for."""
            nonlocal photos
            photos = rig.number(asked)
            times = 1 if asked == samples else 2
            return rig.sizes.pictures(images.repeat(times, 1, 1, 1), labels * times, wait)

        def record(train: Any, file: Any, batches: int, *_: Any, **__: Any) -> None:
            nonlocal recorded
            recorded = int(batches)
            train(lambda: rig.clock.advance(COLD))  # a profiler slows it

        words = map(str, ["--epochs", epochs, "--samples", samples, "--step", step, *options])
        training = rig.sizes.trainings(make, limit=limit, seconds=work, cold=COLD)
        marked = Marked()
        stand_ins = {"make_photos": make_photos, "make_training": training, "record": record}
        try:
            with rig.sizes.slow_starts():
                ran = program.run(*words, spanned=marked, **stand_ins)
        except torch.OutOfMemoryError as error:
            error.args = (f"{error}, with {' '.join(map(str, options))}",)
            raise
        figures = ran.figures()
        return {
            "reported": {name: rig.number(figures[name]) for name in TOLD},
            "device": rig.text(figures["device"]),
            "script": {
                "samples": samples,
                "batches": samples // size,
                "wait": samples * wait,
                "work": work,
                "once": COLD,
            },
            "size": size,
            "after": ran.after(),
            "recorded": recorded,
            "photos": photos,
            "marked": marked.batches,
            "last": seen[-epochs * steps :][steps - 1 :: steps],
            "losses": rig.series(figures["losses"], "losses"),
        }

    def rows(self, names: Sequence[str]) -> list[Row]:
        """Draw rows of equal work, in no order of merit; a run takes a little more than its samples."""
        samples = 256 * self._rig.integer(3, 9)
        rates = self._rig.seconds(60.0, 400.0, len(names))
        rows = [self._row(*run, samples) for run in zip(names, rates, strict=True)]
        for row in rows:
            row["speedup"] = row["throughput"] / rows[0]["throughput"]
        return rows

    def _row(self, name: str, rate: float, samples: int) -> Row:
        seconds = 1.01 * samples / rate
        share, warm, loss, busy = self._rig.seconds(0.1, 0.9, 4)
        times = (rate, seconds, share * seconds, 40 * warm)
        values = (*times, samples, samples // 64, 32, 1 + loss / 10, 100 * busy, 1.0)
        figures = dict(zip(FIGURES, values, strict=True))
        return {"version": name, **figures, "device": "a made device"}

    def versions(self, names: Sequence[str]) -> tuple[list[Row], list[Row]]:
        """Return versions of a made program, each with its profile, and the rows that they make; `--hopeless` fails."""
        rows = self.rows(names)
        words: list[str] = []
        files: list[str] = []
        for number, row in enumerate(rows):
            words.append(str(self._rig.integer(1, 1 << 30)))
            file, row["busy_percent"] = self.profile(number)
            # The run will write it; what is there before is the profile of an earlier run.
            Path(file).rename(f"{file}.made_by_{words[-1]}")
            self.profile(number)
            files.append(file)
        figures = {
            f"--number {word}": {name: row[name] for name in (*TOLD, "device")}
            for word, row in zip(words, rows, strict=True)
        }
        path = str(self._rig.made_program({**figures, "--hopeless": None}))
        versions = [
            {"version": row["version"], "command": [path, "--number", word], "profile": file}
            for row, word, file in zip(rows, words, files, strict=True)
        ]
        return versions, rows

    def profile(self, number: int) -> tuple[str, float]:
        """Write a profile, each second one without a GPU; return its name and the share of work in its steps."""
        file, share, _ = self.profile_with_slips(number)
        return file, share

    def profile_with_slips(self, number: int) -> tuple[str, float, dict[str, float]]:
        """Do the same; return what usual mistakes give, too."""
        made = self._rig.profiles.timeline(self._rig.random, gpu=number % 2 == 0)
        file = self._rig.folder / f"made_profile_{number}.gz"
        file.write_bytes(made.data(copies=True))
        name = "gpu_utilization_percent" if made.gpu else "operators_percent"
        return str(file), float(made.expected()[name]), made.slips().get(name, {})
