"""Part 6: float16. What it loses, how a scale saves gradients, and a training with float32 masters.

Above 60 lines an exercise: six checks are about train_half alone, with four trainings of known gradients.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.checks import numerics, outputs
from autograder.checks.hints import hinted
from autograder.lab import (
    BOOLEAN,
    INTEGER,
    TEXT,
    Failed,
    Pair,
    Part,
    Passed,
    Student,
    Verdict,
    list_of,
)
from autograder.labs.foundations.part6_float16 import judges

if TYPE_CHECKING:
    from autograder.labs.foundations.part6_float16.rig import Rig
else:
    Rig = Any


part = Part(
    "part6_float16",
    writes=["describe", "lost_share", "largest_scale", "next_scale", "train_half"],
)
DOCSTRING = "compare with the docstring of"
EXACT = 1e-6


@part.outputs
def facts(student: Student, rig: Rig) -> Any:
    answers = rig.answers(student)
    for name in ("float16", "bfloat16", "float32", "float8_e5m2", "float8_e4m3fn"):
        answers.ask(name, student.describe, rig.dtype(name))
    return answers.values()


@part.check(basis="outputs")
def facts_are_exact(facts: Pair) -> Verdict:
    """describe returns the largest and the smallest numbers of five dtypes, and the distance from 1 to the next."""
    why = {
        "smallest_normal": (
            "smallest_normal must be the smallest number that has all digits",
            "torch.finfo(dtype).smallest_normal",
        ),
        "smallest": (
            "smallest must be the smallest number above 0, which is below smallest_normal",
            "smallest_normal * eps",
        ),
        "eps": (
            "eps must be the distance from 1 to the next number, not finfo.resolution",
            "torch.finfo(dtype).eps",
        ),
        "": ("max must be the largest finite number", "torch.finfo(dtype).max"),
    }
    return outputs.same(facts, EXACT, why=why, try_=f"{DOCSTRING} describe")


@part.outputs
def shares(student: Student, rig: Rig) -> Any:
    """Gradients that are small or large, some of them zero."""
    answers, count = rig.answers(student), rig.integer(900, 1000)
    small, large = (size * rig.random.normal(size=count) for size in (1e-7, 3e4))
    sparse = np.where(rig.random.random(count) < 0.5, 0.0, small)
    line = rig.random.uniform(65504, 65536, count) * rig.random.choice([-1, 1], count)
    for case, values, name, scale in (
        ("small values", small, "float16", 1.0),
        ("small values, scaled by 1024", small, "float16", 1024.0),
        ("half of them zero", sparse, "float16", 1.0),
        ("large values, scaled by 4", large, "float16", 4.0),
        ("values around 65520", line, "float16", 1.0),
        ("small and large values", np.append(small, large), "float16", 1.0),
        ("bfloat16", small, "bfloat16", 1024.0),
        ("float8_e5m2", 1e3 * small, "float8_e5m2", 2.0),
        ("no values, not even zeros", small[:0], "float16", 1.0),
        ("only zeros", 0 * small, "float16", 1.0),
    ):
        answers.ask(case, student.lost_share, rig.tensor(values), rig.dtype(name), scale)
    return answers.values()


@part.check(basis="outputs")
def counts_what_is_lost(shares: Pair) -> Verdict:
    """lost_share returns the shares of nonzero values that become 0 and that become infinite."""
    why = {
        "half of them zero": (
            "zeros must not count, neither as lost nor among the values",
            "divide by the number of values that are not 0",
        ),
        "zeros": (
            "if no value is other than 0, both shares must be 0.0",
            "return 0.0 for both shares if no value is nonzero",
        ),
        "65520": (
            "65519 is rounded to 65504 and must fit, 65520 must not",
            "(values * scale).to(dtype).isinf()",
        ),
        "by 1024": (
            "the values must be multiplied by scale before they are converted",
            "(values * scale).to(dtype)",
        ),
        "small and": (
            "both shares must be of all nonzero values, also of those that become 0 or infinite",
            "divide both counts by one number",
        ),
        "large": (
            "usually -infinity is left out, which numbers below 0 become, and which must count",
            "(values * scale).to(dtype).isinf()",
        ),
        "": (
            "usually all below smallest_normal counts as 0, but such numbers are not lost",
            "(values * scale).to(dtype).float() == 0, where values != 0",
        ),
    }
    return outputs.same(shares, EXACT, why=why, try_=f"{DOCSTRING} lost_share")


@part.outputs
def scales(student: Student, rig: Rig) -> Any:
    """Values at the line between what is rounded down and what becomes infinite, and drawn ones."""
    answers = rig.answers(student)
    most = [65504.0, 65519.0, 65520.0, 32759.9, 32760.0, 131038.0, 1.0, 3e-8]
    drawn = [-float(it) for it in rig.random.uniform(1e-3, 1e6, 8)]
    for name in ("float16", "bfloat16"):
        for value in [*most, *drawn]:
            tensor = rig.tensor(value * np.append(rig.random.uniform(-0.1, 0.9, 20), 1.0))
            answers.ask(
                f"{value:g} is furthest from 0, in {name}",
                student.largest_scale,
                tensor,
                rig.dtype(name),
            )
    answers.ask("zeros", student.largest_scale, rig.tensor(np.zeros(4)), rig.dtype("float16"))
    return answers.values()


@part.check(basis="outputs")
def finds_the_largest_scale(scales: Pair) -> Verdict:
    """largest_scale returns the largest power of two with which no value becomes infinite."""
    why = {
        "zeros": (
            "if all values are 0, the answer must be None",
            "return None if no value is other than 0",
        ),
        "bfloat16": (
            "float16 is right: the limit must be that of the dtype that is given",
            "multiply in float64, then convert to dtype: the scale may be too large for float32",
        ),
        "655": (
            "65519 is rounded to 65504 and must fit with scale 1.0, 65520 must not",
            "(values * scale).to(dtype).isinf().any()",
        ),
        "e-08": (
            "the scale must have no upper end: small values fit with 2**40",
            "do not begin at 2**24, or go on from there",
        ),
        "-": (
            "the number furthest from 0 is below 0, and must decide: usually abs() is missing",
            "values.abs().max()",
        ),
        "": (
            "the answer must be the largest power of two with which no value is infinite",
            "(values * scale).to(dtype).isinf().any(), for this scale and for twice this scale",
        ),
    }
    return outputs.same(scales, 0.0, why=why, try_=f"{DOCSTRING} largest_scale")


@part.outputs
def script(student: Student, rig: Rig) -> Any:
    """Steps with a short interval, and one at the largest scale that float32 has."""
    answers, interval = rig.answers(student), rig.integer(2, 4)
    scale, good = float(2 ** rig.integer(4, 10)), 0
    for step in range(20):
        overflow = step % (2 * interval) == interval + 1
        given = f"scale={scale:g}, good_steps={good}, overflow={overflow}"
        case = f"call {step + 1}: {given}, growth_interval={interval}"
        returned = answers.tried(student.next_scale, scale, good, overflow, interval)
        answers.add(case, returned)
        scale, good = (scale / 2, 0) if overflow else (scale, good + 1)
        if good == interval:
            scale, good = 2 * scale, 0
    half = f"scale=0.5, good_steps=3, overflow=True, growth_interval={interval}"
    answers.ask(half, student.next_scale, 0.5, 3, True, interval)
    for power in (126, 127):
        case = f"scale=2**{power}, good_steps=1, overflow=False, growth_interval=2"
        answers.ask(case, student.next_scale, 2.0**power, 1, False, 2)
    case = "scale=8, good_steps=1999, overflow=False, no growth_interval"
    answers.ask(case, student.next_scale, 8.0, 1999, False)
    return answers.values()


@part.check(basis="outputs")
def scale_follows_the_rules(script: Pair) -> Verdict:
    """next_scale grows and shrinks the scale as torch's GradScaler does."""
    why = {
        "overflow=True": (
            "after an overflow the scale must be halved, also below 1, and the count must be 0",
            "return scale / 2, 0",
        ),
        "2**126": (
            "twice this scale is finite in float32: the scale must be doubled, and the count be 0",
            "compare 2 * scale with torch.finfo(torch.float32).max, and with no other limit",
        ),
        "2**127": (
            "twice this scale is infinite in float32: the scale must stay, and the count be 0",
            "compare 2 * scale with torch.finfo(torch.float32).max",
        ),
        "": (
            "this step must count: at growth_interval the scale is doubled, and the count is 0",
            "compare good_steps + 1 with growth_interval",
        ),
    }
    return outputs.same(script, 0.0, why=why, try_=f"{DOCSTRING} next_scale")


