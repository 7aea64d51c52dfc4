"""Bonus: one step further. Three operators in one kernel, a profile each night, two nodes, inference."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from autograder.checks import outputs
from autograder.claims.studies import Study
from autograder.lab import (
    BOOLEAN,
    CASES,
    CELL,
    INTEGER,
    NUMBERS,
    TEXT,
    Failed,
    Observation,
    Pair,
    Part,
    Passed,
    Unavailable,
    Verdict,
    exactly,
    list_of,
    map_of,
    optional,
    record,
)
from autograder.labs.gpu_profiling.bonus import judges, torchrun

part = Part(
    "bonus",
    writes=[
        "conv_relu_pool", "cuda_source", "record_profile", "compare_profiles", "node_commands", "node_groups",
        "average_over_nodes", "fold_norm", "predict", "measure_latency",
    ],
    hands_in=[torchrun.NODES.file, "bonus_notes.md"],
    tables=[torchrun.NODES],
)  # fmt: skip

FUSED = 'see "One kernel" in the bonus handout'
CUDA = 'see "The same in CUDA" in the bonus handout'
NIGHT = 'see "A profile each night" in the bonus handout'
NODE = 'see "Two nodes" in the bonus handout'
INFER = 'see "Inference" in the bonus handout'
AGAIN = "run bonus.py again and hand in the file that it wrote, unchanged"
SAME = 1e-5  # of the largest number: sums of some dozen products in another order

# --- what is run: kernels ---------------------------------------------------------------------------------------------


@part.probe(pair=True, values={"found": list_of(TEXT)})
def tools(student: Any, rig: Any) -> Any:
    """What this machine has; the baseline's side is believed."""
    return {"found": rig.tools()}


@part.outputs
def fused(student: Any, rig: Any) -> Any:
    """Images of several sizes, and images that are not contiguous."""
    answers = rig.answers()
    function = student.conv_relu_pool if rig.side == "student" else rig.pooled
    cases = [*rig.layers(), ("images transposed", *rig.transposed())]
    for case, *inputs in cases if "Triton" in rig.tools() else []:
        answers.add(case, function(*map(rig.exact, inputs)), "float32")
    return answers.seen()


@part.probe(values={"launches": list_of(TEXT), "operators": list_of(TEXT), "wrote": BOOLEAN})
def launched(student: Any, rig: Any) -> Any:
    """One call on contiguous tensors."""
    _, *inputs = rig.layers()[3]  # so many numbers that some are above zero, whatever was drawn
    with rig.tiles() as seen:
        result = student.conv_relu_pool(*inputs) if "Triton" in rig.tools() else None
    return {"launches": seen.launches, "operators": seen.operators, "wrote": seen.wrote(result)}


@part.probe(pair=True, values={**CASES, "strayed": list_of(TEXT)}, arrays=NUMBERS)
def threads(student: Any, rig: Any) -> Any:
    """The CUDA kernel's threads, one after another on the CPU."""
    answers, strayed, kernel = rig.answers(), [], None
    there = "g++" in rig.tools()
    if there and rig.side == "student":
        kernel = rig.threads(rig.text(student.cuda_source(), 20_000))
    for case, *inputs in rig.layers() if there else []:
        if kernel is None:
            answers.add(case, rig.pooled(*map(rig.exact, inputs)), "float32")
            continue
        numbers, outside = kernel(*(it.cpu().numpy() for it in inputs))
        answers.add(case, rig.tensor(numbers))
        strayed += [case] * outside
    return {**answers.seen(), "strayed": strayed}


@part.probe(values={"entries": list_of(TEXT), "spilled": INTEGER, "error": TEXT})
def cubin(student: Any, rig: Any) -> Any:
    """What nvcc makes of the source."""
    return rig.nvcc(rig.text(student.cuda_source(), 20_000) if "nvcc" in rig.tools() else "")


# --- what is run: profiles --------------------------------------------------------------------------------------------


