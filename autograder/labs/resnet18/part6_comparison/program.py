"""What is judged of the program: it trains as the plain loop does, and each option does its work."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from autograder.checks import configurations, numerics, outputs
from autograder.checks.configurations import Script
from autograder.checks.hints import hint_for
from autograder.checks.numerics import close, explained, shown
from autograder.checks.table_form import UNUSUAL, parted
from autograder.lab import Failed, Observation, Pair, Passed, Verdict
from autograder.labs.resnet18.part6_comparison.part import (
    BATCH,
    EPOCHS,
    SIDE,
    SMALLER,
    TINY,
    part,
)
from autograder.labs.resnet18.part6_comparison.runs import REFUSED, SEGMENTS, TAKEN
from autograder.traces.words import many

MOVED = "(on a clock that the grader moves)"
FEWER = f"your program trains or reports fewer epochs than --epochs {EPOCHS}"
PLAIN_FIRST = "fix trains_as_the_plain_loop first"
LOSSES_ARE = "losses: the mean loss of each epoch"
PUT_BACK = "put model and optimizer back after warm_up, weights, running statistics and momentum"
LONGER = 1.5  # times the right update
STILL = 0.01  # of the baseline's update: weights that were not trained
NO_SCALER = (
    "usually scaler.scale(loss) is missing, or the scaler is off (enabled=False), so small "
    "gradients become 0"
)

# Relative: a program may ask before its last allocations; a MiB is 5 % more than a MB.
SAME_PEAK = 0.04
# Losses absolutely, updates relative to their norm: channels_last is up to 0.006 off.
LOSSES, UPDATE = 1e-3, 0.03
HALF = 0.02 / TINY, 0.1
# Of 100 seeds the furthest: 0.004, 0.07; no accumulation: 1.2 and more.
TOGETHER = 0.02 / SMALLER, 0.25


@part.check(basis="outputs", compared="losses and weights")
def trains_as_the_plain_loop(plain: Pair) -> Verdict:
    """Without --amp, --compile, --accumulate and --checkpoint, --epochs N trains N epochs as the plain loop does."""
    verdict = _follows(plain, *_untrue(plain))
    if isinstance(verdict, Failed):
        return verdict
    observed, expected = plain.student.values, plain.baseline.values
    loss, accuracy = observed["reported"]["loss"], observed["reported"]["accuracy"]
    if not close(loss, last := float(plain.student.arrays["losses"][-1]), 1e-3):
        measured = f"loss is {shown(loss)}, and {shown(last)} is right"
        try_ = "loss: the mean loss of the last epoch"
        return Failed(measured, "loss must be the last of losses", try_)
    options = {
        "batch_size": BATCH,
        "batches": expected["script"]["batches"],
        "image_size": SIDE,
        "num_workers": 2,
        "data": "cifar10",
    }
    if options not in observed["asked"]:
        return _not_handed_on(observed["asked"], options)
    right = expected["reported"]["accuracy"]
    if accuracy is None or abs(accuracy - right) > 101 / expected["script"]["samples"]:
        why = "it must be the percentage of the last epoch"
        if close(accuracy, right / 100, 0.1):
            why = "it is a fraction, and it must be in percent"
        try_ = "100 * correct / samples of the last epoch"
        return Failed(f"accuracy is {shown(accuracy)}, and {right:.4g} is right", why, try_)
    device = observed["device"]
    if device.strip() != expected["device"].strip():
        measured = f"device is {device[:60]!r}, and {expected['device']!r} is right"
        return Failed(measured, "device must name what trains", "device_name(device)")
    return verdict


def _not_handed_on(asked: Sequence[Mapping[str, Any]], options: Mapping[str, Any]) -> Failed:
    """Say which option did not reach make_loader."""
    try_ = "pass every option on to make_loader, which you import from given"
    if not asked:
        why = "your program does not take its data from given.make_loader"
        return Failed("make_loader was not called", why, try_)
    name = next((name for name in options if asked[0].get(name) != options[name]), "")
    measured = f"make_loader was called with {name}={asked[0].get(name)!r}"
    why = f"your program does not hand on the option of {name}"
    return Failed(f"{measured}, and {options.get(name)!r} is right", why, try_)


@part.check(basis="scripted")
def figures_are_honest(plain: Pair) -> Verdict:
    """The program's throughput, epoch_time and data_wait are of whole epochs after a warm-up; memory is in MB."""
    observed = plain.student.values
    figures = observed["reported"]
    if why := configurations.pace_problem(figures, _script(plain)):
        measured, cause = parted(why)
        if cause == UNUSUAL and (left := _left_out(plain)):
            return Failed(f"{measured} {MOVED}", left, numerics.WHOLE)
        if "rate of one epoch" in cause and len(plain.student.arrays["losses"]) < EPOCHS:
            cause = FEWER
        return Failed(f"{measured} {MOVED}", cause, hint_for(cause, PACE))
    if after := observed["after"]:
        measured = f"after the figures the program printed {after!r}"
        why = "the last line must be the JSON object, which run_configuration reads"
        return Failed(measured, why, "print(json.dumps(figures)) at the end")
    memory, peak = figures["peak_memory_mb"], observed["peak_mb"]
    if close(memory, peak, SAME_PEAK):
        return Passed(f"throughput {shown(figures['throughput'])} samples/s")
    units = [
        (peak / 1.048576, "it is in MiB, but a MB is 1e6 bytes"),
        (peak * 1e6, "it is in bytes"),
        (peak * 1e3, "it is in kilobytes"),
        (peak / 1e3, "it is in gigabytes"),
    ]
    why = explained(memory, units, SAME_PEAK / 2) or "it must be the most MB that were held"
    measured = f"peak_memory_mb is {shown(memory)}, and {peak:.4g} is right"
    return Failed(measured, why, "use peak_memory_mb(device) as the template has it")


