"""Part 5: scaling. Two processes that train as one, and a table that says what more of them are worth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.checks.hints import caused, hinted
from autograder.claims.groups import EXACT, Group, answered
from autograder.claims.studies import DRAWN, PICTURE, Study, written
from autograder.lab import (
    INTEGER,
    NUMBER,
    TEXT,
    Answer,
    Failed,
    Observation,
    Pair,
    Part,
    Passed,
    Student,
    Verdict,
    exactly,
    list_of,
    map_of,
    record,
)
from autograder.labs.gpu_profiling.part5_scaling import judges
from autograder.model import verdict
from autograder.traces.words import many

if TYPE_CHECKING:
    from autograder.labs.gpu_profiling.part5_scaling.rig import Rig
else:
    Rig = Any

part = Part(
    "part5_scaling",
    writes=["setup_ddp", "train_ddp", "measure_scaling_efficiency"],
    hands_in=["scaling_results.csv", "scaling_curves.png", "part5_notes.md"],
    tables=[judges.RESULTS],
)

TOGETHER = 'see "Two processes, one training" in the part 5 handout'
WORLD = 2
AGAIN = "fix efficiency_is_right first if it fails; then submit what part5_scaling.py writes"
PATIENCE = 40.0  # seconds for the processes together, on a machine where much else runs


# --- what is run: joining ---

JOINED = record(backend=TEXT, rank=INTEGER, world=INTEGER)
PLACE = record(
    gpus=INTEGER, rank=INTEGER, local=INTEGER, world=INTEGER, device=TEXT, joined=list_of(JOINED)
)


@part.probe(pair=True, values={"places": exactly(2, PLACE)})
def places(student: Student, rig: Rig) -> Answer:
    """The second of two machines with four GPUs, and of two without; nothing is really joined."""
    places = []
    for gpus in (4, 0):
        local = rig.integer(1, 3)
        here = {"gpus": gpus, "rank": 4 + local, "world": 8}
        device, joined = f"cuda:{local}" if gpus else "cpu", []
        if rig.side == "student":
            with rig.machine(student, **here, local_rank=local) as machine:
                device, joined = machine.named(student.setup_ddp()), machine.joined[:8]
        places.append({**here, "local": local, "device": device, "joined": joined})
    return {"places": places}


# --- what is run: two processes ---

FIGURES = ("losses", "seconds")
LOADING = 0.02  # seconds of each sample


@part.probe(pair=True, **answered(*FIGURES, own=list_of(list_of(NUMBER))))
def ranks(student: Student, rig: Rig) -> Answer:
    """Two processes, each alone on its machine; loading and passes take scripted seconds, others in each epoch."""
    training = rig.ranks(FIGURES, PATIENCE)
    passes = [rig.seconds(0.1, 0.9, training.epochs) for _ in range(WORLD)]
    if rig.side != "student":
        loading = LOADING * -(-training.samples // WORLD)
        own = [[training.steps * it + loading for it in each] for each in passes]
        slowest = np.array(own).max(axis=0)
        seconds = {f"seconds{rank}": slowest for rank in range(WORLD)}
        return {**training.alone(), **seconds, "own": own}

    def train_ddp(_: Any, train: Any, rank: int, model: Any, dataset: Any) -> Any:
        rig.clock.freeze()
        script = iter([seconds for seconds in passes[rank] for _ in range(training.steps)])
        dataset.wait = partial(rig.clock.advance, LOADING)
        model.register_forward_hook(lambda *_: rig.clock.advance(next(script, 0.0), busy=True))
        arguments = (
            model,
            dataset,
            training.criterion,
            training.make_optimizer,
            training.batch_size,
        )
        return train(*arguments, training.epochs, student.setup_ddp(), seed=training.order)

    return {**training.together(student.train_ddp, train_ddp), "own": []}


# --- what is run: the table ---

PATTERN = (1.0, 0.7, 1.0, 1.3, 2.9)  # of the epochs after the first; their median is 1.0
COLD = 4.0
SECOND = 1.07  # times the first run of one process does the second one take, as two runs differ
RUNS = list_of(list_of(NUMBER))
PLAN = {
    "processes": list_of(INTEGER),
    "samples": INTEGER,
    "batch_size": INTEGER,
    "epochs": RUNS,
    "device": TEXT,
}


def drawn(rig: Rig) -> dict[str, Any]:
    """Draw a plan, and what each run of it takes."""
    counts = [1, 2, rig.integer(3, 5)]
    batch = rig.integer(3, 9) * counts[1] * counts[2]
    batches = rig.integer(20, 60)
    (alone,) = rig.seconds(2.0, 9.0, 1)
    (lost,) = rig.seconds(0.1, 0.3, 1)
    losses = [1 + lost * (count - 1) for count in counts]
    times = [alone * more / count for more, count in zip(losses, counts, strict=True)]
    times += [alone * (1 + (more - 1) / 3) for more in losses]
    orders = [rig.random.permutation(PATTERN).tolist() for _ in times]
    epochs = [
        [time * factor for factor in (COLD, *order)]
        for time, order in zip(times, orders, strict=True)
    ]
    # One process is the same run in both, made twice.
    epochs[len(counts)] = [SECOND * seconds for seconds in epochs[0]]
    return {
        "processes": counts,
        "samples": batch * batches,
        "batch_size": batch,
        "epochs": epochs,
        "device": rig.text(rig.given("device_name")(rig.device)),
    }


@part.probe(
    pair=True,
    values={**DRAWN, "runs": list_of(exactly(3, NUMBER)), **PLAN},
    arrays=PICTURE,
)
def measured(student: Student, rig: Rig) -> Answer:
    """Runs that return scripted seconds; nothing is trained."""
    plan = drawn(rig)
    arguments = ([*plan["processes"]], plan["samples"], plan["batch_size"], rig.device)
    took: dict[judges.Run, list[list[float]]] = {}
    for (_, planned), epochs in zip(judges.wanted(plan), plan["epochs"], strict=True):
        took.setdefault(planned, []).append(epochs)
    runs: list[list[float]] = []

    def run(processes: int, samples: int, batch_size: int) -> list[float]:
        asked = (processes, samples, batch_size)
        runs.append([float(rig.number(figure) or 0) for figure in asked])
        left = took.get(asked, plan["epochs"])
        return list(left.pop(0) if len(left) == 2 else left[0])

    function = "measure_scaling_efficiency"
    with rig.figures() as figures:
        rows = student.measure_scaling_efficiency(run, *arguments, folder=str(rig.made_folder()))
    return {
        **plan,
        "runs": runs,
        **written(rig, judges.RESULTS, function, rows, "scaling_curves.png", figures),
    }


REFUSED = {  # processes, samples, batch_size, what a run returns; why it is refused
    "run returns [1.0, 0.0, 0.0]": ([1, 2], 96, 12, [1.0, 0.0, 0.0], judges.NO_SECONDS),
    "run returns [1.0, 1.0, 0.0, 1.0]": ([1, 2], 96, 12, [1.0, 1.0, 0.0, 1.0], judges.NO_SECONDS),
    "run returns [1.0]": ([1, 2], 96, 12, [1.0], judges.NO_LATER),
    "processes [1, 5], batch_size 12": ([1, 5], 100, 12, [], judges.NO_SHARES),
    "processes [2, 4]": ([2, 4], 96, 12, [], judges.NO_FIRST),
    "processes [2, 1]": ([2, 1], 96, 12, [], judges.NO_FIRST),
}


LATE = "run was called first"


@part.probe(values={"taken": map_of(TEXT)})
def refused(student: Student, rig: Rig) -> Answer:
    """What cannot be compared; "" where it was refused, and otherwise what came."""
    taken = {}
    for case, (counts, samples, batch, epochs, _) in REFUSED.items():
        runs: list[int] = []
        run, folder = returning(epochs or [1.0] * 3, runs), str(rig.folder)
        try:
            student.measure_scaling_efficiency(
                run, list(counts), samples, batch, rig.device, folder=folder
            )
            taken[case] = "rows were returned"
        except ValueError:
            taken[case] = "" if epochs or not runs else LATE
        except ArithmeticError as error:
            taken[case] = f"{type(error).__name__[:60]} was raised"
    return {"taken": taken}


def returning(epochs: list[float], runs: list[int]) -> Callable[..., list[float]]:
    """Return a run that takes so many seconds, whatever is asked for; *runs* has one more then."""

    def run(*_: Any, **__: Any) -> list[float]:
        runs.append(1)
        return list(epochs)

    return run


# --- what is judged: joining ---


@part.check(basis="report")
def joins_the_group(places: Pair) -> Verdict:
    """setup_ddp joins the group with nccl and uses GPU number LOCAL_RANK; without a GPU it uses gloo and the CPU."""
    answers = places.student.values["places"]
    for answer, expected in zip(answers, places.baseline.values["places"], strict=True):
        problem = _place_problem(answer, expected)
        if problem:
            rank, local, gpus = (expected[name] for name in ("rank", "local", "gpus"))
            here = f"RANK {rank}, LOCAL_RANK {local}, {gpus} GPUs: {_joined(answer)}"
            right = {**expected, "backend": "nccl" if gpus else "gloo"}
            return Failed(f"{here}; right: {_joined({**right, 'joined': [right]})}", *problem)
    return Passed("on a machine with four GPUs, and on one without")


def _joined(answer: Mapping[str, Any]) -> str:
    joined = answer["joined"]
    groups = f"device {answer['device']}, {many(len(joined), 'group')} joined"
    if len(joined) != 1:
        return groups
    backend = joined[0]["backend"] or "any backend"
    return f"{groups}, by {backend} as rank {joined[0]['rank']} of {joined[0]['world']}"


def _place_problem(
    answer: Mapping[str, Any], expected: Mapping[str, Any]
) -> tuple[str, str] | None:
    """Say why a process has another device or group than expected, and what to try; or nothing."""
    if answer["device"] != expected["device"]:
        why = "without a GPU the device must be the CPU"
        if expected["gpus"]:
            of_rank = answer["device"] == f"cuda:{expected['rank']}"
            taken = "your code takes the GPU with number RANK, which counts all machines' processes"
            why = taken if of_rank else "the device must be the GPU with number LOCAL_RANK"
        return (
            why,
            "torch.device('cuda', int(os.environ['LOCAL_RANK'])) if there is CUDA, else 'cpu'",
        )
    groups = [(group["rank"], group["world"]) for group in answer["joined"]]
    if groups != [(expected["rank"], expected["world"])]:
        if len(groups) > 1:
            why = f"setup_ddp joins {len(groups)} groups"
            return why, "call dist.init_process_group(backend) once"
        if not groups:
            why = "setup_ddp joins no group here"
            return why, "call dist.init_process_group(backend), without a GPU as well"
        why = "setup_ddp gives a rank or size of its own: torchrun puts both into the environment"
        return why, "dist.init_process_group(backend), without rank and world_size"
    backend = answer["joined"][0]["backend"]
    if backend and ("nccl" if expected["gpus"] else "gloo") not in backend:
        why = f"the backend must be {'nccl with GPUs' if expected['gpus'] else 'gloo without GPUs'}"
        return why, "'nccl' if torch.cuda.is_available() else 'gloo'"
    return None


# --- what is judged: two processes ---


CLOCK = 2e-3  # relative: each reading of a scripted clock takes a microsecond of it
group = Group(part, ranks, TOGETHER, own_order=True)
group.divides_samples(
    "In each epoch every sample goes to one process (DistributedSampler repeats a few), "
    "also if each process runs on a machine of its own.",
    "DistributedSampler(dataset, seed=seed) asks the group for rank and size",
)
group.new_order_each_epoch("shuffles_each_epoch")
group.trains_as_one("trains_as_one_process", needs=["divides_the_samples"])


def _shared(ranks: Pair, figure: str, within: float, words: tuple[str, str]) -> Verdict:
    """Judge a figure of the epochs that all processes return."""
    why, try_ = words
    judged = verdict(*group.figure_problem(ranks, figure, why, within, "epoch"), try_)
    return hinted(judged, {"one finite number": "append one number in each epoch, as a float"})


def _loss(ranks: Pair) -> Verdict:
    return _shared(ranks, "losses", EXACT, judges.loss_cause(ranks))


def _time(ranks: Pair) -> Verdict:
    loading = LOADING * -(-ranks.baseline.values["samples"] // WORLD)
    return _shared(ranks, "seconds", CLOCK, judges.time_cause(ranks, loading, CLOCK))


TRAINED = ["trains_as_one_process"]
part.add_check(
    "loss_is_of_all",
    "The losses are means over the samples of all processes, the same in each of them.",
    "outputs",
    _loss,
    ["ranks"],
    TRAINED,
    "losses",
)
part.add_check(
    "time_is_of_the_slowest",
    "The seconds of an epoch are those of the process that took longest, the same in each of them.",
    "scripted",
    _time,
    ["ranks"],
    TRAINED,
)


# --- what is judged: the table ---


@part.check(basis="scripted")
def plans_strong_and_weak(measured: Pair) -> Verdict:
    """Strong scaling keeps the data set and the whole batch, weak scaling each process's share of both."""
    measured_runs, why = judges.plan_problem(
        measured.student.values["runs"], measured.baseline.values
    )
    runs = len(measured.student.values["runs"])
    if not why:
        return Passed(f"{runs} runs")
    judged = Failed(measured_runs, why, "run(processes, samples, batch_size)")
    return hinted(judged, judges.PLAN_HINTS)


