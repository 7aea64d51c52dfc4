"""Part 3: lifetimes. Four loops that need the memory of one step, whatever the number of steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.checks import host_waits, numerics, outputs
from autograder.checks.hints import hinted
from autograder.claims.exercise import Exercise
from autograder.claims.graphs import FETCHES, WAITS
from autograder.claims.training import WEIGHTS
from autograder.lab import (
    BOOLEAN,
    CASES,
    INTEGER,
    NUMBER,
    NUMBERS,
    TEXT,
    Failed,
    Pair,
    Part,
    Passed,
    Student,
    Verdict,
    list_of,
    map_of,
)
from autograder.labs.pairs.part03_lifetimes import judges
from autograder.traces.words import many

if TYPE_CHECKING:
    from autograder.labs.pairs.part03_lifetimes.rig import Rig
else:
    Rig = Any

part = Part(
    "part03_lifetimes",
    writes=["summarize", "evaluate", "train", "accumulate"],
    warm=["torch._dynamo"],  # 83 MB, which checkpoint() would add to a student's peak
)
SEE = 'see "What usually goes wrong" in the part 3 handout'

# --- summarize: one chunk after the other ---


def turned(chunk: Any) -> Any:
    """Transform rows by what their chunk is, without any rounding."""
    return chunk * (1 - 2 * (len(chunk) % 2))


def chunked(given: Mapping[str, Any]) -> Iterator[Any]:
    """Make each chunk when it is asked for."""
    for _ in range(given["repeats"]):
        for chunk in given["chunks"].split(given["sizes"]):
            yield chunk if given["repeats"] == 1 else chunk.clone()


def summarized(written: Any, given: Mapping[str, Any]) -> Any:
    """Call it, and give both results their names."""
    returned = written(chunked(given), turned)
    is_pair = isinstance(returned, tuple | list) and len(returned) == len(judges.NAMES)
    return dict(zip(judges.NAMES, returned, strict=True)) if is_pair else returned


NO_TENSORS = "a call is given an iterator and a function, but no tensor"
summary = Exercise(
    "summarize",
    part,
    call=summarized,
    holes=dict.fromkeys(("writes_into_its_inputs", "read_as_contiguous"), NO_TENSORS),
)
NEGATIVE, CANCEL, NAN, EMPTY = judges.NEGATIVE, judges.CANCEL, judges.NAN, judges.EMPTY


@summary.inputs
def draw_rows(
    random: np.random.Generator,
    rows: Any = (1, 40),
    columns: Any = (1, 9),
    chunks: Any = (1, 7),
    repeats: Any = 1,
    kind: Any = "",
) -> dict[str, Any]:
    values = random.normal(size=(rows, columns)) + random.uniform(-2, 2, columns)
    ends = np.sort(random.integers(0, rows + 1, chunks - 1))
    if kind == EMPTY:
        ends[0] = 0
    sizes = np.diff(ends, prepend=0, append=rows)
    signs = np.repeat(1 - 2 * (sizes % 2), sizes)[:, None]  # as each chunk is turned
    if kind == NEGATIVE:
        values = signs * (-1 - abs(values))
    if kind == CANCEL:
        values[[0, -1]] = signs[[0, -1]] * [[1e9], [-1e9]]
    if kind == NAN:
        values[random.integers(rows), 0] = np.nan
    return {"chunks": values, "sizes": sizes.tolist(), "repeats": repeats}


FULL = {"rows": (20, 40), "columns": (3, 9), "chunks": 5}
summary.same(
    {
        **{kind: {**FULL, "kind": kind} for kind in (NEGATIVE, NAN, EMPTY)},
        CANCEL: {**FULL, "chunks": 1, "kind": CANCEL},
        f"{CANCEL}, in two chunks": {**FULL, "kind": CANCEL},
    },
    gradients=(),
    dtypes=("float64", "bfloat16"),
    skip_families={"equal rows": "chunks that are turned may cancel to a mean of exactly 0"},
    slips=judges.SUMMARY_SLIPS,
    name="summarize_is_right",
    says="summarize returns mean and maximum of each column, also with one row, empty chunks, NaN or sums that cancel.",
    why=judges.SUMMARIZED,
    hints=judges.SUMMARY_HINTS,
    try_=SEE,
)
summary.needs_less_memory(
    0.1,
    {"rows": 1000, "columns": 64, "chunks": 1, "repeats": 400},
    {"rows": 4, "columns": 2, "chunks": 1, "repeats": 2},
    name="summarize_holds_one_chunk",
    says="summarize of 400 chunks needs at most 10% of the slow version's memory, measured from outside.",
    why="something is kept of each chunk until the end",
    try_="take one chunk after the other, as the loop needs it; add it to the sums and keep none",
)


ALIVE = 2  # batches: that of the step, and one that was drawn ahead

# --- evaluate: no graph, and a model that is left as it came ---


@part.probe(
    pair=True,
    values={**CASES, "left": list_of(TEXT), "graphs": list_of(BOOLEAN), "alive": INTEGER},
    arrays=NUMBERS,
)
def evaluated(student: Student, rig: Rig) -> Any:
    """A model that comes in train mode, and one in eval mode; the batches come once."""
    answers, left, graphs = rig.answers(student), list[str](), list[bool]()
    alive = 0
    for mode in ("train", "eval"):
        net = rig.net(norm=True, dropout=0.3)
        batches = rig.clear_batches(net, (9, 2, 14, 6))
        before = rig.kept(net.train(mode == "train"))
        returned = answers.tried(student.evaluate, net, rig.criterion, iter(batches))
        answers.add(f"a model in {mode} mode", returned)
        left += rig.left(net, before, returned)
        graphs += net.graphs
        alive = max(alive, batches.most)
    return {**answers.values(), "left": left, "graphs": graphs, "alive": alive}


ONE = "keep no inputs or labels after their step: no list(batches), and no list of your own"
NO_GRAPH = "with torch.no_grad(): around the loop"


@part.check(basis="outputs")
def evaluate_is_right(evaluated: Pair) -> Verdict:
    """evaluate returns losses and classes of eval mode, and leaves the model in the mode it was in, train or eval."""
    verdict = outputs.same(evaluated, judges.NEAR, why=judges.EVALUATED, try_=SEE)
    if isinstance(verdict, Failed):
        return hinted(judges.in_train_mode(evaluated, verdict), judges.EVALUATED_FORM)
    left = evaluated.student.values["left"]
    if not left:
        return verdict
    return Failed(left[0], *judges.LEFT.get(left[0], ("the model must stay as it was", SEE)))


@part.outputs
def many_batches(student: Student, rig: Rig) -> Any:
    """Without the classes: among so many rows, two outputs may be equal but for rounding."""
    answers, net = rig.answers(), rig.net(features=64, width=256, classes=64)
    batches = rig.repeated(net, 2048, 60)
    rig.return_memory_at_once()
    losses, _ = student.evaluate(net, rig.criterion, batches)
    answers.add("losses of 60 batches", losses)
    return answers.values()


@part.probe(pair=True)
def few_batches(student: Student, rig: Rig) -> Any:
    net = rig.net()
    student.evaluate(net, rig.criterion, rig.repeated(net, 4, 2))
    return {}


@part.check(basis="outputs", needs=[evaluate_is_right])
def evaluate_keeps_no_graph(many_batches: Pair, few_batches: Pair, evaluated: Pair) -> Verdict:
    """evaluate of 60 batches needs at most 10% of the slow version's memory, measured from outside."""
    why, try_ = (
        "a result of each batch is kept until the end, usually the outputs",
        "outputs.argmax(dim=1) in the loop, and keep losses and classes alone",
    )
    if any(evaluated.student.values["graphs"]):
        why, try_ = (
            "each loss keeps the graph of its batch alive: eval() changes layers, not autograd",
            NO_GRAPH,
        )
    elif evaluated.student.values["alive"] > ALIVE:
        why, try_ = (
            "the batches are kept until the end",
            ONE,
        )
    return judges.needs_less(many_batches, few_batches, 0.1, why, try_)