VALUES = {
    "skipped": INTEGER,
    "dtypes": list_of(TEXT),
    "products": list_of(TEXT),
    "loss_dtypes": list_of(TEXT),
    "keeps_graph": BOOLEAN,
}
ARRAYS = dict.fromkeys(("start", "weights", "losses"), ("float64", 1))
POISON, EARLY = 2, 5  # the batches that overflow
FIRST_LAYER = -1.0  # in the place of a factor: only the first layer's gradients overflow


def trained(
    student: Student, rig: Rig, factors: list[float], lr: float, scale: float = 1024.0
) -> dict[str, Any]:
    """Train; the trusted side trains in float32, without a batch that overflows in float16."""
    training = rig.small_training(factors, lr)
    batches = training.batches
    if rig.side != "student":
        batches = [it for it, factor in zip(batches, factors, strict=True) if 0 < factor < 1e4]
    start = training.weights()
    own = (training.model, batches, training.criterion, training.make_optimizer, scale)
    returned, products, losses = rig.computed(partial(student.train_half, *own))
    returned = rig.returned("train_half", returned)
    return {
        "start": start,
        "weights": training.weights(),
        "losses": rig.series(returned["losses"], "losses"),
        "skipped": int(rig.number(returned["skipped"]) or 0),
        "dtypes": training.dtypes(),
        "products": products,
        "loss_dtypes": losses,
        "keeps_graph": training.graphs > len(batches) / 2,
    }


