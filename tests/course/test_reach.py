"""What a probe reaches: an answer is known only when nothing that could change it differs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autograder.course.reach import Remembered, asked, reached, runs_a_program, within
from autograder.lab import Lab, Part, Probe
from autograder.model import Job, Limits, Observation
from tests.course import probes

ASKED = {
    "what it names": (probes.direct, {"first", "Third"}),
    "what its helpers name": (probes.through_a_helper, {"first"}),
    "a recorder looks at the name of the file": (probes.with_a_recorder, {"second"}),
    "what collects answers does so, too": (probes.with_answers, {"first"}),
    "anything, by text": (probes.by_text, None),
    "anything, when the rig is handed all of it": (probes.to_the_rig, None),
    "anything, under another name": (probes.under_another_name, None),
    "anything, through a variable": (probes.kept, None),
    "anything, in a closure": (probes.closure, None),
    "anything, in a partial": (probes.part_of_one, None),
    "anything, in a lambda": (probes.in_a_lambda, None),
    "anything, in a wrapper": (probes.wrapped, None),
    "anything, where another function has its name": (probes.first_of_two, None),
    "anything, where the module goes by another name": (probes.other_name_first, None),
}


@pytest.mark.parametrize(("run", "expected"), ASKED.values(), ids=ASKED)
def test_what_a_probe_asks_for_is_read_off_its_source(run, expected):
    """None is all of it: said whenever the source does not tell."""
    assert expected == asked(Probe(run.__name__, run))


def test_a_probe_that_says_what_it_takes_is_believed():
    """It is handed nothing else."""
    closure = probes.maker()

    assert {"first"} == asked(Probe("results", closure, takes=frozenset({"first"})))


@pytest.mark.parametrize(
    "run", [probes.closure, probes.part_of_one, probes.in_a_lambda, probes.wrapped]
)
def test_a_probe_without_a_text_of_its_own_is_run_for_every_mistake(run):
    """Nothing is known of it, neither what it takes nor whether it runs a program."""
    part = toy()["toy"].parts[0]
    part.probes["direct"] = Probe("direct", run)
    others = [
        FILE.replace("return 3", "return 4"),
        FILE.replace("print(second(1))", "print(first(1))"),
    ]

    assert all(reached(job(FILE), part) != reached(job(other), part) for other in others)
    assert runs_a_program(part.probes["direct"])


FILE = """
import torch
LIMIT = 3


def first(x):
    return helper(x) + LIMIT


def helper(x):
    return x + 1


def second(x):
    return x.model.third()


def third(x):
    return 3


class Net(torch.nn.Module):
    size = 4

    def forward(self, x):
        return third(x)


if __name__ == "__main__":
    print(second(1))
