"""Timed work attacked: a submission that does something else than the work, in a real worker, is never believed."""

from __future__ import annotations

import time

import pytest

from autograder.clock.pairs import alternating, sequential
from autograder.errors import SpoiltError
from autograder.grading.stopwatch import Stopwatch
from autograder.probe import Close
from autograder.sandbox import tree
from autograder.sandbox.calls import Calls
from autograder.sandbox.watch import Stopped
from autograder.sandbox.windows import TimedWorker
from tests import timed_toy
from tests.sandbox.timed_pair import CALLS, DEFINES, job, pair
from tests.timed_toy import BASELINE, TRAIN, TWICE_AS_FAST

pytestmark = pytest.mark.slow


HONEST = {
    "as it is meant": "def total(x): return honest(x)",
    "in place": "def total(x):\n    x += 1\n    return (x - 1).sum()[None]",
    "talks": "def total(x):\n    print('x' * 50)\n    print('warning', file=sys.stderr)\n    return honest(x)",
    "one buffer for all outputs": "kept = torch.zeros(1)\ndef total(x): return torch.sum(x, 0, keepdim=True, out=kept)",
    "a thread that waits": (
        "threading.Thread(target=threading.Event().wait, daemon=True).start()\ndef total(x): return honest(x)"
    ),
    "a process that waits": (
        "if os.fork() == 0:\n    time.sleep(60)\n    os._exit(0)\ndef total(x): return honest(x)"
    ),
    "takes long at the first call": (
        "built = []\ndef total(x):\n    if not built:\n        time.sleep(0.7)\n        built.append(1)\n    return honest(x)"
    ),
    "computes on a thread and waits for it": (
        "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(2)\n"
        "def total(x): return pool.submit(honest, x).result()"
    ),
}


@pytest.mark.parametrize("code", HONEST.values(), ids=HONEST)
def test_honest_work_is_timed_however_it_is_done(fenced, code):
    """Every output of the pair was as it should be."""
    assert -3 < pair(fenced, DEFINES + code, patience=0.5) < 6


WRONG = "was returned where the baseline returns"
REPLAY = """
past = []
def total(x):
    past.append(honest(x))
    return past[-21] if len(past) > 20 else past[-1]
"""
ALTERNATE = """
counted = 0
def total(x):
    global counted
    counted += 1
    return honest(x) if counted % 10 else torch.zeros(1)
"""
LAZY = """
class Later(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return torch.zeros(1)

def total(x): return torch.zeros(1).as_subclass(Later)
"""
FORGER = """
import struct, json, hashlib
import autograder.worker.windows as windows

def total(x): return honest(x)

def answer(self, asked, descriptors):
    if asked.kind == "SHOW":  # the work is done now, while no clock runs
        outputs = [self._call(inputs) for inputs in self.inputs]
        return windows.Message("OUTPUT", {}, {"output": outputs[asked.body["call"]]})
    self.inputs = windows.unseal(descriptors[0], asked.body)
    return windows.Message("ANSWER", {}, {"commitments": windows.np.zeros(32 * len(self.inputs), "uint8")})

windows.Calls.answer = answer
"""
ENDLESS = """
calls = 0
def total(x):
    global calls
    calls += 1
    time.sleep(60 if calls > 30 else 0)
    return honest(x)
"""
EARLY = """
def total(x):
    import autograder.worker.windows as windows
    said = windows.encode(windows.Message("ANSWER", {}, {"commitments": windows.np.zeros(32 * 20, "uint8")}))
    os.write(3, said)
    return honest(x)
"""
ATTACKS = {
    "no work": ("def total(x): return torch.zeros(1)", "refused", WRONG),
    "half of the work": ("def total(x): return 2 * honest(x[::2])", "refused", WRONG),
    "every tenth call left out": (ALTERNATE, "refused", WRONG),
    "the answers of the last window": (REPLAY, "refused", WRONG),
    "a tensor that pretends": (LAZY, "refused", None),
    "a first answer now, the work later": (FORGER, "refused", "showed a different output from while the clock ran"),
    "an answer before the work": (EARLY, "refused", None),
    "no number": ("def total(x): return honest(x) * float('nan')", "refused", WRONG),
    "no tensor": ("def total(x): return 3", "raised", "an int was returned where a tensor is asked for"),
    "an exception": ("def total(x): raise KeyError('x')", "raised", "KeyError: 'x' (part1_sums.py, line 7)"),
    "exit": ("def total(x): os._exit(0)", "crash", "ended itself with exit status 0 before it answered"),
    "an exit in words": ("def total(x): sys.exit(0)", "raised", "called sys.exit(0) (part1_sums.py, line 7)"),
    "a window without end": (ENDLESS, "timeout", "was stopped after 0.5 s, the limit of one timed window"),
    "not written": ("def total(x): raise NotImplementedError", "raised", "total is not written yet (part1_sums.py, line 7)"),
}  # fmt: skip


