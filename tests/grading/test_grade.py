"""One submission -> Result, with fake workers: every outcome, and points that always add up."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from autograder.batch import lanes
from autograder.errors import OwedError, SpoiltError
from autograder.grading import evidence
from autograder.grading.evidence import probe_seed
from autograder.grading.failures import ENDS, KINDS
from autograder.grading.grade import grade
from autograder.model import (
    Compared,
    Failed,
    NeedsRoom,
    Observation,
    Owed,
    Pair,
    Passed,
    Submission,
)
from tests.toy import FakeWorkers, good, toy_kit, toy_session, toy_submission


def graded(answers=None, *, kit=None, submission=None, tier="t4", **options):
    """Grade the toy submission; returns the result and its checks by id."""
    run = FakeWorkers(answers or {})
    result = grade(
        submission or toy_submission(), kit or toy_kit(), toy_session(run, tier), seed=7, **options
    )
    return result, {check.id: check for check in result.parts[0].checks}, run


def adds_up(result) -> bool:
    return round(result.score + result.lost + result.points_owed - result.max_score, 9) == 0


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
    error = "ValueError: No module named 'x', SyntaxError: it is not written yet"
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
        ("changed segment", "saved other tensors than the first", "a momentum of 0 holds"),
        ("recompiled", "compiled in pieces", "the whole model"),
    ],
)
def test_errors_of_torch_are_told_by_what_the_part_is_about(kind, measured, try_):
    end = Observation("single", "raised", error="in torch's words", kind=kind)
    _, checks, _ = graded({("single", "student"): end})

    assert measured in checks["positive"].measured
    assert try_ in checks["positive"].try_


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


def test_a_part_stops_when_three_probes_have_used_up_their_time(monkeypatch):
    """No more are started, and what rests on them says after which; files are judged as ever."""
    monkeypatch.setattr("autograder.grading.evidence.TIMEOUTS", 1)
    late = Observation("both", "timeout", error="was stopped after 1 s, the limit of this part")
    _, checks, run = graded({("both", "student"): late})

    assert [("single", "student"), ("both", "student")] == [
        (job.probe, job.side) for job in run.asked
    ]
    assert ("failed", "timeout", "this part was stopped after its time had run out in both") == (
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


def test_a_module_that_is_missing_is_no_call_to_be_repeated_at_home():
    """There it may be installed."""
    error = "part1_toy.py could not be imported: ModuleNotFoundError: No module named 'einops' (part1_toy.py, line 3)"
    end = Observation("single", "raised", error=error, kind="missing module", imported=False)
    _, checks, _ = graded({("single", "student"): end})

    assert "a module is missing here" == checks["positive"].measured
    assert checks["positive"].try_.startswith(
        "a part's file may import the standard library, torch,"
    )


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


def test_programs_stand_beside_the_file_where_they_were_handed_in():
    """A table does not."""
    kit = toy_kit()
    [part] = kit.lab.parts
    part.artefacts["train"] = "train.py"
    _, _, run = graded(kit=kit, submission=toy_submission(train__py=b"print()"))

    files = {job.side: set(job.files) for job in run.asked}
    assert {"part1_toy.py", "train.py", "given/__init__.py"} == files["student"]
    assert {"part1_toy.py", "given/__init__.py"} == files["baseline"]


def test_a_part_that_was_not_handed_in_says_so_in_every_check():
    """No worker starts, and what was refused on reading is named."""
    submission = Submission("ada", "0" * 64, {}, {"part1_toy.py": "is a link"})
    run = FakeWorkers()
    result = grade(submission, toy_kit(), replace(toy_session(run), rehearsal=True), seed=7)

    [positive, *_] = result.parts[0].checks
    assert run.asked == []
    assert ("no part1_toy.py", "is a link", "missing") == (
        positive.measured,
        positive.why,
        positive.cause,
    )


BROKEN = dict.fromkeys(["part1_toy.py", "table.csv"], "ada.zip: is a damaged zip")
UNREAD = {
    "a damaged archive": ({}, BROKEN, "nothing was taken: ada.zip: is a damaged zip"),
    "a file in another encoding": (
        {"table.csv": b"a\n1\n"},
        {"part1_toy.py": "line 3 is not UTF-8"},
        "part1_toy.py was not taken: line 3 is not UTF-8",
    ),
    "a damaged notebook": (
        {},
        {
            "part1_toy.ipynb": "it is damaged",
            "part1_toy.py": "part1_toy.ipynb was not taken: it is damaged",
        },
        "part1_toy.ipynb was not taken: it is damaged",
    ),
    "other files alone": ({}, {}, "nothing was taken: there is not one file of this lab in it"),
}


@pytest.mark.parametrize(("files", "refused", "why"), UNREAD.values(), ids=UNREAD)
def test_what_cannot_be_read_is_no_zero_and_waits_for_a_person(files, refused, why):
    """Every point of the part is owed, what a person reads included, and the reason is told once."""
    result, _, run = graded(submission=Submission("ada", "0" * 64, files, refused))

    assert run.asked == []
    assert (why,) == result.unread
    assert ({"person"}, 14, 0) == (
        {one.settled_by for one in result.owed},
        result.points_owed,
        result.lost,
    )
    assert adds_up(result)


def test_a_part_that_nobody_handed_in_is_lost():
    """Other files of the lab were read, so nothing is unclear about it."""
    result, _, _ = graded(submission=Submission("ada", "0" * 64, {"table.csv": b"a\n1\n"}))

    assert () == result.unread
    assert result.lost > 0


NOTES = {
    "missing": ({}, {}, "failed"),
    "as they were handed out": (
        {"notes.md": b"# Why?\r\n\r\n*Your answer here.*\r\n"},
        {},
        "failed",
    ),
    "emptied": ({"notes.md": b"# Why?\n"}, {}, "failed"),
    "answered": ({"notes.md": b"# Why?\n\nThe loop waits.\n"}, {}, "unavailable"),
    "not taken": ({}, {"notes.md": "it is UTF-16 text"}, "unavailable"),
}


@pytest.mark.parametrize(("files", "refused", "outcome"), NOTES.values(), ids=NOTES)
def test_a_person_reads_only_notes_that_somebody_wrote(files, refused, outcome):
    """Notes that are missing, or are as they were handed out, owe nothing to anybody."""
    kit = toy_kit()
    kit.lab.parts[0].artefacts["notes"] = "notes.md"
    released = replace(kit.released, texts={"notes.md": "# Why?\n\n*Your answer here.*\n"})
    handed_in = toy_submission()
    handed_in = replace(handed_in, files={**handed_in.files, **files}, refused=refused)
    result, checks, _ = graded(kit=replace(kit, released=released), submission=handed_in)

    assert outcome == checks["explains"].outcome
    assert adds_up(result)


def test_what_is_set_aside_stays_a_persons_to_read():
    """A grader that died says nothing about the notes."""
    kit = toy_kit()
    kit.lab.parts[0].artefacts["notes"] = "notes.md"
    result, checks, _ = graded(
        kit=kit, submission=Submission("ada", "0" * 64, {}), refusal="set aside"
    )

    assert "unavailable" == checks["explains"].outcome
    assert result.lost == 0


@pytest.mark.parametrize(
    ("made_by", "refused", "said"),
    [
        pytest.param(
            {"picture.png": "draw it"},
            {},
            (
                "no picture.png here yet",
                "it is submitted beside part1_toy.py, which does not write it",
                "draw it",
            ),
            id="not there yet, and nothing writes it",
        ),
        pytest.param(
            {},
            {},
            (
                "no picture.png here yet",
                "part1_toy.py writes it when it is run",
                "python part1_toy.py, and keep picture.png beside it",
            ),
            id="not there yet",
        ),
        pytest.param(
            {},
            {"picture.png": "is a link"},
            ("picture.png was not taken", "is a link", "write picture.png again"),
            id="there and refused",
        ),
    ],
)
def test_a_missing_artefact_says_what_writes_it(made_by, refused, said):
    """While the work goes on, as well as after it was handed in."""
    given, kit = toy_submission(), toy_kit()
    kit.lab.parts[0].made_by.update(made_by)
    files = {name: data for name, data in given.files.items() if name != "picture.png"}
    _, checks, _ = graded(kit=kit, submission=Submission(given.name, given.sha256, files, refused))

    assert said == (
        checks["has_picture"].measured,
        checks["has_picture"].why,
        checks["has_picture"].try_,
    )
    assert ("failed", "missing") == (checks["has_picture"].outcome, checks["has_picture"].cause)


def test_an_artefact_that_cannot_be_read_fails_with_its_reason():
    """A picture that is none."""
    _, checks, _ = graded(submission=toy_submission(picture__png=b"GIF89a"))

    assert ("failed", "refused", "picture.png cannot be read") == (
        checks["has_picture"].outcome,
        checks["has_picture"].cause,
        checks["has_picture"].measured,
    )


def test_an_artefact_is_handed_to_the_judge_parsed():
    """A CSV arrives as a Table; a judge may also ask what the machine is."""
    _, checks, _ = graded()

    assert ("passed", "1 rows on toy") == (
        checks["has_table"].outcome,
        checks["has_table"].measured,
    )


@pytest.mark.parametrize(
    ("tier", "bars", "reason"),
    [
        ("cpu", None, "faster needs a GPU"),
        ("gpu", None, "faster has no bar for device tier 'gpu': `perflab calibrate toy`"),
        ("t4", None, evidence.NO_CLOCK),
    ],
)
def test_a_bar_that_cannot_be_shown_here_is_owed_with_advice(tier, bars, reason):
    """No bar is never a pass and never a zero."""
    _, checks, _ = graded(tier=tier, kit=toy_kit(bars))

    assert ("unavailable", reason) == (checks["faster"].outcome, checks["faster"].reason)


@pytest.mark.parametrize("tier", ["cpu", "t4"])
def test_what_needs_two_gpus_is_owed_with_one(tier):
    """A session grades on one device."""
    kit = toy_kit({"t4": 1.5, "cpu": 1.5})
    part = kit.config.parts["part1_toy"]
    checks = {**part.checks, "faster": replace(part.checks["faster"], gpus=2)}
    parts = {**kit.config.parts, "part1_toy": replace(part, checks=checks)}
    _, results, _ = graded(tier=tier, kit=replace(kit, config=replace(kit.config, parts=parts)))

    faster = results["faster"]
    assert ("unavailable", "faster needs 2 GPUs") == (faster.outcome, faster.reason)


def test_the_bar_stands_in_the_title():
    """A student reads the number, or that this device has none."""
    on_t4, on_cpu = graded()[1]["faster"].title, graded(tier="cpu")[1]["faster"].title

    assert ("It is at least 1.50x as fast.", "It is at least the bar of this device as fast.") == (
        on_t4,
        on_cpu,
    )


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


def test_what_was_left_out_or_refused_is_told():
    """Notes for the student."""
    submission = Submission(
        "ada", "0" * 64, {}, {"table.csv": "is no text"}, ("extra.txt", "given/data.py")
    )
    result, _, _ = graded(submission=submission)

    assert (
        "table.csv was not taken: is no text",
        "not listed by the lab, so not looked at: extra.txt",
    ) == result.notes


def test_of_a_notebook_that_was_refused_one_note_tells():
    """The file that it stands for was refused for that reason."""
    why = "part1_toy.ipynb was not taken: is no text"
    submission = Submission(
        "ada", "0" * 64, {}, {"part1_toy.ipynb": "is no text", "part1_toy.py": why}
    )

    assert (why,) == graded(submission=submission)[0].notes


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


def test_what_holds_of_all_files_is_said_once():
    """An archive that cannot be read is one mistake."""
    why = "ada.rar: is a RAR archive; hand in a folder, zip or tar"
    result = grade(
        Submission("ada", "", {}, {"part1_toy.py": why, "table.csv": why}),
        toy_kit(),
        toy_session(FakeWorkers()),
        seed=1,
    )

    assert (f"nothing was taken: {why}",) == result.notes


class FakeClock:
    """Says the same about every speedup, and remembers what it was asked."""

    def __init__(self, found):
        self.found, self.asked = found, []

    def __call__(self, probe, student, baseline, bar):
        self.asked.append((probe.name, student.side, baseline.side, bar))
        return self.found


def timed(found, **options):
    clock = FakeClock(found)
    session = replace(toy_session(FakeWorkers(options.get("answers", {}))), clock=clock)
    result = grade(toy_submission(), toy_kit(options.get("bars")), session, seed=7)
    return result, next(c for c in result.parts[0].checks if c.id == "faster"), clock


RULINGS = {
    "proved": (Compared("PASS", "1.7x", 1.0), ("passed", 2.0, "1.7x; the bar is 1.50x", "")),
    "proved in part": (
        Compared("FAIL", "1.3x", 0.5),
        ("partial", 1.0, "1.3x; the bar is 1.50x", ""),
    ),
    "below": (Compared("FAIL", "1.0x"), ("failed", 0.0, "1.0x; the bar is 1.50x", "")),
    "undecided": (
        Compared("INCONCLUSIVE", "1.5x", undecided="too noisy"),
        ("inconclusive", 0.0, "1.5x", "too noisy"),
    ),
    "not believed": (
        Compared("FAIL", "", ended="refused", error="showed a different output"),
        ("failed", 0.0, "the answer was refused", "refused"),
    ),
    "not the work": (
        Compared(
            "FAIL",
            "",
            ended="refused",
            error="in a timed window 1 was returned where the baseline returns 2",
            kind="other results",
        ),
        ("failed", 0.0, "different results from the baseline's", "refused"),
    ),
    "out of memory": (
        Compared("FAIL", "", ended="memory", error="used"),
        ("failed", 0.0, "too much memory", "memory"),
    ),
}


@pytest.mark.parametrize(("found", "expected"), RULINGS.values(), ids=RULINGS)
def test_what_the_clock_says_becomes_an_outcome(found, expected):
    """And the points add up."""
    result, check, _ = timed(found)

    why = check.reason or check.cause
    assert expected == (check.outcome, check.points, check.measured, why)
    assert adds_up(result)


def test_an_undecided_speedup_is_settled_again():
    assert Owed("part1_toy.faster", 2.0, "again") in timed(RULINGS["undecided"][0])[0].owed


def test_the_clock_runs_once_for_a_probe_and_a_bar():
    """`much_faster` reads the same probe and asks for the same bar."""
    assert [("amp", "student", "baseline", 1.5)] == timed(RULINGS["proved"][0])[2].asked


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"bars": {}}, id="no bar for this device"),
        pytest.param(
            {"answers": {("single", "student"): good("single", -1)}}, id="a check it needs failed"
        ),
        pytest.param(
            {"answers": {("amp", "student"): Observation("amp", "raised", error="x")}},
            id="it does not run",
        ),
    ],
)
def test_nothing_is_timed_in_vain(options):
    """A worker costs seconds, and a classmate waits."""
    assert [] == timed(RULINGS["proved"][0], **options)[2].asked


def test_work_without_a_tolerance_is_not_timed():
    """Its windows could not be held against the baseline's."""
    kit = toy_kit()
    part = kit.lab.parts[0]
    part.probes["amp"] = replace(part.probes["amp"], within=None)
    clock = FakeClock(RULINGS["proved"][0])
    result = grade(toy_submission(), kit, replace(toy_session(FakeWorkers()), clock=clock), seed=7)
    check = next(c for c in result.parts[0].checks if c.id == "faster")

    assert ("unavailable", evidence.NO_TOLERANCE, []) == (check.outcome, check.reason, clock.asked)


