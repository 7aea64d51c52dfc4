"""python -I -m autograder.traces FILE NAME: read one hostile file in this process, print a Trace
or what is wrong.

Run as a process of its own, so that a file which breaks the reader breaks nothing else. The
limits hold even without a fence around it.
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path

from autograder.errors import SubmissionError
from autograder.records import to_json
from autograder.traces import read

MEMORY = 3 * 1024**3  # bytes of address space; numpy's own threads take 0.5 GiB of it
CPU_SECONDS = 100


def main(path: str, name: str) -> None:
    """Print one JSON object: `trace`, or `error` in words."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        answer = {"trace": to_json(read(Path(path), name))}
    except SubmissionError as error:
        answer = {"error": str(error)}
    except (MemoryError, RecursionError):
        answer = {
            "error": (
                f"{name}: needs more than {MEMORY // 1024**3} GiB of memory to read; "
                "record fewer steps"
            )
        }
    json.dump(answer, sys.stdout, allow_nan=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
