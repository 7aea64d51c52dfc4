"""Lines between honest work and mistakes, bars between the baseline and the reference, and the page that says so."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import date
from types import SimpleNamespace

import pytest

from autograder.checks import plot
from autograder.checks.numerics import shares
from autograder.config import CheckConfig, LabConfig, PartConfig
from autograder.course import calibrate
from autograder.course.calibrate import Line, Share, Speed, draw, page
from autograder.course.cases import Case
from autograder.grading.kit import Kit
from autograder.lab import NUMBER, Failed, Part, Passed
from autograder.model import Compared, Limits, Observation, Submission, Unavailable
from tests import toy
from tests.samples import H100

HONEST = (Share("reference", True, 0.1), Share("channels_last", True, 0.5))
ONLY_SLOW = 0.25
WRONG = (Share("skips_a_step", False, 4.5), Share("no_zero_grad", False, 80.0))


def test_a_line_knows_its_furthest_honest_and_its_nearest_wrong_work():
    """It would lie best at the geometric middle of both."""
    line = Line("part3_amp.follows_fp32", HONEST + WRONG)

    assert (0.5, 4.5, 9.0, True) == (line.honest, line.wrong, line.apart, line.holds)
    assert line.move == 1.5


def test_honest_work_and_mistakes_that_are_close_are_no_line():
    """Less than a factor of four is luck."""
    assert not Line("c", (Share("reference", True, 0.5), Share("skips", False, 1.9))).holds


def test_a_line_that_nobody_stands_near_holds():
    """Exact work has no deviation, and a check may have only gross mistakes."""
    assert (math.inf, True) == (Line("c", ()).apart, Line("c", ()).holds)
    assert Line("c", (Share("reference", True, 0.2),)).holds


BARS = {
    "a fast reference": (4.0, (1.15, 4.0 / 1.15), 2.0),
    "just fast enough": (1.3226, (1.15, 1.3226 / 1.15), 1.15),
    "not fast enough": (1.3, None, None),
    "not measured": (0.0, None, None),
}


@pytest.mark.parametrize(("low", "allowed", "proposal"), BARS.values(), ids=BARS)
def test_a_bar_leaves_room_on_both_sides(low, allowed, proposal):
    """15 % above the baseline, 15 % below what the reference was proved to reach; never outside of that."""
    speed = Speed("part1_attention.is_faster", "", 0.02, low)

    assert (allowed, proposal) == (speed.allowed, proposal and pytest.approx(proposal))
    assert (proposal is None) is (speed.proposal is None)
    if allowed:
        assert allowed[0] <= speed.proposal <= allowed[1]


def test_the_page_names_machine_day_and_who_stands_where():
    """Everything on it was measured; a line that does not hold is shouted."""
    lines = [
        Line("part3_amp.follows_fp32", HONEST + WRONG),
        Line("c", (HONEST[1], Share("skips", False, 1.2))),
    ]
    speeds = [
        Speed("p.fast", "4.10x (4.00 to 4.20, 5 pairs)", 0.021, 4.0),
        Speed("p.slow", "no pair", None, 0.0),
    ]
    text = page("resnet18", H100, date(2027, 1, 13), lines, speeds, "picture.png")

    assert (
        "on 2027-01-13, NVIDIA H100 80GB HBM3 (tier `hopper`), torch 2.15.0, python 3.11.7." in text
    )
    assert (
        "| part3_amp.follows_fp32 | 0.5 | channels_last | 4.5 | skips_a_step | 9.0 | yes | 1.5 |"
        in text
    )
    assert "| c | 0.5 | channels_last | 1.2 | skips | 2.4 | NO | 0.77 |" in text
    assert "| p.fast | 4.10x (4.00 to 4.20, 5 pairs) | 2.1% | 1.15 to 3.48 | 2.00 |" in text
    assert "| p.slow | no pair |  | none | none |" in text
    assert "![Honest work and mistakes, and the line between them](picture.png)" in text


def test_a_line_without_honest_work_names_nobody():
    """Nothing honest has a deviation that this check notes."""
    text = page("x", H100, date(2027, 1, 13), [Line("c", WRONG)], [], "p.png")

    assert "| c | 0 | nobody | 4.5 | skips_a_step | - | yes | - |" in text


def test_a_line_without_wrong_work_names_nobody():
    """Then there is no C."""
    assert "| c | 0.5 | channels_last | - | nobody | - | yes | - |" in page(
        "x", H100, date(2027, 1, 13), [Line("c", HONEST)], [], "p.png"
    )


def test_the_picture_is_one(tmp_path):
    """Drawn by the same library that students use, and read by the reader that judges their pictures."""
    draw(
        [Line("part3_amp.follows_fp32", HONEST + WRONG), Line("c", WRONG)], tmp_path / "picture.png"
    )

    seen = plot.read((tmp_path / "picture.png").read_bytes(), "picture.png")
    assert seen.width > 800
    assert seen.distinct_lines > 2


class Lab:
    """A course of one part, whose one check allows deviations up to 1: the number in the file is the deviation."""

    def __init__(self, folder, *entries):
        self.part = Part("part1_toy", writes=["work"])

        @self.part.probe(values={"x": NUMBER})
        def single(student, rig):
            """One side."""

        @self.part.check(basis="outputs")
        def near(single):
            """It is near."""
            x = single.values["x"]
            if x == ONLY_SLOW:
                return Unavailable("waits for a clock", shares(x=x))
            return Passed("", shares(x=x)) if x <= 1 else Failed("", "", "", shares(x=x))

        config = PartConfig(1.0, Limits(), {"near": CheckConfig(1.0, {}, "")}, {}, {})
        lab = toy.Lab("toy", (self.part,))
        self.whole = Kit(lab, LabConfig("toy", 1, None, None, {self.part.id: config}), {}, {})
        (folder / self.part.file).write_text("0.1")
        self.folder, self.entries = folder, entries

    def another_part(self):
        """One that no entry is for."""
        other = Part("part2_toy", writes=[])
        config = {other.id: PartConfig(0.0, Limits(), {}, {}, {}), **self.whole.config.parts}
        lab = toy.Lab("toy", (self.part, other))
        self.whole = replace(self.whole, lab=lab, config=replace(self.whole.config, parts=config))

    def kit(self, _):
        return self.whole

    def reference(self, _):
        return self.folder

    def cases(self, *_):
        return [
            Case(
                name,
                "",
                kind,
                self.part.id,
                dict.fromkeys(fails, ""),
                Submission(name, "", {self.part.file: text}),
            )
            for name, kind, fails, text in self.entries
        ]


def deviation(job):
    return Observation(job.probe, "ok", {"x": float(job.files["part1_toy.py"])})


def test_lines_are_drawn_from_the_reference_and_the_corpus(tmp_path, monkeypatch):
    """Honest entries count for A, and for C those that fail the check; others fail something else, or are only slow."""
    lab = Lab(
        tmp_path,
        ("channels_last", "unusual", [], b"0.5"),
        ("skips_a_step", "wrong", ["near"], b"8"),
        ("waits", "wrong", [], b"0.9"),
        ("is_slow", "cheat", ["near"], str(ONLY_SLOW).encode()),
    )
    lab.another_part()
    monkeypatch.setattr(calibrate, "load_cases", lab.cases)
    said = []
    [line] = calibrate.lines(lab, "toy", toy.toy_session(deviation), 1, said.append)

    assert "part1_toy.near" == line.check
    assert (
        Share("reference", True, 0.1),
        Share("channels_last", True, 0.5),
        Share("skips_a_step", False, 8),
    ) == (line.shares)
    assert "part1_toy: the reference and the corpus are run, untimed" == said[0]


TIMED = {
    "timed": (
        Compared("PASS", "3.1x", evidence={"noise": 0.02, "interval": [3.0, 3.2]}),
        ("3.1x", 0.02, 3.0),
    ),
    "too noisy to begin": (
        Compared("INCONCLUSIVE", "", undecided="this machine is noisy"),
        ("this machine is noisy", None, 0),
    ),
    "too busy to begin": (
        Compared("INCONCLUSIVE", "", undecided="others take the cores", evidence={"busy": 0.4}),
        ("others take the cores", None, 0),
    ),
    "the reference died": (
        Compared("FAIL", "", ended="crash", error="died of signal 11"),
        ("died of signal 11", None, 0),
    ),
}


@pytest.mark.parametrize(("compared", "expected"), TIMED.values(), ids=TIMED)
def test_the_reference_is_timed_for_each_check_with_a_bar(tmp_path, compared, expected):
    """Its interval's lower end is what a bar may rest on; what could not be timed says why."""
    kit, asked = toy.toy_kit(), []

    def clock(probe, student, baseline, bar):
        asked.append((probe.name, student.side, baseline.side, bar))
        return compared

    (tmp_path / "part1_toy.py").write_text("def work(): ...")
    course = SimpleNamespace(kit=lambda _: kit, reference=lambda _: tmp_path)
    session = replace(toy.toy_session(toy.FakeWorkers()), clock=clock)
    said = []
    found = list(calibrate.speeds(course, "toy", session, said.append))

    assert "part1_toy.faster: the reference is timed against the baseline" in said
    assert {("amp", "student", "baseline", 1.10)} == set(asked)
    assert ("part1_toy.faster", *expected) in [(s.check, s.measured, s.noise, s.low) for s in found]


def test_work_that_takes_too_long_here_does_not_end_the_calibration(tmp_path):
    """The workload of a bar for GPUs may last minutes on a CPU."""

    def clock(*_):
        raise RuntimeError("the baseline, timed: was stopped after 60 s")

    (tmp_path / "part1_toy.py").write_text("def work(): ...")
    course = SimpleNamespace(kit=lambda _: toy.toy_kit(), reference=lambda _: tmp_path)
    session = replace(toy.toy_session(toy.FakeWorkers()), clock=clock)
    found = list(calibrate.speeds(course, "toy", session, print))

    words = "not timed here: the baseline, timed: was stopped after 60 s"
    assert {(words, None)} == {(speed.measured, speed.allowed) for speed in found}