NOISY = Compared("INCONCLUSIVE", "", undecided="too noisy")


def test_what_was_settled_is_kept_and_what_is_owed_again_is_judged():
    """With all that needs it; nothing else runs, and seconds add up."""
    run = FakeWorkers()
    session = replace(toy_session(run), clock=lambda *_: NOISY)
    before = replace(grade(toy_submission(), toy_kit(), session, seed=7), seconds=2.0)
    run.asked.clear()
    session = replace(session, clock=lambda *_: Compared("PASS", "2x", 1.0))
    after = grade(toy_submission(), toy_kit(), session, seed=7, settled=before)

    assert {"faster": "inconclusive", "much_faster": "unavailable"} == {
        check.id: check.outcome for check in before.parts[0].checks if "faster" in check.id
    }
    assert [
        "positive",
        "equal",
        "faster",
        "much_faster",
        "has_table",
        "has_picture",
        "explains",
    ] == [check.id for check in after.parts[0].checks]
    assert {"passed"} == {check.outcome for check in after.parts[0].checks if "faster" in check.id}
    assert {"amp"} == {job.probe for job in run.asked}
    assert (before.score + 4, 2.0) == (after.score, after.seconds)
    assert adds_up(after)


def test_a_fault_of_ours_is_judged_again_with_all_that_rests_on_it():
    """What did not rest on it is kept."""
    before, _, _ = graded({("single", "student"): good("single", 101)})
    after, checks, run = graded(settled=before)

    assert ("passed", "passed") == (checks["positive"].outcome, checks["equal"].outcome)
    assert {"single", "both", "amp"} == {job.probe for job in run.asked}
    assert adds_up(after)


