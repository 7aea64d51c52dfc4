"""Part 6 judged whole: right work passes on any seed; what no entry of the corpus shows, a check says here."""

from __future__ import annotations

import functools
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import autograder
from autograder import checks
from autograder.labs.resnet18.part6_comparison import PROGRAM, part
from autograder.model import Device, Failed, Observation, Pair, Passed, Text, Unavailable
from tests.worker.harness import observe

ROOT = Path(autograder.__file__).parent.parent
REFERENCE = ROOT / "reference" / "resnet18"
BASELINE = REFERENCE / "baseline" / part.file
REPORTS = ("report_is_complete", "report_agrees_with_csv", "bottlenecks_have_evidence")
MACHINE = Device("AMD EPYC, 2 cores", "cpu", "cpu")

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def surroundings(monkeypatch):
    """What a worker has: `given` to import, no display."""
    monkeypatch.syspath_prepend(str(REFERENCE))
    monkeypatch.setenv("MPLBACKEND", "Agg")
    yield
    for name in [name for name in sys.modules if name.split(".")[0] in ("given", part.id)]:
        del sys.modules[name]


@pytest.fixture
def judge(tmp_path):
    """judge(only, file, pairs, seed) -> {check: verdict} of the reference, with (old, new) replaced in one file."""

    def judged(only, file=PROGRAM, pairs=(), seed=1):
        for name in (part.file, PROGRAM):
            shutil.copy(REFERENCE / name, tmp_path / name)
        text = (tmp_path / file).read_text(encoding="utf-8")
        for old, new in pairs:
            assert 1 == text.count(old), old
            text = text.replace(old, new)
        (tmp_path / file).write_text(text, encoding="utf-8")
        seen = {}
        chosen = [part.checks[name] for name in part.checks if name in only]
        path = tmp_path / part.file
        return {
            check.name: verdict(check, {n: evidence(n, path, seed, seen) for n in check.reads})
            for check in chosen
        }

    return judged


def evidence(name, path, seed, seen):
    if name == "device":
        return MACHINE
    if name in part.artefacts:
        return handed_in(part.artefacts[name])
    if name not in seen:
        student = observe(part, name, path, seed)
        seen[name] = (
            Pair(student, baseline_answer(name, seed)) if part.probes[name].pair else student
        )
    return seen[name]


def handed_in(file, change=lambda text: text):
    data = (REFERENCE / file).read_bytes()
    return checks.read(data if file.endswith(".png") else change(data.decode()).encode(), file)


@functools.cache
def baseline_answer(probe, seed=1):
    seen = observe(part, probe, BASELINE, seed, "baseline")
    assert "ok" == seen.ended, seen.error
    return seen


def verdict(check, read):
    for one in read.values():
        student = one.student if isinstance(one, Pair) else one
        if isinstance(student, Observation) and student.ended != "ok":
            return Failed(student.ended, student.error, "")
    return check.judge(**read)


def failing(verdicts):
    return {name: it for name, it in verdicts.items() if not isinstance(it, Passed | Unavailable)}


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


def test_the_reference_passes(judge):
    assert {} == failing(judge(part.checks))


