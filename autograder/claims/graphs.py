"""Claims about the host: one graph when compiled, and no value of a tensor that is brought to it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, Unpack

from autograder.checks import host_waits, outputs
from autograder.checks.graphs import GRAPHS, graph_problem
from autograder.checks.hints import hint_for
from autograder.claims.claimed import Claimed, Words
from autograder.claims.families import Case, Sizes
from autograder.lab import (
    BOOLEAN,
    CASES,
    INTEGER,
    NUMBER,
    NUMBERS,
    TEXT,
    Part,
    Rig,
    Student,
    list_of,
    map_of,
    record,
)
from autograder.model import Failed, Observation, Pair, Passed, Verdict

NOTED = record(
    built=list_of(record(kind=TEXT, batch=INTEGER, half=BOOLEAN, at=NUMBER)),
    runs=map_of(INTEGER),
    parameters=INTEGER,
    defaults=INTEGER,
    breaks=list_of(TEXT),
)
"""What a recording backend noted."""
COUNTED = dict.fromkeys(("calls", "shapes", "parameters"), INTEGER)
FETCHES = list_of(record(line=INTEGER, call=TEXT, batches=list_of(INTEGER)))
NO_FETCH = "fetches_nothing"
WAITS = "the host waits until the device has caught up, and cannot queue what comes next"


class Graphs(Claimed):
    """one_graph, builds_nothing_later, captures_less, fetches_nothing."""

    def one_graph(
        self,
        calls: Sequence[Sizes],
        builds: int = 1,
        **words: Unpack[Words],
    ) -> None:
        """Claim that, compiled, each of these calls runs one graph, and that so many are built for all of them."""

        self.require_drawn("one_graph", calls)

        def compiled(student: Student, rig: Rig) -> dict[str, Any]:
            compiler = rig.compiler()
            self._run_compiled(student, rig, compiler, calls)
            counts = compiler.values()
            runs = sum(counts["runs"].values())
            return {
                "built": len(counts["built"]),
                "runs": runs,
                "breaks": counts["breaks"],
            }

        def judge(observation: Observation) -> Verdict:
            why, try_ = words["why"], words["try_"]
            built, runs, breaks = (observation.values[name] for name in ("built", "runs", "breaks"))
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

        values = {
            "built": INTEGER,
            "runs": INTEGER,
            "breaks": list_of(TEXT),
        }
        probe = self.add_probe(self.named("compiled"), compiled, values=values)
        said = f"Compiled, {self.function} is one graph, whatever the numbers are."
        self.add_check(
            "is_one_graph",
            said,
            "report",
            judge,
            [probe],
            words,
            structural=True,
        )

    def builds_nothing_later(
        self,
        first: Sequence[Sizes],
        later: Sequence[Sizes],
        **words: Unpack[Words],
    ) -> None:
        """Claim that, after the *first* compiled calls, *later* ones run what is there."""

        self.require_drawn("builds_nothing_later", [*first, *later])

        def rebuilt(student: Student, rig: Rig) -> dict[str, Any]:
            compiler = rig.compiler()
            run = self._run_compiled(student, rig, compiler, first)
            compiler.forget()
            self._run_compiled(student, rig, compiler, later, run)
            counts = compiler.values()
            return {
                "built": len(counts["built"]),
                "runs": sum(counts["runs"].values()),
            }

        def judge(observation: Observation) -> Verdict:
            built = observation.values["built"]
            runs = observation.values["runs"]
            measured = f"{runs} graphs ran in {len(later)} later calls, {built} were built for them"
            if built:
                return Failed(measured, words["why"], words["try_"])
            why = f"nothing was left to compile, or {words['why']}"
            return Passed(measured) if runs else Failed(measured, why, words["try_"])

        values = {"built": INTEGER, "runs": INTEGER}
        probe = self.add_probe(self.named("rebuilt"), rebuilt, values=values)
        said = f"Compiled, {self.function} is built for the first calls and not again."
        claim = "builds_nothing_later"
        self.add_check(claim, said, "report", judge, [probe], words, structural=True)

    def captures_less(self, at_most: float, sizes: Sizes, **words: Unpack[Words]) -> None:
        """Claim that, compiled, at most this share of the baseline's operations is captured."""

        self.require_drawn("captures_less", [sizes])

        def captured(student: Student, rig: Rig) -> dict[str, Any]:
            compiler = rig.compiler()
            self._run_compiled(student, rig, compiler, [sizes])
            return {"operations": compiler.operations}

        def judge(pair: Pair) -> Verdict:
            mine, plain = (side.values["operations"] for side in (pair.student, pair.baseline))
            measured = f"{mine} operations are captured where the slow version has {plain}; "
            measured += f"allowed {at_most:.0%} of them"
            if not mine:
                return Failed(measured, "nothing was left to compile", words["try_"])
            if mine <= at_most * plain:
                return Passed(measured)
            return Failed(measured, words["why"], words["try_"])

        probe = self.add_probe(
            self.named("captured"),
            captured,
            pair=True,
            values={"operations": INTEGER},
        )
        said = (
            f"Compiled, {self.function} is at most {at_most:.0%} of the slow version's operations."
        )
        self.add_check(
            "captures_less",
            said,
            "report",
            judge,
            [probe],
            words,
            structural=True,
        )

    def _run_compiled(
        self,
        student: Student,
        rig: Rig,
        compiler: Any,
        calls: Sequence[Sizes],
        run: Any = None,
    ) -> Any:
        """Compile the call, unless it *run*s compiled already, and make these calls."""
        run = run or rig.compiled(partial(self.call, student), compiler, both=True)
        for sizes in calls:
            run(self.given(rig, Case("compiled", sizes)))
        return run

    def fetches_nothing(self, sizes: Sizes | None = None, **words: Unpack[Words]) -> None:
        """Claim that no value is brought to the host."""

        self.require_drawn("fetches_nothing", [sizes or {}])

        def fetches(student: Student, rig: Rig) -> dict[str, Any]:
            given = self.given(rig, Case("fetches", sizes or {}))
            with rig.fetches(student) as watch:
                self.call(student, given)
            return {"fetches": watch.values()}

        def judge(observation: Observation) -> Verdict:
            lines = observation.values["fetches"]
            return (
                Failed(host_waits.listed(lines), WAITS, words["try_"]) if lines else Passed("none")
            )

        probe = self.add_probe(self.named("fetches"), fetches, values={"fetches": FETCHES})
        said = f"{self.function} brings no tensor's value to the host."
        words.setdefault("needs", [])
        self.add_check(NO_FETCH, said, "report", judge, [probe], words, own_why=True)


