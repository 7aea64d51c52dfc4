"""perflab trace: from files to lines, JSON, a page, a redacted copy; and what it asks to be mended."""

from __future__ import annotations

import json
import os

import pytest
from click.testing import CliRunner

from autograder.cli import cli
from tests.traces.made import kineto, processor, training

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "now_trace.json").write_bytes(kineto(training(), host_name="ada-laptop"))
    (tmp_path / "cpu_trace.json").write_bytes(kineto(processor()))
    return tmp_path


def run(*args):
    return CliRunner().invoke(cli, ["trace", *args], standalone_mode=False)


def test_figures_are_printed_for_people_and_for_programs(folder):
    plain, data = run("now_trace.json"), run("now_trace.json", "--json")

    assert "  busy_kernel               33.0 %  " in plain.output
    assert 33.0 == json.loads(data.stdout)["figures"][0]["value"]


def test_two_profiles_are_compared(folder):
    plain, data = (
        run("now_trace.json", "--compare", "cpu_trace.json", *more) for more in ([], ["--json"])
    )
    found = json.loads(data.stdout)

    assert "note  1 step against 2: compare shares and times per step, not totals" in plain.output
    assert "dataloader" in plain.output
    assert ["1 step against 2: compare shares and times per step, not totals"] == found[
        "incomparable"
    ]
    assert {"step_median", "dataloader", "dataloader_longest", "host_busy", "item_count"} == {
        row["id"] for row in found["changes"]
    }


def test_a_baseline_may_come_first(folder):
    """The option without a value says the same, whatever stands behind it."""
    said = run("now_trace.json", "--compare", "cpu_trace.json").output

    assert said == run("cpu_trace.json", "now_trace.json", "--compare").output
    run("cpu_trace.json", "now_trace.json", "--compare", "--page", "a.html")
    assert "Beside cpu_trace.json" in (folder / "a.html").read_text()


def test_a_program_gets_the_speedup_in_parts(folder):
    found = json.loads(run("now_trace.json", "now_trace.json", "--compare", "--json").stdout)
    (stack,) = found["speedup"]

    assert ("gpu0", 1.0) == (stack["place"], stack["ratio"])
    assert 1_000_000 == sum(layer["now"] for layer in stack["layers"])


def test_several_are_set_side_by_side_at_the_end(folder):
    """Figures that one of them lacks stay empty."""
    told = [
        line.split()
        for line in run("now_trace.json", "cpu_trace.json")
        .output.partition("side by side:")[2]
        .splitlines()
    ]

    assert ["now_trace.json", "cpu_trace.json"] in told
    assert ["step_median", "1", "ms", "100", "us"] in told
    assert ["busy_kernel", "33.0", "%"] in told


def test_pages_pictures_and_copies_are_written(folder):
    run("now_trace.json", "--page", "a.html")
    run("now_trace.json", "--page", "a.png")
    told = run("now_trace.json", "cpu_trace.json", "--redact")

    assert (folder / "a.html").read_text().startswith("<!doctype html>")
    assert (folder / "a.png").read_bytes().startswith(b"\x89PNG")
    assert (
        "wrote now_trace.redacted.json: without the names of processes, folders, and host_name\n"
        in told.output
    )
    assert "ada-laptop" not in (folder / "now_trace.redacted.json").read_text()


@pytest.mark.parametrize(
    ("args", "words"),
    [
        pytest.param(["none.json"], "none.json: there is no such file", id="no file"),
        pytest.param(
            ["now_trace.json", "--page", "a.pdf"],
            "a.pdf: a page ends in .html, a picture in .png",
            id="a page of another kind",
        ),
        pytest.param(
            ["now_trace.json", "cpu_trace.json", "--page", "a.html"],
            "--compare, --page and --open take one FILE; without them, several are set side by side at the end",
            id="two files, one page",
        ),
        pytest.param(
            ["now_trace.json", "--compare"],
            "--compare without a value takes two FILEs: the baseline's, then yours",
            id="nothing to compare with",
        ),
        pytest.param(["."], ".: is a folder; name the profile in it", id="a folder"),
        pytest.param(
            ["pipe"], "pipe: is no ordinary file; write what it gives to one", id="a pipe"
        ),
        pytest.param(
            [".", "--redact"], ".: is a folder; name the profile in it", id="a folder, redacted"
        ),
    ],
)
def test_what_can_be_mended_is_one_line(folder, args, words):
    """And nothing is printed before it."""
    os.mkfifo("pipe")
    refused = run(*args)

    assert (words, "") == (str(refused.exception), refused.output)
