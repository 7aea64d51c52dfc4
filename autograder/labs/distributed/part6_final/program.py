"""The program: two processes of it beside one process, with each option and with all of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from autograder.checks import numerics, outputs, slips
from autograder.checks.hints import Causes, hinted
from autograder.checks.numerics import explained
from autograder.claims.division import division_problem, order_cause, order_problem
from autograder.claims.group_words import READ
from autograder.claims.groups import (
    EXACT,
    WORLD,
    Group,
    usual,
)
from autograder.lab import (
    INTEGER,
    NUMBER,
    NUMBERS,
    TEXT,
    Answer,
    Failed,
    Pair,
    Passed,
    Student,
    Verdict,
    exactly,
    list_of,
    record,
)
from autograder.labs.distributed.part6_final.part import PROGRAM, SEE, Rig, part
from autograder.model import verdict

CALLS = list_of(list_of(record(kind=TEXT, bytes=INTEGER)))
SHARED = {"samples": INTEGER, "epochs": INTEGER}
PROCESS = record(asked=list_of(INTEGER), steps=CALLS, loss=list_of(NUMBER))
OPTIONS = {
    "plain": "",
    "halved": "--amp",
    "grouped": "--accumulate 4",
    "loaded": "--workers 2",
    "together": "--amp --accumulate 4 --workers 2",
    "profiled": "--accumulate 4 --profile trace.json.gz",
}


COMMAND = f"torchrun --nproc-per-node 2 {PROGRAM}"


def add_run(name: str, options: str) -> None:
    """Run the program in two processes, in epochs of one step; the baseline is one process without options."""

    def run(student: Student, rig: Rig) -> Answer:
        training = rig.grouped(options)
        if rig.side != "student":
            return training.alone()
        return training.together(rig.program(student, PROGRAM))

    run.__name__ = name
    part.probe(
        pair=True,
        values={**slips.SLIPPED, **SHARED, "ranks": exactly(2, PROCESS)},
        arrays={
            **NUMBERS,
            **dict.fromkeys(("start", "start1", "weights0", "weights1"), ("float64", 1)),
        },
        hints={"raised": f"run {f'{COMMAND} {options}'.strip()}, and read the whole traceback"},
    )(run)


for name, options in OPTIONS.items():
    add_run(name, options)


NEAR = 0.02  # of the update: so little is rounding
ROUNDS = {"in 16 bits": "leave autocast off without --amp: enabled=amp"}
SIXTEEN = "the update is nearly right, as with rounding: usually something computes in 16 bits"


class Processes(Group):
    """Two processes that read the samples in any order."""

    def reason(self, ranks: Pair, ratio: float) -> str:
        """Look at who read what before anything else."""
        ordered = {**ranks.student.values, "ranks": ranks.baseline.values["ranks"]}
        student = replace(ranks.student, values=ordered)
        if why := division_problem(*division(ranks)):
            return why
        why = super().reason(replace(ranks, student=student), ratio)
        near = numerics.update(ranks, "weights0").error < NEAR
        return SIXTEEN if near and why.startswith("the ranks agree") else why


def division(ranks: Pair) -> tuple[list[list[int]], int, int]:
    """Return what each process read, the samples of an epoch, and the epochs."""
    asked, right = ranks.student.values["ranks"], ranks.baseline.values
    return [each["asked"] for each in asked], right["samples"], right["epochs"]


processes = Processes(part, part.probes["plain"].run, SEE)
EXACTLY, ROUGHLY = (1e-4, EXACT), (2e-2, 1e-2)  # of the update; of the loss
SHARES = 2e-3  # relative: a sample that counts twice changes the accuracy by ten times as much
ROUNDED_LOSS = 1e-5  # relative
ROUNDED = 5e-3  # relative: what is left of a figure with three digits
AUTOCAST = "torch.autocast(device.type, torch.bfloat16, enabled=amp) around forward and loss, in training alone"
WHY: Causes = {
    "loss": (
        "loss must be the mean over the samples of all processes in the last epoch",
        "all_reduce the sum of loss * len(labels) of the last epoch, then divide by all samples",
    ),
    "accuracy": (
        "accuracy must be that of the test set after the last epoch, each sample counted once",
        "all_reduce right answers and samples of Subset(test, range(rank, len(test), world))",
    ),
    "file of rank 1": (
        "your program writes its result in rank 1, too",
        "write only if dist.get_rank() == 0 (LOCAL_RANK is 0 in each process here)",
    ),
    "a run that fails": (
        "after an exception, your program does not destroy its process group",
        "dist.destroy_process_group() in finally",
    ),
    "group of": (
        "at its end, your program does not destroy its process group",
        "dist.destroy_process_group() in finally",
    ),
    "seconds": (
        "each must be the time of the slowest process for an epoch, without testing",
        "time the training of each epoch, then dist.all_reduce with ReduceOp.MAX",
    ),
    "peak_mb": (
        "peak_mb must have that of each process, in the order of the ranks",
        "dist.all_gather_object of peak_mb(device)",
    ),
    "outputs of the model": (
        "the forward pass of training must be in bfloat16 with --amp; all others in float32",
        AUTOCAST,
    ),
    "the criterion returns": (
        "the loss must be computed under autocast, which takes float32",
        AUTOCAST,
    ),
    "parameters are": (
        "parameters must stay float32, whatever the options",
        "leave out model.to(torch.bfloat16): autocast converts what it needs",
    ),
    "steps taken": (
        "each K batches must make one step, in every epoch",
        "call optimizer.step() and zero_grad() only when K batches are done, not after each batch",
    ),
    "after the profile": (
        "the profiled epoch must come last, after all others and after the test",
        "in train: all epochs, then the test, then the profiled epoch, just before return figures",
    ),
    "calls of on_step()": (
        "the profiled epoch alone must call on_step(), once after each step of the optimizer",
        "call on_step() behind optimizer.step(), and not after each batch",
    ),
    "num_workers": (
        "--workers is the number of workers of each process's loader",
        "in make_loader: DataLoader(..., num_workers=workers)",
    ),
    "pin_memory": (
        "memory must be pinned if the process trains on a GPU, and only then",
        'pin_memory=device.type == "cuda"',
    ),
    "workers start": ("workers must stay for all epochs", "persistent_workers=workers > 0"),
    "samples": (
        "samples must be those of an epoch, of all processes together",
        "add up the samples of all processes",
    ),
    "": (
        "steps must be those of the optimizer in all epochs",
        "count the calls of optimizer.step()",
    ),
}
PROCESS_OF = ("rank 0: ", "rank 1: ")
WRITTEN = ("file of", "group of", "seconds", "peak_mb", "samples", "steps")
EVERY = (*PROCESS_OF, *WRITTEN, "loss", "accuracy")
"""Words in the names of cases."""


def same(ranks: Pair, within: float, *names: str) -> Verdict:
    """Pass when the cases with these words in their names are right."""
    others = [word for word in EVERY if word not in names]
    judged = outputs.same(ranks, within, why=WHY, try_=SEE, without=others)
    told = slips.told(ranks, judged, max(within, 1e-9))
    return hinted(_of_its_own(ranks, told), SLIPPED)


OWN = (
    "your loss is that of rank 0 alone",
    "your loss is that of the last batch of rank 0",
    "your loss is that of the last batch alone",
)
WHOLE = "fix divides_the_samples first"
SLIPPED: Causes = {
    "the whole set": WHOLE,
    "testing is among": "stop the clock before the test",
    "the slowest": "dist.all_reduce the seconds of each epoch with ReduceOp.MAX",
}
"""What to try, by words of a usual mistake."""


def _of_its_own(ranks: Pair, judged: Verdict) -> Verdict:
    """Say that a loss that failed is one of rank 0."""
    if isinstance(judged, Failed) and judged.measured.startswith('case "loss"'):
        own, other = (each["loss"] for each in ranks.student.values["ranks"])
        own = [*own, *(sum(pair) / WORLD for pair in [*zip(own, other, strict=False)][1:])]
        number = next(
            (got for _, it, got, _ in outputs.paired(ranks) if it["case"] == "loss"), None
        )
        stories = list(zip(own, OWN, strict=False))
        why = explained(None if number is None else float(number[0]), stories, ROUNDED_LOSS)
        return replace(judged, why=why or judged.why)
    return judged


def all_of(verdicts: Iterable[Verdict], before: str = "") -> Verdict:
    """Return the first failure, or the last verdict."""
    for judged in verdicts:
        if isinstance(judged, Failed):
            return replace(judged, measured=before + judged.measured)
    return judged


@part.check(basis="outputs", compared="weights, loss and accuracy")
def program_trains_as_one(plain: Pair) -> Verdict:
    """Two processes of train_distributed.py arrive at the weights, the loss and the accuracy of one process."""
    update, loss = EXACTLY
    verdicts = (
        hinted(processes.trained(plain, update), ROUNDS),
        same(plain, loss, "loss"),
        same(plain, SHARES, "accuracy"),
    )
    return all_of(verdicts)


@part.check(basis="report")
def divides_the_samples(plain: Pair) -> Verdict:
    """Each sample is read by one process in each epoch, and the order is new in each."""
    read, samples, epochs = division(plain)
    why = division_problem(read, samples, epochs)
    measured = f"the processes read {' and '.join(str(len(each)) for each in read)} samples"
    measured = f"{measured} in {epochs} epochs; the set has {samples}"
    if not why and order_problem(read, epochs):
        measured = "each process reads in the same order in all epochs"
        why = order_cause(read, epochs)
    judged = verdict(measured, why, "DistributedSampler, and sampler.set_epoch(epoch)")
    return hinted(judged, READ)


SMALL = 1024  # bytes: a loss is less, and the gradients are more
EACH_BATCH = {
    False: (
        "your program sends gradients in each batch of a step, and only the last one has to",
        "no_sync() around forward and backward of all batches of a step but the last",
    ),
    True: (
        f"the calls that are too many carry less than {SMALL:,} bytes: each batch sends its loss",
        "add up the loss in each process, and all_reduce the sum once an epoch",
    ),
}
"""Whether the calls that are too many are small -> why, and what to try."""


def sent(ranks: Pair, plain: Pair) -> Verdict:
    """Pass a step that makes as many collective calls as one without options."""
    counts = []
    for rank in range(2):
        both = (it.student.values["ranks"][rank]["steps"] for it in (ranks, plain))
        calls = [usual(steps) if steps else [] for steps in both]
        counts = [len(each) for each in calls]
        if counts[0] > counts[1]:
            large = [sum(call["bytes"] >= SMALL for call in each) for each in calls]
            measured = f"rank {rank}: a step makes {counts[0]} collective calls"
            measured = f"{measured}, and {counts[1]} in the program without options"
            return Failed(measured, *EACH_BATCH[large[0] <= large[1]])
    return Passed(f"{counts[0]} collective calls in a step")


SUMMED = (
    "without options it is right: usually gradients of a step's batches are added up, not averaged",
    "weigh each batch's loss by its share of the step",
)
OPTION: Causes = {**ROUNDS, "steps go twice as far": SUMMED, "the ranks agree": SUMMED}
"""What to try where only an option makes a training another one."""


def did(ranks: Pair, plain: Pair, options: str) -> Verdict:
    """Judge a run with *options*: what it computes, sends, learns and writes."""
    update, loss = ROUGHLY if "--amp" in options else EXACTLY
    verdicts = (
        _joined(same(ranks, 0.0, *PROCESS_OF, "steps"), options),
        sent(ranks, plain),
        hinted(processes.trained(ranks, update), OPTION if "--accumulate" in options else ROUNDS),
        same(ranks, loss, "loss"),
    )
    return all_of(verdicts, f"with {options or 'no option'}: ")


def _joined(judged: Verdict, options: str) -> Verdict:
    """Say of all options together that each of them alone was right."""
    if isinstance(judged, Failed) and options == OPTIONS["together"]:
        why = "each option alone does what it must, and beside the others this one does not"
        return replace(judged, why=why, try_="look at each option by itself: if, and no elif")
    return judged


@part.check(basis="report", needs=[program_trains_as_one])
def options_do_what_they_say(
    plain: Pair, halved: Pair, grouped: Pair, loaded: Pair, together: Pair, profiled: Pair
) -> Verdict:
    """--amp, --accumulate, --workers and --profile change one thing each. Given in one run, all four take effect."""
    every = plain, halved, grouped, loaded, together, profiled
    runs = zip(every, OPTIONS.values(), strict=True)
    return all_of(did(ranks, plain, options) for ranks, options in runs)


@part.check(basis="report")
def one_process_writes(plain: Pair) -> Verdict:
    """Rank 0 alone writes the numbers of all processes and the times of the slowest; no process group is left."""
    return same(plain, ROUNDED, *WRITTEN)