PACE = {
    "wait for data": "let the clock run while data is waited for",
    "first whole step": "before the clock starts, call warm_up, with whole steps: forward, backward and optimizer step",
    "the right one": "samples of all epochs / their seconds by time.perf_counter(), which no code may replace",
    "fewer epochs": PLAIN_FIRST,
    "": "throughput: samples of all epochs / their seconds; epoch_time and data_wait: means",
}


def _untrue(plain: Pair) -> tuple[str, str]:
    """Say why the losses of a run without options are others."""
    if left := _left_out(plain):
        return left, numerics.WHOLE
    moved = None if plain.student.values["unsaved"] else numerics.update(plain)
    if moved and moved.error <= UPDATE:
        return (
            "the weights are right: losses holds other numbers than the training gave",
            LOSSES_ARE,
        )
    if moved and moved.ratio > LONGER:
        return "the weights move too far: usually zero_grad is missing", "zero_grad for each batch"
    return "usually the warm-up left a trace: the training goes on from it", PUT_BACK


def _left_out(plain: Pair) -> str:
    """Say how many batches of the last epoch no work was done for, in a run without options."""
    script = _script(plain)
    share = plain.student.values["worked"] / script.plain
    if not 0 < share < 1 - configurations.PACE:
        return ""
    trained = round(share * script.batches)
    return f"an epoch trains on {trained} of {script.batches} batches"


def _script(run: Pair) -> Script:
    return Script(**run.baseline.values["script"])


TOGETHER_OPTIONS = "--amp --accumulate N --checkpoint"
LEFT_OUT = {  # options -> why batches take other work than theirs, and what to try
    "--checkpoint": (
        "usually one of the five segments is not checkpointed",
        "checkpoint all five segments: the stem, and layer1 to layer4",
    ),
    "--amp": (
        "usually not all passes run under autocast",
        "autocast around forward pass and loss of each batch",
    ),
    "--compile --backend NAME": (
        "usually a part of the model is not compiled",
        "train what torch.compile(model, backend=options.backend) returns for the whole model",
    ),
    TOGETHER_OPTIONS: (
        "one of the options has no effect beside the others",
        "let each option act on its own: no if on another option",
    ),
}


def _option(
    name: str,
    says: str,
    read: str,
    options: str,
    why: str,
    try_: str,
    within: tuple[float, float] = (LOSSES / SMALLER, UPDATE),
    also: Callable[[Pair], Verdict | None] = lambda _: None,
    needs: Sequence[str] = (),
) -> None:
    """Check that a run with *options* trains as it should, and does their work; *also* finds what else is wrong."""

    def judge(run: Pair, plain: Pair) -> Verdict:
        verdict = _follows(run, why, try_, *within, plain)
        if isinstance(verdict, Failed):
            return verdict
        return _at_work(run, options) or also(run) or verdict

    part.add_check(name, says, "scripted", judge, [read, "plain"], needs)


