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
NO_EPS = "what a weight without eps would be"


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
        answers.add(f"conv {kind}: weight of fold_norm(conv, norm)", weight)
        answers.add(f"conv {kind}: fold_norm(conv, norm)(x)", output)
        answers.add(f"conv {kind}: norm(conv(x)) after fold_norm", after)
        if rig.side != "student":
            plain = conv.weight * (norm.weight / norm.running_var.sqrt()).view(-1, 1, 1, 1)
            answers.add(f"conv {kind}: {NO_EPS}", plain)
    return answers.values()


RIGHT = "right"
FACTS = {
    "a pass of the model": (
        "predict runs the model without inference_mode() or no_grad()",
        "run the model under torch.inference_mode()",
    ),
    "results": (
        "predict fetches results in each batch, so the host waits for the device each time",
        "keep results on the device, and move them once, after the loop",
    ),
    "the model after predict": (
        "predict must put each module back into its mode, after an exception as well",
        "restore module.training of each module in a finally clause",
    ),
    "an exception of the loader": (
        "predict catches the exception, so the caller gets too few classes, and no error",
        "let exceptions out: try and finally, without except",
    ),
}
"""What is noted of a prediction: right, or what is wrong; why that matters, and what to try."""
LEFT = {
    "was in eval()": (
        "predict must put each module back into its mode: model.train() reaches frozen blocks, too",
        "note module.training of each module before, and restore it afterwards",
    ),
    "requires_grad": (
        "predict changes requires_grad, so the caller's next epoch trains other parameters",
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
            "a pass of the model": "recorded for a backward pass" * any(model.recorded),
            "results": "fetched in each batch"
            * any(len(wait["batches"]) > 1 for wait in waits.values()),
            "the model after predict": left,
            "an exception of the loader": "" if survived else "did not reach the caller",
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
    for case, queued in (("a CPU", 0.0), ("a GPU that still works", 0.8)):
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
        "after fold_norm": ("fold_norm changes conv or norm", "write into a new nn.Conv2d only"),
        "weight of": (
            "the weight must be that of conv times a factor for each output channel",
            "factor = norm.weight / sqrt(running_var + eps)",
        ),
        "": (
            "the new weight is right, so the new bias is not",
            "bias = (conv.bias - running_mean) * factor + norm.bias; a missing conv.bias is 0",
        ),
    }
    hints = {
        "shape of the result": "give the new nn.Conv2d the stride, padding, dilation and groups"
    }
    cases = [(got, want) for *_, got, want in outputs.paired(folded)]
    weight, no_eps = cases[0][0], cases[3][1]
    if weight is not None and outputs.furthest(weight, no_eps) <= SAME:
        why["weight of"] = "the factor leaves out norm.eps", why["weight of"][1]
    return hinted(outputs.same(folded, SAME, why=why, try_=TYPES, without=[NO_EPS]), hints)


@part.check(basis="outputs", compared="classes")
def predicts_the_classes(predicted: Pair) -> Verdict:
    """predict returns the class of each image, in order, as int64, as the model in eval() gives it."""
    *_, got, want = next(outputs.paired(predicted))
    words = (
        "usually dropout or batch norm is in train()",
        "call model.eval() before the first batch",
    )
    if got is not None and sorted(got) == sorted(want):
        words = "your code returns the classes in another order", "keep the order of the batches"
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
            "per_second must be the number of calls / the sum of their times",
            "repeats / sum of the seconds",
        ),
        "a GPU": (
            "the figures of a CPU are right, so your code leaves out the device's work",
            "call synchronize() before each reading of the clock",
        ),
        "": (
            "usually a percentile is not numpy's, or not of single calls in milliseconds",
            "time each call alone, and take numpy.percentile of these times",
        ),
    }
    longest = (got for _, case, got, _ in outputs.paired(latencies) if case["case"] == LONGEST)
    if (got := next(longest)) is not None and got[0] > SLOW_MS:
        cold = "your code times the slow first calls, too"
        why = {"": (cold, "make `warmup` calls before the clock is read for the first time")}
    return outputs.same(latencies, 0.01, why=why, try_=TYPES)
