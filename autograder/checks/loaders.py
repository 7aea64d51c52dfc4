"""Judges a loader: what came out of two epochs, in which order, and with which options it was made.

What came out is a commitment to each sample, as `rig.loading.epoch` notes it under the name of an epoch. The baseline
delivers in the data set's own order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from autograder.model import Failed, Observation, Pair, Passed, Verdict
from autograder.protocol.digest import Epoch, differing
from autograder.traces.words import many

EPOCHS = ("first", "second", "alike", "another")
"""Two of one loader, the first of another with the same seed, the first of one with another seed."""
KINDS = (("cpu", 0), ("cpu", 3), ("cuda", 0), ("cuda", 3), ("cpu", 1))
"""Devices and workers of the loaders whose options are looked at."""
MOVES = ("images", "labels", "waited", "batches")
TOGETHER = 0.5  # of the samples may follow their neighbour in the data set; of shuffled ones 4 % do
REFUSED = (
    "leave out what DataLoader refuses, such as persistent_workers=True where num_workers is 0"
)
REASONS: Mapping[str, tuple[str, str]] = {
    "num_workers": (
        "num_workers is not always the number that is given",
        "pass the number of workers on to the DataLoader as it is given, also when it is 0",
    ),
    "pin_memory": (
        "pinned memory speeds up only copies to a GPU",
        'pin_memory is device.type == "cuda", or torch.cuda.is_available() where no device is given',
    ),
    "persistent_workers": (
        "workers that do not persist start again in each epoch",
        "let workers persist where there are workers, and nowhere else",
    ),
}
"""Why an option must be as it must be, and what to try."""
ANEW = "give the DataLoader the argument dataset itself, which each epoch reads anew"
WHOLE_SET = "shuffle=True, and no sampler or Subset of fewer samples"


def epoch(observation: Observation, name: str) -> Epoch:
    """Return an epoch by its name."""
    return Epoch(observation.arrays[f"{name}_commitments"], observation.arrays[f"{name}_sizes"])


def order(pair: Pair, name: str) -> list[int]:
    """Return which samples came, by their places in the data set, which the baseline keeps."""
    places = {sample: place for place, sample in enumerate(epoch(pair.baseline, "first").samples())}
    return [places[sample] for sample in epoch(pair.student, name).samples() if sample in places]


def delivered(pair: Pair, *, try_: str) -> Verdict:
    """Pass two epochs, the first and the second, of every sample once, in batches as the baseline's."""
    if raised := pair.student.values.get("raised"):
        return Failed("no loader was made", raised, REFUSED)
    for name in EPOCHS[:2]:
        delivered = epoch(pair.student, name)
        expected = epoch(pair.baseline, name)
        problem = differing(delivered, expected)
        if problem:
            came, whole = delivered.samples(), expected.samples()
            why = "some samples come twice" if came - whole else "the batches have other sizes"
            if list(delivered.sizes) == list(expected.sizes[:-1]):
                why = "the last batch, which is shorter, is left out"
                try_ = "drop_last=False, as it is by default"
            elif list(delivered.sizes[:1]) != list(expected.sizes[:1]):
                why = "the batches do not have the size that batch_size says"
                try_ = "return DataLoader(dataset, batch_size, ...)"
            elif not came - whole and whole - came:
                why = f"{whole.total() - came.total()} of {whole.total()} samples are left out"
                try_ = WHOLE_SET
            elif not set(came) - set(whole) and (missing := len(whole - came)):
                problem = f"{missing} of {whole.total()} samples never came, and others came twice"
                why = "usually the sampler draws with replacement"
            elif other := sum(count for sample, count in came.items() if sample not in whole):
                problem = f"{other} of {whole.total()} samples have other numbers or another label"
                why = "samples were changed or mixed up on their way into a batch"
            return Failed(f"in the {name} epoch: {problem}", why, try_)
    return Passed(f"{expected.samples().total()} samples in each of two epochs")


def shuffled(pairs: Mapping[int, Pair], *, try_: str) -> Verdict:
    """Pass epochs, by the number of workers, in another order than the data set's, and in another one each time."""
    for workers, pair in pairs.items():
        first = order(pair, "first")
        second = order(pair, "second")
        together = sum(abs(a - b) == 1 for a, b in pairwise(first)) / max(len(first), 1)
        measured = (
            f"with {workers} workers {together:.0%} of the samples follow their neighbour in the "
            "data set; of shuffled samples, about 4% do"
        )
        if together > TOGETHER:
            return Failed(measured, "the order is the data set's, or nearly", try_)
        if first == second:
            return Failed(
                f"with {workers} workers two epochs have one order",
                "the order is drawn once, and not for each epoch",
                try_,
            )
    return Passed(f"{2 * len(pairs)} epochs, each in an order of its own")


