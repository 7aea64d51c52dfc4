"""Judges what is said about several nodes: command lines of torchrun, as data, and calls between their processes.

A problem is one sentence, or nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autograder.checks.commands import Grammar, Line
from autograder.checks.table_form import DEVICE, Form, Row, count, positive

GRAMMAR = Grammar(
    "torchrun",
    flags="standalone no-python module run-path",
    valued=(
        "nnodes nproc-per-node node-rank master-addr master-port "
        "rdzv-backend rdzv-endpoint rdzv-id rdzv-conf "
        "max-restarts monitor-interval start-method role log-dir redirects tee local-addr"
    ),
    instead={"--nodes": "--nnodes", "--nproc": "--nproc-per-node", "--rank": "--node-rank",
             "--world-size": "--nnodes and --nproc-per-node", "--num-processes": "--nproc-per-node"},
)  # fmt: skip
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


def parsed(words: Sequence[str]) -> Line:
    """Take a command line apart; python -m torch.distributed.run is torchrun, and _ in an option's name is -."""
    name = "".join(word.rsplit("/", 1)[-1] for word in words[:1])
    if name.startswith("python") and words[1:2] == ["-m"] and set(words[2:3]) <= MODULES:
        words = ["torchrun", *words[3:]]
    return GRAMMAR.parsed([re.sub(r"^--[^=]*", _dashed, word) for word in words])


def _dashed(name: re.Match[str]) -> str:
    return name[0].replace("_", "-")


def problem(commands: Sequence[Sequence[str]], wanted: Wanted) -> str:
    """Say what is wrong with the command lines of all nodes."""
    if len(commands) != wanted.nodes:
        return f"{len(commands)} command lines for {wanted.nodes} nodes"
    lines = [parsed(words) for words in commands]
    for node, line in enumerate(lines):
        if why := _line_problem(line, wanted):
            return f"node {node}: {why}"
    return _rank_problem(lines)


def _line_problem(line: Line, wanted: Wanted) -> str:
    wrong = (
        line.problem
        or line.runs_another([wanted.script])
        or line.other("--nnodes", wanted.nodes)
        or line.other("--nproc-per-node", wanted.processes)
    )
    if wrong:
        return wrong
    if "--standalone" in line.options:
        return "--standalone is for one node: each node would train alone"
    return _place_problem(line, wanted)


def _place_problem(line: Line, wanted: Wanted) -> str:
    """Say how nodes do not meet at the first one's address."""
    master = f"{line.value('--master-addr')}:{line.value('--master-port')}"
    endpoint = line.value("--rdzv-endpoint") or master
    place = f"{wanted.address}:{wanted.port}"
    if endpoint == place:
        return ""
    return f"nodes meet at {endpoint[:60]}, and the first one listens at {place}"


def _rank_problem(lines: Sequence[Line]) -> str:
    """Say how nodes are not told apart; a rendezvous by c10d numbers them itself."""
    ranks = [line.value("--node-rank") for line in lines]
    if not any(ranks) and all(line.value("--rdzv-backend") == "c10d" for line in lines):
        return ""
    expected = [str(number) for number in range(len(lines))]
    if ranks == expected:
        return ""
    nodes = f"the nodes are {', '.join(expected)}"
    if not any(ranks):
        return f"--node-rank is missing; {nodes}"
    listed = ", ".join(rank[:20] or "nothing" for rank in ranks)
    return f"--node-rank is {listed} in turn; {nodes}"


Calls = Sequence[Mapping[str, Any]]
"""Collective calls of one process: the ranks that each is between, and how many numbers it takes."""


def crossing(calls: Calls, processes: int) -> Calls:
    """Return those of them that are between nodes of so many processes."""
    return [call for call in calls if len({rank // processes for rank in call["ranks"]}) > 1]


def talk_problem(across: Sequence[Calls], turns: int, numbers: int) -> str:
    """Say how anybody but the first of each node talks to other nodes, or more often than twice for each average."""
    talkers = [rank for rank, own in enumerate(across) if own]
    if not talkers:
        return "no collective call between the nodes was seen"
    if any(rank % 2 for rank in talkers):
        return f"ranks {', '.join(map(str, talkers))} call between nodes; only ranks 0 and 2 may"
    often = max(map(len, across))
    if often > 2 * turns:
        return f"a rank makes {often} calls for {turns} averages: each waits for the network again"
    most = max(call["numbers"] for calls in across for call in calls)
    return f"a call takes {most} numbers, and the tensors have {numbers}" if most > numbers else ""


NODES = Form(
    "nodes_results.csv",
    (
        count("nodes", "nodes, played on one machine"),
        count("processes", "processes on each node"),
        positive("samples_per_s", "of all processes together", "samples/s"),
        positive(
            "efficiency", "samples_per_s / (nodes * processes) / samples_per_s of the first row"
        ),
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
