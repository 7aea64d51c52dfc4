"""What a probe puts beside the student's code in its process.

These are scripts, moved clocks, recorders and made files. They are read off the text of the probe
and of what that calls in its file. A submission may read there what a script expects, or write what
a recorder noted. What a probe notes in a list of its own is not seen here.
"""

from __future__ import annotations

import ast

from autograder.course.reach import definitions, parsed, source
from autograder.lab import Check, Lab, Part, Probe

BESIDE = frozenset({
    "asked_of_compile", "averaged", "backend", "backward_nodes", "busy_since", "calls.cost", "calls.flags",
    "calls.flops", "calls.operands", "calls_counted", "captured", "capturing", "clock",
    "compiled", "compiler", "computed", "cycles", "decorated", "downloads",
    "eager_trainings", "fetches", "figures", "graphs", "grouped", "handled", "inference",
    "launches", "left_behind", "linked", "loader_for", "loading.built", "loading.moves", "loading.scripted",
    "loading.step", "loading.streams", "machine", "made_program", "matched.hopeless",
    "matched.profile", "matched.profile_with_slips", "matched.run", "matched.versions", "measured",
    "metered", "nightly", "nodes", "on_a_gpu", "on_meta", "op_dtypes", "plans.measured", "profiled",
    "profiles.made", "profiles.ranges", "profiles.timeline", "profiles.training", "programs",
    "queue", "ranges", "ranks", "reduced", "resnet_trainings", "saved", "scaler_calls", "script",
    "scripted_call", "scripted_net", "scripted_version", "sharding", "shares", "sizes", "stepping",
    "sums", "tiles", "traffic", "trainings", "turned", "waits", "would_launch",
})  # fmt: skip
"""Of the rig."""
HOOKS = frozenset({"listeners", "register_forward_hook", "register_step_post_hook", "watching"})
"""Of what a student's code is handed."""


def undeclared(lab: Lab) -> list[str]:
    """Name the checks that claim to rest on outputs and read what stands beside the code.

    And those that say why this is right where they need not.
    """
    checks = [(part, check) for part in lab.parts for check in part.checks.values()]
    problems = (_problem(part, check) for part, check in checks)
    return [problem for problem in problems if problem]


def _problem(part: Part, check: Check) -> str:
    name = f"{part.id}.{check.name}"
    helped, words = _first_helped(part, check)
    if check.compared and (check.basis != "outputs" or not helped):
        return (
            f"{name}: compared= is for outputs of a probe with a script or a recorder; leave it out"
        )
    if check.basis != "outputs" or check.compared or not helped:
        return ""
    return (
        f"{name}: basis is 'outputs', and {helped} puts {', '.join(sorted(words))} "
        "beside the student's code; say basis='scripted' or 'report', "
        "or in compared= what is compared with the baseline's"
    )


def _first_helped(part: Part, check: Check) -> tuple[str, set[str]]:
    """Return the first probe of a check that puts something beside the code, and what that is."""
    for name in check.reads:
        if name in part.probes:
            words = beside(part.probes[name])
            if words:
                return name, words
    return "", set()


def beside(probe: Probe) -> set[str]:
    """Name what a probe puts beside the student's code."""
    file, run = source(probe)
    tree = parsed(file.read_text(encoding="utf-8"))
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    # Backwards, so that the outermost of a name stays.
    defined = definitions(statements[::-1])
    called = set[str]()
    todo = {run} & defined.keys() or set(defined)  # one that is made: whatever its file does
    while todo:
        name = todo.pop()
        called.add(name)
        todo |= (_named(defined[name]) & defined.keys()) - called
    return set[str]().union(*(_used(defined[name]) for name in called))


def _named(code: ast.AST) -> set[str]:
    """Return the names that some code reads and does not set."""
    names = [node for node in ast.walk(code) if isinstance(node, ast.Name)]
    stored = {name.id for name in names if isinstance(name.ctx, ast.Store)}
    return {name.id for name in names} - stored


def _used(code: ast.AST) -> set[str]:
    attributes = [node for node in ast.walk(code) if isinstance(node, ast.Attribute)]
    texts = [ast.unparse(attribute) for attribute in attributes]
    of_rig = {text.removeprefix("rig.") for text in texts if text.startswith("rig.")}
    hooks = {attribute.attr for attribute in attributes}
    return (of_rig & BESIDE) | (hooks & HOOKS)
