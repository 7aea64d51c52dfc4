"""Judges four answers about a profile: their form, those about a made profile, and those handed in beside one.

They are data_loading_percent, gpu_utilization_percent and its band, host_to_device_ms, top_operators, and the reason
for what is null. A problem is one sentence, or nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from autograder.checks import trace as profile
from autograder.checks.numerics import close, explained, shown
from autograder.model import Failed, Passed, Text, Verdict
from autograder.traces.record import Trace

NAMES = (
    "data_loading_percent",
    "gpu_utilization_percent",
    "gpu_utilization_band",
    "host_to_device_ms",
    "top_operators",
    "reason",
)
MOST = {"data_loading_percent": 100.0, "gpu_utilization_percent": 100.0, "host_to_device_ms": 1e12}
OF_A_GPU = ("gpu_utilization_percent", "gpu_utilization_band", "host_to_device_ms")
TOP = 3
LONGEST = 400  # characters of an operator
LOW, HIGH = 50.0, 80.0  # percent
EXACT = 1e-3  # relative: a made trace leaves nothing but rounding
ROUNDED = 0.051  # percentage points: of one decimal
ROUNDED_MS = 0.0051  # ms: of two decimals
GPU_WINDOW = "that is the share of a window that the steps' gpu_user_annotations belong to"
NESTED = 50  # brackets, far more than the answers have
Answers = Mapping[str, Any]


def band(percent: float) -> str:
    """Return the word for a utilization."""
    return "low" if percent < LOW else "high" if percent > HIGH else "medium"


def parsed(text: Text) -> tuple[Answers, str]:
    """Read a file of answers; the problem says why there are none."""
    if len(re.findall(r"[\[{]", text.text)) > NESTED:
        return {}, "it is nested; it must be one object"
    try:
        found = json.loads(text.text)
    except ValueError as error:
        why = "json.dumps(answers) writes it, numbers with a decimal point and null for None"
        return {}, f"it is not JSON: {why} ({error})"
    return (
        (found, form_problem(found))
        if isinstance(found, dict)
        else ({}, "it is not one object, {...}")
    )


def form_problem(answers: Answers) -> str:
    """Say which name is missing, not asked for, or holds something of another kind."""
    odd = [name for name in NAMES if name not in answers] or [
        name for name in answers if name not in NAMES
    ]
    if odd:
        return f"'{odd[0][:60]}' is {'missing' if odd[0] in NAMES else 'not asked for'}"
    for name, most in MOST.items():
        if not (_number(answers[name], most) or (answers[name] is None and name in OF_A_GPU)):
            asked = f"it must be a number from 0 to {most:g}" + ", or null without a GPU" * (
                name in OF_A_GPU
            )
            return f"{name} is {_quoted(answers[name])}; {asked}"
    top, reason = answers["top_operators"], answers["reason"]
    if not (isinstance(top, list) and len(top) == TOP and all(_is_name(name) for name in top)):
        return f"top_operators is {_quoted(top)}; it must be a list of three names"
    if not (reason is None or isinstance(reason, str)):
        return f"reason is {_quoted(reason)}; it must be words, or null"
    return _missing_reason(answers) or _wrong_band(answers)


def _number(value: Any, most: float) -> bool:
    return isinstance(value, float | int) and not isinstance(value, bool) and 0 <= value <= most


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= LONGEST


def _quoted(value: Any) -> str:
    return "null" if value is None else repr(value)[:60]


def _missing_reason(answers: Answers) -> str:
    empty = [name for name in OF_A_GPU if answers[name] is None]
    told = bool((answers["reason"] or "").strip())
    if empty and not told:
        return f"{empty[0]} is null, and reason does not say why"
    return "reason says why something is null, and nothing is" if told and not empty else ""


def _wrong_band(answers: Answers) -> str:
    percent, told = answers["gpu_utilization_percent"], answers["gpu_utilization_band"]
    words = {None} if percent is None else {band(percent - ROUNDED), band(percent + ROUNDED)}
    if told in words:
        return ""
    right = (
        "a utilization of null has no band: null"
        if percent is None
        else f"{shown(percent)} % is {_quoted(band(percent))}"
    )
    return f"gpu_utilization_band is {_quoted(told)}, and {right}"


def loading_problem(answers: Answers, known: Answers) -> str:
    """Say how the share of waiting is not that of a made trace."""
    stories = [
        (known["loading"] / 100, "that is the fraction, and it must be in percent"),
        (known["loading_outside"], "waits outside of the steps are counted as well"),
        (
            known["loading_of_all"],
            "that is the share of the whole recording, and the steps are the window",
        ),
        (known["loading_of_gpu"], GPU_WINDOW),
        (100 - known["loading"], "that is the rest of the window"),
    ]
    return _differs("data_loading_percent", answers, known["loading"], stories)


def gpu_problem(answers: Answers, known: Answers) -> str:
    """Say how the answers about the GPU are not those of a made trace."""
    if known["busy"] is None:
        filled = [name for name in OF_A_GPU if answers[name] is not None]
        words = (
            f"{filled[0]} is {shown(answers[filled[0]])} in a trace without a GPU" if filled else ""
        )
        return words or _missing_reason(answers)
    stories = [
        (known["summed"], "durations were added up, and kernels that overlap counted twice"),
        (
            known["busy_of_all"],
            "that is the share of the whole recording, and the steps are the window",
        ),
        (known["busy_of_gpu"], GPU_WINDOW),
        (known["busy"] / 100, "that is the fraction, and it must be in percent"),
    ]
    units = [
        (1000 * known["copied"], "that is in microseconds, and it must be in ms"),
        (known["copied"] / 1000, "that is in seconds, and it must be in ms"),
        (known["copied_both"], "that counts the copies from the device as well"),
        (known["copied_inside"], "that is what the window holds, and all of the trace counts"),
    ]
    return (
        _differs("gpu_utilization_percent", answers, known["busy"], stories)
        or _differs("host_to_device_ms", answers, known["copied"], units)
        or _missing_reason(answers)
        or _wrong_band(answers)
    )


def top_problem(answers: Answers, known: Answers) -> str:
    """Say how the names are not those with the most own time."""
    if answers["top_operators"] == known["top"]:
        return ""
    named = ", ".join(answers["top_operators"])
    return f"top_operators are {named}; by their own time they are {', '.join(known['top'])}"


def _differs(
    name: str, answers: Answers, expected: float, stories: Sequence[tuple[float, str]]
) -> str:
    value = answers[name]
    lost = ROUNDED if name.endswith("_percent") else ROUNDED_MS if name.endswith("_ms") else 0.0
    rounded = value is not None and abs(value - expected) <= lost
    if rounded or close(value, expected, EXACT):
        return ""
    why = explained(value, stories, EXACT)
    return f"{name} is {shown(value)}, and {expected:.4g} is right{': ' * bool(why)}{why}"


def fit(answers: Answers, trace: Trace, *, try_: str) -> Verdict:
    """Pass answers that the profile handed in with them bears out, each under some accepted definition."""
    busy, found = trace.figure("busy_kernel"), []
    if (busy is None) != (answers["gpu_utilization_percent"] is None):
        told = f"gpu_utilization_percent is {_quoted(answers['gpu_utilization_percent'])}"
        return Failed(
            told, f"{trace.file} holds {'no' if busy is None else 'the'} work of a GPU", try_
        )
    found.append(profile.agrees(trace, "data_loading", answers["data_loading_percent"], try_=try_))
    if busy is not None:
        found.append(
            profile.agrees(trace, "gpu_utilization", answers["gpu_utilization_percent"], try_=try_)
        )
    if trace.figure("h2d_time") is not None:
        found.append(
            profile.agrees(
                trace, "h2d_time", (answers["host_to_device_ms"] or 0.0) * 1e6, try_=try_
            )
        )
    elif answers["host_to_device_ms"]:
        return Failed(
            f"host_to_device_ms is {answers['host_to_device_ms']:.4g}",
            f"{trace.file} holds no copy",
            try_,
        )
    found.append(profile.names_top(profile.work_of(trace), answers["top_operators"], try_=try_))
    wrong = next((one for one in found if isinstance(one, Failed)), None)
    return wrong or Passed("; ".join(one.measured for one in found if isinstance(one, Passed)))