@part.probe(pair=True, values=VALUES, arrays=ARRAYS)
def plain(student: Student, rig: Rig) -> Any:
    """Another scale than the default one."""
    return trained(student, rig, [1.0] * 8, 0.1, 2.0 ** rig.integer(7, 9))


@part.probe(pair=True, values=VALUES, arrays=ARRAYS)
def faint(student: Student, rig: Rig) -> Any:
    """A loss with gradients that float16 has no room for."""
    return trained(student, rig, [1e-5] * 8, 1e4)


@part.probe(pair=True, values=VALUES, arrays=ARRAYS)
def slow(student: Student, rig: Rig) -> Any:
    """Steps that are smaller than the last digit of a float16 weight."""
    return trained(student, rig, [1.0] * 20, 1e-4)


@part.probe(pair=True, values=VALUES, arrays=ARRAYS)
def overflowing(student: Student, rig: Rig) -> Any:
    """One batch overflows everywhere, another one in the first layer alone."""
    factors = [1.0] * 8
    factors[POISON] = 1e6
    factors[EARLY] = FIRST_LAYER
    return trained(student, rig, factors, 0.1)


@part.check(basis="outputs", compared="weights")
def follows_float32(plain: Pair) -> Verdict:
    """train_half moves the masters as a float32 training does, and returns its losses."""
    why, try_ = judges.moved(plain)
    moved = numerics.same_update(plain, judges.NEAR, why=why, try_=try_)
    if isinstance(moved, Failed):
        return moved
    own, expected = plain.student.arrays["losses"], plain.baseline.arrays["losses"]
    if not numerics.furthest(own, expected) <= 1e-2:
        measured = f"{len(own)} losses of {len(expected)} batches"
        if len(own) == len(expected):
            at = int(abs(own - expected).argmax())
            measured = f"loss {at + 1} is {own[at]:.4g}, and {expected[at]:.4g} is right"
        why = "there must be one loss for each batch, not scaled"
        return Failed(measured, why, "losses.append(loss.item()), before it is scaled")
    skipped = plain.student.values["skipped"]
    if skipped:
        why = "every gradient of this training is finite, so no step may be skipped"
        return Failed(
            f"skipped is {skipped}, and 0 is right", why, "grad.isfinite().all(), for each gradient"
        )
    return moved


