"""What is judged of the program: it trains as the plain loop does, and each option does its work."""

from __future__ import annotations

from autograder.checks import configurations, numerics, outputs
from autograder.checks.configurations import Script
from autograder.checks.numerics import close, explained, shown
from autograder.lab import Failed, Observation, Pair, Passed, Verdict
from autograder.labs.resnet18.part6_comparison.part import (
    BATCH,
    EPOCHS,
    SIDE,
    SMALLER,
    TINY,
    WRONG,
    part,
)
from autograder.labs.resnet18.part6_comparison.runs import GROUP, REFUSED, SEGMENTS, TAKEN
from autograder.traces.words import many

STILL = 0.01  # of the baseline's update: weights that were not trained
PROGRAM_TEXT = 'see "The program" in the part 6 handout'

# Relative: a program may ask before its last allocations; a MiB is 5 % more than a MB.
SAME_PEAK = 0.04
# Losses absolutely, updates relative to their norm: channels_last is up to 0.006 off.
LOSSES, UPDATE = 1e-3, 0.03
HALF_LOSSES, HALF_UPDATE = 0.02, 0.1
# Of 100 seeds the furthest: 0.004, 0.07; no accumulation: 1.2 and more.
ALL_LOSSES, ALL_UPDATE = 0.02 / SMALLER, 0.25


@part.check(basis="outputs", compared="losses and weights")
def trains_as_the_plain_loop(plain: Pair) -> Verdict:
    """Without --amp and other such options, optimized_training.py trains --epochs epochs as the plain loop does."""
    why = (
        "it differs from the plain loop: the warm-up left a trace (weights, "
        "momentum), a step was left out or taken twice, no zero_grad"
    )
    verdict = _follows(plain, why)
    if isinstance(verdict, Failed):
        return verdict
    observed, expected = plain.student.values, plain.baseline.values
    loss, accuracy = observed["reported"]["loss"], observed["reported"]["accuracy"]
    if not close(loss, plain.student.arrays["losses"][-1], 1e-3):
        try_ = "loss: the mean loss of the last epoch"
        return Failed(f"loss is {shown(loss)}", "it is not the last of losses", try_)
    options = {
        "batch_size": BATCH,
        "batches": expected["script"]["batches"],
        "image_size": SIDE,
        "num_workers": 2,
        "data": "cifar10",
    }
    if options not in observed["asked"]:
        measured = f"make_loader was called with {observed['asked'][:1]}"
        try_ = "pass every option on to make_loader, which you import from given"
        return Failed(measured, f"the options say {options}", try_)
    right = expected["reported"]["accuracy"]
    if accuracy is None or abs(accuracy - right) > 101 / expected["script"]["samples"]:
        why = f"in the last epoch {right:.4g} % of the samples were right"
        try_ = "100 * correct / samples of the last epoch"
        return Failed(f"accuracy {shown(accuracy)}", why, try_)
    device = observed["device"]
    if device.strip() != expected["device"].strip():
        why = f"expected {expected['device']!r}"
        return Failed(f"device {device[:60]!r}", why, "device_name(device)")
    return verdict


@part.check(basis="scripted")
def figures_are_honest(plain: Pair) -> Verdict:
    """Its throughput, epoch_time and data_wait are those of whole epochs after a warm-up; memory is in MB."""
    observed = plain.student.values
    figures = observed["reported"]
    rate = f"throughput {shown(figures['throughput'])} samples/s"
    measured = f"{rate} on a clock that the grader moves"
    if why := configurations.pace_problem(figures, _script(plain)):
        try_ = f"one clock around all of an epoch, after warm_up; {PROGRAM_TEXT}"
        return Failed(measured, why, try_)
    if after := observed["after"]:
        measured = f"after the figures the program printed {after!r}"
        why = "the last line of the output must be the JSON object, which run_configuration reads"
        return Failed(measured, why, "print(json.dumps(figures)) at the end")
    memory, peak = figures["peak_memory_mb"], observed["peak_mb"]
    if close(memory, peak, SAME_PEAK):
        return Passed(measured)
    in_mib = [(peak / 1.048576, "it is in MiB, but a MB is 1e6 bytes: ")]
    why = explained(memory, in_mib, SAME_PEAK / 2)
    why = f"{why}the most that the process held was {peak:.4g} MB"
    try_ = "return what peak_memory_mb(device) returns"
    return Failed(f"peak_memory_mb is {shown(memory)}", why, try_)


