"""Part 6 before the work: it takes every option and switches no optimization on; one plain loop in FP32.

Yours is compared with it: whatever is switched on, it has to train as this does.
"""

from __future__ import annotations

import argparse
import json
import resource
import time

import torch

from given import device_name, make_loader, make_training, workload


def train_epoch(model, loader, criterion, optimizer, device) -> tuple[float, float]:
    """Return the mean loss and the percentage of right answers of one plain epoch."""
    model.train()
    loss_sum, correct, samples = 0.0, 0, 0
    for images, labels in loader:
        images, labels = images.to(device), labels.to(device)
        optimizer.zero_grad()
        outputs = model(images)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        loss_sum += loss.item() * len(labels)
        correct += (outputs.argmax(dim=1) == labels).sum().item()
        samples += len(labels)
    return loss_sum / samples, 100 * correct / samples


def main(argv=None) -> None:
    """Train, and print what it took."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    usual = workload(device)
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batches", type=int, default=usual["batches"])
    parser.add_argument("--batch-size", type=int, default=usual["batch_size"])
    parser.add_argument("--image-size", type=int, default=usual["image_size"])
    parser.add_argument("--save")
    options, _ = parser.parse_known_args(argv)
    loader = make_loader(options.batch_size, options.batches, options.image_size)
    model, criterion, optimizer = make_training(device)

    start = time.perf_counter()
    epochs = [train_epoch(model, loader, criterion, optimizer, device) for _ in range(options.epochs)]
    seconds = time.perf_counter() - start
    if options.save:
        torch.save(model.state_dict(), options.save)
    figures = {
        "losses": [loss for loss, _ in epochs],
        "loss": epochs[-1][0],
        "accuracy": epochs[-1][1],
        "throughput": options.batches * options.batch_size * options.epochs / seconds,
        "epoch_time": seconds / options.epochs,
        "data_wait": 0.0,
        "warm_up_s": 0.0,
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6,
        "device": device_name(device),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
