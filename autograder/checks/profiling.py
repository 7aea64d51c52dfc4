"""Judges eleven answers about a profile of a training, in four groups: of made profiles, and of one handed in.

With a GPU and without one the questions are the same, and the answers have names of their own. A problem is one
sentence, or nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from autograder.checks import trace as profile
from autograder.checks.numerics import close, explained, shown
from autograder.model import Failed, Passed, Text, Verdict
from autograder.traces.record import Slice, Trace

Answers = Mapping[str, Any]
Group = Literal["gpu", "data", "work", "cpu"]
US, MS = 1e3, 1e6  # ns


@dataclass(frozen=True)
class Question:
    """What answers a question: a quantity of `traces.claims` in a unit, or a slice of the breakdown in percent."""

    quantity: str = ""
    unit: float = 1.0
    slice: str = ""
    most: float = 1e12


def percent(quantity: str = "", slice: str = "") -> Question:  # noqa: A002
    """Declare a share."""
    return Question(quantity, 1.0, slice, 100.0)


ON_A_GPU: Mapping[str, Question] = {
    "gpu_utilization_percent": percent("gpu_utilization"),
    "gaps_over_1ms": Question("gaps"),
    "gap_cause": Question(),
    "host_to_device_ms": Question("h2d_time", MS),
    "copy_overlap_percent": percent("copy_overlap"),
    "data_wait_percent": percent("data_loading"),
    "small_kernels_percent": percent("small_kernels"),
    "kernel_mean_us": Question("kernel_mean", US),
    "launching_percent": percent(slice="launching"),
    "host_busy_percent": percent("host_busy"),
    "longest_wait_ms": Question("longest_wait", MS),
}
ON_A_CPU: Mapping[str, Question] = {
    "operators_percent": percent("operator_share"),
    "operator_gaps_over_1ms": Question("operator_gaps"),
    "gap_cause": Question(),
    "host_to_device_ms": Question("h2d_time", MS),
    "copy_overlap_percent": percent("copy_overlap"),
    "data_wait_percent": percent("data_loading"),
    "small_operators_percent": percent("small_operators"),
    "operator_mean_us": Question("operator_mean", US),
    "python_percent": percent(slice="Python and other"),
    "host_busy_percent": percent("host_busy"),
    "longest_wait_ms": Question("longest_wait", MS),
}
GROUPS: Mapping[Group, slice] = {
    "gpu": slice(3),
    "data": slice(3, 6),
    "work": slice(6, 9),
    "cpu": slice(9, 11),
}
CAUSES = (
    "between queued work",
    "data loading",
    "allocating",
    "synchronising",
    "launching",
    "Python and other",
)
NEARLY = 0.9  # of the largest cause: which of the two is larger is then a matter of the run
POINTS, RELATIVE = 2.0, 0.03  # how far a share may be off
EXACT = 1e-3  # relative: a made profile leaves nothing but rounding
NESTED = 50  # brackets, far more than the answers have


def asked(answers: Answers) -> Mapping[str, Question]:
    """Tell by its own names which of the two forms is meant."""
    own = [name for name in ON_A_GPU if name not in ON_A_CPU]
    return ON_A_GPU if any(name in answers for name in own) else ON_A_CPU


def of_group(questions: Mapping[str, Question], group: Group) -> Sequence[str]:
    """Return the names of a group."""
    return list(questions)[GROUPS[group]]


# --- the form ---------------------------------------------------------------------------------------------------------


def parsed(text: Text) -> tuple[Answers, str]:
    """Read a file of answers; the problem says why there are none."""
    if len(re.findall(r"[\[{]", text.text)) > NESTED:
        return {}, "it is nested; it must be one object"
    try:
        found = json.loads(text.text)
    except ValueError as error:
        return {}, f"it is no JSON: {error}"
    return (
        (found, form_problem(found))
        if isinstance(found, dict)
        else ({}, "it is not one object, {...}")
    )


def form_problem(answers: Answers) -> str:
    """Say which name is missing, not asked for, or holds something of another kind."""
    questions = asked(answers)
    names = [*questions, "reason"]
    odd = [name for name in answers if name not in names] or [
        name for name in names if name not in answers
    ]
    if odd and odd[0] in {*ON_A_GPU, *ON_A_CPU} and odd[0] not in names:
        return (
            f"'{odd[0]}' is of the other form: the names are those with a GPU, or those without one"
        )
    if odd:
        return f"'{odd[0][:60]}' is {'missing' if odd[0] in names else 'none of the answers'}"
    wrong = next(
        filter(None, (_kind_problem(name, answers[name], questions[name]) for name in questions)),
        "",
    )
    return wrong or _reason_problem(answers)


def _kind_problem(name: str, value: Any, question: Question) -> str:
    if value is None:
        return ""
    if name == "gap_cause":
        fine, kind = isinstance(value, str) and value in CAUSES, f"one of {', '.join(CAUSES)}"
    else:
        number = isinstance(value, float | int) and not isinstance(value, bool)
        fine, kind = number and 0 <= value <= question.most, f"a number from 0 to {question.most:g}"
    return "" if fine else f"{name} is {repr(value)[:60]}; it must be {kind}, or null"


def _reason_problem(answers: Answers) -> str:
    reason = answers["reason"]
    if not (reason is None or isinstance(reason, str)):
        return f"reason is {repr(reason)[:60]}; it must be words, or null"
    empty, told = (
        [name for name, value in answers.items() if value is None and name != "reason"],
        reason and reason.strip(),
    )
    if empty and not told:
        return f"{empty[0]} is null, and reason does not say why"
    return "reason says why something is null, and nothing is" if told and not empty else ""


# --- answers about made profiles --------------------------------------------------------------------------------------


def made_problem(
    told: Answers, known: Answers, slips: Mapping[str, Mapping[str, float]], group: Group
) -> str:
    """Say how the answers of a group are not those of a made profile."""
    questions = asked(known)
    for name in of_group(questions, group):
        if name not in told:
            return f"'{name}' is missing"
        value, right = told[name], known[name]
        if value != right and not (isinstance(right, float | int) and _exact(value, float(right))):
            why = (
                _story(value, right, questions[name], slips.get(name, {}))
                if isinstance(right, float | int)
                else ""
            )
            return f"{name} is {shown(value)}, and {shown(right)} is right{': ' * bool(why)}{why}"
    nulls = [name for name in questions if known[name] is None]
    if group == "data" and bool(nulls) == (told.get("reason") is None):
        return f"reason is {shown(told.get('reason'))}, and {len(nulls)} of the answers are None"
    return ""


def _exact(value: Any, right: float) -> bool:
    return isinstance(value, float | int) and (
        close(value, right, EXACT) or abs(value - right) < 1e-6
    )


def _story(value: Any, right: float, question: Question, slips: Mapping[str, float]) -> str:
    if not isinstance(value, float | int):
        return ""
    if question.most == 100.0:
        stories = [
            (right / 100, "that is the fraction, and it must be in percent"),
            (100 - right, "that is the rest"),
        ]
    else:
        stories = [
            (1000 * right, "the unit is one step too small"),
            (right / 1000, "the unit is one step too large"),
        ]
    return explained(
        value, [*((number, words) for words, number in slips.items()), *stories], EXACT
    )


# --- answers about the profile that was handed in ---------------------------------------------------------------------


def fit(answers: Answers, trace: Trace, group: Group, *, try_: str) -> Verdict:
    """Pass a group of answers that the profile handed in with them bears out."""
    questions = asked(answers)
    has_gpu = profile.has_gpu(trace)
    if has_gpu != (questions is ON_A_GPU):
        names = "with a GPU" if questions is ON_A_GPU else "without one"
        return Failed(
            f"the answers are those {names}",
            f"{trace.file} holds {'the' if has_gpu else 'no'} work of a GPU",
            try_,
        )
    found = [
        _judged(name, answers[name], questions[name], trace, try_)
        for name in of_group(questions, group)
    ]
    wrong = next((one for one in found if isinstance(one, Failed)), None)
    return wrong or Passed("; ".join(one.measured for one in found if isinstance(one, Passed)))


def _judged(name: str, value: Any, question: Question, trace: Trace, try_: str) -> Verdict:
    known = _known(question, trace)
    if value is None:
        told = f"{name} is null"
        return (
            Failed(told, f"{trace.file} says it: {known}", try_)
            if known
            else Passed(f"{told}: nothing says it")
        )
    if not known:
        return Failed(
            f"{name} is {shown(value)}",
            f"{trace.file} cannot say it: null is right, with a reason",
            try_,
        )
    if question.quantity:
        seen = profile.agrees(trace, question.quantity, float(value) * question.unit, try_=try_)
        return (
            Failed(f"{name}: {seen.measured}", seen.why, try_) if isinstance(seen, Failed) else seen
        )
    return _of_the_breakdown(name, value, question, trace, try_)


def _known(question: Question, trace: Trace) -> str:
    """Say what a profile knows, in a few words, or nothing."""
    if question.quantity:
        return profile.known(trace, question.quantity)
    return ", ".join(f"{one.name} {share:.1f} %" for one, share in idle(trace)[:2])


def _of_the_breakdown(
    name: str, value: Any, question: Question, trace: Trace, try_: str
) -> Verdict:
    parts = idle(trace)
    words = f"{name} is {value if isinstance(value, str) else shown(value)}; idle time is {_listed(parts)}"
    if not question.slice:
        fine = any(one.name == value and share >= NEARLY * parts[0][1] for one, share in parts)
        return Passed(words) if fine else Failed(words, f"{parts[0][0].name} is the largest", try_)
    share = next((share for one, share in parts if one.name == question.slice), 0.0)
    fine = abs(value - share) <= max(POINTS, RELATIVE * share)
    return (
        Passed(words)
        if fine
        else Failed(words, f"{question.slice} takes {share:.1f} % of the steps", try_)
    )


def _listed(parts: Sequence[tuple[Slice, float]]) -> str:
    return ", ".join(f"{one.name} {share:.1f} %" for one, share in parts)


def idle(trace: Trace) -> list[tuple[Slice, float]]:
    """Return what idle time is put to, the largest first, with its share of the window in percent."""
    parts = next(iter(trace.breakdown.values()), ())
    whole = sum(one.ns for one in parts) or 1
    causes = [(one, 100.0 * one.ns / whole) for one in parts if one.name in CAUSES]
    return sorted(causes, key=lambda pair: -pair[1])
