"""How a worker ends is seen from outside and has its own words; nothing of it is left behind."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.errors import WorkerLostError
from autograder.model import Observation
from autograder.sandbox import tree
from tests.sandbox.amp_job import job

pytestmark = pytest.mark.slow


ENDS = {
    "os._exit with success": (
        "import os; os._exit(0)",
        "crash",
        "ended itself with exit status 0 before it answered",
    ),
    "os._exit with failure": (
        "import os; os._exit(9)",
        "crash",
        "ended itself with exit status 9 before it answered",
    ),
    "sys.exit": (
        "import sys; sys.exit(3)",
        "raised",
        "part3_amp.py could not be imported: called sys.exit(3) (part3_amp.py, line 3)",
    ),
    "an exception": (
        "1 / 0",
        "raised",
        "part3_amp.py could not be imported: ZeroDivisionError: division by zero (part3_amp.py, line 3)",
    ),
    "a syntax error": (
        "def (:",
        "raised",
        "part3_amp.py could not be imported: SyntaxError: invalid syntax (part3_amp.py, line 3)",
    ),
    "an exception that cannot be shown": (
        "class E(Exception):\n    __str__ = None\nraise E",
        "crash",
        "ended itself with exit status 1 before it answered",
    ),
    "a signal": (
        "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
        "crash",
        "died of signal 11 (SIGSEGV) before it answered",
    ),
    "closing its line and going on": (
        "import os, time; os.close(3); time.sleep(20)",
        "crash",
        "your code closed the file descriptor that the grader reads",
    ),
    "closing its line and answering": (
        "import os; os.close(3)",
        "crash",
        "your code closed the file descriptor that the grader reads",
    ),
    "a loop that swallows everything": (
        """
        import signal
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            try:
                while True: pass
            except BaseException: pass
        """,
        "timeout",
        "was stopped after 1 s, the limit of this part",
    ),
    "memory": (
        "hoard = []\nwhile True: hoard.append(bytearray(b'x' * (16 << 20)))",
        "memory",
        "used more than 512 MB of memory, the limit of this part",
    ),
    "endless output": (
        "while True: print('x' * 1000)",
        "refused",
        "printed more than 1 MB and was stopped",
    ),
    "killing its parent": (
        "import os, signal, time; os.kill(os.getppid(), signal.SIGKILL); time.sleep(20)",
        "crash",
        "its processes were killed from inside, before it answered",
    ),
    "bytes that are no message": (
        "import os; os.write(3, b'\\0\\0\\0\\4oops'); os._exit(0)",
        "refused",
        None,
    ),
    "a length of 4 GB": ("import os; os.write(3, b'\\xff' * 4); os._exit(0)", "refused", None),
    "NaN in a message": (
        """
        import os, struct
        text = b'{"kind":"RESULT","body":{"ended":"ok","values":{"x":NaN},"error":""},"arrays":[]}'
        os.write(3, struct.pack(">I", len(text)) + text); os._exit(0)
        """,
        "refused",
        None,
    ),
    "a kind of end that there is not": (
        """
        import json, os, struct
        body = {"ended": "raised", "values": {}, "error": "", "kind": "our fault", "imported": True, "import": 0.0}
        text = json.dumps({"kind": "RESULT", "body": body, "arrays": []}).encode()
        os.write(3, struct.pack(">I", len(text)) + text); os._exit(0)
        """,
        "refused",
        "the worker's answer was refused: it is no result",
    ),
    "another kind of message": (
        """
        import os, struct
        text = b'{"kind":"SCORE","body":{"points":100},"arrays":[]}'
        os.write(3, struct.pack(">I", len(text)) + text); os._exit(0)
        """,
        "refused",
        "the worker's answer was refused: it is no result",
    ),
    "a missing function": (
        "del train_epoch_amp",
        "raised",
        "part3_amp.py defines no function train_epoch_amp",
    ),
    "an unwritten function": (
        "raise NotImplementedError()",
        "raised",
        "part3_amp.py could not be imported: <module> is not written yet (part3_amp.py, line 3)",
    ),
}


@pytest.mark.parametrize(("code", "ended", "words"), ENDS.values(), ids=ENDS)
def test_each_end_has_its_own_words(workers, code, ended, words):
    """Timeout, memory, crash, exit and the rest are told apart by what the supervisor saw."""
    seen = workers(job(code, seconds=1 if ended == "timeout" else 20))

    assert ended == seen.ended
    assert words in (None, seen.error.partition("; it computed for ")[0])


KINDS = {
    "a syntax error": ("def (:", "syntax", False),
    "a missing module": ("import einops", "missing module", False),
    "an exception": ("1 / 0", "", False),
    "a missing function": ("del train_epoch_amp", "missing function", True),
    "nothing": ("", "no return", True),
    "nothing, where a function is missing that nobody asked for": (
        "del compare_precision",
        "no return",
        True,
    ),
}


@pytest.mark.parametrize(("code", "kind", "imported"), KINDS.values(), ids=KINDS)
def test_a_worker_says_of_which_kind_its_end_was(workers, code, kind, imported):
    """And whether the file could be imported at all."""
    observation = workers(job(code))

    assert ("raised", kind, imported) == (
        observation.ended,
        observation.kind,
        observation.imported,
    )


def test_whoever_ran_out_of_time_is_told_how_much_of_it_it_computed(workers):
    """One that waits has used none; work on a busy machine has used little."""
    seen = workers(job("import time; time.sleep(20)", seconds=1))

    assert (
        "was stopped after 1 s, the limit of this part; it computed for 0.0 s of them" == seen.error
    )


@pytest.mark.parametrize(("waited", "stopped"), [(0.0, True), (60.0, False)])
def test_waiting_for_a_core_does_not_count_for_three_times_the_limit(
    workers, monkeypatch, waited, stopped
):
    monkeypatch.setattr("autograder.sandbox.tree.waited_seconds", lambda pids: waited)

    assert stopped == (workers(job("import time; time.sleep(2)", seconds=1)).ended == "timeout")


def test_the_cpu_time_of_the_import_is_told(workers):
    code = "import time\nend = time.process_time() + 0.5\nwhile time.process_time() < end: pass"

    assert workers(job(code)).import_seconds >= 0.5


def test_a_process_that_was_left_behind_is_killed(workers, tmp_path):
    """A daemon in a session of its own does not outlive its worker."""
    mark = tmp_path / "pid"
    code = f"""
    import os, time
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            open({str(mark)!r}, "w").write(str(os.getpid()))
            time.sleep(60)
        os._exit(0)
    while not os.path.exists({str(mark)!r}) or not open({str(mark)!r}).read(): time.sleep(0.01)
    os._exit(0)
    """
    seen = workers(job(code))

    assert "crash" == seen.ended
    assert not Path(f"/proc/{mark.read_text()}").exists()
    assert "process(es) were left behind and killed" in seen.log


def test_a_fork_bomb_is_counted_and_killed(workers):
    """More processes than a part can want end the worker."""
    code = """
    import os, time
    for _ in range(300):
        if os.fork() == 0:
            time.sleep(30); os._exit(0)
    time.sleep(30)
    """
    seen = workers(job(code, memory_mb=8192))

    assert ("crash", "started more than 256 processes and was stopped") == (seen.ended, seen.error)


def test_workers_after_a_killed_keeper_are_served(workers):
    """One bad submission never stops the next."""
    workers(job("import os, signal; os.kill(os.getppid(), signal.SIGKILL)"))
    seen = workers(job("1 / 0"))

    assert "raised" == seen.ended


def test_a_part_that_workers_cannot_import_is_no_fault_of_the_student(workers):
    """As where the command is of one checkout and its workers of another; it is said from where they import."""
    with pytest.raises(
        WorkerLostError,
        match=r"No module named 'autograder\.labs\.mylab'; workers import perflab from /",
    ):
        workers(replace(job("1 / 0"), lab="mylab"))


def test_the_worker_sees_only_its_own_files_and_environment(workers):
    """Nothing of the supervisor's environment, descriptors or folders is handed down."""
    os.environ["PERFLAB_SECRET"] = "42"
    code = """
    import os
    raise RuntimeError(f"{sorted(os.environ)} {sorted(os.listdir('/proc/self/fd'))} {os.listdir('.')}")
    """
    seen = workers(job(code))

    assert "PERFLAB_SECRET" not in seen.error
    assert "['0', '1', '2', '3', '4'] []" in seen.error  # 4 is the listing itself