# File and what is replaced -> {check: words in its measured or why}.
MISTAKES = {
    "another device": (
        PROGRAM,
        [('"device": device_name(device)', '"device": "a T4"')],
        {"trains_as_the_plain_loop": "it is called"},
    ),
    "no loss": (PROGRAM, [('"loss": last["loss"]', '"loss": None')], {"trains_as_the_plain_loop": "the last of losses"}),
    "nothing saved": (
        PROGRAM,
        [("        torch.save(plain.state_dict(), options.save)\n", "        pass\n")],
        {"saves_a_plain_model": "no file was written"},
    ),
    "saved before the training": (
        PROGRAM,
        [("    epochs = [train", "    torch.save(plain.state_dict(), options.save)\n    epochs = [train"), ("    if options.save:\n", "    if False:\n")],
        {"trains_as_the_plain_loop": "the weights that were saved never moved"},
    ),
    "the wait of all epochs": (
        PROGRAM,
        [("for epoch in epochs) / len(epochs)", "for epoch in epochs)")],
        {"figures_are_honest": "data_wait is"},
    ),
    "Python by its name": (
        "part6_comparison.py",
        [("subprocess.run([sys.executable, str(script)", "subprocess.run(['no-such-python', str(script)")],
        {"a_failed_run_is_an_error": "the program was not found"},
    ),
    "nothing printed": (
        PROGRAM,
        [("    print(json.dumps(figures))\n", "")],
        {"figures_are_honest": "nothing was printed, and there is no JSON object"},
    ),
    "something else printed": (
        PROGRAM,
        [("    print(json.dumps(figures))\n", "    print(figures)\n")],
        {"figures_are_honest": "the last line is"},
    ),
    "a figure missing": (
        PROGRAM,
        [('        "warm_up_s": warm_up_s,\n', "")],
        {"figures_are_honest": "returned no 'warm_up_s'"},
    ),
    "a choice that nobody asked for": (
        PROGRAM,
        [("    return options\n    ### END", "    if options.compile and options.amp:\n        parser.error('choose')\n    return options\n    ### END")],
        {"refuses_what_it_cannot_do": "--amp --compile ended with status 2"},
    ),
    "warm-up in milliseconds": (
        PROGRAM,
        [('"warm_up_s": warm_up_s', '"warm_up_s": 1000 * warm_up_s')],
        {"compiles_before_the_clock": "the builds took"},
    ),
    "rows in another order": (
        part.file,
        [("    draw_dashboard(rows, folder)\n    return rows", "    draw_dashboard(rows, folder)\n    return rows[::-1]")],
        {"starts_a_process_each": "are asked for, in that order"},
    ),
    "a failed run is a row": (
        part.file,
        [("        raise RuntimeError(f", "        return {}\n        raise RuntimeError(f")],
        {"a_failed_run_is_an_error": "it returned {}"},
    ),
    "a summary without a name": (
        part.file,
        [('        "leanest": leanest["configuration"],\n', "")],
        {"summary_is_right": "leanest is None"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("file", "pairs", "fails"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_fails_the_check_that_shows_it(judge, file, pairs, fails):
    found = failing(judge(fails, file, pairs))

    assert set(fails) == set(found)
    for name, words in fails.items():
        assert words in f"{found[name].measured} {found[name].why}"


def test_a_program_that_was_not_handed_in_is_named(judge, tmp_path):
    (tmp_path / part.file).write_bytes((REFERENCE / part.file).read_bytes())
    seen = observe(part, "plain", tmp_path / part.file, 1)

    assert "raised" == seen.ended
    assert "optimized_training.py was not handed in" in seen.error


def hostile(seen, number):
    """The same answer with every number replaced."""

    def everywhere(value):
        if isinstance(value, dict):
            return {key: everywhere(item) for key, item in value.items()}
        if isinstance(value, list):
            return [everywhere(item) for item in value]
        return number if isinstance(value, float) else value

    arrays = {
        name: np.full_like(array, number)
        for name, array in seen.arrays.items()
        if array.dtype.kind == "f"
    }
    return replace(seen, values=everywhere(dict(seen.values)), arrays={**seen.arrays, **arrays})


def emptied(seen):
    """The same answer with nothing in any list or array."""
    values = {key: [] if isinstance(value, list) else value for key, value in seen.values.items()}
    return replace(
        seen, values=values, arrays={name: array[:0] for name, array in seen.arrays.items()}
    )


QUICK = ("plain", "half", "comparison", "summaries")


@pytest.mark.parametrize("number", [0.0, -1.0, np.nan, 1e308, 5e-324])
@pytest.mark.filterwarnings("error")
def test_a_judge_never_stumbles_over_numbers(number):
    for probe in QUICK:
        answer = baseline_answer(probe)
        for student in (hostile(answer, number), emptied(answer)):
            for check in part.checks.values():
                if check.reads == (probe,):
                    assert isinstance(check.judge(Pair(student, answer)), Passed | Failed)


def test_a_table_of_another_machine_is_owed():
    """It is told apart from a wrong one."""
    found = part.checks["csv_is_plausible"].judge(
        handed_in("optimization_results.csv"), replace(MACHINE, name="T4")
    )

    assert isinstance(found, Unavailable)
    assert "this machine is T4" in found.reason


def shortened(text):
    """Keep the headings and a dozen words below each."""
    lines = [
        line if line.startswith("#") else " ".join(line.split()[:4]) for line in text.splitlines()
    ]
    return "\n".join(lines)


FILLER = "We looked at what was measured and thought about what it means for us. " * 30
LACKING = {  # a change of the report -> {check: words}
    "too short": (shortened, {"report_is_complete": "250 to 3000 words are expected"}),
    "too long": (lambda text: text + FILLER * 9, {"report_is_complete": "250 to 3000 words are expected"}),
    "nothing below a heading": (
        lambda text: text.replace("## Lessons Learned", "## Lessons Learned\n\n## More"),
        {"report_is_complete": "nothing below 'Lessons Learned'"},
    ),
    "too short, and figures alone below a heading": (
        lambda text: shortened(text).replace("## Lessons Learned", "## Lessons Learned\n\n## More"),
        {"report_is_complete": "below 'Lessons Learned'; 250 to 3000 words are expected"},
    ),
    "few recommendations": (
        lambda text: text.replace("2. Measure", "Measure").replace("3. Try", "Try").replace("4. Keep", "Keep"),
        {"report_is_complete": "fewer than 3 recommendations have 6 words"},
    ),
    "a bottleneck that is not named": (
        lambda text: re.sub(r"3\. \*\*Memory\*\* is none.*", "3. The process is a small one.", text),
        {"bottlenecks_have_evidence": "memory is not named"},
    ),
    "a point that stands for two": (
        lambda text: text.replace("the process held {Baseline.peak_memory_mb} MB", "nothing was near its limit")
        .replace("only {Baseline.peak_memory_mb - Checkpointing.peak_memory_mb:.0f} MB less", "hardly less")
        .replace("A synthetic sample costs", "A synthetic sample lies in memory and costs"),
        {"bottlenecks_have_evidence": "one of them stands for two"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("change", "fails"), LACKING.values(), ids=LACKING)
def test_a_report_is_told_what_it_lacks(change, fails):
    rows = handed_in("optimization_results.csv")
    text = handed_in("optimization_report.md", change)
    assert text != handed_in("optimization_report.md")
    for name, words in fails.items():
        check = part.checks[name]
        found = check.judge(
            **{read: text if read == "optimization_report" else rows for read in check.reads}
        )
        assert isinstance(found, Failed)
        assert words in f"{found.measured} {found.why}"


def test_a_speedup_as_text_costs_the_table_and_not_the_report():
    rows = handed_in(
        "optimization_results.csv", lambda text: text.replace(",1.0,1.0,", ",1.00x,1.0,")
    )
    found = {
        name: check.judge(
            **{
                read: rows if read == "optimization_results" else given(read)
                for read in check.reads
            }
        )
        for name, check in part.checks.items()
        if "optimization_results" in check.reads
    }

    assert {"csv_is_consistent"} == set(failing(found))


def given(name):
    return MACHINE if name == "device" else handed_in(part.artefacts[name])


NO_TABLE = {
    "no rows": lambda text: text.splitlines()[0] + "\n",
    "no throughput": lambda text: text.replace("throughput", "pace"),
    "nothing in a time": lambda text: text.replace("1.2662249880013405", "0.0"),
}


@pytest.mark.parametrize("change", NO_TABLE.values(), ids=NO_TABLE)
def test_a_table_without_figures_is_not_plausible(change):
    rows = handed_in("optimization_results.csv", change)

    assert isinstance(part.checks["csv_is_plausible"].judge(rows, MACHINE), Failed)


def test_a_report_beside_no_table_is_told_so():
    rows = handed_in("optimization_results.csv", NO_TABLE["no rows"])

    found = part.checks["report_agrees_with_csv"].judge(handed_in("optimization_report.md"), rows)
    assert "there is no row 'Baseline'; there are none" in found.why


@pytest.mark.parametrize("fastest", ["Baseline", "AMP"])
def test_a_summary_names_one_row_twice_if_no_other_is_faster(fastest):
    said = "{Baseline.throughput} before; Baseline is the fastest: {Baseline.throughput}, {Baseline.speedup}"
    text = Text("optimization_report.md", f"## Executive Summary\n\n{said}\n")
    rows = handed_in(
        "optimization_results.csv",
        lambda it: it.replace("AMP,Data loader,", "AMP,Data loader,9") if fastest == "AMP" else it,
    )

    found = part.checks["report_agrees_with_csv"].judge(text, rows)
    assert isinstance(found, Passed if fastest == "Baseline" else Failed)


def test_a_summary_states_before_and_after():
    text = Text("optimization_report.md", "## Executive Summary\n\nIt is faster.\n")
    found = part.checks["report_agrees_with_csv"].judge(text, handed_in("optimization_results.csv"))

    assert isinstance(found, Failed)
    assert "the summary names the throughput of 0 rows" in found.why
