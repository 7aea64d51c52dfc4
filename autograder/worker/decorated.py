"""What a student's timing decorator does to functions of every kind, and what it notes of their calls."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from autograder.worker.clock import VirtualClock
from autograder.worker.returned import text


class Queued:
    """A device that works while the host goes on: `work` leaves seconds behind that `synchronize` waits for."""

    def __init__(self, clock: VirtualClock) -> None:
        """Start with nothing to wait for."""
        self._clock, self._left = clock, 0.0

    def work(self, seconds: float) -> None:
        """Queue work."""
        self._left += seconds

    def synchronize(self) -> None:
        """Wait until all of it is done."""
        self._clock.advance(self._left)
        self._left = 0.0


class Decorated:
    """`rig.decorated`: looks at functions before and after a decorator `timed`."""

    def __init__(self, clock: VirtualClock, seconds: Callable[[int], list[float]]) -> None:
        """Let time pass on *clock*; *seconds* draws so many secret durations."""
        self._clock, self._seconds = clock, seconds

    def differences(self, timed: Any) -> list[str]:
        """Say what a caller would notice."""
        found = []
        for words, decorate in (("@timed", timed), ("@timed(synchronize=...)", timed(synchronize=lambda: None))):
            found += [f"{words}: {odd}" for odd in (*_function(decorate), *_method(decorate), *_generator(decorate))]
        return [text(odd) for odd in found][:16]

    def timings(self, timed: Any) -> list[dict[str, Any]]:
        """Return what was noted of calls, case by case, beside the seconds that passed in them."""
        cases = (self._plain, self._raising, self._recursive, self._nested, self._queued)
        return [
            {"case": words, "expected": expected, "seconds": told}
            for case in cases
            for words, expected, told in case(timed)
        ]

    def _spend(self, seconds: float) -> None:
        self._clock.advance(seconds, busy=True)

    def _plain(self, timed: Any) -> Iterator[tuple[str, list[float], Any]]:
        first, second, between = self._seconds(3)
        one, other = timed(self._spend), timed()(self._spend)
        one(first)
        self._spend(between)
        one(seconds=second)
        other(between)
        yield "two calls", [first, second], one.seconds
        yield "another function, decorated with @timed()", [between], other.seconds

    def _raising(self, timed: Any) -> Iterator[tuple[str, list[float], Any]]:
        before, after = self._seconds(2)

        def fails(seconds: float, fail: bool) -> None:
            self._spend(seconds)
            if fail:
                raise KeyError(seconds)

        raises = timed(fails)
        try:
            raises(before, True)
        except KeyError:
            raises(after, False)
        yield "a call that raises, and one after it", [before, after], raises.seconds

    def _recursive(self, timed: Any) -> Iterator[tuple[str, list[float], Any]]:
        (once,) = self._seconds(1)

        def again(left: int) -> None:
            self._spend(once)
            if left:
                down(left - 1)
                down(0)

        down = timed(again)
        down(2)
        down(0)
        yield "a function that calls itself", [5 * once, once], down.seconds

    def _nested(self, timed: Any) -> Iterator[tuple[str, list[float], Any]]:
        inside, outside = self._seconds(2)
        inner = timed(self._spend)

        def around() -> None:
            inner(inside)
            self._spend(outside)
            inner(inside)

        outer = timed(around)
        outer()
        yield "a function within another", [inside, inside], inner.seconds
        yield "a function that calls another", [2 * inside + outside], outer.seconds

    def _queued(self, timed: Any) -> Iterator[tuple[str, list[float], Any]]:
        earlier, queued, host = self._seconds(3)
        device = Queued(self._clock)

        def one() -> None:
            device.work(queued)
            self._spend(host)

        step = timed(synchronize=device.synchronize)(one)
        device.work(earlier)
        step()
        device.work(earlier)
        step()
        yield "a device that works on by itself", [queued + host] * 2, step.seconds


def _function(decorate: Any) -> Iterator[str]:
    answer = object()

    def load(path: str, *, size: int = 3) -> object:
        """Say what is asked."""
        if path == "missing":
            raise FileNotFoundError(path)
        return answer if (path, size) == ("there", 5) else None

    same = decorate(load)
    if (same.__name__, same.__doc__, same.__module__) != (load.__name__, load.__doc__, load.__module__):
        yield f"name and docstring are {same.__name__!r} and {same.__doc__!r}"
    if inspect.signature(same) != inspect.signature(load):
        yield f"the signature is {inspect.signature(same)}"
    if same("there", size=5) is not answer:
        yield "the result is another one"
    try:
        same("missing")
        yield "an exception does not come out"
    except FileNotFoundError:
        pass
    except Exception as error:  # whatever a student's code raises instead
        yield f"another exception comes out: {type(error).__name__}"


def _method(decorate: Any) -> Iterator[str]:
    class Box:
        def __init__(self, inside: int) -> None:
            self.inside = inside

        def add(self, more: int) -> int:
            return self.inside + more

    Box.add = decorate(Box.add)  # type: ignore[method-assign]
    try:
        if Box(3).add(4) != 7:
            yield "a method gives another result"
    except TypeError as error:
        yield f"a method cannot be called: {error}"


def _generator(decorate: Any) -> Iterator[str]:
    begun = []

    def count_up(count: int) -> Iterator[int]:
        begun.append(count)
        yield from range(count)

    batches = decorate(count_up)
    if not inspect.isgeneratorfunction(inspect.unwrap(batches)) or not inspect.isgenerator(made := batches(3)):
        yield "a generator function is none any more"
    elif begun:
        yield "a generator runs before it is asked"
    elif list(made) != [0, 1, 2] or getattr(batches, "seconds", []):
        yield "a generator gives other values, or was timed though it computed nothing"
