"""One submission -> Result, with fake workers: every outcome of a check, and points that always add up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autograder.grading.evidence import NOT_RUN, probe_seed
from autograder.grading.failures import ENDS, KINDS
from autograder.grading.grade import grade
from autograder.model import Observation, Owed, Submission
from tests.grading.graded_toy import adds_up, graded
from tests.toy import FakeWorkers, good, toy_kit, toy_session, toy_submission

OUTCOMES = {
    "passed": ({}, "positive", "passed", 2),
    "partial credit is rounded down to tenths": (
        {("single", "student"): good("single", 0.57)},
        "positive",
        "partial",
        1,
    ),
    "failed": ({("single", "student"): good("single", -1)}, "positive", "failed", 0),
    "skipped because of what it needs": (
        {("single", "student"): good("single", -1)},
        "equal",
        "skipped",
        0,
    ),
    "unavailable without a clock": ({}, "faster", "unavailable", 0),
    "owed because of what it needs": ({}, "much_faster", "unavailable", 0),
    "error in the judge": ({("single", "student"): good("single", 101)}, "positive", "error", 0),
    "error of the baseline": (
        {("both", "baseline"): Observation("both", "raised", error="boom")},
        "equal",
        "error",
        0,
    ),
    "a missing artefact": ({}, "has_picture", "failed", 0),
    "a person's item": ({}, "explains", "unavailable", 0),
}


@pytest.mark.parametrize(("answers", "check", "outcome", "points"), OUTCOMES.values(), ids=OUTCOMES)
def test_every_outcome_is_reached_and_the_points_add_up(answers, check, outcome, points):
    """score + lost + owed = max_score, whatever happened."""
    result, checks, _ = graded(answers)

    assert (outcome, points) == (checks[check].outcome, checks[check].points)
    assert adds_up(result)
    assert result.max_score == 14


@pytest.mark.parametrize("ended", list(ENDS))
def test_a_worker_that_did_not_answer_fails_each_check_that_reads_it(ended):
    """Its own words are the why, and how it ended is the cause."""
    _, checks, _ = graded(
        {("single", "student"): Observation("single", ended, error="in its own words")}
    )

    found = checks["positive"]
    assert ("failed", ended, "in its own words", ENDS[ended][0]) == (
        found.outcome,
        found.cause,
        found.why,
        found.measured,
    )


def test_an_import_that_takes_long_is_noted_and_stays_noted():
    """It makes each probe slow, and no verdict says so."""
    slow = replace(good("single", 2.0), import_seconds=12.3)
    first, _, _ = graded({("single", "student"): slow})
    again, _, _ = graded(settled=first)
    quick, _, _ = graded({("single", "student"): replace(slow, import_seconds=1.0)})

    [note] = [note for note in first.notes if "to be imported" in note]
    assert "took 12 s of CPU time" in note
    assert (first.notes, False) == (
        again.notes,
        any("to be imported" in note for note in quick.notes),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_the_kind_of_an_end_decides_and_not_its_words(kind):
    """An exception in the student's own words may quote any sentence of ours."""
    error = "ValueError: No module named, SyntaxError: it is not written yet"
    end = Observation("single", "raised", error=error)
    _, plain, _ = graded({("single", "student"): end})
    _, told, _ = graded({("single", "student"): replace(end, kind=kind)})

    assert (*ENDS["raised"], "raised") == (
        plain["positive"].measured,
        plain["positive"].try_,
        plain["positive"].cause,
    )
    assert KINDS[kind] == (told["positive"].measured, told["positive"].try_)


def test_what_is_not_written_yet_is_told_from_an_exception():
    end = Observation("single", "raised", error="in any words", kind="unwritten")
    _, checks, _ = graded({("single", "student"): end})

    assert ("failed", "unwritten", "") == (
        checks["positive"].outcome,
        checks["positive"].cause,
        checks["positive"].reason,
    )


def test_a_context_that_works_once_is_told_in_words():
    """Python's own words for it name an attribute that nobody wrote."""
    error = "AttributeError: '_GeneratorContextManager' object has no attribute 'args'"
    end = Observation("single", "raised", error=error, kind="reused context")
    _, checks, _ = graded({("single", "student"): end})

    assert ("a context was entered a second time", error) == (
        checks["positive"].measured,
        checks["positive"].why,
    )
    assert "works once; write a class with __enter__ and __exit__" in checks["positive"].try_


@pytest.mark.parametrize(
    ("kind", "measured", "try_"),
    [
        ("changed segment", "saved other tensors than the first", "by a momentum of 0"),
        ("recompiled", "compiled in pieces", "the whole model"),
    ],
)
def test_errors_of_torch_are_told_by_what_the_part_is_about(kind, measured, try_):
    end = Observation("single", "raised", error="in torch's words", kind=kind)
    _, checks, _ = graded({("single", "student"): end})

    assert measured in checks["positive"].measured
    assert try_ in checks["positive"].try_


