"""Figures as people read them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from autograder.traces.record import Figure, Unit

TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "us"))
NAME = 60  # letters of a kernel's name in a line
NAMESPACES = re.compile(r"^void |\bat::native::|\(anonymous namespace\)::|<unnamed>::")
WINDOWS = {
    "steps": "the steps",
    "gpu": "the time of its GPU work",
    "trace": "the whole trace",
    "kernel": "one kernel",
}
"""What a figure was taken over, in words."""
BEFORE = 4  # letters shown before the place at which names part
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
    if unit == "GB/s":
        return f"{value:.3g} GB/s"
    return f"{value:.1f} {unit}"


def where(name: str) -> str:
    """Name what is broken down.

    >>> where("gpu0"), where("cpu")
    ('GPU 0', 'CPU')
    """
    return f"GPU {name[3:]}" if name.startswith("gpu") else "CPU"


def many(count: int, thing: str, things: str = "") -> str:
    """Count things.

    >>> many(1, "step"), many(2000, "step"), many(2, "launch", "launches")
    ('1 step', '2,000 steps', '2 launches')
    """
    return f"{count:,} {thing if count == 1 else things or thing + 's'}"


def shortened(names: Sequence[str], most: int) -> list[str]:
    """Cut names so that those that differ still do: long ones behind what they share, and not at
    their end.

    >>> shortened(["void at::native::relu", "gemm", "gemm<float, 128, 7, add>", "gemm<float, 128, 7, mul>"], 20)
    ['relu', 'gemm', 'gemm<float… 7, add>', 'gemm<float… 7, mul>']
    """
    plain = {name: NAMESPACES.sub("", name) for name in dict.fromkeys(names)}
    if len(set(plain.values())) < len(plain):
        plain = {name: name for name in plain}
    short = _apart(list(plain.values()), most)
    return [short[plain[name]] for name in names]


def _apart(names: Sequence[str], most: int) -> dict[str, str]:
    """Cut at the end what begins like no other.

    Where several begin alike, show the place at which they part.
    """
    shortened_names = {name: name for name in names if len(name) <= most}
    alike: dict[str, list[str]] = {}
    for name in names:
        if name not in shortened_names:
            alike.setdefault(name[: most // 2], []).append(name)
    for head, group in alike.items():
        shortened_names |= _parted(group, len(head), most - len(head) - 2)
    return shortened_names


def _parted(group: Sequence[str], head: int, width: int) -> dict[str, str]:
    alike = next(
        (at for at, letters in enumerate(zip(*group, strict=False)) if len(set(letters)) > 1),
        len(group[0]),
    )
    start = max(alike - BEFORE, head) if len(group) > 1 else head
    tails: dict[str, list[str]] = {}
    for name in group:
        tails.setdefault(name[start : start + width], []).append(name)
    shortened_names: dict[str, str] = {}
    for tail, (first, *others) in tails.items():
        more = "…" * (len(first) > start + width)
        cut = {first: f"{first[:head]}{'…' * (start > head)}{tail}{more}"}
        shortened_names |= _parted([first, *others], head, width) if others else cut
    return shortened_names


def titled(figure: Figure) -> str:
    """Name a figure as `perflab trace` lists it: its definition, its window, its device."""
    device = "" if figure.device is None else f", GPU {figure.device}"
    window = WINDOWS.get(figure.window, figure.window)
    return f"`{figure.id}` in perflab trace, over {window}{device}"


def _scaled(value: float, scales: tuple[tuple[float, str], ...], small: str) -> str:
    for scale, unit in scales:
        if abs(value) >= scale:
            return (
                f"{value / scale:,.4g} {unit}"
                if abs(value) / scale < 1000
                else f"{value / scale:,.0f} {unit}"
            )
    return f"{value:,.0f} {small}"
