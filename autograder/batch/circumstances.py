"""Under which circumstances a class is graded: what a grade depends on, and what else is worth recording."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

from autograder import __version__
from autograder.batch import judging_code
from autograder.batch.journal import Circumstances
from autograder.batch.lanes import Work
from autograder.config import PartConfig
from autograder.grading.kit import Kit, Session


def circumstances(work: Work, session: Session) -> Circumstances:
    """Gather what a grade depends on: when any of it changes, what rests on it is graded again."""
    kit, device = work.kit, session.device
    code, parts = rests_on(kit, device.tier, work.parts)
    return Circumstances(
        lab=kit.lab.name,
        lab_version=str(kit.config.version),
        code=code,
        grader=__version__,
        device=json.dumps(asdict(device), sort_keys=True),
        isolation=session.isolation,
        only=work.only,
        parts=parts,
    )


def rests_on(kit: Kit, tier: str, chosen: Collection[str] = ()) -> tuple[str, str]:
    """Return what verdicts on a tier depend on: a hash of what all parts share, and JSON of each part's own."""
    given = {name: sha256(data).hexdigest() for name, data in kit.given.items()}
    own = {part.id: _own(kit, part.id) for part in kit.lab.parts}
    parts = {
        part: _matters(kit.config.parts[part], made_of, tier)
        for part, made_of in own.items()
        if not chosen or part in chosen
    }
    return _hash({**given, **judging_code.shared()}), json.dumps(parts, sort_keys=True)


def changed(then: str, now: str) -> list[str]:
    """Name what parts rest on now and did not then, as a person would look for it."""
    before, after = json.loads(then), json.loads(now)
    names = [f"{part}, which is off" for part in before if part not in after]
    for part, rests in after.items():
        names += _changed(part, before.get(part), rests)
    return names


def _changed(part: str, then: Mapping[str, Any] | None, now: Mapping[str, Any]) -> Iterator[str]:
    if then is None:
        yield f"{part}, which is new"
        return
    if then["runs"] != now["runs"]:
        yield f"the limits or the files of {part}"
    yield from (
        f"{part}.{name}, which is off" for name in then["checks"] if name not in now["checks"]
    )
    for name, (points, bar) in now["checks"].items():
        worth, level = then["checks"].get(name, (None, None))
        if worth != points:
            yield f"the points of {part}.{name}"
        elif level != bar:
            yield f"the bar of {part}.{name}"
    if any(then[key] != now[key] for key in ("rubric", "bonus")):
        yield f"what a person reads of {part}, or whether it is a bonus"


def still_good(then: str, now: str) -> dict[str, list[str]]:
    """Name the checks of each part whose verdicts still count: nothing that they rest on has changed, points aside."""
    before, after = json.loads(then), json.loads(now)
    return {
        part: _with_the_same_bar(before[part]["checks"], rests["checks"])
        for part, rests in after.items()
        if part in before and rests["runs"] == before[part]["runs"]
    }


def _with_the_same_bar(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    bars = {name: bar for name, (_, bar) in before.items()}
    return [name for name, (_, bar) in after.items() if bar == bars.get(name, "")]


def machine(session: Session) -> dict[str, Any]:
    """Return on what machine a session ran, and how."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    return {
        "device": session.device.name,
        "versions": dict(session.device.versions),
        "isolation": session.isolation,
        "kernel": platform.release(),
        "host": platform.node(),
        "boot": boot.read_text(encoding="ascii").strip() if boot.exists() else "",
        "cores": len(os.sched_getaffinity(0)),
        "command": sys.argv[1:],
    }


def _matters(part: PartConfig, files: Mapping[str, str], tier: str) -> dict[str, Any]:
    """What of a part affects its verdicts and points on this tier: not where a bar comes from, nor other bars."""
    bars = {name: check.bar_for(tier) for name, check in part.checks.items()}
    checks = {
        name: [check.points, None if bars[name] is None else check.bar[tier]]
        for name, check in part.checks.items()
    }
    runs = _hash({"files": files, "limits": asdict(part.limits)})
    return {"runs": runs, "checks": checks, "rubric": dict(part.rubric), "bonus": part.bonus}


def _own(kit: Kit, part: str) -> dict[str, str]:
    """Hash what is one part's alone: what it is compared with, and the code that judges it."""
    baseline = kit.baseline.get(f"{part}.py", b"")
    return {"baseline": sha256(baseline).hexdigest(), **judging_code.own(kit.lab.name, part)}


def _hash(value: Any) -> str:
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