@part.probe(
    values={
        "file": BOOLEAN,
        "ranges": map_of(INTEGER),
        "calls": INTEGER,
        "early": INTEGER,
        "steps": INTEGER,
    }
)
def recorded(student: Any, rig: Any) -> Any:
    """A step with ranges of drawn names."""
    steps, file = rig.integer(3, 6), rig.made_folder() / "recorded.json"
    step = rig.nightly.step([f"range {rig.integer(100, 999)}", "optimizer"])
    student.record_profile(step, str(file), steps=steps)
    return {**step.seen(file), "steps": steps}


REPORT = record(slower=optional(BOOLEAN), page=TEXT, rows=list_of(map_of(CELL)))
ALLOWED = ((1.5, 0.05), (1.08, 0.2), (0.6, 0.05))
"""Times as long as before the ranges take, and how much longer a step may be."""


@part.probe(pair=True, values={**CASES, "reports": exactly(len(ALLOWED), REPORT)}, arrays=NUMBERS)
def nights(student: Any, rig: Any) -> Any:
    """Made profiles of unlike lengths: much slower, within what is allowed, faster."""
    reports, answers, folder = [], rig.answers(), rig.made_folder()
    for number, (factor, allowed) in enumerate(ALLOWED, 1):
        before, after = rig.nightly.pair(rig.random, factor)
        files = [rig.folder / "before.json.gz", rig.folder / "after.json.gz"]
        for file, made in zip(files, (before, after), strict=True):
            file.write_bytes(made.data())
        report, page = before.beside(after, allowed), ""
        if rig.side == "student":
            told = student.compare_profiles(*map(str, files), folder=str(folder), allowed=allowed)
            report = rig.returned("compare_profiles", told)
            page = rig.file_text(folder / "profile_report.md")
        slower = report["slower"] if isinstance(report["slower"], bool) else None
        for name in ("before_ms", "after_ms"):
            answers.add(f"profiles {number}: {name}", rig.number(report[name]))
        answers.add(f"profiles {number}: slower", slower)
        rows = rig.rows(report["rows"], "compare_profiles")
        reports.append({"slower": slower, "page": page, "rows": rows})
    return {**answers.seen(), "reports": reports}


# --- what is run: nodes -----------------------------------------------------------------------------------------------


@part.probe(
    pair=True,
    values={"commands": exactly(2, list_of(list_of(TEXT))), "asked": list_of(map_of(CELL))},
)
def commands(student: Any, rig: Any) -> Any:
    """Two and more nodes, at addresses that are drawn."""
    told, asked = [], []
    for nodes in (2, rig.integer(3, 5)):
        one = {
            "script": f"train_{rig.integer(10, 99)}.py",
            "nodes": nodes,
            "processes": rig.integer(2, 8),
        }
        one |= {
            "address": f"10.0.{rig.integer(1, 99)}.{rig.integer(1, 99)}",
            "port": rig.integer(20_000, 50_000),
        }
        lines = student.node_commands(*one.values())
        told.append([[rig.word(word) for word in words][:60] for words in lines][:9])
        asked.append(one)
    return {"commands": told, "asked": asked}


TURNS = 2  # averages that are taken, as in labs/gpu_profiling/bonus/rig/nodes.py
CALL = record(ranks=list_of(INTEGER), numbers=INTEGER)


@part.probe(
    pair=True,
    values={"calls": list_of(list_of(CALL)), "numbers": INTEGER},
    arrays={"means": ("float64", 1)},
)
def means(student: Any, rig: Any) -> Any:
    """Two nodes of two processes each; what is expected is computed in one."""
    return rig.nodes().together(student) if rig.side == "student" else rig.nodes().alone()


# --- what is run: inference -------------------------------------------------------------------------------------------


