import itertools
import statistics
import timeit
from dataclasses import dataclass
from fractions import Fraction
from math import comb


def nothing():
    pass


def timed(function, inputs, wait):
    wait()
    timer = timeit.default_timer()
    function(*inputs)
    wait()
    return (timeit.default_timer() - timer) * 1e3


def percentile(ordered, share):
    place = Fraction(share, 100) * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + float(place - low) * (ordered[high] - ordered[low])


class benchmark(dict):
    def __init__(self, function, *inputs, warmup=10, repeats=100, synchronize=None):
        if repeats <= 1:
            raise ValueError("repeats")
        wait = synchronize or nothing
        for _ in itertools.repeat(None, warmup):
            function(*inputs)
        runs = [timed(function, inputs, wait) for _ in itertools.repeat(None, repeats)]
        ordered = sorted(runs)
        super().__init__(
            runs=tuple(runs),
            per_second=repeats / (sum(runs) / 1000),
            mean_ms=statistics.fmean(runs),
            std_ms=statistics.pstdev(runs),
            **{f"p{share}_ms": percentile(ordered, share) for share in (50, 95, 99)},
        )


@dataclass
class Interval:
    ratios: list

    @property
    def k(self):
        limit, below, k = Fraction(1, 40), Fraction(0), 0
        while True:
            below += Fraction(comb(len(self.ratios), k), 2 ** len(self.ratios))
            if below > limit:
                return k
            k += 1

    def verdict(self):
        ordered = sorted(self.ratios)
        low, high = ordered[self.k - 1], ordered[len(ordered) - self.k]
        words = "no difference"
        if low > 1:
            words = "faster"
        if high < 1:
            words = "slower"
        return {"verdict": words, "low": low, "high": high, "ratio": statistics.median(ordered)}


def compare(baseline, candidate, *inputs, pairs=30, warmup=3, synchronize=None):
    if pairs in range(6):
        raise ValueError(f"{pairs=}")
    wait = synchronize or nothing
    for function in (baseline, candidate):
        for _ in range(warmup):
            function(*inputs)
    ratios = []
    for turn in itertools.islice(itertools.cycle([False, True]), pairs):
        if turn:
            after = timed(candidate, inputs, wait)
            before = timed(baseline, inputs, wait)
        else:
            before = timed(baseline, inputs, wait)
            after = timed(candidate, inputs, wait)
        ratios.append(before / after)
    return Interval(ratios).verdict()


def speedup_rows(minutes):
    rows, first, previous = [], None, None
    for step, own in minutes.items():
        exact = Fraction(own)
        first, previous = first or exact, previous or exact
        row = {"saved_percent": float(100 - 100 * exact / first), "minutes": own, "step": step}
        row["cumulative"], row["incremental"] = float(first / exact), float(previous / exact)
        rows.append(row)
        previous = exact
    return rows


def training_memory(parameters, recipe, activations_per_sample=0, micro_batch=1, accumulation=1, processes=1):
    full = recipe in {"fp32", "amp"}
    size = 4 if full else 2
    weights = parameters * size
    optimizer = parameters * (4 if recipe == "pure_half" else 8)
    masters = parameters * 4 * (recipe == "half_with_masters")
    activations = activations_per_sample * micro_batch
    total = weights + weights + masters + optimizer + activations
    return {
        "effective_batch": float(micro_batch * accumulation * processes),
        "total_gib": total / 1024 / 1024 / 1024,
        "total": float(total),
        "weights": weights,
        "gradients": weights,
        "masters": masters,
        "optimizer": optimizer,
        "activations": activations,
    }