def seeded(pairs: Mapping[int, Pair], *, try_: str) -> Verdict:
    """Pass epochs whose order is that of another loader with the same seed, and not that of one with another seed."""
    for workers, pair in pairs.items():
        first, alike, another = (order(pair, name) for name in ("first", "alike", "another"))
        if first != alike:
            measured = (
                f"with {workers} workers the first epochs of two loaders with one seed differ"
            )
            why = "the order is drawn from numbers that the seed does not decide"
            return Failed(measured, why, try_)
        if first == another:
            why = "the seed is accepted and not used"
            return Failed("another seed, the same order", why, try_)
    return Passed("the same order from the same seed")


def drawn_afresh(dice: Observation, *, samples: int) -> Verdict:
    """Pass samples that are random numbers, of each source that augmentations draw from, where no two are equal."""
    for source, commitments in dice.arrays.items():
        drawn = Epoch(commitments, np.zeros(0)).samples()
        if drawn.total() != samples:
            measured = f"two epochs gave {drawn.total()} samples, and {samples} are right"
            return Failed(measured, "samples are left out", WHOLE_SET)
        if len(drawn) < samples:
            measured = (
                f"{samples} samples of two epochs hold {len(drawn)} different numbers of {source}, "
                f"and {samples} are right"
            )
            first = Epoch(commitments[: len(commitments) // 2], np.zeros(0)).samples()
            if len(first) < first.total():
                why = (
                    "samples of one epoch share their random numbers: usually worker_init_fn "
                    "sets the same seed in each worker"
                )
                return Failed(
                    measured, why, "use no worker_init_fn, or one that sets a new seed in each"
                )
            story = ": usually each epoch begins with the same seed"
            try_ = "set no seed of your own where an epoch or a worker starts"
            second = Epoch(commitments[len(commitments) // 2 :], np.zeros(0)).samples()
            if second == first and list(second) != list(first):
                story, try_ = " in another order: usually samples are kept", ANEW
            return Failed(measured, f"the second epoch has the numbers of the first{story}", try_)
    return Passed(f"{samples} different samples of each of {', '.join(dice.arrays)}")


def options(made: Sequence[Mapping[str, Any]], *, try_: str, spawned: bool = False) -> Verdict:
    """Pass loaders with the workers asked for, pinned for a GPU only, whose workers stay if there are some.

    Workers that are *spawned* get `collate_fn` as a pickle.
    """
    if len(made) != len(KINDS):
        return Failed(
            f"{len(made)} loaders were noted",
            f"each of {len(KINDS)} calls makes one",
            try_,
        )
    for it in made:
        if it["raised"]:
            continue
        case = f"for {it['device']} with {many(it['workers'], 'worker')}"
        options = it["options"]
        if options is None:
            return Failed(
                f"{case} no DataLoader was made",
                "the function must return a DataLoader",
                "return DataLoader(dataset, batch_size, ...)",
            )
        wanted = {
            "num_workers": it["workers"],
            "pin_memory": it["device"] == "cuda",
        }
        wanted["persistent_workers"] = it["workers"] > 0
        odd = next(
            (name for name, value in wanted.items() if options[name] != value),
            None,
        )
        if odd:
            why, try_ = REASONS[odd]
            found = {one["options"][odd] for one in made if one["options"]}
            if odd == "num_workers" and len(found) == 1:
                why = f"num_workers is {options[odd]} in each call"
            measured = f"{case} {odd} is {options[odd]}, and {wanted[odd]} is right"
            return Failed(measured, why, try_)
        if spawned and not options["pickles"]:
            why = "workers that are spawned, as on macOS and Windows, get collate_fn as a pickle"
            name = "a function with a name, at the top of the file, instead of a lambda"
            return Failed(f"{case} collate_fn cannot be pickled", why, f"{name}; {try_}")
    return Passed(f"{len(made)} loaders, for a CPU and a GPU, with workers and without")


def each_copied(moves: Observation) -> Verdict:
    """Pass images and labels of each batch that were copied to a device, where nobody waited for them."""
    images, labels, waited, batches = (moves.values[name] for name in MOVES)
    if min(images, labels) < batches:
        measured = f"{images} images and {labels} labels were moved in {batches} batches"
        why = "images and labels of each batch must be moved to the device"
        return Failed(measured, why, ".to(device, non_blocking=True) for both, in each batch")
    return copied(images + labels, waited)


def copied(moved: int, waited: int) -> Verdict:
    """Pass copies to a device that nobody waited for."""
    if not waited:
        return Passed(f"{moved} copies, none of which waits")
    why = "the host blocks on each copy, so pinned memory gains nothing"
    try_ = ".to(device, non_blocking=True), of images and labels"
    return Failed(
        f"of {moved} copies of images and labels {waited} wait until they are done", why, try_
    )
