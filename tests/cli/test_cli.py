"""The command as people meet it: exit status, one clear line, and a help that is there at once."""

from __future__ import annotations

import errno
import json
import re
import resource
import subprocess
import sys
from types import SimpleNamespace

import pytest

from autograder import cli
from autograder.cli.base import FOR
from autograder.course import find_root
from autograder.sandbox import BoxError

TEMPLATE = find_root() / "student_template" / "resnet18"
COMMANDS = [
    "check",
    "grade",
    "grade-one",
    "report",
    "replay",
    "requests",
    "forget",
    "build",
    "calibrate",
    "new",
    "new-course",
    "release",
    "sync",
    "doctor",
    "trace",
    "export",
    "gradescope",
    "override",
    "settle",
    "rubric",
    "diff",
    "similar",
    "course check",
]


def run(monkeypatch, capsys, *arguments):
    """Run the command in this process; return its exit status, output and errors."""
    monkeypatch.setattr(sys, "argv", ["perflab", *arguments])
    with pytest.raises(SystemExit) as left:
        cli.main()
    said = capsys.readouterr()
    return left.value.code, said.out, said.err


MISTAKES = {
    "an unknown lab": (
        ["grade", "resnet81", ".", "--out", "x", "--isolation", "none"],
        "has no lab 'resnet81' (did you mean 'resnet18'?)",
    ),
    "no course": (
        ["build", "--course", "/nonexistent"],
        "/nonexistent: no grading_config.yaml there; name the folder of a course",
    ),
    "an unknown device": (
        ["course", "check", "--device", "tpu"],
        "--device tpu: not a device; use auto, cpu or cuda:N",
    ),
    "a GPU that is not there": (
        ["course", "check", "--device", "cuda:99"],
        "use auto, cpu or cuda:N",
    ),
    "an unknown check": (
        ["grade", "resnet18", ".", "--out", "x", "--isolation", "none", "--only", "folows_fp32"],
        "--only folows_fp32: lab resnet18 has no such check (did you mean 'follows_fp32'?)",
    ),
    "an unknown part": (
        ["grade", "resnet18", ".", "--out", "x", "--isolation", "none", "--part", "part33"],
        "lab resnet18 has no part 'part33'",
    ),
    "no entry of that name": (
        ["course", "check", "resnet18", "--part", "part3", "--only", "nosuchentry"],
        "--only nosuchentry: no entry has such an id; tests/submissions/ has the entries",
    ),
    "a part without its lab": (
        ["course", "check", "--part", "part3"],
        "--part wants its lab: perflab course check LAB --part PART",
    ),
    "a check of another part": (
        [
            "grade",
            "resnet18",
            ".",
            "--out",
            "x",
            "--isolation",
            "none",
            "--part",
            "part4",
            "--only",
            "follows_fp32",
        ],
        "--only follows_fp32: lab resnet18 has no such check",
    ),
    "a folder without results": (["report", "/nonexistent"], "/nonexistent: no */result.json here"),
    "a result that is not there": (
        ["replay", "/nonexistent"],
        "nonexistent/result.json: no result there",
    ),
    "a bad name": (["new", "resnet18", "Part 4"], "use names such as resnet18 part4_memory"),
    "a part that exists": (["new", "resnet18", "part3_amp"], "part3_amp.py: exists already"),
    "an unknown command": (["grad"], "No such command 'grad'"),
}


@pytest.mark.parametrize(("arguments", "message"), MISTAKES.values(), ids=MISTAKES)
def test_what_the_user_can_mend_is_one_clear_line(monkeypatch, capsys, arguments, message):
    """Exit status 2, and no traceback."""
    status, _, errors = run(monkeypatch, capsys, *arguments)

    assert status == 2
    assert message in errors
    assert "Traceback" not in errors


def test_a_part_of_another_checkout_says_what_it_takes(monkeypatch, capsys, tmp_path):
    """The installed perflab would not find it."""
    (tmp_path / "grading_config.yaml").write_bytes(
        (find_root() / "grading_config.yaml").read_bytes()
    )
    status, output, _ = run(
        monkeypatch, capsys, "new", "sums", "part1_squares", "--course", str(tmp_path)
    )

    assert status == 0
    assert f"First, in {tmp_path}: pip install -e ." in output


