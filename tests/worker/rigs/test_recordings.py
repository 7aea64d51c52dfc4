"""A made recording: what is painted of it is where its events ran."""

from __future__ import annotations

import gzip
import json

import numpy as np

from autograder.worker.rigs.recordings import BACK, TO_GPU, Recording


def recording():
    made = Recording(np.random.default_rng(1))
    made.window = slice(10, 20)
    assert made.add("kernel", "gemm", 5, 10) == 15
    made.add("kernel", "gemm", 14, 4, 20)
    made.add("gpu_memcpy", TO_GPU, 2, 4)
    made.add("gpu_memcpy", BACK, 30, 2)
    return made


def test_time_is_painted_where_events_ran():
    made = recording()
    kernels, copies = made.painted("kernel"), made.painted("gpu_memcpy", holding="HtoD")

    assert (80.0, 90.0) == (made.share(kernels), made.share(made.counted("kernel")))
    assert 65.0 == made.share(kernels, slice(0, 20))
    assert (slice(2, 32), 0.004) == (made.whole, made.milliseconds(copies))
    assert [5, 14] == [event["ts"] for event in made.of("kernel", beginning="ge")]


def test_the_file_holds_every_event_on_its_stream():
    made = recording()
    events = json.loads(gzip.decompress(made.data()))["traceEvents"]

    assert {7, 20} == {event["tid"] for event in events}
    assert {0} == {event["pid"] for event in events}
    assert [8192, 16384] == sorted(event["args"].get("bytes", 0) for event in events)[2:]
    assert 28 == max(event["ts"] for event in events) - min(event["ts"] for event in events)
