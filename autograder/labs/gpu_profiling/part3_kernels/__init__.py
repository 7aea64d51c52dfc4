"""Part 3: kernels. The same network with less to move and in one graph, launches counted, single kernels under ncu."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import zip_longest
from typing import Any

from autograder.checks import outputs
from autograder.checks.reported import each
from autograder.claims.graphs import Compiled
from autograder.claims.studies import WRITTEN, Study, written
from autograder.lab import (
    CELL,
    INTEGER,
    NUMBER,
    NUMBERS,
    TEXT,
    Failed,
    Observation,
    Pair,
    Part,
    Passed,
    Table,
    Text,
    Unavailable,
    Verdict,
    list_of,
    map_of,
    optional,
    record,
)
from autograder.labs.gpu_profiling.part3_kernels import judges, ncu

part = Part(
    "part3_kernels",
    writes=[
        "OptimizedNet",
        "map_weights",
        "compile_net",
        "count_launches",
        "compare_nets",
        "ncu_command",
        "read_ncu",
    ],
    hands_in=["kernel_results.csv", "kernel_report.txt", "part3_notes.md"],
    tables=[judges.RESULTS],
)

WIDTHS = (2, 5)  # channels of the first convolution
LARGE = {"width": 4, "side": 96, "batch": 4}
# Of the bytes that SimpleNet's operators move; at this size the reference's move 0.78, those in place only 1.
LESS = 0.95
WRONG = 'see "What usually goes wrong" in the part 3 handout'
LAUNCH = 'see "What is a launch" in the part 3 handout'
NAMES = 'see "A command line of ncu" in the part 3 handout'
REPORT = 'see "A report of ncu" in the part 3 handout'


# --- what is run: the network -----------------------------------------------------------------------------------------


def mapped(student: Any, rig: Any, width: int) -> tuple[Any, list[tuple[str, Any]]]:
    """Return the student's net with mapped weights, and (SimpleNet's name, parameter) in SimpleNet's order."""
    simple = rig.matched.simple_net(width)
    state = dict(simple.state_dict())
    renamed = student.map_weights(dict(state))
    net = student.OptimizedNet(width).to(rig.device)
    net.load_state_dict(renamed)
    return net, [(name, found(net, tensor)) for name, tensor in state.items()]


def found(net: Any, tensor: Any) -> Any:
    """Return the parameter of *net* that holds what *tensor* does."""
    same = (
        own
        for own in net.parameters()
        if own.shape == tensor.shape and bool((own.detach() == tensor).all())
    )
    return next(same, None)


@part.outputs
def network(student: Any, rig: Any) -> Any:
    """Outputs and gradients at several sizes, in train() and eval(), on one image and on several."""
    seen = rig.answers()
    for width, batch, side, mode, wanted in (
        (WIDTHS[0], 1, 16, "train", True),
        (WIDTHS[1], 3, 25, "eval", True),
        (2, 5, 16, "eval", False),  # images as a loader gives them
    ):
        net, weights = mapped(student, rig, width)
        images = rig.tensor(rig.random.normal(size=(batch, 3, side, side))).requires_grad_(wanted)
        before = images.detach().clone()
        output = net.train(mode == "train")(images)
        case = f"{batch} images of {side} pixels, width {width}"
        seen.add(f"logits of {case}", output)
        seen.add(f"what the pass added to the images, {case}", images.detach() - before)
        output.backward(rig.tensor(rig.random.normal(size=tuple(output.shape))))
        for name, parameter in weights:
            seen.add(f"gradient of {name}, {case}", getattr(parameter, "grad", None))
        if wanted:
            seen.add(f"gradient of the images, {case}", images.grad)
    return seen.seen()


@part.probe(values={"gone": list_of(TEXT), "changed": list_of(TEXT)})
def state_after(student: Any, rig: Any) -> Any:
    """What map_weights left of the state_dict that it was given."""
    state = dict(rig.matched.simple_net(WIDTHS[0]).state_dict())
    held, before = dict(state), rig.copies(state)
    student.map_weights(state)
    return {"gone": sorted(set(before) - set(state)), "changed": rig.changed(held, before)}


@part.probe(pair=True, values={"operators": INTEGER, "bytes": INTEGER}, arrays=NUMBERS)
def traffic(student: Any, rig: Any) -> Any:
    """One forward pass without gradients, of images that are large beside the weights."""
    net, _ = mapped(student, rig, LARGE["width"])
    images = rig.tensor(rig.random.normal(size=(LARGE["batch"], 3, LARGE["side"], LARGE["side"])))
    net.eval()
    with rig.no_grad(), rig.traffic() as seen:
        output = net(images)
    return {"operators": seen.count, "bytes": seen.bytes, "numbers": rig.flat(output)}


