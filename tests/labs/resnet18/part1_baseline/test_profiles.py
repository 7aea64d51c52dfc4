"""What a probe needs around a profiler: ranges that are open while work runs, and made traces whose figures are known."""

from __future__ import annotations

import numpy as np
import pytest
from torch.autograd.profiler import record_function

from autograder.labs.resnet18.part1_baseline.rig import Rig
from autograder.labs.resnet18.part1_baseline.rig.traces import Made


@pytest.fixture
def window(tmp_path):
    return Rig(seed=7, side="student", device="cpu", folder=tmp_path).window([4])


def work(window, forward="forward"):
    images, labels = next(iter(window.loader))
    with record_function(forward), record_function("inner"):
        loss = window.criterion(window.model(images), labels)
    with record_function("backward"):
        loss.backward()
    window.optimizer.step()


def test_work_is_counted_in_the_ranges_that_are_open(window, tmp_path):
    rig = Rig(seed=7, side="student", device="cpu", folder=tmp_path)
    with rig.profiles.ranges(window) as seen:
        work(window)
        work(window)

    assert [
        {"work": "backward", "ranges": ["backward"], "count": 2},
        {"work": "forward", "ranges": ["forward", "inner"], "count": 2},
        {"work": "loss", "ranges": ["forward", "inner"], "count": 2},
        {"work": "optimizer.step()", "ranges": [], "count": 2},
    ] == seen.values()


def test_ranges_are_left_alone_afterwards(window, tmp_path):
    before = record_function.__enter__, record_function.__exit__
    with Rig(seed=7, side="student", device="cpu", folder=tmp_path).profiles.ranges(window) as seen:
        pass
    with record_function("later"):
        assert before == (record_function.__enter__, record_function.__exit__)

    assert [] == seen.values()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("busy", [0.42, 0.88, 0.0])
def test_what_is_known_of_a_made_trace_is_what_our_reader_finds(tmp_path, seed, busy):
    """Two ways to the same figures: by construction, and by reading the file."""
    from autograder.traces import read

    made, gpu = Made(np.random.default_rng(seed), busy=busy), busy > 0
    (tmp_path / "made_trace.json.gz").write_bytes(made.data())
    trace, known = read(tmp_path / "made_trace.json.gz"), made.expected()

    assert pytest.approx(known["loading"]) == trace.figure("dataloader", "steps")
    assert known["top"] == [row.name for row in trace.rows("operators")[:3]]
    copied = trace.figure("h2d_time")
    assert known["busy"] == (pytest.approx(trace.figure("busy_kernel", "steps")) if gpu else None)
    assert known["copied"] == (pytest.approx(copied / 1e6) if gpu else None)
