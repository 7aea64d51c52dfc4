"""A notebook read as a part file: what is taken, and what is left out."""

from __future__ import annotations

import pytest

from autograder.checks.host_waits import listed
from autograder.errors import CourseError
from autograder.handed_in.notebook import read, unwritten
from autograder.handed_in.percent_cells import CODE, TEXT, cells_in, cells_of, in_cells
from tests.handed_in.notebooks import (
    GIVEN,
    MAIN,
    NAME,
    RELEASED,
    STUBBED,
    TEMPLATE,
    WORK,
    code,
    code_of,
    notebook,
    notes_of,
    run,
    text,
)

# Percent files


def test_a_percent_file_is_split_at_its_markers():
    """Text cells lose their comment signs; cells are counted from 1."""
    cells = cells_of(TEMPLATE, "x.py")

    assert [(1, False), (2, True), (3, True), (4, True)] == [
        (cell.number, cell.code) for cell in cells
    ]
    assert "# Part 1\n\nWrite it." == cells[0].source
    assert [GIVEN, STUBBED, MAIN] == [cell.source for cell in cells[1:]]


def test_jupytext_splits_alike():
    """Whoever opens a part file in Jupyter sees the same cells."""
    jupytext = pytest.importorskip("jupytext")
    cells = jupytext.reads(TEMPLATE, fmt="py:percent").cells

    assert [(c.cell_type == "code", c.source) for c in cells] == [
        (c.code, c.source) for c in cells_of(TEMPLATE, "x")
    ]


MISTAKES = {
    "a title on the marker": (
        "# %% Title\n",
        f"x.py, line 1: '# %% Title' is almost a marker; write exactly {CODE} or {TEXT}",
    ),
    "no space": (
        "#%%\n",
        f"x.py, line 1: '#%%' is almost a marker; write exactly {CODE} or {TEXT}",
    ),
    "code below a text": (
        f"{TEXT}\n# a\nx = 1\n",
        f"x.py: 'x = 1' stands in a text cell without '# ' before it; put {CODE} above code",
    ),
}


