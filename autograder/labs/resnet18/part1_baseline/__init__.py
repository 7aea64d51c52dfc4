"""Part 1: baseline and profile. Data and model as asked, an honest clock, a profile of ten batches, what it says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from autograder.checks import numerics, outputs
from autograder.checks import trace as profile
from autograder.checks.numerics import shown
from autograder.claims.answers import Answers, Question, Slips, Values, percent
from autograder.claims.epochs import TrainingLoop
from autograder.errors import SubmissionError
from autograder.lab import (
    BOOLEAN,
    CASES,
    INTEGER,
    NUMBERS,
    TEXT,
    Failed,
    Pair,
    Part,
    Passed,
    Tolerance,
    Verdict,
    exactly,
    list_of,
    record,
)
from autograder.traces import Trace
from autograder.traces.words import many

part = Part(
    "part1_baseline",
    writes=[
        "make_transforms",
        "make_data",
        "make_model",
        "train_epoch",
        "profile_training",
        "analyse_trace",
    ],
    hands_in=["baseline_trace.json.gz", "answers.json", "part1_notes.md"],
)

MEAN, STD = np.array([0.4914, 0.4822, 0.4465]), np.array([0.2470, 0.2435, 0.2616])
IMAGENET = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
DRAWS = 80  # of the transforms
RANGES = ("forward", "backward", "optimizer_step")
PASSED_OVER, RECORDED = 2, 10  # batches of the profile
BATCHES = PASSED_OVER + RECORDED
CONVOLUTIONS = 20  # of ResNet-18
BYTES = 16 * 1024 * 1024  # of a trace
CLOCK = 'see "An honest clock" in the part 1 handout'
SCHEDULE = 'see "The schedule" in the part 1 handout'
QUESTIONS = 'see "Four questions" in the part 1 handout'

# Measured on 2026-11-21 on a CPU with torch 2.15: A, the furthest that right work came (channels_last or not; 30 seeds,
# of the profile 8), and C, the nearest that a mistake came (the rate 10 % off, eval(); 8 seeds).
#   PLAIN, losses apart, and weights apart relative to their norm. A: 2.4e-7 and 3.3e-8. C: 3.7e-3 and 1.4e-3.
#   UPDATE of the profiled batches, apart relative to its norm. A: 5.5e-7. C: 0.083.
PLAIN = Tolerance(losses=3e-6, weights=4e-7)
UPDATE = 1e-4
TRAINED = {"start": ("float32", 1), "weights": ("float32", 1)}


# --- what is run: data and model --------------------------------------------------------------------------------------


@part.probe(
    pair=True,
    values={"shape": list_of(INTEGER), "dtype": TEXT, "colour": list_of(INTEGER), "size": INTEGER},
    arrays=dict.fromkeys(("plain", "left", "right"), ("float64", 1)),
)
def transformed(student: Any, rig: Any) -> Any:
    """A picture of one colour shows the normalising; one that brightens from left to right, the cuts and mirrors."""
    size, colour = rig.integer(20, 40), [rig.integer(30, 220) for _ in range(3)]
    transform = student.make_transforms(size)
    plain = [transform(rig.picture(np.full((32, 32, 3), colour))) for _ in range(4)]
    ramp = rig.picture(np.broadcast_to(8 * np.arange(32)[None, :, None], (32, 32, 3)))
    drawn = [transform(ramp) for _ in range(DRAWS)]
    lines = [rig.flat(image).reshape(-1, image.shape[-1]).mean(axis=0) for image in drawn]
    left, right = np.array([(line[:4].mean(), line[-4:].mean()) for line in lines]).T
    named = {"shape": list(plain[0].shape), "dtype": str(plain[0].dtype).removeprefix("torch.")}
    return {
        **named,
        "colour": colour,
        "size": size,
        "plain": rig.flat(plain),
        "left": left,
        "right": right,
    }


SHOWN = 8  # pictures that are looked at


def known(rig: Any, size: int) -> list[tuple[Any, int]]:
    """Return the first pictures of the stand-in for CIFAR-10, transformed, with their classes."""
    drawn = zip(rig.downloads.colours[:SHOWN], rig.downloads.labels[:SHOWN], strict=True)
    return [
        (rig.tensor((colour / 255 - MEAN) / STD)[:, None, None].expand(3, size, size), label)
        for colour, label in drawn
    ]


@part.outputs
def cifar10(student: Any, rig: Any) -> Any:
    """A stand-in for CIFAR-10, each picture of one colour: what is read must be that, normalised."""
    seen, size = rig.answers(), rig.integer(20, 40)
    with rig.downloads.reached():
        dataset = (
            student.make_data("cifar10", size, str(rig.folder))
            if rig.side == "student"
            else known(rig, size)
        )
        for index in range(SHOWN):
            image, told = dataset[index]
            seen.add(f"class of picture {index}", rig.tensor([int(told)]))
            seen.add(f"picture {index}", image)
    return seen.seen()


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
ASKED = (  # make_data(...), what there is of the internet, and what comes
    ("auto", ONLINE, "cifar10"),
    ("auto", OFFLINE, "synthetic"),
    ("auto", CORRUPTED, "synthetic"),
    ("cifar10", OFFLINE, "the error of the download"),
    ("synthetic", ONLINE, "synthetic"),
    ("imagenet", ONLINE, "ValueError"),
)


@part.probe(
    pair=True,
    values={
        "sources": exactly(len(ASKED), SOURCE),
        "cifar10": list_of(INTEGER),
        "synthetic": list_of(INTEGER),
    },
)
def sources(student: Any, rig: Any) -> Any:
    """Which data comes, by what is asked for and whether there is a network; told by the first classes."""
    came = []
    for data, network, _ in ASKED:
        classes, length, shape, raised, folder = [], 0, [], "", rig.folder / "data of the set"
        half = [HALF_A_DOWNLOAD] * (network == CORRUPTED)
        with rig.downloads.reached(network == ONLINE, *half) as asked:
            try:
                dataset = student.make_data(data, 24, str(folder))
                classes = [int(dataset[index][1]) for index in range(16)]
                length, shape = len(dataset), list(getattr(dataset[0][0], "shape", ()))
            except NotImplementedError:  # a RuntimeError, and no answer
                raise
            except ValueError:
                raised = "ValueError"
            except (OSError, RuntimeError):
                raised = "the error of the download"
        elsewhere = sum(not (rig.folder / root).is_relative_to(folder) for root in asked.roots)
        facts = {"classes": classes, "length": length, "shape": shape, "raised": raised}
        came.append({**facts, "sets": asked.sets, "elsewhere": elsewhere})
    return {"sources": came, "cifar10": rig.downloads.labels[:16], "synthetic": came[4]["classes"]}


@part.probe(
    pair=True,
    values={**CASES, **dict.fromkeys(("downloads", "frozen", "random"), INTEGER)},
    arrays=NUMBERS,
)
def fresh_models(student: Any, rig: Any) -> Any:
    seen, images = rig.answers(), rig.tensor(rig.random.normal(size=(2, 3, 32, 32)))
    with rig.downloads.reached() as asked:
        for classes in (10, rig.integer(3, 99)):
            net = student.make_model(classes=classes)
            frozen, random = _frozen(net), _random(net)
            with rig.no_grad():
                seen.add(
                    f"answers of ResNet-18 for {classes} classes",
                    rig.downloads.filled(net).eval()(images),
                )
    return {**seen.seen(), "downloads": asked.weights, "frozen": frozen, "random": random}


@part.probe(pair=True, values={**CASES, "frozen": INTEGER}, arrays=NUMBERS)
def pretrained(student: Any, rig: Any) -> Any:
    """Weights of a secret seed come instead of the downloaded ones; the last layer is filled on both sides."""
    seen, images, classes = (
        rig.answers(),
        rig.tensor(rig.random.normal(size=(2, 3, 32, 32))),
        rig.integer(3, 99),
    )
    with rig.downloads.reached():
        weights = rig.downloads.WEIGHTS
        net = (
            student.make_model(weights, classes)
            if rig.side == "student"
            else rig.downloads.pretrained(classes)
        )
    rig.downloads.filled(net.fc)
    with rig.no_grad():
        seen.add("answers with the weights that were asked for", net.eval()(images))
    return {**seen.seen(), "frozen": _frozen(net)}


def _frozen(net: Any) -> int:
    return sum(not one.requires_grad for one in net.parameters())


def _random(net: Any) -> int:
    return sum("Dropout" in type(one).__name__ for one in net.modules())


# --- what is run: the profile -----------------------------------------------------------------------------------------


@part.probe(
    pair=True,
    arrays={**TRAINED, "trace": ("uint8", 1)},
    values={
        "ran": list_of(record(work=TEXT, ranges=list_of(TEXT), count=INTEGER)),
        "still": BOOLEAN,
        "taken": INTEGER,
        "returned": TEXT,
    },
)
def profiled(student: Any, rig: Any) -> Any:
    """More batches than are profiled; what the profiler wrote is read outside."""
    window = rig.window([4] * rig.integer(14, 17), momentum=0.9)
    window.model.eval()
    start, taken = window.weights(), list[int]()
    window.loader.listeners.append(taken.append)
    arguments = (window.model, window.loader, window.criterion, window.optimizer, window.device)
    with rig.profiles.ranges(window) as seen:
        returned = student.profile_training(*arguments, folder=str(rig.made_folder()))
    file = rig.file_bytes(rig.made_folder() / part.artefacts["baseline_trace"], BYTES + 1)
    told = {
        "ran": seen.values(),
        "still": bool(seen.running) or rig.profiles.profiling(),
        "taken": len(taken),
    }
    told["returned"] = "" if hasattr(returned, "key_averages") else type(returned).__name__[:60]
    return {**told, "start": start, "weights": window.weights(), "trace": file}


SHARES = (0.42, 0.51, 0.72, 0.81)  # of a step, or up to 0.07 more, that a GPU is busy
LOW, HIGH = 50.0, 80.0  # percent
ROUNDED = 0.051  # percentage points: of one decimal
NS_IN_MS = 1e6
GPU_WINDOW = "that is the share of a window that the steps' gpu_user_annotations belong to"
ADDED = "that is the share of the durations of the steps added up, and there is time between them"
LEFT_OUT = "a wait that goes on after the steps is left out, and a part of it is inside"
WHOLE = "that is the share of the whole recording, and the steps are the window"


def wrong_band(answers: Values) -> str:
    """Say how the band of the utilization is not that of its number; at a limit either one is right."""
    percents, band = answers["gpu_utilization_percent"], answers["gpu_utilization_band"]
    bands: list[str | None] = [None]
    if percents is not None:
        bands = [_band(percents + lost) for lost in (-ROUNDED, ROUNDED)]
    why = f"gpu_utilization_band is {band!r}, and for a utilization of {shown(percents)} % it is"
    return "" if band in bands else f"{why} {bands[-1]!r}"


def _band(percents: float) -> str:
    return "low" if percents < LOW else "high" if percents > HIGH else "medium"


FORM = {
    "data_loading_percent": percent("data", "data_loading", required=True, rounded=ROUNDED),
    "gpu_utilization_percent": percent("gpu", "gpu_utilization", rounded=ROUNDED),
    "host_to_device_ms": Question("gpu", "h2d_time", NS_IN_MS, zero=True, rounded=0.0051),
    "gpu_utilization_band": Question("gpu", rule=wrong_band),
    "top_operators": Question("top", names=3, required=True),
}
questions = Answers(part, "analyse_trace", FORM, reason="gpu", see=QUESTIONS)


@questions.asks
def made(rig: Any) -> Iterator[tuple[bytes, Values, Slips]]:
    """Traces of which everything is known: of a GPU on either side of 50 and of 80 %, and without one."""
    for busy in [*(rig.seconds(low, low + 0.07, 1)[0] for low in SHARES), 0.0]:
        trace = rig.profiles.made(rig.random, busy=busy)
        known = trace.known()
        right = {
            "data_loading_percent": known["loading"],
            "gpu_utilization_percent": known["busy"],
            "gpu_utilization_band": None if known["busy"] is None else _band(known["busy"]),
            "host_to_device_ms": known["copied"],
            "top_operators": known["top"],
        }
        slips = {
            "data_loading_percent": {
                "waits outside of the steps are counted as well": known["loading_outside"],
                LEFT_OUT: known["loading_inside"],
                ADDED: known["loading_of_sum"],
                WHOLE: known["loading_of_all"],
                GPU_WINDOW: known["loading_of_gpu"],
            },
            "gpu_utilization_percent": {
                "durations were added up, and kernels that overlap counted twice": known["summed"],
                ADDED: known["busy_of_sum"],
                WHOLE: known["busy_of_all"],
                GPU_WINDOW: known["busy_of_gpu"],
            },
            "host_to_device_ms": {
                "copies from the device are counted as well": known["copied_both"],
                "that is what the window holds, and all of the trace counts": known["copied_inside"]
                or 0.0,
            },
        }
        yield trace.data(), right, slips


# --- what is judged: data and model -----------------------------------------------------------------------------------


@part.check(basis="outputs")
def normalises(transformed: Pair) -> Verdict:
    """make_transforms gives float32 tensors of the asked size, normalised by CIFAR-10's mean and standard deviation."""
    seen, known = transformed.student, transformed.baseline.values
    try_, size = (
        "Compose([RandomResizedCrop, RandomHorizontalFlip, ToTensor, Normalize(MEAN, STD)])",
        known["size"],
    )
    if (seen.values["shape"], seen.values["dtype"]) != ([3, size, size], "float32"):
        measured = (
            f"{seen.values['dtype']} {tuple(seen.values['shape'])}, not float32 (3, {size}, {size})"
        )
        return Failed(measured, "ToTensor is missing, or the size is not image_size", try_)
    colour = np.array(known["colour"]) / 255
    want, pixels = (colour - MEAN) / STD, np.resize(seen.arrays["plain"], (4, 3, size * size))
    apart = float(np.max(np.abs(pixels - want[None, :, None])))
    measured = f"a picture of one colour is {apart:.2g} away from (colour / 255 - MEAN) / STD"
    if apart <= 1e-4:
        return Passed(measured)
    if np.ptp(pixels, axis=2).max() > 1e-4:
        return Failed(measured, "it has edges: pixels that are in no part of the picture", try_)
    if np.ptp(pixels, axis=0).max() > 1e-4:
        return Failed(
            measured,
            "its colours change each time: something else than cutting and mirroring is random",
            try_,
        )
    stories = {
        "it is not normalised": colour,
        "the numbers are ImageNet's": (colour - IMAGENET[0]) / IMAGENET[1],
    }
    why = next(
        (
            words
            for words, other in stories.items()
            if np.allclose(pixels[0, :, 0], other, atol=1e-3)
        ),
        "",
    )
    return Failed(measured, why or "it is normalised by other numbers", try_)


