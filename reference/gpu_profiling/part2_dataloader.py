# %% [markdown]
# # Part 2: the data loader
#
# In a profile of `given/training_unoptimized.py`, most of a step is waiting while one process decodes photos.
# The original lab fills in four blanks of the `DataLoader`:
#
# | blank | what it does | what it needs |
# |---|---|---|
# | `num_workers` | processes that decode the next batches while this one is trained on | cores, memory |
# | `persistent_workers` | they stay from one epoch to the next | workers |
# | `pin_memory` | batches lie where a GPU can fetch them by itself | a GPU, and a copy with `non_blocking=True` |
# | `batch_size` | fewer, larger steps | a new learning rate: it is a different training |
#
# The first three only change who waits for whom. The fourth changes what is computed: use the caller's value, which is
# 32 in the training. The benchmark shows whether the loader is faster with larger batches.

# %%
from __future__ import annotations

import json
import time
import warnings
from functools import partial
from itertools import islice, product
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch.utils.data import DataLoader
from torchvision import transforms

from given import Photos, device_name, record, span, spanned
from given.training_unoptimized import prepare, train_epoch

# %% [markdown]
# ## 2.1 The loader


# %%
def make_loader_optimized(dataset, batch_size, device, num_workers=0) -> DataLoader:
    """Return a DataLoader that shuffles again in each epoch, drops nothing, and reads with num_workers processes.

    Pin memory only if the device is a GPU. Workers, if there are any, stay from epoch to epoch.
    """
    # TODO: persistent_workers=True is an error if num_workers is 0.
    ### BEGIN SOLUTION
    return DataLoader(
        dataset,
        batch_size,
        shuffle=True,
        num_workers=num_workers,
        pin_memory=device.type == "cuda",
        persistent_workers=num_workers > 0,
    )
    ### END SOLUTION


# %% [markdown]
# ## 2.2 A step that waits for nothing
#
# Pinned memory alone gains nothing, because `.to(device)` waits until the copy is done. A copy that does not wait gains
# nothing if the next line waits for the whole device. The script waits for both, and a third time for the loss.


# %%
def train_epoch_optimized(model, loader, criterion, optimizer, device, on_step=None) -> list[float]:
    """Train for one epoch as given.training_unoptimized.train_epoch does; return the loss of each batch.

    Keep the steps and the named ranges, and call *on_step* at the end of each step. Wait for no copy. In
    the loop, fetch no loss, or at most one in ten batches.
    """
    # TODO: the script's loop with spanned(loader) and its four spans, without what waits.
    # TODO: keep loss.detach() in a list; after the loop, fetch all losses with one call.
    ### BEGIN SOLUTION
    model.train()
    losses = []
    for images, labels in spanned(loader):  # images (32, 3, side, side), labels (32,)
        with span("copy"):
            images = images.to(device, non_blocking=True)
            labels = labels.to(device, non_blocking=True)
        with span("forward"):
            loss = criterion(model(images), labels)
        with span("backward"):
            optimizer.zero_grad()
            loss.backward()
        with span("optimizer_step"):
            optimizer.step()
        losses.append(loss.detach())
        if on_step is not None:
            on_step()
    return torch.stack(losses).tolist()
    ### END SOLUTION


# %% [markdown]
# ## 2.3 Which batches count
#
# Use one iterator and `islice` for the warm-up and for the batches that count. This is how the last block of this file,
# with at most n = 8 workers, calls measure_loader:
#
#     batch    0 ... 15        16 ... 39          40 ...
#              warm_up=16      batches=24         never taken
#                              ^ clock ^
#
# n workers begin 2n batches before you take the first (prefetch_factor * num_workers). So the first 2n do not count.
# The data set has 2n batches after those that count: they keep the workers busy until the clock stops.


# %%
def measure_loader(loader, device, warm_up=8, batches=24) -> dict[str, Any]:
    """Warm up with *warm_up* batches, then time *batches* more of the same iterator: reading and copying to the device.

    Returns a dict:
        samples     how many the timed batches held; fewer batches are timed if the loader ends early
        seconds     from the end of the warm-up until the last of them is on the device
        throughput  samples / seconds
    """

    # TODO: iter(loader) once, and islice of it twice; .to(device, non_blocking=True) for images and labels.
    # TODO: on a GPU torch.cuda.synchronize() before both readings of the clock.
    ### BEGIN SOLUTION
    def copied(count):
        samples = 0
        for images, labels in islice(stream, count):
            images.to(device, non_blocking=True)
            labels.to(device, non_blocking=True)
            samples += len(labels)
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return samples

    stream = iter(loader)
    copied(warm_up)
    start = time.perf_counter()
    samples = copied(batches)
    seconds = time.perf_counter() - start
    return {"samples": samples, "seconds": seconds, "throughput": samples / seconds}
    ### END SOLUTION


