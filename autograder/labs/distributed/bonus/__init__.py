"""Bonus: a kernel for an operation of a transformer. A sum and its norm, in one launch of Triton."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from itertools import chain
from typing import TYPE_CHECKING, Any

from autograder.checks import table, tiles
from autograder.checks.slips import median_problem
from autograder.checks.table_form import DEVICE, Form, Row, count, positive, words
from autograder.claims.exercise import Exercise
from autograder.claims.studies import WRITTEN, Study, written
from autograder.lab import (
    NUMBER,
    TEXT,
    Answer,
    Failed,
    Observation,
    Pair,
    Part,
    Passed,
    Student,
    Table,
    Unavailable,
    Verdict,
    list_of,
)

if TYPE_CHECKING:
    from autograder.labs.distributed.bonus.rig import Rig
else:
    Rig = Any

COSTS = Form(
    "kernel_costs.csv",
    (
        words("version", "its name in `versions`"),
        count("width", "numbers in a row"),
        count("launches", "operators or kernels that compute in a forward pass"),
        count("bytes", "that these launches read and write"),
        count("saved_bytes", "kept for the backward pass, without the inputs", least=0),
        positive("ms", "median of five calls, after a warm-up", "ms"),
        DEVICE,
    ),
    keys=2,
)
part = Part(
    "bonus",
    writes=["measure_kernel"],
    hands_in=[COSTS.file, "bonus_notes.md"],
    tables=[COSTS],
)
SEE = 'see "What usually goes wrong" in the bonus handout'
LAUNCH = (
    "call AddNorm.apply in add_norm; its forward launches add_norm_kernel[(rows,)](...), "
    "which has to write both results"
)

# --- the function ---


TIMED = {"rows": 256, "width": 4096}


def call(written: Any, given: Mapping[str, Any]) -> Any:
    """Without Triton nothing can run, and what is timed runs on a GPU alone: both are owed elsewhere."""
    x = given["x"]
    runs = find_spec("triton") and (x.is_cuda or x.numel() < TIMED["rows"] * TIMED["width"])
    return written(**given) if runs else (x, given["residual"])


def apart(written: Any, given: Mapping[str, Any]) -> Any:
    """Let nobody else hold what is added, and gradients of results come in as views."""
    results = call(
        written, {**given, "x": given["x"].clone(), "residual": given["residual"].clone()}
    )
    return tuple(result.mT for result in results)


add_norm = Exercise("add_norm", part, call=call)
alone = Exercise("add_norm", part, call=apart)


@alone.inputs
@add_norm.inputs
def draw(
    random: Any,
    rows: Any = range(3, 9),
    width: Any = range(32, 65, 32),
    batch: int = 0,
    eps: float = 1e-6,
) -> dict[str, Any]:
    shape = (batch, rows, width) if batch else (rows, width)
    x = random.uniform(-1.0, 1.0, size=shape)
    # No sum is near 0, where eps would decide: that is for rows that are multiplied by 0.001.
    residual = random.uniform(1.5, 3.0, size=shape) * random.choice([-1.0, 1.0], size=shape)
    weight = random.uniform(0.5, 1.5, size=width)
    return {"x": x, "residual": residual, "weight": weight, "eps": eps}


WITHIN = {"float32": 1e-5, "bfloat16": 2e-2}
SMALL = {
    "eps 0.1": (
        "the argument eps must be added to the mean, under the root",
        "take the argument eps, in sqrt(mean(total**2) + eps)",
    ),
    "allowed 1.0e-05; ": (  # where the error is small: wrong formulas and masks are off by more
        "so small an error is usually rounding: the sum of squares has 16 bits, and needs float32",
        "convert with .to(tl.float32) right after each tl.load, and to no 16 bits before tl.store",
    ),
}
SHAPES = {
    "width 1": {"width": 1},
    "width 5": {"width": 5},
    "width 100": {"width": 100},
    "width 257": {"width": 257},
    "width 2500": {"rows": 3, "width": 2500},
    "no rows": {"rows": 0, "width": 64},
    "three dimensions": {"batch": 3, "width": 64},
}


def other_root(x: Any, residual: Any, weight: Any, eps: float, over_the_block: bool = True) -> Any:
    """Return what somebody returns whose mean is of BLOCK numbers, or else of x alone."""
    dtype, x, width = x.dtype, x.float(), x.shape[-1]
    total = x + residual
    count = 1 << (width - 1).bit_length() if over_the_block else width
    squares = (total if over_the_block else x) ** 2
    normed = total / (squares.sum(-1, keepdim=True) / count + eps).sqrt() * weight
    return normed.to(dtype), total.to(dtype)


OF_X = partial(other_root, over_the_block=False)
GRADIENTS = {"drawn": {}, "width 100": {"width": 100}, "three dimensions": {"batch": 3, "width": 5}}
add_norm.same(
    {"eps 0.1": {"eps": 0.1}},
    dtypes=["bfloat16"],
    gradients=[],
    within=WITHIN,
    name="matches_pytorch",
    says="add_norm returns what PyTorch's operators do, up to rounding, in float32 and bfloat16, also of strided rows.",
    why={
        "views": (
            "your kernel gets addresses of what is not contiguous: it reads in memory's order",
            "x.contiguous() and residual.contiguous() before the launch",
        ),
        "result 2": (
            "the second value must be total = x + residual, without norm and weight",
            "store the sum itself in the second tensor",
        ),
        "": (
            "normed must be total / sqrt(mean(total**2) + eps) * weight",
            "compute total, the root and the product one by one on a short row, beside PyTorch's",
        ),
    },
    slips={("your root is that of x, and not of total", "add residual before you square"): OF_X},
    hints=SMALL,
    try_=SEE,
)
add_norm.same(
    SHAPES,
    families=(),
    dtypes=(),
    gradients=[],
    within=WITHIN,
    needs=[],
    name="any_shape",
    says="add_norm works for any width, for no rows, and in three dimensions.",
    why={
        "three dimensions": (
            "the rows of all leading dimensions must be normed, each by itself",
            "x.numel() // width programs",
        ),
        "no rows": ("a grid of 0 programs cannot be launched", "return before the launch"),
        "width 1, ": (
            "even a row of one number is wrong: the fault is not in the mask alone",
            "fix matches_pytorch first",
        ),
        "width 5, ": (
            "your kernel counts numbers behind the end of a row",
            "give each load a mask and other=0.0, with a BLOCK that is at least the width",
        ),
        "": (
            "narrower rows are right: usually numbers behind BLOCK are left out",
            "take a BLOCK that is at least the width, whatever the width is",
        ),
    },
    slips={("your sum of squares is divided by BLOCK", "divide it by the width"): other_root},
    hints=SMALL,
    try_=SEE,
)
alone.same_gradients(
    GRADIENTS,
    within=WITHIN,
    needs=["matches_pytorch"],
    name="gradients_match",
    says="Gradients of x, residual and weight are those of PyTorch's operators, for a loss of both results.",
    why={
        "width 100": (
            "widths of 32 and 64 are right: 100 is no power of two, and BLOCK is larger",
            "fix any_shape first if it fails; else mask each load of backward, and divide by the width",
        ),
        "three dimensions": (
            "backward must take the rows of all leading dimensions, too",
            "fix any_shape first if it fails; else x.numel() // width rows in backward, too",
        ),
        "gradient of weight": (
            "the gradient of weight must be a sum over all rows, each with its own root",
            "(normed_gradient * total * r).sum over rows, with r = 1 / sqrt(mean(total**2) + eps)",
        ),
        "gradient of residual": (
            "the gradient of residual must be that of x, which is right here",
            "return the same gradient for x and for residual",
        ),
        "": (
            "the gradient of x and of residual is a sum of three terms: at least one is missing or wrong",
            "derive its three terms: through total itself, through the root of its row, and total_gradient",
        ),
    },
    hints={
        'gradient of x": nothing': (
            "the results of add_norm have no graph that leads to x",
            "return what AddNorm.apply gives, called outside of torch.no_grad()",
        ),
        "view size is not compatible": ".reshape for .view: a gradient that comes in may be a view",
    },
    try_=SEE,
)
alone.keeps_less(
    0.1,
    {"rows": 64, "width": 256},
    needs=["matches_pytorch"],
    name="keeps_the_sum_and_a_number",
    says="Not counting inputs and results (total, normed), add_norm keeps for the backward pass "
    "at most a tenth of the bytes that PyTorch's operators keep.",
    why="your AddNorm keeps more than total, weight and one number for each row",
    try_="save total, weight and the root of each row, nothing else, and compute the rest again in backward",
)

# --- launches ---


@part.probe(pair=True, values={"tools": list_of(TEXT)}, takes=[])
def tools(student: Student, rig: Rig) -> Answer:
    """What this machine has; the baseline's side is believed."""
    return {"tools": rig.tools()}


