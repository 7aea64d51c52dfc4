"""Claims about the host: one graph when compiled, and no value of a tensor that is brought to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from autograder.claims.base import Claimed, Words
from autograder.claims.families import Case, Sizes
from autograder.lab import INTEGER, TEXT, list_of, record
from autograder.model import Failed, Observation, Passed, Verdict

FETCHES = list_of(record(line=INTEGER, call=TEXT, batches=list_of(INTEGER)))
NO_FETCH = "fetches_nothing"
WAITS = "the host waits until the device has caught up, and cannot queue what comes next"


class Graphs(Claimed):
    """one_graph, fetches_nothing."""

    def one_graph(self, calls: Sequence[Sizes], builds: int = 1, **words: Unpack[Words]) -> None:
        """Claim that, compiled, each of these calls runs one graph, and that so many are built for all of them."""

        def compiled(student: Any, rig: Any) -> dict[str, Any]:
            compiler = rig.compiler()
            run = rig.compiled(lambda given: self.call(student, given), compiler)
            for sizes in calls:
                run(self.given(rig, Case("compiled", sizes)))
            told = compiler.values()
            runs = sum(told["runs"].values())
            return {"built": len(told["built"]), "runs": runs, "breaks": told["breaks"]}

        def judge(found: Observation) -> Verdict:
            why, try_ = words["why"], words["try_"]
            built, runs, breaks = (found.values[name] for name in ("built", "runs", "breaks"))
            measured = f"{runs} graphs ran in {len(calls)} calls, {built} were built"
            if breaks or runs != len(calls):
                reason = (
                    f"{why}: {breaks[0]}" if breaks else f"{why}, or nothing was left to compile"
                )
                return Failed(measured, reason, try_)
            if built > builds:
                reason = f"it was built again where {builds} would do: a Python number became part of the graph"
                return Failed(measured, reason, try_)
            return Passed(measured)

        values = {"built": INTEGER, "runs": INTEGER, "breaks": list_of(TEXT)}
        probe = self.add_probe(self.named("compiled"), compiled, values=values)
        said = f"Compiled, {self.function} is one graph, whatever the numbers are."
        self.add_check("is_one_graph", said, "report", judge, [probe], words, structural=True)

    def fetches_nothing(self, sizes: Sizes | None = None, **words: Unpack[Words]) -> None:
        """Claim that no value is brought to the host."""

        def fetches(student: Any, rig: Any) -> dict[str, Any]:
            given = self.given(rig, Case("fetches", sizes or {}))
            with rig.fetches(student) as seen:
                self.call(student, given)
            return {"fetches": seen.values()}

        def judge(found: Observation) -> Verdict:
            seen = found.values["fetches"]
            measured = "; ".join(f"line {it['line']}: {it['call']}" for it in seen[:4])
            return Failed(measured, WAITS, words["try_"]) if seen else Passed("none")

        probe = self.add_probe(self.named("fetches"), fetches, values={"fetches": FETCHES})
        said = f"{self.function} brings no tensor's value to the host."
        words.setdefault("needs", [])
        self.add_check(NO_FETCH, said, "report", judge, [probe], words)
