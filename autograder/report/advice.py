"""What Nsight Compute advises, as people read it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from autograder.traces.record import Rule, Trace
from autograder.traces.words import NAME, many, shortened, shown

INDENT = 6 * " "
ADVISED = (
    "The largest of its own estimates, those that save most time first. "
    "They overlap, so do not add them up."
)


@dataclass(frozen=True)
class Advice:
    """A rule of Nsight Compute as people read it."""

    rule: Rule
    kernel: str

    @property
    def estimate(self) -> str:
        """Say what it promises."""
        if self.rule.local:
            return f"{self.rule.percent:.1f} % better use of one part, maybe no less time"
        return f"up to {self.rule.percent:.1f} % less time in this kernel"

    @property
    def scope(self) -> str:
        """Say how often, and what it saves."""
        rule = self.rule
        launches = f"in {many(rule.launches, 'launch', 'launches')}" if rule.launches > 1 else ""
        saved = f"saves up to {shown(rule.saves_ns, 'ns')}" if rule.saves_ns else ""
        return ", ".join(words for words in (saved, launches) if words)


def advice(trace: Trace) -> list[Advice]:
    """Return what Nsight Compute advises, with names of kernels that are short enough."""
    names = shortened([rule.kernel for rule in trace.rules], NAME)
    return [Advice(rule, name) for rule, name in zip(trace.rules, names, strict=True)]


def lines(trace: Trace) -> Iterator[str]:
    """Say the advice in plain lines."""
    if trace.rules:
        yield f"\nwhat Nsight Compute advises: {ADVISED[0].lower()}{ADVISED[1:]}"
    for hint in advice(trace):
        scope = f" ({hint.scope})" if hint.scope else ""
        yield f"  {hint.estimate}{scope}: {hint.rule.name}, {hint.kernel}"
        yield from textwrap.wrap(
            hint.rule.text, 100, initial_indent=INDENT, subsequent_indent=INDENT
        )