@part.probe(values=tiles.LAUNCHED, takes=["add_norm"])
def launched(student: Student, rig: Rig) -> Answer:
    """One call on contiguous tensors."""
    x, residual = (rig.tensor(rig.random.normal(size=(16, 64))) for _ in range(2))
    weight = rig.tensor(rig.random.uniform(0.5, 1.5, size=64))
    with rig.tiles() as watched:
        results = call(student.add_norm, {"x": x, "residual": residual, "weight": weight})
    wrote = all(map(watched.wrote, results))
    return {"launches": watched.launches, "operators": watched.operators, "wrote": wrote}


@part.check(basis="report", needs=[part.checks["matches_pytorch"].judge])
def one_launch(launched: Observation) -> Verdict:
    """For contiguous rows, add_norm launches one kernel that writes both results; torch computes nothing beside it."""
    return tiles.one_launch(launched.values)


def of_a_kernel(name: str) -> None:
    """Owe a check where no kernel can run, and fail it where none has written the results."""
    check = part.checks[name]

    def judge(**evidence: Any) -> Verdict:
        own = {name: evidence[name] for name in check.reads}
        owed = tiles.without(evidence["tools"], "Triton")
        return owed or tiles.no_kernel(evidence["launched"].values, LAUNCH) or check.judge(**own)

    judge.__name__, judge.__doc__ = name, check.judge.__doc__
    reads = tuple(dict.fromkeys((*check.reads, "tools", "launched")))
    part.checks[name] = replace(check, judge=judge, reads=reads)


