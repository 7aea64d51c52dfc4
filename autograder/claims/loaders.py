"""Claims about a loader: what its epochs deliver and in which order, how it is made, and how fast it is.

loader = Loader(part, make, see=...)    make(student, data, batch, device, workers, seed) returns one
loader.delivers()               every sample once, with workers and without
loader.delivers_anew(says)      or, in one check, every sample once, in another order each time
loader.shuffles()               in another order each time;  loader.follows_the_seed()  if it is seeded
loader.draws_afresh()           random numbers of a data set differ from worker to worker and from epoch to epoch
loader.has_options(name)        workers as asked, pinned memory and workers that stay where they help
loader.is_faster()              than one without workers, by the clock
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from autograder.checks import loaders, speedup
from autograder.lab import (
    BOOLEAN,
    INTEGER,
    TEXT,
    Part,
    Probe,
    Rig,
    Student,
    list_of,
    optional,
    record,
)
from autograder.model import (
    Bar,
    Failed,
    Observation,
    Pair,
    Timed,
    Verdict,
)
from autograder.probe import TIMED_ARRAYS, Close, Dataset
from autograder.protocol.digest import Epoch, differing
from autograder.protocol.images import Samples

BATCH, WORKERS = 8, 2
SAMPLES = 24  # that are random numbers
SOURCES = ("torch", "numpy", "random")
LOADED = TIMED_ARRAYS["load"]
EACH_ONCE = "every_sample_once"
ALONE = "works_without_workers"
SHUFFLES = "shuffles_each_epoch"
DELIVERS = {
    EACH_ONCE: "With 2 workers an epoch delivers every sample once, with its label; its last batch is short.",
    ALONE: "With num_workers=0 an epoch delivers every sample once as well.",
}
READS = "An epoch of slow reads with 4 workers is at least {bar} as fast as with none, timed by the grader."
WAITS = "bound by data: reads wait for each other: nothing reads ahead, or workers restart in each epoch"
HAS_OPTIONS = (
    "num_workers as given; pin_memory for a GPU only; persistent_workers where there are workers."
)
OPTIONS = record(
    num_workers=INTEGER, pin_memory=BOOLEAN, persistent_workers=BOOLEAN, pickles=BOOLEAN
)
MADE = record(device=TEXT, workers=INTEGER, options=optional(OPTIONS), raised=BOOLEAN)


class Loader:
    """A function that makes a loader, and what is claimed of it."""

    def __init__(
        self,
        part: Part,
        make: Callable[..., Any],
        *,
        see: str,
        takes: Sequence[str] | None = None,
        seeded: bool = False,
    ) -> None:
        """Say how one is made, where the handout shows it, and what that takes of the student's module."""
        self.part, self.make, self.see = part, make, see
        self.takes = None if takes is None else frozenset(takes)
        self.epochs = loaders.EPOCHS if seeded else loaders.EPOCHS[:2]

    def _probe(self, name: str, run: Callable[..., Any], **form: Any) -> None:
        slow = "start workers as by default: with spawn, each worker imports torch again"
        hints = {"timeout": slow}
        self.part.probes[name] = Probe(name, run, hints=hints, takes=self.takes, **form)

    def delivers(self) -> None:
        """Claim that two epochs hold every sample once."""
        try_ = "shuffle=True, with no drop_last, sampler or collate_fn of your own"
        judge = partial(loaders.delivered, try_=try_)
        for workers, probe, name in (
            (WORKERS, "epochs", EACH_ONCE),
            (0, "alone", ALONE),
        ):
            self._several(probe, workers)
            self.part.add_check(name, DELIVERS[name], "outputs", judge, [probe])

    def delivers_anew(self, says: str) -> None:
        """Claim that two epochs of workers hold every sample once, each in an order of its own."""
        self._several("epochs", WORKERS)

        def judge(epochs: Pair) -> Verdict:
            try_ = "shuffle=True, and no drop_last"
            whole = loaders.delivered(epochs, try_=try_)
            first, second = (
                list(loaders.epoch(epochs.student, it).samples()) for it in self.epochs
            )
            if isinstance(whole, Failed) or first != second:
                return whole
            return Failed("two epochs in one order", "the order is drawn only once, or never", try_)

        self.part.add_check(EACH_ONCE, says, "outputs", judge, ["epochs"])

    def _several(self, probe: str, workers: int) -> None:
        def several(student: Student, rig: Rig) -> Any:
            data = rig.loading.pictures(BATCH * 5 + rig.integer(1, BATCH - 1))
            seed = rig.integer(1, 1000)
            seeds = (seed, seed, seed + 1)[: len(self.epochs) - 1]
            answers = rig.answers(student)
            made = [
                answers.tried(self.make, student, data, BATCH, rig.device, workers, each)
                for each in seeds
            ]
            if isinstance(made[0], Exception):
                none = {name: np.zeros(0, dtype) for name, (dtype, _) in arrays.items()}
                return {"raised": answers.named(made[0]), **none}
            return {"raised": ""} | {
                f"{epoch}_{name}": array
                for epoch, loader in zip(self.epochs, (made[0], *made), strict=True)
                for name, array in rig.loading.epoch(loader).items()
            }

        arrays = {f"{epoch}_{name}": LOADED[name] for epoch in self.epochs for name in LOADED}
        values = record(raised=TEXT)
        self._probe(probe, several, pair=True, values=values, arrays=arrays)

    def shuffles(self) -> None:
        """Claim that each epoch has an order of its own."""
        says = "Samples do not come in the order of the data set, and each epoch has a different order."
        try_ = "give DataLoader shuffle=True"
        self._ordered(SHUFFLES, says, loaders.shuffled, try_, [EACH_ONCE])

    def follows_the_seed(self) -> None:
        """Claim that the seed decides the order."""
        says = "Two loaders with the same seed shuffle alike, and one with another seed does not."
        try_ = "generator=torch.Generator().manual_seed(seed)"
        self._ordered(
            "order_follows_the_seed",
            says,
            loaders.seeded,
            try_,
            [SHUFFLES],
        )

    def _ordered(
        self,
        name: str,
        says: str,
        judge: Callable[..., Verdict],
        try_: str,
        needs: Sequence[str],
    ) -> None:
        def judged(epochs: Pair, alone: Pair) -> Verdict:
            pairs = {WORKERS: epochs, 0: alone}
            made = {at: it for at, it in pairs.items() if not it.student.values["raised"]}
            return judge(made, try_=try_)

        self.part.add_check(name, says, "outputs", judged, ["epochs", "alone"], needs)

    def draws_afresh(self) -> None:
        """Claim that no worker and no epoch repeats the random numbers of another."""

        def dice(student: Student, rig: Rig) -> Any:
            drawn = {}
            for source in SOURCES:
                data = rig.loading.dice(source, SAMPLES)
                loader = self.make(student, data, BATCH // 2, rig.device, WORKERS, 1)
                epochs = [rig.loading.epoch(loader)["commitments"] for _ in range(2)]
                drawn[source] = np.concatenate(epochs)
            return drawn

        self._probe(
            "dice",
            dice,
            arrays=dict.fromkeys(SOURCES, LOADED["commitments"]),
        )
        says = (
            "Random numbers in the data set differ from worker to worker and from epoch to epoch."
        )
        judge = partial(loaders.drawn_afresh, samples=2 * SAMPLES)
        self.part.add_check("augments_afresh", says, "outputs", judge, ["dice"])

    def has_options(self, name: str, says: str = HAS_OPTIONS, *, spawned: bool = False) -> None:
        """Claim what loaders for each kind of device are made with; if *spawned*, their collation pickles."""

        def arguments(student: Student, rig: Rig) -> Any:
            """What is raised without workers is another check's, if there is one."""
            told = ALONE in self.part.checks
            made = []
            for device, workers in loaders.KINDS:
                with rig.loading.built() as built:
                    data = rig.loading.pictures(BATCH)
                    where = rig.loading.device(device)
                    answers = rig.answers(student)
                    loader = answers.tried(self.make, student, data, BATCH, where, workers, 1)
                raised = isinstance(loader, Exception)
                if raised and (workers or not told):
                    raise loader
                kind = {"device": device, "workers": workers, "raised": raised}
                made.append({**kind, "options": built.last()})
            return {"made": made}

        self._probe("arguments", arguments, values=record(made=list_of(MADE)))

        def judge(observation: Observation) -> Verdict:
            return loaders.options(observation.values["made"], try_=self.see, spawned=spawned)

        self.part.add_check(name, says, "report", judge, ["arguments"])

    def is_faster(
        self,
        name: str = "loading_is_faster",
        probe: str = "slow_reads",
        dataset: Dataset = Samples,
        *,
        says: str = READS,
        why: str = WAITS,
        needs: Sequence[str] = (EACH_ONCE,),
    ) -> None:
        """Claim a speedup over a loader without workers: 4 of them and batches of 4, an epoch of 32 reads."""

        def run(student: Student, data: Any, device: Any) -> Any:
            return self.make(student, data, 4, device, 4, 1)

        def judge(timed: Timed, bar: Bar) -> Verdict:
            problem = differing(
                Epoch(**timed.student.arrays),
                Epoch(**timed.baseline.arrays),
            )
            if problem:
                return Failed(
                    problem,
                    "the loader that is timed delivers other samples",
                    self.see,
                )
            try_ = "num_workers, persistent_workers, prefetch_factor"
            return speedup.at_least(timed, bar, why=why, try_=try_)

        exact = Close(0.0, 0.0)
        form = {"arrays": LOADED, "dataset": dataset, "within": exact}
        self._probe(probe, run, pair=True, timed="load", **form)
        self.part.add_check(name, says, "outputs", judge, [probe, "bar"], needs)