# --- what is run: launches --------------------------------------------------------------------------------------------

KINDS = ("eager", "compiled", "on_gpu")


@part.probe(
    pair=True, values={"told": list_of(map_of(optional(NUMBER))), "known": list_of(map_of(INTEGER))}
)
def counted(student: Any, rig: Any) -> Any:
    """Made traces of which everything is known."""
    told, known = [], []
    for kind in KINDS:
        made, file = getattr(rig.launches, kind)(rig.random), rig.folder / f"made_{kind}.json.gz"
        file.write_bytes(made.data())
        known.append(dict(made.counts))
        if rig.side == "student":
            seen = rig.returned("count_launches", student.count_launches(str(file)))
            told.append({name: rig.number(count) for name, count in seen.items()})
    return {"told": told, "known": known}


APART = 0.05  # so that a speedup of 1 shows


@part.probe(
    pair=True,
    values={
        **WRITTEN,
        "names": list_of(TEXT),
        "launches": list_of(INTEGER),
        "own": list_of(optional(NUMBER)),
        "seconds": list_of(NUMBER),
        "repeats": INTEGER,
        "device": TEXT,
    },
)
def scripted_nets(student: Any, rig: Any) -> Any:
    """Nets of a known number of operators that take scripted seconds."""
    names, repeats, rows = (
        ["simple", "optimized", "compiled"][
            : rig.integer(2, 3)
        ],  # not in the order of the alphabet
        2 * rig.integer(2, 4) + 1,
        rig.integer(8, 30),
    )
    counts = [rig.integer(5, 25) for _ in names]
    seconds = rig.seconds(0.05, 0.9, len(names))
    while abs(seconds[1] / seconds[0] - 1) < APART:
        seconds = rig.seconds(0.05, 0.9, len(names))
    nets = {
        name: rig.scripted_net(own, rows, operators, repeats)
        for name, own, operators in zip(names, seconds, counts, strict=True)
    }
    images = rig.tensor(rig.random.normal(size=(2, 3, rows, 4)))
    folder = str(rig.made_folder())
    returned = student.compare_nets(nets, images, folder=folder, repeats=repeats)
    script = {"names": names, "launches": counts, "seconds": seconds, "repeats": repeats}
    told = written(rig, judges.RESULTS, "compare_nets", returned)
    own_counts = [launched(student, rig, net, images) for net in nets.values()]
    return {
        **told,
        **script,
        "own": own_counts,
        "device": rig.text(rig.given("device_name")(rig.device)),
    }


def launched(student: Any, rig: Any, net: Any, images: Any) -> Any:
    """Return what the student's own count_launches finds in one call, right or wrong: it is judged by itself."""
    file = str(rig.folder / "one_call.json")
    with rig.no_grad(), suppress(Exception):
        rig.given("record")(lambda on_step: (net(images), on_step()), file, 1)
        return rig.number(sum(student.count_launches(file).values()))
    return None


# --- what is run: Nsight Compute --------------------------------------------------------------------------------------

FAMILIES = (
    "implicit_convolve_sgemm",
    "sm80_xmma_fprop_implicit_gemm",
    "cudnn_infer_ampere_scudnn",
    "winograd_forward",
)


@part.probe(
    pair=True,
    values={
        "commands": list_of(list_of(TEXT)),
        "measured": list_of(list_of(TEXT)),
        "asked": list_of(
            record(
                kernels=list_of(TEXT), script=TEXT, report=TEXT, launches=INTEGER, skipped=INTEGER
            )
        ),
    },
)
def commands(student: Any, rig: Any) -> Any:
    """Names of kernels are drawn; among the others are some that hold those asked for."""
    told, measured, asked = [], [], []
    for skipped in (0, rig.integer(1, 40)):
        number, family = rig.integer(10, 99), str(rig.random.choice(FAMILIES))
        kernels = [f"{family}_{rig.integer(100, 999)}", f"loop_fusion.{number}"]
        others = [
            f"{kernels[0]}_bias",
            f"pre_{kernels[1]}",
            f"loop_fusion_{number}",
            "elementwise_kernel",
        ]
        one = {
            "script": f"train_{number}.py",
            "report": f"kernels_{number}",
            "launches": rig.integer(2, 50),
        }
        words = student.ncu_command(
            one["script"], list(kernels), one["report"], one["launches"], skipped
        )
        told.append([rig.word(word) for word in words][:60])
        measured.append(ncu.chosen(told[-1], [*kernels, *others]))
        asked.append({**one, "kernels": kernels, "skipped": skipped})
    return {"commands": told, "measured": measured, "asked": asked}