for name in list(part.checks):
    of_a_kernel(name)
STRAYED = "a kernel that writes where nothing is ends the process: give each tl.store a mask"
for name, probe in part.probes.items():
    part.probes[name] = replace(probe, hints={"crash": STRAYED})

add_norm.faster(
    TIMED,
    name="kernel_is_faster",
    why="usually operators of PyTorch are left, and each reads and writes memory again",
    try_=SEE,
)

# --- the table ---

REPEATS = 5
COUNTED = ("launches", "bytes", "saved_bytes")
ONCE = "the count must be that of one forward pass, by given.Launches or given.saved_bytes"


@part.probe(
    pair=True,
    values={**WRITTEN, "seconds": list_of(NUMBER), "device": TEXT},
    takes=["measure_kernel"],
)
def scripted_versions(student: Student, rig: Rig) -> Answer:
    """Two versions with other operators, which take scripted seconds, at two shapes."""
    rows, widths = rig.random.permutation(range(4, 40))[:4].reshape(2, 2).tolist()
    seconds = [rig.seconds(0.01, 0.09, 2) for _ in rows]  # of both versions, at each shape
    timed = [dict(zip(rows, own, strict=True)) for own in zip(*seconds, strict=True)]
    versions = {
        f"version {few}": rig.scripted_version(own, few, REPEATS)
        for few, own in enumerate(timed, 1)
    }
    shapes = list(zip(rows, widths, strict=True))
    returned = student.measure_kernel(versions, shapes, folder=str(rig.made_folder()))
    answer = written(rig, COSTS, "measure_kernel", returned)
    return {**answer, "seconds": [*chain(*seconds)], "device": rig.given("device_name")(rig.device)}


