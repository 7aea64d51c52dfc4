"""What a device can do at most, as `perflab calibrate` measured it: the roof of a profile recorded on such a one.

ceilings.csv comes with perflab, one line for each device and size of a number. A profile from another device is held
against the best that it reached itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder import sheet

TABLE = Path(__file__).with_name("ceilings.csv")
COLUMNS = ("device", "bytes", "flops_per_s", "bytes_per_s", "measured")


@dataclass(frozen=True)
class Ceiling:
    """What a device can do with numbers of one size."""

    device: str
    bytes: int
    """Of a number: 4 of float32, 2 of float16 and bfloat16."""
    rate: float
    """Operations a second of a large product."""
    bandwidth: float
    """Bytes a second that a large copy reads and writes."""
    measured: str
    """When, and with what."""


def read(path: Path = TABLE) -> list[Ceiling]:
    """Read what was measured; nothing where nothing was yet."""
    rows = sheet.read(path, COLUMNS, COLUMNS) if path.is_file() else []
    return [
        Ceiling(
            row["device"],
            int(row["bytes"]),
            float(row["flops_per_s"]),
            float(row["bytes_per_s"]),
            row["measured"],
        )
        for _, row in rows
    ]


def keep(news: Sequence[Ceiling], path: Path = TABLE) -> None:
    """Write what was measured in the place of what was there of the same devices."""
    again = {ceiling.device for ceiling in news}
    kept = [ceiling for ceiling in read(path) if ceiling.device not in again]
    sheet.write(path, COLUMNS, [_row(ceiling) for ceiling in (*kept, *news)])


def _row(ceiling: Ceiling) -> tuple[object, ...]:
    rates = f"{ceiling.rate:.4g}", f"{ceiling.bandwidth:.4g}"
    return ceiling.device, ceiling.bytes, *rates, ceiling.measured


def of(devices: Iterable[str], size: int, path: Path = TABLE) -> Ceiling | None:
    """Find the ceiling of the one kind of device that a profile is of."""
    kinds = set(devices)
    return next((it for it in read(path) if kinds == {it.device} and it.bytes == size), None)
