"""Nsight Compute: a command line for named kernels, and what its report says of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from autograder.checks import outputs
from autograder.checks.answer_lists import each
from autograder.checks.hints import Causes, hinted
from autograder.checks.numerics import close
from autograder.checks.result_form import NOTHING, named
from autograder.checks.slips import SLIPPED, told
from autograder.lab import (
    INTEGER,
    NUMBERS,
    TEXT,
    Answer,
    Failed,
    Pair,
    Student,
    Verdict,
    list_of,
    record,
)
from autograder.labs.gpu_profiling.part3_kernels import ncu
from autograder.labs.gpu_profiling.part3_kernels.part import REPORT, Rig, part

EXACT = 1e-3  # relative: reports are printed with two decimals
NAMES = 'see "A command line of ncu" in the part 3 handout'
FAMILIES = (
    "implicit_convolve_sgemm",
    "sm80_xmma_fprop_implicit_gemm",
    "cudnn_infer_ampere_scudnn",
    "winograd_forward",
)


@part.probe(
    pair=True,
    values={
        "commands": list_of(list_of(TEXT)),
        "measured": list_of(list_of(TEXT)),
        "asked": list_of(
            record(
                kernels=list_of(TEXT), script=TEXT, report=TEXT, launches=INTEGER, skipped=INTEGER
            )
        ),
    },
)
def commands(student: Student, rig: Rig) -> Answer:
    """Names of kernels are drawn; among the others are some that hold those asked for."""
    commands, measured, asked = [], [], []
    for skipped in (0, rig.integer(1, 40)):
        number = rig.integer(10, 99)
        family = str(rig.random.choice(FAMILIES))
        kernels = [f"{family}_{rig.integer(100, 999)}", f"loop_fusion.{number}"]
        others = [
            f"{kernels[0]}_bias",
            f"pre_{kernels[1]}",
            f"loop_fusion_{number}",
            "elementwise_kernel",
        ]
        call = {
            "script": f"train_{number}.py",
            "kernels": kernels,
            "report": f"kernels_{number}",
            "launches": rig.integer(2, 50),
            "skipped": skipped,
        }
        words = student.ncu_command(*deepcopy(call).values())
        commands.append([rig.word(word) for word in words][:60])
        measured.append(ncu.chosen(commands[-1], [*kernels, *others]))
        asked.append(call)
    return {"commands": commands, "measured": measured, "asked": asked}


TOLD = (
    2  # launches of a report whose slips are sent: a mistake shows in the first that it can show in
)
FIGURES = ("kernel", "duration_us", "sm_percent", "memory_percent", "occupancy_percent")


@part.probe(pair=True, values=SLIPPED, arrays=NUMBERS)
def reports(student: Student, rig: Rig) -> Answer:
    """Made reports: in a unit that is drawn, in one of an older ncu, and in nanoseconds with commas."""
    answers, slips = rig.answers(), dict[str, Any]()
    kinds = (rig.launches.UNITS, rig.launches.OLD_UNITS)
    drawn = [str(rig.random.choice(units)) for units in kinds]
    for number, unit in enumerate((*drawn, "ns"), 1):
        made = rig.launches.report(rig.random, unit)
        rows = [{**row, "bound": ncu.bound(row)} for row in made.rows]
        if rig.side == "student":
            file = rig.folder / f"made_{number}.csv"
            file.write_text(made.text(), encoding="utf-8")
            rows = rig.rows(student.read_ncu(str(file)), "read_ncu")
        answers.add(f"rows of report {number}", len(rows))
        for at, (right, row) in enumerate(zip_longest(made.rows, rows[: len(made.rows)]), 1):
            shares = (
                f"{right['sm_percent']} % of the SMs, {right['memory_percent']} % of the memory"
            )
            for name in (*FIGURES, "bound"):
                more = {"bound": f" ({shares})", "duration_us": f" ({made.printed(right)})"}
                case = f"{name} of launch {at} in report {number}{more.get(name, '')}"
                answers.add(case, (row or {}).get(name))
                if at <= TOLD and rig.side != "student":
                    slips[case] = made.slips(right).get(name, {})
    return {**answers.values(), "slips": slips}


COMMAND_HINTS: Causes = {
    "and no text": ("a word is not of type str", "write str(launches) and str(skipped)"),
    "one word of the list": "return a list such as ['ncu', '--set', 'full', ...]",
    "it begins with": 'the first word is "ncu"',
    "it runs": "end the list with python and the script, after all options",
    "--set is": "add --set full",
    "the report goes to": "--export and the name in report",
    "--launch-skip is": "--launch-skip and the number in skipped; leave it out for 0",
    "--launch-count is": "--launch-count and the number in launches",
    "has no option": "take the option that ncu has",
}
EXPRESSION = "pass --kernel-name regex:^(one|another)$, made of the names by re.escape"
NAME_HINTS = {
    "quotes": "leave the quotes out",
    "does not begin with": "write regex: before the expression",
}


@part.check(basis="outputs")
def command_is_right(commands: Pair) -> Verdict:
    """ncu_command has ncu's own options: a set, how many launches, the report; then python and the script."""
    lines = commands.student.values["commands"]

    def problem(words: Sequence[str], asked: Mapping[str, Any]) -> tuple[str, str]:
        line = " ".join(words)[:200]
        return line or "no words", ncu.command_problem(words, ncu.Wanted(**asked))

    passed = " ".join(word for words in lines[:1] for word in words)[:200]
    judged = each(lines, commands.baseline.values["asked"], problem, NAMES, passed)
    return hinted(judged, COMMAND_HINTS)