@part.check(basis="outputs", compared="losses and weights")
def accumulates(accumulated: Pair, plain: Pair) -> Verdict:
    """--accumulate N takes a step with the mean gradient of each N batches, and of a shorter last group."""
    why = "usually the last group, which has fewer batches, does not take the step of its own mean"
    try_ = "step once more if batches are left, with the mean over the samples of this group"
    if not accumulated.student.values["unsaved"] and numerics.update(accumulated).ratio > LONGER:
        why = "the weights move too far: a step is not the mean over the samples of its group"
        try_ = "a step after each N batches; divide each batch's mean loss by the number of batches of its group"
    return _follows(accumulated, why, try_, plain=plain)


def _not_by_segments(run: Pair) -> Verdict | None:
    count = run.student.values["segments"]
    if count >= SEGMENTS:
        return None
    why = "your program puts most of the network into one segment"
    try_ = "a checkpoint each for the stem and the four layers"
    measured = f"in the backward pass {many(count, 'segment')} ran again one by one"
    return Failed(f"{measured}, and {SEGMENTS} are right", why, try_)


def _built_late(run: Pair) -> Verdict | None:
    script, figures = _script(run), run.student.values["reported"]
    rate, warm_up = figures["throughput"], figures["warm_up_s"]
    if configurations.holds_once(rate, script):
        why = "it includes a build, which happens only once"
        try_ = "warm up first, with backward pass and step"
        measured = f"throughput is {shown(rate)} samples/s, and {script.rate:.4g} is right"
        return Failed(measured, why, try_)
    if warm_up is None or not 0.98 * script.once <= warm_up <= 10 * script.once:
        in_ms = [(1000 * script.once, "it is in milliseconds, and must be in seconds")]
        less = warm_up is not None and warm_up < script.once
        why = (
            "it is less: usually it leaves out builds"
            if less
            else "it must hold warm_up, and nothing else"
        )
        why = explained(warm_up, in_ms, 0.05) or why
        try_ = "read the clock before and after warm_up; in seconds"
        measured = f"warm_up_s is {shown(warm_up)}, and the builds took {script.once:.4g} s"
        return Failed(measured, why, try_)
    return None


_option(
    "checkpoints",
    "--checkpoint runs every segment again, and changes neither "
    "losses nor weights nor running statistics.",
    "checkpointed",
    "--checkpoint",
    "usually a segment gets no gradients, as with use_reentrant=True",
    "run_checkpointed of part 4 for each segment",
    also=_not_by_segments,
)
_option(
    "trains_in_half_precision",
    "--amp runs forward passes in float16 or bfloat16, and the losses follow FP32.",
    "half",
    "--amp",
    NO_SCALER,
    "scaler.scale(loss).backward(), unscale_, scaler.step(optimizer), scaler.update(), "
    "with a scaler that is on, on a CPU too: this check takes float16",
    HALF,
)
_option(
    "compiles_before_the_clock",
    "--compile trains the model compiled by --backend; all builds "
    "are in warm_up_s, none in throughput.",
    "compiled",
    "--compile --backend NAME",
    "the compiled model is a different one, or a copy",
    "torch.compile(model, backend=...) of the model that is trained and saved",
    (LOSSES, UPDATE),
    _built_late,
)
_option(
    "options_work_together",
    "With --amp, --accumulate N and --checkpoint at once, "
    "a step still has the mean gradient of its N batches.",
    "together",
    TOGETHER_OPTIONS,
    "usually --accumulate has no effect beside --amp and --checkpoint",
    "let each option act on its own: no if on another option",
    TOGETHER,
    needs=["accumulates", "checkpoints", "trains_in_half_precision"],
)


OTHER_NAMES = {"--checkpoint": "checkpointed", "--compile": "compiled"}