def test_what_was_used_is_measured_from_outside(workers):
    """CPU time and memory come from the kernel, not from the worker."""
    seen = workers(
        job(
            "import time\nhoard = bytearray(b'x' * (200 << 20))\nt = time.process_time()\nwhile time.process_time() - t < 0.3: pass"
        )
    )

    assert 0.3 <= seen.cpu_seconds < 10
    assert 150 << 20 < seen.peak_bytes < 500 << 20


def test_what_is_held_between_two_looks_counts(workers, monkeypatch):
    """The kernel keeps the most that there ever was: whoever looks late sees it all the same.

    Pages of libraries that are first touched after the most make both look smaller by as much, some tens of MB.
    """
    monkeypatch.setattr("autograder.sandbox.watch.POLL_SECONDS", 3600.0)
    many, few = (workers(job(f"held = b'x' * ({size} << 20); del held")) for size in (280, 100))

    assert 179 << 20 < many.peak_bytes - few.peak_bytes < 181 << 20


def test_what_is_read_from_files_does_not_count(workers):
    """However much of them is mapped and looked at."""
    code = """
        import mmap, pathlib, torch
        files = [path.open("rb") for path in pathlib.Path(torch.__file__).parent.glob("lib/*.so*")]
        maps = [mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) for file in files]
        assert sum(map(len, maps)) > 200 << 20
        seen = sum(sum(one[::4096]) for one in maps)
        """
    seen = workers(job(code, seconds=60))

    assert ("train_epoch_amp returned None instead of a dict", True) == (
        seen.error,
        seen.peak_bytes < 32 << 20,
    )


def test_the_baseline_answers_once_for_the_same_inputs(workers, monkeypatch):
    """It is trusted, and so is its memory; a student's answer is never taken for another's."""
    ran = []
    monkeypatch.setattr(
        workers, "fresh", lambda job: ran.append(job) or Observation(job.probe, "ok")
    )
    baseline = replace(job("pass"), side="baseline")
    for one in (
        baseline,
        baseline,
        replace(baseline, seed=2),
        replace(baseline, files={}),
        job("pass"),
        job("pass"),
    ):
        workers(one)

    assert [("baseline", 1), ("baseline", 2), ("baseline", 1), ("student", 1), ("student", 1)] == [
        (one.side, one.seed) for one in ran
    ]


def test_a_baseline_that_did_not_answer_is_asked_again(workers, monkeypatch):
    """What went wrong once may have been the machine."""
    ends = iter(["crash", "ok"])
    monkeypatch.setattr(workers, "fresh", lambda job: Observation(job.probe, next(ends)))
    baseline = replace(job("again"), side="baseline")

    assert ["crash", "ok", "ok"] == [workers(baseline).ended for _ in range(3)]


def test_the_tree_names_every_process_below(workers):
    """The supervisor itself is not among them."""
    assert os.getpid() not in tree.below(os.getpid())