@part.check(basis="outputs", needs=[normalises])
def augments(transformed: Pair) -> Verdict:
    """make_transforms cuts another part each time, and mirrors it half the time."""
    left, right = (np.resize(transformed.student.arrays[name], DRAWS) for name in ("left", "right"))
    steep = right - left
    mirrored, widths = int(np.sum(steep < 0)), np.abs(steep)
    spread = float(np.std(widths) / max(np.mean(widths), 1e-9))
    measured = f"{mirrored} of {DRAWS} mirrored; widths of the parts vary by {spread:.0%}"
    if not DRAWS // 4 <= mirrored <= DRAWS * 3 // 4:
        return Failed(
            measured,
            "half of them are to be mirrored left to right",
            "transforms.RandomHorizontalFlip()",
        )
    if spread < 0.1:
        why = "each time the same part of the picture, or parts of one size"
        return Failed(measured, why, "transforms.RandomResizedCrop(image_size)")
    return Passed(measured)


@part.check(basis="outputs", needs=[normalises], compared="pictures and classes")
def reads_cifar10(cifar10: Pair) -> Verdict:
    """make_data("cifar10") gives the training pictures and classes of torchvision's CIFAR10, transformed."""
    why = {
        "class of": "these are not the classes of the training set",
        "picture": "these are not the pictures of the training set, or they are not transformed",
    }
    try_ = "datasets.CIFAR10(root=folder, train=True, download=True, transform=make_transforms(image_size))"
    return outputs.same(cifar10, 1e-4, why=why, try_=try_)