@part.outputs
def folded(student: Any, rig: Any) -> Any:
    """Convolutions of several kinds; they and their norms are used again afterwards."""
    answers = rig.answers()
    for kind, conv, norm, images in rig.inference().layers():
        before = norm(conv(images))
        one = student.fold_norm(conv, norm) if rig.side == "student" else None
        answers.add(f"{kind}: one convolution", before if one is None else one(images))
        scale = norm.weight / (norm.running_var + norm.eps).sqrt()
        answers.add(
            f"{kind}: its weight",
            conv.weight * scale.view(-1, 1, 1, 1) if one is None else one.weight,
        )
        answers.add(
            f"{kind}: what the two give afterwards", before if one is None else norm(conv(images))
        )
    return answers.seen()


FACTS = {
    "recorded": "a pass was recorded for a backward pass: memory is kept for nothing",
    "fetched": "results were fetched in each batch: the host waits for the device each time",
    "mode": "a module is in another mode than before: the caller's next epoch trains in that",
    "raised": "the exception of a loader did not come out: the caller takes a part for the whole",
}


@part.outputs
def predicted(student: Any, rig: Any) -> Any:
    """A model in train() with a frozen block; then a loader that raises."""
    made, answers = rig.inference(), rig.answers()
    model = made.model()
    batches = made.batches(model)
    facts = {"recorded": False, "fetched": False, "mode": True, "raised": True}
    if rig.side != "student":
        answers.add("the classes", made.classes(model, batches))
    else:
        modes, turn = model.modes(), SimpleNamespace(step=None)

        def numbered() -> Any:
            for turn.step, images in enumerate(batches):
                yield images
            turn.step = None

        with rig.waits(SimpleNamespace(loader=turn), student) as waits:
            classes = student.predict(model.to(rig.device), numbered(), rig.device)
        answers.add("the classes", classes)
        broken = made.model()
        facts = {
            "recorded": any(model.recorded),
            "fetched": any(len(wait["batches"]) > 1 for wait in waits.values()),
            "raised": made.survived(student.predict, broken, batches),
            "mode": modes == model.modes() == broken.modes(),
        }
    for fact in FACTS:
        answers.add(fact, facts[fact])
    return answers.seen()


FIGURES = ("p50_ms", "p95_ms", "p99_ms", "per_second")


@part.outputs
def latencies(student: Any, rig: Any) -> Any:
    """Calls on a clock that the grader moves, with and without work that the device still has to do."""
    rig.clock.freeze()
    answers = rig.answers()
    for case, queued in (("a CPU", 0.0), ("a device that works on", 0.8)):
        warmup, repeats = rig.integer(3, 9), rig.integer(60, 90)
        seconds = [*rig.seconds(0.01, 0.03, repeats - 4), *rig.seconds(0.1, 0.5, 4)]
        calls = rig.inference().requests(seconds, warmup, queued)
        figures = calls.figures()
        if rig.side == "student":
            waits = calls.synchronize if queued else None
            told = student.measure_latency(calls, repeats=repeats, warmup=warmup, synchronize=waits)
            figures = rig.returned("measure_latency", told)
        for name in FIGURES:
            answers.add(f"{name} of {case}", rig.number(figures[name]))
    return answers.seen()


# --- what is judged: kernels ------------------------------------------------------------------------------------------


def without(tools: Pair, name: str) -> Unavailable | None:
    """Owe what a tool is missing for."""
    return (
        None
        if name in tools.baseline.values["found"]
        else Unavailable(f"there is no {name} on this machine")
    )


@part.check(basis="outputs")
def fused_answers_alike(fused: Pair, tools: Pair) -> Verdict:
    """conv_relu_pool gives what a convolution, a ReLU and a pool give, at any size; owed where there is no Triton."""
    why = {
        "odd": "the last row or column has no partner: the pool leaves it out",
        "transposed": "a kernel sees addresses: what is not contiguous has to become so",
        "block": "programs after the first begin elsewhere, or the last one's mask is wrong",
        "": "another function: a border, the order of the axes, or where a window begins",
    }
    try_ = f"compare with torch's three operators; {FUSED}"
    return without(tools, "Triton") or outputs.same(fused, SAME, why=why, try_=try_)


ALLOCATES = "empty new_empty empty_like empty_strided zeros new_zeros zeros_like full zero_ fill_ lift_fresh"
LOOKS = "view _unsafe_view detach alias slice select permute transpose expand reshape as_strided"
NO_WORK = {f"aten::{name}" for name in f"{ALLOCATES} {LOOKS}".split()}


