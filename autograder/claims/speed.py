"""The claim that the clock decides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

import numpy as np

from autograder.checks import outputs, speedup
from autograder.claims.claimed import Claimed, Words
from autograder.claims.families import Case, Sizes
from autograder.lab import Probe, Student
from autograder.model import Bar, Timed, Verdict
from autograder.probe import TIMED_ARRAYS, Close

OTHERS = "the timed calls return different numbers from the slow version"
COMPARE = "compare what both versions return at this size, before you look at the time"


class Speed(Claimed):
    """faster."""

    def faster(
        self,
        sizes: Sizes,
        within: Close | None = None,
        *,
        slower: str = "",
        beside: Mapping[Speed, Sizes] | None = None,
        **words: Unpack[Words],
    ) -> None:
        """Claim a speedup over the baseline on inputs of these sizes; the bar is in grading_config.yaml.

        *slower* is the why of what is slower than the baseline. Others of the part may be called *beside* it.
        """
        close = within or Close()
        cases = {self: sizes, **(beside or {})}

        def drawn(
            random: np.random.Generator,
        ) -> dict[tuple[Speed, str], Any]:
            return {
                (exercise, name): value
                for exercise, fixed in cases.items()
                for name, value in exercise.drawn(random, Case("timed", fixed)).items()
            }

        constants = drawn(np.random.default_rng(0))
        sent = {
            name if exercise is self else f"{exercise.function} {name}": (
                exercise,
                name,
            )
            for (exercise, name), value in constants.items()
            if _is_sent(value)
        }

        def fast(student: Student, inputs: Mapping[str, Any]) -> Any:
            given = constants | {sent[name]: tensor for name, tensor in inputs.items()}
            results = [
                exercise.call(
                    student,
                    {name: it for (of, name), it in given.items() if of is exercise},
                )
                for exercise in cases
            ]
            return results if beside else results[0]

        def draw(random: np.random.Generator) -> dict[str, Any]:
            values = drawn(random)
            return {name: _sent(values[key]) for name, key in sent.items()}

        def judge(timed: Timed, bar: Bar) -> Verdict:
            why, try_ = words["why"], words["try_"]
            same = outputs.same_calls(timed, close, why=OTHERS, try_=COMPARE)
            return speedup.at_least(timed, bar, why=why, try_=try_, same=same, slower=slower)

        probe = Probe(
            self.named("fast"),
            fast,
            pair=True,
            timed="call",
            arrays=TIMED_ARRAYS["call"],
            inputs=draw,
            within=close,
            takes=frozenset(it.function for it in cases),
            dtypes={n: constants[key][1] for n, key in sent.items() if _dtyped(constants[key])},
        )
        said = (
            f"{self.function} is at least {{bar}} as fast as the slow version, timed by the grader."
        )
        self.part.probes[probe.name] = probe
        reads = [probe.name, "bar"]
        self.add_check(
            "is_faster",
            said,
            "outputs",
            judge,
            reads,
            words,
            structural=True,
        )


def _dtyped(value: Any) -> bool:
    return isinstance(value, tuple) and isinstance(value[0], np.ndarray)


def _is_sent(value: Any) -> bool:
    return isinstance(value, np.ndarray) or _dtyped(value)


def _sent(value: Any) -> Any:
    """Numbers are sent in float32, whatever they are rounded to then."""
    array = value[0] if isinstance(value, tuple) else value
    return array.astype(np.float32 if array.dtype.kind == "f" else array.dtype)
