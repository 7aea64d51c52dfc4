"""Part 1 before the work: it records, and answers wrongly. Read it for its mistakes."""

from __future__ import annotations

from pathlib import Path

from torch.profiler import profile

from given import load_events


def nsys_commands(program, report):
    """Return command lines as they were written in 2021, of the whole program with all that Python does to start."""
    return {
        "capture": ["nsys", "profile", "--trace=cuda,nvtx,cudnn,cublas", f"--output={report}", *program],
        "stats": ["nsys", "stats", f"{report}.qdrep"],
        "export": ["nsys", "export", f"{report}.qdrep"],
    }


def profile_training(train, folder="."):
    """Record everything: no batch is passed over, and no step is marked."""
    with profile() as prof:
        losses = train(batches=10)
    prof.export_chrome_trace(str(Path(folder) / "baseline_profile.gz"))
    return losses


def analyse_profile(file):
    """Add up durations, whether they overlap or not, and divide by the whole recording."""
    events = load_events(file)
    whole = max(event.end for event in events) - min(event.start for event in events)
    kernels = [event for event in events if event.category == "kernel"]
    waits = [event for event in events if "DataLoader" in event.name]
    return {
        "gpu_utilization_percent": 100 * sum(event.end - event.start for event in kernels) / whole,
        "data_wait_percent": 100 * sum(event.end - event.start for event in waits) / whole,
        "reason": None,
    }
