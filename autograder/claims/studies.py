"""Claims about a study: a function that measures, returns rows, writes them to a table and draws them.

speeds = Study(part, FORM, "compare_nets", by=scripted_nets)    `by` is the probe: rows, csv, panels, picture
speeds.is_measured("compares_all", rule, says=..., try_=..., shows=["ms"])    the rows are what was measured
speeds.is_written()                                             the table holds the rows that are returned
speeds.is_drawn("nets.png", {"ms": ...}, says=..., try_=...)    the figure shows them
speeds.is_consistent(_problem, says=...)                        the rows handed in have the form, and fit each other
speeds.is_pictured("nets.png")                                  the figure handed in is a picture
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from autograder.checks import plot, table
from autograder.checks.hints import FORMS, USUAL, Hints, hint_for
from autograder.checks.numerics import shown
from autograder.checks.table_form import Form, Row, parted, shown_name
from autograder.claims.claimed import joined
from autograder.lab import (
    CELL,
    INTEGER,
    NUMBER,
    PANELS,
    TEXT,
    Part,
    Rig,
    list_of,
    map_of,
)
from autograder.model import (
    Failed,
    Observation,
    Pair,
    Passed,
    Picture,
    Table,
    Verdict,
)
from autograder.traces.words import many

WRITTEN = {"rows": list_of(map_of(CELL)), "csv": TEXT}
DRAWN = {**WRITTEN, "panels": PANELS}
PICTURE = {"picture": ("uint8", 1)}
"""What probes answer with: `written` and `drawn` make it."""
COLUMNS = "follow the table of columns in the handout"
MISSHAPEN = "a row must have the columns of the table, each with its right value"
ODD: Hints = {
    "there are no rows": "your code returns an empty list, or nothing",
    "the table ends": "your code leaves out rows",
    "has to be above": "this number cannot be right",
    "": MISSHAPEN,
}
DEVICE = "the column device must name the device that was measured"
CHANGED = "one run of right code with the template's settings cannot write these rows"
EPOCHS = {
    "samples": INTEGER,
    "batches": INTEGER,
    "wait": NUMBER,
    "work": list_of(NUMBER),
    "cold": NUMBER,
}
"""What a probe answers with that scripted an epoch for each row; `checks.slips.epochs` reads it."""

Rule = Callable[[Sequence[Row]], str]
"""Says how rows contradict each other, or nothing."""
Also = Callable[[Any], tuple[str, ...] | None]
"""Says what else is wrong with what the probe saw, what to try, and what to show as measured, if not what was right."""


def written(
    rig: Rig,
    form: Form,
    function: str,
    returned: Any,
    figure: str = "",
    figures: Any = None,
) -> dict[str, Any]:
    """Return the rows of a table, and what was written and drawn of them in the folder that was made for it."""
    folder = rig.made_folder()
    answer = {
        "rows": rig.rows(returned, function),
        "csv": rig.file_text(folder / form.file),
    }
    if not figure:
        return answer
    picture = rig.file_bytes(folder / figure, plot.BYTES + 1)
    return {
        **answer,
        "panels": figures.panels(figure),
        "picture": picture,
    }


def draws(rig: Rig, draw: Callable[..., Any], returned: Any, figure: str) -> bool:
    """Say whether a comparison called *draw*, by the figure in the folder that was made for it.

    A *draw* that fails or writes no file is judged by itself.
    """
    folder = rig.made_folder()
    if (folder / figure).is_file():
        return True
    with contextlib.suppress(Exception):
        draw(rig.rows(returned, "the comparison"), str(folder))
    return not (folder / figure).is_file()


def drawn(
    rig: Rig, form: Form, figure: str, function: Callable[..., Any], *arguments: Any, **options: Any
) -> dict[str, Any]:
    """Call a function that measures; return its rows, and what it wrote and drew in the folder that was made for it."""
    with rig.figures() as figures:
        returned = function(*arguments, folder=str(rig.made_folder()), **options)
    name = getattr(function, "__name__", "the function")
    return written(rig, form, name, returned, figure, figures)


def changed(problem: str, try_: str) -> Failed:
    """Fail rows that were handed in; *try_* is for all but what pandas adds to them."""
    return Failed(problem, *(table.indexed(problem) or (CHANGED, try_)))


class Study:
    """A function that measures, and what is claimed of its rows."""

    def __init__(
        self,
        part: Part,
        form: Form,
        function: str,
        by: Callable[..., Any] | None = None,
        expected: Callable[[Mapping[str, Any]], Collection[Any]] | None = None,
    ) -> None:
        """Name the function, the form of its table, and the probe that runs it where everything is known.

        *expected* says by what the probe's baseline answered which rows there have to be, by their keys.
        """
        self.part, self.form, self.function = part, form, function
        self.probe = by.__name__ if by else ""
        self._keys = expected

    def _expected(self, evidence: Any) -> Collection[Any] | None:
        return self._keys(evidence.baseline.values) if self._keys else None

    def _cause(self, odd: str, rows: Sequence[Row], asked: Collection[Any]) -> str:
        """Say why rows have another form than the right ones, which are *asked* for by their keys."""
        if "in that order" not in odd:
            return hint_for(odd, ODD)
        keys = self.form.names[: self.form.keys]
        named = Counter(", ".join(shown_name(row.get(it)) for it in keys) for row in rows)
        wanted = Counter(
            ", ".join(map(shown_name, it if isinstance(it, tuple) else (it,))) for it in asked
        )
        if named == wanted:
            return "your code returns the rows in another order"
        other = f"a row has another {' or '.join(keys)} than the expected one"
        return other if named - wanted else "your code leaves out a row"

    def is_measured(
        self,
        name: str,
        rule: Callable[..., str | tuple[str, ...] | None],
        *,
        says: str,
        try_: str,
        shows: Sequence[str],
        needs: Sequence[str] = (),
        reads: Sequence[str] = (),
        loose: bool = False,
    ) -> Any:
        """Claim that the rows are what was measured, by a rule on the probe's answers and what else it *reads*.

        The rule says why, or why and what to try, or also what to show as measured. *shows* names the columns that a
        verdict shows of the first rows else; *loose* leaves figures to the rule. Return the check.
        """

        def judge(evidence: Any, *others: Any) -> Verdict:
            rows = _student(evidence).values["rows"]
            form = self.form.shape_problem if loose else self.form.problem
            measured = "; ".join(self._shown(row, shows) for row in rows[:4]) or "no rows"
            if odd := form(rows, self._expected(evidence)):
                asked = self._expected(evidence) or self.form.rows or ()
                cause = self._cause(odd, rows, asked)
                return Failed(odd, cause, hint_for(odd, FORMS) or COLUMNS)
            if problem := rule(evidence, *others):
                if isinstance(problem, str):
                    hint = hint_for(problem, USUAL) or try_
                    of_device = problem.startswith("the device is")
                    problem = (DEVICE, hint, problem) if of_device else (problem, hint)
                said, hint, *figures = problem
                figure, cause = parted(said)
                if cause:
                    return Failed(figure, cause, hint)
                return Failed(figures[0] if figures else measured, said, hint)
            return Passed(f"{measured} (on a clock that the grader moves)")

        return self.part.add_check(name, says, "scripted", judge, [self.probe, *reads], needs)

    def _shown(self, row: Row, columns: Sequence[str]) -> str:
        """Return some figures of a row, which may have any form."""
        keys = self.form.names[: self.form.keys]
        named = (f"{it} " * (it in self.form.numbers) + shown_name(row.get(it)) for it in keys)
        figures = ", ".join(
            f"{shown(row.get(name))} {self.form.units.get(name, name)}"
            for name in columns
            if name not in keys
        )
        return f"{', '.join(named)}: {figures}"

    def is_written(self, also: Also | None = None, says: str = "") -> None:
        """Claim that the table holds the rows that are returned."""

        def judge(evidence: Any) -> Verdict:
            values = _student(evidence).values
            return _and(
                also,
                evidence,
                table.holds_the_rows(values["csv"], self.form.file, values["rows"]),
            )

        said = f"{self.function} writes {self.form.file} with the rows that it returns."
        self.part.add_check(
            "csv_says_what_was_measured",
            says or said,
            "scripted",
            judge,
            [self.probe],
        )

    def is_drawn(
        self,
        figure: str,
        units: Mapping[str, str],
        *,
        says: str = "",
        try_: str = plot.BARS,
        apart: str = "",
        also: Also | None = None,
        name: str = "figure_shows_the_rows",
    ) -> None:
        """Claim that the figure shows the rows; *units* maps columns to what a panel's label has to match."""
        said = f"{self.function} draws {' and '.join(units)} of its rows, and writes {figure}."

        def judge(evidence: Any) -> Verdict:
            verdict = plot.shows_the_rows(
                _student(evidence), figure, units, self.form.names[0], try_, apart=apart
            )
            return _and(also, evidence, verdict)

        self.part.add_check(name, says or said, "scripted", judge, [self.probe])

    def is_consistent(
        self,
        rule: Rule | None = None,
        *,
        says: str = "",
        try_: str = "",
        note: Rule | None = None,
        name: str = "csv_is_consistent",
    ) -> Any:
        """Claim that the rows handed in have the form and keep a rule; a *note* says what is odd, and costs nothing.

        Return the check, which others may need.
        """
        again = f"submit the file that {self.function} writes, unchanged"
        try_ = try_ or f"correct your code if its checks fail, run it again, and {again}"
        asked = many(len(self.form.rows), "row") if self.form.rows else "rows"
        says = says or f"The submitted {self.form.file} has {asked} of consistent numbers."

        def judge(handed_in: Table) -> Verdict:
            rows = self.form.read(handed_in)
            why = self.form.problem(rows) or (rule(rows) if rule else "")
            if why:
                return changed(why, try_)
            return Passed(joined(many(len(rows), "row"), note(rows) if note else ""))

        return self.part.add_check(name, says, "artefact", judge, [_stem(self.form.file)])

    def is_pictured(self, figure: str, name: str = "plot_is_a_picture") -> None:
        """Claim that the figure handed in is a picture."""

        def judge(handed_in: Picture) -> Verdict:
            return plot.is_drawn(
                handed_in,
                try_="call savefig before show, clf and close, then submit the file that "
                f"{self.function} writes",
            )

        said = f"The submitted {figure} is a picture with something on it."
        self.part.add_check(name, said, "artefact", judge, [_stem(figure)])


def _and(also: Also | None, evidence: Any, verdict: Verdict) -> Verdict:
    """Ask the part's own question where nothing else is wrong."""
    wrong = also(evidence) if also is not None and isinstance(verdict, Passed) else None
    if not wrong or not isinstance(verdict, Passed):
        return verdict
    why, try_, *measured = wrong
    return Failed(measured[0] if measured else verdict.measured, why, try_)


def _student(evidence: Any) -> Observation:
    observation: Observation = evidence.student if isinstance(evidence, Pair) else evidence
    return observation


def _stem(file: str) -> str:
    return PurePath(file).name.partition(".")[0]
