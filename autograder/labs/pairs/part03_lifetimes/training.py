"""What is claimed of train and accumulate: nothing kept, nothing fetched, one graph at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autograder.checks import outputs
from autograder.claims.graphs import FETCHES, WAITS
from autograder.lab import (
    BOOLEAN,
    CASES,
    INTEGER,
    NUMBERS,
    Failed,
    Pair,
    Passed,
    Student,
    Verdict,
    list_of,
)
from autograder.labs.pairs.part03_lifetimes import judges
from autograder.labs.pairs.part03_lifetimes.part import SEE, part
from autograder.traces.words import many

if TYPE_CHECKING:
    from autograder.labs.pairs.part03_lifetimes.rig import Rig
else:
    Rig = Any


# --- train: nothing is kept, nothing is fetched -----------------------------------------------------------------------

STEPS = 5
ALIVE = 2  # batches: that of the step, and one that was drawn ahead
WEIGHTS = ("start", "weights", *judges.TRAINED)


@part.probe(
    pair=True,
    values={
        **CASES,
        "keeps_graph": BOOLEAN,
        "fetches": FETCHES,
        "draws": list_of(INTEGER),
        "alive": INTEGER,
    },
    arrays={**NUMBERS, **dict.fromkeys(WEIGHTS, ("float64", 1))},
)
def trained(student: Student, rig: Rig) -> Any:
    """Five steps with momentum; the parameters come with gradients from before."""
    answers, training = rig.answers(), rig.training(STEPS)
    slips = {slip: training.slipped(slip) for slip in judges.TRAINED}
    start = training.weights()
    draws = training.draws()
    with rig.fetches(student) as fetches:
        losses = student.train(*training.given())
    answers.add("losses", losses)
    return {
        **answers.values(),
        "keeps_graph": bool(getattr(losses, "requires_grad", False)),
        "fetches": fetches.values(),
        "draws": draws[:1],
        "alive": training.most,
        "start": start,
        "weights": training.weights(),
        **slips,
    }


STEP = "optimizer.zero_grad(), loss, backward(), optimizer.step(), losses.append(loss.detach())"


@part.check(basis="outputs", compared="losses and weights")
def train_is_right(trained: Pair) -> Verdict:
    """After five steps with momentum, train has moved the weights as the slow version moves them; losses are (n,)."""
    why = judges.slip(trained) or "each step is by the gradient of its own batch alone"
    verdict = judges.moved_alike(trained, why, f"{STEP}; {SEE}")
    if isinstance(verdict, Failed):
        return verdict
    if trained.student.values["draws"] == [STEPS]:
        measured = f"all {STEPS} batches were drawn before the model was called"
        return Failed(measured, "a list keeps all batches alive", "for inputs, labels in batches:")
    if (alive := trained.student.values["alive"]) > ALIVE:
        measured = f"{alive} of {STEPS} batches were alive when the next one was drawn"
        return Failed(
            measured, "something keeps batches that are no longer needed", "keep the loss alone"
        )
    if trained.student.values["keeps_graph"]:
        return Failed("the losses that are returned have a graph", "they are not detached", STEP)
    return verdict


@part.check(basis="report", needs=[train_is_right])
def train_waits_for_nothing(trained: Pair) -> Verdict:
    """train brings no tensor's value to the host."""
    fetches = trained.student.values["fetches"]
    measured = "; ".join(f"line {it['line']}: {it['call']}" for it in fetches[:4])
    try_ = "losses.append(loss.detach()) in the loop, torch.stack(losses) after it"
    return Failed(measured, WAITS, try_) if fetches else Passed("none")


# --- accumulate: one graph at a time ----------------------------------------------------------------------------------

ALONE, BEFORE = "a part without a label that counts", "gradients from before"
BATCHES = {
    # Rows, parts, and rows in a row whose labels are -100.
    "37 rows in 4 parts": (37, 4, slice(0)),
    ALONE: (37, 4, slice(9, 20)),
    "3 rows in 5 parts": (3, 5, slice(0)),
    "one part": (8, 1, slice(0)),
    BEFORE: (12, 3, slice(0)),
}


@part.probe(pair=True, values={**CASES, "calls": list_of(INTEGER)}, arrays=NUMBERS)
def accumulated(student: Student, rig: Rig) -> Any:
    answers, calls = rig.answers(student), []
    for case, (rows, parts, ignored) in BATCHES.items():
        step = rig.one_step(rows, ignored, before=case == BEFORE)
        returned = answers.tried(student.accumulate, *step.given(), parts)
        answers.add(f"{case}, loss", returned)
        answers.add(f"{case}, update", step.update())
        calls.append(len(step.net.graphs))
    return {**answers.values(), "calls": calls}


LARGE_PARTS = 16
SUM = 'cross_entropy(model(x), y, reduction="sum") / counted, and backward() for each part'


@part.check(basis="outputs")
def accumulate_is_right(accumulated: Pair) -> Verdict:
    """accumulate takes one step by the whole batch's gradient and returns its mean loss: labels of -100, few rows."""
    why = {
        ALONE: "the mean over a part whose labels are all -100 is 0 / 0, which is NaN",
        BEFORE: "gradients from before the call were added: zero_grad() comes before the first part",
        "": "the loss is not that of all rows: are some left out, or labels of -100 counted?",
    }
    verdict = outputs.same(accumulated, judges.NEAR, why=why, try_=f"{SUM}; {SEE}")
    calls = zip(BATCHES.items(), accumulated.student.values["calls"], strict=False)
    for (case, (_, parts, _)), count in calls:
        if isinstance(verdict, Passed) and count > parts:
            return _too_many(case, count, parts)
    return verdict


def _too_many(case: str, count: int, parts: int) -> Failed:
    measured = f"{case}: the model was called {count} times"
    return Failed(measured, f"at most {parts} micro-batches", "inputs.chunk(parts)")


@part.probe(pair=True, values={**CASES, "calls": INTEGER, "alive": INTEGER}, arrays=NUMBERS)
def large_batch(student: Student, rig: Rig) -> Any:
    answers = rig.answers()
    step = rig.one_step(16_384, slice(0), features=16, width=256)
    rig.return_memory_at_once()
    answers.add("loss", student.accumulate(*step.given(), LARGE_PARTS))
    answers.add("update", step.update())
    return {
        **answers.values(),
        "calls": len(step.net.graphs),
        "alive": max(step.net.alive, default=0),
    }


@part.probe(pair=True)
def small_batch(student: Student, rig: Rig) -> Any:
    student.accumulate(*rig.one_step(4, slice(0)).given(), 2)
    return {}


@part.check(basis="outputs", needs=[accumulate_is_right])
def accumulate_needs_little(large_batch: Pair, small_batch: Pair) -> Verdict:
    """accumulate of 16,384 rows in 16 parts needs at most 25% of the whole batch's memory, measured from outside."""
    why = "the graphs of several parts are alive at once: their losses are added up, and backward() comes at the end"
    verdict = judges.needs_less(large_batch, small_batch, 0.25, why, SUM)
    calls, alive = (large_batch.student.values[name] for name in ("calls", "alive"))
    if calls > LARGE_PARTS:
        return _too_many("16,384 rows in 16 parts", calls, LARGE_PARTS)
    if alive and isinstance(verdict, Passed):
        measured = f"{many(alive, 'earlier graph')} alive when the model is called again"
        why = "a graph is kept after its backward(): retain_graph=True does that"
        return Failed(measured, why, "backward() without retain_graph, for each part")
    return verdict
