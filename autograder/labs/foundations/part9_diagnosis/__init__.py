"""Part 9: diagnosis. What a step waits for, what a fix gains at most, and where each process of a machine belongs."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import numpy as np

from autograder.claims.exercise import Exercise
from autograder.lab import Part
from autograder.labs.foundations.part9_diagnosis import judges

part = Part("part9_diagnosis")
Given = Mapping[str, Any]
Random = np.random.Generator


def drawn(count: int, **sizes: Any) -> dict[str, Any]:
    return {f"draw {at}": sizes for at in range(1, count + 1)}


# --- a step ---

WORKERS = {
    "input, worker_busy above 0.5": (0.55, 0.98),
    "input, worker_busy below 0.5": (0.02, 0.45),
    "input, worker_busy=0.5": (0.5, 0.5),
}
# How long arithmetic and memory take, beside the longer of both.
KERNELS = {
    "kernel, mostly arithmetic": (1.0, 0.3),
    "kernel, mostly memory": (0.3, 1.0),
    "kernel, just above the ridge": (1.0, 0.98),
    "kernel, just below the ridge": (0.98, 1.0),
    "kernel, on the ridge": (1.0, 1.0),
}
TIE = "two parts"
OTHERS = (*WORKERS, "copy", "communication", "launch", TIE)


def draw_step(random: Random, kind: str = "copy") -> dict[str, Any]:
    parts = list(judges.PARTS)
    step = {name: float(random.uniform(0.004, 0.03)) for name in parts}
    main = "kernel" if kind in KERNELS else "input" if kind in WORKERS else kind
    longest = random.choice(parts[:4], 2, replace=False).tolist() if kind == TIE else [main]
    step |= dict.fromkeys(longest, float(random.uniform(0.04, 0.09)))
    computing, moving = KERNELS.get(kind, (0.4, 0.7))
    roof = 2.0 ** -int(random.integers(8, 11))  # a power of two, so that the ridge is exact
    flops, bandwidth = 1e12 * int(random.integers(8, 900)), 1e9 * int(random.integers(300, 4000))
    step |= {
        "worker_busy": float(random.uniform(*WORKERS.get(kind, (0.5, 0.5)))),
        "flops": roof * computing * flops,
        "bytes": roof * moving * bandwidth,
        "peak_flops": flops,
        "peak_bandwidth": bandwidth,
    }
    return {"step": {name: step[name] for name in random.permutation(list(step)).tolist()}}


def only(*names: str) -> Callable[[Any, Given], Any]:
    """Compare some of what diagnose returns."""

    def call(diagnose: Any, given: Given) -> Any:
        returned = diagnose(**given)
        return {name: returned[name] for name in names if name in returned}

    return call


SOME = {"half_of_it": "which half is left goes by the order of the names"}
named = Exercise("diagnose", part, call=only("bottleneck"), holes=SOME)
bounded = Exercise("diagnose", part, call=only("share", "at_most"), holes=SOME)
for exercise in (named, bounded):
    exercise.inputs(draw_step)
named.same(
    {judges.case_of(kind): {"kind": kind} for kind in KERNELS},
    oracle=lambda step: {"bottleneck": judges.bottleneck(step)},
    families=(),
    name="knows_the_ridge",
    says="diagnose says whether kernels are limited by arithmetic or by memory.",
    why="the longer of flops / peak_flops and bytes / peak_bandwidth must decide: a busy GPU may wait for its memory",
    try_="fix names_the_bottleneck first if it fails; then "
    "name compute if flops / peak_flops >= bytes / peak_bandwidth, else bandwidth",
)
named.same(
    {judges.case_of(kind): {"kind": kind} for kind in OTHERS},
    oracle=lambda step: {"bottleneck": judges.bottleneck(step)},
    slips=judges.FIRST_AGAIN,
    families=(),
    needs=[],
    name="names_the_bottleneck",
    says="diagnose names the largest of the five parts, and says whether workers are busy or storage is slow.",
    why={
        TIE: ("of equal parts the first in PARTS must count", "max(PARTS, key=...) takes it"),
        "worker_busy": (
            "at a worker_busy of 0.5 or more the bottleneck must be cpu, else io",
            "name cpu if worker_busy >= 0.5, else io",
        ),
        "": "the largest of input, copy, communication, launch and kernel must decide",
    },
    try_='see "What to write" in the part 9 handout',
)
bounded.same(
    {judges.case_of(kind): {"kind": kind} for kind in (*OTHERS, *KERNELS)},
    oracle=judges.gain,
    slips=judges.OF_A_KERNEL,
    families=(),
    needs=[],
    name="bounds_the_gain",
    says="diagnose returns share and at_most, also for kernel, whose seconds do not fall to 0.",
    why=judges.BOUNDED,
    try_="compute both on paper for one step",
)

plan = Exercise("plan", part)
STUDY = "the loader, then the kernel"
ONE_PART = "two fixes of one part"
TINY = "a fix that does not pay"
MADE: dict[str, dict[str, dict[str, float]]] = {
    STUDY: {
        "pinned memory": {"copy": 3},
        "compile": {"launch": 8},
        "mixed precision": {"kernel": 2.5},
        "workers": {"input": 6},
    },
    ONE_PART: {"workers": {"input": 6}, "larger files": {"input": 4}, "compile": {"kernel": 1.5}},
    TINY: {"pinned memory": {"copy": 1.2}, "compile": {"kernel": 1.5}},
}


@plan.inputs
def draw_plan(random: Random, fixes: Any = (0, 6), kind: str = "") -> dict[str, Any]:
    step = dict(zip(judges.PARTS, random.uniform(0.005, 0.05, 5).tolist(), strict=True))
    if kind:
        step = dict(zip(judges.PARTS, (0.074, 0.003, 0.0, 0.013, 0.03), strict=True))
    made = {}
    for name in random.permutation([f"fix {letter}" for letter in "abcdef"]).tolist()[:fixes]:
        parts = random.choice(judges.PARTS, random.integers(1, 3), replace=False).tolist()
        made[name] = {each: float(random.uniform(1.2, 8)) for each in parts}
    return {"step": step, "fixes": MADE.get(kind, made)}


plan.same(
    {**{kind: {"kind": kind} for kind in MADE}, **drawn(6, fixes=6)},
    oracle=judges.planned,
    slips={
        (
            "your speedup is that of all fixes so far, which is cumulative",
            "the seconds before this fix over those after it",
        ): lambda **given: [
            row | {"speedup": row["cumulative"]} for row in judges.planned(**given)
        ],
        (
            "your seconds are those that the fix saves, and must be those that are left",
            "the sum of the five parts after the fix",
        ): lambda **given: [
            row | {"seconds": row["seconds"] * (row["speedup"] - 1)}
            for row in judges.planned(**given)
        ],
        (
            "your order is that of the gains at the beginning, but an earlier fix may have saved the same seconds",
            "compare the fixes anew after each one, by the seconds that are left then",
        ): lambda **given: judges.planned(**given, alone=True),
    },
    name="plans_by_what_is_left",
    says="plan takes the fix that leaves the least time, again and again, and returns what each gains in this order.",
    why=judges.PLANNED,
    try_="speedup is the seconds left before this fix, divided by those left after it",
)

# --- what a process may use ---

visible = Exercise("visible_gpus", part)
ENTRIES = ("0", "1", "2", "3", "4", " 5", "6 ", "-1", "12", "1x", "", "gpu", "+2")


@visible.inputs
def draw_visible(random: Random, value: Any = "drawn", count: Any = 8) -> dict[str, Any]:
    if value == "drawn":
        value = ",".join(random.choice(ENTRIES, random.integers(2, 5), replace=False).tolist())
    return {"value": value, "count": count}


STRINGS = (
    None,
    "",
    "2,0",
    "0,7,1",
    "0,-1,1",
    "0,0",
    " 3",
    "a",
    "1gpu,2",
    "1,,2",
    "03,1",
    "2,4",
    "0,x,1,1",
)
visible.same(
    {
        **{f"value {value!r} of 4 GPUs": {"value": value, "count": 4} for value in STRINGS},
        **{f"drawn {at}": {} for at in range(8)},
    },
    oracle=judges.visible,
    name="reads_visible_devices",
    says="visible_gpus reads CUDA_VISIBLE_DEVICES as CUDA does: order, invalid entries, repeated ones.",
    why=judges.VISIBLE,
    hints={": raised ValueError": judges.LEADING},
    try_="go through value.split(',') from left to right",
)

CPUS = 64  # of the machine


@contextlib.contextmanager
def machine_of(written: Any, affinity: int) -> Iterator[None]:
    """Let this process be allowed so many CPUs of CPUS, also for code that imported the function by its name."""
    names: dict[str, Any] = {
        "sched_getaffinity": lambda _: set(range(affinity)),
        "cpu_count": lambda: CPUS,
    }
    if hasattr(os, "process_cpu_count"):
        names["process_cpu_count"] = lambda: affinity
    own_globals = getattr(written, "__globals__", {})
    own = {name: it for name, it in names.items() if own_globals.get(name) is getattr(os, name)}
    with mock.patch.multiple(os, **names), mock.patch.dict(own_globals, own):
        yield


def with_quota(written: Any, given: Given) -> Any:
    with TemporaryDirectory() as folder, machine_of(written, given["affinity"]):
        file = Path(folder) / "cpu.max"
        if given["quota"]:
            file.write_text(f"{given['quota']}\n", encoding="utf-8")
        return written(quota=str(file))


usable = Exercise("usable_cpus", part, call=with_quota)


@usable.inputs
def draw_cpus(random: Random, quota: str = "drawn", affinity: Any = (2, 30)) -> dict[str, Any]:
    if quota == "drawn":
        quota = f"{random.integers(20, 3000) * 1000} 100000"
    return {"affinity": affinity, "quota": quota}


QUOTAS = {
    "a quota of 2.5 CPUs": {"quota": "250000 100000", "affinity": 8},
    "no limit, max": {"quota": "max 100000", "affinity": 8},
    "no file": {"quota": "", "affinity": 8},
    "a quota of half a CPU": {"quota": "50000 100000", "affinity": 8},
    "a quota above the affinity": {"quota": "1600000 100000", "affinity": 4},
    "a shorter period": {"quota": "150000 50000", "affinity": 8},
}
usable.same(
    {**QUOTAS, **drawn(3)},
    oracle=judges.usable,
    slips={
        (
            "os.cpu_count() counts the CPUs of the machine, and this process may use fewer",
            "min(len(os.sched_getaffinity(0)), quota // period), at least 1",
        ): lambda **_: CPUS,
        (
            "your code ignores the file that quota names: only the affinity counts",
            "Path(quota).read_text().split() if the file is there",
        ): lambda affinity, **_: affinity,
    },
    name="counts_usable_cpus",
    says="usable_cpus is the smaller of affinity and quota, whole CPUs, at least 1.",
    why=judges.USABLE,
    try_="try it with files of your own: '250000 100000' is 2, '50000 100000' is 1",
)


def in_one_spelling(place: Any, given: Given) -> Any:
    """Let CPUs be listed in any way that numactl takes."""
    rows = place(**given)
    return [row | {"cpus": judges.listed(judges.cpus(row["cpus"]))} for row in rows]


placing, fitting = Exercise("place", part, call=in_one_spelling), Exercise("place", part)
FEW = {"nodes": 1, "cores": 8, "gpus": 3, "ranks": 3}


@placing.inputs
@fitting.inputs
def draw_machine(
    random: Random,
    nodes: Any = (1, 3),
    cores: Any = (6, 9),
    gpus: Any = (1, 3),
    allowed: str = "",
    ranks: int = 0,
) -> dict[str, Any]:
    n = nodes * cores
    first = [range(at * cores, (at + 1) * cores) for at in range(nodes)]
    last = n + int(random.integers(cores // 2, n))
    machine = {
        "nodes": [f"{it[0]}-{it[-1]},{n + it[0]}-{n + it[-1]}" for it in first],
        "cores": [f"{core},{core + n}" for core in range(n)],
        "allowed": allowed or f"{random.integers(0, 2)}-{last}",
        "gpus": random.permutation(np.repeat(range(nodes), gpus)).tolist(),
        "workers": int(random.integers(0, 4)),
    }
    return {"machine": machine, "ranks": ranks or int(random.integers(1, nodes * gpus + 1))}


EXAMPLE = "two nodes, allowed 0-27"
placing.same(
    {
        EXAMPLE: {"nodes": 2, "cores": 8, "gpus": 2, "ranks": 4, "allowed": "0-27"},
        "cores that cannot be divided": {"nodes": 1, "cores": 7, "gpus": 3, "ranks": 3},
        "a core for each": {**FEW, "allowed": "0-2,8-10"},
        **drawn(4),
    },
    oracle=judges.placed,
    slips={
        (
            "your code gives a rank CPUs that are not allowed",
            "leave out of each core what is not in machine['allowed']",
        ): lambda machine, ranks: judges.placed(machine | {"allowed": "0-999"}, ranks)
    },
    name="places_on_the_gpus_node",
    says="place gives each rank cores of its GPU's node, the allowed CPUs of each, and no core to two ranks.",
    why=judges.PLACED,
    try_="list the node's cores that have allowed CPUs, and give rank j of k those from j * n // k to (j + 1) * n // k",
)
fitting.refuses(
    {
        "two cores for three ranks": {**FEW, "allowed": "0-1,8-9"},
        "four ranks for three GPUs": {**FEW, "ranks": 4},
    },
    takes={"three cores for three ranks": {**FEW, "allowed": "0-2,8-10"}},
    name="refuses_what_does_not_fit",
    why="a rank without a core or a GPU of its own must be refused",
    try_="raise ValueError if there are more ranks than GPUs, or on a node than allowed cores",
    needs=["places_on_the_gpus_node"],
)

binding = Exercise("bind_command", part)


@binding.inputs
def draw_row(random: Random, words: Any = (1, 4)) -> dict[str, Any]:
    low, length = random.integers(0, 40), random.integers(1, 8)
    cpus = f"{low}-{low + length},{low + 64}-{low + 64 + length}"
    row = {"rank": 0, "gpu": 0, "node": int(random.integers(0, 8)), "cpus": cpus, "threads": 2}
    program = ["python", "train.py", "--name", "two words"][:words]
    return {"row": row, "program": program}


binding.same(
    drawn(2),
    oracle=lambda row, program: [
        "numactl",
        f"--physcpubind={row['cpus']}",
        f"--membind={row['node']}",
        *program,
    ],
    name="binds_as_placed",
    says="bind_command returns the words of numactl with the row's CPUs and node, then the program's.",
    why=judges.BINDING,
    slips=judges.UNBOUND,
    try_='["numactl", f"--physcpubind=...", f"--membind=...", *program]',
)

closest = Exercise("closest_pair", part)
LINKS = {
    "NV12 beside NV4": ("NV4", "NV12", "PIX"),
    "no NVLink": ("PIX", "PXB", "PHB", "NODE", "SYS"),
    "far apart": ("PHB", "NODE", "SYS"),
    "all alike": ("PHB",),
}


@closest.inputs
def draw_links(random: Random, gpus: Any = (2, 8), kind: str = "") -> dict[str, Any]:
    kinds = LINKS.get(kind, ("NV1", "NV2", "NV18", "PIX", "PXB", "NODE", "SYS"))
    links = [["X"] * gpus for _ in range(gpus)]
    for a, b in zip(*np.triu_indices(gpus, 1), strict=True):
        links[a][b] = links[b][a] = str(random.choice(kinds))
    return {"links": links}


closest.same(
    {**{kind: {"kind": kind, "gpus": 6} for kind in LINKS}, **drawn(4)},
    oracle=judges.closest,
    slips=judges.LATER,
    name="picks_the_closest_pair",
    says="closest_pair finds the two GPUs with the best link, the first of equal pairs.",
    why=judges.LINKED,
    try_="give each link a number, and take the smallest of (number, a, b)",
)
