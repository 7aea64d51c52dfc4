"""A run for each configuration, their summary and their dashboard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autograder.checks import configurations, plot, table
from autograder.checks.configurations import BUILDS_ON, FIGURES
from autograder.checks.numerics import explained, shown
from autograder.claims.studies import Study
from autograder.lab import (
    CELL,
    PANELS,
    TEXT,
    Answer,
    Failed,
    Observation,
    Pair,
    Passed,
    Student,
    Verdict,
    list_of,
    map_of,
)
from autograder.labs.resnet18.part6_comparison.part import (
    WRONG,
    Rig,
    part,
)

UNITS = {  # a panel's label must match
    "throughput": r"/|per|s⁻¹|\^\{?-1",
    "speedup": r"\bx\b|\u00d7|[Ss]peedup|ratio",
    "peak_memory_mb": r"MB|[Mm]egabyte",
    "gain": r"\bx\b|\u00d7|[Gg]ain|ratio",
}

DEVICE = "a made device"
PAUSED = 1.3
NAMES = tuple(BUILDS_ON)


def drawn_rows(
    rig: Rig, names: Sequence[str], *, pays: bool = True, paused: float = 1.0
) -> list[dict[str, Any]]:
    """Draw rows that hold what is asked for, in no order of merit; an epoch takes a little more than its samples.

    The first row is neither the fastest nor the slowest; where nothing *pays* it is the fastest and the leanest.
    Its epoch takes *paused* times as long as its throughput says.
    """
    samples, count = 160 * rig.integer(3, 9), len(names)
    steps = enumerate(rig.seconds(0.1, 0.9, count))  # so that no two rates are alike
    drawn = [
        float(rate)
        for rate in rig.random.permutation([60 + 340 * (at + more) / count for at, more in steps])
    ]
    peaks = rig.seconds(300.0, 5000.0, count)
    rows: list[dict[str, Any]] = []
    if pays:
        at = drawn.index(sorted(drawn)[1])
        drawn[0], drawn[at] = drawn[at], drawn[0]
    else:
        drawn, peaks = sorted(drawn, reverse=True), sorted(peaks)
    for name, rate, memory in zip(names, drawn, peaks, strict=True):
        seconds, (wait, warm, loss, right) = 1.02 * samples / rate, rig.seconds(0.1, 0.9, 4)
        values = (rate, seconds, wait * seconds, 40 * warm, memory, 2 * loss, 100 * right)
        rows.append(
            {
                "configuration": name,
                "builds_on": BUILDS_ON[name],
                **dict(zip(FIGURES, values, strict=True)),
            }
        )
    rows[0]["epoch_time"] *= paused
    rates = {row["configuration"]: row["throughput"] for row in rows}
    for row in rows:
        row["speedup"] = row["throughput"] / rows[0]["throughput"]
        row["gain"] = row["throughput"] / rates.get(row["builds_on"], row["throughput"])
        row["device"] = DEVICE
    return rows


@part.probe(
    pair=True, values={"rows": list_of(map_of(CELL)), "runs": list_of(map_of(CELL)), "csv": TEXT}
)
def comparison(student: Student, rig: Rig) -> Answer:
    """A made program instead of a training: it notices what reaches it from an earlier run, or from one beside it."""
    runs, folder = (
        drawn_rows(rig, NAMES[: rig.integer(5, 6)]),
        rig.folder / "results",
    )  # the fifth does not build on the fourth
    options = [["--number", str(rig.integer(1, 1 << 30))] for _ in runs]
    printed = [{name: drawn[name] for name in (*FIGURES, "device")} for drawn in runs]
    made = rig.made_program(
        {" ".join(words): figures for words, figures in zip(options, printed, strict=True)}
    )
    asked = [
        {"configuration": drawn["configuration"], "builds_on": drawn["builds_on"], "options": words}
        for drawn, words in zip(runs, options, strict=True)
    ]
    folder.mkdir()
    rows = rig.rows(student.compare_all(asked, script=str(made), folder=str(folder)), "compare_all")
    return {"rows": rows, "runs": runs, "csv": rig.file_text(folder / "optimization_results.csv")}


@part.probe(values={"raised": TEXT})
def failing(student: Student, rig: Rig) -> Answer:
    """The program prints figures, then says why it cannot go on, and ends with status 1."""
    made = str(rig.made_program({"--hopeless": None}))
    return {
        "raised": rig.matched.hopeless(
            lambda words: student.run_configuration(words[1:], script=words[0]), made
        )
    }


@part.probe(
    pair=True, values={"rows": list_of(list_of(map_of(CELL))), "told": list_of(map_of(CELL))}
)
def summaries(student: Student, rig: Rig) -> Answer:
    """Where something pays, the first row's epoch has pauses, so that what it saves is seen in the times alone."""
    drawn = ((6, PAUSED), (4, 1.0), (3, PAUSED), (6, PAUSED))
    tables = [
        drawn_rows(rig, NAMES[:count], pays=paused > 1, paused=paused) for count, paused in drawn
    ]
    told = [
        rig.rows([student.summarize([dict(row) for row in rows])], "summarize")[0]
        for rows in tables
    ]
    return {"rows": tables, "told": told}