@pytest.mark.parametrize(("source", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_marker_that_is_almost_one_is_refused(source, message):
    """It would be dropped in silence."""
    with pytest.raises(CourseError) as caught:
        cells_of(source, "x.py")

    assert message == str(caught.value)


# What is taken


def test_a_notebook_becomes_the_part_file():
    """Given cells as they were released, then what the student's cells define; an experiment is no part of it."""
    found = run(code_of(text("# Part 1"), GIVEN, WORK, MAIN))

    assert 3 == found["work"](9)


def test_an_untouched_notebook_has_as_much_to_be_written_as_the_template():
    """The grader says that it is not written yet."""
    assert 1 == unwritten(code_of(GIVEN, STUBBED, MAIN).encode()) == unwritten(TEMPLATE.encode())
    assert [] == notes_of(GIVEN, STUBBED, MAIN)


WAYS = {
    "as released": [GIVEN, WORK, MAIN],
    "without the given cell": [WORK],
    "in another order": [MAIN, WORK, GIVEN],
    "split": [
        GIVEN,
        "ROOT = 0.5",
        "def power(x):\n    return x**ROOT",
        "def work(x):\n    return power(x)",
    ],
    "with a constant as a default": [
        GIVEN,
        "ROOT = 0.5",
        "def work(x, root=ROOT):\n    return x**root",
    ],
    "with an import beside the given ones": [
        GIVEN + "\nimport cmath",
        "def work(x):\n    return cmath.sqrt(x).real",
    ],
    "with a future import of its own": [GIVEN, "from __future__ import division\n" + WORK],
    "copied and improved": [GIVEN, "def work(x):\n    return 0", WORK],
    "with the unwritten copy below": [GIVEN, WORK, STUBBED],
    "with the training tried out below": [GIVEN, WORK + "\n\nresult = work(undefined)"],
    "with computed constants": [
        GIVEN,
        "HALF = float(1)",
        "ROOT = HALF / len([1, 2])",
        "def work(x):\n    return x**ROOT",
    ],
    "with an experiment whose names are local elsewhere": [
        GIVEN,
        "def work(x):\n    rows = x**0.5\n    return rows",
        "rows = work(undefined)",
    ],
    "with a value in the function's place": [
        "from functools import partial",
        "def power(x, p):\n    return x**p",
        "work = partial(power, p=0.5)",
    ],
    "with more than one on a line": [
        GIVEN,
        "import cmath; import os; run(undefined)\n" + WORK.replace("math.", "cmath."),
    ],
    "written to a file": ["%%writefile part1_toy.py\nimport math\n" + WORK],
    "with an older copy written to another": [
        "%%writefile part1_toy.py.bak\ndef work(x):\n    return 0",
        WORK,
    ],
    "with a command over lines": [
        GIVEN,
        "!python train.py \\\n    --name it's \\\n  --lr 3\n" + WORK,
    ],
    "with a choice": [
        GIVEN,
        "if math.sin(0):\n    ROOT = float(3)\nelse:\n    ROOT = float('0.5')",
        "def work(x):\n    return x**ROOT",
    ],
    "with a choice that is told": [
        GIVEN,
        "try:\n    import no_such_module as them\nexcept ImportError:\n    print('without')\n    them = None",
        "with open('/dev/null') as file:\n    WORDS = file.read()",
        "def work(x):\n    return math.sqrt(x) if them is None and not WORDS else 0",
    ],
    "with what only another machine has": [
        GIVEN,
        "from google.colab import drive\ndrive.mount('/content')",
        "import no_such_module as them",
        WORK,
    ],
    "with a cell that is half written": [GIVEN, WORK, "scratch = = 3"],
    "with an indented cell": [
        GIVEN,
        "  %matplotlib inline\n  ROOT = 0.5",
        "    def work(x):\n        return x**ROOT",
    ],
    "with questions": [GIVEN, WORK.replace("\n", "  # why?\n", 1), "math.sqrt?"],
    "with line ends of old Macs": [GIVEN, WORK.replace("\n", "\r")],
    "with magics": [
        "%load_ext autoreload\n%matplotlib inline",
        "%%time\n" + WORK,
        "!pip install it",
    ],
    "with lines as a list": [
        GIVEN,
        {**code(""), "source": ["def work(x):\n", "    return math.sqrt(x)"]},
    ],
    "with Windows line ends": [GIVEN, WORK.replace("\n", "\r\n")],
    "with saved outputs of megabytes": [
        GIVEN,
        code(WORK, outputs=[{"output_type": "stream", "text": "x" * 3_000_000}]),
    ],
    "with cells of unknown kinds": [
        GIVEN,
        WORK,
        {"cell_type": "raw", "source": "while True: pass"},
        {**code(""), "metadata": 3},
    ],
}


@pytest.mark.parametrize("sources", WAYS.values(), ids=WAYS)
def test_however_cells_are_arranged_the_file_is_the_same_work(sources):
    """Copied, reordered, split or deleted cells, and whatever Jupyter adds."""
    assert 3 == run(code_of(*sources))["work"](9)


def test_the_kernel_and_the_ids_of_cells_do_not_matter():
    """Neither is ours to depend on."""
    cell = {
        **code(WORK),
        "id": "another",
        "metadata": {"nbgrader": {"grade_id": "spoofed", "points": 400}},
    }

    assert 3 == run(code_of(GIVEN, cell, kernelspec={"name": "conda-env-lab", "language": "R"}))[
        "work"
    ](9)


def test_the_lines_of_a_cell_do_not_move():
    """A message that names a line can be followed."""
    source = code_of(GIVEN, "# a note\nprint(1)\n\ndef work(x):\n    return x")

    assert (
        "# %% cell 2\n# a note\n\n\ndef work(x):\n    return x\n"
        == source[source.index("# %% cell 2") :]
    )
    code = read(notebook(GIVEN, WORK), NAME, RELEASED).code
    [(line, cell)] = cells_in(code)
    assert "cell 2" == cell
    calls = [{"line": line + 4, "call": ".item()"}, {"line": line + 5, "call": "a value"}]
    said = f"{listed(calls)}, on line {line + 2} (part1_toy.py, line {line + 3}); results.csv, line 9, on line 99"
    assert (
        ".item() (cell 2, line 4), a value (cell 2, line 5), on cell 2, line 2 (cell 2, line 3); results.csv, line 9, on line 99"
        == in_cells(said, "part1_toy.py", cells_in(code))
    )


def test_half_of_a_character_is_no_reason_to_stop():
    """JSON can hold one; a file cannot, and Python 3.12 does not even tell its tokens apart."""
    assert "SIGN = '?'" in code_of(WORK, "SIGN = '\ud83d'\nSIGNS = [SIGN]").splitlines()


def test_of_several_on_a_line_what_runs_something_is_gone():
    """The others stay on their line; a comment stays where all of it does."""
    used = "def work(x):\n    return math.sqrt(A + B + x)"
    source = code_of(GIVEN, f"A = 1; B = 2  # why\nA = 3; work(A); B = A # so\n{used}")

    assert (
        f"# %% cell 2\nA = 1; B = 2  # why\nA = 3; B = A\n{used}\n"
        == source[source.index("# %% cell 2") :]
    )


def test_a_report_may_be_written_in_cells():
    """They are joined in order; an answer may stand in a cell of its own below, whatever its kind."""
    raw = {"cell_type": "raw", "source": "So."}
    rubric = {**text("for a person"), "metadata": {"nbgrader": {"grade_id": "explains"}}}
    notes = [
        text("# Notes", "notes.md"),
        raw,
        text("## 1\n\nBecause.", "notes.md"),
        rubric,
        text("after that"),
    ]
    cells = [text("before"), *notes, code("x = 1"), text("after code")]

    assert {"notes.md": b"# Notes\n\nSo.\n\n## 1\n\nBecause.\n"} == read(
        notebook(*cells), NAME, RELEASED
    ).texts
    assert {} == read(notebook(text("x", "other.md")), NAME, RELEASED).texts