def test_the_help_lists_every_command_once_and_whole(monkeypatch, capsys):
    """By who needs it."""
    _, output, _ = run(monkeypatch, capsys, "--help")
    listed = [name for names in FOR.values() for name in names]

    assert sorted(cli.cli.commands) == sorted(listed)
    assert "..." not in output.partition("Students:")[2]
    assert output.index("Students:") < output.index("  check ") < output.index("Authors of labs:")


def test_without_a_fence_nothing_is_graded(monkeypatch, capsys, tmp_path):
    """It never falls through to none; who asks for none has said so."""

    def no_box(*_):
        raise BoxError("bubblewrap is not installed", "apt-get install bubblewrap")

    monkeypatch.setattr("autograder.grading.session.try_out", no_box)
    out = tmp_path / "out"
    status, _, errors = run(
        monkeypatch,
        capsys,
        "grade",
        "resnet18",
        str(TEMPLATE),
        "--out",
        str(out),
        "--device",
        "cpu",
    )

    assert (status, False) == (2, out.exists())
    assert (
        "perflab: no sandbox: bubblewrap is not installed; apt-get install bubblewrap; "
        "--isolation none does without, for work that you trust\n"
    ) == errors


def test_a_fault_of_ours_says_that_it_is_ours(monkeypatch, capsys):
    """Exit status 3, with the traceback that a report needs."""
    monkeypatch.setattr(cli.author, "open_course", lambda root: 1 / 0)
    status, _, errors = run(monkeypatch, capsys, "build", "--check")

    assert status == 3
    assert "ZeroDivisionError" in errors
    assert "a fault of perflab, not of a submission" in errors


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_help_with_an_example(monkeypatch, capsys, command):
    """--help."""
    status, output, _ = run(monkeypatch, capsys, *command.split(), "--help")

    assert status == 0
    assert f"perflab {command}" in output.split("Example:")[1]


def test_every_command_is_listed_in_these_tests(monkeypatch, capsys):
    """A new command is tested like the others."""
    names = [name for name in cli.cli.commands if name != "course"] + [
        f"course {name}" for name in cli.author.course_group.commands
    ]

    assert sorted(COMMANDS) == sorted(names)


PAGES = ["README.md", *(f"docs/{it.name}" for it in (find_root() / "docs").glob("*.md"))]


def test_the_docs_name_every_command():
    """Documentation follows the command."""
    text = "".join((find_root() / page).read_text(encoding="utf-8") for page in PAGES)

    assert [c for c in COMMANDS if not re.search(rf"perflab {c}\b", text)] == []


