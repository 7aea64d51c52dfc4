"""Reads `result.json`, whichever version wrote it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from autograder.errors import ReadError
from autograder.model import Cause, CheckResult, Result
from autograder.records import from_json

FORMAT = 2  # 2: checks have a cause. 1: the first.
CAUSES: Mapping[str, Cause] = {word: word for word in get_args(Cause)}


def load_result(file: Path) -> Result:
    """Read a `result.json` from disk; whatever is wrong with it is said with its folder's name."""
    where = f"{file.parent.name}/{file.name}"
    try:
        value = json.loads(file.read_bytes())
    except FileNotFoundError:
        raise ReadError(
            f"{where}: no result there; each lies in the folder of its submission"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise ReadError(f"{where}: cannot be read: {error}") from None
    return read_result(value, where)


def read_result(value: Any, where: str) -> Result:
    """Read a result of this format or an older one; a newer one is named as such."""
    written = value.get("format") if isinstance(value, dict) else None
    if written not in (1, FORMAT):
        raise ReadError(f"{where}: format {written!r}; this perflab reads formats 1 to {FORMAT}")
    result = from_json(Result, value, where)
    if result.format == 1:
        return _with_causes(result)
    return result


def _with_causes(result: Result) -> Result:
    """Turn a result of format 1 into one of today's: there, sentences and the reason of what failed said the cause."""
    parts = tuple(
        replace(part, checks=tuple(_with_cause(check) for check in part.checks))
        for part in result.parts
    )
    return replace(result, format=FORMAT, parts=parts)


def _with_cause(check: CheckResult) -> CheckResult:
    if check.outcome == "failed" and check.reason in CAUSES:
        unwritten = check.reason == "raised" and "is not written yet" in check.why
        cause: Cause = "unwritten" if unwritten else CAUSES[check.reason]
        return replace(check, reason="", cause=cause)
    if check.reason == "waits for its turn at the clock":
        return replace(check, cause="clock")
    if check.reason.startswith("set aside"):
        return replace(check, cause="aside")
    return check
