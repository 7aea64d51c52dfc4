"""Where values are brought to the host: who waits there, and a device that works by itself until somebody does."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest
import torch

from autograder.worker.rig import Rig
from autograder.worker.rigs.fetches import GPU, Queue


@pytest.fixture
def rig(tmp_path):
    return Rig(seed=7, side="student", device="cpu", folder=tmp_path)


WAITING = """
import torch
def run(loader, model, log=[]):
    before = torch.ones(1).item()
    for images, labels in loader:
        loss = model(images).sum().detach()
        {}
    return torch.ones(1).item()
"""


@pytest.mark.parametrize(
    ("line", "calls"),
    [
        ("loss.item()", [".item()"]),
        ("float(loss)", ["float()"]),
        ("int(loss)", ["int()"]),
        ("loss.tolist()", [".tolist()"]),
        ("loss.detach().cpu()", [".cpu()"]),
        ("loss.detach().numpy()", [".numpy()"]),
        ("f'{loss:.3f}'", ["print()"]),
        ("str(loss)", ["print()"]),
        ("log.append(1) if loss > 0 else None", ["bool() or if"]),
        ("sum(x.item() for x in [loss])", [".item()"]),
        ("torch.tensor([loss])", ["tensor() of a list of tensors"]),
        ("torch.as_tensor(data=[(loss, 1.0)])", ["as_tensor() of a list of tensors"]),
        ("images.new_tensor([loss])", ["new_tensor() of a list of tensors"]),
        ("torch.tensor([1.0, 2.0]); torch.as_tensor(loss); torch.stack([loss])", []),
        ("log.append(loss.detach())", []),
        (
            "model(images).sum().backward(); torch.nn.utils.get_total_norm([p.grad for p in model.parameters()], 2.0, True)",
            [],
        ),
    ],
)
def test_a_wait_is_noted_with_its_line_when_student_code_causes_it_between_batches(
    rig, tmp_path, line, calls
):
    path = tmp_path / "student.py"
    path.write_text(WAITING.format(line))
    names = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    window = rig.window([2, 2, 1])
    with rig.waits(window, SimpleNamespace(__file__=str(path))) as seen:
        names["run"](window.loader, window.model)

    assert calls == [wait["call"] for wait in seen.values()]
    assert all((7, [0, 1, 2]) == (wait["line"], wait["batches"]) for wait in seen.values())


def test_a_wait_under_another_name_is_seen_by_what_it_runs(rig, tmp_path, monkeypatch):
    """Whoever replaces the methods that are watched still ends in the operator that fetches a value."""
    fetch = torch._C.TensorBase.item
    path = tmp_path / "student.py"
    path.write_text(WAITING.format("fetch(loss)"))
    names = {"fetch": fetch}
    exec(compile(path.read_text(), str(path), "exec"), names)

    def other(tensor):
        return fetch(tensor)

    monkeypatch.setattr(torch.Tensor, "item", other, raising=False)
    window = rig.window([2, 2, 1])
    with rig.waits(window, SimpleNamespace(__file__=str(path))) as seen:
        names["run"](window.loader, window.model)

    assert [
        {"line": 7, "call": "reads a tensor's value inside of a call", "batches": [0, 1, 2]}
    ] == seen.values()


@pytest.mark.parametrize(
    ("fetch", "waited"),
    [
        pytest.param(lambda losses: None, 0.0, id="nothing fetched"),
        pytest.param(lambda losses: torch.stack(losses).tolist(), 6.0, id="once, after the loop"),
        pytest.param(lambda losses: [loss.item() for loss in losses], 6.0, id="one by one"),
        pytest.param(lambda losses: torch.stack(losses).to("cpu"), 6.0, id="moved after the loop"),
    ],
)
def test_a_queue_is_waited_for_by_the_first_fetch_after_it(rig, fetch, waited):
    """Moving a batch between steps is no fetch, and a second pass over a batch leaves nothing."""
    window, clock = rig.window([2, 2, 1]), []
    with Queue(window.model, window.loader, 2.0, clock.append):
        losses = []
        for images, _ in window.loader:
            losses.append(window.model(images.to("cpu")).sum().detach())
            window.model(images)
        assert 0 == sum(clock)
        fetch(losses)

    assert waited == sum(clock)


@pytest.fixture
def gpu():
    GPU.install()
    yield GPU
    GPU.uninstall()


EPOCH = """
import torch
from torch.cuda import synchronize as wait
from torch.cuda import is_available

def run(model, loader, device):
    first, hits = next(model.parameters()), torch.zeros((), device=device)
    for images, _ in loader:
        outputs = model.to(device)(images.to(device, non_blocking=True))
        hits += outputs.argmax(1).sum()
    {}
"""


@pytest.mark.parametrize(
    ("line", "waited"),
    [
        ("pass", 0.0),
        ("wait(device)", 6.0),
        ("device.type == 'cuda' and wait()", 6.0),
        ("is_available() and torch.cuda.synchronize()", 6.0),
        ("first.is_cuda and first.device == outputs.device == device and wait()", 6.0),
        ("torch.accelerator.is_available() and torch.accelerator.synchronize()", 6.0),
        ("'torch.cuda.synchronize()'", 0.0),
        ("if device.type == 'mps': torch.mps.synchronize()", 0.0),
    ],
)
def test_a_gpu_is_played_for_a_loop_which_waits_for_it_under_any_name(rig, gpu, line, waited):
    """What it says elsewhere, or to another device, is no wait; no machine with a GPU is needed."""
    names, clock = {}, []
    exec(compile(EPOCH.format(line), "student.py", "exec"), names)

    def epoch(device):
        window = rig.window([2, 2, 1])
        with Queue(window.model, window.loader, 2.0, clock.append):
            names["run"](window.model, window.loader, device)
        return device.type

    assert ("cuda", waited) == (rig.on_a_gpu(epoch), sum(clock))


@pytest.mark.parametrize(
    ("move", "copied"),
    [
        (lambda images, device: images.to(device), 3.0),
        (lambda images, device: images.to(device=device, dtype=torch.float64), 3.0),
        (lambda images, _: images.cuda(), 3.0),
        (lambda images, device: images.to(device, non_blocking=True), 3.0),
        (lambda images, _: images.cuda(non_blocking=True), 3.0),
        (lambda images, _: images.to(torch.float64), 0.0),
        (lambda images, device: images.sum().to(device), 0.0),
    ],
)
def test_a_copy_of_images_takes_time_whether_it_is_waited_for_or_not(rig, gpu, move, copied):
    clock = []

    def epoch(device):
        window = rig.window([2, 2, 1])
        with Queue(window.model, window.loader, 0.0, clock.append, 1.0) as queue:
            for images, _ in window.loader:
                move(images, device)
        return queue.copied

    assert rig.on_a_gpu(epoch) == copied == sum(clock)


def test_a_thread_finds_the_gpu_that_is_played(rig, gpu):
    """A loop that moves its batches in a thread of its own goes on."""

    def epoch(device):
        moved = []
        thread = threading.Thread(target=lambda: moved.append(torch.ones(2).to(device)))
        thread.start()
        thread.join()
        return moved[0].is_cuda, thread.name != ""

    assert (True, True) == rig.on_a_gpu(epoch)


def test_what_a_gpu_that_is_played_cannot_do_is_left_to_the_cpu(rig, gpu):
    def epoch(device):
        if device.type == "cuda":
            torch.cuda.Event().record()
        return device.type

    assert "cpu" == rig.on_a_gpu(epoch)
    assert (False, False) == (GPU.played, torch.ones(1).is_cuda)
