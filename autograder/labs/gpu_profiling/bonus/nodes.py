"""Two nodes: their command lines, and averages for which one process of each node talks."""

from __future__ import annotations

from autograder.checks import outputs
from autograder.checks.hints import Causes, hinted
from autograder.claims.studies import Study
from autograder.lab import (
    CELL,
    INTEGER,
    TEXT,
    Answer,
    Failed,
    Pair,
    Passed,
    Student,
    Verdict,
    exactly,
    list_of,
    map_of,
    record,
)
from autograder.labs.gpu_profiling.bonus import torchrun
from autograder.labs.gpu_profiling.bonus.part import Rig, part
from autograder.model import verdict

NODE = 'see "Two nodes" in the bonus handout'
AGAIN = "run bonus.py again and submit the file that it wrote, unchanged"
SAME = 1e-5  # of the largest number: sums of some dozen products in another order


@part.probe(
    pair=True,
    values={"commands": exactly(2, list_of(list_of(TEXT))), "asked": list_of(map_of(CELL))},
)
def commands(student: Student, rig: Rig) -> Answer:
    """Two and more nodes, at addresses that are drawn."""
    written, asked = [], []
    for nodes in (2, rig.integer(3, 5)):
        call = {
            "script": f"train_{rig.integer(10, 99)}.py",
            "nodes": nodes,
            "processes": rig.integer(2, 8),
            "address": f"10.0.{rig.integer(1, 99)}.{rig.integer(1, 99)}",
            "port": rig.integer(20_000, 50_000),
        }
        lines = student.node_commands(*call.values())
        written.append([[rig.word(word) for word in words][:60] for words in lines][:9])
        asked.append(call)
    return {"commands": written, "asked": asked}


TURNS = 2  # averages that are taken, as in labs/gpu_profiling/bonus/rig/nodes.py
CALL = record(ranks=list_of(INTEGER), numbers=INTEGER)


@part.probe(
    pair=True,
    values={"calls": list_of(list_of(CALL)), "numbers": INTEGER},
    arrays=dict.fromkeys(("means", "own"), ("float64", 1)),
)
def means(student: Student, rig: Rig) -> Answer:
    """Two nodes of two processes each; what is expected is computed in one."""
    return rig.nodes().together(student) if rig.side == "student" else rig.nodes().alone()


START_HINTS: Causes = {
    "and no text": (
        "each word of a command line must be a str",
        "make each number a str: str(port), str(nodes)",
    ),
    "it begins with": 'the first word is "torchrun"',
    "it runs": "end each line with the script, after all options",
    "--nnodes is": "write --nnodes and the number in nodes",
    "--nproc-per-node is": "write --nproc-per-node and the number in processes",
    "--standalone": "leave --standalone out",
    "nodes meet at": "write --master-addr address and --master-port port on each node",
    "--node-rank": "write --node-rank 0 for the first node, 1 for the next one",
    "command lines for": "return one line for each node",
}


@part.check(basis="outputs")
def starts_each_node(commands: Pair) -> Verdict:
    """node_commands has a command line of torchrun for each node, which meet at the first one's address."""
    written, asked = commands.student.values["commands"], commands.baseline.values["asked"]
    for lines, call in zip(written, asked, strict=False):
        why = torchrun.problem(lines, torchrun.Wanted(**call))
        if why:
            at = int(why[5]) if why.startswith("node ") else 0
            line = " ".join(lines[at])[:200] if lines else "no command lines"
            return hinted(Failed(line, why, NODE), START_HINTS)
    return Passed(" ".join(written[0][0])[:200])


@part.check(basis="scripted")
def averages_over_nodes(means: Pair) -> Verdict:
    """With two nodes of two processes each, every process has the mean over all four processes after each call."""
    got, want = means.student.arrays["means"], means.baseline.arrays["means"]
    apart = outputs.furthest(got, want)
    if apart <= SAME:
        return Passed(f"off by {apart:.1e}")
    times = outputs.multiple(got, want, SAME)
    measured = f"means off by {apart:.1e}" if times is None else f"{times:.3g} times the mean"
    if times is not None:
        why = "your code divides the sum of all processes by the wrong number"
        return Failed(measured, why, "divide by dist.get_world_size(), the processes of all nodes")
    own = means.baseline.arrays["own"]
    if outputs.furthest(got, own) <= SAME:
        return Failed(
            measured, "the tensors that were given have not changed", "tensor.copy_(mean)"
        )
    halves = own.reshape(2, 2, -1).mean(axis=1, keepdims=True).repeat(2, axis=1).ravel()
    if outputs.furthest(got, halves) <= SAME:
        why = "each node has the mean over its own processes alone"
        return Failed(measured, why, "average between the nodes, too, in the group between")
    why = "usually a node is left out or counts twice"
    return Failed(measured, why, "reduce in each node, all_reduce between, broadcast in each node")


@part.check(basis="report", needs=[averages_over_nodes])
def one_of_a_node_talks(means: Pair) -> Verdict:
    """Only the first process of a node joins calls between nodes: at most two for an average, each of one tensor."""
    across = [torchrun.crossing(own, processes=2) for own in means.student.values["calls"]]
    counts = ", ".join(f"{len(calls)} of rank {rank}" for rank, calls in enumerate(across))
    why = torchrun.talk_problem(across, TURNS, means.baseline.values["numbers"])
    hints = {
        "no collective call": "call dist.all_reduce in the group between",
        "ranks 0 and 2": (
            "reduce in node; all_reduce in the group between only if "
            "dist.get_rank() == dist.get_process_group_ranks(node)[0]; broadcast in node"
        ),
        "waits for the network": "torch.cat all tensors before anything leaves the node",
        "a call takes": "send each number once",
    }
    judged = verdict(f"calls between nodes in {TURNS} averages: {counts}", why, NODE)
    return hinted(judged, hints)


Study(part, torchrun.NODES, "rehearse_nodes").is_consistent(
    torchrun.row_problem,
    says="The submitted nodes_results.csv has the four shapes, and efficiencies that follow from its rates.",
    try_=AGAIN,
    name="nodes_results_fit",
)
