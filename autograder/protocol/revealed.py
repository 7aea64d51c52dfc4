"""Inputs that a worker first sees when the clock starts: a sealed file in memory, handed over with
one message.

    a table: int64, for each call and each of its arrays the offset and MAX_DIMENSIONS sizes, -1 where there is none
    the arrays, each on a boundary of ALIGNMENT bytes

The names and dtypes of a call's arrays come with the message; they are alike for all calls of a
window.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autograder.protocol.wire import DTYPES, MAX_DIMENSIONS

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

KNOWN = {*DTYPES, "bool", "int32"}
ALIGNMENT = 64  # bytes, so that both sides compute with the same instructions
# F_SEAL_FUTURE_WRITE (Linux 5.1), which fcntl does not name: F_SEAL_WRITE would wait for the
# kernel's own references to fresh pages, and give up on a busy machine. It would also forbid
# writable mappings from before; there are none.
SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL | 0x10


@dataclass
class Revealed:
    """The inputs of one window; nobody can change them any more."""

    fd: int
    form: Mapping[str, Any]
    """What the message says: names, dtypes, number of calls."""

    def close(self) -> None:
        """Give the memory back."""
        os.close(self.fd)


def seal(calls: Sequence[Mapping[str, Array]]) -> Revealed:
    """Write the inputs of all calls of a window into a new file."""
    form = {
        "names": list(calls[0]),
        "dtypes": [str(array.dtype) for array in calls[0].values()],
        "calls": len(calls),
    }
    table, end = _table(calls, form)
    fd = os.memfd_create("window", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.truncate(fd, end)
    os.pwrite(fd, table.tobytes(), 0)
    for offsets, call in zip(table[:, :, 0].tolist(), calls, strict=True):
        for offset, array in zip(offsets, call.values(), strict=True):
            os.pwrite(fd, array.tobytes(), offset)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, SEALS)
    return Revealed(fd, form)


def unseal(fd: int, form: Mapping[str, Any]) -> list[dict[str, Array]]:
    """Map the arrays of each call; they may be written to, in this process only."""
    import numpy as np

    data = mmap.mmap(fd, 0, access=mmap.ACCESS_COPY)
    names = form["names"]
    dtypes = [np.dtype(name) for name in form["dtypes"]]
    width = len(names) * (1 + MAX_DIMENSIONS)
    table = np.frombuffer(data, np.int64, form["calls"] * width).reshape(
        form["calls"], len(names), -1
    )
    return [
        {
            name: np.ndarray([n for n in shape if n >= 0], dtype, data, offset)
            for name, dtype, (offset, *shape) in zip(names, dtypes, row, strict=True)
        }
        for row in table.tolist()
    ]


def _table(
    calls: Sequence[Mapping[str, Array]],
    form: Mapping[str, Any],
) -> tuple[Array, int]:
    import numpy as np

    assert set(form["dtypes"]) <= KNOWN, (
        f"inputs of {form['dtypes']}; use {', '.join(sorted(KNOWN))}"
    )
    alike = [(name, array.dtype) for name, array in calls[0].items()]
    rows = []
    end = len(calls) * len(alike) * (1 + MAX_DIMENSIONS) * 8
    for call in calls:
        assert alike == [(n, a.dtype) for n, a in call.items()], (
            "the calls of a window take the same arguments"
        )
        for array in call.values():
            end = -(-end // ALIGNMENT) * ALIGNMENT
            rows.append((end, *array.shape, *[-1] * (MAX_DIMENSIONS - array.ndim)))
            end += array.nbytes
    return np.array(rows, dtype=np.int64).reshape(len(calls), len(alike), -1), end
