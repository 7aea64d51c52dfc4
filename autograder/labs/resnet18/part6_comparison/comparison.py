"""A run for each configuration, their summary and their dashboard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autograder.checks import plot, table
from autograder.checks.configurations import (
    BUILDS_ON,
    FIGURES,
    RESULTS,
    copied_problem,
    row_problem,
    summary_of,
    summary_slips,
)
from autograder.checks.numerics import explained, shown
from autograder.checks.table_form import Row
from autograder.claims.studies import MISSHAPEN, WRITTEN, Study, draws, written
from autograder.lab import (
    BOOLEAN,
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
    exactly,
    list_of,
    map_of,
)
from autograder.labs.resnet18.part6_comparison.part import DASHBOARD, Rig, part

UNITS = {
    "throughput": plot.RATE,
    "speedup": plot.RATIO,
    "peak_memory_mb": plot.MEGABYTES,
    "gain": plot.RATIO,
}
PAUSED = 1.3
SUMMARIZED_ROWS = (6, True), (4, False), (3, True), (6, True)  # how many, and whether anything pays
NAMES = tuple(BUILDS_ON)


def drawn_rows(
    rig: Rig, names: Sequence[str], *, pays: bool = True, paused: float = 1.0
) -> list[dict[str, Any]]:
    """Draw rows that hold what is asked for, in no order of merit; an epoch takes a little more than its samples.

    The first row is neither the fastest nor the slowest; where nothing *pays* it is the fastest and the leanest.
    Its epoch takes *paused* times as long as its throughput says.
    """
    samples = 160 * rig.integer(3, 9)
    count = len(names)
    more = rig.seconds(0.1, 0.9, count)  # so that no two rates are alike
    slowest, second, *others = (60 + 340 * (at + more[at]) / count for at in range(count))
    rates: list[float] = [second, *rig.random.permutation([slowest, *others]).tolist()]
    peaks = rig.seconds(300.0, 5000.0, count)
    if not pays:
        rates.sort(reverse=True)
        peaks.sort()
    by_name = dict(zip(names, rates, strict=True))
    rows: list[dict[str, Any]] = []
    for name, rate, memory in zip(names, rates, peaks, strict=True):
        seconds = 1.02 * samples / rate
        wait, warm, loss, right = rig.seconds(0.1, 0.9, 4)
        values = (rate, seconds, wait * seconds, 40 * warm, memory, 2 * loss, 100 * right)
        base = BUILDS_ON[name]
        row = {
            "configuration": name,
            "builds_on": base,
            **dict(zip(FIGURES, values, strict=True)),
            "speedup": rate / rates[0],
            "gain": rate / by_name.get(base, rate),
            "device": "a made device",
        }
        rows.append(row)
    rows[0]["epoch_time"] *= paused
    return rows


@part.probe(pair=True, values={**WRITTEN, "runs": list_of(map_of(CELL)), "drawn": BOOLEAN})
def comparison(student: Student, rig: Rig) -> Answer:
    """A made program instead of a training: it notices what reaches it from an earlier run, or from one beside it."""
    runs = drawn_rows(rig, NAMES[: rig.integer(5, 6)])  # the fifth does not build on the fourth
    printed, configurations = {}, []
    for drawn in runs:
        options = ["--number", str(rig.integer(1, 1 << 30))]
        printed[" ".join(options)] = {name: drawn[name] for name in (*FIGURES, "device")}
        named = {name: drawn[name] for name in ("configuration", "builds_on")}
        configurations.append({**named, "options": options})
    script = str(rig.made_program(printed))
    folder = str(rig.made_folder())
    returned = student.compare_all(configurations, script=script, folder=folder)
    answer = written(rig, RESULTS, "compare_all", returned)
    called = draws(rig, student.draw_dashboard, returned, DASHBOARD)
    return {**answer, "runs": runs, "drawn": called}


@part.probe(values={"raised": TEXT})
def failing(student: Student, rig: Rig) -> Answer:
    """The program prints figures, then says why it cannot go on, and ends with status 1."""
    script = str(rig.made_program({"--hopeless": None}))
    return {
        "raised": rig.matched.hopeless(
            lambda words: student.run_configuration(words[1:], script=words[0]), script
        )
    }


@part.probe(
    pair=True,
    values={
        "rows": list_of(list_of(map_of(CELL))),
        "reported": exactly(len(SUMMARIZED_ROWS), map_of(CELL)),
    },
)
def summaries(student: Student, rig: Rig) -> Answer:
    """Where something pays, the first row's epoch has pauses, so that what it saves is seen in the times alone."""
    tables = [
        drawn_rows(rig, NAMES[:count], pays=pays, paused=PAUSED if pays else 1.0)
        for count, pays in SUMMARIZED_ROWS
    ]
    returned = [student.summarize([dict(row) for row in rows]) for rows in tables]
    return {"rows": tables, "reported": rig.rows(returned, "summarize")}


@part.probe(
    values={"rows": list_of(map_of(CELL)), "panels": PANELS}, arrays={"picture": ("uint8", 1)}
)
def dashboard(student: Student, rig: Rig) -> Answer:
    """Some of the configurations, in another order than the file's."""
    others = [str(name) for name in rig.random.permutation(NAMES[1:])]
    rows = drawn_rows(rig, [NAMES[0], *others[:4]])
    folder = rig.made_folder()
    with rig.figures() as figures:
        student.draw_dashboard([dict(row) for row in rows], str(folder))
    picture = rig.file_bytes(folder / DASHBOARD, plot.BYTES + 1)
    return {"rows": rows, "panels": figures.panels(DASHBOARD), "picture": picture}


