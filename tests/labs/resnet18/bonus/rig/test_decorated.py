"""What is seen of a decorator: by callers, and of the time that it notes."""

from __future__ import annotations

import functools
import time

import pytest

from autograder.labs.resnet18.bonus.rig.decorated import Decorated
from autograder.worker.rigs.clock import VirtualClock


@pytest.fixture
def decorated():
    clock = VirtualClock()
    clock.install()
    clock.freeze()
    yield Decorated(clock, lambda count: [0.5 + i for i in range(count)])
    clock.uninstall()


def plain(function):
    return function


def wrapped(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        return function(*args, **kwargs)

    return call


def lists(function):
    """Return a list of what a generator gives."""
    return (
        wrapped(lambda *args: list(function(*args))) if function.__name__ == "values" else function
    )


def raises_another(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except FileNotFoundError:
            raise ValueError("lost") from None

    return call


DECORATORS = {
    "a right one": (wrapped, set()),
    "one that raises another exception": (raises_another, {"an exception"}),
    "one that takes no method": (
        lambda function: staticmethod(wrapped(function)),
        {"the result of a method"},
    ),
    "a list for a generator": (
        lists,
        {
            "a generator function, its call returns a generator",
            "a generator function, runs begun before a value is asked for",
        },
    ),
}


@pytest.mark.parametrize(("decorator", "differ"), DECORATORS.values(), ids=DECORATORS)
def test_what_a_caller_notices(decorated, decorator, differ):
    known, seen = decorated.facts({"": plain}), decorated.facts({"": decorator})

    assert differ == {name.removeprefix(", ") for name in known if known[name] != seen[name]}


def test_what_passes_is_known_without_a_decorator(decorated):
    """On the baseline's side nothing is noted."""
    cases = list(decorated.timings(None))

    assert [[]] * len(cases) == [noted for _, _, noted in cases]
    assert [2.5, 0.5] == next(
        passed for case, passed, _ in cases if case == "a function that calls itself"
    )


def naive(function=None, *, synchronize=None):
    """Note every call that returns."""
    if function is None:
        return functools.partial(naive, synchronize=synchronize)

    def measured(*args, **kwargs):
        start = time.perf_counter()
        result = function(*args, **kwargs)
        measured.seconds.append(time.perf_counter() - start)
        return result

    measured.seconds = []
    return measured


def test_each_case_shows_its_mistake(decorated):
    wrong = {
        case
        for case, passed, noted in decorated.timings(naive)
        if len(passed) != len(noted) or passed != pytest.approx(noted, abs=1e-4)
    }

    assert {
        "a call that raises, and one after it",
        "a function that calls itself",
        "a device that still works when the call returns",
        "a device that worked before",
    } == wrong