@part.probe(
    pair=True,
    values={"told": list_of(list_of(map_of(CELL))), "known": list_of(list_of(map_of(CELL)))},
)
def reports(student: Any, rig: Any) -> Any:
    """Made reports: in a unit that is drawn, in one of an older ncu, and in nanoseconds with commas."""
    told, known = [], []
    drawn = [
        str(rig.random.choice(units)) for units in (rig.launches.UNITS, rig.launches.OLD_UNITS)
    ]
    for number, unit in enumerate((*drawn, "ns")):
        made, file = rig.launches.report(rig.random, unit), rig.folder / f"made_{number}.csv"
        file.write_text(made.text(), encoding="utf-8")
        known.append(made.rows)
        if rig.side == "student":
            told.append(rig.rows(student.read_ncu(str(file)), "read_ncu"))
    return {"told": told, "known": known}


# --- what is judged: the network --------------------------------------------------------------------------------------

SAME = 2e-5  # of the largest number; right work in other orders of the same sums was within 1e-6


@part.check(basis="outputs")
def answers_alike(network: Pair) -> Verdict:
    """OptimizedNet with mapped weights gives SimpleNet's logits and gradients, and leaves the images as they were."""
    why = {
        "logits": "another function: a ReLU on the wrong side of an average, or a weight in another's place",
        "gradient": "the same logits and other gradients: a weight is not the one that computes, or is used twice",
        "what the pass": "an operation in place wrote into the caller's images",
    }
    try_ = f"compare block by block with given.SimpleNet; {WRONG}"
    without = [
        case["case"] for case in network.student.values["cases"] if case["dtype"] == "nothing"
    ]
    if without:
        return Failed(
            f"no {without[0]}",
            "something on its way is detached, or the weight that map_weights put there does not compute",
            try_,
        )
    return outputs.same(network, SAME, why=why, try_=try_)


@part.check(basis="report")
def leaves_the_state_alone(state_after: Observation) -> Verdict:
    """map_weights leaves the state_dict that it was given as it was."""
    gone, try_ = state_after.values["gone"], "fill a new dict instead of pop and item assignment"
    if gone:
        return Failed(
            f"{', '.join(gone[:3])}: not in it any more",
            "they were taken out of the caller's dict",
            try_,
        )
    return outputs.unchanged(state_after.values["changed"], try_=try_)


@part.check(basis="report", needs=[answers_alike])
def moves_fewer_bytes(traffic: Pair) -> Verdict:
    """The operators of OptimizedNet read and write at most 95 % of the bytes that SimpleNet's do."""
    seen, known = traffic.student.values, traffic.baseline.values
    apart = outputs.furthest(traffic.student.arrays["numbers"], traffic.baseline.arrays["numbers"])
    share = seen["bytes"] / known["bytes"]
    measured = (
        f"{seen['bytes'] / 1e6:.2f} MB in {seen['operators']} operators, {share:.0%} of SimpleNet's"
    )
    if not apart <= SAME:
        return Failed(
            f"{measured}; logits apart by {apart:.1e}", "larger images give other logits", WRONG
        )
    if not seen["operators"]:
        return Failed(
            measured, "it computes where no operator is seen: in another thread or process", WRONG
        )
    why = (
        "each ReLU looks at all numbers of its convolution, and of four of them the pool keeps one"
    )
    return (
        Passed(measured)
        if share <= LESS
        else Failed(measured, why, "nn.MaxPool2d first, then nn.ReLU")
    )


compiled = Compiled(
    part,
    lambda student, rig: (mapped(student, rig, WIDTHS[0])[0], student.compile_net),
    SAME,
    WRONG,
    takes=["map_weights", "OptimizedNet", "compile_net"],
)
compiled.answers_alike(
    "compile_net gives what the net gives, at each batch size and each time.", ["answers_alike"]
)
compiled.is_one_graph(
    "compile_net makes one graph of the whole net for each shape, by the backend asked for; a break is an error.",
    ["compiled_answers_alike"],
)


# --- what is judged: launches -----------------------------------------------------------------------------------------


@part.check(basis="scripted")
def counts_launches(counted: Pair) -> Verdict:
    """count_launches finds what a trace launched, of a GPU, of a CPU, and of compiled code on a CPU."""
    known = list(zip(KINDS, counted.baseline.values["known"], strict=True))

    def problem(reported: Any, case: tuple[str, Any]) -> tuple[str, str]:
        measured, why = judges.miscounted(reported, case[1])
        return f"a made trace ({case[0].replace('_', ' ')}): {measured}", why

    passed = ", ".join(f"{sum(counts.values())} launches ({kind})" for kind, counts in known)
    return each(counted.student.values["told"], known, problem, LAUNCH, passed)


def _compared(scripted_nets: Pair) -> str:
    seen = scripted_nets.student.values
    return judges.unlike(seen["rows"], scripted_nets.baseline.values, seen["own"])


