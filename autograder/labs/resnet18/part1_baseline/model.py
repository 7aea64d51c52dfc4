"""The model: ResNet-18 with a last layer for the classes, from fresh or pretrained weights."""

from __future__ import annotations

from typing import Any

from autograder.checks import outputs
from autograder.lab import CASES, INTEGER, NUMBERS, Answer, Failed, Pair, Student, Verdict
from autograder.labs.resnet18.part1_baseline.part import Rig, part
from autograder.traces.words import many


@part.probe(
    pair=True,
    values={**CASES, **dict.fromkeys(("downloads", "frozen", "random"), INTEGER)},
    arrays=NUMBERS,
)
def fresh_models(student: Student, rig: Rig) -> Answer:
    answers = rig.answers()
    images = rig.tensor(rig.random.normal(size=(2, 3, 32, 32)))
    with rig.downloads.reached() as asked:
        for classes in (10, rig.integer(3, 99)):
            net = student.make_model(classes=classes)
            random = sum("Dropout" in type(module).__name__ for module in net.modules())
            frozen = _frozen(net)
            with rig.no_grad():
                outputs = rig.downloads.filled(net).eval()(images)
            answers.add(f"make_model(classes={classes})(images)", outputs)
    return {**answers.values(), "downloads": asked.weights, "frozen": frozen, "random": random}


BUILD = "models.resnet18(weights=weights), then model.fc = nn.Linear(model.fc.in_features, classes)"


@part.probe(
    pair=True,
    values={**CASES, "frozen": INTEGER},
    arrays=NUMBERS,
    hints={"raised": BUILD},
)
def pretrained(student: Student, rig: Rig) -> Answer:
    """Weights of a secret seed come instead of the downloaded ones; the last layer is filled on both sides."""
    answers = rig.answers()
    images = rig.tensor(rig.random.normal(size=(2, 3, 32, 32)))
    classes = rig.integer(3, 99)
    if rig.side == "student":
        with rig.downloads.reached():
            net = student.make_model(rig.downloads.WEIGHTS, classes)
    else:
        net = rig.downloads.pretrained(classes)
    rig.downloads.filled(net.fc)
    with rig.no_grad():
        answers.add("make_model(weights, classes)(images)", net.eval()(images))
    return {**answers.values(), "frozen": _frozen(net)}


def _frozen(net: Any) -> int:
    return sum(not parameter.requires_grad for parameter in net.parameters())


FROZEN = "your code sets their requires_grad to False", "remove requires_grad_(False)"


@part.check(basis="outputs", compared="answers")
def builds_resnet18(fresh_models: Pair) -> Verdict:
    """make_model() is torchvision's ResNet-18 with one output for each class, and downloads nothing."""
    observed = fresh_models.student.values
    if observed["downloads"]:
        why = "your code asks torchvision for weights, although weights is None"
        return Failed("make_model() downloads pretrained weights", why, BUILD)
    if frozen := observed["frozen"]:
        return Failed(f"{frozen} of the model's parameters do not train", *FROZEN)
    if random := observed["random"]:
        measured = f"the model has {many(random, 'dropout layer')}, but ResNet-18 has none"
        return Failed(measured, "your code adds a layer", BUILD)
    why = "your model is not torchvision's ResNet-18 with a new fc alone"
    return outputs.same(fresh_models, 1e-4, why=why, try_=BUILD)


@part.check(basis="outputs", needs=[builds_resnet18], compared="answers")
def keeps_pretrained_weights(pretrained: Pair) -> Verdict:
    """make_model(weights, classes) keeps the pretrained weights of all layers but the last."""
    if frozen := pretrained.student.values["frozen"]:
        return Failed(f"{frozen} of the model's parameters do not train", *FROZEN)
    why = "the layers before fc do not hold the weights that were passed to make_model"
    return outputs.same(pretrained, 1e-4, why=why, try_=BUILD)
