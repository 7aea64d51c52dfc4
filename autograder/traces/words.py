"""Figures as people read them."""

from __future__ import annotations

from autograder.traces.record import Figure, Unit

TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "us"))
SIZES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def shown(value: float, unit: Unit) -> str:
    """Show a value with a unit that fits it.

    >>> shown(54.889, "%"), shown(11_492_000, "ns"), shown(115_607_040, "bytes"), shown(8772, "count")
    ('54.9 %', '11.49 ms', '115.6 MB', '8,772')
    """
    if unit == "ns":
        return _scaled(value, TIMES, "ns")
    if unit == "bytes":
        return _scaled(value, SIZES, "bytes")
    if unit == "count":
        return f"{value:,.0f}"
    return f"{value:.1f} {unit}"


def many(count: int, thing: str) -> str:
    """Count things.

    >>> many(1, "step"), many(2000, "step")
    ('1 step', '2,000 steps')
    """
    return f"{count:,} {thing}{'s' * (count != 1)}"


def titled(figure: Figure) -> str:
    """Name a figure: its definition, its window, its device."""
    device = "" if figure.device is None else f", GPU {figure.device}"
    return f"{figure.id} over {figure.window}{device}"


def _scaled(value: float, scales: tuple[tuple[float, str], ...], small: str) -> str:
    for scale, unit in scales:
        if abs(value) >= scale:
            return f"{value / scale:,.4g} {unit}" if abs(value) / scale < 1000 else f"{value / scale:,.0f} {unit}"
    return f"{value:,.0f} {small}"
