"""Claims about processes that share one model: each holds a share of it, and gathers a block when it needs that.

shards = Shards(part, ranks, SEE)     ranks: the probe, declared with sharded(...)
shards.holds_share(...)               and all that a `Group` may claim
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autograder.checks import outputs
from autograder.checks.hints import hinted
from autograder.claims.group_words import UNSEEN
from autograder.claims.groups import (
    APART,
    EXACT,
    WORLD,
    Calls,
    Group,
    usual,
)
from autograder.lab import BOOLEAN, INTEGER, TEXT, exactly, list_of, record
from autograder.model import Failed, Pair, Verdict, verdict

CALL = record(kind=TEXT, bytes=INTEGER, dtype=TEXT)
HELD = record(parameters=INTEGER, gradients=INTEGER, state=INTEGER)
RANK = {"steps": list_of(list_of(CALL)), "held": HELD, "dtypes": list_of(TEXT), "on_mesh": BOOLEAN}
SMALL = 1024  # bytes: a loss or a norm is less, and any block more
AGAIN = 1.5  # times as many bytes: nearly all are gathered twice
MORE = 1.05  # times the bytes of the model, where shares do not divide
CLIP = "moves the weights wrongly: usually gradients are not clipped"
ROUNDED = 1e-5  # relative: a loss or a norm that is right; a step that is not clipped may move a loss by 1e-4
GATHER, SCATTER = "all_gather", "reduce_scatter"
GATHERS = {
    **dict.fromkeys(
        ("by themselves", "by itself"),
        "fully_shard(block, mesh=mesh, ...) for each block, then fully_shard(model, ...)",
    ),
    "for the backward pass": "reshard_after_forward=reshard in fully_shard of each block",
    "outside of the blocks": "leave reshard_after_forward out in fully_shard of the model",
    "and not in bfloat16": "mp_policy=policy in each fully_shard",
    "usually whole gradients": "leave gradients sharded: clip_grad_norm_ takes their norm as they are",
    "summed in bfloat16": "mp_policy=policy as it is handed over: its reduce_dtype is float32",
}
"""What to try, by words of what is wrong."""
STEPS = {
    "nothing moved": "make_optimizer(model.parameters()), of the sharded model itself",
    "the ranks have different": "fully_shard the blocks and the model: its backward pass averages gradients",
    "one for each step": "append one loss and one norm for each batch",
    "begin with other weights": "compare the weights after shard with those that shard was given",
    "added up, and not averaged": "leave gradients as the backward pass left them: they are means",
    "one process's shards": "clip_grad_norm_(model.parameters(), clip), for all parameters and in all processes",
    "the gradients are different": "call backward() on the loss of this process's own batch, once in each step",
    "not set to zero": "optimizer.zero_grad() in each step, before backward()",
    "moves the weights wrongly": "clip_grad_norm_(model.parameters(), clip) between backward() and optimizer.step()",
    "the last step": "call optimizer.step() for each batch, the last one included",
}
"""What to try where processes do not train as one."""
WORDS = {
    "parameters": "the parameters",
    "gradients": "the gradients",
    "state": "the optimizer's state",
}


def sharded(*figures: str) -> dict[str, Any]:
    """Return the form of a probe about sharded trainings; *figures* are series with a number of each step."""
    each = [f"{name}{rank}" for name in ("weights", *figures) for rank in range(WORLD)]
    return {
        "values": {"ranks": exactly(WORLD, record(**RANK))},
        "arrays": dict.fromkeys(["start", *each], ("float64", 1)),
    }


class Shards(Group):
    """Processes that share one model. Steps count from the first one on; each has one of `losses` and of `norms`."""

    def reason(self, ranks: Pair, ratio: float) -> str:
        """Say what sets the training apart from one process's."""
        own = ranks.student.arrays
        if ratio <= APART:
            return "nothing moved: usually the optimizer holds other tensors than the model's parameters"
        if not outputs.furthest(own["weights0"], own["weights1"]) <= APART:
            return (
                "the ranks have different weights: usually gradients are not averaged in each step"
            )
        return _first_difference(ranks)

    def trained(self, ranks: Pair, within: float) -> Verdict:
        """Judge the weights of each process."""
        return hinted(super().trained(ranks, within), STEPS)

    def trained_as_one(self, ranks: Pair, within: float) -> Verdict:
        """Judge the weights, then the losses, of each process."""
        trained = self.trained(ranks, within)
        own, right = (side.arrays["losses0"] for side in (ranks.student, ranks.baseline))
        times = outputs.multiple(own, right, EXACT)
        why = "usually a loss is that of this process alone, and it must be the mean of all"
        why = f"your losses are {times:.3g} times as large; each must be a mean" if times else why
        measured, why = self.figure_problem(ranks, "losses", why)
        if isinstance(trained, Failed) or not why:
            return trained
        mean = "dist.all_reduce the loss, and divide it by dist.get_world_size()"
        one = "append one loss for each batch, as a float"
        return Failed(measured, why, one if "one finite number" in why else mean)

    def holds_share(
        self, name: str, at_most: float, says: str, try_: str, needs: Sequence[str] = ()
    ) -> None:
        """Claim that each process holds at most this share of parameters, gradients and state when a step ends.

        They are bytes of storages, so a view of a whole tensor counts as the whole; and all on the mesh that was given.
        """

        def problem(ranks: Pair) -> tuple[str, str]:
            whole = ranks.baseline.values["ranks"][0]["held"]
            for rank, each in enumerate(ranks.student.values["ranks"]):
                held = {kind: each["held"][kind] / max(1, size) for kind, size in whole.items()}
                shares = ", ".join(f"{held[kind]:.0%} of {it}" for kind, it in WORDS.items())
                measured = f"rank {rank} holds {shares} ({at_most:.0%} allowed)"
                if not each["on_mesh"]:
                    return f"rank {rank} has a parameter on another mesh", (
                        "a parameter is not on the mesh that shard was given: "
                        "usually a fully_shard has no mesh=mesh"
                    )
                if not all(held.values()):
                    return measured, "nothing was there when optimizer.step() ended"
                if kind := next((kind for kind, share in held.items() if share > at_most), ""):
                    return measured, f"a process has more than its share of {WORDS[kind]}"
            return measured, ""

        self._claim(name, says, "report", problem, try_, needs)

    def gathers_by_block(
        self,
        name: str,
        blocks: int,
        says: str,
        try_: str,
        needs: Sequence[str] = (),
        *,
        reduced: str,
        kept: str = "",
        rest: int = 0,
        tries: Mapping[str, str] | None = None,
    ) -> None:
        """Claim, in a step, a gather and a reduction for each block and one for the rest.

        In the probe *reduced*, parameters are gathered in bfloat16, and gradients are reduced in float32. In the probe
        *kept* blocks are gathered once, and else twice; always once the *rest* of the model, which is so many bytes.
        *tries* are in place of GATHERS.
        """
        least = blocks + 1

        def judge(ranks: Pair, halved: Pair, *others: Pair) -> Verdict:
            measured, why = "", ""
            for rank in range(WORLD):
                measured, why = _count_problem(_usual(ranks, rank), least)
                for other in others if not why else ():
                    whole = ranks.baseline.values["ranks"][rank]["held"]["parameters"]
                    both = _usual(ranks, rank), _usual(other, rank)
                    measured, why = _kept_problem(*both, whole, rest)
                if not why:
                    measured, why = _dtype_problem(_usual(halved, rank), measured, blocks)
                if why:
                    break
            judged = verdict(f"rank {rank}: {measured}", why, try_)
            return hinted(judged, {**GATHERS, **(tries or {})})

        reads = [self.probe, reduced, *filter(None, [kept])]
        self.part.add_check(name, says, "report", judge, reads, needs)


