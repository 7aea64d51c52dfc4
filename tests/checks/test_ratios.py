"""Ratios against a bar, and files that are text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autograder.checks import TEXT_CAP, memory, read, speedup
from autograder.errors import OwedError, SubmissionError
from autograder.model import (
    Bar,
    Compared,
    Device,
    Failed,
    Inconclusive,
    NeedsRoom,
    Observation,
    Pair,
    Partial,
    Passed,
    Text,
    Timed,
    Unavailable,
)

BAR = Bar(1.5, "seed")


PAIRS = {"pairs": [0.4] * 5}
SHOWN = {**PAIRS, "bar": 1.5}  # what a page draws


def timed(decision=None, credit=0.0, unavailable=""):
    words = {"INCONCLUSIVE": "the pairs differ too much to tell"}.get(decision, "")
    found = Compared(decision, "1.4x (5 pairs)", credit, words, PAIRS) if decision else None
    return Timed(Observation("amp", "ok"), Observation("amp", "ok"), found, unavailable)


JUDGED = "1.4x (5 pairs); the bar is 1.50x"


@pytest.mark.parametrize(
    ("evidence", "verdict"),
    [
        pytest.param(timed("PASS", 1.0), Passed(JUDGED, SHOWN), id="proved"),
        pytest.param(
            timed("FAIL", 0.6), Partial(0.6, JUDGED, "why", "try", SHOWN), id="proved in part"
        ),
        pytest.param(timed("FAIL"), Failed(JUDGED, "why", "try", SHOWN), id="below"),
        pytest.param(
            timed("INCONCLUSIVE", 0.6),
            Inconclusive("1.4x (5 pairs)", "the pairs differ too much to tell", SHOWN),
            id="too noisy",
        ),
        pytest.param(
            timed(unavailable="needs a GPU"),
            Unavailable("needs a GPU"),
            id="no clock, with a reason",
        ),
        pytest.param(
            timed(), Unavailable("no trusted clock compared the two sides"), id="no clock"
        ),
    ],
)
def test_a_speedup_is_judged_by_the_bar_or_owed(evidence, verdict):
    assert verdict == speedup.at_least(evidence, BAR, why="why", try_="try")


def test_a_speed_that_passes_below_the_bar_says_what_is_enough():
    """Else whoever reads the figures takes the verdict for a mistake."""
    near = timed("PASS", 1.0)
    near = replace(near, compared=replace(near.compared, evidence={"interval": [1.47, 1.52]}))
    verdict = speedup.at_least(near, BAR, why="why", try_="try")

    assert f"{JUDGED}, and 1.46x (97 % of it) is enough" == verdict.measured


NEAR = {"shares": {"numbers": 0.02}}


@pytest.mark.parametrize(
    ("same", "evidence", "verdict"),
    [
        pytest.param(
            Failed("other numbers", "", ""),
            timed("PASS", 1.0),
            Failed("other numbers", "", ""),
            id="wrong",
        ),
        pytest.param(
            Passed("alike", NEAR),
            timed("PASS", 1.0),
            Passed(JUDGED, {**NEAR, **SHOWN}),
            id="right and proved",
        ),
        pytest.param(
            Passed("alike", NEAR),
            timed(unavailable="no"),
            Unavailable("no", NEAR),
            id="right and owed",
        ),
    ],
)
def test_what_timed_work_computes_is_judged_before_its_speed(same, evidence, verdict):
    """How far honest work was off stays in the evidence, where `perflab calibrate` looks for it."""
    assert verdict == speedup.at_least(evidence, BAR, why="why", try_="try", same=same)


def peaks(student: float, baseline: float) -> Pair:
    """What the supervisor saw, in MB."""
    return Pair(
        *(Observation("big", "ok", peak_bytes=int(mb * memory.MB)) for mb in (student, baseline))
    )


LESS = "{}x less than the baseline ({} MB, the baseline {} MB); the bar is 1.50x".format
CPU, GPU = Device("EPYC", "cpu", "cpu"), Device("T4", "cuda", "t4")
STILL = peaks(0, 0)
PEAKS = {
    "less": (peaks(50, 80), CPU, Passed(LESS("1.60", 50, 80))),
    "just as much as asked for": (peaks(20, 30), CPU, Passed(LESS("1.50", 20, 30))),
    "as much": (peaks(80, 80), CPU, Failed(LESS("1.00", 80, 80), "why", "try")),
    "more": (peaks(160, 80), CPU, Failed(LESS("0.50", 160, 80), "why", "try")),
    "hardly any": (
        peaks(1, 15),
        CPU,
        Unavailable("15.0 MB of the baseline's are too little to compare"),
    ),
    "not seen": (
        peaks(0, 80),
        CPU,
        Unavailable("80.0 MB of the baseline's are too little to compare"),
    ),
}


@pytest.mark.parametrize(("run", "device", "verdict"), PEAKS.values(), ids=PEAKS)
def test_memory_is_judged_by_the_bar_or_owed(run, device, verdict):
    """What was judged is in the evidence, which the feedback page draws."""
    judged = memory.at_least_less(run, STILL, BAR, device, why="why", try_="try")
    seen = {
        "student_peak_bytes": run.student.peak_bytes,
        "baseline_peak_bytes": run.baseline.peak_bytes,
    }
    noted = {} if isinstance(verdict, Unavailable) else {**seen, "memory_bar": 1.5}

    assert replace(verdict, evidence=noted) == judged


SHARES = {
    "less": (10, Passed("m", {"memory_bar": 2.0})),
    "nothing": (0, Passed("m", {"memory_bar": 2.0})),
    "more": (50, Failed("m", "why", "try", {"memory_bar": 2.0})),
}


@pytest.mark.parametrize(("student", "verdict"), SHARES.values(), ids=SHARES)
def test_peaks_that_decided_are_in_the_evidence(student, verdict):
    """Else the feedback page says that nothing was measured."""
    judged = memory.at_most(peaks(student, 80), STILL, 40 * memory.MB, "m", "why", "try")
    seen = {"student_peak_bytes": student * memory.MB, "baseline_peak_bytes": 80 * memory.MB}

    assert replace(verdict, evidence={**seen, **verdict.evidence}) == judged


@pytest.mark.parametrize("idle", [0, 50, 70, 500])
def test_memory_counts_beyond_a_trusted_idle_workers(idle):
    """Whatever an idle worker of the student's holds, libraries or a ballast, makes no verdict milder."""
    still = Pair(peaks(idle, 0).student, peaks(0, 50).baseline)

    assert (30.0, 250.0) == tuple(
        needed / memory.MB for needed in memory.beyond(peaks(80, 300), still)
    )


