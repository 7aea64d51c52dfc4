"""Where values are brought to the host: who waits there, and a device that works by itself until somebody does."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from autograder.worker.fetches import Queue
from autograder.worker.rig import Rig


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
        ("log.append(loss.detach())", []),
        (
            "model(images).sum().backward(); torch.nn.utils.get_total_norm([p.grad for p in model.parameters()], 2.0, True)",
            [],
        ),
    ],
)
def test_a_wait_is_noted_with_its_line_when_student_code_causes_it_between_batches(rig, tmp_path, line, calls):
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

    assert [{"line": 7, "call": "a tensor's value", "batches": [0, 1, 2]}] == seen.values()


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
