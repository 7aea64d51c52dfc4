"""Trainings that do the same work: a program run whole on a scripted clock, and made versions to compare.

Both sides draw the same. The student's side trains in the batches that are asked for, the baseline's in one a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from autograder.labs.gpu_profiling.part6_final.versions import PRINTED
from autograder.worker.rigs import matched
from autograder.worker.rigs.matched import WIDTH

COLD = 40.0  # seconds that the first pass of all takes longer: more than an epoch
SIDE = 16  # pixels
*TOLD, _ = PRINTED
FIGURES = (*PRINTED, "speedup")
Row = dict[str, Any]


class Matched(matched.Matched):
    """`rig.matched`, and what this part compares."""

    def run(
        self, program: Any, step: int, size: int, epochs: int, options: Sequence[Any], limit: int
    ) -> dict[str, Any]:
        """Run a program for epochs of one step each, so that order does not matter, with room for *limit* samples.

        The baseline's side takes the step as one batch; *size* is what the student's is to take at once.
        """
        rig = self._rig
        state = rig.copies(self.simple_net().state_dict())
        wait, work = rig.seconds(0.05, 0.1, 2)
        pixels = rig.random.normal(size=(step, 3, SIDE, SIDE))
        images = torch.from_numpy(pixels).float()  # as a loader has them
        labels = [int(label) for label in rig.random.integers(0, 10, step)]
        if rig.side != "student":
            size, limit, options = step, step, ["--batch-size", step]
        rig.clock.freeze()
        recorded = 0  # batches

        def make() -> Any:
            net = rig.given("SimpleNet")(WIDTH)
            net.load_state_dict(state)
            window = rig.window([2], model=net, momentum=0.9, lr=0.05)
            return window.model, window.criterion, window.optimizer

        def make_photos(samples: int) -> Any:
            """Return the photos, and all of them twice where another number is asked for."""
            times = 1 if samples == step else 2
            return rig.sizes.pictures(images.repeat(times, 1, 1, 1), labels * times, wait)

        def record(train: Any, file: Any, batches: int, *_: Any, **__: Any) -> None:
            nonlocal recorded
            recorded = int(batches)
            train(lambda: rig.clock.advance(COLD))  # a profiler slows it

        words = map(str, ["--epochs", epochs, "--samples", step, "--step", step, *options])
        training = rig.sizes.trainings(make, limit=limit, seconds=40 * work, cold=COLD)
        ran = program.run(*words, make_photos=make_photos, make_training=training, record=record)
        figures = ran.figures()
        return {
            "reported": {name: rig.number(figures[name]) for name in TOLD},
            "device": rig.text(figures["device"]),
            "script": {
                "samples": step,
                "batches": step // size,
                "wait": step * wait,
                "work": 40 * work,
                "once": COLD,
            },
            "size": size,
            "after": ran.after(),
            "recorded": recorded,
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
        made = self._rig.profiles.timeline(self._rig.random, gpu=number % 2 == 0)
        file = self._rig.folder / f"made_profile_{number}.gz"
        file.write_bytes(made.data(copies=True))
        name = "gpu_utilization_percent" if made.gpu else "operators_percent"
        return str(file), float(made.expected()[name])