study = Study(
    part,
    judges.RESULTS,
    "compare_nets",
    by=scripted_nets,
    expected=lambda known: known["names"],
)
study.is_measured(
    "compares_honestly",
    _compared,
    says="compare_nets counts the launches of one call, and times the median call after a warm-up, "
    "without the profiler.",
    try_="a warm-up, a recorded call, then repeats calls that are timed one by one; statistics.median",
    shows=["launches", "ms"],
)
study.is_written()


# --- what is judged: Nsight Compute -----------------------------------------------------------------------------------


@part.check(basis="outputs")
def command_is_right(commands: Pair) -> Verdict:
    """ncu_command has ncu's own options: a set, how many launches, the report; then python and the script."""
    told = commands.student.values["commands"]

    def problem(words: Sequence[str], asked: Any) -> tuple[str, str]:
        wanted = (asked[name] for name in ("script", "report", "launches", "skipped"))
        return " ".join(words)[:200] or "no words", ncu.command_problem(words, ncu.Wanted(*wanted))

    passed = " ".join(word for words in told[:1] for word in words)[:200]
    return each(told, commands.baseline.values["asked"], problem, NAMES, passed)


@part.check(basis="report", needs=[command_is_right])
def command_measures_what_was_asked(commands: Pair) -> Verdict:
    """ncu_command measures the kernels that are named, and no other one whose name holds theirs."""
    seen = commands.student.values

    def problem(answer: tuple[Sequence[str], Sequence[str]], asked: Any) -> tuple[str, str]:
        words, measured = answer
        chosen = (
            f"{ncu.named(words)[:120] or 'no --kernel-name'}: {', '.join(measured) or 'nothing'}"
        )
        return chosen, ncu.choice_problem(words, measured, asked["kernels"])

    told = list(zip_longest(seen["commands"], seen["measured"], fillvalue=()))
    asked = commands.baseline.values["asked"]
    passed = f"{len(asked[0]['kernels'])} kernels of each profile"
    return each(told, asked, problem, f"regex:^(one|another)$; {NAMES}", passed)


@part.check(basis="scripted")
def reads_reports(reports: Pair) -> Verdict:
    """read_ncu finds each launch of a report, with durations in microseconds, throughput and occupancy."""
    return _read(reports, ncu.figure_problem)


@part.check(basis="scripted", needs=[reads_reports])
def says_what_limits(reports: Pair) -> Verdict:
    """read_ncu says what limits each kernel: compute, memory, or latency where neither is busy."""
    return _read(reports, ncu.bound_problem)


def _read(reports: Pair, problem: Callable[..., str]) -> Verdict:
    known = reports.baseline.values["known"]
    return each(
        reports.student.values["told"],
        known,
        lambda rows, right: ("a made report", ncu.row_problem(rows) or problem(rows, right)),
        REPORT,
        f"{sum(map(len, known))} launches in made reports",
    )


# --- what is judged: the files that are handed in ---------------------------------------------------------------------


def _nets(rows: Sequence[Mapping[str, Any]]) -> str:
    if [row["net"] for row in rows[:2]] == ["SimpleNet", "OptimizedNet"]:
        return ""
    return "the first rows are to be SimpleNet and OptimizedNet"


csv_is_consistent = study.is_consistent(
    _nets,
    says="The kernel_results.csv handed in compares SimpleNet with OptimizedNet, with numbers that fit each other.",
)


@part.check(basis="artefact", needs=[csv_is_consistent])
def fewer_launches(kernel_results: Table) -> Verdict:
    """In the kernel_results.csv handed in, the compiled net launches less than SimpleNet; owed without a compiler."""
    rows = judges.RESULTS.read(kernel_results)
    compiled_rows = [row for row in rows if "compiled" in str(row["net"])]
    if not compiled_rows:
        return Unavailable(
            "no row is of a compiled net; a machine with a C++ compiler or a GPU can make it"
        )
    before, after = rows[0]["launches"], compiled_rows[0]["launches"]
    measured = f"{before:g} launches of {rows[0]['net']}, {after:g} of {compiled_rows[0]['net']}"
    why = "nothing was fused, or what torch.compile wrote was not seen: on a CPU its kernels need their ranges"
    return (
        Passed(measured)
        if after < before
        else Failed(measured, why, f"enable_kernel_profile; {LAUNCH}")
    )


@part.check(basis="artefact")
def report_holds_kernels(kernel_report: Text) -> Verdict:
    """The kernel_report.txt handed in is what ncu printed of your kernels; without ncu, it says so and is owed."""
    if kernel_report.text.lower().startswith("no ncu"):
        return Unavailable(
            "kernel_report.txt says that there was no ncu; a machine with one can make it"
        )
    return ncu.holds_kernels(kernel_report, try_=REPORT)