@part.check(basis="scripted")
def falls_back(sources: Pair) -> Verdict:
    """Without a network "auto" takes the synthetic set and "cifar10" fails; "synthetic" asks for no download."""
    known = sources.baseline.values
    pictures = known["sources"][4]["length"]
    for (data, network, expected), came in zip(
        ASKED, sources.student.values["sources"], strict=True
    ):
        drawn = [name for name in ("cifar10", "synthetic") if known[name] == came["classes"]]
        got = came["raised"] or next(iter(drawn), "other data")
        measured = f'make_data("{data}") {network} gives {got}'
        # Which pictures of CIFAR-10 these are, reads_cifar10 says.
        read = expected == "cifar10" and got == "other data" and came["sets"] > 0
        if got != expected and not read:
            return Failed(measured, f"{expected} was expected", _instead(data, expected))
        if came["elsewhere"]:
            why = "CIFAR-10 was put into another folder than the one asked for"
            return Failed(measured, why, "root=folder")
        if data == "synthetic" and came["sets"]:
            why = "and it asks for CIFAR-10 all the same"
            return Failed(measured, why, "look at data before CIFAR10(...) is made")
        if expected == "synthetic" and (came["length"], came["shape"]) != (pictures, [3, 24, 24]):
            measured += f": {many(came['length'], 'picture')} of shape {tuple(came['shape'])}"
            why = f"{pictures:,} of shape (3, 24, 24) were expected, transformed"
            return Failed(measured, why, "Pictures(transform=make_transforms(image_size))")
    return Passed(f"the data that was asked for, in {len(ASKED)} cases")


