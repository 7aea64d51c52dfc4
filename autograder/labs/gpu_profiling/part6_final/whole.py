"""The program as a whole: the same work as the baseline's, and all of its points at once."""

from __future__ import annotations

from autograder.checks.hints import hinted
from autograder.checks.numerics import shown
from autograder.lab import (
    INTEGER,
    NUMBER,
    TEXT,
    Answer,
    Pair,
    Student,
    Verdict,
    list_of,
    map_of,
    optional,
    record,
)
from autograder.labs.gpu_profiling.part6_final import judges
from autograder.labs.gpu_profiling.part6_final.part import (
    PROGRAM,
    SAME_WORK,
    Rig,
    part,
)
from autograder.labs.gpu_profiling.part6_final.points import accumulates, is_one_graph
from autograder.model import verdict
from autograder.traces.words import many

BUILDS = {"forward": 25.0, "backward": 20.0}  # scripted seconds
EPOCHS = 3
"""As many as any sample takes reads until it has taken all of its times."""
SCRIPT = record(samples=INTEGER, batches=INTEGER, wait=NUMBER, work=NUMBER, once=NUMBER)
WHOLE = {
    "reported": map_of(optional(NUMBER)),
    "device": TEXT,
    "script": SCRIPT,
    "size": INTEGER,
    "after": TEXT,
    "recorded": INTEGER,
    "photos": optional(NUMBER),
    "marked": INTEGER,
    "last": list_of(NUMBER),
}


@part.probe(pair=True, values=WHOLE, arrays={"losses": ("float64", 1)})
def whole(student: Student, rig: Rig) -> Answer:
    """Memory for a quarter of a step, which the program has to find out; whoever doubles a batch finds it as well."""
    size = 2 ** rig.integer(1, 3)
    code = rig.program(student, PROGRAM)
    options = ["--batch-size", 0, "--profile", rig.folder / "profile.json"]
    room = rig.integer(size, 2 * size - 1)
    return rig.matched.run(code, 4 * size, size, EPOCHS, options, room, steps=2)


@part.probe(
    pair=True,
    values={
        **WHOLE,
        "half": INTEGER,
        "runs": INTEGER,
        "first": INTEGER,
        "largest": optional(NUMBER),
    },
    arrays={"losses": ("float64", 1)},
)
def together(student: Student, rig: Rig) -> Answer:
    """Mixed precision, one graph, and two batches of a step at once; then once more, where no more than that fits.

    A step that is not compiled has room for all of it, one in full precision for less: an attempt is as the training.
    """
    size = 2 ** rig.integer(2, 3)
    code = rig.program(student, PROGRAM)
    (work,) = rig.seconds(0.4, 0.9, 1)
    compiler = rig.compiler(None, BUILDS, step=work)
    options = ["--batch-size", size, "--amp", "--compile", "--backend", rig.backend(compiler)]
    run = rig.matched.run(code, 2 * size, size, EPOCHS, options, 2 * size)
    built = compiler.values()
    run["script"] |= {"work": work, "once": sum(BUILDS.values())}
    compiler.forget()
    compiler.room = rig.integer(size, 2 * size - 1)
    again = rig.matched.run(code, 2 * size, size, 1, ["--batch-size", 0, *options[2:]], 2 * size)
    run["largest"] = again["reported"]["batch_size"]
    return {
        **run,
        "half": sum(graph["half"] for graph in built["built"]),
        "runs": sum(built["runs"].values()),
        "first": compiler.first,
    }