def test_who_left_a_breakpoint_in_is_not_told_to_read_a_traceback():
    error = (
        "BdbQuit: breakpoint() waits for a keyboard, and a check has none (part1_toy.py, line 3)"
    )
    end = Observation("single", "raised", error=error)
    _, checks, _ = graded({("single", "student"): end})

    assert "take it out; to try something by hand, run the file itself" == checks["positive"].try_


def test_a_probe_may_say_what_to_try_where_it_does_not_end():
    kit = toy_kit()
    probes = kit.lab.parts[0].probes
    probes["single"] = replace(probes["single"], hints={"memory": "do it without memory"})
    ended = {
        end: Observation("single", end, error="in its own words") for end in ("memory", "crash")
    }
    tries = [
        graded({("single", "student"): it}, kit=kit)[1]["positive"].try_ for it in ended.values()
    ]

    assert ["do it without memory", ENDS["crash"][1]] == tries


def test_what_to_try_after_an_exception_is_not_told_to_processes_that_wait_for_each_other():
    kit = toy_kit()
    probes = kit.lab.parts[0].probes
    probes["single"] = replace(probes["single"], hints={"raised": "call it without clip"})
    kinds = "", "apart"
    ends = [Observation("single", "raised", error="in its own words", kind=it) for it in kinds]
    tries = [graded({("single", "student"): it}, kit=kit)[1]["positive"].try_ for it in ends]

    assert ["call it without clip", KINDS["apart"][1]] == tries


def test_an_answer_of_another_form_is_refused_and_never_our_fault():
    """Hostile values are the student's doing, so they cannot turn a failure into owed points."""
    _, checks, _ = graded({("single", "student"): Observation("single", "ok", {"x": "two"})})

    assert ("failed", "refused") == (checks["positive"].outcome, checks["positive"].cause)
    assert (
        checks["positive"].why
        == "the worker's answer was refused: $.x does not have its declared form"
    )


def test_a_probe_runs_once_however_many_checks_read_it():
    """`amp` is read by two checks; a baseline runs for pairs and timed work only."""
    _, _, run = graded()

    asked = [(job.probe, job.side) for job in run.asked]
    assert sorted(set(asked)) == sorted(asked)
    assert ("single", "baseline") not in asked


def test_a_probe_that_uses_up_its_time_leaves_a_third_of_it_to_the_others():
    """What else the student wrote is judged."""
    late = Observation("both", "timeout", error="was stopped after 60 s, the limit of this part")
    _, checks, run = graded({("both", "student"): late})

    assert [("single", 60), ("both", 60), ("amp", 20)] == [
        (job.probe, job.limits.seconds) for job in run.asked if job.side == "student"
    ]
    assert "was stopped after 60 s, the limit of this part" == checks["equal"].why
    assert ["unavailable", "passed"] == [checks[name].outcome for name in ("faster", "has_table")]


def test_a_second_run_that_is_late_is_told_why_it_had_less_time():
    """Its own 20 s beside the 60 s of the part would look like a mistake."""
    late = [Observation(name, "timeout", error="was stopped") for name in ("both", "amp")]
    _, checks, _ = graded({(each.probe, "student"): each for each in late})

    earlier = "because an earlier run of this part had already used up its 60 s"
    assert f"was stopped after 20 s, {earlier}" in {check.why for check in checks.values()}


def test_a_part_stops_when_three_probes_have_used_up_their_time(monkeypatch):
    """No more are started, and what rests on them says why; files are judged as ever."""
    monkeypatch.setattr("autograder.grading.evidence.TIMEOUTS", 1)
    late = Observation("both", "timeout", error="was stopped after 1 s, the limit of this part")
    _, checks, run = graded({("both", "student"): late})

    assert [("single", "student"), ("both", "student")] == [
        (job.probe, job.side) for job in run.asked
    ]
    assert ("failed", "timeout", NOT_RUN) == (
        checks["faster"].outcome,
        checks["faster"].cause,
        checks["faster"].why,
    )
    assert "passed" == checks["has_table"].outcome


def without_needs():
    """Make checks that all read a probe, and do not wait for each other."""
    kit = toy_kit()
    [part] = kit.lab.parts
    part.checks = {name: replace(check, needs=()) for name, check in part.checks.items()}
    return kit


def test_a_file_that_cannot_be_imported_is_told_once():
    """The check that meets it first fails; what else needs the file is skipped, and files are judged as ever."""
    error = "part1_toy.py could not be imported: SyntaxError: invalid syntax (part1_toy.py, line 3)"
    names = ("single", "both", "amp")
    ends = [
        Observation(name, "raised", error=error, kind="syntax", imported=False) for name in names
    ]
    answers = {(end.probe, "student"): end for end in ends}
    _, checks, _ = graded(answers, kit=without_needs())

    assert ("failed", error) == (checks["positive"].outcome, checks["positive"].why)
    assert "the file cannot be read as Python" == checks["positive"].measured
    assert ("skipped", "part1_toy.py cannot be used: see positive") == (
        checks["equal"].outcome,
        checks["equal"].reason,
    )
    assert "passed" == checks["has_table"].outcome


