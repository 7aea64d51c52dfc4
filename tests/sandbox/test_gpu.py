"""A GPU in a box: its nodes and no others, and a box in which CUDA does not start is none. No GPU is needed here."""

from __future__ import annotations

import os
import subprocess

import pytest

from autograder.machine import device
from autograder.sandbox import BoxError, box, gpu, seccomp, try_out

NODES = ("null", "nvidia-modeset", "nvidia-uvm", "nvidia0", "nvidia1", "nvidia2", "nvidiactl")


def why_not() -> str:
    try:
        try_out()
    except BoxError as problem:
        return f"no box here: {problem}"
    return "" if os.geteuid() == 0 else "only root can make a node that stands for a GPU"


@pytest.fixture
def dev(tmp_path, monkeypatch):
    """The nodes of a machine with three GPUs, whose second one is CUDA's first."""
    for name in NODES:
        (tmp_path / name).touch()
    monkeypatch.setattr(device, "_ask_gpus", lambda _: ["1", "0", "2"])
    return tmp_path


@pytest.mark.parametrize(
    ("worker_device", "expected"),
    [
        pytest.param("cpu", [], id="a processor needs none"),
        pytest.param("cuda:0", ["nvidiactl", "nvidia-uvm", "nvidia1"], id="by its minor number"),
        pytest.param("cuda:2", ["nvidiactl", "nvidia-uvm", "nvidia2"], id="nothing of another GPU"),
    ],
)
def test_the_nodes_of_one_gpu(dev, worker_device, expected):
    assert expected == [path.name for path in gpu.nodes(worker_device, dev)]


@pytest.fixture
def stand_in():
    """A device that answers "no space left" to all that is written, below /dev as a GPU's would be."""
    node = f"/dev/perflab-test-{os.getpid()}"
    os.mknod(node, 0o20666, os.makedev(1, 7))
    os.chmod(node, 0o666)  # noqa: PTH101 mknod obeys the umask
    yield node
    os.unlink(node)  # noqa: PTH108


@pytest.mark.skipif(bool(why_not()), reason=why_not())
def test_a_node_that_is_lent_works_in_the_box_and_no_other_is_there(stand_in):
    """Opened and written to, which a bind without devices would refuse; without it the path does not exist."""
    said = f"import errno, os\ntry: os.write(os.open('{stand_in}', os.O_RDWR), b'x')\nexcept OSError as e: print(e.errno)"
    found = []
    for lent in ((), (stand_in,)):
        process = box.start(
            box.PACKAGE, ["/usr/bin/python3", "-c", said], lent, errors=subprocess.STDOUT
        )
        found.append(process.communicate()[0].split())

    assert [[b"2"], [b"28"]] == found  # no such file; no space left


def test_a_driver_may_have_memory_without_a_name_and_timers():
    """And nothing else that work on a processor may not."""
    with_gpu, without = (box.system_calls(gpu=wanted) for wanted in (True, False))
    instructions = (len(without) - len(with_gpu)) // 8

    assert 1 <= instructions / len(seccomp.WITH_A_GPU) <= 2
