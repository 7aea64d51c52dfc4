"""A class being graded, shown: lines where nothing moves, a table where something does, JSON for programs."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from autograder.batch.class_events import Event
from autograder.cli.progress import Progress

FIGURES = {"score": 4.0, "max_score": 14.0, "owed": 6.0, "seconds": 1.26}
UNCHANGED = {**FIGURES, "seconds": 0.0}
EVENTS = [
    (0, Event("begins", facts={"of": 4, "seed": 7})),
    (0, Event("round", facts={"round": "first", "of": 4, "lanes": 2})),
    (1, Event("starts", "ada", 1, {"attempt": 1})),
    (1, Event("starts", "bob", 2, {"attempt": 1})),
    (11, Event("waits", "ada", 1, FIGURES)),
    (11, Event("starts", "cleo", 1, {"attempt": 1})),
    (21, Event("lost", "bob", 2, {"why": "its grader was killed by SIGKILL"})),
    (31, Event("tick")),
    (31, Event("kept", "dan", 2, UNCHANGED)),
    (41, Event("graded", "cleo", 1, FIGURES)),
    (41, Event("round", facts={"round": "alone", "of": 1, "lanes": 1})),
    (41, Event("aside", "bob", 1, {**UNCHANGED, "score": 0.0, "why": "its grader died each time"})),
    (41, Event("round", facts={"round": "timed", "of": 1, "lanes": 1, "to_time": 4})),
    (41, Event("starts", "ada", 1, {"attempt": 2})),
    (45, Event("says", "ada", 1, {"says": "the machine is examined, pair 1"})),
    (65, Event("says", "ada", 1, {"says": "the machine is examined, pair 2"})),
    (70, Event("says", "ada", 1, {"says": "the machine is examined, pair 3"})),
    (90, Event("graded", "ada", 1, FIGURES)),
    (90, Event("round", facts={"round": "twice", "of": 2, "lanes": 1})),
    (90, Event("starts", "cleo", 1, {"attempt": 2})),
    (90, Event("twice", "cleo", 1, {"moved": [["part.check", "passed 1/1", "failed 0/1"]]})),
    (90, Event("twice", "ada", 1, {"moved": []})),
    (
        90,
        Event(
            "ends", facts={"undecided": 2, "drift": ["cleo: part.check: passed 1/1 -> failed 0/1"]}
        ),
    ),
]
LINES = """\
-- untimed checks, 2 submission(s) at a time (4)
  0/4  ada                          4 of 14, 6 owed, waits for its next round  (1.3 s)
       bob                          its grader was killed by SIGKILL; it is tried again after the others
  1/4  dan                          4 of 14, 6 owed, unchanged since it was graded
  2/4  cleo                         4 of 14, 6 owed  (1.3 s)
-- one at a time: what was under way when the grader was killed (1)
  3/4  bob                          0 of 14, 6 owed, set aside: its grader died each time
-- timed checks, one at a time on each device, and faults of the grader once more (1, 4 timed check(s): about 2 min)
       ada                          the machine is examined, pair 2
  4/4  ada                          4 of 14, 6 owed  (1.3 s)
-- a second grade, on other inputs, for some drawn by lot: how far grades can be trusted (2)
       cleo                         1 of its checks came out differently
       ada                          the same
2 submission(s) have points that are still undecided; done again, they are tried once more
graded twice, and not the same: cleo: part.check: passed 1/1 -> failed 0/1; the first grade stands
"""


def shown(events, *, terminal=False, as_json=False):
    """Show events on a console of 100 columns; return what it said."""
    time = [0.0]
    said = io.StringIO()
    console = Console(
        file=said, force_terminal=terminal, width=100, color_system=None, legacy_windows=False
    )
    with Progress(console, as_json=as_json, now=lambda: time[0]) as progress:
        for moment, event in events:
            time[0] = moment
            if event == "Ctrl-C":
                raise KeyboardInterrupt
            progress.show(event)
    return said.getvalue()


def test_elsewhere_than_on_a_terminal_each_result_is_a_line():
    """And each round, and whatever else someone may want to know afterwards; after 20 s, what takes so long."""
    assert LINES == shown(EVENTS)


def test_a_terminal_shows_what_each_lane_does_and_when_it_ends():
    """At half of the first round: done, running, waiting, estimated end."""
    said = shown(EVENTS[:8], terminal=True)

    assert "0 of 4 done, 1 running, 3 waiting, about 2 min left in this round" in said.replace(
        "\n", " "
    )
    assert "cleo  20 s" in said
    assert "lane 2" in said
    assert "ada  24 s  the machine is examined, pair 2" in shown(EVENTS[:16], terminal=True)


def test_programs_read_events(capsys):
    """One JSON object a line, with where the class stands."""
    shown(EVENTS, as_json=True)
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    assert [event.what for _, event in EVENTS if event.what != "tick"] == [
        event["event"] for event in events
    ]
    assert {
        "event": "graded", "submission": "ada", "lane": 1, **FIGURES, "done": 4, "running": 0, "of": 4,
    } == events[-6]  # fmt: skip


def test_a_name_cannot_draw_on_the_terminal():
    """It is a student's."""
    said = shown([*EVENTS[:2], (1, Event("graded", "\x1b[2Jada[red]", 1, FIGURES))])

    assert "\x1b" not in said
    assert "ada[red]" in said


def test_who_interrupts_is_told_how_to_go_on(capsys, monkeypatch):
    """With the very command, quoted."""
    monkeypatch.setattr("sys.argv", ["perflab", "grade", "toy", "handed in", "--out", "x"])
    with pytest.raises(KeyboardInterrupt):
        shown([*EVENTS[:12], (50, "Ctrl-C")])

    assert (
        "\n3 of 4 are done; go on with\n  perflab grade toy 'handed in' --out x --resume\n"
        == capsys.readouterr().err
    )
