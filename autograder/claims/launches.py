"""The claim about what compiled code launches: the calls in the code that torch.compile writes, nothing of it built."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, Unpack

from autograder.claims.claimed import Claimed, Words
from autograder.claims.families import Case, Sizes
from autograder.lab import INTEGER, TEXT, Rig, Student, list_of
from autograder.model import Failed, Observation, Passed, Verdict
from autograder.traces.words import many

LAUNCHES = "would_launch"
SEEN = {
    "extern": list_of(TEXT),
    "fused": list_of(TEXT),
    "graphs": INTEGER,
    "breaks": list_of(TEXT),
}
CUT = "the function is cut into several graphs, and what runs between them is not compiled"
HIDDEN = "nothing is left to compile: it computes without torch, or hides from the compiler"
Compiled = Callable[[Any, Mapping[str, Any]], tuple[Callable[..., Any], Sequence[Any]]]
"""Of what was written and the inputs: the function or module that is compiled, and what it is called with."""


class Launches(Claimed):
    """would_launch."""

    def would_launch(
        self,
        at_most: int,
        names: Collection[str] = (),
        sizes: Sizes | None = None,
        *,
        of: Compiled | None = None,
        **words: Unpack[Words],
    ) -> None:
        """Claim that a compiled call is one graph of at most so many launches, some with these words in their *names*.

        It is counted on the CPU, whatever the device is. *of* says what is compiled, if not the call itself.
        """
        fixed = sizes or {}
        self.require_drawn(LAUNCHES, [fixed])

        def launched(student: Student, rig: Rig) -> dict[str, Any]:
            drawn = self.given(rig, Case("compiled", fixed), exact=False)
            given = {name: _on_cpu(it) for name, it in drawn.items()}
            if of is None:
                return rig.would_launch(partial(self.call, student), given)
            function, arguments = of(getattr(student, self.function), given)
            return rig.would_launch(function, *arguments)

        def judge(observation: Observation) -> Verdict:
            values = observation.values
            launches = [*values["extern"], *values["fused"]]
            listed = ", ".join(launches[:8]) or "none"
            measured = f"{many(len(launches), 'launch', 'launches')} ({listed}); at most {at_most}"
            if why := _unlike_one_graph(values) or _missing(launches, names):
                return Failed(measured, why, words["try_"])
            if len(launches) > at_most:
                return Failed(measured, words["why"], words["try_"])
            return Passed(measured)

        probe = self.add_probe(self.named("launched", words), launched, values=SEEN)
        said = f"Compiled, {self.function} would launch at most {many(at_most, 'kernel')}."
        self.add_check(LAUNCHES, said, "report", judge, [probe], words, structural=True)


def _unlike_one_graph(values: Mapping[str, Any]) -> str:
    if values["breaks"] or values["graphs"] > 1:
        return f"{CUT}: {next(iter(values['breaks']), 'it is called in pieces')}"
    return "" if values["extern"] or values["fused"] else HIDDEN


def _missing(launches: Sequence[str], names: Collection[str]) -> str:
    """Say which work is in no launch."""
    for name in names:
        if not any(name in launch for launch in launches):
            return f"no launch has {name} in its name, so that work is not in the graph"
    return ""


def _on_cpu(value: Any) -> Any:
    return value.cpu() if hasattr(value, "cpu") else value