@part.check(basis="report", needs=[evaluate_is_right])
def evaluate_builds_no_graph(evaluated: Pair) -> Verdict:
    """evaluate computes without autograd: no output of the model has a graph."""
    graphs = evaluated.student.values["graphs"]
    measured = f"{sum(graphs)} of {len(graphs)} outputs of the model have a graph"
    why = "autograd records the forward pass: eval() or a later detach() does not turn it off"
    return Failed(measured, why, NO_GRAPH) if any(graphs) else Passed(measured)


# --- train: nothing is kept, nothing is fetched ---

STEPS = 5
UPDATE = 1e-4  # of its norm; usual mistakes are off by 1e-2 and more


@part.probe(
    pair=True,
    values={
        **CASES,
        "keeps_graph": BOOLEAN,
        "fetches": FETCHES,
        "alive": INTEGER,
        "graphs": INTEGER,
        "calls": INTEGER,
    },
    arrays={**NUMBERS, **WEIGHTS},
)
def trained(student: Student, rig: Rig) -> Any:
    """Five steps with momentum; the parameters come with gradients from before."""
    answers, training = rig.answers(), rig.training(STEPS)
    start = training.weights()
    with rig.fetches(student) as fetches:
        losses = student.train(*training.given())
    answers.add("losses", losses)
    return {
        **answers.values(),
        "keeps_graph": bool(getattr(losses, "requires_grad", False)),
        "fetches": fetches.values(),
        "alive": training.batches.most,
        "graphs": training.net.most_alive,
        "calls": len(training.net.graphs),
        "start": start,
        "weights": training.weights(),
    }


