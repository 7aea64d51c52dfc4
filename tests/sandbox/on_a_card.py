"""Run by test_ballast.py as a program, on a card that stand_in_gpu.c makes up: what comes of each scenario, as JSON.

Whatever asks NVML and CUDA's driver here is the code that asks a real one. LD_LIBRARY_PATH names the stand-ins, and
STAND_IN_CARD the card's file.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from autograder.course import Course, find_root
from autograder.errors import OwedError, SpoiltError
from autograder.grading.grade import grade
from autograder.grading.kit import Session
from autograder.handed_in.submission import load
from autograder.model import Device, Job, Limits, Observation
from autograder.sandbox import Workers
from autograder.sandbox.ballast import Ballast
from autograder.sandbox.card import Card, Gauge

MB = 1 << 20
UUID = "GPU-made-up"
FIELDS = (
    "total",
    "others",
    "context",
    "nvml_says",
    "cuda_says",
    "hides",
    "divided",
    "largest",
    "looks",
)


class Made(ctypes.Structure):
    """The card in its file."""

    _fields_ = [*((name, ctypes.c_uint64) for name in FIELDS), ("held", ctypes.c_uint64 * 2 * 64)]


def made(**fields: int) -> Made:
    """Make a card of 4 GB, of which somebody else has 100 MB, or change the one that is there."""
    size = ctypes.sizeof(Made)
    with Path(os.environ["STAND_IN_CARD"]).open("r+b") as file:
        file.truncate(size)
        card = Made.from_buffer(mmap.mmap(file.fileno(), size))
    for name, value in {
        **dict.fromkeys(FIELDS, 0),
        "total": 4096 * MB,
        "others": 100 * MB,
        **fields,
    }.items():
        setattr(card, name, value)
    ctypes.memset(card.held, 0, ctypes.sizeof(card.held))
    return card


# What a worker starts with: CUDA, and a card that can be watched. `looked_at` ends when NVML was asked twice.
CUDA = f"""
import ctypes, os, struct, time
os.environ["STAND_IN_CARD"] = {os.environ["STAND_IN_CARD"]!r}
cuda = ctypes.CDLL({os.environ["LD_LIBRARY_PATH"]!r} + "/libcuda.so.1")

def asked(call):
    if call:
        raise MemoryError(f"CUDA answered {{call}}")

def take(mb):
    asked(cuda.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t(mb << 20)))

def give_back(mb):
    asked(cuda.cuMemFree_v2(ctypes.c_uint64(mb << 20)))

def on_the_card(name, value=None):
    with open(os.environ["STAND_IN_CARD"], "r+b") as file:
        file.seek(8 * {(*FIELDS, "held")!r}.index(name))
        if value is not None:
            file.write(struct.pack("Q", value))
        return value or struct.unpack("Q", file.read(8))[0]

def looked_at():
    until = on_the_card("looks") + 2
    while on_the_card("looks") < until:
        time.sleep(0.001)

def without_the_ballast():
    first = on_the_card("held")  # who is there longest; processes that are gone leave their place
    if first not in (0, os.getpid()):
        os.kill(first, 9)
        while open(f"/proc/{{first}}/stat").read().rpartition(")")[2].split()[0] != "Z":
            time.sleep(0.001)

