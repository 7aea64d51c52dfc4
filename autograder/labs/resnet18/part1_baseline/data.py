"""Data: pictures cut and normalised, and what comes where there is no network."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograder.checks import outputs
from autograder.checks.numerics import Array
from autograder.lab import (
    INTEGER,
    TEXT,
    Answer,
    Failed,
    Pair,
    Passed,
    Student,
    Verdict,
    exactly,
    list_of,
    record,
)
from autograder.labs.resnet18.part1_baseline.part import Rig, part
from autograder.traces.words import many

MEAN, STD = np.array([0.4914, 0.4822, 0.4465]), np.array([0.2470, 0.2435, 0.2616])
IMAGENET = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
DRAWS = 80  # of the transforms


@part.probe(
    pair=True,
    values={"shape": list_of(INTEGER), "dtype": TEXT, "colour": list_of(INTEGER), "size": INTEGER},
    arrays=dict.fromkeys(("plain", "left", "right"), ("float64", 1)),
)
def transformed(student: Student, rig: Rig) -> Answer:
    """A picture of one colour shows the normalising; one that brightens from left to right, the cuts and mirrors."""
    size = rig.integer(20, 40)
    colour = [rig.integer(30, 220) for _ in range(3)]
    transform = student.make_transforms(size)
    plain = [transform(rig.picture(np.full((32, 32, 3), colour))) for _ in range(4)]
    ramp = rig.picture(np.broadcast_to(8 * np.arange(32)[None, :, None], (32, 32, 3)))
    drawn = [transform(ramp) for _ in range(DRAWS)]
    lines = [rig.flat(image).reshape(-1, image.shape[-1]).mean(axis=0) for image in drawn]
    left, right = np.array([(line[:4].mean(), line[-4:].mean()) for line in lines]).T
    return {
        "shape": list(plain[0].shape),
        "dtype": str(plain[0].dtype).removeprefix("torch."),
        "colour": colour,
        "size": size,
        "plain": rig.flat(plain),
        "left": left,
        "right": right,
    }


SHOWN = 8  # pictures that are looked at


def expected(rig: Rig, size: int) -> list[tuple[Any, int]]:
    """Return the first pictures of the stand-in for CIFAR-10, transformed, with their classes."""
    drawn = zip(rig.downloads.colours[:SHOWN], rig.downloads.labels[:SHOWN], strict=True)
    return [
        (rig.tensor((colour / 255 - MEAN) / STD)[:, None, None].expand(3, size, size), label)
        for colour, label in drawn
    ]


@part.outputs
def cifar10(student: Student, rig: Rig) -> Answer:
    """A stand-in for CIFAR-10, each picture of one colour: what is read must be that, normalised."""
    answers = rig.answers()
    size = rig.integer(20, 40)
    with rig.downloads.reached() as asked:
        dataset = (
            student.make_data("cifar10", size, str(rig.folder))
            if rig.side == "student"
            else expected(rig, size)
        )
        read = asked.sets or rig.side != "student"
        answers.add("the set that is read", asked.other or ("right" if read else "not CIFAR10"))
        for index in range(SHOWN):
            image, label = dataset[index]
            answers.add(f"class of picture {index}", rig.tensor([int(label)]))
            answers.add(f"picture {index}, transformed", image)
    return answers.values()


SOURCE = record(
    classes=list_of(INTEGER),
    length=INTEGER,
    shape=list_of(INTEGER),
    raised=TEXT,
    sets=INTEGER,
    elsewhere=INTEGER,
)
HALF_A_DOWNLOAD = RuntimeError("File not found or corrupted.")  # torchvision's own words
ONLINE, OFFLINE, CORRUPTED = "with a network", "without a network", "with half a download"
DOWNLOAD = "the error of the download"
CATCH = 'for "auto", catch OSError and RuntimeError, and return Pictures(transform=...)'
ASKED = (  # make_data(...), what there is of the internet, what comes; why other data comes, and what to try
    (
        "auto",
        ONLINE,
        "cifar10",
        "usually download=True is missing",
        "CIFAR10(root=folder, train=True, download=True, ...)",
    ),
    ("auto", OFFLINE, "synthetic", "your code lets this error, an OSError, out", CATCH),
    ("auto", CORRUPTED, "synthetic", "your code lets this error, a RuntimeError, out", CATCH),
    (
        "cifar10",
        OFFLINE,
        DOWNLOAD,
        "usually your code catches this error",
        'let the error of CIFAR10(...) through for "cifar10"',
    ),
    (
        "synthetic",
        ONLINE,
        "synthetic",
        "your code does not return it",
        "return Pictures(transform=...)",
    ),
    (
        "imagenet",
        ONLINE,
        "ValueError",
        "your code accepts any name",
        "raise ValueError(...) for any other name",
    ),
)


@part.probe(
    pair=True,
    values={
        "sources": exactly(len(ASKED), SOURCE),
        "cifar10": list_of(INTEGER),
        "synthetic": list_of(INTEGER),
    },
)
def sources(student: Student, rig: Rig) -> Answer:
    """Which data comes, by what is asked for and whether there is a network; told by the first classes."""
    came = []
    folder = rig.folder / "data of the set"
    for data, network, *_ in ASKED:
        classes, shape = list[int](), list[int]()
        length, raised = 0, ""
        problem = [HALF_A_DOWNLOAD] if network == CORRUPTED else []
        with rig.downloads.reached(network == ONLINE, *problem) as asked:
            try:
                dataset = student.make_data(data, 24, str(folder))
                classes = [int(dataset[index][1]) for index in range(16)]
                length, shape = len(dataset), list(getattr(dataset[0][0], "shape", ()))
            except NotImplementedError:  # a RuntimeError, and no answer
                raise
            except ValueError:
                raised = "ValueError"
            except (OSError, RuntimeError):
                raised = DOWNLOAD
        elsewhere = [root for root in asked.roots if not (rig.folder / root).is_relative_to(folder)]
        came.append(
            {
                "classes": classes,
                "length": length,
                "shape": shape,
                "raised": raised,
                "sets": asked.sets,
                "elsewhere": len(elsewhere),
            }
        )
    return {"sources": came, "cifar10": rig.downloads.labels[:16], "synthetic": came[4]["classes"]}


@part.check(basis="outputs")
def normalises(transformed: Pair) -> Verdict:
    """make_transforms returns float32 tensors of image_size, normalised by CIFAR-10's mean and standard deviation."""
    script = transformed.baseline.values
    size, colour = script["size"], np.array(script["colour"]) / 255
    shape, dtype = (transformed.student.values[name] for name in ("shape", "dtype"))
    if (shape, dtype) != ([3, size, size], "float32"):
        measured = f"got {dtype} {tuple(shape)}, expected float32 (3, {size}, {size})"
        if shape == [3, size, size]:
            why = "usually ToTensor() is missing, or a step after it changes the dtype"
            return Failed(measured, why, "transforms.ToTensor() makes it float32")
        why = "usually a fixed size stands in place of image_size"
        return Failed(measured, why, "transforms.RandomResizedCrop(image_size)")
    pixels = np.resize(transformed.student.arrays["plain"], (4, 3, size * size))
    right = (colour - MEAN) / STD
    apart = np.abs(pixels - right[None, :, None])
    at = np.unravel_index(np.argmax(apart), apart.shape)
    value = f"{pixels[at]:.4g}, and {right[at[1]]:.4g} is right"
    measured = f"a picture of one colour: a number of channel {at[1]} is {value}"
    if apart[at] <= 1e-4:
        return Passed(measured)
    return Failed(measured, *_not_normalised(pixels, colour))


