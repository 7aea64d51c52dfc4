"""Claims about a function that trains for an epoch: what it does to weights, what it returns, what it says of time.

loop = TrainingLoop(part, "train_epoch")  called as (model, loader, criterion, optimizer, device), or as `call` says
loop.follows("trains_right", ...)         losses and weights are the baseline's
loop.returns_its_metrics(...)             losses, loss and accuracy fit each other and the samples
loop.keeps_an_honest_clock()              throughput and data_wait, on a clock that the grader moves
loop.waits_rarely()                       the host does not wait for the device at every step
loop.moves()                              the probe of copies to the device, for `loaders.each_copied`
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from autograder.checks import host_waits, loaders, numerics, timing
from autograder.checks.numerics import close, shown
from autograder.claims import apart
from autograder.claims.apart import WHY_APART, how_apart
from autograder.claims.epoch_words import not_handed_on, not_passed, passed_over
from autograder.claims.graphs import FETCHES
from autograder.lab import (
    BOOLEAN,
    INTEGER,
    NUMBER,
    Part,
    Rig,
    Student,
    Window,
    list_of,
    map_of,
    optional,
)
from autograder.model import (
    Failed,
    Observation,
    Pair,
    Passed,
    Verdict,
)
from autograder.probe import Tolerance

BATCH = 8  # samples
STEEP = 64.0  # times as large are gradients, at a rate as many times smaller
STARTS = 3  # iterators: tqdm.auto asks for one when it is made, and for another in the loop
LOSSES = {"losses": ("float64", 1)}
TRAINED = {**LOSSES, "start": ("float32", 1), "weights": ("float32", 1)}
WAITS = {
    "batches": INTEGER,
    "kept": INTEGER,
    "waits": FETCHES,
}
Reason = Callable[[Pair, Tolerance], tuple[str, str]]
"""Says why a training does not follow the baseline's, and what to try."""
OWN_MEAN = "yours is the mean of the losses that you return, which are not the right ones"
OWN_LOSS = "yours is F.cross_entropy's, and the criterion passed in was a different one, with label smoothing"


def steepen(window: Window) -> None:
    """Let the same steps be taken with larger gradients, so that clipping shows."""
    for parameter in window.model.parameters():
        parameter.register_hook(lambda gradient: STEEP * gradient)
    for group in window.optimizer.param_groups:
        group["lr"] /= STEEP


