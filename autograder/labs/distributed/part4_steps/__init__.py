"""Part 4: steps. Several batches share an exchange of gradients, in half precision, with data that is there in time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from autograder.checks import outputs, slips
from autograder.checks.hints import Causes, hinted
from autograder.claims.groups import WORLD
from autograder.claims.loaders import Loader
from autograder.lab import (
    NUMBERS,
    Answer,
    Failed,
    Observation,
    Pair,
    Part,
    Passed,
    Student,
    Verdict,
    exactly,
)
from autograder.labs.distributed.part4_steps import judges
from autograder.model import verdict

if TYPE_CHECKING:
    from autograder.labs.distributed.part4_steps.rig import Rig
else:
    Rig = Any

# Before a group is forked, else each of its processes imports it anew.
part = Part(
    "part4_steps",
    writes=["train_epoch", "make_loader", "evaluate"],
    warm=["torch._dynamo"],
)
WRONG = judges.WRONG
RAISED = {"raised": "run python part4_steps.py, and read the whole traceback"}

# --- train_epoch ---

HALF = 2e-2  # of the update: 16 bits round; honest work was within 6e-3
EXACT = 1e-6
Plans = Iterable[dict[str, Any]]
"""What `rig.Plan` is made of, for each case of a probe."""


def trained(*cases: str) -> Callable[[Callable[[Rig], Plans]], None]:
    """Register a probe that trains by a plan for each of these cases."""

    def register(draw: Callable[[Rig], Plans]) -> None:
        def run(student: Student, rig: Rig) -> Answer:
            return rig.grouped(dict(zip(cases, draw(rig), strict=True)), student)

        run.__name__ = draw.__name__
        part.probe(**judges.trained(*cases), takes=["train_epoch"], hints=RAISED)(run)

    return register


@trained("accumulation 1", "accumulation 3")
def full_groups(rig: Rig) -> Plans:
    """Groups and batches of one size."""
    batch = rig.integer(3, 5)
    sizes = {"samples": 6 * batch, "batch": batch}
    return sizes, {**sizes, "accumulation": 3}


@trained("a short last group", "a group shorter than accumulation")
def short_groups(rig: Rig) -> Plans:
    """Seven batches for groups of three, or for one of nine; the last batch is one sample."""
    batch = rig.integer(3, 5)
    sizes = {"samples": 6 * batch + 1, "batch": batch}
    return {**sizes, "accumulation": 3}, {**sizes, "accumulation": 9}


@trained("float16", "bfloat16")
def rounded(rig: Rig) -> Plans:
    """Gradients so small that float16 loses them without a scaler; one process trains in float32."""
    sizes = {"samples": 24, "batch": 4, "accumulation": 2, "smaller": 1e-6}
    return {**sizes, "amp": "float16", "scale": 2.0**15}, {**sizes, "amp": "bfloat16"}


@trained("a batch of rank 1 overflows", "a batch of rank 1 overflows without amp")
def overflowing(rig: Rig) -> Plans:
    """A batch of rank 1 overflows, not the last of its group; one process trains without the group."""
    bad = 3 * rig.integer(0, 1) + rig.integer(0, 1)
    sizes = {"samples": 36, "batch": 4, "accumulation": 3, "overflows": bad}
    return {**sizes, "amp": "float16", "scale": 1024.0}, {**sizes, "scale": 1024.0}


@trained("without a scaler", "with a scaler")
def clipped(rig: Rig) -> Plans:
    """Each gradient is longer than is allowed."""
    sizes = {"samples": 24, "batch": 4, "accumulation": 2, "clip": rig.seconds(0.05, 0.1, 1)[0]}
    return sizes, {**sizes, "scale": 1024.0}


judges.Steps(
    part,
    "full_groups",
    "use no_sync() for all batches of a group but the last",
    {"infinite": judges.OTHERS, "": "your steps are those of other losses"},
    WRONG,
    "usually gradients of some batches stay on their rank",
).trains_as_one(
    "equals_one_process",
    says="Two ranks arrive at the weights of one process that takes each group of batches as one batch.",
)
short = judges.Steps(
    part,
    "short_groups",
    "loss * len(labels) / samples_of_the_group",
    "each sample of a short group or batch must count as much as any other sample",
    WRONG,
    "usually the last batch of a short group exchanges nothing",
)
short.trains_as_one(
    "short_groups_are_weighted",
    says="Each sample of a group counts the same, even if the last group or the last batch is shorter.",
    needs=["equals_one_process"],
)


@part.check(basis="report", needs=[part.checks["short_groups_are_weighted"].judge])
def communicates_once_a_step(short_groups: Pair) -> Verdict:
    """Gradients are sent once for each step, and not for each batch."""
    try_ = "with model.no_sync(): around forward and backward, for all but the last"
    return judges.facts(short_groups, try_, judges.SENT)


@part.check(
    basis="outputs",
    needs=[part.checks["short_groups_are_weighted"].judge],
    compared="loss, steps, skipped",
)
def loss_is_of_all(short_groups: Pair) -> Verdict:
    """loss is the mean over all samples of all ranks. It, steps and skipped are the same on all ranks."""
    try_ = "dist.all_reduce the sum of loss * len(labels) and the number of samples"
    return judges.facts(short_groups, try_, "loss", *judges.COUNTS)


judges.Steps(
    part,
    "rounded",
    "scaler.scale(loss).backward() and scaler.step(optimizer) where there is a scaler",
    {
        "bfloat16": "usually your code has more in 16 bits than autocast puts there",
        "long": "usually gradients are not unscaled, and steps are far too long",
        "": "usually small gradients are lost, because the loss is not scaled",
    },
    WRONG,
).trains_as_one(
    "follows_float32",
    says="With amp, weights are those of float32 up to rounding; with a scaler, also where gradients are tiny.",
    within=HALF,
    needs=["equals_one_process"],
)


@part.check(basis="report", needs=[part.checks["follows_float32"].judge])
def half_where_it_helps(rounded: Pair) -> Verdict:
    """With amp, matrix products are in 16 bits, loss and parameters in float32, and backward runs outside autocast."""
    return judges.precision_of(rounded.student, WRONG)


overflow = judges.Steps(
    part,
    "overflowing",
    "call backward() for every batch, also where its loss is not finite",
    {
        "without amp": "the step was not skipped: usually your code uses the scaler only with amp",
        "infinite": "a rank took the step although gradients are not finite: usually "
        "the scaler does not decide this",
        "": "usually a rank left its batch out, and the ranks took the step without it",
    },
    WRONG,
)


@part.check(
    basis="outputs",
    needs=[half_where_it_helps],
    compared="weights, steps, skipped",
)
def overflow_skips_everywhere(overflowing: Pair) -> Verdict:
    """If a batch overflows on one rank, all ranks skip its group, and no other group."""
    judged = overflow.trained(overflowing, HALF)
    try_ = "count a step only where the scaler did not skip it"
    counted = judges.facts(overflowing, try_, *judges.COUNTS)
    return counted if isinstance(judged, Passed) and isinstance(counted, Failed) else judged


judges.Steps(
    part,
    "clipped",
    "clip_grad_norm_ once for each step, after backward() of the step's last batch",
    {
        "with a scaler": "usually gradients are clipped while they are scaled",
        "": "usually gradients are clipped that are not yet those of all batches and ranks",
    },
    WRONG,
).trains_as_one(
    "clips_true_gradients",
    says="clip bounds the norm of the mean gradient of all ranks, without the factor of a scaler.",
    needs=["equals_one_process"],
)

# --- make_loader ---


@part.probe(values={"groups": exactly(2, judges.SHARES)}, takes=["make_loader"])
def shares(student: Student, rig: Rig) -> Answer:
    """Three ranks without workers, and two with a worker each."""
    return {"groups": [rig.shares(student.make_loader, *group) for group in ((3, 0), (2, 1))]}


@part.check(basis="report")
def divides_the_samples(shares: Observation) -> Verdict:
    """Every sample is read in each epoch, in a new order. All ranks read the same number of samples."""
    problems = [judges.division(group) for group in shares.values["groups"]]
    measured, why = next(filter(lambda problem: problem[1], problems), problems[0])
    judged = verdict(
        measured, why, "DistributedSampler(dataset, world, rank, seed=seed), no drop_last"
    )
    return hinted(judged, judges.DIVIDES)


def make(
    student: Student, data: Any, batch: int, device: Any, workers: int, seed: int, world: int = 1
) -> Any:
    """Make the loader of the last rank, on a machine with this device."""
    from autograder.labs.distributed.part4_steps import rig

    with rig.seeming(device.type == "cuda"):
        made = student.make_loader(data, batch, world - 1, world, workers=workers, seed=seed)
    return rig.both(made)[0]


TAKES = ["make_loader"]
of_two = Loader(part, partial(make, world=2), see=judges.LOADER, takes=TAKES)
of_two.has_options("asks_for_what_helps")
Loader(part, make, see=judges.LOADER, takes=TAKES).is_faster(needs=["divides_the_samples"])

# --- evaluate ---


EVALUATED: Causes = {
    "others twice": (
        "your ranks evaluate the same samples",
        "range(dist.get_rank(), len(dataset), world); LOCAL_RANK is 0 in all ranks here",
    ),
    "by no rank": (
        "your ranks leave out the rest of a set that does not divide by their number",
        "range(dist.get_rank(), len(dataset), world) has the rest as well",
    ),
    "mode in": ("your code evaluates in training mode", "model.eval() before the first batch"),
    "evaluated in all": (
        "your code evaluates some samples in two ranks, or twice",
        "take the share of dist.get_rank(), by no DistributedSampler, which repeats samples",
    ),
    "one is right": (
        "one rank has the accuracy of all samples, and another one has not",
        "let each rank evaluate its own share, then dist.all_reduce both counts",
    ),
    "ranks return": (
        "each rank returns an accuracy of its own",
        "all_reduce both counts, so that each rank has those of all",
    ),
    "mode": (
        "evaluate does not put the model back into the mode in which it came",
        "was = model.training before model.eval(), and model.train(was) at the end",
    ),
    "accuracy": (
        "accuracy must be the right answers of all ranks, divided by the samples of all ranks",
        "all_reduce the number of right answers and the number of samples, then divide",
    ),
}


@part.probe(pair=True, values=slips.SLIPPED, arrays=NUMBERS, takes=["evaluate"], hints=RAISED)
def evaluated(student: Student, rig: Rig) -> Answer:
    """Odd numbers of samples; the model comes in eval mode, and in the other."""
    few, many = 2 * rig.integer(3, 4) + 1, 2 * rig.integer(40, 60) + 1
    cases = {f"{few} samples": (WORLD, few, 2, False), f"{many} samples": (WORLD, many, 16, True)}
    return rig.evaluated(cases, student)


@part.probe(
    pair=True,
    values=slips.SLIPPED,
    arrays=NUMBERS,
    takes=["evaluate"],
    hints={
        "apart": "call model.module, because DistributedDataParallel sends buffers in each forward pass",
        "left early": "let a rank without samples make the same collective calls, with sums of 0",
        "raised": "call model.module, which sends no buffers; let all ranks make the same collective calls",
    },
)
def empty(student: Student, rig: Rig) -> Answer:
    """Fewer samples than fill all ranks."""
    cases = {"1 sample, 2 ranks": (2, 1, 4, True), "5 samples, 4 ranks": (4, 5, 2, True)}
    return rig.evaluated(cases, student)


@part.check(basis="outputs")
def counts_each_sample_once(evaluated: Pair) -> Verdict:
    """evaluate returns the accuracy over all samples on each rank, in eval mode, and restores the mode."""
    return slips.told(evaluated, outputs.same(evaluated, EXACT, why=EVALUATED, try_=WRONG))


@part.check(basis="outputs", needs=[counts_each_sample_once])
def works_with_empty_ranks(empty: Pair) -> Verdict:
    """evaluate is right even if some ranks have no sample."""
    try_ = "call model.module, and let all ranks make the same collective calls"
    return slips.told(empty, outputs.same(empty, EXACT, why=EVALUATED, try_=try_))
