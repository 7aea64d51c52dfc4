"""What a probe puts beside the student's code in its process: scripts, moved clocks, recorders, made files.

It is read off the text of the probe and of what that calls in its file. A submission may read there what a script
expects, or write what a recorder noted. What a probe notes in a list of its own is not seen here.
"""

from __future__ import annotations

import ast

from autograder.course.reach import definitions, parsed, source
from autograder.lab import Check, Lab, Part, Probe

BESIDE = frozenset({
    "backend", "busy_since", "clock", "compiled", "compiler", "decorated", "downloads", "eager_trainings", "fetches",
    "figures", "graphs", "inference", "launches", "loader_for", "machine", "made_program", "nightly", "nodes",
    "on_a_gpu", "on_meta", "op_dtypes", "programs", "queue", "ranks", "resnet_trainings", "saved",
    "scaler_calls", "script", "scripted_call", "scripted_net", "sizes", "sums", "tiles", "traffic", "trainings",
    "waits",
    "calls.cost", "calls.flags",
    "loading.built", "loading.moves", "loading.scripted", "loading.step", "loading.streams",
    "matched.hopeless", "matched.profile", "matched.run", "matched.versions",
    "plans.measured",
    "profiles.made", "profiles.ranges", "profiles.timeline", "profiles.training",
})  # fmt: skip
"""Of the rig."""
HOOKS = frozenset({"listeners", "register_forward_hook", "register_step_post_hook"})
"""Of what a student's code is handed."""


def undeclared(lab: Lab) -> list[str]:
    """Name the checks that claim to rest on outputs and read what stands beside the code, or need not say why."""
    return [
        problem
        for part in lab.parts
        for check in part.checks.values()
        if (problem := _problem(part, check))
    ]


def _problem(part: Part, check: Check) -> str:
    found = {name: beside(part.probes[name]) for name in check.reads if name in part.probes}
    first = next((name for name, words in found.items() if words), "")
    if check.compared and (check.basis != "outputs" or not first):
        return f"{part.id}.{check.name}: compared= is for outputs of a probe with a script or a recorder; leave it out"
    if check.basis != "outputs" or check.compared or not first:
        return ""
    return (
        f"{part.id}.{check.name}: basis is 'outputs', and {first} puts {', '.join(sorted(found[first]))} beside the "
        "student's code; say basis='scripted' or 'report', or in compared= what is compared with the baseline's"
    )


def beside(probe: Probe) -> set[str]:
    """Name what a probe puts beside the student's code."""
    file, run = source(probe)
    tree = parsed(file.read_text(encoding="utf-8"))
    known = definitions(
        [one for one in ast.walk(tree) if isinstance(one, ast.stmt)][::-1]
    )  # the outermost of a name
    called, todo = set[str](), {run}
    while todo:
        called.add(name := todo.pop())
        todo |= (_named(known[name]) & known.keys()) - called
    return set[str]().union(*(_used(known[name]) for name in called))


def _named(code: ast.AST) -> set[str]:
    """Return the names that some code reads and does not set."""
    names = [one for one in ast.walk(code) if isinstance(one, ast.Name)]
    return {one.id for one in names} - {one.id for one in names if isinstance(one.ctx, ast.Store)}


def _used(code: ast.AST) -> set[str]:
    attributes = [one for one in ast.walk(code) if isinstance(one, ast.Attribute)]
    dotted = {
        ast.unparse(one).removeprefix("rig.")
        for one in attributes
        if ast.unparse(one).startswith("rig.")
    }
    return (dotted & BESIDE) | ({one.attr for one in attributes} & HOOKS)