@part.probe(
    values={"rows": list_of(map_of(CELL)), "panels": PANELS}, arrays={"picture": ("uint8", 1)}
)
def dashboard(student: Student, rig: Rig) -> Answer:
    """Some of the configurations, in another order than the file's."""
    others = [str(name) for name in rig.random.permutation(NAMES[1:])]
    rows, file = drawn_rows(rig, [NAMES[0], *others[:4]]), "optimization_dashboard.png"
    with rig.figures() as figures:
        student.draw_dashboard([dict(row) for row in rows], str(rig.folder))
    picture = rig.file_bytes(rig.folder / file, plot.BYTES + 1)
    return {"rows": rows, "panels": figures.panels(file), "picture": picture}


def _builds_on(known: Mapping[str, Any]) -> dict[str, str]:
    return {run["configuration"]: run["builds_on"] for run in known["runs"]}


def _compared(comparison: Pair) -> str:
    rows, known = comparison.student.values["rows"], comparison.baseline.values
    return configurations.copied_problem(
        configurations.RESULTS, FIGURES, rows, known["runs"]
    ) or configurations.row_problem(rows, _builds_on(known))


study = Study(part, configurations.RESULTS, "compare_all", by=comparison, expected=_builds_on)
study.is_measured(
    "starts_a_process_each",
    _compared,
    says="compare_all runs each configuration in a process of its own, one after the other; "
    "its rows are their figures.",
    try_=f"subprocess.run([sys.executable, script, *options], ...) for each, and speedup from this table; {WRONG}",
    shows=["throughput"],
)
study.is_written()


@part.check(basis="scripted")
def a_failed_run_is_an_error(failing: Observation) -> Verdict:
    """run_configuration raises a RuntimeError with the end of stderr when the program fails."""
    raised = failing.values["raised"]
    try_ = "if ended.returncode != 0: raise RuntimeError(... ended.stderr[-2000:])"
    why = "the made program ended with status 1, after a line of figures"
    if "No such file" in raised:
        why, try_ = "the program was not found", "start sys.executable, not 'python', with script"
    elif raised.startswith("RuntimeError"):
        if "out of ideas" in raised:
            return Passed("a RuntimeError that says what the program said")
        why = "the end of what the program wrote to stderr is not in it"
    return Failed(f"it raised {raised[:200]}", why, try_)


@part.check(basis="outputs")
def summary_is_right(summaries: Pair) -> Verdict:
    """summarize names the fastest and the leanest configuration, and what they save, from measured figures."""
    tables, answers = summaries.baseline.values["rows"], summaries.student.values["told"]
    if len(answers) != len(tables):
        return Failed(
            f"{len(answers)} answers", f"{len(tables)} tables were given", "return a dict for each"
        )
    for rows, told in zip(tables, answers, strict=True):
        known = configurations.summary_of(rows)
        for name, right in known.items():
            given = told.get(name)
            if given != right and not (isinstance(right, float) and table.alike(right, given)):
                measured = (
                    f"{name} is {shown(given)}, and {shown(right)} is right, of {len(rows)} rows"
                )
                why = explained(given, configurations.summary_slips(name, right), 1e-6)
                why = (
                    why
                    or "it is of the last row, of another column, or worked out from the speedup"
                )
                return Failed(
                    measured,
                    why,
                    "max and min over all rows; time from epoch_time, memory in percent",
                )
    return Passed(f"{len(tables)} tables")


@part.check(basis="scripted")
def dashboard_shows_the_rows(dashboard: Observation) -> Verdict:
    """draw_dashboard draws four panels: throughput, speedup, memory and gain of the rows that it is given."""
    try_ = "one bar per row, named and as high as the row says, and set_ylabel with the unit"
    return plot.shows_the_rows(
        dashboard, "optimization_dashboard.png", UNITS, "configuration", try_
    )