def _script(run: Pair) -> Script:
    return Script(**run.baseline.values["script"])


@part.check(basis="outputs", compared="losses and weights")
def accumulates(accumulated: Pair, plain: Pair) -> Verdict:
    """--accumulate N takes the step of one large batch for each N batches, and for a shorter last group."""
    why = "the step of a group is not the mean over its samples, or the last group is dropped"
    return _follows(accumulated, why, plain=plain)


@part.check(basis="scripted")
def checkpoints(checkpointed: Pair, plain: Pair) -> Verdict:
    """--checkpoint runs every segment again, and changes neither losses nor weights nor running statistics."""
    why = "a segment got no gradients, or the statistics of BatchNorms moved twice"
    verdict = _follows(checkpointed, why, plain=plain)
    if isinstance(verdict, Passed):
        verdict = _at_work(checkpointed, "--checkpoint", verdict)
    count = checkpointed.student.values["segments"]
    if isinstance(verdict, Failed) or count >= SEGMENTS:
        return verdict
    why = "one segment is most of the network: running it again brings all of that back at once"
    try_ = f"a checkpoint each for the stem and the four layers; {PROGRAM_TEXT}"
    measured = f"{many(count, 'segment')} ran again" if count else "all ran again at once"
    return Failed(f"in the backward pass, {measured}", why, try_)


@part.check(basis="scripted")
def trains_in_half_precision(half: Pair, plain: Pair) -> Verdict:
    """--amp runs passes in half precision, and the losses follow FP32."""
    why = (
        "losses or weights do not follow FP32: "
        "float16 without scaler.scale(loss), a step with scaled gradients,"
        " a loss in 16 bits, weights in 16 bits"
    )
    verdict = _follows(half, why, HALF_LOSSES / TINY, HALF_UPDATE, plain)
    return verdict if isinstance(verdict, Failed) else _at_work(half, "--amp", verdict)


@part.check(basis="scripted")
def compiles_before_the_clock(compiled: Pair, plain: Pair) -> Verdict:
    """--compile trains the model compiled by --backend; all builds are in warm_up_s, none in throughput."""
    why = "the compiled model is a different one, or a copy"
    verdict = _follows(compiled, why, LOSSES, plain=plain)
    if isinstance(verdict, Failed):
        return verdict
    if not compiled.student.values["built"]:
        measured = "nothing was built by the backend that --backend names"
        why = "--backend is not passed on, or the plain model is trained"
        try_ = "torch.compile(model, backend=options.backend), and train what it returns"
        return Failed(measured, why, try_)
    verdict = _at_work(compiled, "--compile", verdict)
    if isinstance(verdict, Failed):
        return verdict
    script, figures = _script(compiled), compiled.student.values["reported"]
    rate, warm_up = figures["throughput"], figures["warm_up_s"]
    if configurations.holds_once(rate, script):
        why = "it includes a build, which happens only once"
        try_ = f"warm up first, with backward pass and step; {WRONG}"
        return Failed(f"throughput is {shown(rate)} samples/s", why, try_)
    if warm_up is None or not 0.98 * script.once <= warm_up <= 10 * script.once:
        why = f"the builds took {script.once:.4g} s, which belongs in the warm-up"
        try_ = "read the clock before and after warm_up; in seconds"
        return Failed(f"warm_up_s is {shown(warm_up)}", why, try_)
    return verdict


@part.check(basis="scripted", needs=[accumulates, checkpoints, trains_in_half_precision])
def options_work_together(together: Pair, plain: Pair) -> Verdict:
    """--amp, --accumulate N and --checkpoint at once still take the step of one large batch."""
    options = f"--amp --accumulate {GROUP} --checkpoint"
    why = f"with {options}, one option disables or interferes with another"
    verdict = _follows(together, why, ALL_LOSSES, ALL_UPDATE, plain)
    return verdict if isinstance(verdict, Failed) else _at_work(together, options, verdict)


