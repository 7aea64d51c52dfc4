"""Gradescope: results.json of one submission as its autograder specification has it, and the
zip that grades there.
"""

from __future__ import annotations

import io
import json
import math
import statistics
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from autograder.export import message
from autograder.grading.scoring import worth
from autograder.model import CheckResult
from autograder.report.outcome_words import SETTLED_BY, bonus, points
from autograder.results.standing import Standing

IMAGE = Path(__file__).parent / "gradescope_image"
STATUS = {
    "passed": "passed",
    "failed": "failed",
    "skipped": "failed",
}  # of a partial one the points speak


def results(standing: Standing) -> str:
    """Write results.json; every text is plain text, so nothing of a student becomes markup."""
    return json.dumps(_results(standing), indent=1, ensure_ascii=False) + "\n"


def zipped(lab: str, wheel: Path) -> bytes:
    """Make the zip that Gradescope takes as an autograder.

    Setup.sh and run_autograder, the lab's name, perflab.
    """
    whole = io.BytesIO()
    files = {path.name: path.read_bytes() for path in sorted(IMAGE.iterdir()) if path.is_file()}
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {
            **files,
            "lab.txt": f"{lab}\n".encode(),
            wheel.name: wheel.read_bytes(),
        }.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o755 if name in files else 0o644) << 16
            archive.writestr(entry, data)
    return whole.getvalue()


def _results(standing: Standing) -> dict[str, Any]:
    result = standing.result
    return {
        "score": standing.final,
        "execution_time": round(result.seconds),
        "output": "\n".join(_lines(standing)),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "extra_data": {
            "seed": result.seed,
            "lab_version": result.lab_version,
            "owed": result.points_owed,
        },
        "tests": [
            _test(f"{i}.{j}", part.id, check)
            for i, part in enumerate(result.parts, 1)
            for j, check in enumerate(part.checks, 1)
        ],
        "leaderboard": list(_speedups(standing)),
    }


def _lines(standing: Standing) -> Iterator[str]:
    result = standing.result
    yield (
        f"{points(result.score)} of {points(result.max_score)} points, {points(result.lost)} lost"
    )
    if bonus(result):
        yield f"bonus: {bonus(result)}"
    for who, words in SETTLED_BY.items():
        if owed := sum(item.points for item in result.owed if item.settled_by == who):
            yield f"{worth(owed)} neither won nor lost: settled by {words}"
    if standing.late:
        yield f"{standing.late}: {worth(standing.late.points)}; {points(standing.final)} remain"
    yield from result.notes


def _test(number: str, part: str, check: CheckResult) -> dict[str, Any]:
    """Describe a check; one that is owed has no maximum here, since it would look lost."""
    most = {} if check.owed else {"max_score": check.max_points}
    status = {"status": STATUS[check.outcome]} if check.outcome in STATUS else {}
    owed = f"owed, {worth(check.owed)}: " if check.owed else ""
    return {
        "score": check.points,
        **most,
        **status,
        "name": f"{owed}{part}.{check.id}: {check.title}",
        "name_format": "text",
        "number": number,
        "output": message(check),
        "output_format": "text",
        "tags": [part, check.basis],
        "visibility": "visible",
        "extra_data": {"outcome": check.outcome},
    }


def _speedups(standing: Standing) -> Iterator[dict[str, Any]]:
    """What passed or nearly passed by the clock.

    Gradescope shows it under pseudonyms, if the assignment says so.
    """
    for part in standing.result.parts:
        for check in part.checks:
            if check.evidence.get("pairs") and check.outcome in ("passed", "partial"):
                speedup = math.exp(statistics.median(check.evidence["pairs"]))
                yield {"name": f"{part.id}.{check.id}", "value": round(speedup, 2), "order": "desc"}