# %% [markdown]
# ## 2.4 Thirty-two configurations

# %%
COLUMNS = ["batch_size", "num_workers", "pin_memory", "samples", "seconds", "throughput", "device"]


def benchmark_dataloader(
    make_loader, device, batch_sizes, workers, pins, folder=".", **options
) -> list[dict[str, Any]]:
    """Measure each combination once; return one row each: batch sizes first, then workers, then pins, as given.

    make_loader(batch_size=..., num_workers=..., pin_memory=...) returns a loader of one data set. Pass *options* on to
    measure_loader. A row has the names in COLUMNS: batch_size, num_workers, pin_memory, what measure_loader
    returns, and the device's name. Writes dataloader_results.csv into folder.
    """
    # TODO: itertools.product has this order. Make a new loader for each row.
    ### BEGIN SOLUTION
    rows = []
    for batch_size, num_workers, pin_memory in product(batch_sizes, workers, pins):
        asked = {"batch_size": batch_size, "num_workers": num_workers, "pin_memory": pin_memory}
        seen = measure_loader(make_loader(**asked), device, **options)
        rows.append({**asked, **seen, "device": device_name(device)})
    pd.DataFrame(rows, columns=COLUMNS).to_csv(Path(folder) / "dataloader_results.csv", index=False)
    return rows
    ### END SOLUTION


def best_configuration(rows) -> dict[str, Any]:
    """Return batch_size, num_workers and pin_memory of the row with the highest throughput; the first of equal ones."""
    # TODO: go by your table, not by a recipe.
    ### BEGIN SOLUTION
    best = max(rows, key=lambda row: row["throughput"])
    return {name: best[name] for name in ("batch_size", "num_workers", "pin_memory")}
    ### END SOLUTION


# %% [markdown]
# ## 2.5 Before and after
#
# The script's training and yours, under the same profiler. `perflab trace before_profile.gz` says what share of the
# steps' time was waiting for data, and `perflab trace after_profile.gz` how much is left.


# %%
if __name__ == "__main__":
    warnings.filterwarnings("ignore", "This DataLoader will create")  # more workers than cores: here on purpose
    warnings.filterwarnings("ignore", "'pin_memory' argument is set")  # without a GPU: those rows show you the noise
    torch.set_num_threads(1)  # on shared cores, more threads would take cores from the workers
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    side, pixels = (256, 224) if device.type == "cuda" else (64, 32)
    to_tensor = transforms.Compose([transforms.Resize((pixels, pixels)), transforms.ToTensor()])
    most = 8  # workers; 16 batches before the 24 that count, and 16 after them
    photos = Photos((2 + 3 + 2) * most * 256, side, to_tensor, read_seconds=0.001)
    make_loader = partial(DataLoader, photos, shuffle=True)
    sizes, workers = (32, 64, 128, 256), (0, 2, 4, most)
    batches = {"warm_up": 2 * most, "batches": 3 * most}
    rows = benchmark_dataloader(make_loader, device, sizes, workers, (False, True), **batches)
    print(pd.DataFrame(rows).to_string(index=False))
    best = best_configuration(rows)
    Path("dataloader_optimum.json").write_text(json.dumps(best) + "\n", encoding="utf-8")
    print("Optimal configuration: BS={batch_size}, Workers={num_workers}, Pinned={pin_memory}".format(**best))

    training = prepare(device, batches=20)
    record(lambda on_step: train_epoch(**training, on_step=on_step), "before_profile.gz", batches=8, skip=2)
    number = max(2, best_configuration([row for row in rows if row["batch_size"] == 32])["num_workers"])
    training = prepare(device, batches=6 * number + 16)
    training["loader"] = make_loader_optimized(training["loader"].dataset, 32, device, num_workers=number)
    store = 3 * number  # batches to leave out: the 2 * number that workers read ahead, and number more
    record(lambda on_step: train_epoch_optimized(**training, on_step=on_step), "after_profile.gz", 8, store + 1)
