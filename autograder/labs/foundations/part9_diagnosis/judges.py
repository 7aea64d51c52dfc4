"""What is right about drawn steps and machines."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

Row = dict[str, Any]
Slips = Mapping[str | tuple[str, str], Callable[..., Any]]
PARTS = ("input", "copy", "communication", "launch", "kernel")
LEAST = 0.01  # of the time that is left, for a fix that pays
LINKS = ("SYS", "NODE", "PHB", "PXB", "PIX")


def largest(step: Mapping[str, float]) -> str:
    seconds = [step[part] for part in PARTS]
    return PARTS[seconds.index(max(seconds))]


def bottleneck(step: Mapping[str, float]) -> str:
    part = largest(step)
    if part == "input":
        return "cpu" if step["worker_busy"] >= 0.5 else "io"
    if part == "kernel":
        computes = step["flops"] / step["peak_flops"] >= step["bytes"] / step["peak_bandwidth"]
        return "compute" if computes else "bandwidth"
    return part


def case_of(kind: str) -> str:
    """Name a step by its largest part, and what else decides."""
    part, comma, more = kind.partition(", ")
    return f"{part} largest{comma}{more}"


def gain(step: Mapping[str, float], left: Callable[..., float] = max) -> Row:
    """Return what the bottleneck takes, and the speedup without it; *left* of the two times of a kernel."""
    part, total = largest(step), sum(step[part] for part in PARTS)
    roof = left(step["flops"] / step["peak_flops"], step["bytes"] / step["peak_bandwidth"])
    least = roof if part == "kernel" else 0.0
    return {"share": step[part] / total, "at_most": total / (total - step[part] + least)}


def planned(
    step: Mapping[str, float], fixes: Mapping[str, Mapping[str, float]], alone: bool = False
) -> list[Row]:
    """Plan; a mistake is to order the fixes by what each gains *alone*, at the beginning."""
    left, remaining, rows = dict(step), dict(fixes), list[Row]()
    first = seconds = sum(step.values())
    while remaining:
        after = {name: sum(_fixed(left, fix).values()) for name, fix in remaining.items()}
        whole = {name: sum(_fixed(step, fix).values()) for name, fix in remaining.items()}
        best = min(after, key=(whole if alone else after).__getitem__)
        if seconds - after[best] <= LEAST * seconds:
            break
        speedup, seconds = seconds / after[best], after[best]
        row = {"fix": best, "seconds": seconds, "speedup": speedup, "cumulative": first / seconds}
        rows.append(row)
        left = _fixed(left, remaining.pop(best))
    return rows


def _fixed(step: Mapping[str, float], fix: Mapping[str, float]) -> dict[str, float]:
    return {part: seconds / fix.get(part, 1) for part, seconds in step.items()}


def visible(value: str | None, count: int) -> list[int]:
    if value is None:
        return list(range(count))
    gpus: list[int] = []
    for entry in value.split(","):
        digits = re.match(r"\s*\+?(\d+)", entry)
        if not digits or int(digits[1]) >= count:
            return gpus
        if int(digits[1]) in gpus:
            return []
        gpus.append(int(digits[1]))
    return gpus


def usable(affinity: int, quota: str) -> int:
    limit, _, period = quota.partition(" ")
    if not limit.isdigit():
        return affinity
    return max(1, min(affinity, int(limit) // int(period)))


def cpus(text: str) -> list[int]:
    """Return the numbers of a list of CPUs, in order."""
    ends = [[int(end) for end in part.split("-")] for part in text.split(",")]
    return sorted({cpu for end in ends for cpu in range(end[0], end[-1] + 1)})


def listed(numbers: Sequence[int]) -> str:
    """Write numbers of CPUs as Linux does."""
    words: list[list[int]] = []
    for cpu in sorted(numbers):
        if words and words[-1][-1] == cpu - 1:
            words[-1] = [words[-1][0], cpu]
        else:
            words.append([cpu])
    return ",".join("-".join(map(str, ends)) for ends in words)


def placed(machine: Mapping[str, Any], ranks: int) -> list[Row]:
    """Share out the cores of each GPU's node."""
    allowed, rows = set(cpus(machine["allowed"])), list[Row]()
    for rank, node in enumerate(machine["gpus"][:ranks]):
        here = allowed & set(cpus(machine["nodes"][node]))
        cores = [sorted(here & set(cpus(core))) for core in machine["cores"]]
        units = [core for core in cores if core]
        sharing = [other for other in range(ranks) if machine["gpus"][other] == node]
        at, of, n = sharing.index(rank), len(sharing), len(units)
        own = units[at * n // of : (at + 1) * n // of]
        numbers = listed([cpu for unit in own for cpu in unit])
        threads = max(1, len(own) - machine["workers"])
        rows.append({"rank": rank, "gpu": rank, "node": node, "cpus": numbers, "threads": threads})
    return rows


def closest(links: Sequence[Sequence[str]], of_equal: Callable[..., Any] = min) -> list[int]:
    def width(link: str) -> int:
        return LINKS.index(link) if link in LINKS else len(LINKS) + int(link[2:])

    pairs = [(a, b) for b in range(len(links)) for a in range(b)]
    best = max(width(links[a][b]) for a, b in pairs)
    return list(of_equal((a, b) for a, b in pairs if width(links[a][b]) == best))


# --- words of failures, and what to try ---

PLANNED = {
    "a fix that does not pay": (
        "a fix that saves no more than 1 % of what is left must have no row",
        "stop where before - after <= 0.01 * before",
    ),
    ", speedup": "speedup must be of the seconds that earlier fixes left, not of those at the beginning",
    ", seconds": "seconds must be those of the whole step after the fix",
    ", cumulative": "cumulative must be the seconds before all fixes over those after this one",
    ", number of entries": "each fix must have one row, until one saves no more than 1 % of the time before it",
    ", fix": "the next fix must be the one that leaves the least time, and each is applied once",
}


LEADING = "give entry.strip() to given.topology.leading_number, and not to int()"
VISIBLE = {
    "None": ("without the variable all GPUs must be visible", "list(range(count)) for None alone"),
    "'' of": (
        "an empty variable must hide all GPUs",
        "return all GPUs if value is None, and [] for an empty text",
    ),
    "x,1,1": (
        "entries behind the first invalid one must not count, also a number that comes twice there",
        "stop at an invalid entry before you look for repeated ones",
    ),
    "'0,0'": (
        "a number that comes twice must leave nothing at all",
        "return [] where the number is in the list already",
    ),
    "gpu,2": (
        "an entry must count as the number that it begins with",
        LEADING,
    ),
    "' 3'": ("spaces around a number must not matter", "strip() each entry"),
    "'2,0'": (
        "the order of the variable must be kept: its cuda:0 is GPU 2",
        "append the numbers as they come: not sorted, and not 0, 1, ...",
    ),
    "": (
        "an entry is valid from 0 to count - 1; the first invalid one must end the list",
        "stop at the first entry that is none of 0 ... count - 1",
    ),
}


LEAVES = "total / (total - seconds + the longer of both times)"
OF_A_KERNEL: Slips = {
    ("your kernel takes no time, but the longer of both times must be left", LEAVES): partial(
        gain, left=lambda *_: 0.0
    ),
    ("your kernel leaves the sum of both times, and must leave the longer", LEAVES): partial(
        gain, left=lambda *both: sum(both)
    ),
}
ANEW = "compute each answer anew from step, and keep nothing between calls"
FIRST_AGAIN: Slips = {
    ("the first call's answer, 'cpu', is returned for every step", ANEW): lambda **_: {
        "bottleneck": "cpu"
    }
}
BOUNDED = {
    "below 0.5, share": (
        "the first step's share is right: usually its answer is returned for other steps as well",
        ANEW,
    ),
    ", share": (
        "share must be the seconds of the bottleneck over those of all five parts, itself included",
        "sum the five names in PARTS; step holds other numbers as well",
    ),
    "mostly memory": (
        (
            "with more arithmetic than memory it is right: the longer of both "
            "times must be left, not the arithmetic's"
        ),
        "max(flops / peak_flops, bytes / peak_bandwidth)",
    ),
    "kernel": (
        "a kernel must leave the longer of flops / peak_flops and bytes / peak_bandwidth",
        LEAVES,
    ),
    "": (
        ("at_most must be all seconds over those of the other four parts"),
        "total / (total - seconds)",
    ),
}


USABLE = {
    "2.5": ("a quota of 2.5 CPUs must give 2 whole ones", "quota // period"),
    "half": ("less than one whole CPU must count as 1", "max(1, quota // period)"),
    "no": (
        "without a quota the affinity must count: there is no file, or its first word is max",
        "return len(os.sched_getaffinity(0)) in both cases",
    ),
    "above": ("a quota above the affinity must not add CPUs", "the min of both"),
    "shorter": (
        "the second number of the file must count as the period: it may be another than 100000",
        "quota // period, both from the file",
    ),
    "": "the smaller of the affinity and quota // period must count",
}


PLACED = {
    "threads": (
        "threads must be cores minus workers, and each core counts once, not each of its CPUs",
        "max(1, cores of the rank - workers)",
    ),
    ", node": "a rank must be on the node of its GPU",
    "cannot be divided": "no core must be left over: where n do not divide by k ranks, some get one more",
    "": "cores must be shared out, not CPU numbers: two ranks on the two CPUs of one core take turns",
}


BINDING = {
    ", number of entries": (
        "numactl, --physcpubind=<cpus> and --membind=<node> must be three words, "
        "and each word of the program one more"
    ),
    ", entry 1": "the first word must be numactl",
    ", entry 2": "the second word must name the CPUs of the row: --physcpubind=<cpus>",
    ", entry 3": "the third word must name the node of the row, not its GPU: --membind=<node>",
    "": "the words of the program must follow behind the options, as they are",
}
UNBOUND: Slips = {
    (
        "--membind=<node> is missing",
        "put --membind=<node> behind --physcpubind=<cpus>",
    ): lambda row, program: ["numactl", f"--physcpubind={row['cpus']}", *program]
}


LINKED = {
    "NV12": "12 links are more than 4, though NV12 comes before NV4 as text",
    "alike": "of equal pairs the first by a must count, then by b",
    "": "the order must be NV, PIX, PXB, PHB, NODE, SYS; more NVLinks come before fewer",
}
LATER: Slips = {
    (
        "your pair has the best link, but another pair with this link comes before",
        "take the smallest (a, b) of the pairs with the best link",
    ): partial(closest, of_equal=max)
}
