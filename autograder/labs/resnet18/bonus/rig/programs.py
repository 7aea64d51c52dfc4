"""Programs that take scripted time and nothing else, to see what a student's profilers and studies say of them.

They move the clock in place, without a call: a profiler of calls then finds the time where it was spent.
"""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from autograder.worker.rigs.clock import VirtualClock

LETTERS = "abcdefghijklmnopqrstuvwxyz"
MONITORING: Any = getattr(
    sys, "monitoring", None
)  # from Python 3.12 on; cProfile is one of its tools
TOOLS = range(6 if MONITORING else 0)
FUNCTIONS = 6  # of a program of calls
AGAIN = 2  # times that one of them calls itself in each call
USED = 2.5  # times as slow is a step that ran with another number of threads before
COLD = 4.0  # seconds that the first call of a fresh step takes longer
PATTERN = (1.0, 0.6, 0.8, 0.9, 1.3, 1.2, 6.0)
"""Of any seven calls in a row the median is 1; of fewer, more, or six and a cold one it is not, and shows which."""


class Programs:
    """`rig.programs`: each call draws another program."""

    def __init__(self, random: np.random.Generator, clock: VirtualClock) -> None:
        self._random, self._clock = random, clock

    def calls(self) -> tuple[Callable[[int], int], list[dict[str, Any]]]:
        """Return a program(x) -> x + 1 of functions that call each other, and rows: what a profile of it has to say.

        The rows are filled while it runs. The program is the last function; each calls the one before it.
        """
        functions = list[Callable[[int], int]]()
        rows = list[dict[str, Any]]()
        for at in range(FUNCTIONS):
            children = [
                function
                for i, function in enumerate(functions)
                if i == at - 1 or self._random.random() < 0.4
                for _ in range(int(self._random.integers(1, 4)))
            ]
            again = 0 if at else AGAIN
            function, row = self._function(self._random.uniform(0.05, 0.4), children, again)
            functions.append(function)
            rows.append(row)
        return functions[-1], rows

    def lines(self) -> tuple[Callable[[int], int], list[dict[str, Any]]]:
        """Return a program(items) -> a number, and what a profile of its lines has to say of those that take time."""
        clock, items = self._clock, int(self._random.integers(5, 9))
        costs = [
            int(it) for it in self._random.permutation([2, 3, 5, 11, 17]) * 10_000_000
        ]  # nanoseconds a time
        helper, _ = self._function(costs[3] / 1e9)

        def program(rounds: int) -> int:
            done = 0
            for item in range(items):
                clock._elapsed_ns += costs[0]
                if item % 2:
                    clock._elapsed_ns += costs[1]
                    clock._elapsed_ns += costs[2]
                helper(item)
                done += 1
            clock._elapsed_ns += costs[4]
            return helper(done) + rounds

        text, first = inspect.getsourcelines(program)
        hits = {
            3: items,
            5: items // 2,
            6: items // 2,
            7: items,
            9: 1,
            10: 1,
        }  # by lines below the first
        pairs = zip(hits.items(), (*costs, costs[3]), strict=True)
        return program, [
            {"line": first + at, "hits": n, "seconds": n * cost / 1e9, "text": text[at].strip()}
            for (at, n), cost in pairs
        ]

    def left(self, profiler: Callable[..., Any]) -> list[str]:
        """Say what a profiler of the student's leaves behind, after a program and after one that raises."""
        problems, name = [], getattr(profiler, "__name__", "it")
        outside = _watching()
        for words, program in (("a call", self.lines()[0]), ("a call that raised", self._fails())):
            raised = False
            sys.settrace(_traced)
            before = _watching()
            try:
                profiler(program, 1)
            except ZeroDivisionError:
                raised = True
            after = _watching()
            _let_go(outside)
            if raised != (words == "a call that raised"):
                problems.append(f"{name} let no exception through")
            if after != before:
                ended = after == (None, *before[1:])
                left = (
                    f"a trace that was on before {name} is off"
                    if ended
                    else f"{name} still watches"
                )
                problems.append(f"{left} after {words}")
        return problems

    def _fails(self) -> Callable[[int], int]:
        def program(x: int) -> int:
            self.spend(0.001)
            return x // 0

        return program

    def spend(self, seconds: float) -> None:
        self._clock.advance(seconds, busy=True)

    def steps(
        self, seconds: Mapping[str, float], gains: Mapping[int, float]
    ) -> Callable[[str], Callable[[], None]]:
        """Return a make_step whose steps take the seconds of their option, divided by what torch's threads gain.

        A fresh step is asked for where their number changes: one that is used again is slower.
        """

        def make_step(option: str) -> Callable[[], None]:
            threads = list[int]()

            def step() -> None:
                threads.append(torch.get_num_threads())
                once = seconds[option] / gains.get(threads[-1], 0.01)
                once *= USED if threads[0] != threads[-1] else 1.0
                taken = (
                    COLD if len(threads) == 1 else once * PATTERN[(len(threads) - 1) % len(PATTERN)]
                )
                self._clock.advance(taken, busy=threads[-1])

            return step

        return make_step

    def threads(self, count: int = 0) -> int:
        """Return how many threads torch uses; a *count* sets it first."""
        if count:
            torch.set_num_threads(count)
        return torch.get_num_threads()

    def _function(
        self, seconds: float, children: Sequence[Callable[[int], int]] = (), again: int = 0
    ) -> tuple[Callable[[int], int], dict[str, Any]]:
        """Return a function that calls its *children*, and then itself so many times *again*, and its row of a profile.

        Of a function that calls itself, the row leaves out the time that may count once or twice.
        """
        name = "f_" + "".join(self._random.choice(list(LETTERS), 6))
        row: dict[str, Any] = {"function": name, "calls": 0, "own_seconds": 0.0}
        row |= {} if again else {"seconds": 0.0}
        clock, spent, itself = self._clock, round(seconds * 1e9), list[Any]()

        def function(x: int, left: int = again) -> int:
            began = clock._elapsed_ns
            clock._elapsed_ns += spent
            for child in children:
                child(x)
            if left:
                itself[0](x, left - 1)
            row["calls"] += 1
            row["own_seconds"] += spent / 1e9
            if "seconds" in row:
                row["seconds"] += (clock._elapsed_ns - began) / 1e9
            return x + 1

        code = function.__code__.replace(co_name=name, co_qualname=name)
        itself.append(types.FunctionType(code, {}, name, (again,), function.__closure__))
        return itself[0], row


def _traced(*_: Any) -> None:
    """Trace, as a debugger does, and want nothing of the lines."""


def _watching() -> tuple[Any, ...]:
    return sys.gettrace(), sys.getprofile(), *(MONITORING.get_tool(number) for number in TOOLS)


def _let_go(before: tuple[Any, ...]) -> None:
    """Let only those go on who watched before."""
    sys.settrace(before[0])
    sys.setprofile(before[1])
    for number, was, now in zip(TOOLS, before[2:], _watching()[2:], strict=True):
        if was != now:
            MONITORING.set_events(number, 0)
            MONITORING.free_tool_id(number)
