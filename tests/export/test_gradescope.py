"""Gradescope: results.json as its autograder specification has it, and a zip that makes one of what is handed in."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import jsonschema
import pytest

from autograder.export import gradescope
from autograder.handed_in.late import Late
from autograder.handed_in.roster import Student
from autograder.records import to_json
from autograder.results.overrides import Override, applied
from autograder.results.standing import Standing
from tests.samples import a_check, a_part, a_result, with_bonus

VISIBILITY = {"enum": ["hidden", "after_due_date", "after_published", "visible"]}
FORMAT = {"enum": ["text", "html", "simple_format", "md", "ansi"]}


def declared(required, **properties):
    return {
        "type": "object",
        "additionalProperties": False,
        "required": required,
        "properties": properties,
    }


# After "Output format" of https://gradescope-autograders.readthedocs.io/en/latest/specs/; `required` is what we promise.
SPECIFICATION = declared(
    ["score", "tests"],
    score={"type": "number"},
    execution_time={"type": "integer"},
    output={"type": "string"},
    output_format=FORMAT,
    test_output_format=FORMAT,
    test_name_format=FORMAT,
    visibility=VISIBILITY,
    stdout_visibility=VISIBILITY,
    extra_data={"type": "object"},
    tests={
        "type": "array",
        "items": declared(
            ["score", "name", "output"],
            score={"type": "number"},
            max_score={"type": "number"},
            status={"enum": ["passed", "failed"]},
            name={"type": "string"},
            name_format=FORMAT,
            number={"type": "string"},
            output={"type": "string"},
            output_format=FORMAT,
            tags={"type": "array", "items": {"type": "string"}},
            visibility=VISIBILITY,
            extra_data={"type": "object"},
        ),
    },
    leaderboard={
        "type": "array",
        "items": declared(
            ["name", "value"],
            name={"type": "string"},
            value={"type": ["number", "string"]},
            order={"enum": ["asc", "desc"]},
        ),
    },
)


def written(result, late=None):
    one = Standing(result, Path("asha"), Student("asha"), late=late)
    value = json.loads(gradescope.results(one))
    jsonschema.validate(value, SPECIFICATION)
    return value


def test_every_outcome_is_shown_as_the_specification_has_it():
    """What is owed is neither passed nor failed, and has no maximum, since it would look lost."""
    tests = {
        test["name"].split(":")[-2].split(".")[-1]: test for test in written(a_result())["tests"]
    }
    said = {
        name: (test["score"], test.get("max_score"), test.get("status"))
        for name, test in tests.items()
    }

    assert {
        "follows_fp32": (6, 6, "passed"),
        "amp_is_faster": (0, 6, "failed"),
        "half_precision_where_it_helps": (1.5, 3, None),
        "explains_where_autocast_goes": (0, None, None),
        "results_complete": (0, 2, "failed"),
        "memory_falls": (0, None, None),
        "steady_speed": (0, None, None),
        "gradients_agree": (0, None, None),
        "plot_is_a_picture": (0, None, None),
    } == said
    assert (
        "owed, 4 points: part4_memory.memory_falls: Checkpointing" in tests["memory_falls"]["name"]
    )
    assert a_check().why in tests["amp_is_faster"]["output"]
    assert "reason    our fault, not yours: KeyError" in tests["gradients_agree"]["output"]


def test_the_head_says_score_lateness_and_what_is_owed():
    """The score is what remains; what lateness takes is a line of its own."""
    value = written(a_result(), Late(timedelta(days=1), 0.2, 1.5))

    assert 6 == value["score"]
    assert [
        "7.5 of 30 points, 9.5 lost",
        "4 points neither won nor lost: settled by another device",
        "6 points neither won nor lost: settled by the grading machine",
        "3 points neither won nor lost: settled by a person",
        "1 day late, -20 %: 1.5 points; 6 remain",
        "left out: scratch.py is no file of this lab",
    ] == value["output"].splitlines()


def test_the_head_says_what_a_bonus_counts():
    value = written(with_bonus())

    assert 9.5 == value["score"]
    expected = "bonus: 2 of 9 points, 2 of them in the score, where other parts lost points"
    assert expected == value["output"].splitlines()[1]


def test_what_was_set_by_hand_is_said_with_its_reason():
    made = Override(
        "part3_amp.amp_is_faster",
        6.0,
        "the timer was wrong",
        "meera",
        "now",
        a_result().submission_sha256,
    )
    tests = written(applied(a_result(), [made]))["tests"]

    assert "by hand   the timer was wrong (the grader: failed, 0 of 6)" in tests[1]["output"]


def test_text_of_a_student_is_text():
    """No format in it but `text`, and nothing that steers a terminal."""
    value = written(a_result(a_part("part3", "AMP", a_check(measured="<b>\x1b[31m"))))

    assert {"text"} == {value["output_format"], *(test["output_format"] for test in value["tests"])}
    assert "\x1b" not in value["tests"][0]["output"]


def test_the_leaderboard_has_speedups_of_what_passed():
    """A speedup whose check failed could be one of something else."""
    won = a_part(
        "part3", "AMP", a_check(outcome="passed", points=6, evidence={"pairs": [0.5, 0.6, 0.7]})
    )

    assert [{"name": "part3.amp_is_faster", "value": 1.82, "order": "desc"}] == written(
        a_result(won)
    )["leaderboard"]
    assert [] == written(a_result())["leaderboard"]


def test_the_zip_has_what_gradescope_starts_at_its_root(tmp_path):
    """Two scripts that may be executed, the lab's name, and the wheel."""
    wheel = tmp_path / "perflab-0.1.0-py3-none-any.whl"
    wheel.write_bytes(b"PK")
    with zipfile.ZipFile(io.BytesIO(gradescope.zipped("resnet18", wheel))) as archive:
        modes = {entry.filename: entry.external_attr >> 16 for entry in archive.infolist()}
        lab = archive.read("lab.txt")

    assert {
        "run_autograder": 0o755,
        "setup.sh": 0o755,
        "lab.txt": 0o644,
        wheel.name: 0o644,
    } == modes
    assert b"resnet18\n" == lab


