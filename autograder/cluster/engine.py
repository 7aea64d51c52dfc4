"""The process beside the run that has Parsl in it.

Lanes connect to it, send the name of a job, and wait for an answer. It is a process of its own,
since Parsl starts threads and the run forks its lanes. It ends when the run does, however that
ends: then it cancels its pilots, so that none of them keeps a place in a queue.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection, Listener
from pathlib import Path
from threading import Thread
from typing import Any

from autograder.batch.rounds import MOST_SECONDS
from autograder.cluster import node
from autograder.cluster import site as sites
from autograder.errors import UserError

Submit = Callable[[str], "Future[dict[str, Any]]"]


def main() -> None:
    """Run python -m autograder.cluster.engine SITE ADDRESS RUN_DIR.

    It says that it is ready, and works until stdin ends.
    """
    file, address, run_dir = map(Path, sys.argv[1:])
    own = str(Path(sys.executable).parent)
    os.environ["PATH"] = os.pathsep.join([own, os.environ.get("PATH", "")])
    out = os.fdopen(os.dup(1), "w", buffering=1)
    # What Parsl prints is for the log.
    os.dup2(2, 1)

    def ready(slots: int) -> None:
        print(json.dumps({"slots": slots}), file=out)

    try:
        serve(sites.read(file), str(address), run_dir, ready)
    except UserError as problem:
        print(json.dumps({"stop": str(problem)}), file=out)


def serve(
    site: sites.Site,
    address: str,
    run_dir: Path,
    ready: Callable[[int], None],
) -> None:
    """Answer lanes until the run is gone."""
    import parsl

    config = sites.config(site, run_dir)
    with Listener(address, "AF_UNIX", backlog=64) as listener, parsl.load(config) as kernel:
        app = parsl.python_app(node.grade, data_flow_kernel=kernel, executors=[sites.LABEL])
        submit = partial(_submitted, app, site.gpus)
        Thread(target=_accept, args=(listener, submit), daemon=True).start()
        ready(sites.slots(site, config.executors[0].provider))
        sys.stdin.buffer.read()


def _submitted(app: Any, gpus: int, job: str) -> Future[dict[str, Any]]:
    future: Future[dict[str, Any]] = app(job, gpus, MOST_SECONDS)
    return future


def _accept(listener: Listener, submit: Submit) -> None:
    while True:
        with suppress(OSError):  # of one lane that was killed while it called
            Thread(target=_answer, args=(listener.accept(), submit), daemon=True).start()


def _answer(lane: Connection, submit: Submit) -> None:
    with lane, suppress(EOFError, OSError):  # a lane that is gone waits for nothing
        outcome = answer(submit, lane.recv_bytes().decode())
        lane.send_bytes(json.dumps(outcome).encode())


def answer(submit: Submit, job: str) -> dict[str, Any]:
    """Wait for what becomes of a job; whatever Parsl loses is nobody's fault."""
    from parsl.executors.high_throughput.errors import ManagerLost, WorkerLost

    try:
        return submit(job).result()
    except (ManagerLost, WorkerLost) as gone:
        what = "the node" if isinstance(gone, ManagerLost) else "the worker"
        return {"cut off": f"{what} that graded it on {gone.hostname} was lost"}
    except Exception as error:  # of Parsl's many
        words = " ".join(str(error).split()) or type(error).__name__
        return {"stop": f"the cluster: {type(error).__name__}: {words[:500]}"}


if __name__ == "__main__":
    main()
