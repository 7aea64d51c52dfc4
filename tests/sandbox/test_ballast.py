"""NVML and a ballast on a card that is made up: their real code, on stand-ins for NVIDIA's libraries in C.

No machine with a GPU has run this (docs/gpu.md).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("stand_in_gpu.c")
COMPILER = shutil.which("gcc")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not COMPILER, reason="no gcc here to make the stand-ins with"),
]


@pytest.fixture(scope="module")
def on_a_card(tmp_path_factory):
    """Run scenarios in a process that finds the stand-ins where the driver's libraries would be."""
    home = tmp_path_factory.mktemp("card")
    (home / "card").touch()
    for name in ("libnvidia-ml.so.1", "libcuda.so.1"):
        command = [
            COMPILER,
            "-Wall",
            "-Wextra",
            "-Werror",
            "-shared",
            "-fPIC",
            "-o",
            home / name,
            SOURCE,
        ]
        subprocess.run(command, check=True)

    def run(what):
        environ = {**os.environ, "LD_LIBRARY_PATH": str(home), "STAND_IN_CARD": str(home / "card")}
        command = [sys.executable, "-m", "tests.sandbox.on_a_card", what]
        done = subprocess.run(
            command, env=environ, cwd=SOURCE.parents[2], check=True, stdout=subprocess.PIPE
        )
        return json.loads(done.stdout)

    return run


@pytest.fixture(scope="module")
def found(on_a_card):
    """What came of each."""
    return on_a_card("scenarios")


OUT_OF_MEMORY = "raised MemoryError: CUDA answered 2"
# The baseline needs 1100 MB, its context included, and 880 are left: 600 beside a context of 300 need the slack.
SQUEEZED = {
    "less": "ok",
    "much less": "ok",
    "less, of a card in pieces": "ok",
    "as much": OUT_OF_MEMORY,
    "between two looks": OUT_OF_MEMORY,
    "before the work": OUT_OF_MEMORY,
    "in pieces": OUT_OF_MEMORY,
    "what the card has to spare": (
        "SpoiltError: 851 MB of the GPU were free where 956 MB were left: somebody else used it"
    ),
    "without the ballast": "SpoiltError: the ballast on the GPU was gone before its time",
    "a bar that tells nobody apart": "SpoiltError: the baseline, too, finished in 1154 MB",
    "a figure that is too small": (
        "SpoiltError: the baseline took 1049 MB, and did not finish when so much was left"
    ),
    "a full card": "OwedError: the GPU has 1149 MB free, and 1187 MB are asked for",
    "CUDA does not start": "OwedError: no ballast could be laid on the GPU: cuInit answered 999",
    "no driver": (
        "OwedError: no ballast could be laid on the GPU: "
        "libcuda.so.1: cannot open shared object file: No such file or directory"
    ),
}


@pytest.mark.parametrize("name", SQUEEZED)
def test_work_finishes_in_what_is_left_or_not(found, name):
    """However it takes its memory; what the card or somebody else spoilt is nobody's failure."""
    assert SQUEEZED[name] == found[name]


ALIKE = [100, 3996, 700]  # MB of the card that are used and free, and the peak of a worker
SEEN = {
    "by process": ALIKE,
    "by process, MIG off": ALIKE,
    "no process is named": ALIKE,
    "no process has a figure": ALIKE,
    "MIG": "OwedError: the GPU is divided (MIG), and the memory of one of its instances is not measured from outside",
    "NVML does not start": "OwedError: memory of the GPU cannot be seen: NVML says 'Driver Not Loaded'",
}


@pytest.mark.parametrize("name", SEEN)
def test_what_nvml_shows_of_a_worker_is_its_peak(found, name):
    """By process, or as growth of the whole card; what it cannot show is said and never zero."""
    assert SEEN[name] == found[name]


def test_every_scenario_is_judged(found):
    assert {*SQUEEZED, *SEEN} == set(found)


GRADED = {
    "much less": (
        "passed",
        "524 MB where the baseline takes 839 MB",
        "it finished with no more than that left on the GPU",
    ),
    "between two looks": (
        "failed",
        " MB where the baseline takes 839 MB",
        "with 570 MB left on the GPU it did not finish: MemoryError",
    ),
}


def test_a_memory_bar_of_a_part_is_decided_by_the_ballast(on_a_card):
    """From grade() to workers that were forked, looked at and squeezed; the check and its words are the part's."""
    graded = on_a_card("graded")

    for name, (outcome, *words) in GRADED.items():
        assert outcome == graded[name][0]
        assert [] == [word for word in words if word not in graded[name][1]]