@part.check(basis="report", needs=[fused_answers_alike])
def fused_is_one_launch(launched: Observation) -> Verdict:
    """conv_relu_pool launches one kernel, which writes the result; no operator of torch computes beside it."""
    seen = launched.values
    beside = sorted(set(seen["operators"]) - NO_WORK)
    measured = f"{len(seen['launches'])} launches; beside them {', '.join(beside[:5]) or 'nothing'}"
    if len(seen["launches"]) != 1 or beside:
        return Failed(
            measured, "each launch reads and writes memory that one kernel keeps to itself", FUSED
        )
    why = "the result is not what the kernel wrote: something else computed it"
    return Passed(measured) if seen["wrote"] else Failed(measured, why, FUSED)


@part.check(basis="outputs")
def cuda_answers_alike(threads: Pair, tools: Pair) -> Verdict:
    """The CUDA kernel computes the same, thread by thread on the CPU, and writes its own numbers only."""
    if threads.student.values["strayed"]:
        measured = f"{threads.student.values['strayed'][0]}: written beside the result"
        why = "the last block has threads too many, which have to return; odd heights and widths are rounded down"
        return Failed(measured, why, CUDA)
    why = "another function, or a thread that computes another's number"
    return without(tools, "g++") or outputs.same(
        threads, SAME, why=why, try_=f"begin with one image; {CUDA}"
    )


@part.check(basis="report")
def cuda_compiles(cubin: Observation, tools: Pair) -> Verdict:
    """nvcc compiles the CUDA source for an A100, and its registers suffice; owed where there is no nvcc."""
    seen, owed = cubin.values, without(tools, "nvcc")
    if owed:
        return owed
    if seen["error"]:
        return Failed(seen["error"], "nvcc refuses the source", CUDA)
    measured = f"kernels: {', '.join(seen['entries']) or 'none'}; {seen['spilled']} bytes spilled"
    if "conv_relu_pool" not in seen["entries"]:
        why = "who loads it looks for conv_relu_pool, and C++ gives it a longer name"
        return Failed(measured, why, f'extern "C"; {CUDA}')
    why = "what does not fit into registers goes to memory and back"
    return Failed(measured, why, CUDA) if seen["spilled"] else Passed(measured)


# --- what is judged: profiles -----------------------------------------------------------------------------------------


@part.check(basis="report")
def records_the_steps(recorded: Observation) -> Verdict:
    """record_profile calls the step twice unrecorded and then as often as asked, each with its ranges."""
    seen, steps = recorded.values, recorded.values["steps"]
    counts = ", ".join(f"{name}: {count}" for name, count in seen["ranges"].items())
    measured = f"{seen['calls']} calls, {seen['early']} of the first two recorded; in the trace {counts or 'nothing'}"
    if not seen["file"]:
        return Failed(measured, "no Chrome trace was written", NIGHT)
    if seen["calls"] != steps + 2:
        return Failed(measured, f"it should be {steps} steps, and two before them", NIGHT)
    wrong = seen["early"] or any(count != steps for count in seen["ranges"].values())
    why = f"there should be {steps} of each: none of the first two calls, which are slow, and all of the others"
    return (
        Failed(measured, why, f"schedule(wait=1, warmup=1, active=steps); {NIGHT}")
        if wrong
        else Passed(measured)
    )


@part.check(basis="scripted")
def finds_what_changed(nights: Pair) -> Verdict:
    """compare_profiles gives milliseconds per step of each range in both profiles, the largest change first."""
    return judges.each(nights, judges.row_problem, NIGHT)


@part.check(basis="scripted")
def says_whether_slower(nights: Pair) -> Verdict:
    """compare_profiles gives the milliseconds of a step, and says whether it became slower than is allowed."""
    why = {
        "slower": "slower is whether a step takes longer than before by more than is allowed",
        "": "a step takes the mean length of ProfilerStep",
    }
    return outputs.same(nights, 1e-3, why=why, try_=NIGHT)