def _instead(data: str, expected: str) -> str:
    if expected == "ValueError":
        return "raise ValueError(...) for any other name"
    if expected == "cifar10":
        return f'CIFAR10(root=folder, train=True, download=True, ...) for "{data}"'
    return "catch OSError and RuntimeError where auto was asked for, and neither for cifar10"


FROZEN = (
    "all layers are to train, and the profile of a frozen network is another one",
    "leave requires_grad as it is",
)


@part.check(basis="outputs", compared="answers")
def builds_resnet18(fresh_models: Pair) -> Verdict:
    """make_model() is torchvision's ResNet-18 with one output for each class, and downloads nothing."""
    if fresh_models.student.values["downloads"]:
        why = "weights were asked for, though none were wanted"
        return Failed("it downloads pretrained weights", why, "weights=None, not pretrained=True")
    if frozen := fresh_models.student.values["frozen"]:
        return Failed(f"{frozen} of its parameters do not train", *FROZEN)
    if random := fresh_models.student.values["random"]:
        measured = f"it has {many(random, 'dropout layer')}, and ResNet-18 has none"
        return Failed(measured, "its answers in train() are random", "model.fc = nn.Linear(...)")
    why = "another network, or layers in another order"
    return outputs.same(
        fresh_models,
        1e-4,
        why=why,
        try_="models.resnet18(weights=None), with an fc of classes outputs",
    )