def _not_normalised(pixels: Array, colour: Array) -> tuple[str, str]:
    """Say what became of pictures of one colour, and what to try; *pixels* are of several, by channel."""
    if np.ptp(pixels, axis=2).max() > 1e-4:
        why = "the pixels of a picture differ: usually padding adds a border"
        return why, "crop with RandomResizedCrop alone, which pads nothing"
    if np.ptp(pixels, axis=0).max() > 1e-4:
        why = "your transforms change colours at random"
        return why, "remove the transform that changes colours"
    stories = {
        "your transforms do not normalise": colour,
        "your transforms normalise with ImageNet's numbers": (colour - IMAGENET[0]) / IMAGENET[1],
    }
    why = next(
        (
            story
            for story, channels in stories.items()
            if np.allclose(pixels[0, :, 0], channels, atol=1e-3)
        ),
        "usually your transforms normalise with other numbers than MEAN and STD",
    )
    return why, "end with Normalize(MEAN, STD), whose numbers are in the file"


@part.check(basis="outputs", needs=[normalises])
def augments(transformed: Pair) -> Verdict:
    """make_transforms crops a different part each time, and mirrors half of them."""
    left, right = (np.resize(transformed.student.arrays[name], DRAWS) for name in ("left", "right"))
    steep = right - left
    mirrored = int(np.sum(steep < 0))
    widths = np.abs(steep)
    spread = float(np.std(widths) / max(np.mean(widths), 1e-9))
    if not DRAWS // 4 <= mirrored <= DRAWS * 3 // 4:
        why = "usually the p of RandomHorizontalFlip() is not 0.5"
        why = why if mirrored else "usually RandomHorizontalFlip() is missing"
        measured = f"{mirrored} of {DRAWS} pictures are mirrored, and about half is right"
        return Failed(measured, why, "transforms.RandomHorizontalFlip()")
    if spread < 0.1:
        why = "the size of the crop is not random, as with Resize or RandomCrop"
        measured = f"widths of the crops vary by {spread:.0%}, and more than 10% is right"
        return Failed(measured, why, "transforms.RandomResizedCrop(image_size)")
    return Passed(f"{mirrored} of {DRAWS} mirrored; widths of the crops vary by {spread:.0%}")


