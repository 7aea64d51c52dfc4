"""Part 1 of gpu_profiling judged whole: the reference passes on any seed, whatever a worker sends becomes a verdict."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from autograder import checks
from autograder.handed_in.submission import load
from autograder.labs.gpu_profiling.part1_profile import part
from autograder.model import Failed, Pair, Passed, Text, Unavailable
from autograder.traces.summary import NO_GPU
from tests.labs.bench import ROOT, Bench, failing
from tests.labs.scripted_profiles import answers, trace_of, with_a_gpu, without_one
from tests.labs.scripted_recordings import of_torch

bench = Bench("gpu_profiling", part)
pytestmark = pytest.mark.filterwarnings("ignore")
SAMPLES = ROOT.parent / "shared/samples"
FOREIGN = {
    "kineto/kineto_resnet50_num_workers_0.json.gz": "it holds the script's range 'copy' 0 times",
    "kineto/hta_cupti_profiler_counters.json.gz": "it holds 0 steps",
    "nsys/nsightful_power_iteration_t4_2025.3.sqlite.gz": "it holds 0 steps",
    "nsys/cs336_2.7B_nvtx_2024.6.nsys_stats_2023.4.csv": "it holds 0 steps",
}


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(3))
def test_the_reference_passes(judge, seed):
    """Nothing is lost; the work of a GPU, which its profile does not have, is owed."""
    found = judge(bench.source, seed)

    assert {} == failing(found)
    assert ["the_gpu_was_recorded"] == [
        name for name, one in found.items() if isinstance(one, Unavailable)
    ]


NONSENSE = {
    "captures_the_training": ("command_lines", {}, {"lines": {"capture": ["nsys"]}}),
    "sums_up_the_report": ("command_lines", {}, {"lines": {}}),
    "finds_the_gaps": ("analysed", {}, {"reported": []}),
    "finds_the_small_work": ("analysed", {}, {"reported": [{"kernel_mean_us": "many"}] * 3}),
}


@pytest.mark.parametrize(("probe", "arrays", "values"), NONSENSE.values(), ids=NONSENSE)
def test_whatever_a_worker_sends_becomes_a_verdict(request, probe, arrays, values):
    """A process that answers in the student's place gets no exception out of a check."""
    trusted = bench.baseline_answer(probe)
    sent = replace(
        trusted, arrays={**trusted.arrays, **arrays}, values={**trusted.values, **values}
    )

    assert isinstance(part.checks[request.node.callspec.id].judge(Pair(sent, trusted)), Failed)


def test_a_file_that_is_no_profile_fails_the_schedule():
    seen = replace(bench.own_answer("profiled"), arrays={"profile": np.arange(99, dtype=np.uint8)})

    assert isinstance(part.checks["follows_the_schedule"].judge(seen), Failed)


def test_a_profiler_that_is_left_on_is_said():
    seen = bench.own_answer("profiled")

    found = part.checks["trains_once_and_stops"].judge(
        replace(seen, values={**seen.values, "still": True})
    )

    assert "your code starts a profiler and does not stop it" == found.why


@pytest.mark.parametrize(
    "line",
    ["nsys profile 'baseline", "nsys profile \\\n  baseline", 7],
    ids=["a quote", "two lines", "a number"],
)
def test_a_line_of_any_kind_is_split(judge, line):
    source = bench.changed(('        "export": [', f'        "export": {line!r} or ['))

    assert {"exports_for_others"} == set(failing(judge(source, only={"exports_for_others"})))


# --- the files that are handed in -------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", FOREIGN)
def test_any_real_profile_is_read_and_told_apart(file):
    """Whoever hands in a profile of something else learns that it is, whichever tool wrote it; nothing breaks."""
    if not (SAMPLES / file).is_file():
        pytest.skip(f"{SAMPLES.name}/{file} is not here")
    trace = checks.read((SAMPLES / file).read_bytes(), "baseline_profile.gz")
    told = Text("answers.json", json.dumps(answers(trace)))

    assert FOREIGN[file] in part.checks["profile_is_of_the_script"].judge(trace).measured
    for name in (
        "answers_know_the_gaps",
        "answers_know_the_data",
        "answers_know_the_work",
        "answers_know_the_cpu",
    ):
        assert isinstance(part.checks[name].judge(told, trace), Passed), name


@pytest.mark.parametrize("note", [NO_GPU, "cut short"])
def test_too_few_steps_are_not_for_want_of_a_gpu(note, tmp_path):
    trace = trace_of(of_torch(), tmp_path)
    short = replace(trace, steps=trace.steps[:1], notes=(note,))

    judged = part.checks["profile_is_of_the_script"].judge(short)

    assert "it holds 1 step, expected at least 5" in judged.measured
    assert (judged.why == note) is (note != NO_GPU)


def test_a_profile_without_a_wait_or_without_kernels_is_said(tmp_path):
    trace = trace_of(of_torch(), tmp_path)
    without_loader = replace(
        trace, figures=tuple(one for one in trace.figures if one.id != "dataloader")
    )
    without_kernels = replace(trace, figures=(), notes=())

    assert (
        "no wait for a DataLoader"
        in part.checks["profile_is_of_the_script"].judge(without_loader).measured
    )
    assert (
        "the work of the GPU was not recorded"
        == part.checks["the_gpu_was_recorded"].judge(without_kernels).why
    )