@part.check(basis="outputs", needs=[builds_resnet18], compared="answers")
def keeps_pretrained_weights(pretrained: Pair) -> Verdict:
    """make_model(weights, classes) keeps the pretrained weights of all layers but the last."""
    if frozen := pretrained.student.values["frozen"]:
        return Failed(f"{frozen} of its parameters do not train", *FROZEN)
    try_ = (
        "models.resnet18(weights=weights), then model.fc = nn.Linear(model.fc.in_features, classes)"
    )
    return outputs.same(
        pretrained, 1e-4, why="the layers before fc do not hold the weights asked for", try_=try_
    )


# --- what is judged: the training loop --------------------------------------------------------------------------------


loop = TrainingLoop(part, "train_epoch")
loop.follows(
    "trains_right",
    PLAIN,
    says="train_epoch trains in train(), one step for each batch, and returns its losses.",
    momentum=0.5,  # so that steps of another optimizer show
)
loop.returns_its_metrics(
    "batches", says="loss is the mean of the losses, accuracy a percentage of the samples."
)
loop.keeps_an_honest_clock(see=CLOCK)
loop.waits_rarely()


# --- what is judged: the profile --------------------------------------------------------------------------------------


@part.check(basis="outputs", compared="weights")
def trains_on_twelve_batches(profiled: Pair) -> Verdict:
    """profile_training trains on the first 12 batches, one step each, and on no more."""
    taken = profiled.student.values["taken"]
    why = "other batches than the first 12, not in train(), a step left out, or gradients piled up without zero_grad"
    if taken not in (BATCHES, BATCHES + 1):  # one more says that it is too many
        why = f"{many(taken, 'batch', 'batches')} taken, where the first {BATCHES} are to be trained on"
    try_ = f"model.train(), islice(loader, 12), zero_grad before each backward(); {SCHEDULE}"
    return numerics.same_update(profiled, UPDATE, why=why, try_=try_)