def test_with_a_refusal_nothing_runs_and_nothing_is_lost():
    """Each check is owed with the reason; what was settled before stays."""
    before, _, _ = graded()
    nothing, checks, run = graded(refusal="set aside")
    kept, _, _ = graded(refusal="set aside", settled=before)

    assert ([], {"set aside"}) == (
        run.asked,
        {c.reason for c in checks.values() if c.basis != "person"},
    )
    assert (0, 14) == (nothing.score, nothing.points_owed)
    assert before.parts == kept.parts


def with_a_memory_bar():
    """The toy lab, whose "equal" asks for its work in 800 bytes, where the baseline took 1000."""
    kit = toy_kit()

    def judge(both: Pair):
        if both.room_bytes != 800:
            otherwise = Failed("900 of 1000; in 800 it did not finish", "why", "try")
            return NeedsRoom("both", 1000, 800, otherwise)
        return (
            Passed("equal")
            if both.student.values == both.baseline.values
            else Failed("not equal", "", "")
        )

    part = kit.lab.parts[0]
    part.checks["equal"] = replace(part.checks["equal"], judge=judge)
    return kit


def squeezed(answer):
    """Grade it where *answer* comes of that."""
    asked = []

    def squeeze(student, baseline, full, room):
        asked.append((student.side, baseline.side, student.probe, full, room))
        if isinstance(answer, Exception):
            raise answer
        return answer

    session = replace(toy_session(FakeWorkers()), squeeze=answer and squeeze)
    found = (
        grade(toy_submission(), with_a_memory_bar(), session, seed=7, only="equal")
        .parts[0]
        .checks[-1]
    )
    assert [("student", "baseline", "both", 1000, 800)] * bool(answer) == asked
    return found.outcome, found.measured or found.reason