def _first_difference(ranks: Pair) -> str:
    """Say what differs first from one process's training: a loss, a norm, or a step between two losses."""
    own, expected = ranks.student.arrays, ranks.baseline.arrays
    losses, norms, others = (own[name] for name in ("losses0", "norms0", "norms1"))
    if not len(losses) == len(norms) == len(others) == len(expected["losses0"]):
        return "losses and norms must be one for each step, and the update is that of other steps"
    for step, right in enumerate(expected["norms0"]):
        if not np.isclose(losses[step], expected["losses0"][step], rtol=ROUNDED):
            if step:
                return f"loss and norm of step {step} are right, but its step {CLIP}"
            return "the first loss is wrong already: usually the processes begin with other weights"
        if why := _norm_problem(norms[step], others[step], right, step):
            return why
    return "losses and norms are right, but the weights at the end are not: the last step is wrong"


def _norm_problem(norm: float, other: float, right: float, step: int) -> str:
    """Say what is wrong with the gradients of a step whose loss is right, by the norms of both processes."""
    if np.isclose(np.hypot(norm, other), right, rtol=ROUNDED):
        return "each norm is that of one process's shards, and gradients are clipped by it"
    if np.isclose(norm, WORLD * right, rtol=ROUNDED):
        return "gradients of the processes are added up, and not averaged"
    if np.isclose(norm, right, rtol=ROUNDED):
        return ""
    if step:
        return f"step {step + 1} is the first wrong one: usually gradients are not set to zero before each step"
    return "the first loss is right, but the gradients are different from its gradients"