@pytest.mark.parametrize("script", sorted(path.name for path in gradescope.IMAGE.iterdir()))
def test_the_scripts_are_bash(script):
    """With the first line by which Gradescope starts them."""
    path = gradescope.IMAGE / script

    assert path.read_bytes().startswith(b"#!/usr/bin/env bash\n")
    assert 0 == subprocess.run(["bash", "-n", path], check=False).returncode


FAKE = """#!{python}
import pathlib, shutil, subprocess, sys
if sys.argv[1] == "grade":
    handed_in = pathlib.Path(sys.argv[3])
    assert [handed_in / "submission"] == list(handed_in.iterdir()), "one folder is one submission"
    print(*sys.argv[1:3], *sys.argv[4:], sorted(str(p.relative_to(handed_in)) for p in handed_in.rglob("*.py")))
    home = pathlib.Path(sys.argv[5]) / "submission"
    home.mkdir(parents=True)
    shutil.copy({result!r}, home / "result.json")
    sys.exit({status})
sys.exit(subprocess.call([sys.executable, "-P", "-m", "autograder.cli", *sys.argv[1:]]))
"""


def laid_out(tmp_path, status):
    """Gradescope's folders, and a perflab that grades whatever it gets alike; exporting is the real one."""
    (tmp_path / "result.json").write_text(
        json.dumps(to_json(replace(a_result(), submission="submission")))
    )
    for folder in ("source", "results", "submission/lab"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "source/lab.txt").write_text("resnet18\n")
    (tmp_path / "submission/lab/part3_amp.py").write_text("")
    fake = tmp_path / "perflab"
    fake.write_text(
        FAKE.format(python=sys.executable, result=str(tmp_path / "result.json"), status=status)
    )
    fake.chmod(0o755)
    paths = {"AUTOGRADER": str(tmp_path), "PERFLAB": str(fake), "PYTHONPATH": str(Path.cwd())}
    return subprocess.run(
        [gradescope.IMAGE / "run_autograder"],
        env={**os.environ, **paths},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_what_is_handed_in_becomes_a_results_json(tmp_path):
    """As one submission, however deep its files are, behind a fence."""
    done = laid_out(tmp_path, 0)

    assert (0, "") == (done.returncode, done.stderr)
    expected = f"grade resnet18 --out {tmp_path}/graded --isolation bubblewrap ['submission/lab/part3_amp.py']"
    assert expected == done.stdout.splitlines()[0]
    jsonschema.validate(json.loads((tmp_path / "results/results.json").read_text()), SPECIFICATION)


def test_what_could_not_be_graded_is_no_zero(tmp_path):
    """Without a results.json Gradescope tells the instructor."""
    assert 3 == laid_out(tmp_path, 3).returncode
    assert [] == list((tmp_path / "results").iterdir())
