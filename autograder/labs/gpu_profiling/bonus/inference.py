"""Inference: folded norms, predictions that leave no trace, latencies."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

from autograder.checks import outputs
from autograder.checks.hints import hinted
from autograder.lab import Answer, Pair, Student, Verdict, Window
from autograder.labs.gpu_profiling.bonus.part import Rig, part

INFER = 'see "Inference" in the bonus handout'
SAME = 1e-5  # of the largest number: sums of some dozen products in another order


@part.outputs
def folded(student: Student, rig: Rig) -> Answer:
    """Convolutions of several kinds; they and their norms are used again afterwards."""
    answers = rig.answers()
    for kind, conv, norm, images in rig.inference().layers():
        output = after = norm(conv(images))
        assert norm.running_var is not None
        scale = norm.weight / (norm.running_var + norm.eps).sqrt()
        weight = conv.weight * scale.view(-1, 1, 1, 1)
        if rig.side == "student":
            merged = student.fold_norm(conv, norm)
            output, weight, after = merged(images), merged.weight, norm(conv(images))
        answers.add(f"{kind}: one convolution", output)
        answers.add(f"{kind}: its weight", weight)
        answers.add(f"{kind}: what the two give afterwards", after)
    return answers.values()


FACTS = {
    "recorded": "a pass was recorded for a backward pass: memory is kept for nothing",
    "fetched in the loop": "results were fetched in each batch, so the host waits for the device each time",
    "mode": "a module is not in its old mode, or requires_grad of a parameter has changed: "
    "the caller's next epoch would use it",
    "raised": "the loader's exception did not reach the caller, who takes a part of the classes for all of them",
}


@part.outputs
def predicted(student: Student, rig: Rig) -> Answer:
    """A model in train() with a frozen block; then a loader that raises."""
    made = rig.inference()
    answers = rig.answers()
    model = made.model()
    batches = made.batches(model)
    facts = {"recorded": False, "fetched in the loop": False, "mode": True, "raised": True}
    if rig.side != "student":
        answers.add("the classes", made.classes(model, batches))
    else:
        settings = model.settings()
        turn = SimpleNamespace(step=None)

        def numbered() -> Iterator[Any]:
            for turn.step, images in enumerate(batches):
                yield images
            turn.step = None

        window = cast("Window", SimpleNamespace(loader=turn))
        with rig.waits(window, student) as waits:
            classes = student.predict(model.to(rig.device), numbered(), rig.device)
        answers.add("the classes", classes)
        broken = made.model()
        facts = {
            "recorded": any(model.recorded),
            "fetched in the loop": any(len(wait["batches"]) > 1 for wait in waits.values()),
            "raised": made.survived(student.predict, broken, batches),
            "mode": settings == model.settings() == broken.settings(),
        }
    for fact in FACTS:
        answers.add(fact, facts[fact])
    return answers.values()


FIGURES = ("p50_ms", "p95_ms", "p99_ms", "per_second")


@part.outputs
def latencies(student: Student, rig: Rig) -> Answer:
    """Calls on a clock that the grader moves, with and without work that the device still has to do."""
    rig.clock.freeze()
    answers = rig.answers()
    for case, queued in (("a CPU", 0.0), ("a device that works on", 0.8)):
        warmup = rig.integer(3, 9)
        repeats = rig.integer(60, 90)
        seconds = [*rig.seconds(0.01, 0.03, repeats - 4), *rig.seconds(0.1, 0.5, 4)]
        calls = rig.inference().requests(seconds, warmup, queued)
        figures = calls.figures()
        if rig.side == "student":
            waits = calls.synchronize if queued else None
            returned = student.measure_latency(
                calls, repeats=repeats, warmup=warmup, synchronize=waits
            )
            figures = rig.returned("measure_latency", returned)
        for name in FIGURES:
            answers.add(f"{name} of {case}", rig.number(figures[name]))
    return answers.values()


@part.check(basis="outputs", compared="answers")
def folds_the_norm(folded: Pair) -> Verdict:
    """fold_norm gives one convolution that answers as convolution and batch norm do, and changes neither."""
    why = {
        "afterwards": "the caller's layers were changed",
        "": "a factor, eps or the bias is missing",
    }
    hints = {
        "afterwards": "write into a new nn.Conv2d only",
        "its weight": "one factor for each output channel: weight / sqrt(running_var + eps)",
        "one convolution": "factor = norm.weight / sqrt(running_var + eps); the new bias is "
        "(bias - running_mean) * factor + norm.bias, with 0 for a bias that is missing",
    }
    return hinted(outputs.same(folded, SAME, why=why, try_=INFER), hints)


@part.check(basis="outputs", compared="classes")
def predicts_the_classes(predicted: Pair) -> Verdict:
    """predict returns the class of each image, in order, as int64, as the model in eval() gives it."""
    why = "dropout or batch norm was in train(), or batches are in another order"
    try_ = "model.eval() first, and results in the order of batches"
    return outputs.same(predicted, 0.0, why=why, try_=try_, without=FACTS)


@part.check(basis="report")
def predicts_without_a_trace(predicted: Pair) -> Verdict:
    """predict keeps nothing for a backward pass, and puts each module back into its mode, even after an exception."""
    hints = {
        "recorded": "run the model under torch.inference_mode()",
        "fetched in the loop": "keep results on the device, and move them once, after the loop",
        "mode": "restore module.training of each module in a finally clause, and leave requires_grad alone",
        "raised": "let exceptions out: try and finally, without except",
    }
    judged = outputs.same(predicted, 0.0, why=FACTS, try_=INFER, without=["the classes"])
    return hinted(judged, hints)


@part.check(basis="scripted")
def latency_is_honest(latencies: Pair) -> Verdict:
    """measure_latency gives percentiles of single calls after a warm-up, with the device's work."""
    why = {
        "per_second": "it must be the number of calls / the sum of their times",
        "works on": "the device's work is left out, or calls of the warm-up count",
        "": "there was no warm-up, its calls count, or a percentile is not numpy's",
    }
    hints = {
        "per_second": "repeats / sum of the seconds",
        "works on": "call synchronize() before each reading of the clock",
        "a CPU": "warm up first, time each call alone, and take numpy.percentile",
    }
    return hinted(outputs.same(latencies, 0.01, why=why, try_=INFER), hints)
