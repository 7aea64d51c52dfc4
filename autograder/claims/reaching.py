"""The claim that an operator is reached, with operands of the dtype and layout that it is there for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any, Unpack

from autograder.checks.hints import cause
from autograder.claims.claimed import Claimed, Words
from autograder.claims.families import Sizes, own_case
from autograder.lab import TEXT, Rig, Student, list_of, record
from autograder.model import Failed, Observation, Passed, Verdict

REACHES = "reaches"
MATRIX = record(dtype=TEXT, layout=TEXT)
MISSED, DTYPE, LAYOUT = "not reached", "dtype", "layout"
"""What may be wrong: `why` may have words for each."""
SHOWN = 6  # operators that are named


class Reaches(Claimed):
    """reaches."""

    def reaches(
        self,
        operator: str | Sequence[str],
        sizes: Sizes,
        *,
        dtype: str,
        layout: Sequence[str] = (),
        without: Collection[str] = (),
        **words: Unpack[Words],
    ) -> None:
        """Claim that a call reaches this operator, or one of several, and that its first matrices are of this *dtype*.

        *layout* names that of the first, the second ...: row-major or column-major; `view` beside sizes, what they are
        made of. *without* names other operators,
        none of which may do the work instead.
        """
        operators = [operator] if isinstance(operator, str) else list(operator)
        case = own_case(REACHES, sizes)
        self.require_drawn(REACHES, [case.sizes])

        def reached(student: Student, rig: Rig) -> dict[str, Any]:
            given = self.given(rig, case, exact=False)
            answer: dict[str, Any] = rig.calls.operands(
                partial(self.call, student), given, operators
            )
            return answer

        def judge(observation: Observation) -> Verdict:
            calls, others = (observation.values[name] for name in ("calls", "others"))
            kind, measured = _problem(calls, operators, others, dtype, layout, without)
            if kind:
                return Failed(measured, *cause(words["why"], kind, words["try_"]))
            return Passed(measured)

        probe = self.add_probe(
            self.named(REACHES, words),
            reached,
            values={"calls": list_of(list_of(MATRIX)), "others": list_of(TEXT)},
        )
        said = f"{self.function} computes by {operators[0]} with {dtype} operands."
        self.add_check(REACHES, said, "report", judge, [probe], words, structural=True)


def _problem(
    calls: Sequence[Sequence[Mapping[str, str]]],
    operators: Sequence[str],
    others: Sequence[str],
    dtype: str,
    layout: Sequence[str],
    without: Collection[str],
) -> tuple[str, str]:
    """Return what is wrong, and what was measured."""
    instead = [name for name in others if name in without]
    if instead or not calls:
        ran = ", ".join(instead or others[:SHOWN]) or "nothing of torch"
        return MISSED, f"{len(calls)} calls of {operators[0]}; these ran: {ran}"
    count = len(layout) or 2
    for matrices in calls:
        dtypes, layouts = ([it[name] for it in matrices[:count]] for name in (DTYPE, LAYOUT))
        measured = f"operands are {' and '.join(dtypes)}, {' and '.join(layouts)}"
        if dtypes != [dtype] * count:
            return DTYPE, f"{measured}; {dtype} is expected"
        if layout and layouts != list(layout):
            return LAYOUT, f"{measured}; expected: {' and '.join(layout)}"
    return "", measured