@part.check(basis="report")
def saves_a_plain_model(plain: Pair, half: Pair, checkpointed: Pair, compiled: Pair) -> Verdict:
    """--save writes a state_dict that a plain ResNet loads, with every option."""
    runs = {"no option": plain, "--amp": half, "--checkpoint": checkpointed, "--compile": compiled}
    try_ = "keep the model of make_training as plain, and save plain.state_dict() to the path of --save"
    for option, run in runs.items():
        if problem := run.student.values["unsaved"]:
            why = "--save must write the state_dict of the model"
            if made := OTHER_NAMES.get(option, "") * (
                "is missing" in problem or "no name" in problem
            ):
                why = f"usually the {made} model is saved: it has other names"
            return Failed(f"with {option}: {problem}", why, try_)
    return Passed(f"weights and running statistics with {', '.join(runs)}")


@part.check(basis="outputs")
def refuses_what_it_cannot_do(refusals: Observation) -> Verdict:
    """Options that cannot work are a usage error: status 2, before any training. Every other combination works."""
    for at, options in enumerate((*REFUSED, *TAKEN)):
        refused, ended = at < len(REFUSED), refusals.values["statuses"][at] == 2
        if ended and not refused:
            why = "your program refuses options that work together"
            return Failed(f"{options} ended with status 2", why, f"allow {options}")
        if refused and not ended:
            why = "your program does not refuse what cannot work"
            try_ = f"parser.error(...) in read_options for {options}"
            return Failed(f"{options} did not end with status 2", why, try_)
    return Passed(f"{len(REFUSED)} times status 2")


def _follows(
    run: Pair,
    why: str,
    try_: str,
    losses: float = LOSSES / SMALLER,
    update: float = UPDATE,
    plain: Pair | None = None,
) -> Verdict:
    """Judge the losses of the epochs, and the weights where they could be read.

    Where the run without options, *plain*, is off already, statistics are not judged again, and it is what to fix.
    """
    observed, expected = run.student.arrays, run.baseline.arrays
    problem = numerics.misshapen(observed["losses"], expected["losses"], "epoch")
    if problem:
        return Failed(problem, FEWER, "losses: the mean loss of each epoch")
    off = plain is not None and isinstance(_follows(plain, why, try_), Failed)
    if off:
        why = "the run without options already has other losses or weights"
        try_ = PLAIN_FIRST
    apart = numerics.furthest(observed["losses"], expected["losses"])
    got, right = (", ".join(f"{it:.6g}" for it in each["losses"]) for each in (observed, expected))
    name = f"losses is [{got}], and [{right}] is right:"
    found = {"losses": (name, apart, losses)}
    if apart <= losses and not run.student.values["unsaved"]:
        moved = numerics.update(run)
        running = 0.0 if off else outputs.furthest(observed["running"], expected["running"])
        found["update"] = "update of the weights", moved.error, update
        found["running"] = "running statistics", running, update
        if moved.ratio < STILL:
            why = "the losses are right, but the saved weights never moved: saved too early, or a copy's"
            try_ = "save the model that was trained, after the last epoch"
        elif moved.error <= update:
            first = "usually the warm-up moved the statistics, and did not put them back"
            why = first if plain is None else "usually the statistics move twice for each batch"
    shares = numerics.shares(**{name: it / most for name, (_, it, most) in found.items()})
    if wrong := [it for it in found.values() if not it[1] <= it[2]]:
        told = (f"{name} off by {it:.1e} (allowed {most:.1e})" for name, it, most in wrong)
        return Failed(", ".join(told), why, try_, shares)
    return Passed(f"losses of the epochs off by {apart:.1e}", shares)


def _at_work(run: Pair, options: str) -> Verdict | None:
    """Fail a run whose batches did not take the work of its options, whatever figures it prints."""
    worked, script = run.student.values["worked"], _script(run)
    if close(worked, script.work, configurations.PACE):
        return None
    why, try_ = LEFT_OUT[options]
    pace = configurations.PACE
    if close(worked, script.plain, pace):
        why = f"that is the speed without {options.replace(' --accumulate N', ' and')}"
        why = why.removesuffix(" --backend NAME")
    elif options == TOGETHER_OPTIONS:
        alone = [(script.work / 2, "--checkpoint"), (2 * script.plain, "--amp")]
        which = explained(worked, alone, pace)
        why = f"that is the speed without {which}" if which else why
    elif "--backend" in options and worked < script.work / 2:
        why = "the backend that --backend names built nothing: usually another one is used"
    measured = f"a batch took {worked:.4g} s, and {script.work:.4g} s is right {MOVED}"
    return Failed(measured, why, try_)