LOSSES, HALF_LOSSES = 1e-3, 0.02
HINTS = {
    "after the figures": "print nothing after the JSON object",
    "loops over the loader": "for images, labels in spanned(loader), which is imported from given",
    "of workers": (
        "make the loader, train one epoch with this loader, and only then start the timed epochs"
    ),
    "given.record was": "call given.record after the timed epochs, with the number of an epoch's batches",
    "the last step of": "the loss of an epoch is the mean over its steps",
    "a different training": (
        "copy.deepcopy the state_dict() of model and optimizer before the warm-up, "
        "and load both back after it, with and without --compile; the loss of an epoch is the mean "
        "over its steps"
    ),
    "is timed": "before the timed epochs, train one epoch by the model and the loader that are timed",
    "is profiled": "call given.record on one more epoch, after the timed ones",
    "is of one epoch": "add up the seconds of all timed epochs",
    "as steps": "count a step of the optimizer for each group of `accumulate` batches",
    "steps is": "add 1 to steps at each optimizer.step() of a timed epoch",
    "as --samples says": "give make_photos the number of --samples",
    "samples is": "train on all samples of each epoch, and add up len(labels) of each batch",
    "throughput is": "divide the samples of all timed epochs by all of their seconds, with no other factor",
    "the largest that fits": "take what largest_batch returns, and print it as batch_size",
    "device must": "print given.device_name(device)",
    "the mean loss of each epoch": "append the mean loss once for each timed epoch",
    "the last of losses": "print losses[-1] as loss",
    "data_wait": "add up the data_wait of all timed epochs, and of nothing else",
    "only once took": "print the seconds from the start of the warm-up to its end as warm_up_s",
    "with --amp": "fix computes_in_half_precision first if it fails; then look at both together",
    "attempt must": "let attempt train a step as an epoch does: compiled, under autocast, backward",
    "begin at the whole": "call largest_batch(attempt, options.step), whatever the other options are",
}


@part.check(basis="scripted", needs=[accumulates])
def does_the_same_work(whole: Pair) -> Verdict:
    """The program has the baseline's steps and losses, in batches that fit into memory, and times only whole epochs."""
    measured, why = judges.worked(whole, EPOCHS, LOSSES)
    values = whole.student.values
    batches = values["script"]["batches"]
    if values["after"]:
        measured = f"after the figures the program printed {values['after']!r}"
        why = "the last line of the output must be the JSON object"
    elif not why and values["recorded"] != batches:
        told = f"told {values['recorded']} batches, and an epoch has {batches}"
        told = "never called" if values["recorded"] < 0 else told
        measured = f"with --profile, given.record was {told}"
        why = "after the timed epochs, one whole epoch more must be recorded"
    elif not why and values["marked"] < EPOCHS * batches:
        measured = f"{values['marked']} of {EPOCHS * batches} batches came from spanned(loader)"
        why = "train_epoch loops over the loader itself, so nsys marks no step"
    if not why:
        measured, why = judges.paced(whole, EPOCHS)
    return hinted(verdict(measured, why, SAME_WORK), HINTS)


@part.check(basis="scripted", needs=[accumulates, is_one_graph])
def points_work_together(together: Pair) -> Verdict:
    """--amp, --compile and two batches a step work together: losses match the baseline's. Compiling is not timed."""
    measured, why = judges.worked(together, EPOCHS, HALF_LOSSES)
    values = together.student.values
    if not why and not (values["runs"] and values["half"]):
        measured = f"{values['runs']} passes were compiled, {values['half']} graphs in bfloat16"
        what = "runs in bfloat16, a CPU's default" if values["runs"] else "is compiled"
        why = f"nothing {what}, with --amp and --compile"
    if not why and values["largest"] != values["size"]:
        taken = f"{shown(values['largest'])}, and {values['size']} is right"
        measured = f"with --batch-size 0, --amp and --compile batch_size is {taken}"
        why = "attempt must train as the epochs do"
        if values["first"] not in (0, 2 * values["size"]):
            measured = "with --batch-size 0 and --compile the first batch that is compiled has "
            measured += f"{many(values['first'], 'sample')}, and {2 * values['size']} are right"
            why = "the search must begin at the whole step"
    if not why:
        measured, why = judges.built_before(together, EPOCHS, BUILDS.values())
    return hinted(verdict(measured, why, SAME_WORK), HINTS)