@part.check(basis="outputs", needs=[normalises], compared="pictures and classes")
def reads_cifar10(cifar10: Pair) -> Verdict:
    """make_data("cifar10") returns the training pictures and classes of torchvision's CIFAR10, transformed."""
    why = {
        "the set": "your code must read the training set of CIFAR10",
        "class of": "your code changes the classes of CIFAR10 or the order of its samples",
        "picture": "CIFAR10 does not get make_transforms(image_size) as transform",
    }
    try_ = (
        "datasets.CIFAR10(root=folder, train=True, "
        "download=True, transform=make_transforms(image_size))"
    )
    return outputs.same(cifar10, 1e-4, why=why, try_=try_)


@part.check(basis="scripted")
def falls_back(sources: Pair) -> Verdict:
    """Without internet, "auto" returns the synthetic set and "cifar10" fails; "synthetic" downloads nothing."""
    script = sources.baseline.values
    pictures = script["sources"][4]["length"]
    answers = sources.student.values["sources"]
    for (data, network, expected, cause, step), came in zip(ASKED, answers, strict=True):
        drawn = [name for name in ("cifar10", "synthetic") if script[name] == came["classes"]]
        got = came["raised"] or next(iter(drawn), "other data")
        measured = f'make_data("{data}") {network} gives {got}'
        # Which pictures of CIFAR-10 these are, reads_cifar10 says.
        read = expected == "cifar10" and got == "other data" and came["sets"] > 0
        if got != expected and not read:
            never = expected == "cifar10" and not came["sets"]
            why = "your code does not call CIFAR10(...)" if never else cause
            if step == CATCH and came["raised"] != DOWNLOAD:
                why = "usually your code does not return Pictures(...) there"
            return Failed(f"{measured}; it must give {expected}", why, step)
        if came["elsewhere"]:
            measured = f'make_data("{data}", folder="/tmp/x") downloads, but not into "/tmp/x"'
            why = "CIFAR10(...) does not get the argument folder as root"
            return Failed(measured, why, "CIFAR10(root=folder, ...)")
        if data == "synthetic" and came["sets"]:
            measured = 'make_data("synthetic") calls CIFAR10(...), which downloads'
            why = "your code makes the CIFAR-10 set for every name"
            return Failed(measured, why, "return Pictures(...) before CIFAR10(...) is called")
        if expected == "synthetic" and (came["length"], came["shape"]) != (pictures, [3, 24, 24]):
            measured += f": {many(came['length'], 'picture')} of shape {tuple(came['shape'])}"
            measured += f", and {pictures:,} of shape (3, 24, 24) are right"
            if came["length"] != pictures:
                why = "Pictures gets another number of samples than it has by default"
                return Failed(measured, why, "Pictures(transform=...), without a number")
            why = "usually Pictures gets another transform than make_transforms(image_size)"
            try_ = "fix normalises first if it fails; then "
            return Failed(measured, why, f"{try_}Pictures(transform=make_transforms(image_size))")
    return Passed(f"the right data in {len(ASKED)} cases")