@part.check(basis="report")
def saves_a_plain_model(plain: Pair, half: Pair, checkpointed: Pair, compiled: Pair) -> Verdict:
    """--save writes a state_dict that a plain ResNet loads, with every option."""
    runs = {"no option": plain, "--amp": half, "--checkpoint": checkpointed, "--compile": compiled}
    try_ = "torch.save(model.state_dict(), options.save), of the model from make_training"
    for option, run in runs.items():
        if problem := run.student.values["unsaved"]:
            why = "the file holds no state_dict"
            if "is missing" in problem or "no name" in problem:
                why = "a compiled or checkpointed model has different parameter names"
            return Failed(f"with {option}: {problem}", why, try_)
    return Passed(f"weights and running statistics with {', '.join(runs)}")


@part.check(basis="outputs")
def refuses_what_it_cannot_do(refusals: Observation) -> Verdict:
    """Options that cannot work are a usage error: status 2, before anything is trained. No others are."""
    statuses = refusals.values["statuses"]
    begun = [" ".join(words) for words in (*REFUSED, *TAKEN)]
    if len(statuses) != len(begun):
        return Failed(f"{len(statuses)} runs", f"{len(begun)} were begun", PROGRAM_TEXT)
    for at, (options, status) in enumerate(zip(begun, statuses, strict=True)):
        if at < len(REFUSED) and status != 2:
            measured = f"{[options]} did not end with status 2"
            why = "it must be refused, by a usage error"
            return Failed(measured, why, "parser.error(...) in read_options")
        if at >= len(REFUSED) and status == 2:
            measured = f"{options} ended with status 2"
            why = (
                "only --compile and --checkpoint exclude each other, all other options go together"
            )
            return Failed(measured, why, f"no parser.error for these; {PROGRAM_TEXT}")
    return Passed(f"{len(REFUSED)} times status 2")


def _follows(
    run: Pair,
    why: str,
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
        why = f"it ran with --epochs {EPOCHS}"
        return Failed(problem, why, "losses: the mean loss of each epoch")
    apart = numerics.furthest(observed["losses"], expected["losses"])
    measured = f"losses of the epochs off by {apart:.1e} (allowed {losses:.0e})"
    shares = {"losses": apart / losses}
    try_ = f"compare with a plain run on the same batches, and without the warm-up; {WRONG}"
    off = plain is not None and not isinstance(_follows(plain, why), Passed)
    if off:
        why = "the training without options is already wrong"
        try_ = "fix trains_as_the_plain_loop first"
    if not apart <= losses:
        return Failed(measured, why, try_, numerics.shares(**shares))
    if run.student.values["unsaved"]:
        return Passed(measured, numerics.shares(**shares))
    moved = numerics.update(run)
    running = 0.0 if off else outputs.furthest(observed["running"], expected["running"])
    of_norm = f"update by {moved.error:.1e} of its norm (allowed {update:.0e})"
    measured += f", {of_norm}, running statistics by {running:.1e}"
    evidence = numerics.shares(**shares, update=moved.error / update, running=running / update)
    if moved.error <= update and running <= update:
        return Passed(measured, evidence)
    if moved.ratio < STILL:
        why = (
            "the losses are right, but the weights that were saved never moved: "
            "saved too early, or those of a copy"
        )
        if not off:
            try_ = f"save the state_dict of the trained model, after the last epoch; {WRONG}"
    elif moved.error <= update:
        why = (
            "weights are right, but statistics are not: "
            "a warm-up moved them and left them so, or they move twice"
        )
        try_ = f"restore them after the warm-up, and hold them when a segment runs again; {WRONG}"
    return Failed(measured, why, try_, evidence)


def _at_work(run: Pair, options: str, verdict: Verdict) -> Verdict:
    """Fail a run whose batches did not take the work of its options, whatever figures it prints."""
    worked, script = run.student.values["worked"], _script(run)
    if close(worked, script.work, configurations.PACE):
        return verdict
    why = f"expected {script.work:.4g} s with {options}"
    if close(worked, script.plain, configurations.PACE):
        why = f"that is the speed without {options}"
    measured = f"a batch took {worked:.4g} s on a clock that the grader moves"
    return Failed(measured, why, f"apply {options} to all of the training; {WRONG}")
