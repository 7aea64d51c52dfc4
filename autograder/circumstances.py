"""Under which circumstances a class is graded: what a grade depends on, and what else is worth recording."""

from __future__ import annotations

import json
import os
import platform
import sys
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

from autograder import __version__
from autograder.config import PartConfig
from autograder.grade import Kit, Session
from autograder.gradebook import Circumstances
from autograder.lanes import Work

LABS = Path(__file__).parent / "labs"


def circumstances(work: Work, session: Session) -> Circumstances:
    """Gather what a grade depends on: when any of it changes, what was graded before is graded again."""
    kit, device = work.kit, session.device
    parts = [part.id for part in kit.lab.parts if not work.parts or part.id in work.parts]
    config = {part: _matters(kit.config.parts[part], device.tier) for part in parts}
    return Circumstances(
        lab=kit.lab.name,
        lab_version=str(kit.config.version),
        config=_hash(config),
        code=_hash(_code(kit)),
        grader=__version__,
        device=json.dumps(asdict(device), sort_keys=True),
        isolation=session.isolation,
        selection=json.dumps({"parts": parts, "only": work.only}),
    )


def machine(session: Session) -> dict[str, Any]:
    """Say on what machine a session ran, and how."""
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


def _matters(part: PartConfig, tier: str) -> dict[str, Any]:
    """What of a part's configuration affects its points on this tier: not where a bar comes from, nor other bars."""
    checks = {name: [check.points, check.bar.get(tier)] for name, check in part.checks.items()}
    return {"checks": checks, "limits": asdict(part.limits), "rubric": dict(part.rubric)}


def _code(kit: Kit) -> dict[str, str]:
    files = {**kit.given, **{f"baseline/{name}": data for name, data in kit.baseline.items()}}
    files |= {path.name: path.read_bytes() for path in sorted((LABS / kit.lab.name).glob("*.py"))}
    return {name: sha256(data).hexdigest() for name, data in files.items()}


def _hash(value: Any) -> str:
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
