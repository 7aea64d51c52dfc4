"""Timed loading attacked: a loader that hands out something else than its data set is never believed."""

from __future__ import annotations

import time

import pytest

from autograder.clock.pairs import alternating
from autograder.grading.stopwatch import Stopwatch
from autograder.model import Job, Limits
from autograder.sandbox.load import Load
from autograder.sandbox.watch import Stopped
from autograder.sandbox.windows import TimedWorker
from tests import timed_toy
from tests.timed_toy import LAB, LOADER

pytestmark = pytest.mark.slow
SAMPLES, PART = 20, timed_toy.loader.id
START = "import time\nimport torch\nfrom torch.utils.data import BatchSampler, DataLoader, Dataset, SequentialSampler\n\n"
WORKERS = "def make_loader(dataset, batch_size):\n    return DataLoader(dataset, batch_size, {})"
TWO = START + WORKERS.format("num_workers=2, persistent_workers=True")


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr("autograder.sandbox.load.READ_SECONDS", (0.001, 0.002))


def job(code: str, side: str = "student") -> Job:
    return Job(LAB, PART, "loads", side, 1, Limits(), {f"{PART}.py": code.encode()})


def pair(workers, code: str, patience: float = 5.0) -> float:
    """One pair of a submission against the baseline, in windows of 0.03 s."""
    work = Load(SAMPLES, 7)
    baseline = TimedWorker("baseline", job(LOADER, "baseline"), workers, work, patience)
    return alternating(baseline, TimedWorker("student", job(code), workers, work, patience), 1)


HONEST = {
    "two workers that stay": "num_workers=2, persistent_workers=True",
    "workers of each epoch": "num_workers=2, prefetch_factor=4",
    "shuffled": "shuffle=True",
}


@pytest.mark.parametrize("options", HONEST.values(), ids=HONEST)
def test_honest_loading_is_timed_however_it_is_done(fenced, options):
    """Workers are stopped and go on with the process that they belong to."""
    assert -2 < pair(fenced, START + WORKERS.format(options)) < 2


OWN = """
class Own(DataLoader):
    def __iter__(self):
        {}

def make_loader(dataset, batch_size):
    return Own(dataset, batch_size)
"""
KEEPS = "self.kept = getattr(self, 'kept', None) or list(super().__iter__())\n        return iter(self.kept)"
REPEATS = "batches = list(super().__iter__())\n        return iter([batches[0], *batches[:1], *batches[2:]])"
SWAPS = "for images, labels in super().__iter__():\n            images[[0, 1]] = images[[1, 0]]\n            yield images, labels"
ENDLESS = """yield from super().__iter__()
        self.epochs = getattr(self, 'epochs', 0) + 1
        while self.epochs > 1: yield torch.zeros(1)
"""
ATTACKS = {
    "no samples": (
        OWN.format("return iter([])"),
        "0 samples came out of the loader in an epoch of 20",
    ),
    "the last epoch again": (OWN.format(KEEPS), "20 of 20 samples were none of this epoch's"),
    "without the tail": (
        WORKERS.format("drop_last=True"),
        "16 samples came out of the loader in an epoch of 20",
    ),
    "a batch twice": (
        OWN.format(REPEATS),
        "8 of 20 samples were none of this epoch's, or came a second time",
    ),
    "pictures with others' labels": (
        OWN.format(SWAPS),
        "6 of 20 samples were none of this epoch's",
    ),
    "other batches": (
        "def make_loader(dataset, batch_size):\n    return DataLoader(dataset, 20)",
        "your loader gives batches of 20 samples (1 in all); expected: 8, 8, 4 (3 in all)",
    ),
    "pictures rounded": (
        OWN.format(
            "return ((images.half().float(), labels) for images, labels in super().__iter__())"
        ),
        "20 of 20 samples were none of this epoch's",
    ),
    "no loader": ("def make_loader(dataset, batch_size):\n    return 3", "return a DataLoader"),
    "no batches": (
        OWN.format("return iter([1])"),
        "a batch is no tensor, tuple, list or dict of tensors",
    ),
    "batches without end": (
        OWN.format(ENDLESS),
        "was stopped after 1 s, the limit of one timed window",
    ),
}


@pytest.mark.parametrize(("code", "words"), ATTACKS.values(), ids=ATTACKS)
def test_what_is_not_the_data_set_stops_the_comparison(fenced, code, words):
    with pytest.raises(Stopped) as stopped:
        pair(fenced, START + code, patience=1.0)

    assert words in stopped.value.words


PATCHED = """
time.sleep = lambda seconds: None
time.perf_counter = time.monotonic = lambda: 0.0
import autograder.worker.rigs.loads as loads
loads.sleep = lambda seconds: None
"""


def test_a_wait_that_is_left_out_is_no_speedup(fenced):
    """What takes its time is the answer, and that lies elsewhere; who asks without a pause is slower."""
    assert pair(fenced, START + PATCHED + WORKERS.format("")) < 0.4


AT_ONCE = """
class AtOnce(DataLoader):
    def __iter__(self):
        cells = [cell.cell_contents for cell in type(self.dataset).__getitem__.__closure__]
        [store] = [cell for cell in cells if hasattr(cell, "_asks")]
        for index in range(len(self.dataset)):
            store._asks.send(index.to_bytes(8, "little"))
        return super().__iter__()

def make_loader(dataset, batch_size): return AtOnce(dataset, batch_size)
"""
THREADS = """
from concurrent.futures import ThreadPoolExecutor

class Threaded(Dataset):
    def __init__(self, dataset): self.dataset = dataset
    def __len__(self): return len(self.dataset)
    def __getitem__(self, index): return self.dataset[index]
    def __getitems__(self, indices):
        with ThreadPoolExecutor(8) as pool:
            return list(pool.map(self.dataset.__getitem__, indices))

def make_loader(dataset, batch_size): return DataLoader(Threaded(dataset), batch_size)
"""


@pytest.mark.parametrize("code", [AT_ONCE, THREADS], ids=["all at once", "by eight threads"])
def test_one_process_reads_one_sample_at_a_time(fenced, code):
    """However many it asks for: the store answers one after the other, and that takes its time."""
    assert pair(fenced, START + code) < 0.4


def test_workers_of_a_frozen_loader_stand_still(fenced):
    """Two workers with a batch before them: none is given a core, and afterwards the epoch is whole."""
    work = Load(SAMPLES, 1)
    arm = TimedWorker("student", job(TWO), fenced, work, 10)
    try:
        arm.start(1)
        assert len(arm._watched.processes()) >= 3
        for _ in range(3):
            arm.freeze()
            before = arm.turns()
            time.sleep(0.05)
            assert before == arm.turns()
            arm.thaw()
            arm.window()
    finally:
        arm.end()


def test_two_workers_pass_a_bar_of_one_point_three(fenced, monkeypatch):
    """Truly timed; short epochs, and the gate stands open. On a machine too busy nobody passes."""
    monkeypatch.setattr("autograder.sandbox.load.READ_SECONDS", (0.002, 0.004))
    stopwatch = Stopwatch(fenced)
    stopwatch._session.examined = time.monotonic()
    found = stopwatch(timed_toy.loader.probes["loads"], job(TWO), job(LOADER, "baseline"), 1.3)

    assert "ok" == found.ended, found.error
    if found.decision == "INCONCLUSIVE":
        pytest.skip(found.undecided)
    assert "PASS" == found.decision, found.measured
