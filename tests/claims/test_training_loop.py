"""Claims about a loop that trains for an epoch: a right one keeps all, and each mistake is named by what it does."""

from __future__ import annotations

import pytest

from autograder.claims.training_loop import TrainingLoop
from autograder.lab import Part, Tolerance
from autograder.model import Failed, Passed
from tests.claims.harness import judged

LOOP = """
from time import perf_counter

import torch


def train(model, loader, criterion, optimizer, device):
    model.train()
    losses, samples, data_wait = [], 0, 0.0
    correct = torch.zeros((), dtype=torch.int64, device=device)
    start = fetch = perf_counter()
    for images, labels in loader:
        data_wait += perf_counter() - fetch
        images, labels = images.to(device), labels.to(device)
        optimizer.zero_grad()
        outputs = model(images)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
        correct += (outputs.detach().argmax(dim=1) == labels).sum()
        samples += len(labels)
        fetch = perf_counter()
    losses = torch.stack(losses).tolist()
    accuracy = 100 * correct.item() / samples
    seconds = locals().get("end", perf_counter()) - start
    return {"losses": losses, "loss": sum(losses) / len(losses), "accuracy": accuracy,
            "throughput": samples / seconds, "data_wait": data_wait, "stepped": len(losses)}
"""


class Claimed:
    """A part with a loop; `judged` asks for a part in this place."""

    def __init__(self, **metrics):
        self.part = Part("part1_loop", writes=["train"])
        loop = TrainingLoop(self.part, "train")
        follows = loop.follows(
            "trains_right",
            Tolerance(losses=3e-6, weights=4e-7),
            says="It trains.",
            see="see the handout",
            counts="stepped",
            momentum=0.5,
        )
        loop.returns_its_metrics("batches", says="It tells.", **{"smoothing": 0.5, **metrics})
        loop.keeps_an_honest_clock(see="see the clock")
        loop.waits_rarely(needs=[follows], also={self.other: self.judge})

    @staticmethod
    def other(*_):
        """Answer nothing: a probe of the part's own."""
        return {}

    @staticmethod
    def judge(_):
        return Passed("nothing else")


def changed(*pairs):
    text = LOOP
    for old, new in pairs:
        assert 1 == text.count(old), old
        text = text.replace(old, new)
    return text


def claimed(**metrics):
    made = Claimed(**metrics)
    made.part.probe(takes=[])(Claimed.other)
    return made


MISTAKES = {
    "no step": (
        "optimizer.step()",
        "pass",
        {"trains_right": "step() of the optimizer was never called"},
    ),
    "cleared too late": (
        "optimizer.step()",
        "optimizer.zero_grad(); optimizer.step()",
        {"trains_right": "no weight moved in 8 steps"},
    ),
    "two steps": (
        "optimizer.step()",
        "optimizer.step(); optimizer.step()",
        {"trains_right": "step() was called 16 times in 8 batches"},
    ),
    "steps by hand": (
        "optimizer.step()",
        "[it.data.sub_(1e-3 * it.grad) for it in model.parameters()]",
        {"trains_right": "step() of the optimizer that was passed in was never called"},
    ),
    "losses after the step": (
        "losses.append(loss.detach())",
        "losses.append(criterion(model(images), labels).detach())",
        {"trains_right": "usually they are taken after the step"},
    ),
    "in eval": ("    model.train()\n", "", {"trains_right": "usually model.train() is missing"}),
    "clipped": (
        "        optimizer.step()",
        "        torch.nn.utils.clip_grad_norm_(model.parameters(), 10.0)\n        optimizer.step()",
        {"trains_right": "gradients are clipped"},
    ),
    "old gradients": (
        "optimizer.zero_grad()",
        "pass",
        {"trains_right": "usually gradients of earlier batches are left"},
    ),
    "another loss": (
        "criterion(outputs, labels)",
        "torch.nn.functional.cross_entropy(outputs, labels)",
        {
            "trains_right": "the criterion passed in was never called",
            "returns_the_metrics": "yours is F.cross_entropy's",
        },
    ),
    "half of the loss, by the criterion's own method": (
        "criterion(outputs, labels)",
        "criterion.forward(outputs, labels) / 2",
        {"trains_right": "usually your code takes another loss", "returns_the_metrics": "is"},
    ),
    "one too many": (
        '"stepped": len(losses)',
        '"stepped": len(losses) + 1',
        {"trains_right": "stepped was called 9 times in 8 batches"},
    ),
    "a short list": (
        '"losses": losses,',
        '"losses": losses[:1],',
        {
            "trains_right": "1 loss for 8 batches",
            "returns_the_metrics": "only one loss is returned",
        },
    ),
    "rounded losses": (
        '"losses": losses,',
        '"losses": [round(it, 2) for it in losses],',
        {"trains_right": "the losses are rounded"},
    ),
    "called by its name": (
        "outputs = model(images)",
        "outputs = model.forward(images)",
        {"honest_throughput": "the model was never called"},
    ),
    "a fraction": (
        "100 * correct.item()",
        "correct.item()",
        {"returns_the_metrics": "it is a fraction"},
    ),
    "the first fetch left out": (
        "        data_wait +=",
        "        start = start if losses else perf_counter()\n        data_wait +=",
        {"honest_throughput": "the wait for the first batch is left out"},
    ),
    "before the device is done": (
        "    losses = torch.stack(losses).tolist()\n",
        "    end = perf_counter()\n    losses = torch.stack(losses).tolist()\n",
        {"honest_throughput": "the clock stops before the device has finished"},
    ),
    "a value at every step": (
        "losses.append(loss.detach())",
        "losses.append(loss.detach())\n        loss.item()",
        {"no_wait_per_step": "the host waited in 24 of 24 batches"},
    ),
}


