"""Part 2 before the work: everything is recorded, nothing has a name, and a CPU's memory is not seen.

These are the lines that one finds everywhere. Compare what yours says of the same steps.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch.profiler import profile


def top_operators(averages, count):
    """Sort by the total time, in which operators that call others come first."""
    rows = sorted(averages, key=lambda each: each.cpu_time_total, reverse=True)
    return [{"operator": each.key, "calls": each.count, "self_us": each.cpu_time_total} for each in rows[:count]]


def profile_steps(step, batches, folder, active=3):
    """Record all steps, the cold ones as well."""
    with profile() as recorded:
        for batch in batches:
            step(batch)
    recorded.export_chrome_trace(str(Path(folder) / "step_trace.json"))
    return top_operators(recorded.key_averages(), 10)


def profile_memory(model, inputs, folder):
    """Ask the GPU's allocator, which knows nothing of a CPU."""
    with profile(profile_memory=True) as recorded:
        model(inputs).float().square().mean().backward()
    rows = [{"operator": each.key, "self_bytes": each.self_cpu_memory_usage} for each in recorded.key_averages()]
    return {"peak_bytes": torch.cuda.max_memory_allocated(), "rows": rows[:10]}


def profile_model(model, input_ids, folder):
    """Profile the first step, without any name."""
    with profile() as recorded:
        model(input_ids, labels=input_ids).loss.backward()
    recorded.export_chrome_trace(str(Path(folder) / "model_trace.json"))
    return top_operators(recorded.key_averages(), 20)