SQUEEZED = {
    "it finished": (good("both"), ("passed", "equal")),
    "it finished with other numbers": (good("both", 3.0), ("failed", "not equal")),
    "it did not finish": (
        Observation("both", "raised", error="OutOfMemoryError"),
        ("failed", "900 of 1000; in 800 it did not finish: OutOfMemoryError"),
    ),
    "it answered in another form": (
        Observation("both", "ok", {"y": 1.0}),
        (
            "failed",
            "900 of 1000; in 800 it did not finish: the worker's answer was refused: $ does not have its declared form",
        ),
    ),
    "this machine cannot": (OwedError("no driver"), ("unavailable", "no driver")),
    "it was spoilt": (
        SpoiltError("somebody else used it"),
        ("inconclusive", "somebody else used it"),
    ),
    "practice": (
        None,
        (
            "unavailable",
            "a grading run decides, which leaves the work no more of the GPU than the bar says",
        ),
    ),
}


@pytest.mark.parametrize(("answer", "expected"), SQUEEZED.values(), ids=SQUEEZED)
def test_a_memory_bar_of_a_gpu_is_decided_by_a_run_in_less(answer, expected):
    """Judged again on what was answered then, so that doing less when memory is short is no saving."""
    assert expected == squeezed(answer)


def test_a_judge_that_asks_again_and_again_is_a_fault_of_ours():
    kit = with_a_memory_bar()
    part = kit.lab.parts[0]
    asks = NeedsRoom("both", 1000, 800, Failed("900 of 1000", "why", "try"))
    part.checks["equal"] = replace(part.checks["equal"], judge=lambda both: asks)
    session = replace(toy_session(FakeWorkers()), squeeze=lambda *_: good("both"))
    check = grade(toy_submission(), kit, session, seed=7, only="equal").parts[0].checks[-1]

    assert "error" == check.outcome
    assert "asks for 800 bytes after a first run" in check.reason


def test_a_run_in_less_waits_for_its_turn():
    """While other lanes work nobody takes the whole of a GPU."""
    work = SimpleNamespace(kit=with_a_memory_bar(), parts=(), only="equal")
    session = replace(toy_session(FakeWorkers()), clock=lambda *_: None)
    result = lanes._here(work, session, lanes.Errand(toy_submission(), 7, None, False, ""))

    assert ("inconclusive", "clock") == (
        result.parts[0].checks[-1].outcome,
        result.parts[0].checks[-1].cause,
    )
    assert result.waits_for_the_clock