def _usual(ranks: Pair, rank: int) -> Calls:
    """Return the large calls of a usual step."""
    steps = ranks.student.values["ranks"][rank]["steps"]
    return [call for call in usual(steps) if call["bytes"] >= SMALL] if steps else []


def _count_problem(calls: Calls, least: int) -> tuple[str, str]:
    counts = {kind: sum(call["kind"] == kind for call in calls) for kind in (GATHER, SCATTER)}
    measured = " and ".join(f"{count} {kind}" for kind, count in counts.items())
    measured = f"{measured} in a step, at least {least} of each are expected"
    if not calls:
        return measured, UNSEEN
    if not counts[GATHER]:
        return measured, "nothing is gathered: each process holds the whole model"
    if counts[GATHER] < least:
        return measured, "the whole model is gathered at once: blocks are not sharded by themselves"
    if counts[SCATTER] < least:
        return (
            measured,
            "gradients are not reduced block by block: not each block is sharded by itself",
        )
    return measured, ""


def _kept_problem(calls: Calls, kept: Calls, whole: int, rest: int) -> tuple[str, str]:
    """Compare the bytes that are gathered with those where blocks are kept, and with those of the *whole* model."""
    again, once = (
        sum(call["bytes"] for call in own if call["kind"] == GATHER) for own in (calls, kept)
    )
    measured = f"{again:,} bytes are gathered in a step, and {once:,} with reshard=False"
    measured = f"{measured}; expected {2 * whole - rest:,} and {whole:,}"
    if again < AGAIN * once and again <= 2 * MORE * whole:
        both = "also with reshard=False" if once > AGAIN * whole else "where reshard is True"
        word = "are" if once > AGAIN * whole else "are not"
        return measured, f"blocks {word} gathered again for the backward pass {both}"
    if max(again / 2, once) > MORE * whole:
        return measured, "more is gathered than the weights: usually whole gradients"
    if again > 2 * whole - rest / 2:
        return measured, f"the {rest:,} bytes outside of the blocks are gathered twice as well"
    return measured, ""


def _dtype_problem(calls: Calls, measured: str, blocks: int) -> tuple[str, str]:
    """Say what is wrong where bfloat16 is asked for; *measured* is what is right without."""
    gathers, scatters = (
        [call["dtype"] for call in calls if call["kind"] == kind] for kind in (GATHER, SCATTER)
    )
    listed = f"{GATHER} in {_named(gathers)}, {SCATTER} in {_named(scatters)}"
    reduced = f"where bfloat16 is asked for: {listed}"
    # Weights of two dtypes, such as norms in float32, are gathered as bytes.
    if sum(dtype != "float32" for dtype in gathers) < blocks:
        return reduced, "weights of a block are gathered in float32, and not in bfloat16"
    if set(scatters) != {"float32"}:
        return reduced, "gradients are summed in bfloat16, which loses digits"
    return measured, ""


def _named(dtypes: Sequence[str]) -> str:
    return " and ".join(dict.fromkeys(dtypes)) or "no dtype"
