"""What is judged of the program: it trains as the plain loop does, and each option does its work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autograder.checks import configurations, numerics, outputs
from autograder.checks.numerics import close, explained, shown
from autograder.lab import (
    Failed,
    Observation,
    Pair,
    Passed,
    Verdict,
)
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
LOSSES, UPDATE = (
    1e-3,
    0.03,
)  # losses absolutely, the update relative to its norm: channels_last is up to 0.006 off
HALF_LOSSES, HALF_UPDATE = 0.02 / SMALLER, 0.1
ALL_LOSSES, ALL_UPDATE = (
    0.02 / SMALLER,
    0.25,
)  # of 100 seeds the furthest: 0.004, 0.07; no accumulation: 1.2 and more


@part.check(basis="outputs", compared="losses and weights")
def trains_as_the_plain_loop(plain: Pair) -> Verdict:
    """Without --amp and the like, optimized_training.py trains for --epochs epochs as the plain loop does."""
    told, known = plain.student.values, plain.baseline.values
    why = "another loop: the warm-up left a trace (weights, momentum), a step was left out or taken twice, no zero_grad"
    found = _follows(plain, why)
    if isinstance(found, Failed):
        return found
    if not close(told["told"]["loss"], plain.student.arrays["losses"][-1], 1e-3):
        return Failed(
            f"loss is {shown(told['told']['loss'])}", "it is not the last of losses", WRONG
        )
    script = known["script"]
    sizes = {
        "batch_size": BATCH,
        "batches": script["batches"],
        "image_size": SIDE,
        "num_workers": 2,
    }
    asked = {**sizes, "data": "cifar10"}
    if asked not in told["asked"]:
        measured = f"make_loader was called with {told['asked'][:1]}"
        return Failed(
            measured,
            f"the options ask for {asked}",
            "hand every option on to make_loader, from given",
        )
    one = 101 / script["samples"]
    if (
        told["told"]["accuracy"] is None
        or abs(told["told"]["accuracy"] - known["told"]["accuracy"]) > one
    ):
        measured = f"accuracy {shown(told['told']['accuracy'])}"
        why = f"{known['told']['accuracy']:.4g} % of the samples of the last epoch were right"
        return Failed(measured, why, "100 * correct / samples of the last epoch")
    if told["device"].strip() != known["device"].strip():
        return Failed(
            f"device {told['device'][:60]!r}",
            f"it is called {known['device']!r}",
            "device_name(device)",
        )
    return found


@part.check(basis="scripted")
def figures_are_honest(plain: Pair) -> Verdict:
    """Its throughput, epoch_time and data_wait are those of whole epochs after a warm-up; memory is in MB."""
    told, script = (
        plain.student.values["told"],
        configurations.Script(**plain.baseline.values["script"]),
    )
    measured = f"throughput {shown(told['throughput'])} samples/s on a clock that the grader moves"
    if why := configurations.pace_problem(told, script):
        return Failed(
            measured, why, f"one clock around all of an epoch, after warm_up; {PROGRAM_TEXT}"
        )
    if after := plain.student.values["after"]:
        why = "the last line of the output is the JSON object, which run_configuration reads"
        return Failed(
            f"after the figures the program printed {after!r}",
            why,
            "print(json.dumps(figures)) at the end",
        )
    memory, peak = told["peak_memory_mb"], plain.student.values["peak_mb"]
    if not close(memory, peak, SAME_PEAK):
        why = explained(
            memory, [(peak / 1.048576, "it is in MiB, and a MB is 1e6 bytes: ")], SAME_PEAK / 2
        )
        why = f"{why}the most that the process held was {peak:.4g} MB"
        return Failed(
            f"peak_memory_mb is {shown(memory)}", why, "return what peak_memory_mb(device) returns"
        )
    return Passed(measured)


@part.check(basis="outputs", compared="losses and weights")
def accumulates(accumulated: Pair, plain: Pair) -> Verdict:
    """--accumulate N takes the step of one large batch for each N batches, the last ones included."""
    why = "the step of a group is not the mean over its samples, or the last group is dropped"
    return _follows(accumulated, why, plain=plain)


@part.check(basis="scripted")
def checkpoints(checkpointed: Pair, plain: Pair) -> Verdict:
    """--checkpoint runs every segment again, and changes neither losses nor weights nor running statistics."""
    why = "a segment without gradients, or BatchNorms whose statistics move twice"
    found = _follows(checkpointed, why, plain=plain)
    if isinstance(found, Passed):
        found = _at_work(checkpointed, "--checkpoint", found)
    count = checkpointed.student.values["segments"]
    if isinstance(found, Failed) or count >= SEGMENTS:
        return found
    why = "one of them is most of the network: running it again brings all of that back at once"
    try_ = f"a checkpoint each for the stem and the four layers; {PROGRAM_TEXT}"
    measured = f"{many(count, 'segment')} ran again" if count else "all ran again at once"
    return Failed(f"going back, {measured}", why, try_)


@part.check(basis="scripted")
def trains_in_half_precision(half: Pair, plain: Pair) -> Verdict:
    """--amp runs passes in half precision, and the losses follow FP32."""
    why = (
        "losses or weights leave FP32's: float16 without scaler.scale(loss), a step with scaled gradients,"
        " a loss in 16 bits, weights in 16 bits"
    )
    found = _follows(half, why, HALF_LOSSES * SMALLER / TINY, HALF_UPDATE, plain)
    return found if isinstance(found, Failed) else _at_work(half, "--amp", found)


@part.check(basis="scripted")
def compiles_before_the_clock(compiled: Pair, plain: Pair) -> Verdict:
    """--compile trains the model compiled by --backend; all builds are in warm_up_s, none in throughput."""
    found = _follows(
        compiled,
        "the compiled model is another one, or is another one's copy",
        ALL_LOSSES * SMALLER,
        HALF_UPDATE,
        plain,
    )
    if isinstance(found, Failed):
        return found
    if not compiled.student.values["built"]:
        why = "--backend goes nowhere, or the plain model is trained"
        return Failed(
            NONE_BUILT,
            why,
            "torch.compile(model, backend=options.backend), and train what it returns",
        )
    found, told = _at_work(compiled, "--compile", found), compiled.student.values["told"]
    if isinstance(found, Failed):
        return found
    script = configurations.Script(**compiled.baseline.values["script"])
    if configurations.holds_once(told["throughput"], script):
        measured, why = (
            f"throughput is {shown(told['throughput'])} samples/s",
            "it includes what happens once: a build",
        )
        return Failed(measured, why, f"warm up before, backward pass and step as well; {WRONG}")
    if told["warm_up_s"] is None or not 0.98 * script.once <= told["warm_up_s"] <= 10 * script.once:
        why = f"the builds took {script.once:.4g} s, and they are a part of the warm-up"
        try_ = "read the clock before and after warm_up; in seconds"
        return Failed(f"warm_up_s is {shown(told['warm_up_s'])}", why, try_)
    return found


NONE_BUILT = "nothing was built by the backend that --backend names"


@part.check(basis="scripted", needs=[accumulates, checkpoints, trains_in_half_precision])
def options_work_together(together: Pair, plain: Pair) -> Verdict:
    """--amp, --accumulate N and --checkpoint at once still take the step of one large batch."""
    options = f"--amp --accumulate {GROUP} --checkpoint"
    why = f"with {options}, one option switches another one off, or comes in its way"
    found = _follows(together, why, ALL_LOSSES, ALL_UPDATE, plain)
    return found if isinstance(found, Failed) else _at_work(together, options, found)


@part.check(basis="report")
def saves_a_plain_model(plain: Pair, half: Pair, checkpointed: Pair, compiled: Pair) -> Verdict:
    """--save writes a state_dict that a plain ResNet loads, with every option."""
    runs = {"no option": plain, "--amp": half, "--checkpoint": checkpointed, "--compile": compiled}
    for option, seen in runs.items():
        if why := seen.student.values["unsaved"]:
            measured = f"with {option}: {why}"
            names = "is missing" in why or "no name" in why
            why = (
                "what is trained in the model's place has other names"
                if names
                else "the file holds no state_dict"
            )
            return Failed(
                measured,
                why,
                "torch.save(model.state_dict(), options.save), of the model from make_training",
            )
    return Passed(f"weights and running statistics with {', '.join(runs)}")


@part.check(basis="outputs")
def refuses_what_it_cannot_do(refusals: Observation) -> Verdict:
    """What cannot be done is a usage error: status 2, before anything is trained; nothing else is."""
    statuses = refusals.values["statuses"]
    if len(statuses) != len(REFUSED) + len(TAKEN):
        return Failed(
            f"{len(statuses)} runs", f"{len(REFUSED) + len(TAKEN)} were begun", PROGRAM_TEXT
        )
    refused, taken = statuses[: len(REFUSED)], statuses[len(REFUSED) :]
    odd = [" ".join(words) for words, status in zip(REFUSED, refused, strict=True) if status != 2]
    if odd:
        why = "argparse ends a program so when parser.error(...) is called"
        return Failed(
            f"{odd[:1]} ended with another status than 2", why, "parser.error(...) in read_options"
        )
    if 2 in taken:
        measured = f"{' '.join(TAKEN[taken.index(2)])} ended with status 2"
        why = "only --compile and --checkpoint exclude each other: all other options go together"
        return Failed(measured, why, f"no parser.error for these; {PROGRAM_TEXT}")
    return Passed(f"{len(refused)} times status 2")


def _follows(
    seen: Pair,
    why: str,
    losses: float = LOSSES / SMALLER,
    update: float = UPDATE,
    plain: Pair | None = None,
) -> Verdict:
    """Judge the losses of the epochs, and the weights where they could be read.

    Where the run without options, *plain*, is off already, statistics are not judged again, and it is what to mend.
    """
    got, want = seen.student, seen.baseline
    problem = numerics.misshapen(got.arrays["losses"], want.arrays["losses"], "epoch")
    if problem:
        return Failed(
            problem, f"it ran with --epochs {EPOCHS}", "losses: the mean loss of each epoch"
        )
    apart = numerics.furthest(got.arrays["losses"], want.arrays["losses"])
    measured, evidence = (
        f"losses of the epochs apart by {apart:.1e} (allowed {losses:.0e})",
        {"losses": apart / losses},
    )
    try_ = f"compare with a plain run on the same batches, and without the warm-up; {WRONG}"
    off = plain is not None and not isinstance(_follows(plain, why), Passed)
    if off:
        why, try_ = (
            "without options it is another training already",
            "look at trains_as_the_plain_loop first",
        )
    if not apart <= losses:
        return Failed(measured, why, try_, numerics.shares(**evidence))
    if got.values["unsaved"]:
        return Passed(measured, numerics.shares(**evidence))
    moved = numerics.update(seen)
    running = 0.0 if off else outputs.furthest(got.arrays["running"], want.arrays["running"])
    measured += f", update by {moved.error:.1e} of its norm (allowed {update:.0e}), running statistics by {running:.1e}"
    evidence |= {"update": moved.error / update, "running": running / update}
    right = moved.error <= update and running <= update
    if moved.ratio < STILL:
        why = "the losses are right and the weights that were saved never moved: saved too early, or those of a copy"
    elif moved.error <= update:
        why = "weights are right and statistics are not: a warm-up moved them and left them so, or they move twice"
    return (Passed if right else _failed(why, try_))(measured, numerics.shares(**evidence))


def _failed(why: str, try_: str) -> Callable[[str, Any], Failed]:
    return lambda measured, evidence: Failed(measured, why, try_, evidence)


def _at_work(seen: Pair, options: str, found: Verdict) -> Verdict:
    """Fail a run whose batches did not take the work of its options, whatever figures it prints."""
    worked, script = (
        seen.student.values["worked"],
        configurations.Script(**seen.baseline.values["script"]),
    )
    if close(worked, script.work, configurations.PACE):
        return found
    plain = close(worked, script.plain, configurations.PACE)
    why = (
        f"that is the pace without {options}"
        if plain
        else f"with {options} it is {script.work:.4g} s"
    )
    measured = f"a batch took {worked:.4g} s on a clock that the grader moves"
    return Failed(measured, why, f"apply {options}, and leave nothing of it out; {WRONG}")
