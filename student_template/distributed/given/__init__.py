"""What the parts of this lab are given.

    with watch_collectives() as calls: ...      calls: [{"kind": "all_reduce", "bytes": 66560}, ...] of this process
    start(work, processes=2)                    calls work(rank, device) in processes of one group
    Net(width=128, layers=4)                    the network of parts 1 and 2
    device_name(device)                         the name of the GPU or CPU, for a column `device`
    ADVICE                                      what `advise` of part 2 may answer

The lab hands this folder out and grades with its own copy: a change here reaches nobody else.
"""

from .advice import ADVICE
from .collectives import watch_collectives
from .devices import device_name
from .launch import start
from .nets import Net

__all__ = [
    "ADVICE",
    "Net",
    "device_name",
    "start",
    "watch_collectives",
]
