"""`rig.checklist`: the points of a fast training loop, each run for itself; what they should be, the baseline shows."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import torch

BATCH = 8  # samples
GROUP = 3  # batches of a step
Train = Callable[..., Any]
"""train(window, amp, accumulate, on_step): what the loop returned."""


class Checklist:
    """The toolkit."""

    def __init__(self, rig: Any) -> None:
        """Draw from the rig."""
        self._rig = rig

    def loaded(self, make_loader: Callable[..., Any]) -> dict[str, Any]:
        """Go through two epochs of a loader with two processes; the last batch is shorter."""
        data = self._rig.loading.pictures(BATCH * 5 + self._rig.integer(1, BATCH - 1))
        loader = make_loader(data, BATCH, 2, self._rig.device)
        seen = [(epoch, self._rig.loading.epoch(loader)) for epoch in ("first", "second")]
        return {
            f"{epoch}_{name}": array for epoch, arrays in seen for name, array in arrays.items()
        }

    def asked(self, make_loader: Callable[..., Any]) -> list[dict[str, Any]]:
        """Note the arguments of loaders for each kind of device; none of them is used."""
        made = []
        for device, workers in (
            ("cpu", 0),
            ("cpu", 3),
            ("cuda", 0),
            ("cuda", self._rig.integer(4, 8)),
        ):
            with self._rig.loading.built() as built:
                make_loader(
                    self._rig.loading.pictures(BATCH),
                    BATCH,
                    workers,
                    self._rig.loading.device(device),
                )
            made.append({"device": device, "workers": workers, "options": built.last()})
        return made

    def searched(self, look: Callable[..., Any]) -> dict[str, Any]:
        """Look for batches in steps of which all, a part, one sample or no half fits; and where every size is wrong."""
        searches, part = [], 8 * self._rig.integer(3, 9)
        for step, low, high in (
            (256, 256, 900),
            (96, 12, 90),
            (part, 9, 20),
            (32, 1, 1),
            (28, 3, 6),
        ):
            limit, found = self._rig.integer(low, high), None
            with suppress(torch.OutOfMemoryError):
                found = self._rig.number(look(self._rig.sizes.attempt(limit), step))
            searches.append({"step": step, "limit": limit, "found": found})
        broken, other = self._rig.sizes.attempt(64, broken=True), ""
        try:
            look(broken, 64)
        except Exception as error:
            other = type(error).__name__[:60]
        return {"searches": searches, "other": other, "tries": len(broken.asked)}

    def grouped(self, train: Train) -> dict[str, Any]:
        """Train in groups of small batches, and on the baseline's side in large ones; samples are kept apart."""
        group = GROUP if self._rig.side == "student" else 1
        sizes, options = (
            [GROUP * BATCH // group] * (4 * group),
            {"momentum": 0.9, "enlarged": 2, "lr": 0.05},
        )
        window = self._rig.window(sizes, model=self._rig.matched.simple_net(), **options)
        window.criterion.label_smoothing = 0.1  # so that another criterion shows
        start = window.weights()
        called: list[int] = []
        losses = self._rig.series(
            train(window, False, group, lambda: called.append(1))["losses"], "losses"
        )
        seen = {"losses": losses, "weights": window.weights()}
        return {"start": start, "called": len(called) * GROUP // group, **seen}

    def called(self, train: Train, code: Any) -> dict[str, Any]:
        """Note what a loop calls: waits for the device, copies to it."""
        watched, moved = self._rig.window(), self._rig.window()
        graphs, waits = self._rig.graphs(watched), self._rig.waits(watched, code)
        with waits:
            train(watched)
        with self._rig.loading.moves(moved.loader) as moves:
            train(moved)
        queued, seconds = self._rig.on_a_gpu(partial(self._left_to_do, train))
        told = {
            "images": moves.by_dimensions[4],
            "labels": moves.by_dimensions[1],
            "waited": moves.waited,
        }
        return {
            "waits": waits.values(),
            "kept": graphs.kept,
            "batches": len(moved.loader),
            "seconds": self._rig.number(seconds),
            "queued": queued,
            **told,
        }

    def _left_to_do(self, train: Train, device: torch.device) -> tuple[float, Any]:
        """Return the seconds that a GPU works on after the loop, and those of the epoch; a CPU leaves nothing."""
        window, left = self._rig.window(), 0.25 * (device.type != "cpu")
        self._rig.clock.freeze()
        scaler = torch.amp.GradScaler("cpu", enabled=False)  # an enabled one waits at each step
        with self._rig.queue(window, left):
            seen = train(replace(window, device=device, scaler=scaler))
        return len(window.loader) * left, seen["seconds"]

    def fused(self, net: Any, fuse: Callable[..., Any]) -> dict[str, Any]:
        """Run a network in one graph, under a backend that counts; three batch sizes, each twice.

        A third size tells: torch.compile makes a graph for any size of its own accord when it meets the second one.
        """
        answers, compiler = self._rig.answers(), self._rig.compiler(self._rig.window([4]))
        built, sizes = (
            fuse(net.eval(), backend=compiler),
            self._rig.random.permutation(range(2, 7))[:3].tolist(),
        )
        for turn in (1, 2):
            for batch in sizes:
                images = self._rig.tensor(self._rig.random.normal(size=(batch, 3, 16, 16)))
                with self._rig.no_grad():
                    answers.add(f"logits of {batch} images, call {turn}", built(images))
        told = compiler.values()
        refusal = self._rig.refusal(lambda model: fuse(model, backend=compiler))
        counts = {
            "runs": sum(told["runs"].values()),
            "passes": 2 * len(sizes),
            "built": len(told["built"]),
        }
        parameters = {"parameters": told["parameters"], "all": len(list(net.parameters()))}
        return {**answers.seen(), **counts, **parameters, "shapes": len(sizes), "refusal": refusal}

    def summed(self, read_stats: Callable[[str], Any]) -> dict[str, Any]:
        """Read made outputs of nsys stats, of today's and of older ones."""
        told, known = [], []
        for number, new in enumerate((True, False)):
            made, file = (
                self._rig.sums(self._rig.random, new=new),
                self._rig.folder / f"stats_{number}.txt",
            )
            file.write_text(made.text(), encoding="utf-8")
            known.append(made.known)
            seen = self._rig.returned("read_stats", read_stats(str(file)))
            told.append({name: self._rig.number(seen[name]) for name in made.known})
        return {"told": told, "known": known}
