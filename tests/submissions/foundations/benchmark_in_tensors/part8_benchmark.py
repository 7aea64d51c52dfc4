import sys
import warnings
from time import perf_counter_ns

import numpy as np
import pandas as pd
import torch

BYTES = pd.DataFrame(
    {"fp32": [4, 4, 0, 8], "amp": [4, 4, 0, 8], "half_with_masters": [2, 2, 4, 8], "pure_half": [2, 2, 0, 4]},
    index=["weights", "gradients", "masters", "optimizer"],
)


def readings(calls, inputs, synchronize):
    """Seconds of each call, one after the other."""
    for call in calls:
        if synchronize is not None:
            synchronize()
        start = perf_counter_ns()
        call(*inputs)
        if synchronize is not None:
            synchronize()
        yield (perf_counter_ns() - start) / 1e9


def benchmark(function, *inputs, warmup=10, repeats=100, synchronize=None):
    if repeats < 2:
        raise ValueError("a spread needs two calls")
    print("warming up", file=sys.stderr)
    for _ in range(warmup):
        function(*inputs)
    runs = torch.tensor(list(readings([function] * repeats, inputs, synchronize)), dtype=torch.float64) * 1000
    p50, p95, p99 = runs.quantile(torch.tensor([0.5, 0.95, 0.99], dtype=torch.float64)).tolist()
    result = pd.Series({"mean_ms": runs.mean().item(), "std_ms": runs.std().item(), "p50_ms": p50, "p95_ms": p95, "p99_ms": p99})
    return {**result.to_dict(), "per_second": np.float32(1000 / runs.mean().item()), "runs": runs}


def largest_k(pairs):
    ways = torch.ones(1, dtype=torch.float64)
    for _ in range(pairs):
        ways = torch.cat([ways, torch.zeros(1)]) / 2 + torch.cat([torch.zeros(1), ways]) / 2
    return int((ways.cumsum(0) <= 0.025).sum())


def compare(baseline, candidate, *inputs, pairs=30, warmup=3, synchronize=None):
    k = largest_k(pairs)
    if k == 0:
        raise ValueError("too few pairs")
    warnings.warn("benchmarks need a quiet machine", stacklevel=2)
    for _ in range(warmup):
        candidate(*inputs), baseline(*inputs)
    calls = [it for pair in range(pairs) for it in ((baseline, candidate) if pair % 2 < 1 else (candidate, baseline))]
    seconds = np.fromiter(readings(calls, inputs, synchronize), float).reshape(pairs, 2)
    seconds[1::2] = seconds[1::2, ::-1].copy()
    ratios = pd.Series(seconds[:, 0] / seconds[:, 1])
    low, high = ratios.nsmallest(k).iloc[-1], ratios.nlargest(k).iloc[-1]
    verdict = np.select([low > 1, high < 1], ["faster", "slower"], "no difference")
    return {"ratio": ratios.median(), "low": low, "high": high, "verdict": str(verdict)}


def speedup_rows(minutes):
    table = pd.DataFrame({"step": list(minutes), "minutes": np.array(list(minutes.values()), float)})
    table["cumulative"] = (table.minutes.iloc[:1].sum() or 1) / table.minutes
    table["incremental"] = (table.minutes.shift() / table.minutes).fillna(1.0)
    table["saved_percent"] = 100 - 100 / table.cumulative
    return table.to_dict("records")


def training_memory(parameters, recipe, activations_per_sample=0, micro_batch=1, accumulation=1, processes=1):
    held = BYTES[recipe] * parameters
    held["activations"] = activations_per_sample * micro_batch
    held["total"] = held.sum()
    batch = torch.tensor([micro_batch, accumulation, processes]).prod().item()
    return {**held.to_dict(), "total_gib": held["total"] / (1 << 30), "effective_batch": batch}