def _builds_on(expected: Mapping[str, Any]) -> dict[str, str]:
    return {run["configuration"]: run["builds_on"] for run in expected["runs"]}


COPY = "call run_configuration for each row, and copy its figures unchanged"
RUN = "subprocess.run([sys.executable, script, *options], ...) for one run at a time"
GAIN = "gain: throughput / throughput of the row that builds_on names"
BASE = "copy builds_on from the configuration"


def _compared(comparison: Pair) -> tuple[str, ...] | None:
    rows, expected = comparison.student.values["rows"], comparison.baseline.values
    if why := copied_problem(RESULTS, FIGURES, rows, expected["runs"]):
        measured, _, cause = why.partition(": ")
        try_ = COPY if not cause or "halved" in cause else RUN
        return cause or "the row must hold what its run printed", try_, measured
    why = row_problem(rows, _builds_on(expected))
    return (MISSHAPEN, BASE if "builds_on" in why else GAIN, why) if why else None


def _not_drawn(comparison: Pair) -> tuple[str, ...] | None:
    if comparison.student.values["drawn"]:
        return None
    why = "compare_all does not draw the rows"
    return why, "call draw_dashboard(rows, folder)", f"no {DASHBOARD} in folder"


study = Study(part, RESULTS, "compare_all", by=comparison, expected=_builds_on)
study.is_measured(
    "starts_a_process_each",
    _compared,
    says="compare_all runs each configuration in a process of its own, one after the other; "
    "each row holds the figures of its run.",
    try_=RUN,
    shows=["throughput"],
)
study.is_written(
    also=_not_drawn,
    says="compare_all writes optimization_results.csv with the rows that it returns, and draws them.",
)


@part.check(basis="scripted")
def a_failed_run_is_an_error(failing: Observation) -> Verdict:
    """run_configuration raises a RuntimeError with the end of stderr when the program fails."""
    raised = failing.values["raised"]
    try_ = "if ended.returncode != 0: raise RuntimeError(... ended.stderr[-2000:])"
    why = "the program ended with status 1: it failed, whatever it printed"
    right = ", and a RuntimeError is right"
    if "No such file" in raised:
        why, try_ = "the program was not found", "start sys.executable, not 'python', with script"
    elif raised.startswith("RuntimeError"):
        if "out of ideas" in raised:
            return Passed("a RuntimeError with the end of stderr")
        why = "the end of what the program wrote to stderr is missing"
        right = "; the last words that the program wrote to stderr are not in it"
    measured = f"run_configuration raised {raised[:200]}{right}"
    return Failed(measured, why, try_)


SUMMARIZED = {
    "fastest": "the configuration with the highest throughput of all rows",
    "speedup": "the highest throughput of all rows / the first row's",
    "time_saved_s": "epoch_time of the first row - epoch_time of the fastest row",
    "leanest": "the smallest peak_memory_mb of all rows",
    "memory_saved_percent": "what the leanest saves, in percent of the first row's peak_memory_mb",
}


@part.check(basis="outputs")
def summary_is_right(summaries: Pair) -> Verdict:
    """summarize names the fastest and the leanest configuration, and what they save, from measured figures."""
    tables, reported = summaries.baseline.values["rows"], summaries.student.values["reported"]
    for rows, summary in zip(tables, reported, strict=True):
        for name, right in summary_of(rows).items():
            value = summary.get(name)
            if value == right or (isinstance(right, float) and table.alike(right, value)):
                continue
            measured = f"{name} is {shown(value)}, and {shown(right)} is right"
            return Failed(measured, mistaken(name, value, right, rows), SUMMARIZED[name])
    return Passed(f"{len(tables)} tables")


def mistaken(name: str, value: Any, right: Any, rows: Sequence[Row]) -> str:
    """Say which mistake gives an entry of the summary."""
    if value is None:
        return f"the summary has no value under {name!r}"
    if isinstance(right, str):
        return _of_another_row(value, right, [row["configuration"] for row in rows])
    number = value if isinstance(value, float | int) else None
    if name == "time_saved_s":
        first, speedup = rows[0]["epoch_time"], summary_of(rows)["speedup"]
        usual = [(first * (1 - 1 / speedup), "it is computed from the speedup")]
        usual += [(first - row["epoch_time"], "it is that of another row") for row in rows]
        otherwise = "no epoch_time, subtracted from that of the first row, gives this number"
    else:
        otherwise = "usually it is of another row or column"
        usual = summary_slips(name, right)
    if why := explained(number, [*usual, (-right, "its sign is the wrong one")], 1e-6):
        return why
    return otherwise


def _of_another_row(value: Any, right: str, names: Sequence[str]) -> str:
    """Say why another configuration was taken for the best one."""
    if value not in names:
        return "it must be the name of a configuration"
    if right == names[0] and value != names[-1]:
        return "the first row is the best: usually your code leaves it out"
    if value == names[-1]:
        return "usually your code takes the last row for the best"
    return "usually it is the best of another column"


@part.check(basis="scripted")
def dashboard_shows_the_rows(dashboard: Observation) -> Verdict:
    """draw_dashboard draws four panels: throughput, speedup, memory and gain of the given rows."""
    return plot.shows_the_rows(dashboard, DASHBOARD, UNITS, "configuration", plot.BARS)