asked(cuda.cuInit(0))
asked(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(ctypes.c_void_p()), 0))
"""

# What a student's side does, where the baseline does "take(800); looked_at()".
WORK = {
    "less": "take(600); looked_at()",
    "much less": "take(500); looked_at()",
    "as much": "take(800); looked_at()",
    "between two looks": "take(800); give_back(800); looked_at()",
    "before the work": "take(300); looked_at(); take(500); looked_at()",
    "in pieces": "for _ in range(8): take(100)\nlooked_at()",
    "what the card has to spare": "take(600); on_the_card('others', 200 << 20)",
    "without the ballast": "without_the_ballast(); take(800)",
}


def worker(job: Job) -> Observation:
    """Run it in a process of its own, looked at as often as can be."""
    gauge = Gauge(Card(UUID))
    gauge.look()
    code = CUDA + job.files["work"].decode()
    process = subprocess.Popen([sys.executable, "-I", "-c", code], stderr=subprocess.PIPE)
    while process.poll() is None:
        gauge.look([process.pid])
        time.sleep(0.001)
    said = process.communicate()[1].decode().splitlines()
    return Observation(
        "work", "raised" if said else "ok", error="".join(said[-1:]), gpu_bytes=gauge.peak_bytes
    )


def job(code: str) -> Job:
    """Return the job of a worker that does *code*."""
    return Job("", "", "work", "student", 0, Limits(), {"work": code.encode()})


def outcome(do: Callable[[], Any]) -> Any:
    """Say what came of it, or why nothing did."""
    try:
        return do()
    except (OwedError, SpoiltError) as why:
        return f"{type(why).__name__}: {why}"


def squeezed(work: str, full: int = 1100, room: int = 880, **card: int) -> Any:
    """Ask for the work in *room* MB, where the baseline took *full*: 800 of its own, and a context of 300."""
    made(context=300 * MB, **card)

    def do() -> str:
        ballast = Ballast(worker, Card(UUID))
        seen = ballast(job(work), job("take(800); looked_at()"), full * MB, room * MB)
        return f"{seen.ended} {seen.error}".strip()

    return outcome(do)


def seen(**card: int) -> Any:
    """Ask NVML about a worker that takes 700 MB, 300 of them for its context."""
    made(context=300 * MB, **card)
    found = outcome(
        lambda: [it // MB for it in (Card(UUID).memory().used, Card(UUID).memory().free)]
    )
    if isinstance(found, str):
        return found
    peak = worker(job("take(400); looked_at()")).gpu_bytes
    return [*found, (peak or 0) // MB]


def without_driver() -> Any:
    """The same where there is no libcuda."""
    kept = os.environ.pop("LD_LIBRARY_PATH")
    try:
        return squeezed(WORK["less"])
    finally:
        os.environ["LD_LIBRARY_PATH"] = kept


def scenarios() -> dict[str, Any]:
    """Run all that need no torch."""
    return {
        **{work: squeezed(code) for work, code in WORK.items()},
        "less, of a card in pieces": squeezed(WORK["less"], largest=900 * MB),
        "a bar that tells nobody apart": squeezed(WORK["less"], room=1101),
        "a figure that is too small": squeezed(WORK["less"], full=1000),
        "a full card": squeezed(WORK["less"], others=3000 * MB),
        "CUDA does not start": squeezed(WORK["less"], cuda_says=999),
        "no driver": without_driver(),
        "by process": seen(),
        "by process, MIG off": seen(divided=1),
        "no process is named": seen(hides=1),
        "no process has a figure": seen(hides=2),
        "MIG": seen(divided=2),
        "NVML does not start": seen(nvml_says=9),
    }


# Appended to part4_memory.py: a net that takes so much of the card for a large batch.
NET = """
def _on_the_card(net, does):
    class OnTheCard(net):
        def __init__(self, simple):
            super().__init__(simple)
            exec(CUDA, globals())

        def forward(self, images):
            if len(images) > 32:
                exec(does, globals())
            looked_at()
            return super().forward(images)
    return OnTheCard

MemoryEfficientNet = _on_the_card(MemoryEfficientNet, DOES)
"""


def graded() -> dict[str, Any]:
    """Grade a part of a course with a memory bar: the reference, with a net that takes memory of the card."""
    course = Course(find_root())
    kit, part = course.kit("gpu_profiling"), "part4_memory.py"

    def on_the_card(source: bytes, does: str) -> bytes:
        return source + f"\nCUDA = {CUDA!r}\nDOES = {does!r}\n{NET}".encode()

    handed_in = load(course.reference("gpu_profiling"), kit.lab.files)
    right = handed_in.files[part]
    kit.baseline[part] = on_the_card(kit.baseline[part], "take(800)")  # type: ignore[index] a dict
    made(context=300 * MB)
    found: dict[str, Any] = {}
    with Workers(preload=["autograder.worker.shim"], card=Card(UUID)) as workers:
        whole = Session(
            workers, Device("made up", "cuda", "t4"), "cpu", "none", "", lambda: 0.0, None,
            Ballast(workers.fresh, Card(UUID)),
        )  # fmt: skip
        for name in ("much less", "between two looks"):
            handed_in.files[part] = on_the_card(right, WORK[name])  # type: ignore[index] a dict
            result = grade(
                handed_in, kit, whole, seed=7, parts=["part4_memory"], only="needs_less_memory"
            )
            check = result.parts[0].checks[-1]
            found[name] = [check.outcome, check.measured, check.reason]
    return found


if __name__ == "__main__":
    print(json.dumps({"scenarios": scenarios, "graded": graded}[sys.argv[1]]()))