class Compiled:
    """A function that compiles a network, and what is claimed of what it returns; its probe is `compiled`."""

    def __init__(
        self,
        part: Part,
        made: Callable[[Student, Any], tuple[Any, Any]],
        within: float,
        see: str,
        takes: Collection[str] | None = None,
    ) -> None:
        """Say how: *made*, of the student's module and the rig, returns a network and what compiles it.

        *takes* says what that needs of the student's module.
        """
        self.part, self.within, self.see = part, within, see

        @part.probe(
            pair=True,
            values={**CASES, **COUNTED, "noted": NOTED, "refusal": TEXT},
            arrays=NUMBERS,
            takes=takes,
        )
        def compiled(student: Student, rig: Rig) -> Any:
            """Three batch sizes, each twice: a graph for any size is made when torch.compile meets the second one."""
            net, compile_net = made(student, rig)
            answers, compiler = rig.answers(), rig.compiler()
            run = compile_net(net.eval(), backend=compiler)
            sizes = rig.random.permutation(range(2, 7))[:3]
            for turn in (1, 2):
                for batch in sizes.tolist():
                    images = rig.tensor(rig.random.normal(size=(batch, 3, 16, 16)))
                    with rig.no_grad():
                        answers.add(
                            f"logits of {batch} images, call {turn}",
                            run(images),
                        )
            return {
                **answers.values(),
                "noted": compiler.values(),
                "calls": 2 * len(sizes),
                "shapes": len(sizes),
                "parameters": len(list(net.parameters())),
                "refusal": rig.refusal(lambda model: compile_net(model, backend=compiler)),
            }

    def answers_alike(self, says: str, needs: Sequence[str]) -> None:
        """Claim the answers of the network itself."""
        name, compared = "compiled_answers_alike", "logits"
        self.part.add_check(
            name,
            says,
            "outputs",
            self._alike,
            ["compiled"],
            needs,
            compared,
        )

    def is_one_graph(self, says: str, needs: Sequence[str] = ()) -> Any:
        """Claim one graph of the whole network for each shape, with its answers; return the check."""

        def judge(run: Pair) -> Verdict:
            alike, trusted = self._alike(run), run.baseline.values
            noted = run.student.values["noted"]
            refusal = run.student.values["refusal"]
            runs = {"compiled": sum(noted["runs"].values())}
            built = {
                "built": len(noted["built"]),
                "builds": trusted["shapes"],
            }
            measured, why = graph_problem(
                noted,
                runs,
                trusted["calls"],
                parameters=trusted["parameters"],
                **built,
            )
            if isinstance(alike, Failed):
                return alike
            if not (why or refusal):
                measured = "a net that does not fit into one graph ran"
                why = "a break goes unnoticed"
            try_ = hint_for(why, GRAPHS) or self.see
            return Failed(measured, why, try_) if why else Passed(f"a break raises {refusal}")

        return self.part.add_check("is_one_graph", says, "report", judge, ["compiled"], needs)

    def _alike(self, run: Pair) -> Verdict:
        why = "the net that was returned computes something else than the net that was given"
        return outputs.same(
            run,
            self.within,
            why=why,
            try_="return what torch.compile(net, ...) returns: wrap neither the net nor the result",
        )
