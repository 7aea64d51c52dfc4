"""Programs as a student's are run: options, stand-ins, status, output; and made ones that a student starts."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys

import pytest

from autograder.worker.rigs.programs import Program, Ran, made_program
from autograder.worker.rigs.returned import BadReturn


@pytest.fixture
def program(tmp_path, monkeypatch):
    """program(source) -> a Program; `given` is there, in two files."""
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "__init__.py").write_text("from .data import number\n")
    (tmp_path / "given" / "data.py").write_text("number = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    def made(source):
        (tmp_path / "train.py").write_text(source)
        return Program(tmp_path / "train.py", tmp_path)

    yield made
    for name in ("given", "given.data"):
        sys.modules.pop(name, None)


def test_a_program_has_its_options_and_is_main(program):
    ran = program("import sys\nif __name__ == '__main__':\n    print(sys.argv[1:])\n").run(
        "--fast", "2"
    )

    assert Ran(0, "['--fast', '2']\n", "train.py") == ran
    assert "--fast" not in sys.argv


@pytest.mark.parametrize("line", ["from given import number", "from given.data import number"])
def test_stand_ins_reach_a_program_by_every_name(program, line):
    """And are gone when it ends."""
    one = program(f"{line}\nprint(number)\n")

    assert ["2\n", "1\n"] == [one.run(number=2).output, one.run().output]


@pytest.mark.parametrize(
    ("end", "status"), [("sys.exit(3)", 3), ("sys.exit('no')", 1), ("sys.exit()", 0), ("pass", 0)]
)
def test_the_status_is_the_one_that_a_shell_sees(program, end, status):
    assert status == program(f"import sys\n{end}\n").run().status


def test_an_exception_goes_through(program):
    with pytest.raises(ZeroDivisionError):
        program("1 / 0\n").run()


def test_a_program_that_is_not_there_is_named(tmp_path):
    with pytest.raises(BadReturn, match=r"train\.py was not handed in"):
        Program(tmp_path / "train.py", tmp_path).run()


def test_figures_are_the_last_line():
    ran = Ran(0, 'epoch 1\n{"a": 1}\n{"loss": 2}\n\n', "train.py")

    assert {"loss": 2} == ran.figures()
    assert "" == ran.after()


def test_what_stands_behind_the_figures_is_told():
    """Whoever reads the last line reads that; all else can be judged."""
    ran = Ran(0, '{"a": 1}\n{"loss": 2}\n[3]\ndone\n', "train.py")

    assert {"loss": 2} == ran.figures()
    assert "done" == ran.after()


@pytest.mark.parametrize(
    ("output", "words"),
    [
        pytest.param("", "nothing was printed", id="nothing"),
        pytest.param("epoch 1\n", "the last line is 'epoch 1'", id="words"),
        pytest.param("[1]\n", "the last line is '[1]'", id="a list"),
        pytest.param("[" * 100_000, "the last line is", id="nested without end"),
    ],
)
def test_another_last_line_is_shown(output, words):
    with pytest.raises(BadReturn) as raised:
        Ran(1, output, "train.py").figures()

    assert words in str(raised.value)
    assert "train.py ended with status 1" in str(raised.value)


def test_a_program_that_failed_is_named_with_its_options():
    with pytest.raises(BadReturn, match=r"train.py --fast ended with status 2"):
        Ran(2, "", "train.py", "--fast").figures()


def run_made(path, *options):
    return subprocess.run(
        [sys.executable, "-I", str(path), *options], capture_output=True, text=True, check=False
    )


def test_a_made_program_prints_the_figures_of_its_options_last(tmp_path):
    path = made_program(tmp_path, {"--a 1": {"throughput": 8.0}})

    assert {"throughput": 8.0} == json.loads(run_made(path, "--a", "1").stdout.splitlines()[-1])


def test_a_made_program_without_figures_fails(tmp_path):
    ended = run_made(made_program(tmp_path, {"--a": None}), "--a")

    assert (1, True) == (ended.returncode, "out of ideas" in ended.stderr)


def test_a_made_program_notices_another_one_beside_it(tmp_path):
    path = made_program(tmp_path, {"": {"throughput": 8.0}})
    (tmp_path / "running").touch()

    assert {"throughput": 4.0} == json.loads(run_made(path).stdout.splitlines()[-1])


def test_a_made_program_notices_another_python(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "prefix", "/elsewhere")
    path = made_program(tmp_path, {"": {"throughput": 8.0}})

    assert {"throughput": 40.0} == json.loads(run_made(path).stdout.splitlines()[-1])


def test_a_made_program_notices_an_earlier_one_in_its_process(tmp_path, capsys, monkeypatch):
    """Whatever became of the modules that it loaded."""
    path = made_program(tmp_path, {"": {"throughput": 8.0}})
    monkeypatch.setattr(sys, "argv", ["made_program.py"])
    for _ in range(2):
        runpy.run_path(str(path), run_name="__main__")

    assert [8.0, 24.0] == [
        json.loads(line)["throughput"] for line in capsys.readouterr().out.splitlines()[2::3]
    ]
