"""The loader: every sample once, read ahead by workers."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograder.claims.loaders import Loader
from autograder.labs.resnet18.part2_dataloader.part import part
from autograder.protocol.images import Samples, augmented

ORDER = 'see "A loader with all options" in the part 2 handout'

loader = Loader(
    part,
    lambda student, data, batch, device, workers, seed: student.make_loader_optimized(
        data, batch, device, num_workers=workers, seed=seed
    ),
    see=ORDER,
    takes=["make_loader_optimized"],
    seeded=True,
)
loader.delivers()
loader.shuffles()
loader.follows_the_seed()
loader.draws_afresh()
loader.has_options("asks_for_what_helps")
loader.is_faster()


class Photographs(Samples):
    """Samples of which each picture is also work for a core: cropped, resized, flipped, normalised."""

    def picture(self, key: int) -> np.ndarray[Any, Any]:
        """Augment it by its key."""
        return augmented(np.random.default_rng(key))


loader.is_faster(
    "augmentation_is_faster",
    "slow_augmentation",
    Photographs,
    says=(
        "With augmentation that keeps a core busy, "
        "4 workers on several cores are at least {bar} as fast as none."
    ),
    why="images are augmented one at a time, or workers start again in each epoch",
)
