"""What is known of one profile once it was read: plain, small, the same in JSON.

Pages, checks and claims read this.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Tool = Literal["kineto", "nsys", "nsys stats", "ncu"]
Unit = Literal["%", "ns", "bytes", "GB/s", "count"]


@dataclass(frozen=True)
class Window:
    """A stretch of the recording that shares are taken of."""

    id: str
    """steps, gpu, gpu0 (that device's), trace."""
    start: int
    """Nanoseconds from the beginning of the recording."""
    length: int


@dataclass(frozen=True)
class Figure:
    """One number, with what it is (see definitions.py) and over which window it was taken."""

    id: str
    value: float
    unit: Unit
    window: str
    device: int | None = None
    subject: str = ""
    """The kernel that it is about, where it is about one."""
    launch: str = ""
    """Which launch of that kernel: its ID in the file."""


@dataclass(frozen=True)
class Row:
    """One line of a table: everything of one name together."""

    name: str
    count: int
    total_ns: int
    share: float
    """Percent of the table's total; never a utilization."""
    bytes: int = 0


@dataclass(frozen=True)
class Slice:
    """A part of the window that is broken down."""

    name: str
    ns: int


@dataclass(frozen=True)
class Transfer:
    """A collective call of a process: how long it took, with the wait for others, and what it moved."""

    ns: int
    bytes: int = 0
    """0 where the trace does not say it."""


@dataclass(frozen=True)
class Gap:
    """A stretch in which a GPU did nothing."""

    device: int
    start: int
    """Nanoseconds from the beginning of the steps, or of the GPU's work where there are none."""
    length: int
    before: str
    """The work that ended when it began; nothing at the edge of the window."""
    after: str
    meanwhile: str
    """What took most of it, named as in the breakdown."""


@dataclass(frozen=True)
class Rule:
    """What Nsight Compute says would make a kernel faster."""

    name: str
    kernel: str
    percent: float
    """The largest of its launches: less time for the kernel, or a better use of one part of it."""
    local: bool
    """Whether the estimate is of one part alone, so that the kernel need not become faster."""
    text: str
    launches: int = 1
    """Of how many launches it is said."""
    saves_ns: float = 0.0
    """By its estimate, over these launches; 0 of a local one, and where no time was measured."""


@dataclass(frozen=True)
class Point:
    """An operator with one shape and type: what its calls computed and moved at least, and how long."""

    operator: str
    kind: str
    """matmul, convolution, attention, elementwise, reduction or norm."""
    shape: str
    count: int
    ns: int
    """Of its kernels, or of the calls themselves where there is no GPU."""
    flops: float
    bytes: float
    type: str = ""
    """Of its numbers: float32, or several."""

    @property
    def typed(self) -> str:
        """Return its type and shapes."""
        return f"{self.type} {self.shape}".strip()

    @property
    def intensity(self) -> float:
        """Operations for each byte."""
        return self.flops / self.bytes

    @property
    def rate(self) -> float:
        """Operations a second."""
        return 1e9 * self.flops / self.ns

    @property
    def bandwidth(self) -> float:
        """Bytes a second."""
        return 1e9 * self.bytes / self.ns


@dataclass(frozen=True)
class Roofline:
    """Operators between what memory and what arithmetic allows."""

    points: tuple[Point, ...]
    """Those that take longest, first."""
    more: int
    """Points that were left out."""
    placed_ns: int
    """Time of all points."""
    whole_ns: int
    """Time of all operators, placed or not: kernels without communication, else calls."""
    best_rate: float
    """The most operations a second of any point, or of the device if that is more."""
    best_bandwidth: float | None
    """The most bytes a second, or of the device if that is more; unknown if all are products.

    Of points with too many bytes for a cache, where there are such that are no products.
    """
    saved_ns: float = 0.0
    """How much less all points would take at their roofs."""
    unplaced: tuple[Slice, ...] = ()
    """The operators, or kernels, that take longest among those without a place."""
    measured: str = ""
    """Of which device the roof was measured, and when; else it is the best of the profile itself."""
    fastest: Point | None = None
    """The point that has the best rate; none where it is the device's."""
    widest: Point | None = None
    """The same of the best bandwidth."""

    @property
    def ridge(self) -> float:
        """Return the intensity from which arithmetic is the limit."""
        return self.best_rate / self.best_bandwidth if self.best_bandwidth else 0.0

    def roof(self, intensity: float) -> float:
        """Return the most operations a second that an intensity allows."""
        memory = self.best_bandwidth
        return min(self.best_rate, memory * intensity) if memory else self.best_rate

    def share(self, point: Point) -> float:
        """Return the rate of a point over its roof; above 1 if its bytes come from a cache."""
        return point.rate / self.roof(point.intensity)

    def saved(self, point: Point) -> float:
        """Return how much less a point would take at its roof."""
        return point.ns * max(1 - self.share(point), 0.0)


@dataclass(frozen=True)
class Lane:
    """One line of the timeline: the share of each of its equal pieces that was covered."""

    name: str
    shares: tuple[float, ...]


@dataclass(frozen=True)
class Trace:
    """One profile."""

    file: str
    sha256: str
    tool: Tool
    version: str = ""
    devices: tuple[str, ...] = ()
    windows: tuple[Window, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: Mapping[str, tuple[Row, ...]] = field(default_factory=dict)
    """kernels, operators, device operators, copies, calls, ranges, ranges on the GPU.

    Largest first.
    """
    steps: tuple[Window, ...] = ()
    """Each ProfilerStep, in order; the first thousand of many."""
    collectives: tuple[Transfer, ...] = ()
    """In the order in which they began; the first thousand of many."""
    breakdown: Mapping[str, tuple[Slice, ...]] = field(default_factory=dict)
    """Window id -> what it consists of; the slices add up to it."""
    gaps: tuple[Gap, ...] = ()
    """Each GPU's longest, the longest first."""
    rules: tuple[Rule, ...] = ()
    """What Nsight Compute advises: the three that promise most, the best first."""
    roofline: Roofline | None = None
    """Where operators stand below what the profile itself shows to be possible."""
    timeline: tuple[Lane, ...] = ()
    notes: tuple[str, ...] = ()
    """What the reader should know, in words: cut short, no operators, no GPU."""
    signals: Mapping[str, str] = field(default_factory=dict)
    """Facts about where it comes from, for a person who reviews; never a score."""

    @property
    def step_count(self) -> int:
        """How many steps were recorded; *steps* holds the first of them."""
        return int(self.figure("step_count") or len(self.steps))

    def figure(self, id: str, window: str = "", device: int | None = None) -> float | None:  # noqa: A002
        """Find a figure; without a window or device, the first that fits."""
        for figure in self.figures:
            if (
                figure.id == id
                and window in ("", figure.window)
                and device in (None, figure.device)
            ):
                return figure.value
        return None

    def rows(self, table: str) -> tuple[Row, ...]:
        """Return a table, empty where the profile has none."""
        return self.tables.get(table, ())
