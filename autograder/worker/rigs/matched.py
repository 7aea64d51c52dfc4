"""Trainings that do the same work: a program run whole on a scripted clock, and made versions for a student to compare.

Both sides draw the same. The student's side trains in the batches that are asked for, the baseline's in one a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

COLD = 40.0  # seconds that the first pass of all takes longer: more than an epoch
SIDE = 16  # pixels
WIDTH = 2  # channels
TOLD = ("throughput", "seconds", "data_wait", "warm_up_s", "samples", "steps", "batch_size", "loss")
FIGURES = (*TOLD, "busy_percent", "speedup")


class Matched:
    """`rig.matched`."""

    def __init__(self, rig: Any) -> None:
        """Draw from the rig, and write into its folder."""
        self._rig = rig

    def simple_net(self, width: int = WIDTH) -> Any:
        """Return a SimpleNet whose weights are drawn; both sides draw the same."""
        net = self._rig.given("SimpleNet")(width)
        drawn = {
            name: self._rig.random.normal(size=tuple(it.shape), scale=0.1)
            for name, it in net.state_dict().items()
        }
        net.load_state_dict({name: self._rig.tensor(array) for name, array in drawn.items()})
        return net.to(self._rig.device)

    def run(
        self, program: Any, step: int, size: int, epochs: int, options: Sequence[Any], limit: int
    ) -> dict[str, Any]:
        """Run a program for epochs of one step each, so that order does not matter, with room for *limit* samples.

        The baseline's side takes the step as one batch; *size* is what the student's is to take at once.
        """
        state, (wait, work) = (
            self._rig.copies(self.simple_net().state_dict()),
            self._rig.seconds(0.05, 0.1, 2),
        )
        images = torch.from_numpy(
            self._rig.random.normal(size=(step, 3, SIDE, SIDE))
        ).float()  # as a loader has them
        labels = [int(label) for label in self._rig.random.integers(0, 10, step)]
        if self._rig.side != "student":
            size, limit, options = step, step, ["--batch-size", step]

        def make() -> Any:
            net = self._rig.given("SimpleNet")(WIDTH)
            net.load_state_dict(state)
            window = self._rig.window([2], model=net, momentum=0.9, lr=0.05)
            return window.model, window.criterion, window.optimizer

        self._rig.clock.freeze()
        words = map(str, ["--epochs", epochs, "--samples", step, "--step", step, *options])

        def make_photos(samples: int) -> Any:
            """Return the photos, and all of them twice where another number is asked for."""
            times = 1 if samples == step else 2
            return self._rig.sizes.pictures(images.repeat(times, 1, 1, 1), labels * times, wait)

        recorded: list[int] = []

        def record(train: Any, *_: Any, **__: Any) -> None:
            recorded.append(1)
            train(lambda: self._rig.clock.advance(COLD))  # a profiler slows it

        make_training = self._rig.sizes.trainings(make, limit=limit, seconds=40 * work, cold=COLD)
        stand_ins = {
            "make_photos": make_photos,
            "make_training": make_training,
            "record": record,
        }
        ran = program.run(*words, **stand_ins)
        figures = ran.figures()
        script = {
            "samples": step,
            "batches": step // size,
            "wait": step * wait,
            "work": 40 * work,
            "plain": 40 * work,
        }
        return {
            "told": {name: self._rig.number(figures[name]) for name in TOLD},
            "device": self._rig.text(figures["device"]),
            "script": {**script, "once": COLD},
            "size": size,
            "after": ran.after(),
            "recorded": len(recorded),
            "losses": self._rig.series(figures["losses"], "losses"),
        }

    def rows(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """Draw rows of equal work, in no order of merit; a run takes a little more than its samples."""
        samples, drawn = 256 * self._rig.integer(3, 9), list[dict[str, Any]]()
        for name, rate in zip(names, self._rig.seconds(60.0, 400.0, len(names)), strict=True):
            seconds, (share, warm, loss, busy) = (
                1.01 * samples / rate,
                self._rig.seconds(0.1, 0.9, 4),
            )
            times = (rate, seconds, share * seconds, 40 * warm)
            values = (*times, samples, samples // 64, 32, 1 + loss / 10, 100 * busy, 1.0)
            drawn.append(
                {
                    "version": name,
                    **dict(zip(FIGURES, values, strict=True)),
                    "device": "a made device",
                }
            )
        for row in drawn:
            row["speedup"] = row["throughput"] / drawn[0]["throughput"]
        return drawn

    def versions(self, names: Sequence[str]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Return versions of a made program, each with its profile, and the rows that they make; `--hopeless` fails."""
        runs, asked, figures = self.rows(names), list[dict[str, Any]](), dict[str, Any]()
        for number, row in enumerate(runs):
            word, (file, row["busy_percent"]) = (
                str(self._rig.integer(1, 1 << 30)),
                self.profile(number),
            )
            figures[f"--number {word}"] = {name: row[name] for name in (*TOLD, "device")}
            asked.append(
                {"version": row["version"], "command": ["--number", word], "profile": file}
            )
        path = str(self._rig.made_program({**figures, "--hopeless": None}))
        return [{**one, "command": [path, *one["command"]]} for one in asked], runs

    def profile(self, number: int) -> tuple[str, float]:
        """Write a profile, each second one without a GPU; return its name and the share of work in its steps."""
        made, file = (
            self._rig.profiles.timeline(self._rig.random, gpu=number % 2 == 0),
            self._rig.folder / f"made_profile_{number}.gz",
        )
        file.write_bytes(made.data(copies=True))
        known = made.known()
        return str(file), float(
            known["gpu_utilization_percent" if made.gpu else "operators_percent"]
        )

    def hopeless(self, run_version: Any, path: str) -> str:
        """Say what becomes of a run that fails."""
        try:
            return f"nothing: it returned {self._rig.text(run_version([path, '--hopeless']), 300)}"
        except (Exception, SystemExit) as error:
            kind = "RuntimeError" if isinstance(error, RuntimeError) else type(error).__name__
            return f"{kind}: {self._rig.text(error, 3000)}"[:4000]
