"""A roofline as lines, and as a picture between two axes of powers of ten."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autograder.traces.record import Point, Roofline, Trace
from autograder.traces.roofline import is_large
from autograder.traces.words import many, shown

TOP = 8  # rows of a terminal
ROWS = 20  # of a page
SHAPE = 54  # letters
INKS = {
    "matmul": "kernels",
    "convolution": "copies",
    "attention": "comm",
    "elementwise": "launch",
    "reduction": "sync",
    "norm": "alloc",
}
SCALES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
NEAR = 0.8  # of its roof: fast enough
DEFINED = (
    "Operations and bytes follow from the recorded shapes: each tensor is read or written once "
    "(a small one may come from a cache, so that its operator stands above the roof), "
    "a product of two numbers counts as two operations (eight where they are complex), "
    "a norm or a softmax counts as five for each number, and the backward pass of a norm as ten. "
    "The roof is one for all types: "
    "an operator in float32 or float64 is held against the fastest type of the profile."
)


@dataclass(frozen=True)
class Dot:
    """An operator in the picture: where, how large, and what it is."""

    point: Point
    left: float
    top: float
    size: float

    @property
    def colour(self) -> str:
        """Return the class that colours it."""
        return INKS[self.point.kind]


@dataclass(frozen=True)
class Drawn:
    """A roofline as people see it; places are in percent."""

    roofline: Roofline
    dots: Sequence[Dot]
    line: Sequence[tuple[float, float]]
    across: Sequence[tuple[float, str]]
    up: Sequence[tuple[float, str]]
    roof: str
    said: str
    placed: str

    @property
    def kinds(self) -> list[tuple[str, str]]:
        """Return the kinds that are drawn, with their colours."""
        kinds = {dot.point.kind for dot in self.dots}
        return [(kind, ink) for kind, ink in INKS.items() if kind in kinds]

    def row(self, point: Point) -> Row:
        """Return a point as a row of a table."""
        limit = "memory" if point.intensity < self.roofline.ridge else "arithmetic"
        return Row(point, scaled(point.rate, "flop/s"), self.roofline.share(point), limit)


@dataclass(frozen=True)
class Row:
    """A point as people read it."""

    point: Point
    rate: str
    share: float
    """Of its roof; above 1 if its tensors come from a cache."""
    limit: str
    """What its roof is: memory or arithmetic."""

    @property
    def shape(self) -> str:
        """Shorten the type and the shapes."""
        shape = self.point.typed
        return shape if len(shape) <= SHAPE else f"{shape[: SHAPE - 1]}…"


def scaled(value: float, unit: str) -> str:
    """Show a rate.

    >>> scaled(2.747e14, "flop/s"), scaled(950, "B/s")
    ('275 Tflop/s', '950 B/s')
    """
    for scale, letter in SCALES:
        if value >= scale:
            return f"{value / scale:.3g} {letter}{unit}"
    return f"{value:.3g} {unit}"


def drawn(trace: Trace) -> Drawn | None:
    """Draw what could be placed; nothing where nothing could."""
    roofline = trace.roofline
    if roofline is None:
        return None
    points = roofline.points
    ridge = roofline.ridge
    x = _Axis.around([*(point.intensity for point in points), *([ridge] if ridge else [])])
    y = _Axis.around([*(point.rate for point in points), roofline.best_rate])
    start, end = 10.0**x.low, 10.0**x.high
    corners = [start, min(max(ridge, start), end), end]
    line = [(x.at(at), 100 - y.at(roofline.roof(at))) for at in corners]
    longest = points[0].ns
    dots = [
        Dot(
            point,
            x.at(point.intensity),
            100 - y.at(point.rate),
            0.5 + 0.9 * math.sqrt(point.ns / longest),
        )
        for point in points
    ]
    across = [(x.at(tick), f"{tick:g}") for tick in x.ticks]
    up = [(100 - y.at(tick), scaled(tick, "")) for tick in y.ticks]
    return Drawn(
        roofline, dots, line, across, up, _roof(roofline), _said(roofline), _rest(trace, roofline)
    )


@dataclass(frozen=True)
class _Axis:
    """Powers of ten, from the one below all values to the one above."""

    low: int
    high: int

    @classmethod
    def around(cls, values: Sequence[float]) -> _Axis:
        """Hold all values."""
        low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
        return cls(low, max(high, low + 1))

    @property
    def ticks(self) -> list[float]:
        """Return powers of ten, at most eight."""
        apart = math.ceil((self.high - self.low + 1) / 8)
        return [10.0**power for power in range(self.low, self.high + 1, apart)]

    def at(self, value: float) -> float:
        """Say where a value is, in percent; below the axis is at its end."""
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return 100 * min(max(share, 0.0), 1.0)


def _roof(roofline: Roofline) -> str:
    """Say what the roof is made of."""
    memory = roofline.best_bandwidth
    rate = scaled(roofline.best_rate, "flop/s")
    if roofline.measured:
        return f"The roof was measured on {roofline.measured}: {rate} and {scaled(memory or 0, 'B/s')}."
    best = (
        "There are no measured ceilings of this device. "
        f"The roof is the best that this profile reached itself: {rate}{_of(roofline.fastest)}"
    )
    if memory is None:
        return f"{best}. The limit of memory is unknown, because only products have a place."
    return f"{best} and {scaled(memory, 'B/s')}{_of(roofline.widest)}.{_cached(roofline)}"


def _of(point: Point | None) -> str:
    """Name the operator that reached it."""
    return f" ({point.operator})" if point else ""


def _cached(roofline: Roofline) -> str:
    """Warn of a limit that may be that of a cache."""
    if roofline.widest is None or is_large(roofline.widest):
        return ""
    return (
        " Its calls move less than 64 MB each: "
        "that says more of caches and of the cost of a call than of memory."
    )


def _said(roofline: Roofline) -> str:
    """Name the operator that would save most at its roof."""
    most = max(roofline.points, key=roofline.saved)
    share = roofline.share(most)
    if share >= NEAR:
        return "Those that take longest are near the roof."
    least = shown(most.ns * share, "ns")
    return (
        f"Most is to be gained in {most.operator} ({most.typed}): "
        f"it runs at {100 * share:.0f} % of its roof, where it would take {least} "
        f"instead of {shown(most.ns, 'ns')}."
    )


def _rest(trace: Trace, roofline: Roofline) -> str:
    """Say what share is placed, and what is not."""
    whole = "kernels" if any(place.startswith("gpu") for place in trace.breakdown) else "operators"
    share = 100 * roofline.placed_ns / max(roofline.whole_ns, 1)
    words = f"{share:.1f} % of the time of all {whole} is placed."
    if roofline.unplaced:
        names = ", ".join(f"{piece.name} {shown(piece.ns, 'ns')}" for piece in roofline.unplaced)
        words += f" Without a place, the longest first: {names}."
    if roofline.more:
        words += f" {many(roofline.more, 'shorter point')} are not drawn."
    return words


def lines(trace: Trace) -> Iterator[str]:
    """Say a roofline in plain lines."""
    drawing = drawn(trace)
    if drawing is None:
        return
    yield "\nroofline: operators by the time they take, and how near they come to the roof"
    yield f"  {drawing.roof}"
    yield f"  {'time':>9} {'flop/byte':>10} {'rate':>12} {'of roof':>8}  {'limit':<10}  operator"
    for point in drawing.roofline.points[:TOP]:
        row = drawing.row(point)
        yield (
            f"  {shown(point.ns, 'ns'):>9} {point.intensity:>10.3g} {row.rate:>12} "
            f"{100 * row.share:>6.0f} %  {row.limit:<10}  {point.operator} {row.shape}"
        )
    yield f"  {drawing.said}"
    yield f"  {drawing.placed}"
