"""A class of a hundred on a real Slurm of two nodes with fake GPUs: the run killed and gone on with, a pilot killed."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections import defaultdict
from itertools import pairwise

import pytest

from autograder.batch.journal import Journal
from autograder.course import find_root
from tests.cluster.classes import KINDS, PERFLAB, command, hand_in, named, start, until, verdicts

pytest.importorskip("parsl", reason="parsl is an extra: pip install 'perflab[cluster]'")
pytestmark = pytest.mark.slow

MANY = 100
SITE = """\
provider: SlurmProvider
gpus: 2
options: {partition: gpu, gres: "gpu:2", init_blocks: 2, max_blocks: 2, walltime: "00:10:00"}
executor: {address: 127.0.0.1, heartbeat_period: 1, heartbeat_threshold: 4}
"""


def graded(many):
    return lambda events: len(named(events, "graded")) >= many


def rows(out, what):
    with Journal(out) as journal:
        return journal._rows.execute(what).fetchall()


@pytest.fixture(scope="module")
def a_class(slurm, tmp_path_factory):
    """Grade a class; kill the run, go on, kill a pilot that works; return what happened and where results are."""
    root = tmp_path_factory.mktemp("class")
    handed_in, out = hand_in(root / "in", MANY), root / "out"
    (root / "site.yaml").write_text(SITE)
    site = ["--site", root / "site.yaml"]
    with start(slurm.environ, handed_in, out, *site, "--seed", 5) as first:
        before = until(first, graded(20))
        first.kill()
        before += until(first, graded(MANY))
    slurm.until(lambda: not slurm("squeue", "--noheader"))
    with start(slurm.environ, handed_in, out, *site, "--resume") as second:
        after = until(second, graded(20))
        busy = json.loads(
            rows(out, "SELECT note FROM ends WHERE outcome = 'graded' ORDER BY attempt DESC")[0][0]
        )
        pilots = dict(
            line.split() for line in slurm("squeue", "--noheader", "--states=R", "--format=%N %i")
        )
        slurm("scancel", "--signal=KILL", "--full", pilots[busy["node"]])
        after += until(second, lambda _: False)
    return {"out": out, "before": before, "after": after, "status": second.returncode}


def test_everybody_is_graded_once_and_as_on_one_machine(a_class, tmp_path):
    """A pilot and the run itself were killed meanwhile; what was done before that is not done again."""
    subprocess.run(
        command(hand_in(tmp_path / "in", 3), tmp_path / "out", "--seed", 5),
        check=True,
        capture_output=True,
    )

    assert 0 == a_class["status"]
    assert not {*named(a_class["before"], "graded")} & {*named(a_class["after"], "graded")}
    assert verdicts(tmp_path / "out") == verdicts(a_class["out"])
    assert MANY == len(list(a_class["out"].glob("*/result.json")))


def test_who_was_on_a_pilot_that_died_is_graded_on_another(a_class):
    """It is written down, counts as nobody's doing, and nobody is set aside."""
    lost = {*named(a_class["after"], "lost")}
    ends = rows(
        a_class["out"], "SELECT submission, outcome FROM ends JOIN attempts ON attempt = id"
    )
    graded = [submission for submission, outcome in ends if outcome == "graded"]

    assert lost
    assert lost <= {submission for submission, outcome in ends if outcome == "cut off"}
    assert {"graded", "cut off"} == {outcome for _, outcome in ends} - {"twice"}
    assert (MANY, MANY) == (len(graded), len(set(graded)))
    assert [] == named([*a_class["before"], *a_class["after"]], "aside")


def test_each_gpu_grades_one_submission_at_a_time(a_class):
    """Two GPUs on each of two nodes; the journal says which graded whom, and when."""
    notes = [
        json.loads(note)
        for (note,) in rows(a_class["out"], "SELECT note FROM ends WHERE outcome = 'graded'")
    ]
    busy = defaultdict(list)
    for note in notes:
        busy[note["node"], note["gpus"]].append((note["began"], note["ended"]))

    assert {("n1", "0"), ("n1", "1"), ("n2", "0"), ("n2", "1")} >= set(busy)
    assert len(busy) > 1  # which pilots lived long enough to have a turn is chance
    assert MANY == len(notes)
    assert not [
        (a, b) for times in busy.values() for a, b in pairwise(sorted(times)) if b[0] < a[1]
    ]


def test_no_pilot_and_no_file_is_left(a_class, slurm):
    """Neither by the run that was killed nor by the one that went on."""
    slurm.until(lambda: not slurm("squeue", "--noheader"))

    assert not (a_class["out"] / ".cluster").exists()


def test_an_array_of_jobs_needs_no_parsl(slurm, tmp_path):
    """One `perflab grade-one` each; results land in one folder, and `perflab report` shows them."""
    hand_in(tmp_path / "in", 3)
    (tmp_path / "jobs").mkdir()
    for number, path in enumerate(sorted((tmp_path / "in").iterdir())):
        job = {
            "format": 1, "lab": "resnet18", "submission": f"../in/{path.name}", "out": "../out", "parts": ["part3"],
            "course": str(find_root()), "device": "cpu", "isolation": "none", "seed": 5,
        }  # fmt: skip
        (tmp_path / f"jobs/{number}.json").write_text(json.dumps(job))
    script = f"{shlex.join([*PERFLAB, 'grade-one'])} {tmp_path}/jobs/$SLURM_ARRAY_TASK_ID.json"
    slurm(
        "sbatch",
        "--wait",
        "--array=0-2",
        "--gres=gpu:1",
        f"--output={tmp_path}/%a.txt",
        f"--wrap={script}",
    )
    subprocess.run([*PERFLAB, "report", str(tmp_path / "out")], check=True, capture_output=True)

    assert set(KINDS) == set(verdicts(tmp_path / "out"))
    assert (tmp_path / "out/index.html").is_file()


def test_what_slurm_refuses_is_said_in_one_line(slurm, tmp_path):
    """Here a partition that does not exist; the run ends, and goes on once that is mended."""
    (tmp_path / "site.yaml").write_text(SITE.replace("partition: gpu", "partition: tpu"))
    words = command(hand_in(tmp_path / "in", 1), tmp_path / "out", "--site", tmp_path / "site.yaml")
    done = subprocess.run(
        words, env=slurm.environ, capture_output=True, text=True, timeout=120, check=False
    )

    waiting, problem = done.stderr.splitlines()

    assert (2, f"{tmp_path}/site.yaml: waiting for the first node; Ctrl-C ends that") == (
        done.returncode,
        waiting,
    )
    assert "invalid partition specified: tpu" in problem
