"""What a student's timing decorator does to functions of every kind, and what it notes of their calls."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from autograder.worker.rigs.clock import VirtualClock
from autograder.worker.rigs.returned import text

Timings = Iterator[tuple[str, list[float], Any]]


class Queued:
    """A device that works while the host goes on: `work` leaves seconds behind that `synchronize` waits for."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock, self._left = clock, 0.0

    def work(self, seconds: float) -> None:
        self._left += seconds

    def synchronize(self) -> None:
        self._clock.advance(self._left)
        self._left = 0.0


class Decorated:
    """`rig.decorated`: looks at functions before and after a decorator `timed`."""

    def __init__(self, clock: VirtualClock, seconds: Callable[[int], list[float]]) -> None:
        self._clock, self._seconds = clock, seconds
        self.synchronized = False
        """Whether a decorated function has called the `synchronize` that was given to `timed`."""

    def facts(self, ways: Mapping[str, Any]) -> dict[str, str]:
        """Return what a caller sees of functions that were decorated in these ways."""
        seconds = self._seconds(2)
        spent: dict[str, str] = {}
        for words, decorate in ways.items():
            for look in (_function, _method, _generator):
                spent |= {
                    f"{words}, {fact}": text(value)
                    for fact, value in look(decorate, *seconds).items()
                }
        return spent

    def timings(self, timed: Any) -> Timings:
        """Yield what was called, the seconds that passed in each call, and what the decorator noted of them.

        Without a decorator, only what passed.
        """
        for case in (self._plain, self._raising, self._recursive, self._nested, self._queued):
            yield from case(timed or _unnoted)

    def _spend(self, seconds: float) -> None:
        self._clock.advance(seconds, busy=True)

    def _plain(self, timed: Any) -> Timings:
        first, second, between = self._seconds(3)
        first_timer, second_timer = timed(self._spend), timed()(self._spend)
        first_timer(first)
        self._spend(between)
        first_timer(seconds=second)
        second_timer(between)
        yield "two calls", [first, second], first_timer.seconds
        yield "another function, decorated with @timed()", [between], second_timer.seconds

    def _raising(self, timed: Any) -> Timings:
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

    def _recursive(self, timed: Any) -> Timings:
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

    def _nested(self, timed: Any) -> Timings:
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

    def _queued(self, timed: Any) -> Timings:
        earlier, queued, host = self._seconds(3)
        device = Queued(self._clock)

        def synchronize() -> None:
            self.synchronized = True
            device.synchronize()

        def one_step() -> None:
            device.work(queued)
            self._spend(host)

        for case, left in (
            ("a device that still works when the call returns", 0.0),
            ("a device that worked before", earlier),
        ):
            step = timed(synchronize=synchronize)(one_step)
            for _ in range(2):
                device.synchronize()
                device.work(left)
                step()
            yield case, [queued + host] * 2, step.seconds


def _unnoted(function: Any = None, **_: Any) -> Any:
    if function is None:
        return _unnoted

    def plain(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    plain.seconds = []  # type: ignore[attr-defined]
    return plain


def _function(decorate: Any, first: float, second: float) -> dict[str, object]:
    def load(path: str, *, size: int = 3) -> object:
        if path == "missing":
            raise FileNotFoundError(path)
        return first + size * second

    same = decorate(load)
    named = {"name": "__name__", "module": "__module__", "docstring": "__doc__"}
    facts = {f"the {word}": getattr(same, attribute, None) for word, attribute in named.items()}
    facts |= {"the signature": inspect.signature(same), "the result": same("there", size=5)}
    try:
        facts["an exception"] = same("missing")
    except Exception as error:  # whatever a student's code raises instead
        facts["an exception"] = f"{type(error).__name__}: {error}"
    return facts


def _method(decorate: Any, first: float, second: float) -> dict[str, object]:
    class Box:
        def add(self, more: float) -> float:
            return first + more

    setattr(Box, "add", decorate(Box.add))  # noqa: B010 mypy would have it stay the same
    try:
        return {"the result of a method": Box().add(second)}
    except TypeError as error:
        return {"the result of a method": error}


def _generator(decorate: Any, first: float, second: float) -> dict[str, object]:
    begun = []

    def values(count: int) -> Iterator[float]:
        begun.append(count)
        yield from [first, second][:count]

    decorated = decorate(values)
    made = decorated(2)
    facts: dict[str, object] = {
        "its call returns a generator": inspect.isgenerator(made),
        "runs begun before a value is asked for": len(begun),
        "its values": list(made),
        "calls noted": len(getattr(decorated, "seconds", [])),
    }
    return {f"a generator function, {fact}": value for fact, value in facts.items()}
