"""Judges what is said about several nodes: command lines of torchrun, as data, and calls between their processes.

A problem is one sentence, or nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from autograder.checks.forms import DEVICE, Form, Row, count, positive

VALUED = {
    "nnodes", "nproc-per-node", "node-rank", "master-addr", "master-port", "rdzv-backend", "rdzv-endpoint", "rdzv-id",
    "rdzv-conf", "max-restarts", "monitor-interval", "start-method", "role", "log-dir", "redirects", "tee",
    "local-addr",
}  # fmt: skip
FLAGS = {"standalone", "no-python", "module", "run-path"}
INSTEAD = {"nodes": "--nnodes", "nproc": "--nproc-per-node", "world-size": "--nnodes and --nproc-per-node",
           "rank": "--node-rank", "num-processes": "--nproc-per-node"}  # fmt: skip
MODULES = {"torch.distributed.run", "torch.distributed.launch"}


@dataclass(frozen=True)
class Wanted:
    """What is to be started."""

    script: str
    nodes: int
    processes: int
    """On each node."""
    address: str
    port: int


@dataclass(frozen=True)
class Line:
    """A command line taken apart."""

    options: Mapping[str, str]
    program: Sequence[str]
    problem: str = ""

    def value(self, name: str) -> str:
        """Return the value of an option, or nothing."""
        return self.options.get(name, "")


def parsed(words: Sequence[str]) -> Line:
    """Take a command line apart; the program begins at the first word that is no option's."""
    rest = _started(words)
    if rest is None:
        return Line(
            {},
            (),
            f"it begins with {' '.join(words[:3])[:60] or 'nothing'}, and it must be torchrun",
        )
    options: dict[str, str] = {}
    while rest and rest[0].startswith("--"):
        name, sign, value = rest.pop(0).removeprefix("--").partition("=")
        name = name.replace("_", "-")
        if name not in VALUED | FLAGS:
            known = f"; it calls it {INSTEAD[name]}" if name in INSTEAD else ""
            return Line(options, (), f"torchrun has no option --{name[:60]}{known}")
        if name in VALUED and not sign:
            if not rest:
                return Line(options, (), f"--{name} stands at the end, without its value")
            value = rest.pop(0)
        options[name] = value
    return Line(options, rest)


def _started(words: Sequence[str]) -> list[str] | None:
    """Return what follows torchrun, or python -m torch.distributed.run, which is the same."""
    names = [word.rsplit("/", 1)[-1] for word in words[:1]]
    if names == ["torchrun"]:
        return list(words[1:])
    python = bool(names) and names[0].startswith("python")
    return (
        list(words[3:]) if python and words[1:2] == ["-m"] and set(words[2:3]) <= MODULES else None
    )


def problem(commands: Sequence[Sequence[str]], wanted: Wanted) -> str:
    """Say what is wrong with the command lines of all nodes."""
    if len(commands) != wanted.nodes:
        return f"{len(commands)} command lines for {wanted.nodes} nodes"
    lines = [parsed(words) for words in commands]
    each = (
        f"node {node}: {words}"
        for node, line in enumerate(lines)
        if (words := _of_one(line, wanted))
    )
    return next(chain(each, filter(None, [_ranked(lines)])), "")


def _of_one(line: Line, wanted: Wanted) -> str:
    if line.problem:
        return line.problem
    if list(line.program) != [wanted.script]:
        return f"it runs {' '.join(line.program)[:60] or 'nothing'}, not {wanted.script} after all options"
    for name, number in (("nnodes", wanted.nodes), ("nproc-per-node", wanted.processes)):
        if line.value(name) != str(number):
            return f"--{name} is {line.value(name)[:20] or 'not there'}, not {number}"
    if "standalone" in line.options:
        return "--standalone is for one node: each of these would train alone"
    return _met(line, wanted)


def _met(line: Line, wanted: Wanted) -> str:
    """Say how nodes do not meet at the first one's address."""
    endpoint = (
        line.value("rdzv-endpoint") or f"{line.value('master-addr')}:{line.value('master-port')}"
    )
    place = f"{wanted.address}:{wanted.port}"
    return (
        ""
        if endpoint == place
        else f"nodes meet at {endpoint[:60]}, and the first one listens at {place}"
    )


def _ranked(lines: Sequence[Line]) -> str:
    """Say how nodes are not told apart; a rendezvous by c10d numbers them itself."""
    ranks = [line.value("node-rank") for line in lines]
    if not any(ranks) and all(line.value("rdzv-backend") == "c10d" for line in lines):
        return ""
    right = [str(number) for number in range(len(lines))]
    if not any(ranks):
        return f"--node-rank is not there, and the nodes are {', '.join(right)}"
    told = ", ".join(it[:20] or "nothing" for it in ranks)
    return (
        ""
        if ranks == right
        else f"--node-rank is {told} in turn, and the nodes are {', '.join(right)}"
    )


Calls = Sequence[Mapping[str, Any]]
"""Collective calls of one process: the ranks that each is between, and how many numbers it takes."""


def crossing(calls: Calls, processes: int) -> Calls:
    """Return those of them that are between nodes of so many processes."""
    return [it for it in calls if len({rank // processes for rank in it["ranks"]}) > 1]


def talk_problem(across: Sequence[Calls], turns: int, numbers: int) -> str:
    """Say how anybody but the first of each node talks to other nodes, or more often than twice for each average."""
    talkers = [rank for rank, own in enumerate(across) if own]
    if not talkers:
        return "no collective call between the nodes was seen"
    if any(rank % 2 for rank in talkers):
        return f"the first processes are 0 and 2, and {', '.join(map(str, talkers))} take part"
    most, often = max(it["numbers"] for own in across for it in own), max(map(len, across))
    if often > 2 * turns:
        return f"{often} calls for {turns} averages: each waits for the network anew"
    return f"a call takes {most} numbers, and there are {numbers}" if most > numbers else ""


NODES = Form(
    "nodes_results.csv",
    (
        count("nodes", "nodes, played on one machine"),
        count("processes", "processes on each node"),
        positive("samples_per_s", "of all processes together", "samples/s"),
        positive("efficiency", "samples_per_s of a process / samples_per_s of the first row"),
        DEVICE,
    ),
    rows=((1, 1), (1, 2), (2, 1), (2, 2)),
    keys=2,
)


def row_problem(rows: Sequence[Row]) -> str:
    """Say how the efficiencies of a rehearsal do not follow from its rates."""
    for row in rows:
        each = row["samples_per_s"] / (row["nodes"] * row["processes"])
        wrong = NODES.mismatch(row, "efficiency", each / rows[0]["samples_per_s"], 0.01)
        if wrong:
            return f"{wrong}, of {row['samples_per_s']:.4g} samples/s"
    return ""