def test_a_file_that_raises_is_told_by_what_runs_on_import():
    error = "part1_toy.py could not be imported: ValueError: no (part1_toy.py, line 3)"
    end = Observation("single", "raised", error=error, imported=False)
    _, checks, _ = graded({("single", "student"): end})

    assert "the file cannot be imported" == checks["positive"].measured
    assert "it runs as soon as the file is imported" in checks["positive"].try_


def test_a_module_that_is_missing_is_no_call_to_be_repeated_at_home():
    """There it may be installed."""
    error = "part1_toy.py could not be imported: ModuleNotFoundError: No module named 'einops' (part1_toy.py, line 3)"
    end = Observation("single", "raised", error=error, kind="missing module", imported=False)
    _, checks, _ = graded({("single", "student"): end})

    assert "a module is missing here" == checks["positive"].measured
    assert checks["positive"].try_.startswith("do without einops: the grader has only the standard")


@pytest.mark.parametrize(
    ("module", "left_out"),
    [("helpers", ("lab/helpers.py",)), ("helpers", ("helpers/__init__.py",)), ("part1_toy", ())],
)
def test_a_module_that_is_a_file_of_the_students_own_is_to_be_copied(module, left_out):
    """Another part's file is one, whether or not it was handed in."""
    error = f"part1_toy.py could not be imported: ModuleNotFoundError: No module named '{module}'"
    end = Observation("single", "raised", error=error, kind="missing module", imported=False)
    given = replace(toy_submission(), left_out=left_out)
    _, checks, _ = graded({("single", "student"): end}, submission=given)

    assert checks["positive"].try_.endswith("none of your other files: copy what it needs")


def test_lines_of_a_notebook_are_named_by_their_cell():
    """Its author has no file with these lines; a .py keeps them, and so does what comes before the first cell."""
    code = b"import torch\n# %% cell 5\n\ndef work():\n    pass\n"
    error = "ValueError: no (part1_toy.py, line 5)"
    answers = {("single", "student"): Observation("single", "raised", error=error)}

    _, from_cells, _ = graded(answers, submission=toy_submission(part1_toy__py=code))
    _, from_file, _ = graded(answers)

    assert "ValueError: no (cell 5, line 3)" == from_cells["positive"].why
    assert error == from_file["positive"].why


def test_whoever_works_in_a_notebook_runs_that_for_a_missing_file():
    """The part's file is made of it, and they have none to run."""
    given = toy_submission(part1_toy__py=b"# %% cell 5\nimport torch\n")
    files = {name: data for name, data in given.files.items() if name != "picture.png"}
    _, checks, _ = graded(submission=Submission(given.name, given.sha256, files))

    assert (
        "run your notebook to its end, and keep picture.png beside it" == checks["has_picture"].try_
    )


def test_both_sides_of_a_pair_get_the_same_seed_and_their_own_file():
    """Equal inputs, and the grader's own given/."""
    _, _, run = graded()

    student, baseline = (
        next(j for j in run.asked if (j.probe, j.side) == ("both", side))
        for side in ("student", "baseline")
    )
    assert student.seed == baseline.seed == probe_seed(7, "part1_toy", "both")
    assert set(student.files) == {"part1_toy.py", "given/__init__.py"}


def test_owed_points_name_who_settles_them():
    """A GPU for what needs one, a person for the rubric."""
    result, _, _ = graded(tier="cpu")

    assert Owed("part1_toy.faster", 2.0, "gpu") in result.owed
    assert Owed("part1_toy.explains", 2.0, "person") in result.owed


def test_a_single_check_brings_those_it_needs_and_nothing_else():
    """--only."""
    _, checks, run = graded(only="equal")

    assert ["positive", "equal"] == list(checks)
    assert {job.probe for job in run.asked} == {"single", "both"}


def test_only_named_parts_are_graded():
    """An entry of the corpus runs only the part it names."""
    result = grade(
        toy_submission(), toy_kit(), toy_session(FakeWorkers()), seed=1, parts=["part2_other"]
    )

    assert () == result.parts


def test_a_function_that_is_missing_is_called_that():
    """It may stand in a text cell."""
    error = "part1_toy.py defines no function work"
    end = Observation("single", "raised", error=error, kind="missing function")
    _, checks, _ = graded({("single", "student"): end})

    assert ("a function is missing", error) == (checks["positive"].measured, checks["positive"].why)


def test_what_was_returned_in_another_form_was_no_exception():
    """There is no traceback to read."""
    error = "train returned a Metrics instead of a dict"
    end = Observation("single", "raised", error=error, kind="wrong type")
    _, checks, _ = graded({("single", "student"): end})

    assert ("something else was returned", error) == (
        checks["positive"].measured,
        checks["positive"].why,
    )
