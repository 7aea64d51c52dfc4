"""Claims about a training step that compiles itself, with its backward pass.

step = CompiledStep(part, made, 4)     made(student, rig, compiler) -> a model, and what takes a step and returns
step.trains_alike(...)                      its loss; each claim is a check of the part, and reads the probe `stepped`
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from autograder.checks import numerics, outputs
from autograder.checks.numerics import Array
from autograder.claims.groups import listed
from autograder.lab import BOOLEAN, INTEGER, TEXT, Part, Rig, Student, list_of, record
from autograder.model import Failed, Pair, Passed, Verdict, verdict

Made = Callable[[Student, Rig, Any], tuple[Any, Callable[[], Any]]]
STEP = record(nodes=INTEGER, built=INTEGER, runs=INTEGER)
"""What a step did: autograd nodes that ran one by one, graphs that were built, graphs that ran."""
ARRAYS = dict.fromkeys(("start", "weights", "losses"), ("float64", 1))
EAGER = (
    "no compiled graph ran: usually the step is not compiled",
    "torch.compile, with this backend, for a function that computes the loss and calls backward()",
)
NOT_ALL = "a part of the backward pass is not in a compiled graph"
ELSEWHERE = "usually backward() is called outside of what is compiled"
OUTSIDE = f"{NOT_ALL}: {ELSEWHERE}"
NONE = f"no part of the backward pass is in a compiled graph: {ELSEWHERE}"
OFF = f"{NOT_ALL}: compiled autograd was off when torch.compile was called"
ADDED = "usually gradients from before a step are added: zero_grad() must come first"
OWN = "a step must return the loss of its own batch, before it changes a weight"
FAR = 1.5  # times as far as they should: weights that move by gradients of earlier steps as well

LOSS = "detached tensor"
KEEPS = "a tensor that requires grad keeps the graph of its step alive"
WAITS = "a number makes the host wait for the device"
STAYS = "the whole process shares this setting: whatever is compiled later is built in another way"
CHANGED = {
    "settings": "is still changed after the steps",
    "turned_off": "was on before the step was made, and is off afterwards",
}
PATCH = "with torch._dynamo.config.patch(compiled_autograd=True): around torch.compile alone"


class CompiledStep:
    """A function that makes a training step, and what is claimed of the steps."""

    def __init__(
        self, part: Part, made: Made, steps: int, takes: Collection[str] | None = None
    ) -> None:
        """Say how: *made* is called once, and its step so many times."""
        self.part = part

        @part.probe(
            pair=True,
            values={
                "steps": list_of(STEP),
                "returned": list_of(TEXT),
                "was_off": BOOLEAN,
                "settings": list_of(TEXT),
                "turned_off": list_of(TEXT),
            },
            arrays=ARRAYS,
            takes=takes,
        )
        def stepped(student: Student, rig: Rig) -> Any:
            """Steps on the recording backend, each under a profiler."""
            compiler = rig.compiler()
            with rig.backward_nodes() as nodes:
                model, step = made(student, rig, compiler)
                start = rig.flat(dict(model.named_parameters()))
                losses, noted = [], []
                for _ in range(steps):
                    compiler.forget()
                    losses.append(nodes.counted(step))
                    values = compiler.values()
                    built, runs = len(values["built"]), sum(values["runs"].values())
                    noted.append({"nodes": nodes.count, "built": built, "runs": runs})
                settings, was_off = nodes.settings(), nodes.was_off()
                turned_off = nodes.turned_off(lambda: made(student, rig, compiler))
            return {
                "steps": noted,
                "was_off": was_off,
                "settings": settings,
                "turned_off": turned_off,
                "returned": sorted({rig.text(_kind(loss), 60) for loss in losses}),
                "start": start,
                "weights": rig.flat(dict(model.named_parameters())),
                "losses": rig.series(losses, "losses"),
            }

    def trains_alike(self, name: str, within: float, says: str, why: str, try_: str) -> Any:
        """Claim the baseline's weights after all steps, and its loss in each; losses keep no graph."""

        def judge(stepped: Pair) -> Verdict:
            moved = numerics.same_update(stepped, within, why=why, try_=try_)
            if isinstance(moved, Failed):
                far = numerics.update(stepped, "weights").ratio > FAR
                return replace(moved, why=ADDED) if far else moved
            own, right = (it.arrays["losses"] for it in (stepped.student, stepped.baseline))
            if not outputs.furthest(own, right) <= within:
                return _losses_differ(own, right, within)
            if odd := {*stepped.student.values["returned"]} - {LOSS}:
                cause = KEEPS if "requires grad" in min(odd) else WAITS
                return Failed(f"a step returns a {min(odd)}", cause, "return loss.detach()")
            return Passed(moved.measured, moved.evidence)

        return self.part.add_check(
            name, says, "outputs", judge, ["stepped"], compared="losses and weights"
        )

    def runs_no_nodes(self, name: str, says: str, try_: str, needs: Sequence[str] = ()) -> Any:
        """Claim that the last step runs no autograd node by itself: the backward pass is in compiled graphs."""

        def judge(stepped: Pair) -> Verdict:
            last, plain = (it.values["steps"][-1:] for it in (stepped.student, stepped.baseline))
            nodes, runs, whole = _sum(last, "nodes"), _sum(last, "runs"), _sum(plain, "nodes")
            number = len(stepped.student.values["steps"])
            measured = (
                f"{nodes} autograd nodes ran one by one in step {number}, where the slow version "
                f"runs {whole}; {runs} compiled graphs ran"
            )
            outside = OFF if stepped.student.values["was_off"] else OUTSIDE
            outside = NONE if nodes >= whole else outside
            why, hint = (outside if nodes else "", try_) if runs else EAGER
            changed = [
                f"torch._dynamo.config.{setting} {words}"
                for noted, words in CHANGED.items()
                for setting in stepped.student.values[noted][:1]
            ]
            if changed and not why:
                return Failed(changed[0], STAYS, PATCH)
            return verdict(measured, why, hint)

        return self.part.add_check(name, says, "report", judge, ["stepped"], needs)

    def builds_nothing_later(
        self, name: str, says: str, why: str, try_: str, *, after: int, needs: Sequence[str] = ()
    ) -> Any:
        """Claim that no graph is built *after* so many steps."""

        def judge(stepped: Pair) -> Verdict:
            built = [step["built"] for step in stepped.student.values["steps"]]
            measured = f"graphs built in each step: {', '.join(map(str, built))}"
            return verdict(measured, why if any(built[after:]) else "", try_)

        return self.part.add_check(name, says, "report", judge, ["stepped"], needs)


def _kind(loss: Any) -> str:
    if not hasattr(loss, "requires_grad"):
        return type(loss).__name__
    return "tensor that requires grad" if loss.requires_grad else LOSS


def _losses_differ(own: Array, right: Array, within: float) -> Failed:
    """Say which losses came; the first step's, each time, is a usual mistake."""
    measured = f"losses are {listed(own)}; expected {listed(right)}"
    first = len(own) == len(right) and np.allclose(own, right[0], rtol=within)
    why = "each step returns the loss of the first batch" if first else OWN
    return Failed(measured, why, "return the loss that this call computed, detached")


def _sum(steps: Sequence[Any], name: str) -> int:
    return int(np.sum([step[name] for step in steps]))
