"""Made reports of ncu: report.text() is what was printed, report.rows what is true of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograder.labs.gpu_profiling.part3_kernels.rig.launches import KERNELS

HEADER = (
    '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device",'
    '"CC","Section Name","Metric Name","Metric Unit","Metric Value","Rule Name","Rule Type","Rule Description"'
)
UNITS = {
    "ns": 1e3,
    "us": 1.0,
    "ms": 1e-3,
    "nsecond": 1e3,
    "usecond": 1.0,
    "msecond": 1e-3,
}  # of one microsecond
LIMIT = 60.0  # percent: below it in both, a kernel waits
NAMES = {
    "sm_percent": ("GPU Speed Of Light Throughput", "Compute (SM) Throughput"),
    "memory_percent": ("GPU Speed Of Light Throughput", "Memory Throughput"),
    "occupancy_percent": ("Occupancy", "Achieved Occupancy"),
}
OTHERS = (("Memory Workload Analysis", "Memory Throughput", "byte/second", 181_734_200_113.0),)
BYTES = "that is Memory Throughput in byte/second, and the one in % counts"
CUT = "your code cuts the number at its comma"
TALK = (
    "Epoch 1: loss 2.31\n==PROF== Connected to process 4711 (/usr/bin/python3.11)\n"
    "==PROF== Profiling: 50%, 38 passes"
)


class Report:
    """What `ncu --csv --page details` prints, of launches that were drawn."""

    def __init__(self, random: np.random.Generator, unit: str) -> None:
        """Draw some launches, two of them of one kernel; one for each bound at least."""
        kinds = [(82.0, 35.0), (30.0, 85.0), (20.0, 31.0), (71.0, 66.0), (64.0, 77.0), (68.0, 68.0)]
        kinds = 2 * [*kinds, (LIMIT, 35.0)]  # IDs of two digits as well
        self.rows: list[dict[str, Any]] = []
        self._random, self._unit = random, unit
        for sm, memory in (kinds[int(i)] for i in random.permutation(len(kinds))):
            name = f"{random.choice(KERNELS[:2])}_{random.integers(2)}(float *, const float *, int)"
            figures = {
                "sm_percent": sm,
                "memory_percent": memory,
                "occupancy_percent": float(random.uniform(20, 95)),
            }
            drawn = {
                key: value if value == LIMIT else round(value + float(random.uniform(0, 4)), 2)
                for key, value in figures.items()
            }
            drawn["memory_percent"] = (
                drawn["sm_percent"] if sm == memory else drawn["memory_percent"]
            )  # a tie
            self.rows.append(
                {
                    "kernel": name,
                    "duration_us": round(float(random.uniform(1500, 90_000)), 2),
                    **drawn,
                }
            )

    def printed(self, row: dict[str, Any]) -> str:
        """Say how its duration is printed."""
        return f"printed as {row['duration_us'] * UNITS[self._unit]:,.6f} {self._unit}"

    def slips(self, row: dict[str, Any]) -> dict[str, dict[str, float]]:
        """Return, by the name of a figure of a row, what usual mistakes make of it."""
        per_us, printed = UNITS[self._unit], row["duration_us"] * UNITS[self._unit]
        durations = {f"your code takes a number in {self._unit} for microseconds": printed}
        head, *behind = f"{printed:,.6f}".split(",")
        if behind:
            durations[f"{CUT}, and ignores its unit"] = float(head)
            durations = (
                {**durations, CUT: float(head) / per_us} if per_us != 1.0 else {CUT: float(head)}
            )
        durations |= {"your code converts the printed unit the wrong way round": printed * per_us}
        slips = {"duration_us": durations}
        for name in NAMES:
            others = {f"that is the {it} of this launch": row[it] for it in NAMES if it != name}
            slips[name] = others | {BYTES: OTHERS[0][-1]}
        return slips

    def text(self) -> str:
        """Return what was printed: the program's own lines first, numbers with thousands separators, rules between."""
        lines = [TALK, HEADER]
        for number, row in enumerate(self.rows):
            duration = row["duration_us"] * UNITS[self._unit]
            lines.append(
                _line(
                    number,
                    row["kernel"],
                    "GPU Speed Of Light Throughput",
                    "Duration",
                    self._unit,
                    duration,
                )
            )
            for name, (section, metric) in NAMES.items():
                lines.append(_line(number, row["kernel"], section, metric, "%", row[name]))
            lines += [_line(number, row["kernel"], *other) for other in OTHERS]
            lines.append(
                f'{_place(number, row["kernel"])},"SpeedOfLight","","","","SOLBottleneck","INF","Look here."'
            )
        return "\n".join(lines) + "\n"


def _place(number: int, kernel: str) -> str:
    return f'"{number}","4711","python3","127.0.0.1","{kernel}","1","7","(256, 1, 1)","(64, 1, 1)","0","9.0"'


def _line(number: int, kernel: str, section: str, metric: str, unit: str, value: float) -> str:
    shown = f"{value:,.6f}" if unit in UNITS else f"{value:,.2f}"
    return f'{_place(number, kernel)},"{section}","{metric}","{unit}","{shown}"'