@part.check(basis="report")
def follows_the_schedule(profiled: Pair) -> Verdict:
    """profile_training writes a trace of batches 2 to 11, a ProfilerStep each, and leaves no profiler on."""
    try_ = f"schedule(wait=1, warmup=1, active=10, repeat=1), and prof.step() after each batch; {SCHEDULE}"
    data, file = profiled.student.arrays["trace"].tobytes(), part.artefacts["baseline_trace"]
    if not data:
        why = "it was exported elsewhere or under another name, or the ten batches were never complete"
        return Failed(
            f"no {file} in folder",
            why,
            f"prof.export_chrome_trace(str(Path(folder) / '{file}')); {try_}",
        )
    if any(one["work"] == profile.EARLY for one in profiled.student.values["ran"]):
        why = "its steps then begin in the middle of a batch, and hold batches 1 to 10"
        return Failed("prof.step() was called before a batch was trained on", why, try_)
    if profiled.student.values["still"]:
        return Failed(
            "a profiler is still on",
            "it was started and never stopped",
            "with profile(...) as prof:",
        )
    if kind := profiled.student.values["returned"]:
        return Failed(
            f"profile_training returned {kind}",
            "it has to return the profiler",
            "return prof, after its with block",
        )
    try:
        why = profile.recorded(profile.read(data, file), RECORDED, PASSED_OVER)
        steps = sum(
            one["count"] for one in profiled.student.values["ran"] if one["work"] == "prof.step"
        )
        if not why and steps < BATCHES:
            why = f"prof.step() came {many(steps, 'time')} in {BATCHES} batches: the last one ended with the profiler"
        if not why and not any(
            one["work"] == profile.WARM_UP for one in profiled.student.values["ran"]
        ):
            why = "no batch was for warm-up, so the first recorded step pays for the profiler"
    except SubmissionError as error:
        why = str(error)
    return Failed(f"{file} of {len(data)} bytes", why, try_) if why else Passed("steps 2 to 11")


@part.check(basis="report")
def ranges_hold_their_work(profiled: Pair) -> Verdict:
    """Model and loss run inside "forward", the backward pass inside "backward", the step inside "optimizer_step"."""
    asked = {
        "forward": "forward",
        "loss": "forward",
        "backward": "backward",
        "step": "optimizer_step",
    }
    ran = profiled.student.values["ran"]
    for work, name in asked.items():
        times = sum(one["count"] for one in ran if one["work"] == work)
        inside = sum(
            one["count"]
            for one in ran
            if one["work"] == work and {*one["ranges"]} & {*RANGES} == {name}
        )
        if inside < max(times, RECORDED):
            measured = f"{work} ran {times} times, and {inside} times inside '{name}' and no other of the three"
            return Failed(
                measured,
                "a range shows the time of what is inside it",
                f'with record_function("{name}"):',
            )
    return Passed(f"{', '.join(asked)}: each in its range")


questions.knows(
    "finds_the_wait_for_data",
    "analyse_trace finds the share of the steps that was spent waiting for the loader.",
    "data",
    try_="time of enumerate(DataLoader)... inside the window, over its length",
)
questions.knows(
    "finds_the_work_of_the_gpu",
    "analyse_trace finds utilization, its band and the copies to the GPU, "
    "or None and a reason where there is none.",
    "gpu",
    try_="count overlapping kernels once; where there is no kernel, None and a sentence that says why",
)
questions.knows(
    "finds_the_top_operators",
    "analyse_trace names the three operators with the most time of their own.",
    "top",
    try_="own_times(load_events(file)), from given",
)


# --- what is judged: the files that are handed in ---------------------------------------------------------------------


@part.check(basis="artefact")
def trace_is_whole(baseline_trace: Trace) -> Verdict:
    """The baseline_trace.json.gz handed in holds ten steps of ResNet-18, with their ranges and the wait for data."""
    why = profile.recorded(baseline_trace, RECORDED, PASSED_OVER, RANGES)
    why = why or profile.another_network(baseline_trace, CONVOLUTIONS)
    measured, evidence = f"{len(baseline_trace.steps)} steps", profile.consists_of(baseline_trace)
    try_ = "run part1_baseline.py and hand in the file that it wrote"
    return Failed(measured, why, try_, evidence) if why else Passed(measured, evidence)


questions.fits(
    "answers_fit_the_trace",
    "The answers.json handed in has its form and is what the trace handed in with it says.",
    *("data", "gpu", "top"),
    about="baseline_trace",
    try_="let analyse_trace read the trace that you hand in, and write what it returns; perflab trace shows figures",
)
