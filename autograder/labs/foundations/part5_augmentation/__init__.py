"""Part 5: augmentation. A batch augmented at once, with draws for each sample, on the device that it is on.

Above 60 lines an exercise: draws are judged by their distribution, and a batch is augmented again with the draws
that the student's code made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.checks import outputs
from autograder.claims.exercise import Exercise
from autograder.claims.families import Sizes
from autograder.lab import CASES, INTEGER, NUMBERS, Failed, Pair, Part, Passed, Student, Verdict
from autograder.labs.foundations.part5_augmentation import judges
from autograder.labs.foundations.part5_augmentation.judges import FOR_EACH, NAMES, SAMPLES, SEEDS

if TYPE_CHECKING:
    from autograder.labs.foundations.part5_augmentation.rig import Rig
else:
    Rig = Any


part = Part("part5_augmentation", writes=["draw_augmentation"])


# --- what is drawn ---

SEEDS_NOTHING = "call neither manual_seed nor torch.seed"


@part.probe(
    pair=True, values={**CASES, "pad": INTEGER}, arrays=NUMBERS, takes=["draw_augmentation"]
)
def draws(student: Student, rig: Rig) -> Any:
    """Many samples with each seed, more with the last generator, then a few numbers of the global one."""
    pad, first, other = rig.integer(2, 3), rig.integer(1, 10**6), rig.integer(10**6, 10**7)
    answers = rig.answers()
    rig.seed_globally(first + other)
    own, again, another = (rig.generator(seed) for seed in (first, first, other))
    for case, generator in zip(SEEDS, (own, again, another, another), strict=True):
        drawn = student.draw_augmentation(SAMPLES, generator, pad=pad)
        drawn = rig.returned("draw_augmentation", drawn)
        for name in NAMES:
            answers.add(f"{name} drawn with {case}", drawn[name])
    answers.add("global", rig.global_draws())
    return {**answers.values(), "pad": pad}


@part.check(basis="outputs")
def draws_for_each_sample(draws: Pair) -> Verdict:
    """draw_augmentation draws each number for each sample, evenly over its range."""
    drawn = judges.drawn(draws, FOR_EACH)
    if isinstance(drawn, Failed):
        return drawn
    of_a_seed = np.array([drawn[f"{name} drawn with {SEEDS[0]}"] for name in NAMES])
    problem = judges.draw_problem(draws.baseline.values["pad"], of_a_seed)
    return Failed(*problem) if problem else Passed(f"{SAMPLES} samples, all even")


@part.check(basis="outputs", needs=[draws_for_each_sample])
def follows_its_generator(draws: Pair) -> Verdict:
    """The same seed gives the same draws, another seed gives others, and the global generator is left alone."""
    drawn = judges.drawn(draws, FOR_EACH)
    if isinstance(drawn, Failed):
        return drawn
    given = "give generator=generator to each call that draws"
    for name in NAMES:
        first, again, other, later = (drawn[f"{name} drawn with {seed}"] for seed in SEEDS)
        if not np.array_equal(first, again):
            why = f"your code draws {name} without the generator that it gets"
            return Failed(f"{name} differs for the same seed", why, given)
        if np.array_equal(first, other):
            why = "your code sets a seed of its own"
            return Failed(
                f"{name} is the same for another seed", why, f"{given}, and {SEEDS_NOTHING}"
            )
        if np.array_equal(other, later):
            why = "each batch starts from the seed again, so all batches are augmented alike"
            return Failed(
                f"{name} is the same in a second call with one generator",
                why,
                "draw from the generator as it is; a copy or a new one begins at the seed",
            )
    if not np.array_equal(drawn["global"], draws.baseline.arrays["numbers"][-4:]):
        why = "usually your code sets the seed of the global generator"
        return Failed("the global generator moved", why, f"{given}, and {SEEDS_NOTHING}")
    return Passed("the same for the same seed")


# --- what becomes of a batch ---

augment = Exercise("augment", part)
PLAIN, MIRRORED = "plain crops", "mirrored images"
ENDS, BRIGHT = "offsets 0 and 2 * pad", "gains above 1"
FLIPPED = {PLAIN: 0.0, MIRRORED: 1.0}
GAINS = {PLAIN: (0.8, 1.0), MIRRORED: (0.8, 1.0), BRIGHT: (1.1, 1.2)}


@augment.inputs
def draw_batch(
    random: np.random.Generator,
    batch: Any = (0, 6),
    height: Any = (1, 12),
    width: Any = (1, 12),
    pad: Any = (0, 4),
    kind: Any = "",
) -> dict[str, Any]:
    """Draw a batch of all that there is, or of one kind, which has words of its own for what is wrong."""
    offsets = random.integers(0, 2 * pad + 1, (2, batch))
    top, left = 2 * pad * random.integers(0, 2, (2, batch)) if kind == ENDS else offsets
    return {
        "images": random.integers(0, 256, (batch, 3, height, width), np.uint8),
        "flip": random.random(batch) < FLIPPED.get(kind, 0.5),
        "top": top,
        "left": left,
        "gain": random.uniform(*GAINS.get(kind, (0.8, 1.2)), batch),
        "pad": pad,
    }


WIDE: Sizes = {"batch": 4, "height": 5, "width": 9, "pad": judges.PAD}


def slipped(**slip: Any) -> Callable[..., Any]:
    """Return an augment that makes a mistake."""

    def augment(images: Any, pad: int, **drawn: Any) -> Any:
        mean, std = (getattr(import_module("given"), name).numpy() for name in ("MEAN", "STD"))
        numbers = [drawn[name].numpy() for name in NAMES]
        result = judges.augmented(images.numpy(), numbers, mean, std, pad=pad, **slip)
        return drawn["gain"].new_tensor(result)

    return augment


THERE = "keep images, flip, top, left and gain as they are: no .cpu(), .item() or if"
CROPS = "top[:, None] + torch.arange(h, device=images.device) are the rows of each crop"
augment.same(
    {
        **{kind: {**WIDE, "kind": kind} for kind in (PLAIN, MIRRORED, BRIGHT, ENDS)},
        "pad is 2": {**WIDE, "pad": 2},
        "a 1 x 1 image": {"height": 1, "width": 1},
    },
    skip_families={
        "sizes drawn at random": "the first kind tells what is wrong, and other cases draw sizes"
    },
    within=1e-4,
    gradients=(),
    dtypes=(),
    name="augments_right",
    says="augment gives what the loop gives, also for no sample, one sample, one pixel, offsets at both ends, "
    "gains that take pixels above 1, views.",
    slips={
        (
            "your padding repeats the edge of an image, and must be zeros",
            "torch.nn.functional.pad(images, (pad, pad, pad, pad))",
        ): slipped(mode="edge"),
        (
            "pixels are divided by 256, and the brightest one is 255",
            "cropped.float() / 255",
        ): slipped(white=256),
        (
            "MEAN and STD are in the order blue, green, red: channel 0 gets those of channel 2",
            "use MEAN and STD as given has them",
        ): slipped(channels=-1),
        (
            "your code pads after it standardises: the border must be black, and is grey",
            "pad the uint8 images, before everything else",
        ): slipped(late=True),
        (
            "your code clamps after it standardises, and must clamp before it subtracts MEAN",
            "(cropped.float() / 255 * gain[:, None, None, None]).clamp(0, 1)",
        ): slipped(clamped=True),
        (
            "your code counts a mirrored column from the height, and must count it from the width",
            "columns = torch.where(flip[:, None], w - 1 - columns, columns)",
        ): slipped(mirrored_by=2),
    },
    why={
        "pad is": (
            "with pad=4 it is right: a 4 stands where pad belongs, or a call leaves pad out",
            "write pad in place of each 4, and hand pad on",
        ),
        "a 1 x 1": "other sizes are right: usually an image of one pixel loses a dimension",
        "batch is 0": (
            "an empty batch must give an empty result",
            "no loop and no torch.stack: then no images need no branch of their own",
        ),
        MIRRORED: (
            "plain crops are right: usually your code mirrors the padded image before the crop",
            "read column left + c, or left + w - 1 - c if flip, for c = 0 ... w - 1",
        ),
        BRIGHT: (
            "gains up to 1 are right: pixels must be clamped after the gain and before MEAN",
            "(cropped.float() / 255 * gain[:, None, None, None]).clamp(0, 1)",
        ),
        "": "the steps must be, in float32: pad with zeros, crop, divide by 255, multiply by gain, clamp, standardise",
    },
    try_="compare with baseline/part5_augmentation.py on one image of 5 x 9 pixels",
)
augment.leaves_inputs_alone(
    WIDE,
    name="leaves_inputs_alone",
    try_="clamp_ and other methods whose names end in _ change the tensor; clamp does not",
)
SMALL: Sizes = {"height": 8, "width": 8, "pad": judges.PAD}
augment.operations_do_not_grow(
    {**SMALL, "batch": 4, "kind": MIRRORED},
    {**SMALL, "batch": 32, "kind": MIRRORED},
    name="operations_do_not_grow",
    says="The number of torch operations does not grow with the batch.",
    why="your code loops in Python over samples",
    try_=CROPS,
)
augment.fetches_nothing(
    {**WIDE, "kind": ENDS},
    name="fetches_nothing",
    try_=THERE,
)
augment.stays_on_the_device(
    {"batch": 32, "height": 32, "width": 32, "pad": judges.PAD},
    bytes=100,
    name="stays_on_the_device",
    says="augment makes all tensors on the device of the images, and no shape depends on a value.",
    why="your code copies more to the device than the 24 bytes of MEAN and STD: a tensor is made on the CPU",
    hints={
        "a mask as an index": "torch.where(flip[:, None], ...) in place of the mask",
        "host asks for a value": THERE,
    },
    try_="device=images.device in each call that makes a tensor, and MEAN.to(images.device)",
)
augment.faster(
    {**SMALL, "batch": 256},
    name="augmentation_is_faster",
    says="augment is at least {bar} as fast as the loop on 256 small images.",
    why="bound by launches: crops, flips or gains are still made one sample at a time",
    try_=f"look at operations_do_not_grow; {CROPS}",
)

# --- from the loader to the device ---

prepare = Exercise("prepare_batch", part)


@prepare.inputs
def draw_images(
    random: np.random.Generator, batch: Any = (3, 6), height: Any = (5, 9), width: Any = (5, 9)
) -> dict[str, Any]:
    images = random.integers(0, 256, (batch, 3, height, width), np.uint8)
    return {"images": images, "seed": int(random.integers(1 << 30))}


FLAT = dict.fromkeys(("result", "mean", "std", *NAMES), ("float64", 1))


@part.probe(pair=True, arrays={"images": ("uint8", 4), **FLAT})
def prepared(student: Student, rig: Rig) -> Any:
    """A batch, and what the student draws with the same seed."""
    given = draw_images(rig.random, 6, 7, 9)
    images, seed = given["images"], given["seed"]
    drawn = student.draw_augmentation(len(images), rig.generator(seed))
    drawn = rig.returned("draw_augmentation", drawn)
    moved = rig.tensor(images.copy(), "uint8")
    result = student.prepare_batch(moved, rig.device, rig.generator(seed))
    numbers = {"result": result, "mean": rig.given("MEAN"), "std": rig.given("STD")}
    numbers |= {name: drawn[name] for name in NAMES}
    return {"images": images, **{name: rig.flat(it) for name, it in numbers.items()}}


def prepares_as_drawn(prepared: Pair) -> Verdict:
    trusted, own = prepared.baseline.arrays, prepared.student.arrays
    drawn = [own[name] for name in NAMES]
    expected = judges.augmented(trusted["images"], drawn, trusted["mean"], trusted["std"])
    got, right = own["result"], expected.ravel()
    apart = outputs.furthest(got, right, row=expected.shape[-1])
    if apart <= 1e-4:
        return Passed(f"off by {apart:.1e} of the largest number of a row")
    measured = f"{got.size} numbers, and {right.size} are right"
    if got.size == right.size:
        at = int(abs(got - right).argmax())
        measured = f"number {at} of the result is {got[at]:.4g}, and {right[at]:.4g} is right"
    why = "usually your code augments with other numbers than the first that the generator gives"
    try_ = "fix follows_its_generator first if it fails; then draw once, with the default pad"
    return Failed(measured, why, try_)


part.add_check(
    "prepares_what_it_draws",
    "prepare_batch augments each image with the numbers that "
    "draw_augmentation draws from the same generator.",
    "outputs",
    prepares_as_drawn,
    ["prepared"],
    needs=["draws_for_each_sample", "augments_right"],
)


def to_device(written: Any, given: Mapping[str, Any], device: Any, rig: Any) -> Any:
    return written(given["images"], device, rig.generator(given["seed"]))


prepare.stays_on_the_device(
    {"batch": 32, "height": 16, "width": 16},
    call=to_device,
    bytes=36_864,
    name="moves_bytes_not_floats",
    says="prepare_batch moves the images to the device as uint8, and makes float32 there.",
    why="your code moves more than the bytes of the uint8 images: usually float32, with four bytes each",
    try_="images.to(device) first, and augment them there",
    needs=["prepares_what_it_draws", "stays_on_the_device"],
)