@part.check(basis="scripted", needs=[finds_what_changed])
def page_holds_the_rows(nights: Pair) -> Verdict:
    """compare_profiles writes profile_report.md: a verdict, and each range with its milliseconds, in order."""
    return judges.each(nights, judges.page_problem, NIGHT)


# --- what is judged: nodes --------------------------------------------------------------------------------------------


@part.check(basis="outputs")
def starts_each_node(commands: Pair) -> Verdict:
    """node_commands has a command line of torchrun for each node, which meet at the first one's address."""
    told, asked = commands.student.values["commands"], commands.baseline.values["asked"]
    for lines, one in zip(told, asked, strict=False):
        why = torchrun.problem(lines, torchrun.Wanted(**one))
        if why:
            return Failed(" ".join(lines[0])[:200] if lines else "no command lines", why, NODE)
    return Passed(" ".join(told[0][0])[:200])


@part.check(basis="scripted")
def averages_over_nodes(means: Pair) -> Verdict:
    """After average_over_nodes every process of two nodes has the mean over all four, each time it is called."""
    got, want = means.student.arrays["means"], means.baseline.arrays["means"]
    apart, times = outputs.furthest(got, want), outputs.multiple(got, want, SAME)
    measured = f"apart by {apart:.1e}" if times is None else f"{times:.3g} times the mean"
    why = (
        "a node is left out, counts twice, or is not told; or the sum is divided by another number"
    )
    return Passed(f"apart by {apart:.1e}") if apart <= SAME else Failed(measured, why, NODE)


@part.check(basis="report", needs=[averages_over_nodes])
def one_of_a_node_talks(means: Pair) -> Verdict:
    """Only the first process of a node takes part in calls between nodes: at most two for each average, all in one."""
    across = [torchrun.crossing(own, processes=2) for own in means.student.values["calls"]]
    measured = "calls between nodes by rank: " + ", ".join(str(len(it)) for it in across)
    why = torchrun.talk_problem(across, TURNS, means.baseline.values["numbers"])
    return (
        Failed(measured, why, f"torch.cat before anything leaves the node; {NODE}")
        if why
        else Passed(measured)
    )


Study(part, torchrun.NODES, "rehearse_nodes").is_consistent(
    torchrun.row_problem,
    says="The nodes_results.csv handed in has the four shapes, and efficiencies that follow from its rates.",
    try_=AGAIN,
    name="nodes_results_fit",
)


# --- what is judged: inference ----------------------------------------------------------------------------------------


@part.check(basis="outputs", compared="answers")
def folds_the_norm(folded: Pair) -> Verdict:
    """fold_norm gives one convolution that answers as convolution and batch norm do, and leaves both as they were."""
    why = {
        "afterwards": "the layers that were handed in were changed",
        "": "a factor, eps or the bias is not in it",
    }
    return outputs.same(folded, SAME, why=why, try_=INFER)


@part.check(basis="outputs", compared="classes")
def predicts_the_classes(predicted: Pair) -> Verdict:
    """predict returns the class of each image, in order, as int64: as the model in eval() says it."""
    why = "dropout or batch norm was in train(), or batches are in another order"
    return outputs.same(predicted, 0.0, why=why, try_=INFER, without=FACTS)


@part.check(basis="report")
def predicts_without_a_trace(predicted: Pair) -> Verdict:
    """predict keeps nothing for a backward pass, and each module is afterwards in its own mode, whatever happens."""
    return outputs.same(predicted, 0.0, why=FACTS, try_=INFER, without=["the classes"])


@part.check(basis="scripted")
def latency_is_honest(latencies: Pair) -> Verdict:
    """measure_latency gives percentiles of single calls after a warm-up, with the device's work."""
    why = {
        "per_second": "calls over the time of all of them",
        "": "a cold call counts, the device's work does not, or a percentile is not numpy's",
    }
    return outputs.same(latencies, 0.01, why=why, try_=INFER)