def test_a_profile_with_kernels_and_without_copies_is_answered_as_it_is_judged(tmp_path):
    """What it cannot say is None, in the reference as in the checks."""
    from part1_profile import analyse_profile

    whole = json.loads(gzip.decompress(of_torch()))
    whole["traceEvents"] = [one for one in whole["traceEvents"] if one.get("cat") != "gpu_memcpy"]
    trace = trace_of(gzip.compress(json.dumps(whole).encode()), tmp_path)
    told = analyse_profile(tmp_path / "baseline_profile.gz")

    assert (None, None) == (told["host_to_device_ms"], told["copy_overlap_percent"])
    for name in (
        "answers_know_the_gaps",
        "answers_know_the_data",
        "answers_know_the_work",
        "answers_know_the_cpu",
    ):
        assert isinstance(
            part.checks[name].judge(Text("answers.json", json.dumps(told)), trace), Passed
        ), name


def plain(packed):
    """Return what was packed, without the number of the SQLite that wrote it, where one did."""
    data = gzip.decompress(packed)
    return data[:96] + data[100:] if data.startswith(b"SQLite format 3\0") else data


def test_the_folders_of_the_corpus_are_what_is_made_here(tmp_path):
    """python -m tests.labs.scripted_profiles writes them."""
    made = {**with_a_gpu(tmp_path), **without_one()}

    for name, (kind, _, fails, files) in made.items():
        folder = ROOT / "tests/submissions/gpu_profiling" / name
        said = yaml.safe_load((folder / "expect.yaml").read_text(encoding="utf-8"))
        assert (kind, fails) == (said["kind"], said["fails"])
        for file, data in files.items():
            here = (folder / file).read_bytes()
            if isinstance(data, str):
                assert data.encode() == here, f"{name}/{file}"
            else:
                assert plain(data) == plain(here), f"{name}/{file}"


def test_a_packed_profile_is_taken_from_a_submission(tmp_path):
    """It is bytes, however its name ends."""
    (tmp_path / "baseline_profile.gz").write_bytes(of_torch())

    assert {"baseline_profile.gz"} == set(load(tmp_path, part.artefacts.values()).files)


# --- what is handed out -----------------------------------------------------------------------------------------------


def test_what_covers_a_window_is_counted_once():
    from given import Event, covered, divided, gaps

    first, second, last = (
        Event("kernel", "gemm", *pair, (0, 7)) for pair in ((0, 4), (2, 6), (9, 30))
    )

    assert 6 == covered([first, second])
    assert (5, 0) == (covered([second, first, last], (1, 6)), covered([], (0, 5)))
    assert [3, 1] == gaps([last, first, second], (0, 9)) + gaps([first], (3, 5))
    assert {"work": 4, "wait": 2, "Python and other": 3} == divided(
        (0, 9), {"work": [first], "wait": [second, last]}
    )


def test_a_gap_is_queued_when_its_end_was_launched_before_it_began():
    from given import Event, queued

    calls = [
        Event("cuda_runtime", "cudaLaunchKernel", 0, 4, (1, 1), 1),
        Event("cuda_driver", "x", 4, 14, (1, 1), 2),
    ]
    work = [
        Event("kernel", "gemm", *pair, (0, 7), number)
        for *pair, number in ((1, 5, 9), (8, 12, 1), (16, 20, 2))
    ]

    assert [(5, 8)] == [(one.start, one.end) for one in queued(work, calls)]
    assert [] == queued(work, []) == queued([], calls)


def test_photos_are_the_same_each_time_and_have_an_end():
    from given import Photos

    photos = Photos(3, side=20)
    image, label = photos[2]

    assert ((20, 20), "RGB", 3) == (image.size, image.mode, len(photos))
    assert (image.tobytes(), label) == (Photos(3, side=20)[2][0].tobytes(), photos[2][1])
    with pytest.raises(IndexError):
        photos[3]


def test_the_script_trains():
    """It calls on_step at each batch, and learns: ten batches, four times over."""
    import torch

    from given import training_unoptimized

    torch.manual_seed(0)
    calls: list[int] = []
    training = training_unoptimized.prepare(torch.device("cpu"), 10)
    training["loader"] = 4 * list(training["loader"])
    losses = training_unoptimized.train_epoch(**training, on_step=lambda: calls.append(1))

    assert (40, 40) == (len(losses), len(calls))
    assert losses[-1] < losses[0] / 2
    assert 2 == len(training_unoptimized.train(batches=2))


def test_a_span_outside_of_a_gpu_is_a_range_alone():
    from given import span, spanned

    with span("copy"):
        assert [1, 2] == list(spanned([1, 2]))


def test_the_planted_faults_are_all_in_the_script():
    """Each pattern finds its lines, and no line that is not one."""
    lines = bench.baseline_answer("planted").values["lines"]

    assert all(lines.values())
    script = (
        Path(bench.reference / "given/training_unoptimized.py")
        .read_text(encoding="utf-8")
        .splitlines()
    )
    assert not [n for found in lines.values() for n in found if "import" in script[n - 1]]
