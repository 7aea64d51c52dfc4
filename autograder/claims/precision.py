"""Claims about half precision: a function that trains an epoch under autocast, with a GradScaler.

half = HalfPrecision(part, train, WHERE, takes="train_epoch_amp")    train(student, window) -> the dict that it returns
half.rounds_as_autocast()                      with a rate of 0, each loss shows how its forward pass was rounded
half.runs_where_it_helps()                     dtypes of operators, and of weights
half.uses_the_scaler_in_order()                scale, backward, step, update
half.skips_overflow()                          a batch that overflows moves nothing, and halves the scale
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from autograder.checks import precision
from autograder.checks.numerics import sixteen_bits
from autograder.claims.training_loop import steepen
from autograder.lab import (
    INTEGER,
    NUMBER,
    TEXT,
    Part,
    Rig,
    Student,
    Window,
    exactly,
    list_of,
    map_of,
    optional,
    record,
)
from autograder.model import Device, Failed, Observation, Pair, Verdict

HALVES = ("bfloat16", "float16")
TRAINED = {"start": ("float32", 1), "weights": ("float32", 1)}


class HalfPrecision:
    """A training in half precision, and what is claimed of it."""

    def __init__(
        self,
        part: Part,
        train: Callable[[Student, Window], Any],
        where: str,
        takes: str = "",
    ) -> None:
        """Name the function that trains; *where* points to the handout, *takes* is the student's function."""
        self.part, self.train, self.where = part, train, where
        self.takes = {takes} if takes else None

    def rounds_as_autocast(
        self,
        says: str = (
            "With AMP the losses have the rounding of 16-bit autocast: they differ slightly from "
            "those of FP32."
        ),
        *,
        scaler: bool = False,
        needs: Sequence[str] = (),
    ) -> None:
        """Claim half precision by the rounding of losses; without a *scaler*, so that it goes by autocast alone."""

        @self.part.probe(
            pair=True,
            arrays={
                **dict.fromkeys(("losses", *HALVES), ("float64", 1)),
                "weights": ("float32", 1),
            },
            takes=self.takes,
        )
        def rounding(student: Student, rig: Rig) -> Any:
            def trained() -> dict[str, Any]:
                window = rig.window([8] * 40, lr=0.0)
                if not scaler:
                    window.scaler = None  # type: ignore[assignment]  # autocast alone
                losses = rig.series(self.train(student, window)["losses"], "losses")
                return {"losses": losses, "weights": window.weights()}

            own = trained()
            if rig.side == "student":
                # The baseline's are read.
                return {**own, **dict.fromkeys(HALVES, own["losses"])}
            halves = {dtype: rig.autocast(dtype, trained)["losses"] for dtype in HALVES}
            return {**own, **halves}

        def judge(run: Pair) -> Verdict:
            trusted = run.baseline.arrays
            halves = {dtype: trusted[dtype] for dtype in HALVES}
            try_ = (
                "torch.autocast(device.type) around model and loss, with or without a scaler "
                "(torch.cuda.amp is off on a CPU)"
            )
            losses = run.student.arrays["losses"]
            verdict = precision.rounded_as(losses, trusted["losses"], halves, try_=try_)
            if isinstance(verdict, Failed) and not scaler:
                verdict = replace(verdict, measured=f"with scaler=None, {verdict.measured}")
            if isinstance(verdict, Failed) and sixteen_bits(run.student.arrays["weights"]):
                return replace(verdict, why=precision.NARROW, try_=precision.FLOAT32)
            return verdict

        self.part.add_check(
            "computes_in_half_precision",
            says,
            "outputs",
            judge,
            ["rounding"],
            needs,
        )

    def runs_where_it_helps(self, needs: Sequence[str] = ()) -> None:
        """Claim the precision of operators, of weights and of the backward pass."""

        @self.part.probe(values={"dtypes": map_of(map_of(INTEGER))}, takes=self.takes)
        def op_dtypes(student: Student, rig: Rig) -> Any:
            window = rig.window()
            with rig.op_dtypes(window) as noted:
                try:
                    self.train(student, window)
                except (AssertionError, RuntimeError):
                    # Of the scaler's, perhaps: what ran before it is judged all the same.
                    if "backward" not in noted.values():
                        raise
            return {"dtypes": noted.values()}

        def judge(observation: Observation, device: Device) -> Verdict:
            dtypes = observation.values["dtypes"]
            on_gpu = device.kind == "cuda"
            return precision.dtypes_where_they_help(dtypes, on_gpu=on_gpu, try_=self.where)

        says = (
            "Convolutions and matrix products run in 16 bits; loss, "
            "weights and (on a GPU) softmax in 32; "
            "backward runs outside autocast."
        )
        reads = ["op_dtypes", "device"]
        self.part.add_check(
            "half_precision_where_it_helps",
            says,
            "report",
            judge,
            reads,
            needs,
        )

    def uses_the_scaler_in_order(
        self,
        says: str = "Once for each batch, in this order: scale, backward, step, update.",
        also: Mapping[str, Callable[[Student, Window], Any]] = MappingProxyType({}),
    ) -> None:
        """Claim the order of the calls on the scaler that is handed in, in this training and in *also* others."""
        runs = {"": self.train, **also}

        @self.part.probe(
            values={"runs": exactly(len(runs), record(events=list_of(TEXT), batches=INTEGER))},
            takes=self.takes,
        )
        def scaler_calls(student: Student, rig: Rig) -> Any:
            noted = []
            for train in runs.values():
                window = rig.window()
                calls = rig.scaler_calls(window)
                train(student, window)
                noted.append({"events": calls.events, "batches": len(window.loader)})
            return {"runs": noted}

        def judge(observation: Observation) -> Verdict:
            for case, noted in zip(runs, observation.values["runs"], strict=True):
                judged = precision.scaler_in_order(**noted)
                if isinstance(judged, Failed):
                    return replace(judged, measured=case + judged.measured, why=case + judged.why)
            return judged

        self.part.add_check("scaler_in_order", says, "report", judge, ["scaler_calls"])

    def skips_overflow(self, update: float | None = None) -> None:
        """Claim that an overflow skips its step; *update* bounds how far the weights are apart, if it is judged."""

        @self.part.probe(
            pair=True,
            arrays=TRAINED,
            values={"before": NUMBER, "after": optional(NUMBER), "steps": INTEGER},
            takes=self.takes,
        )
        def overflow(student: Student, rig: Rig) -> Any:
            """One batch overflows; the baseline runs without it."""
            window = rig.window(scale=2.0 ** rig.integer(7, 10), poison=rig.integer(1, 5))
            steepen(window)
            before = window.scaler.get_scale()
            start = window.weights()
            steps = list[int]()
            window.optimizer.register_step_post_hook(lambda *_: steps.append(1))
            self.train(student, window)
            after = rig.number(window.scaler.get_scale())
            return {
                "before": before,
                "after": after,
                "steps": len(steps),
                "start": start,
                "weights": window.weights(),
            }

        def judge(run: Pair) -> Verdict:
            return precision.overflow_skipped(run, update)

        says = "A batch whose gradients overflow changes no weight and halves the scale."
        self.part.add_check(
            "overflow_skips_the_step",
            says,
            "outputs",
            judge,
            ["overflow"],
            compared="weights" if update else "the scale",
        )
