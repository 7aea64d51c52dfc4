"""The claim that the clock decides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from autograder.checks import outputs, speedup
from autograder.claims.base import Claimed
from autograder.claims.families import Case, Sizes
from autograder.claims.results import SAME
from autograder.lab import TIMED_ARRAYS, Probe
from autograder.model import Bar, Close, Failed, Timed, Verdict

OTHERS = "the timed calls return other results than the slow version"


class Speed(Claimed):
    """faster."""

    def faster(self, sizes: Sizes, within: Close | None = None, *, why: str, try_: str) -> None:
        """Claim a speedup over the baseline on inputs of these sizes; the bar is in grading_config.yaml."""
        close, case = within or Close(), Case("timed", sizes)
        constants = {
            name: it
            for name, it in self.drawn(np.random.default_rng(0), case).items()
            if not _array(it)
        }

        def fast(student: Any, inputs: Mapping[str, Any]) -> Any:
            return self.call(student, {**inputs, **constants})

        def draw(random: np.random.Generator) -> dict[str, Any]:
            drawn = self.drawn(random, case)
            return {name: it.astype(_sent(it)) for name, it in drawn.items() if _array(it)}

        def judge(timed: Timed, bar: Bar) -> Verdict:
            same = outputs.same_calls(timed, close, why=OTHERS, try_=try_)
            return (
                same
                if isinstance(same, Failed)
                else speedup.at_least(timed, bar, why=why, try_=try_, same=same)
            )

        arrays = TIMED_ARRAYS["call"]
        probe = Probe(
            "fast", fast, pair=True, timed="call", arrays=arrays, inputs=draw, within=close
        )
        said = (
            f"{self.function} is at least {{bar}} as fast as the slow version, timed from outside."
        )
        self.add_check(
            "is_faster",
            said,
            "outputs",
            judge,
            [self.add_timed(probe), "bar"],
            SAME,
            structural=True,
        )


def _array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def _sent(array: np.ndarray[Any, Any]) -> Any:
    """Numbers are timed in float32."""
    return np.float32 if array.dtype.kind == "f" else array.dtype