def _measured(measured: Pair) -> str | tuple[str, str]:
    rows, script = measured.student.values["rows"], measured.baseline.values
    problem = judges.row_problem(rows) or judges.time_problem(rows, script)
    return caused(problem, judges.ROW_HINTS)


@part.check(basis="report")
def refuses_what_says_nothing(refused: Observation) -> Verdict:
    """measure_scaling_efficiency raises ValueError in each of the four cases of the handout."""
    taken = refused.values["taken"]
    for case, (*_, words) in REFUSED.items():
        if taken.get(case) == LATE:
            why = "your code calls run before it looks at its arguments"
            return Failed(
                f"{case}: {LATE}", why, "check all arguments before the first call of run"
            )
        if (came := taken.get(case, "nothing")) != "":
            return Failed(f"{case}: {came}, and ValueError is right", *words)
    return Passed(f"{len(REFUSED)} cases raise ValueError")


study = Study(
    part,
    judges.RESULTS,
    "measure_scaling_efficiency",
    by=measured,
    expected=lambda script: [(kind, run[0]) for kind, run in judges.wanted(script)],
)
study.is_measured(
    "efficiency_is_right",
    _measured,
    says="Each row has the median epoch after the first, and what follows from it: throughput, speedup, efficiency.",
    try_="divide throughputs for speedup, and speedup by processes for efficiency",
    shows=["processes", "efficiency"],
    needs=["plans_strong_and_weak"],
)
study.is_written()
study.is_drawn(
    "scaling_curves.png",
    {"speedup": r"[Ss]peed-?up", "efficiency": r"[Ee]fficiency"},
    says="measure_scaling_efficiency draws speedup and efficiency of its rows, and writes scaling_curves.png.",
    try_="a panel for each, with a line of strong and one of weak scaling, and its name on the axis",
)
study.is_consistent(
    lambda rows: judges.row_problem(rows) or judges.whole_problem(rows),
    says="The submitted scaling_results.csv has both kinds of scaling, for one process and more. "
    "Throughput, speedup and efficiency follow from the other columns.",
    try_=AGAIN,
)
study.is_pictured("scaling_curves.png")
