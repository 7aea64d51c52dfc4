"""What every test of a part has: the surroundings of a worker, and `judge`. Its module names the part as `bench`."""

from __future__ import annotations

import gc
import sys

import pytest

from autograder.worker.rig import Rig


@pytest.fixture(scope="session", autouse=True)
def frozen():
    """As in a worker's parent: what a probe collects is what the student made, not all of torch and pytest."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture
def bench(request):
    """The part that a module is about."""
    return getattr(request.module, "bench", None)


@pytest.fixture(autouse=True)
def surroundings(request, monkeypatch):
    """`given` to import, no display; and this process keeps its allocator."""
    bench = request.getfixturevalue("bench")
    if bench is None:  # of judges and rigs, which run no part
        yield
        return
    monkeypatch.syspath_prepend(str(bench.reference))
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setattr(Rig, "return_memory_at_once", lambda rig: None)
    yield
    for name in [name for name in sys.modules if name.split(".")[0] in ("given", bench.part.id)]:
        del sys.modules[name]


@pytest.fixture
def judge(bench, tmp_path, monkeypatch):
    """judge(source, seed, only) -> {check: verdict}. What a solution writes where it runs is not left behind."""
    monkeypatch.chdir(tmp_path)

    def judged(source, seed=1, only=()):
        path = tmp_path / bench.part.file
        if source == bench.source:
            path = bench.solution
        else:
            path.write_text(source, encoding="utf-8")
        return bench.judged(path, seed, only)

    return judged