def test_nobody_needs_less_than_nothing():
    assert (0.0, 250.0) == tuple(
        needed / memory.MB for needed in memory.beyond(peaks(40, 300), peaks(50, 50))
    )


def on_gpu(
    student: float | None, baseline: float | None, unseen: str = "", room: float = 0.0
) -> Pair:
    """What NVML showed, in MB; of the memory of processes nothing follows."""
    sides = [
        Observation(
            "big",
            "ok",
            peak_bytes=mb,
            gpu_bytes=None if seen is None else int(seen * memory.MB),
            gpu_unseen=why,
        )
        for mb, seen, why in (
            (1, student, unseen),
            (2**40, baseline, unseen if baseline is None else ""),
        )
    ]
    return Pair(*sides, room_bytes=int(room * memory.MB))


IDLE = on_gpu(9000, 400)  # what a student's idle worker holds is not taken off
ON_GPU = "{} MB, the baseline 600 MB; the bar is 1.50x".format


def test_a_bar_on_memory_of_a_gpu_asks_for_a_run_in_less():
    """A context, and what the bar leaves of the baseline's rest; who does not finish fails with both figures."""
    verdict = memory.at_least_less(on_gpu(900, 1000), IDLE, BAR, GPU, why="why", try_="try")

    failed = f"{ON_GPU(500)}; with 400 MB left on the GPU it did not finish"
    evidence = {
        "student_peak_bytes": 500 * memory.MB,
        "baseline_peak_bytes": 600 * memory.MB,
        "memory_bar": 1.5,
    }
    otherwise = Failed(failed, "why", "try", evidence)
    assert NeedsRoom("big", int(1000 * memory.MB), int(800 * memory.MB), otherwise) == verdict


def test_who_finished_in_that_passes():
    """The figures are those of the run that decided."""
    judged = memory.at_least_less(
        on_gpu(780, 1000, room=800), IDLE, BAR, GPU, why="why", try_="try"
    )

    assert isinstance(judged, Passed)
    assert f"{ON_GPU(380)}; it finished with no more than that left on the GPU" == judged.measured


def test_another_room_than_the_bars_is_asked_for_again():
    run = on_gpu(780, 1000, room=900)
    verdict = memory.at_least_less(run, IDLE, BAR, GPU, why="why", try_="try")

    assert isinstance(verdict, NeedsRoom)


UNSEEN = {
    "nobody looked": (peaks(50, 80), IDLE, "the use of GPU memory was not observed"),
    "not of the student's": (on_gpu(None, 1000, "NVML is gone"), IDLE, "NVML is gone"),
    "not of the baseline's": (on_gpu(500, None, "NVML is gone"), IDLE, "NVML is gone"),
    "not of an idle worker": (on_gpu(500, 1000), on_gpu(400, None, "NVML is gone"), "NVML is gone"),
    "hardly any": (on_gpu(405, 415), IDLE, "15.0 MB of the baseline's are too little to compare"),
}


@pytest.mark.parametrize(("run", "idle", "words"), UNSEEN.values(), ids=UNSEEN)
def test_without_figures_of_a_gpu_a_bar_is_owed(run, idle, words):
    """Never a zero, a pass, or a verdict by the memory of processes."""
    with pytest.raises(OwedError) as owed:
        memory.at_least_less(run, idle, BAR, GPU, why="why", try_="try")

    assert words == str(owed.value)


def test_any_other_file_is_text():
    assert Text("notes.md", "ä") == read(b"\xef\xbb\xbf\xc3\xa4", "notes.md")


def test_lines_of_a_text_end_as_python_has_them():
    assert Text("notes.md", "a\nb\n\nc") == read(b"a\nb\r\n\rc", "notes.md")


def test_text_may_be_as_powershell_writes_it():
    assert Text("notes.md", "a\n\u00e9") == read("a\r\n\u00e9".encode("utf-16"), "notes.md")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        pytest.param(b"a\0", "notes.md: holds a NUL byte, so it is no text", id="NUL"),
        pytest.param(b"\xff", "notes.md: byte 0 is not UTF-8; save it as UTF-8", id="not UTF-8"),
        pytest.param(
            b"a" * (TEXT_CAP + 1),
            "notes.md: 1048577 bytes; at most 1048576 are read",
            id="too large",
        ),
    ],
)
def test_text_that_cannot_be_read_is_refused_in_words(data, words):
    with pytest.raises(SubmissionError) as refused:
        read(data, "notes.md")

    assert words == str(refused.value)