@pytest.mark.parametrize("page", PAGES)
def test_a_page_of_the_docs_names_commands_options_and_pages_that_are_there(page):
    """Each command line parses as far as its options go, and each link leads to a file."""
    path = find_root() / page
    text = path.read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:)([^)#]+)", text)

    assert [link for link in links if not (path.parent / link).exists()] == []
    assert [line for line in _command_lines(text) if _unknown(line)] == []


def _command_lines(text):
    """Return the perflab commands of indented blocks, without comments."""
    lines = re.findall(r"^    (?:.*&& )?perflab (.*)$", text, re.MULTILINE)
    return [line.partition(" #")[0].partition(" && ")[0].split() for line in lines]


def _unknown(words):
    """Return the words of a command line that perflab does not know: its command, or an option of it."""
    command = cli.cli.commands.get(words[0])
    if words[0] == "course":
        command = cli.author.course_group.commands.get(words.pop(1))
    if command is None:
        return words[:1]
    options = {name for it in command.params for name in (*it.opts, *it.secondary_opts)}
    return [word for word in words if word.startswith("--") and word not in options]


def test_doctor_speaks_json(monkeypatch, capsys):
    """A program reads it."""
    status, output, _ = run(monkeypatch, capsys, "doctor", "--json")

    assert status == 0
    assert "Python" in {finding["name"] for finding in json.loads(output)}


def test_templates_are_current(monkeypatch, capsys):
    """What students get is what the reference builds."""
    status, output, _ = run(monkeypatch, capsys, "build", "--check")

    assert (0, "templates are current\n") == (status, output)


DID = {"--check": ["stale  a", "stale  b"], "": ["removed  a", "wrote  b"]}


@pytest.mark.parametrize(("option", "lines"), DID.items(), ids=DID)
def test_build_says_what_it_did_with_each_file(monkeypatch, capsys, tmp_path, option, lines):
    """Here a is of last year, and b is new."""
    (tmp_path / "b").touch()
    course = SimpleNamespace(root=tmp_path, labs=["toy"])
    monkeypatch.setattr("autograder.cli.author.open_course", lambda _: course)
    for name in ("stale", "write"):
        monkeypatch.setattr(f"autograder.course.build.{name}", lambda *_: ["a", "b"])

    assert lines == run(monkeypatch, capsys, "build", *option.split())[1].splitlines()


def test_help_is_there_at_once():
    """No torch, numpy or rich at the start: the best of five starts, since a busy machine only adds."""
    command = [
        sys.executable,
        "-X",
        "importtime",
        "-c",
        "from autograder.cli import cli; cli(['--help'])",
    ]
    loaded = subprocess.run(command, capture_output=True, text=True, check=False).stderr

    assert not re.search(
        r"\| +(torch|numpy|pandas|matplotlib|jsonschema|rich|jinja2|yaml)$", loaded, re.MULTILINE
    )


def _seconds_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_help_takes_less_than_0_3_seconds():
    """Of CPU time, the best of seven: other work on the machine makes the help wait, and adds little to that."""
    times = []
    for _ in range(7):
        begun = _seconds_of_children()
        subprocess.run(
            [sys.executable, "-m", "autograder.cli", "--help"], capture_output=True, check=True
        )
        times.append(_seconds_of_children() - begun)

    assert min(times) <= 0.3


def test_without_nbgrader_the_command_that_needs_it_says_how_to_get_it(monkeypatch, capsys):
    """It is an extra; everything else does without."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    status, _, errors = run(
        monkeypatch, capsys, "sync", "results", "--gradebook", "sqlite:////nowhere/gradebook.db"
    )

    assert (2, "perflab: this needs nbgrader: pip install 'perflab[nbgrader]'\n") == (
        status,
        errors,
    )


@pytest.mark.parametrize("below", ["", "/results"])
def test_where_nothing_can_be_written_is_one_clear_line(monkeypatch, capsys, tmp_path, below):
    """A full disk, a folder that may only be read, a file where a folder should be: none is a fault of ours."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in/part3_amp.py").touch()
    (tmp_path / "file").touch()
    code, _, errors = run(
        monkeypatch, capsys, "grade", "resnet18", str(tmp_path / "in"), "--out", f"{tmp_path}/file{below}", "--isolation", "none"
    )  # fmt: skip

    assert (2, 1) == (code, errors.count("\n"))
    assert errors.startswith(f"perflab: {tmp_path}/file")
    assert errors.endswith("; mend that, then do it again\n")


WRONG = {
    "a full disk, which has no name": (OSError(errno.ENOSPC, "No space left on device"), 2),
    "a file that may not be read": (
        PermissionError(errno.EACCES, "Permission denied", "/srv/x"),
        2,
    ),
    "a call that the kernel refuses": (PermissionError(errno.EPERM, "Operation not permitted"), 3),
    "a file of ours that is not there": (
        FileNotFoundError(errno.ENOENT, "No such file", "/nowhere"),
        3,
    ),
}


@pytest.mark.parametrize(("problem", "status"), WRONG.values(), ids=WRONG)
def test_only_a_place_that_has_a_name_is_for_the_user_to_mend(monkeypatch, capsys, problem, status):
    """Whatever else the system refuses us is shown with where it happened."""

    def refuse(**_):
        raise problem

    monkeypatch.setattr(cli.cli, "main", refuse)
    code, _, errors = run(monkeypatch, capsys, "doctor")

    assert (status, status == 3) == (code, "fault of perflab" in errors)
