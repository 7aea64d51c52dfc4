"""Timed work done once: it answers in the form that its kind declares, alike for both sides."""

from __future__ import annotations

import pytest

from autograder.protocol.digest import Epoch, differing
from autograder.worker.timed_once import SAMPLES
from tests import timed_toy
from tests.timed_toy import BASELINE, LOADER
from tests.worker.harness import observe

KINDS = {
    "a call": (timed_toy.part, "sums", BASELINE),
    "a training": (timed_toy.part, "training", BASELINE),
    "a loader": (timed_toy.loader, "loads", LOADER),
}


@pytest.mark.parametrize(("part", "probe", "code"), KINDS.values(), ids=KINDS)
def test_both_sides_do_the_same(tmp_path, part, probe, code):
    """And `conform` found the declared arrays."""
    path = tmp_path / part.file
    path.write_text(code, encoding="utf-8")
    student, baseline, other = (
        observe(part, probe, path, seed, side)
        for seed, side in ((3, "student"), (3, "baseline"), (4, "student"))
    )

    assert ("ok", "ok") == (student.ended, baseline.ended), student.error
    arrays = [
        {name: array.tolist() for name, array in seen.arrays.items()}
        for seen in (student, baseline, other)
    ]
    assert arrays[0] == arrays[1] != arrays[2]


def test_an_epoch_without_its_tail_is_told_from_the_whole(tmp_path):
    """The last batch of an epoch that no clock runs on is a shorter one."""
    path, short = tmp_path / "whole.py", tmp_path / "short.py"
    path.write_text(LOADER, encoding="utf-8")
    short.write_text(
        LOADER.replace("batch_size)\n", "batch_size, drop_last=True)\n"), encoding="utf-8"
    )
    whole, cut = (
        Epoch(**observe(timed_toy.loader, "loads", file, 3).arrays) for file in (path, short)
    )

    assert ([8, 8, 8, 8, 8, 5], "40 samples came out of the loader in an epoch of 45") == (
        whole.sizes.tolist(),
        differing(cut, whole),
    )
    assert SAMPLES == sum(whole.sizes)