@part.check(basis="report", needs=[command_is_right])
def command_measures_what_was_asked(commands: Pair) -> Verdict:
    """ncu_command measures the named kernels, and no kernel whose name merely contains such a name."""
    values = commands.student.values

    def problem(answer: tuple[Sequence[str], ...], asked: Mapping[str, Any]) -> tuple[str, str]:
        words, measured = answer
        name = ncu.named(words)[:120] or "a line without --kernel-name"
        kernels = ", ".join(measured) or "nothing"
        return f"{name} measures {kernels}", ncu.choice_problem(words, measured, asked["kernels"])

    lines = list(zip_longest(values["commands"], values["measured"], fillvalue=()))
    asked = commands.baseline.values["asked"]
    passed = f"{len(asked[0]['kernels'])} kernels of each profile"
    return hinted(each(lines, asked, problem, EXPRESSION, passed), NAME_HINTS)


ANOTHER = "this is the number of another launch: usually IDs are sorted as text, 10 before 2"
ORDER = "keep the order of the file, and copy Kernel Name"
UNREAD = {
    True: "usually your code does not know the unit that is printed here",
    False: "your code finds no number for this metric",
}
"""What is said where there is no number, of a duration and of any other metric."""


@part.check(basis="scripted")
def reads_reports(reports: Pair) -> Verdict:
    """read_ncu finds each launch of a report, with durations in microseconds, throughput and occupancy."""
    why = {
        "rows of": "each ID must give one row: it is one launch",
        "kernel of": "each row must have the Kernel Name of one ID, in the order of the file",
        "duration_us": "usually Metric Unit is not read, or a unit's factor is wrong",
        "": "your code reads another metric",
    }
    hints = {
        "rows of": "begin a new row at each new ID",
        "cuts the number": "remove all commas from the number, then convert it by its Metric Unit",
        "duration_us": "convert by Metric Unit: ns or nsecond, us or usecond, ms or msecond ...",
        "kernel of": ORDER,
        "_percent": "compare the whole name of the metric, and its unit",
    }
    judged = told(reports, outputs.same(reports, EXACT, why=why, try_=REPORT, without=["bound"]))
    if isinstance(judged, Failed) and "nothing instead" in judged.measured:
        judged = replace(judged, why=UNREAD["duration_us" in judged.measured])
    elif isinstance(judged, Failed) and _is_of_another(reports, judged):
        return replace(judged, why=ANOTHER, try_="keep the order of the file")
    return hinted(judged, hints)


def _is_of_another(reports: Pair, judged: Failed) -> bool:
    """Whether the number that failed is the right one for another launch of the same report."""
    failed: tuple[str, float] | None = None
    right = []
    for _, asked, got, want in outputs.paired(reports):
        case = asked["case"]
        if got is not None and len(got) and judged.measured.startswith(f"{named(asked)}: "):
            failed = case, float(got[0])
        right += [(case, float(it)) for it in want[:1]]
    if failed is None:
        return False
    figure, report = _place(failed[0])
    return any(
        _place(case) == (figure, report) and close(failed[1], it, EXACT) for case, it in right
    )


def _place(case: str) -> tuple[str, str]:
    """Return the figure and the report that the name of a case has."""
    return case.partition(" ")[0], case.partition(" in report ")[2].partition(" ")[0]


@part.check(basis="scripted", needs=[reads_reports])
def says_what_limits(reports: Pair) -> Verdict:
    """read_ncu says what limits each kernel: compute, memory, or latency where neither is busy."""
    why = "bound must be latency if both shares are below 60, else the higher; compute if equal"
    try_ = "compare both throughputs with 60, then with each other"
    without = [f"{name} " for name in ("rows", *FIGURES)]
    cases = reports.student.values["cases"]
    if all(it["dtype"] == NOTHING for it in cases if it["case"].startswith("bound ")):
        why, try_ = "no row has a value under 'bound'", "write the word into row['bound']"
    return outputs.same(reports, EXACT, why=why, try_=try_, without=without)
