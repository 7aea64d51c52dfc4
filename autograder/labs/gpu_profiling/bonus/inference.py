"""Inference: folded norms, predictions that leave no trace, latencies."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

from autograder.checks import outputs
from autograder.checks.hints import hinted
from autograder.lab import Answer, Pair, Student, Verdict, Window
from autograder.labs.gpu_profiling.bonus.part import Rig, part

TYPES = "return what the docstring says"
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
        answers.add(f"{kind}: its weight", weight)
        answers.add(f"{kind}: one convolution", output)
        answers.add(f"{kind}: what the two give afterwards", after)
    return answers.values()


RIGHT = "right"
FACTS = {
    "gradients": (
        "a pass was recorded for a backward pass: memory is kept for nothing",
        "run the model under torch.inference_mode()",
    ),
    "fetches": (
        "results were fetched in each batch, so the host waits for the device each time",
        "keep results on the device, and move them once, after the loop",
    ),
    "settings": (
        "predict must leave the model as it was: the caller's next epoch would use it",
        "restore module.training of each module in a finally clause",
    ),
    "exceptions": (
        "the loader's exception did not reach the caller, who takes a part of the classes for all of them",
        "let exceptions out: try and finally, without except",
    ),
}
"""What is noted of a prediction: right, or what is wrong; why that matters, and what to try."""
LEFT = {
    "was in eval()": (
        "model.train() reaches frozen blocks as well, and the caller's next epoch would train them",
        "note module.training of each module before, and restore it afterwards",
    ),
    "requires_grad": (
        "the caller's next epoch would not train these parameters, or train frozen ones",
        "leave requires_grad alone: torch.inference_mode() records nothing anyway",
    ),
}
"""The same for some settings."""


@part.outputs
def predicted(student: Student, rig: Rig) -> Answer:
    """A model in train() with a frozen block; then a loader that raises."""
    made = rig.inference()
    answers = rig.answers()
    model = made.model()
    batches = made.batches(model)
    facts = dict.fromkeys(FACTS, RIGHT)
    if rig.side != "student":
        answers.add("the classes", made.classes(model, batches))
    else:
        before = model.settings()
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
        survived = made.survived(student.predict, broken, batches)
        left = model.left(before)
        if not left and (late := broken.left(before)):
            left = f"{late}, where the loader raised an exception"
        wrong = {
            "gradients": "recorded" * any(model.recorded),
            "fetches": "in each batch" * any(len(wait["batches"]) > 1 for wait in waits.values()),
            "settings": left,
            "exceptions": "" if survived else "one of the loader was kept from the caller",
        }
        facts |= {fact: words for fact, words in wrong.items() if words}
    for fact, words in facts.items():
        answers.add(fact, words)
    return answers.values()


FIGURES = ("p50_ms", "p95_ms", "p99_ms", "per_second")
LONGEST, SLOW_MS = "p99_ms of a CPU", 1000.0  # longer than any call but those of the warm-up


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
        "afterwards": ("the caller's layers were changed", "write into a new nn.Conv2d only"),
        "its weight": (
            "the weight must be that of the convolution times a factor for each output channel",
            "factor = norm.weight / sqrt(running_var + eps)",
        ),
        "": (
            "the new weight is right, so the new bias is not",
            "(bias - running_mean) * factor + norm.bias, with 0 for a bias that is missing",
        ),
    }
    hints = {
        "shape of the result": "give the new nn.Conv2d the stride, padding, dilation and groups"
    }
    return hinted(outputs.same(folded, SAME, why=why, try_=TYPES), hints)


@part.check(basis="outputs", compared="classes")
def predicts_the_classes(predicted: Pair) -> Verdict:
    """predict returns the class of each image, in order, as int64, as the model in eval() gives it."""
    *_, got, want = next(outputs.paired(predicted))
    words = "dropout or batch norm was in train()", "call model.eval() before the first batch"
    if got is not None and sorted(got) == sorted(want):
        words = "the classes are right, but in another order", "keep the order of the batches"
    return outputs.same(predicted, 0.0, why={"": words}, try_=words[1], without=FACTS)


@part.check(basis="report")
def predicts_without_a_trace(predicted: Pair) -> Verdict:
    """predict keeps nothing for a backward pass, and puts each module back into its mode, even after an exception."""
    judged = outputs.same(predicted, 0.0, why=FACTS, try_=TYPES, without=["the classes"])
    return hinted(judged, LEFT)


@part.check(basis="scripted")
def latency_is_honest(latencies: Pair) -> Verdict:
    """measure_latency gives percentiles of single calls after a warm-up, with the device's work."""
    why = {
        "per_second": (
            "it must be the number of calls / the sum of their times",
            "repeats / sum of the seconds",
        ),
        "works on": (
            "on a CPU it is right, so the device's work is left out",
            "call synchronize() before each reading of the clock",
        ),
        "": (
            "a percentile is not numpy's, or not of single calls in milliseconds",
            "time each call alone, and take numpy.percentile of these times",
        ),
    }
    longest = (got for _, case, got, _ in outputs.paired(latencies) if case["case"] == LONGEST)
    if (got := next(longest)) is not None and got[0] > SLOW_MS:
        cold = "the slow first calls are among those that are timed"
        why = {"": (cold, "make `warmup` calls before the clock is read for the first time")}
    return outputs.same(latencies, 0.01, why=why, try_=TYPES)