class TrainingLoop:
    """A function that trains for an epoch, and what is claimed of it."""

    def __init__(
        self,
        part: Part,
        function: str,
        call: Callable[[Student, Window], Any] | None = None,
        module: Callable[[Student], Any] | None = None,
    ) -> None:
        """Name the function; *call*, of the student's module and a window, returns what it returned.

        *module* finds the function's module, if that is another file of the part.
        """
        self.part = part
        self.function = function
        self.call = call or self._plainly
        self.module = module

    def _plainly(self, student: Student, window: Window) -> Any:
        given = (
            window.model,
            window.loader,
            window.criterion,
            window.optimizer,
            window.device,
        )
        return window.returned(self.function, getattr(student, self.function)(*given))

    def follows(
        self,
        name: str,
        within: Tolerance,
        *,
        says: str,
        words: Mapping[str, tuple[str, str]] = WHY_APART,
        otherwise: Reason | None = None,
        see: str = "",
        counts: str = "",
        **window: Any,
    ) -> Callable[..., Verdict]:
        """Claim the baseline's losses and weights.

        *words* are others for some of WHY_APART; *otherwise* finds its own. What the call *counts* has to be as many as
        there are batches. *window* is for `rig.window`.
        """

        def trained(student: Student, rig: Rig) -> dict[str, Any]:
            epoch = rig.window(**window)
            # So that another loss than the one handed in shows.
            epoch.criterion.label_smoothing = 0.1
            epoch.model.eval()
            steepen(epoch)
            first, start = apart.first_losses(rig, epoch), epoch.weights()
            steps, called = list[int](), list[int]()
            epoch.optimizer.register_step_post_hook(lambda *_: steps.append(1))
            epoch.criterion.register_forward_hook(lambda *_: called.append(1))
            metrics = self.call(student, epoch)
            return {
                "first": first,
                "steps": len(steps),
                "called": len(called),
                "finite": apart.has_finite_gradients(epoch),
                "counted": metrics[counts] if counts else 0,
                "start": start,
                "losses": rig.series(metrics["losses"], "losses"),
                "weights": epoch.weights(),
            }

        def judge(pair: Pair) -> Verdict:
            counted = pair.student.values["counted"]
            batches = len(pair.baseline.arrays["losses"])
            if counts and counted != batches:
                measured = f"{counts} was called {counted} times in {batches} batches"
                return Failed(measured, "it is to be called after each batch", see)
            kind = how_apart(pair, within)
            reason, try_ = {**WHY_APART, **words}[kind]
            if otherwise is not None and kind not in apart.CERTAIN:
                reason, try_ = otherwise(pair, within)
            reason = reason.format(**apart.counts(pair))
            return numerics.same_trajectory(pair, within, why=reason, try_=try_ or see)

        forms = {**dict.fromkeys(("counted", "steps", "called"), INTEGER), "finite": BOOLEAN}
        forms["first"] = map_of(NUMBER)
        probe = self._probe(trained, pair=True, values=forms, arrays=TRAINED)
        of = "losses and weights"
        return self.part.add_check(name, says, "outputs", judge, [probe], compared=of)

    def returns_its_metrics(
        self,
        *means: str,
        says: str,
        slips: Mapping[str, float] = MappingProxyType({}),
        within: float = 1e-4,
        rounded: bool = False,
        listed: bool = False,
        batch: int = BATCH,
        batches: tuple[int, int] = (11, 14),
        right: Sequence[tuple[int, int]] = ((1, 2), (6, 7)),
        smoothing: float = 0.0,
        norm: str = "",
    ) -> None:
        """Claim that loss is the mean over batches or samples, or one of both *means*, and accuracy a percentage.

        *slips* maps words to what a loss then is of the right one. *rounded* losses are taken as they are returned,
        *listed* ones compared with the baseline's.
        So many of a *batch* are *right*, in either half of the epoch. With a rate of 0 no step changes that.
        """

        def metrics(student: Student, rig: Rig) -> dict[str, Any]:
            count = rig.integer(*batches)
            sizes = [batch] * (count - 1) + [rig.integer(2, 3)]
            first, second = rig.random.permutation([rig.integer(*span) for span in right]).tolist()
            # All of the last batch are right, so that a mean of the batches' accuracies is another.
            hits = [first if at < count // 2 else second for at in range(count - 1)] + sizes[-1:]

            def run(smooth: float) -> Any:
                model = rig.nets.small(norm) if norm else None
                window = rig.window(sizes, lr=0.0, model=model)
                window.label(hits)
                window.criterion.label_smoothing = smooth
                return self.call(student, window)

            metrics = run(smoothing)
            plain = run(0.0)["loss"] if smoothing else None
            return {
                "sizes": sizes,
                "right": hits,
                "losses": rig.series(metrics["losses"], "losses"),
                "plain": rig.number(plain),
                **{name: rig.number(metrics[name]) for name in ("loss", "accuracy")},
            }

        def judge(pair: Pair) -> Verdict:
            reported = pair.student.values
            trusted = pair.baseline.values
            losses, expected = (side.arrays["losses"] for side in (pair.student, pair.baseline))
            if unlike := numerics.misshapen(losses, expected):
                one_each = "each batch has one", "losses.append(loss.detach()) in each iteration"
                return Failed(unlike, *(numerics.too_few(losses, expected) or one_each))
            expected = losses if rounded else expected
            epoch = numerics.Trained(expected, trusted["sizes"], trusted["right"], means)
            own = [(trusted["plain"] or 0.0, OWN_LOSS)] if smoothing else []
            own += [(factor * epoch.loss, words) for words, factor in slips.items()]
            if not own and numerics.furthest(losses, expected) > within:
                own = [(numerics.mean(losses), OWN_MEAN)]
            listing = losses if listed else expected
            lost = numerics.loss_problem(reported["loss"], listing, epoch, own, within)
            problem = lost or numerics.accuracy_problem(reported["accuracy"], epoch)
            loss, accuracy = (
                "None, NaN or infinite" if reported[it] is None else shown(reported[it])
                for it in ("loss", "accuracy")
            )
            if problem:
                unit = " %" * (reported["accuracy"] is not None)
                wrong = f"loss is {loss}" if lost else f"accuracy is {accuracy}{unit}"
                return Failed(wrong, *problem)
            return Passed(f"loss {loss}, accuracy {accuracy} %")

        values = dict.fromkeys(("sizes", "right"), list_of(INTEGER))
        values |= dict.fromkeys(("loss", "accuracy", "plain"), optional(NUMBER))
        probe = self._probe(metrics, pair=True, values=values, arrays=LOSSES)
        self.part.add_check("returns_the_metrics", says, "outputs", judge, [probe])

    def keeps_an_honest_clock(
        self,
        *,
        says: str = "Throughput counts whole iterations, waiting for data included; data_wait is that waiting.",
        figures: Sequence[str] = (),
        handed_on: str = "",
        start: float = 0.0,
        see: str = "",
    ) -> None:
        """Claim throughput and data_wait as a clock shows them that moves only by what is scripted.

        *figures* may be epoch_time and samples. What the call notes as *handed_on* has to be the samples' classes. So
        many seconds of the first wait pass in each iter(loader), as workers *start* there.
        """

        def clock(student: Student, rig: Rig) -> dict[str, Any]:
            count = rig.integer(11, 14)  # more than the ten of a loop copied from a profile
            sizes = [BATCH] * (count - 1) + [rig.integer(2, 3)]
            waits = rig.seconds(0.2, 0.9, count)
            work = rig.seconds(0.3, 0.8, count)
            queued, copying = rig.seconds(0.1, 0.3, 2)
            waits[0] += timing.START
            passes, begun = list[int](), list[int]()
            threads = set[int]()

            def run(device: Any) -> Any:
                passes.clear()
                begun.clear()
                window = replace(rig.window(sizes), device=device)
                rig.script(window, waits, work, start=start)
                window.model.register_forward_hook(lambda *_: passes.append(1))
                window.loader.starters.append(lambda: begun.append(1))
                window.loader.listeners.append(lambda _: threads.add(threading.get_ident()))
                gpu = device.type != "cpu"  # a CPU leaves nothing to wait for, and copies nothing
                with rig.queue(window, gpu * queued, gpu * copying) as queue:
                    metrics = self.call(student, window)
                return gpu * count * queued, queue.copied, metrics

            left, copied, metrics = rig.on_a_gpu(run)
            return {
                "sizes": sizes,
                "waits": waits,
                "work": work,
                "queued": left,
                "copied": copied,
                "passes": len(passes),
                "begun": len(begun),
                "ahead": bool(threads - {threading.get_ident()}),
                "handed_on": metrics[handed_on] if handed_on else [],
                **{name: rig.number(metrics[name]) for name in named},
            }

        def judge(pair: Pair) -> Verdict:
            reported = pair.student.values
            trusted = pair.baseline.values
            samples = sum(trusted["sizes"])
            if reported["handed_on"] != trusted["handed_on"]:
                return not_handed_on(len(reported["handed_on"]), samples)
            work = trusted["work"][
                : max(reported["passes"], 0) or None
            ]  # who joins batches takes fewer
            queued = (
                trusted["queued"] * len(work) / len(trusted["work"]) if reported["queued"] else 0.0
            )
            copied = max(reported["copied"], 0.0)
            work = [seconds + copied / len(work) for seconds in work]
            first, *others = trusted["waits"]
            scripts = [
                timing.Script(
                    [first + more * start, *others],
                    work,
                    samples,
                    BATCH,
                    queued,
                    start,
                    reported["ahead"],
                    copied,
                )
                for more in range(min(max(reported["begun"], 1), STARTS) if start else 1)
            ]
            judged = [(timing.honest(reported, script), script) for script in scripts]
            verdict, script = next(
                (it for it in judged if isinstance(it[0], Passed)),
                judged[0],
            )
            passes = reported["passes"]
            if isinstance(verdict, Failed) and (not passes or timing.OTHER in verdict.why):
                return replace(verdict, **passed_over(passes, len(trusted["sizes"])))
            if isinstance(verdict, Failed):
                return replace(verdict, try_=verdict.try_ or see)
            passed = {"epoch_time": script.total, "samples": samples}
            for name in figures:
                if not close(reported[name], passed[name], timing.EXACT):
                    return not_passed(name, reported[name], passed[name], len(trusted["sizes"]))
            return verdict

        named = ("throughput", "data_wait", *figures)
        values = {
            **dict.fromkeys(("waits", "work"), list_of(NUMBER)),
            "queued": NUMBER,
            "copied": NUMBER,
            "ahead": BOOLEAN,
        }
        values |= dict.fromkeys(("sizes", "handed_on"), list_of(INTEGER))
        values |= dict.fromkeys(("passes", "begun"), INTEGER)
        values |= dict.fromkeys(named, optional(NUMBER))
        probe = self._probe(clock, pair=True, values=values)
        self.part.add_check("honest_throughput", says, "scripted", judge, [probe])

    def waits_rarely(
        self,
        name: str = "no_wait_per_step",
        *,
        says: str = "The host does not wait for the device at every step, and no step's graph is kept.",
        needs: Sequence[Callable[..., Verdict]] = (),
        also: Mapping[Callable[..., Any], Callable[[Observation], Verdict]] = MappingProxyType({}),
    ) -> None:
        """Claim that the host waits in every tenth batch at most and keeps no old graph; *also* judges other probes."""

        def waits(student: Student, rig: Rig) -> dict[str, Any]:
            window = rig.window([4] * 23 + [3])
            graphs = rig.graphs(window)
            with rig.waits(window, self.module(student) if self.module else student) as noted:
                # Who returns no losses has nothing to wait for.
                _ = self.call(student, window)["losses"]
            return {
                "batches": len(window.loader),
                "waits": noted.values(),
                "kept": graphs.kept,
            }

        def judge(noted: Observation, *others: Observation) -> Verdict:
            verdict = host_waits.no_wait_per_step(**noted.values)
            for other, judged in zip(others, also.values(), strict=True):
                verdict = judged(other) if isinstance(verdict, Passed) else verdict
            return verdict

        reads = [
            self._probe(waits, values=WAITS),
            *(probe.__name__ for probe in also),
        ]
        self.part.add_check(
            name,
            says,
            "report",
            judge,
            reads,
            [check.__name__ for check in needs],
        )

    def moves(self) -> Callable[[Student, Rig], Any]:
        """Register and return the probe of the copies to the device in one epoch."""

        def moves(student: Student, rig: Rig) -> dict[str, Any]:
            window = rig.window([4] * 24)
            with rig.loading.moves(window.loader) as noted:
                self.call(student, window)
            return {"batches": len(window.loader), **noted.of_batches()}

        self._probe(moves, values=dict.fromkeys(loaders.MOVES, INTEGER))
        return moves

    def _probe(self, run: Callable[[Student, Rig], Any], **forms: Any) -> str:
        self.part.probe(takes=None if self.module else [self.function], **forms)(run)
        return run.__name__