@pytest.mark.parametrize(("code", "ended", "words"), ATTACKS.values(), ids=ATTACKS)
def test_what_is_not_the_work_stops_the_comparison(fenced, code, ended, words):
    """With a reason that is the student's, whichever side was timed when it was found out."""
    with pytest.raises(Stopped) as stopped:
        pair(fenced, DEFINES + code, patience=0.5)

    assert (ended, True) == (stopped.value.ended, words is None or words in stopped.value.words), (
        stopped.value.words
    )


TOTAL = "import torch\n\ndef total(x): return x.sum()[None]\n"
RETURN, STEP = "    return losses", "        optimizer.step()\n"
HONEST_TRAINING = {
    "losses as a tensor": ("return losses", "import torch\n    return torch.tensor(losses)"),
    "channels last": (
        "losses = []",
        "losses = []\n    import torch\n    model.to(memory_format=torch.channels_last)",
    ),
    "gradients kept as zeros": ("zero_grad()", "zero_grad(set_to_none=False)"),
    "evaluates in between": (STEP, STEP + "        model.eval(); model(images); model.train()\n"),
    "one batch ahead": ("for images, labels in loader", "for images, labels in list(loader)"),
}
WRONG_TRAINING = {
    "losses from elsewhere": ("return losses", "return [1.386] * len(losses)", "the loss of batch 1 is 1.386"),
    "other weights": (RETURN, "    for p in model.parameters(): p.data.mul_(1.001)\n" + RETURN, "of their norm away"),
    "no step": (STEP, "", "the loss of batch 2 is"),
    "no last step": (STEP, "        if len(losses) < 7: optimizer.step()\n", "of their norm away"),
    "half of each batch": ("criterion(model(images), labels)", "criterion(model(images[::2]), labels[::2])", "the loss of"),
    "weights of the last window": ("losses = []", "losses = []\n    model.load_state_dict(globals().get('kept', model.state_dict()))\n    globals()['kept'] = {k: v.clone() * 1.01 for k, v in model.state_dict().items()}", "the loss of"),
    "an epoch that ends early": (RETURN, "    return losses[:-1]", "7 losses were returned for 8 batches"),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new"), HONEST_TRAINING.values(), ids=HONEST_TRAINING)
def test_honest_training_is_timed_however_it_is_done(fenced, old, new):
    assert -3 < pair(fenced, TOTAL + TRAIN.replace(old, new), probe="training") < 3


@pytest.mark.parametrize(("old", "new", "words"), WRONG_TRAINING.values(), ids=WRONG_TRAINING)
def test_what_is_not_the_training_stops_the_comparison(fenced, old, new, words):
    """Right losses with wrong weights, right weights with wrong losses, and both wrong."""
    with pytest.raises(Stopped, match=words):
        pair(fenced, TOTAL + TRAIN.replace(old, new), probe="training")


CORES = """
cores = os.sched_getaffinity(0)

def total(x):
    try:
        os.sched_setaffinity(0, range(os.cpu_count()))
    except PermissionError:
        raise RuntimeError(f"{len(cores)} core")
    raise RuntimeError("all cores")
"""


def test_more_cores_are_no_speedup(fenced):
    """Timed work has one core, and in the fence there is no way to another."""
    with pytest.raises(
        Stopped, match="1 core " if fenced.isolation == "bubblewrap" else "all cores "
    ):
        pair(fenced, DEFINES + CORES)


SOCKETS = """
import socket
ways = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6)

def opened(family):
    try:
        socket.socket(family).close()
        return "open"
    except OSError:
        return "refused"

def total(x): raise RuntimeError(", ".join(map(opened, ways)))
"""


def test_timed_work_has_no_sockets_of_the_internet(fenced):
    """TCP sends by timers of its own, on the core where they were set, while the other side is timed."""
    if fenced.isolation != "bubblewrap":
        pytest.skip("nothing is refused without the fence")
    with pytest.raises(Stopped, match="open, refused, refused "):
        pair(fenced, DEFINES + SOCKETS)


PATCHED = """
for name in ("perf_counter", "monotonic", "time", "process_time"):
    setattr(time, name, lambda: 0.0)
    setattr(time, name + "_ns", lambda: 0)
time.sleep = lambda s: None
torch.manual_seed(0)
"""


def test_patched_clocks_change_nothing(fenced):
    """Ours is in another process: the baseline's own work, with every timer at zero, is no faster."""
    assert pair(fenced, BASELINE + "import time\n" + PATCHED) == pytest.approx(0, abs=0.7)


@pytest.mark.parametrize("index", [0, 1], ids=["baseline first", "student first"])
def test_sides_that_run_one_after_the_other_are_compared_as_well(fenced, index):
    """As on a GPU: what the first one showed waits for the second."""
    work = Calls(timed_toy.draw, CALLS, 1, Close())
    baseline = TimedWorker("baseline", job(BASELINE, "baseline"), fenced, work, 5)
    student = TimedWorker(
        "student", job(DEFINES + "def total(x): return honest(x) + 1"), fenced, work, 5
    )

    with pytest.raises(Stopped, match=WRONG):
        sequential(baseline, student, 1, index)


def test_a_fault_of_the_baseline_is_never_the_students(fenced):
    work = Calls(timed_toy.draw, CALLS, 1, Close())
    baseline = TimedWorker(
        "baseline", job("def total(x): return 1 / 0", "baseline"), fenced, work, 5
    )

    with pytest.raises(RuntimeError, match="the baseline, timed: ZeroDivisionError"):
        alternating(baseline, TimedWorker("student", job(TWICE_AS_FAST), fenced, work, 5), 1)


def test_a_part_that_is_twice_as_fast_passes_a_bar_of_one_and_a_half(fenced, monkeypatch):
    """The one test that truly times; short windows, and the gate stands open. On a machine too busy nobody passes."""
    monkeypatch.setattr("autograder.grading.stopwatch.LONGEST_WINDOW_SECONDS", 0.04)
    stopwatch = Stopwatch(fenced)
    stopwatch._session.examined = time.monotonic()
    found = stopwatch(
        timed_toy.part.probes["sums"], job(TWICE_AS_FAST), job(BASELINE, "baseline"), 1.5
    )

    assert "ok" == found.ended
    if found.decision == "INCONCLUSIVE":
        pytest.skip(found.undecided)
    assert "PASS" == found.decision, found.measured


def test_a_kernel_that_counts_no_turns_times_nobody(monkeypatch):
    """Without them nobody could tell whether a stopped side ran."""
    monkeypatch.setattr(tree, "TURNS", tree.TURNS.with_name("no_such_file"))
    with pytest.raises(SpoiltError, match="does not tell who was given a core"):
        tree.turns([1])
