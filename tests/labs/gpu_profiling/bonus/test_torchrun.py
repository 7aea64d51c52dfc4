"""Command lines of torchrun and calls between nodes are judged as data."""

from __future__ import annotations

import pytest

from autograder.labs.gpu_profiling.bonus import torchrun

WANTED = torchrun.Wanted("train.py", 2, 4, "10.0.0.1", 29500)
COMMON = [
    "--nnodes",
    "2",
    "--nproc-per-node",
    "4",
    "--master-addr",
    "10.0.0.1",
    "--master-port",
    "29500",
]
RIGHT = [["torchrun", *COMMON, "--node-rank", str(node), "train.py"] for node in (0, 1)]
C10D = "python -m torch.distributed.run --nnodes=2 --nproc_per_node=4 --rdzv-backend=c10d --rdzv-endpoint=10.0.0.1:29500"


def changed(old, new):
    """Both command lines with a word replaced."""
    return [" ".join(words).replace(old, new).split() for words in RIGHT]


def without_rank(node):
    return " ".join(RIGHT[node]).replace(f"--node-rank {node} ", "").split()


@pytest.mark.parametrize(
    ("commands", "words"),
    [
        pytest.param(RIGHT, "", id="as in the handout"),
        pytest.param(
            [[*C10D.split(), "train.py"]] * 2, "", id="a rendezvous that numbers nodes itself"
        ),
        pytest.param(RIGHT[:1], "1 command lines for 2 nodes", id="one node only"),
        pytest.param([RIGHT[0]] * 2, "--node-rank is 0, 0 in turn", id="the first node twice"),
        pytest.param(
            [RIGHT[0], without_rank(1)],
            "is 0, nothing in turn; the nodes are 0, 1",
            id="one without",
        ),
        pytest.param(
            [without_rank(0), without_rank(1)],
            "is missing; the nodes are 0, 1",
            id="none numbered",
        ),
        pytest.param([[], []], "begins with nothing", id="no words"),
        pytest.param(changed("torchrun", "python"), "it must be torchrun", id="python alone"),
        pytest.param(
            changed("--nnodes", "--nodes"), "it calls it --nnodes", id="an option of others"
        ),
        pytest.param(changed("--nnodes", "--gpus"), "no option '--gpus'", id="no option"),
        pytest.param(changed(" train.py", " --role"), "has no value", id="a value is missing"),
        pytest.param(
            changed("--nproc-per-node 4", "--nproc-per-node 8"),
            "--nproc-per-node is 8",
            id="all processes",
        ),
        pytest.param(changed("--nnodes 2", ""), "--nnodes is not there", id="no number of nodes"),
        pytest.param(
            changed("--node-rank", "--standalone --node-rank"), "train alone", id="standalone"
        ),
        pytest.param(
            changed("10.0.0.1", "localhost"), "nodes meet at localhost:29500", id="each at home"
        ),
        pytest.param(changed("train.py", "other.py"), "it runs other.py", id="another script"),
        pytest.param(changed("train.py", ""), "it runs nothing", id="no script"),
    ],
)
def test_a_command_line_for_each_node(commands, words):
    found = torchrun.problem(commands, WANTED)

    assert words in found
    assert bool(words) == bool(found)


def call(*ranks, numbers=10):
    return {"name": "all_reduce", "ranks": list(ranks), "numbers": numbers}


INSIDE, ACROSS = call(0, 1), call(0, 2)


@pytest.mark.parametrize(
    ("calls", "words"),
    [
        pytest.param([[INSIDE, ACROSS], [INSIDE], [ACROSS], []], "", id="the first ones"),
        pytest.param([[INSIDE], [INSIDE], [], []], "no collective call", id="nobody"),
        pytest.param(
            [[call(0, 1, 2, 3)]] * 4, "ranks 0, 1, 2, 3 call between nodes", id="everybody"
        ),
        pytest.param(
            [[ACROSS] * 3, [], [ACROSS] * 3, []], "3 calls for 1 averages", id="one after another"
        ),
        pytest.param(
            [[call(0, 2, numbers=11)], [], [ACROSS], []],
            "takes 11 numbers",
            id="more than there are",
        ),
    ],
)
def test_only_the_first_of_a_node_talks(calls, words):
    found = torchrun.talk_problem([torchrun.crossing(own, 2) for own in calls], 1, 10)

    assert words in found
    assert bool(words) == bool(found)


ROW = {"samples_per_s": 100.0, "efficiency": 1.0, "device": "a CPU"}
ROWS = [
    {**ROW, "nodes": float(nodes), "processes": float(each), "efficiency": 1 / (nodes * each)}
    for nodes, each in torchrun.NODES.rows
]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        pytest.param(ROWS, "", id="as it is written"),
        pytest.param(ROWS[:3], "ends after row 3; missing: 2 2", id="a shape is missing"),
        pytest.param(
            [*ROWS[:3], {**ROWS[3], "efficiency": 0.5}],
            "efficiency in the row of nodes 2, processes 2 is 0.5 where 0.25 is right",
            id="invented",
        ),
        pytest.param(
            [{**ROWS[0], "samples_per_s": 0.0}, *ROWS[1:]],
            "samples_per_s of nodes 1, processes 1 is 0, and has to be above 0",
            id="nothing",
        ),
        pytest.param(
            [*ROWS[:3], {**ROWS[3], "device": ""}], "the device is not named", id="nowhere"
        ),
        pytest.param(
            [*ROWS[:3], {**ROWS[3], "device": "a GPU"}], "from two machines", id="two machines"
        ),
    ],
)
def test_rows_of_a_rehearsal_fit_each_other(rows, words):
    found = torchrun.NODES.problem(rows) or torchrun.row_problem(rows)

    assert words in found
    assert bool(words) == bool(found)