@part.check(basis="outputs", compared="weights", needs=[follows_float32])
def small_gradients_survive(faint: Pair, slow: Pair) -> Verdict:
    """With scale=1024, gradients of about 1e-7 move the masters as they do in float32, within 0.5 %."""
    why, try_ = judges.lost(faint, slow)
    return numerics.same_update(faint, judges.WITHIN, why=why, try_=try_)


@part.check(basis="outputs", compared="weights", needs=[follows_float32])
def small_updates_survive(slow: Pair) -> Verdict:
    """Steps that are smaller than the last digit of a float16 weight add up."""
    why = "small steps are lost: usually float16 weights are stepped, where 1 + 1e-4 is 1"
    try_ = "let the optimizer step the parameters of `model`, which stay float32"
    return numerics.same_update(slow, judges.WITHIN, why=why, try_=try_)


@part.check(basis="outputs", compared="weights", needs=[follows_float32])
def overflow_skips_the_step(overflowing: Pair) -> Verdict:
    """A batch whose gradients are not finite moves nothing, and is counted as skipped."""
    values = overflowing.student.values
    skipped = values["skipped"]
    try_ = "call optimizer.step() only if all gradients are finite"
    why = "usually a step was taken with gradients of 0, where momentum moves the weights"
    if values["products"] != ["float16"]:
        why = "the copy does not compute in float16, so nothing overflows"
        try_ = "fix computes_in_half first"
    moved = numerics.same_update(overflowing, judges.NEAR, why=why, try_=try_)
    if isinstance(moved, Failed):
        return hinted(moved, judges.OVERFLOWN) if values["products"] == ["float16"] else moved
    if skipped != 2:
        why = "each batch that is skipped must count once, and no other"
        return Failed(f"skipped is {skipped}, and 2 is right", why, "add 1 where no step is taken")
    losses = len(overflowing.student.arrays["losses"])
    if losses != 8:
        why = "a skipped batch must have a loss as well"
        return Failed(f"{losses} losses of 8 batches", why, "losses.append() before the check")
    return moved


@part.check(basis="report")
def computes_in_half(plain: Pair) -> Verdict:
    """Matrix products are computed in float16, and the loss in float32."""
    values = plain.student.values
    products, losses = (", ".join(values[it]) or "none" for it in ("products", "loss_dtypes"))
    if products != "float16":
        measured = f"products in {products}; expected float16"
        return Failed(measured, "usually the copy is not in float16", "copy.deepcopy(model).half()")
    if losses != "float32":
        why = "the loss must be computed in float32: in float16 a softmax loses digits"
        measured = f"loss in {losses}; expected float32"
        return Failed(measured, why, "criterion(half(inputs.half()).float(), targets)")
    return Passed(f"products in {products}, loss in {losses}")


@part.check(basis="report", needs=[computes_in_half])
def masters_are_float32(plain: Pair) -> Verdict:
    """At the end, the model's parameters and all gradients left in it are float32, and no graph is kept."""
    values = plain.student.values
    measured = f"parameters and gradients are {', '.join(values['dtypes'])}"
    if values["dtypes"] != ["float32"]:
        why = "usually the model itself was converted"
        return Failed(f"{measured}; float32 is right", why, "convert a deep copy of it")
    if values["keeps_graph"]:
        why = "your code keeps losses or outputs with their graphs"
        return Failed("graphs are alive after their batches", why, "keep loss.item()")
    return Passed(measured)
