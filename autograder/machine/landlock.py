"""A Landlock domain: who is in it cannot look into, write to or signal a process outside of it.

The kernel guards the memory of a process by user alone, and everything in a box has the same
user, the box's own two processes included. Of the domain nothing else is wanted: it forbids no
file and no connection.
"""

from __future__ import annotations

import ctypes
import os
import struct

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the same on every processor
VERSION = 1
PATH_BENEATH = 1
REFER = (
    1 << 13
)  # moving files between folders: the one right that has to be given back, or it is lost
SIGNAL = 1 << 1
WITH_REFER, WITH_SCOPES = 2, 6  # the first ABI that knows each
_libc = ctypes.CDLL(None, use_errno=True)


def abi() -> int:
    """Return which version of it the kernel has; 0 is none."""
    return max(0, int(_libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), VERSION)))


def enter(version: int) -> None:
    """Be in a domain of one's own from now on, with all that is started."""
    if (
        version < WITH_REFER
    ):  # there it would forbid to move files between folders, which honest work does
        return
    handled = _attributes(version)
    ruleset = _called(CREATE_RULESET, handled, ctypes.c_size_t(len(handled)), 0)
    try:
        root = os.open("/", os.O_PATH | os.O_DIRECTORY)
        try:
            _called(ADD_RULE, ruleset, PATH_BENEATH, struct.pack("=Qi", REFER, root), 0)
        finally:
            os.close(root)
        _called(RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _attributes(version: int) -> bytes:
    """Return handled rights of files, of the network, and scopes."""
    return (
        struct.pack("=QQQ", REFER, 0, SIGNAL)
        if version >= WITH_SCOPES
        else struct.pack("=Q", REFER)
    )


def _called(number: int, *arguments: object) -> int:
    result = int(_libc.syscall(number, *arguments))
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"the sandbox could not be entered: Landlock: {os.strerror(error)}")
    return result
