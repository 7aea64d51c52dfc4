"""Part 14 of pairs: right work passes on any seed; mistakes are entries of the corpus."""

from __future__ import annotations

import importlib

import pytest
import yaml

from autograder.course import Course
from autograder.course.own_course import CONFIG
from autograder.grading.evidence import Evidence
from autograder.labs.pairs.part14_comparison import judges, part
from autograder.model import Failed, Passed, Submission, Table
from autograder.yaml_file import read_yaml
from tests.labs.bench import ROOT, Bench, failing

bench = Bench("pairs", part)
MEASURES = ("compares_both", "csv_says_what_was_measured", "finds_regressions")


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(4))
def test_the_reference_passes(judge, seed):
    assert {} == failing(judge(bench.source, seed))


def test_the_slow_version_writes_what_it_returns_and_no_more(judge):
    verdicts = judge(bench.baseline.read_text(encoding="utf-8"), only=MEASURES)

    assert {"compares_both", "finds_regressions"} == set(failing(verdicts))


def covers(names, parts):
    rows = tuple({"pair": name} for name in names)
    return part.checks["covers_the_pairs"].judge(
        pairs=Table("pairs.csv", ("pair",), rows), parts=parts
    )


@pytest.mark.parametrize(("lacking", "kind"), [(2, Passed), (3, Failed)])
def test_two_pairs_may_be_missing(lacking, kind):
    names = judges.names(judges.PAIRS)

    assert 14 == len(names)
    assert isinstance(covers(names[lacking:], judges.PAIRS), kind)


def test_the_names_and_goals_are_those_that_are_measured():
    measured = {name: row[:2] for name, row in importlib.import_module("given.pairs").PAIRS.items()}
    known = {name: (goal, each) for each, own in judges.PAIRS.items() for name, goal in own.items()}

    assert measured == known


@pytest.mark.parametrize(("lacking", "kind"), [(2, Passed), (3, Failed)])
def test_pairs_of_a_part_that_the_course_leaves_out_do_not_count(tmp_path, lacking, kind):
    said = read_yaml(ROOT / CONFIG)
    said["labs"]["pairs"]["parts"] |= {"part09_roofline": "off", "part10_compile": "off"}
    for name in ("reference", "student_template", "assignments"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / CONFIG).write_text(yaml.safe_dump(said), encoding="utf-8")
    kit = Course(tmp_path).kit("pairs")
    names = judges.names([each.id for each in kit.lab.parts])
    rows = [f"{name},1" for name in names[lacking:]]
    handed_in = Submission("ours", "", {"pairs.csv": "\n".join(["pair,speedup", *rows]).encode()})
    check = kit.lab.part("part14").checks["covers_the_pairs"]
    evidence = Evidence(kit.lab.part("part14"), handed_in, kit, None, 1).read_by(check)

    assert 10 == len(names)
    assert isinstance(check.judge(**evidence), kind)


ROW = {"pair": "ours", "goal": "memory", "speedup": 0.8, "memory_ratio": 9.0, "verdict": "better"}
CONTRADICTIONS = {
    "pair": ("fetch", "fetch has the goal memory, and time is right"),
    "verdict": ("worse", "has 9x and the verdict worse"),
    "goal": ("time", "has 0.8x and the verdict better"),
    "memory_ratio": (1.04, "has 1.04x and the verdict better"),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_a_verdict_that_contradicts_its_row_is_told(name):
    value, words = CONTRADICTIONS[name]

    assert "" == judges.verdict_problem([ROW])
    assert words in judges.verdict_problem([{**ROW, name: value}])