STACK = "losses.append(loss.detach()) in the loop, torch.stack(losses) after it"
STEP = "optimizer.zero_grad(), loss, backward(), optimizer.step(), losses.append(loss.detach())"


@part.check(basis="outputs", compared="losses and weights")
def train_is_right(trained: Pair) -> Verdict:
    """After five steps with momentum, the weights are those of the slow version, and no batch or graph is kept."""
    why = "usually gradients add up: zero_grad() must come before each backward(), also the first"
    try_ = STEP
    verdict = numerics.same_update(trained, UPDATE, why=why, try_=try_)
    if isinstance(verdict, Passed):
        why = "losses must be one for each batch, as the criterion returns them, in one tensor"
        try_ = STACK
        verdict = outputs.same(trained, judges.NEAR, why=why, try_=try_)
    if isinstance(verdict, Failed):
        calls = trained.student.values["calls"]
        if calls == STEPS:
            return verdict
        measured = (
            f"the model was called {many(calls, 'time')} for {STEPS} batches; {STEPS} are right"
        )
        why = "the model must be called once for each batch: each call draws other dropout"
        return Failed(measured, why, "call the model once for each batch, and keep that loss")
    if (alive := trained.student.values["alive"]) > ALIVE:
        measured = f"{alive} earlier batches were in memory when another was drawn; {ALIVE} may be"
        why = "your code keeps inputs or labels of other steps: usually in a list"
        return Failed(measured, why, ONE)
    if trained.student.values["keeps_graph"]:
        measured = "the losses that are returned have a graph"
        why = "your code does not detach them"
        return Failed(measured, why, "losses.append(loss.detach())")
    return judges.retained(trained.student.values["graphs"]) or verdict


@part.check(basis="report", needs=[train_is_right])
def train_waits_for_nothing(trained: Pair) -> Verdict:
    """train brings no tensor's value to the host."""
    fetches = trained.student.values["fetches"]
    try_ = STACK
    if any("bool()" in it["call"] for it in fetches):
        try_ = "leave out the test of a tensor's value in this line: test the losses that train returned"
    return Failed(host_waits.listed(fetches), WAITS, try_) if fetches else Passed("none")


