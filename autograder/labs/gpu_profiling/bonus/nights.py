"""A profile each night: recorded, compared with the last one, written about."""

from __future__ import annotations

from autograder.checks import outputs
from autograder.checks.hints import Causes, hinted
from autograder.lab import (
    BOOLEAN,
    CASES,
    CELL,
    INTEGER,
    NUMBERS,
    TEXT,
    Answer,
    Failed,
    Observation,
    Pair,
    Student,
    Verdict,
    exactly,
    list_of,
    map_of,
    optional,
    record,
)
from autograder.labs.gpu_profiling.bonus import judges
from autograder.labs.gpu_profiling.bonus.part import Rig, part
from autograder.model import verdict
from autograder.traces.words import many

NIGHT = 'see "A profile each night" in the bonus handout'


@part.probe(
    values={
        "file": BOOLEAN,
        "ranges": map_of(INTEGER),
        "calls": INTEGER,
        "early": INTEGER,
        "steps": INTEGER,
    }
)
def recorded(student: Student, rig: Rig) -> Answer:
    """A step with ranges of drawn names."""
    steps = rig.integer(3, 6)
    file = rig.made_folder() / "recorded.json"
    step = rig.nightly.step([f"range {rig.integer(100, 999)}", "optimizer"])
    student.record_profile(step, str(file), steps=steps)
    return {**step.became(file), "steps": steps}


REPORT = record(slower=optional(BOOLEAN), page=optional(TEXT), rows=list_of(map_of(CELL)))
ALLOWED = ((1.5, 0.05), (1.08, 0.2), (0.6, 0.05))
"""Times as long as before the ranges take, and how much longer a step may be."""


@part.probe(pair=True, values={**CASES, "reports": exactly(len(ALLOWED), REPORT)}, arrays=NUMBERS)
def nights(student: Student, rig: Rig) -> Answer:
    """Made profiles of unlike lengths: much slower, within what is allowed, faster."""
    reports = []
    answers = rig.answers()
    folder = rig.made_folder()
    for number, (factor, allowed) in enumerate(ALLOWED, 1):
        before, after = rig.nightly.pair(rig.random, factor)
        files = [rig.folder / "before.json.gz", rig.folder / "after.json.gz"]
        for file, made in zip(files, (before, after), strict=True):
            file.write_bytes(made.data())
        report: Answer = before.beside(after, allowed)
        page = None
        if rig.side == "student":
            returned = student.compare_profiles(
                *map(str, files), folder=str(folder), allowed=allowed
            )
            report = rig.returned("compare_profiles", returned)
            file = folder / "profile_report.md"
            page = rig.file_text(file) if file.is_file() else None
        slower = report["slower"] if isinstance(report["slower"], bool) else None
        for name in ("before_ms", "after_ms"):
            answers.add(f"profiles {number}: {name}", rig.number(report[name]))
        known = f"{before.step_ms:.4g} ms, then {after.step_ms:.4g} ms, allowed={allowed}"
        answers.add(f"profiles {number} ({known}): slower", slower)
        rows = rig.rows(report["rows"], "compare_profiles")
        reports.append({"slower": slower, "page": page, "rows": rows})
    return {**answers.values(), "reports": reports}


@part.check(basis="report")
def records_the_steps(recorded: Observation) -> Verdict:
    """record_profile calls step *steps* + 2 times, and records all but the first two, each with its ranges."""
    values, steps = recorded.values, recorded.values["steps"]
    ranges = {name: count for name, count in values["ranges"].items() if count != steps}
    odd = [f"{many(count, 'range')} named '{name}'" for name, count in ranges.items()]
    measured = f"the trace has {', '.join(odd) or f'{steps} of each range'}"
    if values["early"]:
        measured = f"the trace has {values['early']} of the first two calls, and 0 are right"
    if not values["file"]:
        why = "your code writes no Chrome trace to file"
        return Failed("no trace in file", why, "prof.export_chrome_trace(file)")
    if values["calls"] != steps + 2:
        calls = f"{many(values['calls'], 'call')} of step, and {steps + 2} are right"
        why = f"step must run {steps + 2} times: twice before the recording, then {steps} times"
        return Failed(calls, why, "call step() steps + 2 times")
    wrong = values["early"] or ranges
    why = (
        f"the recording begins {many(values['early'], 'call')} too early"
        if values["early"]
        else f"the trace must have {steps} of each range, from all calls but the first two"
    )
    try_ = "schedule(wait=1, warmup=1, active=steps), and prof.step() after each call"
    return verdict(measured, why if wrong else "", try_)


@part.check(basis="scripted")
def finds_what_changed(nights: Pair) -> Verdict:
    """compare_profiles gives milliseconds per step of each range in both profiles, the largest change first."""
    hints: Causes = {
        "count twice": (
            "your code adds up a range and a range of the same name inside it",
            "use given.covered, which counts overlaps once",
        ),
        "_ms of": "divide by the number of ProfilerStep ranges of that trace",
        "abs(change_ms)": (
            "rows must go from the largest change to the smallest, up or down",
            "sort by abs(change_ms), the largest first",
        ),
        "no row is": (
            "each range of either profile must have a row",
            "give each range of either trace a row, with 0 ms where a trace lacks it",
        ),
        "rows are of": (
            "each range must have one row, and nothing else",
            "take each range of both traces once, without ProfilerStep",
        ),
    }
    why = "the time of a range must be divided by the steps of its own trace"
    return hinted(judges.each(nights, judges.row_problem, why, NIGHT), hints)


@part.check(basis="scripted")
def says_whether_slower(nights: Pair) -> Verdict:
    """compare_profiles gives the milliseconds of a step, and says whether it became slower than allowed."""
    why = {
        "slower": "slower must say whether after_ms is above before_ms by more than allowed",
        "": "before_ms and after_ms must be the mean length of ProfilerStep",
    }
    hints = {
        "slower": "a bool: after_ms > before_ms * (1 + allowed)",
        "_ms": "average the lengths of the ProfilerStep ranges, in milliseconds",
    }
    return hinted(outputs.same(nights, 1e-3, why=why, try_=NIGHT), hints)


@part.check(basis="scripted", needs=[finds_what_changed])
def page_holds_the_rows(nights: Pair) -> Verdict:
    """compare_profiles writes profile_report.md: a verdict, and each range with its milliseconds, in order."""
    hints = {
        "is missing": "write the page to Path(folder) / 'profile_report.md'",
        "is empty": "write the verdict and the table of the rows into profile_report.md",
        "were returned": "write a line for each row, after a header and a line of dashes",
        "the page has": "write the four columns in order, with two decimals or more",
        "slower": "write 'slower' or 'not slower', as the dict says",
    }
    why = "the page must hold the rows and the verdict that are returned"
    return hinted(judges.each(nights, judges.page_problem, why, NIGHT), hints)