@pytest.mark.parametrize("seed", range(2))
def test_a_right_loop_keeps_what_is_claimed(tmp_path, seed):
    found = judged(claimed(), LOOP, LOOP, tmp_path, seed=seed)

    assert [Passed] * 4 == [type(verdict) for verdict in found.values()], found


@pytest.mark.parametrize(("old", "new", "fails"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_named(tmp_path, old, new, fails):
    found = judged(claimed(), changed((old, new)), LOOP, tmp_path)

    failed = {name: it for name, it in found.items() if isinstance(it, Failed)}
    assert set(fails) == set(failed), failed
    for name, words in fails.items():
        assert words in f"{failed[name].measured} {failed[name].why}"


LISTED = {
    "[sum(losses[:at]) / at for at in range(1, 1 + len(losses))]": "the mean of the losses so far",
    "[0.5 * it for it in losses]": "each returned loss is 0.5 times the right one",
    "[8 * it for it in losses]": "the first loss is 8 times the right one",
}


@pytest.mark.parametrize(("listed", "words"), LISTED.items())
def test_losses_that_are_not_those_of_right_steps_are_told_apart(tmp_path, listed, words):
    text = changed(('"losses": losses,', f'"losses": {listed},'))
    found = judged(claimed(), text, LOOP, tmp_path, only="trains_right")

    assert words in found["trains_right"].why


def test_autocast_over_the_loss_is_known_by_its_rounding(tmp_path):
    old = "        outputs = model(images)\n        loss = criterion(outputs, labels)"
    new = old.replace("        ", "            ")
    text = changed((old, f"        with torch.autocast(device.type):\n{new}"))
    found = judged(claimed(), text, LOOP, tmp_path, only="trains_right")

    assert "the first loss has the rounding of 16 bits" in found["trains_right"].why


def test_who_returns_no_losses_has_not_shown_that_nobody_waits(tmp_path):
    text = changed(('"losses": losses, ', ""))
    found = judged(claimed(), text, LOOP, tmp_path, only="no_wait_per_step")

    assert "returned no 'losses'" in str(found["no_wait_per_step"])


def test_a_failure_with_a_next_step_points_to_nothing_else(tmp_path):
    text = changed(("optimizer.step()", "pass"), ("samples / seconds", "0.0"))
    found = judged(claimed(), text, LOOP, tmp_path)

    hints = [found[name].try_ for name in ("trains_right", "honest_throughput")]
    assert all(hints)
    assert not any("see the" in hint for hint in hints)


def test_another_judge_is_asked_where_nobody_waits():
    check = claimed().part.checks["no_wait_per_step"]

    assert ("waits", "other") == check.reads
    assert ("trains_right",) == check.needs


def test_losses_are_listed_and_slips_named_where_the_claim_says_so(tmp_path):
    text = changed(('"losses": losses,', '"losses": [it / 2 for it in losses],'))
    made = claimed(listed=True, slips={"it is half of it": 0.5})

    found = judged(made, text, LOOP, tmp_path, only="returns_the_metrics")["returns_the_metrics"]

    assert "loss is right, but losses is not: it is half of it" in found.why


def test_losses_that_are_wrong_are_not_said_to_be_of_another_criterion(tmp_path):
    text = changed(
        (
            "outputs = model(images)",
            "outputs = model(2 * images - 1)",
        ),
    )

    found = judged(claimed(smoothing=0.0), text, LOOP, tmp_path, only="returns_the_metrics")

    assert "yours is the mean of the losses that you return" in found["returns_the_metrics"].why