"""

# What is replaced by what -> whether a probe of first() has to run again.
CHANGES = {
    "another function": ("return 3", "return 4", False),
    "another class": ("return third(x)", "return x", False),
    "the program at the end": ("print(second(1))", "print(first(1))", False),
    "a comment": ("LIMIT = 3", "LIMIT = 3  # of them", False),
    "the function": ("+ LIMIT", "- LIMIT", True),
    "what it calls": ("x + 1", "x + 2", True),
    "what it reads": ("LIMIT = 3", "LIMIT = 4", True),
    "a call on import": ("LIMIT = 3", "LIMIT = 3\ntorch.set_num_threads(1)", True),
    "a default, which is made on import": (
        "def second(x)",
        "def second(x, y=torch.set_num_threads(1))",
        True,
    ),
    "a decorator of another function": ("def third", "@torch.no_grad()\ndef third", True),
    "a name that is gone": ("def second", "def other", True),
    "a second definition": ("class Net", "def helper(x):\n    return x\n\n\nclass Net", True),
    "what is no Python": ("LIMIT = 3", "LIMIT =", True),
    "looking up by text": ("x + 1", "globals()['third'](x)", True),
}


@pytest.mark.parametrize(("old", "new", "again"), CHANGES.values(), ids=CHANGES)
def test_a_change_counts_where_the_probe_gets_to(old, new, again):
    """Elsewhere the answer is the same."""
    assert 1 == FILE.count(old)
    assert again == (
        within(FILE.replace(old, new), frozenset({"first"})) != within(FILE, frozenset({"first"}))
    )


REACHES_MORE = {
    "the default of a function is computed on import": "def second(x, y=third(1))",
    "so is a decorator": "@third\ndef second(x)",
}


@pytest.mark.parametrize("head", REACHES_MORE.values(), ids=REACHES_MORE)
def test_what_runs_on_import_is_reached(head):
    """Whoever asks for first() gets third() then, too."""
    file = FILE.replace("def second(x)", head)
    changed = file.replace("return 3", "return 4")

    assert within(file, frozenset({"first"})) != within(changed, frozenset({"first"}))


# What a function that is reached looks at -> whether it may find any other by its name.
BY_TEXT = {
    "globals()['third'](x)": True,
    "vars(torch)": True,
    "sys.modules[__name__]": True,
    "inspect.getmembers(x)": True,
    "sys._getframe().f_back": True,
    "x.f_globals": True,
    "sys.executable": False,
    "sys.settrace(x)": False,
    "inspect.isgeneratorfunction(x)": False,
    "[sys.argv, sys.modules]": True,
    "x.eval()": False,
}


@pytest.mark.parametrize(("does", "anything"), BY_TEXT.items(), ids=BY_TEXT)
def test_with_looking_up_by_text_everything_is_reached(does, anything):
    """A change far away counts then."""
    file = FILE.replace("x + 1", does)
    changed = file.replace("return 3", "return 4")

    assert anything == (within(file, frozenset({"first"})) != within(changed, frozenset({"first"})))


def test_everything_matters_to_who_asks_for_all():
    assert FILE == within(FILE, None)


def job(text=FILE, seed=1, side="student", seconds=1.0, given=b""):
    files = {"part1_toy.py": text.encode(), "given/data.py": given}
    return Job("toy", "part1_toy", "direct", side, seed, Limits(seconds=seconds), files, "cpu")


@pytest.fixture
def remembered():
    """A run that notes what it was asked, behind its memory."""
    ran = []
    return Remembered(noting(ran), toy()), ran


def toy():
    part = Part("part1_toy", writes=["first"], hands_in=["train.py"])
    part.probes["direct"] = Probe("direct", probes.direct)
    part.probes["with_a_program"] = Probe("with_a_program", probes.with_a_program)
    return {"toy": Lab("toy", (part,))}


def noting(ran):
    def run(job):
        ran.append(job)
        return Observation("direct", "ok", {"number": len(ran)}, {"zeros": np.zeros(2)})

    return run


AGAIN = {
    "the same": (job(), 1),
    "another file, elsewhere": (job(FILE.replace("x.model.third()", "1")), 1),
    "another file, where it counts": (job(FILE.replace("x + 1", "x + 2")), 2),
    "other inputs": (job(seed=2), 2),
    "other limits": (job(seconds=2.0), 2),
    "other given files": (job(given=b"x = 1"), 2),
    "the baseline": (job(side="baseline"), 2),
}


@pytest.mark.parametrize(("second", "runs"), AGAIN.values(), ids=AGAIN)
def test_only_what_reaches_nothing_new_is_known(remembered, second, runs):
    run, ran = remembered
    run(job())

    assert ({"number": runs}, runs) == (dict(run(second).values), len(ran))


@pytest.mark.parametrize("side", ["student", "baseline"])
def test_lanes_that_share_a_folder_run_once_what_all_need(tmp_path, side):
    ran = []
    lanes = [Remembered(noting(ran), toy(), tmp_path) for _ in range(2)]
    first, second = (lane(job(side=side)) for lane in lanes)

    assert 1 == len(ran)
    assert (first.ended, first.values, [0.0, 0.0]) == (
        second.ended,
        second.values,
        [*second.arrays["zeros"]],
    )


def test_what_a_file_beside_it_imports_is_reached(remembered):
    """A program beside the part's file may take anything from it."""
    run, ran = remembered
    for text in (FILE, FILE.replace("x.model.third()", "1")):
        run(job(text, given=b"from part1_toy import second"))

    assert 2 == len(ran)


# The file, and a probe -> whether it runs again when a program that was handed in beside the file is another one.
PROGRAMS = {
    "nobody looks at it": (FILE, "direct", False),
    "the probe runs it": (FILE, "with_a_program", True),
    "the value of a parameter is a proposal": (
        FILE.replace("second(x)", "second(x, y='train.py')", 1),
        "direct",
        False,
    ),
    "the file names it": (FILE.replace("LIMIT = 3", "LIMIT = 'train.py'"), "direct", True),
    "the file imports it": (FILE.replace("import torch", "import torch, train"), "direct", True),
    "the file knows where it lies": (FILE.replace("LIMIT = 3", "LIMIT = __file__"), "direct", True),
    "the file is no Python": (FILE.replace("LIMIT = 3", "LIMIT ="), "direct", True),
    "the file looks up by text": (FILE.replace("x + 1", "vars()[x]"), "direct", True),
}


@pytest.mark.parametrize(("text", "probe", "again"), PROGRAMS.values(), ids=PROGRAMS)
def test_a_program_beside_the_file_counts_where_something_gets_at_it(text, probe, again):
    part = toy()["toy"].part("part1_toy")
    one, other = (
        replace(job(text), probe=probe, files={**job(text).files, "train.py": program})
        for program in (b"print(1)", b"print(2)")
    )

    assert again == (reached(one, part) != reached(other, part))


def test_the_key_names_the_file_that_differs(remembered):
    part = remembered[0]._labs["toy"].part("part1_toy")

    assert reached(job(), part) != reached(job(FILE.replace("x + 1", "x + 2")), part)