# --- accumulate: one graph at a time ---

ALONE, BEFORE = judges.ALONE, judges.BEFORE
BATCHES = {
    # Rows, parts, and rows in a row whose labels are -100.
    "37 rows in 4 parts": (37, 4, slice(0)),
    ALONE: (37, 4, slice(9, 20)),
    "3 rows in 5 parts": (3, 5, slice(0)),
    "one part": (8, 1, slice(0)),
    BEFORE: (12, 3, slice(0)),
}


@part.probe(
    pair=True,
    values={
        **CASES,
        "calls": list_of(INTEGER),
        "steps": list_of(INTEGER),
        "slips": map_of(NUMBER),
    },
    arrays=NUMBERS,
)
def accumulated(student: Student, rig: Rig) -> Any:
    answers, calls, steps = rig.answers(student), list[int](), list[int]()
    slips: dict[str, float] = {}
    for case, (rows, parts, ignored) in BATCHES.items():
        step = rig.one_step(rows, ignored, before=case == BEFORE)
        if rig.side != "student" and not slips:
            slips = step.slips(parts)
        returned = answers.tried(student.accumulate, *step.given(), parts)
        answers.add(f"{case}, loss", returned)
        answers.add(f"{case}, update", step.update())
        calls.append(len(step.net.graphs))
        steps.append(step.taken)
    return {**answers.values(), "calls": calls, "steps": steps, "slips": slips}


LARGE_PARTS = 16


@part.check(basis="outputs")
def accumulate_is_right(accumulated: Pair) -> Verdict:
    """accumulate takes the whole batch's step and returns its mean loss, also with labels of -100 and rows < parts."""
    verdict = outputs.same(accumulated, judges.NEAR, why=judges.ACCUMULATE, try_=SEE)
    if isinstance(verdict, Failed):
        return judges.slipped(accumulated) or verdict
    calls = zip(BATCHES.items(), accumulated.student.values["calls"], strict=False)
    for (case, (_, parts, _)), count in calls:
        if count > parts:
            return _too_many(case, count, parts)
    return verdict


def _too_many(case: str, count: int, parts: int) -> Failed:
    measured = f"{case}: the model was called {count} times; {parts} are allowed"
    why = "your code makes more micro-batches than `parts`, and calls the model for each"
    return Failed(
        measured, why, "inputs.chunk(parts), by `parts` as it was given, makes at most `parts`"
    )


@part.probe(pair=True, values={**CASES, "calls": INTEGER, "graphs": INTEGER}, arrays=NUMBERS)
def large_batch(student: Student, rig: Rig) -> Any:
    answers = rig.answers()
    step = rig.one_step(16_384, slice(0), features=16, width=256)
    rig.return_memory_at_once()
    answers.add("loss", student.accumulate(*step.given(), LARGE_PARTS))
    answers.add("update", step.update())
    return {
        **answers.values(),
        "calls": len(step.net.graphs),
        "graphs": step.net.most_alive,
    }


@part.probe(pair=True)
def small_batch(student: Student, rig: Rig) -> Any:
    student.accumulate(*rig.one_step(4, slice(0)).given(), 2)
    return {}


@part.check(basis="outputs", needs=[accumulate_is_right])
def accumulate_needs_little(large_batch: Pair, small_batch: Pair) -> Verdict:
    """accumulate of 16,384 rows in 16 parts needs at most 25% of the slow version's memory, measured from outside."""
    why = "the graphs of several parts are alive at once: their losses are added up, and backward() comes at the end"
    try_ = "call backward() for the loss of each part, before the next part goes forward"
    verdict = judges.needs_less(large_batch, small_batch, 0.25, why, try_)
    calls, graphs = (large_batch.student.values[name] for name in ("calls", "graphs"))
    if calls > LARGE_PARTS:
        return _too_many("16,384 rows in 16 parts", calls, LARGE_PARTS)
    return judges.retained(graphs) or verdict if isinstance(verdict, Passed) else verdict
