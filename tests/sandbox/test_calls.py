"""What a window of calls asks, and what it refuses to believe; with a worker that is a few lines here."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.probe import Close
from autograder.protocol.digest import commitment
from autograder.protocol.revealed import unseal
from autograder.protocol.wire import Message
from autograder.sandbox.calls import SHOWN, Calls, difference
from autograder.sandbox.watch import Stopped


class FakeTalk:
    """A worker that doubles its inputs, or does as it is told."""

    def __init__(self, double=lambda x: 2 * x, show=lambda outputs, call: outputs[call]):
        self.double, self.show = double, show
        self.calls, self.shown = [], []

    def say(self, kind, body, descriptors=()):
        if kind == "GO":
            self.shown = []
            self.calls = [call["x"].copy() for call in unseal(descriptors[0], body)]
            self.outputs = [self.double(x).astype(np.float32).ravel() for x in self.calls]
        else:
            self.shown.append(body["call"])

    def hear(self, kind, body, arrays):  # noqa: ARG002 a worker that lies has no form to keep
        if kind == "ANSWER":
            said = np.frombuffer(b"".join(map(commitment, self.outputs)), np.uint8)
            return Message(kind, {}, {"commitments": said})
        return Message(kind, {}, {"output": self.show(self.outputs, self.shown[-1])})


def calls(count=8, seed=1, **options) -> Calls:
    ticks = iter(range(1000))
    return Calls(
        lambda random: {"x": random.standard_normal((2, 3), dtype="float32")},
        count,
        seed,
        Close(),
        now=lambda: next(ticks),
        **options,
    )


def timed(work: Calls, student: FakeTalk, baseline: FakeTalk, turns: int = 1) -> None:
    for turn in range(turns):
        for side, talk in (("baseline", baseline), ("student", student)):
            work.window(talk, side, turn)
            if problem := work.agree(turn):
                raise Stopped("refused", problem)


def test_both_sides_get_the_same_inputs_and_show_the_same_calls():
    student, baseline = FakeTalk(), FakeTalk()
    timed(calls(), student, baseline)

    assert [x.tolist() for x in baseline.calls] == [x.tolist() for x in student.calls]
    assert (8, baseline.shown, SHOWN) == (len(student.calls), student.shown, len(student.shown))


def test_no_input_comes_twice():
    """Neither within a window, nor in the next one, nor in the next pair."""
    seen = []
    for seed in (1, 2):
        work = calls(seed=seed)
        for turn in range(3):
            talk = FakeTalk()
            work.window(talk, "baseline", turn)
            seen += [x.tobytes() for x in talk.calls]

    assert len(seen) == len(set(seen)) == 48


def test_every_call_may_be_the_one_that_is_shown():
    """Over the windows of some pairs, so leaving one out is found."""
    student, shown = FakeTalk(), set()
    for seed in range(20):
        work = calls(seed=seed)
        work.window(student, "student", 0)
        shown |= set(student.shown)

    assert set(range(8)) == shown


def test_a_canary_does_less_and_shows_what_both_did():
    student, baseline = FakeTalk(), FakeTalk()
    timed(calls(fewer=4), student, baseline, turns=5)

    assert (4, 8) == (len(student.calls), len(baseline.calls))


def test_nothing_is_left_to_an_evaluator():
    """Every output that was shown has been compared."""
    work = calls()
    timed(work, FakeTalk(), FakeTalk())

    assert ("", {}) == (work.settle(FakeTalk()), work._shown)


def test_the_clock_runs_from_the_question_to_the_commitments():
    assert 1 == calls().window(FakeTalk(), "student", 0)


REFUSED = {
    "another output than the one committed to": (
        FakeTalk(show=lambda outputs, call: outputs[call] + np.float32(1e-6)),
        "showed a different output from while the clock ran",
    ),
    "no work": (FakeTalk(lambda x: 0 * x), "was returned where the baseline returns"),
    "work that is not finite": (
        FakeTalk(lambda x: x / np.float32(0)),
        "was returned where the baseline returns",
    ),
    "fewer numbers": (
        FakeTalk(lambda x: x[:1]),
        "3 numbers were returned where the baseline returns 6",
    ),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("student", "words"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_the_work_is_refused(student, words):
    with pytest.raises(Stopped, match=words) as stopped:
        timed(calls(), student, FakeTalk())

    assert "refused" == stopped.value.ended


def test_the_outputs_of_the_last_window_are_no_answer_to_the_next():
    """A worker that answers each window with what it computed in the one before."""
    past: list = []

    def replay(x):
        past.append(2 * x)
        return past[max(0, len(past) - 9)]

    with pytest.raises(Stopped, match="was returned where the baseline returns"):
        timed(calls(), FakeTalk(replay), FakeTalk(), turns=3)


@pytest.mark.parametrize(
    ("output", "expected", "words"),
    [
        pytest.param([1.0, 2.0], [1.0, 2.0], "", id="equal"),
        pytest.param([1.0009, 5e-5], [1.0, 0.0], "", id="within"),
        pytest.param([1.0, -np.inf], [1.0, -np.inf], "", id="both infinite"),
        pytest.param([], [], "", id="nothing"),
        pytest.param(
            [1.0, 2.1], [1.0, 2.0], "2.1 was returned where the baseline returns 2", id="too far"
        ),
        pytest.param(
            [9.0, np.nan],
            [1.0, 2.0],
            "nan was returned where the baseline returns 2",
            id="NaN is the worst",
        ),
        pytest.param([np.nan], [np.nan], "", id="NaN where the baseline returns it"),
        pytest.param(
            [np.inf], [1.0], "inf was returned where the baseline returns 1", id="infinite"
        ),
    ],
)
def test_how_outputs_differ_is_said_with_the_worst_number(output, expected, words):
    assert words == difference(np.array(output, "f4"), np.array(expected, "f4"), Close())
