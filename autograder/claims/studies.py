"""Claims about a study: a function that measures, returns rows, writes them to a table and draws them.

speeds = Study(part, FORM, "compare_nets", by=scripted_nets)    `by` is the probe: rows, csv, panels, picture
speeds.is_written()                                             the table holds the rows that are returned
speeds.is_drawn("nets.png", {"ms": ...}, says=..., try_=...)    the figure shows them
speeds.is_consistent(_problem, says=...)                        the rows handed in have the form, and fit each other
speeds.is_pictured("nets.png")                                  the figure handed in is a picture
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from autograder.checks import plot, table
from autograder.checks.forms import Form, Row
from autograder.lab import Part
from autograder.model import Failed, Observation, Pair, Passed, Picture, Table, Verdict

Rule = Callable[[Sequence[Row]], str]
"""Says how rows contradict each other, or nothing."""
Also = Callable[[Any], tuple[str, str] | None]
"""Says what else is wrong with what the probe saw, and what to try."""


class Study:
    """A function that measures, and what is claimed of its rows."""

    def __init__(self, part: Part, form: Form, function: str, by: Callable[..., Any]) -> None:
        """Name the function, the form of its table, and the probe that runs it where everything is known."""
        self.part, self.form, self.function, self.probe = part, form, function, by.__name__

    def is_written(self, also: Also | None = None) -> None:
        """Claim that the table holds the rows that are returned."""

        def judge(seen: Any) -> Verdict:
            values = _student(seen).values
            return _and(
                also, seen, table.holds_the_rows(values["csv"], self.form.file, values["rows"])
            )

        said = f"{self.function} writes {self.form.file} with the rows that it returns."
        self.part.add_check("csv_says_what_was_measured", said, "scripted", judge, [self.probe])

    def is_honest(
        self,
        problem: Callable[[Sequence[Row], Mapping[str, Any]], str],
        shows: Callable[[Row], str],
        *,
        says: str,
        try_: str,
    ) -> None:
        """Claim that the rows are what was scripted: a *problem* of them, if their names, in `names`, are right."""

        def judge(seen: Pair) -> Verdict:
            rows, script = seen.student.values["rows"], seen.baseline.values
            measured = "; ".join(map(shows, rows[:4])) or "no rows"
            why = self.form.problem(rows, script["names"]) or problem(rows, script)
            why = why or table.other_device(rows, script["rows"])
            return Failed(measured, why, try_) if why else Passed(measured)

        self.part.add_check("measures_honestly", says, "scripted", judge, [self.probe])

    def is_drawn(
        self,
        figure: str,
        units: Mapping[str, str],
        *,
        says: str,
        try_: str,
        apart: str = "",
        also: Also | None = None,
        name: str = "figure_shows_the_rows",
    ) -> None:
        """Claim that the figure shows the rows; *units* maps columns to what a panel's label has to match."""

        def judge(seen: Any) -> Verdict:
            shown = plot.shows_the_rows(
                _student(seen), figure, units, self.form.names[0], try_, apart=apart
            )
            return _and(also, seen, shown)

        self.part.add_check(name, says, "scripted", judge, [self.probe])

    def is_consistent(
        self, rule: Rule, *, says: str, try_: str = "", note: Rule | None = None
    ) -> Any:
        """Claim that the rows handed in have the form and keep a rule; a *note* says what is odd, and costs nothing.

        Return the check, which others may need.
        """
        try_ = try_ or f"hand in the file that {self.function} wrote, unchanged"

        def judge(handed_in: Table) -> Verdict:
            rows = self.form.read(handed_in)
            why = self.form.problem(rows) or rule(rows)
            if why:
                return Failed(f"{len(rows)} rows", why, try_)
            return Passed(
                "; ".join(filter(None, [f"{len(rows)} rows", note(rows) if note else ""]))
            )

        return self.part.add_check(
            "csv_is_consistent", says, "artefact", judge, [_stem(self.form.file)]
        )

    def is_pictured(self, figure: str, name: str = "plot_is_a_picture") -> None:
        """Claim that the figure handed in is a picture."""

        def judge(handed_in: Picture) -> Verdict:
            return plot.is_drawn(handed_in, try_=f"hand in the file that {self.function} wrote")

        said = f"The {figure} handed in is a picture with something on it."
        self.part.add_check(name, said, "artefact", judge, [_stem(figure)])


def _and(also: Also | None, seen: Any, verdict: Verdict) -> Verdict:
    """Ask the part's own question where nothing else is wrong."""
    wrong = also(seen) if also is not None and isinstance(verdict, Passed) else None
    return Failed(verdict.measured, *wrong) if wrong and isinstance(verdict, Passed) else verdict


def _student(seen: Any) -> Observation:
    found: Observation = seen.student if isinstance(seen, Pair) else seen
    return found


def _stem(file: str) -> str:
    return PurePath(file).name.partition(".")[0]
