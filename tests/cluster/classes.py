"""A class that is graded without a worker: one table each, of three kinds; and the real command that grades it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict

from autograder.course import find_root

TABLE = (find_root() / "reference/resnet18/amp_results.csv").read_bytes()
KINDS = {"right": TABLE, "other": b"a,b\n1,2\n", "empty": b""}
PERFLAB = [sys.executable, "-P", "-m", "autograder.cli"]


def hand_in(root, many):
    """Write so many submissions."""
    for number in range(many):
        kind = list(KINDS)[number % len(KINDS)]
        (root / f"{kind}{number}").mkdir(parents=True)
        (root / f"{kind}{number}" / "amp_results.csv").write_bytes(KINDS[kind])
    return root


def command(handed_in, out, *options):
    """Return the words of the command."""
    where = [
        "--course",
        find_root(),
        "--out",
        out,
        "--part",
        "part3",
        "--device",
        "cpu",
        "--isolation",
        "none",
    ]
    return [*PERFLAB, "grade", "resnet18", *map(str, [handed_in, *where, "--json", *options])]


def start(environ, *arguments):
    """Start the command in a process group of its own."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command(*arguments), env=environ, start_new_session=True, **pipes)


def until(process, holds):
    """Read events until it holds of those that were read, or there is none; return them."""
    seen = []
    while not holds(seen) and (line := process.stdout.readline()):
        seen.append(json.loads(line))
    return seen


def named(events, what):
    """Return the submissions that something happened to."""
    return [event["submission"] for event in events if event["event"] == what]


def verdicts(out):
    """Return what each kind of submission got; of a kind all get the same."""
    found = defaultdict(set)
    for file in out.glob("*/result.json"):
        result = json.loads(file.read_text())
        checks = [
            (c["id"], c["outcome"], c["points"], c["measured"])
            for p in result["parts"]
            for c in p["checks"]
        ]
        found[result["submission"].rstrip("0123456789")].add(
            json.dumps([result["score"], result["owed"], checks])
        )
    return dict(found)