def _other_rows(own: Sequence[str], expected: Sequence[str]) -> str:
    """Name the first row that is missing, and one that is not asked for."""
    missing = next((name for name in expected if name not in own), "")
    odd = next((name for name in own if name not in expected), "")
    told = (f"no row of {missing}" * bool(missing), f"a row of {odd}" * bool(odd))
    return ", and ".join(filter(None, told))


def _measured(scripted_versions: Pair) -> str | tuple[str, ...]:
    values, script = scripted_versions.student.values, scripted_versions.baseline.values
    rows = {COSTS.name(row): row for row in values["rows"]}
    expected = {COSTS.name(row): row for row in script["rows"]}
    if rows.keys() != expected.keys():
        return (
            "a row must be there for each version and shape, with its last number as width",
            "for each shape (rows, width), add a row for each version",
            _other_rows(list(rows), list(expected)),
        )
    for (name, right), seconds in zip(expected.items(), script["seconds"], strict=True):
        counted = (COSTS.mismatch(rows[name], it, right[it], 0, otherwise=ONCE) for it in COUNTED)
        if problem := next(filter(None, counted), ""):
            return problem, "count in one call of its own, in none of those that are timed"
        timed = median_problem(COSTS, rows[name], "ms", seconds, REPEATS, "given.Launches watched")
        if timed:
            return timed
    file = table.holds_the_rows(values["csv"], COSTS.file, values["rows"])
    if isinstance(file, Failed):
        return file.why, file.try_, file.measured
    return table.other_device(values["rows"], script["device"])


study = Study(part, COSTS, "measure_kernel", by=scripted_versions)
study.is_measured(
    "measures_each_version",
    _measured,
    says="For each version and shape, measure_kernel counts launches and bytes of one call, takes the median time of "
    "five calls, and writes a row.",
    try_="warm up, count one call, and time five calls one by one without given.Launches; statistics.median",
    shows=["launches", "bytes", "ms"],
)

ROWS = 64


def cost_problem(row: Row) -> str:
    """Say which figure of a row cannot be: those of eager are known, and a kernel has some room."""
    numbers, weight = 4 * ROWS, 4 * int(row["width"])
    tensor = ROWS * weight
    least, most = [7, weight + 10 * tensor + 6 * numbers, 2 * tensor + numbers], [0, 0, 0]
    if row["version"] == "kernel":
        least, most = [1, weight + 4 * tensor, 0], [0, 4 * numbers, tensor + 4 * numbers]
    for name, low, more in zip(("launches", "bytes", "saved_bytes"), least, most, strict=True):
        if not low <= row[name] <= low + more:
            expected = f"{low:,} to {low + more:,}" if more else f"{low:,}"
            at = f"{name} of {row['version']}, width {row['width']:g}"
            return f"{at}, is {row[name]:,.0f}; expected {expected}"
    return ""


@part.check(basis="artefact")
def kernel_costs_add_up(kernel_costs: Table) -> Verdict:
    """The kernel_costs.csv handed in compares eager with the kernel; launches and bytes are what 64 rows take."""
    rows = COSTS.read(kernel_costs)
    versions = {row["version"] for row in rows}
    why = COSTS.problem(rows)
    if not why and versions == {"eager"}:
        return Unavailable("no row is of the kernel; a machine with Triton can make it")
    if not why and versions != {"eager", "kernel"}:
        odd = sorted({*versions} - {"eager", "kernel"})
        why = f"a version is {', '.join(odd) or 'missing'}; they must be eager and kernel"
    why = why or next(filter(None, map(cost_problem, rows)), "")
    if why:
        try_ = (
            "fix the other checks if they fail, run python bonus.py, and submit its file unchanged"
        )
        return Failed(why, "one run of right code cannot write this table", try_)
    return Passed(f"{len(rows)} rows")
