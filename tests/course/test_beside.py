"""What stands beside a student's code: a check that it decides cannot be called one of outputs by mistake."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autograder.course import Course, find_root
from autograder.course.beside import BESIDE, beside, undeclared
from autograder.course.expectations import over_their_share
from autograder.lab import Lab, Part, Probe
from autograder.worker.rig import Rig
from tests.course import probes
from tests.worker.harness import own_rig

COURSE = Course(find_root())
PARTS = [(name, part) for name in COURSE.labs for part in COURSE.kit(name).lab.parts]
PLAIN = {
    "answers", "autocast", "batch", "calls_of_modules", "changed",
    "clear_batches", "copies", "criterion", "device", "doubles", "draw", "drop_alike", "dtype", "epochs",
    "evaluated",
    "exact", "file_bytes", "file_text", "flops_of_mlps", "flat", "folder", "generates", "generator", "given",
    "global_draws", "gradients", "half_as_on_a_gpu", "hooks_on", "install", "integer", "kept",
    "language", "language_model", "layers", "left", "made_cache", "made_folder",
    "made_mask", "models", "net", "nets", "no_grad", "number", "nvcc", "one_step",
    "pass_through", "peak_mb", "picture", "pooled", "program", "random", "refusal",
    "repeated", "return_memory_at_once", "returned", "rows", "rows_of", "sample", "saved_weights", "seconds",
    "seed", "seed_globally", "series", "side", "small_training", "steps", "table", "tensor",
    "text", "threads", "tokens", "told_to_ask", "tools", "training", "transposed", "trusted", "unchanged",
    "uninstall", "watched", "weights_of", "whole_batch", "window", "without_relus", "with_weights", "word", "written",
    "calls.asked", "calls.backward", "calls.computed", "calls.given", "calls.gradients",
    "calls.overwrite", "calls.rounded", "loading.device", "loading.dice", "loading.epoch",
    "loading.pictures", "matched.rows", "matched.simple_net", "plans.mistaken", "plans.resnet50", "plans.small",
    "profiles.lines", "profiles.profiling",
}  # fmt: skip
"""Of the rig: draws inputs, reads what was returned, or runs the student's code; knows no answer."""


def rigs(folder):
    """The toolkit that parts share, and each part's own."""
    kinds = {Rig, *(own_rig(part) for _, part in PARTS)}
    return [kind(seed=1, side="student", device="cpu", folder=folder) for kind in kinds]


def test_all_of_the_rig_is_known_to_stand_beside_the_code_or_not(tmp_path):
    """Whoever adds a toolkit says which it is; of one that is split, each of its names."""
    split = {name.split(".")[0] for name in PLAIN | BESIDE if "." in name}
    of_the_rig = {name for rig in rigs(tmp_path) for name in dir(rig) if not name.startswith("_")}
    of_toolkits = {
        f"{kit}.{name}"
        for rig in rigs(tmp_path)
        for kit in split & {*dir(rig)}
        for name in dir(getattr(rig, kit))
        if not name.startswith("_")
    }

    assert set() == PLAIN & BESIDE
    assert of_the_rig - split | of_toolkits == PLAIN | BESIDE


@pytest.mark.parametrize(
    ("run", "words"),
    [
        pytest.param(probes.scripted, {"clock", "loading.step"}, id="through another function"),
        pytest.param(probes.with_a_recorder, {"waits"}, id="a recorder"),
        pytest.param(probes.with_a_hook, {"register_step_post_hook"}, id="a hook"),
        pytest.param(probes.maker(), {"clock"}, id="a function within another"),
        pytest.param(probes.with_data, set(), id="data alone, under the name of a function"),
    ],
)
def test_what_a_probe_puts_beside_the_code_is_read_off_its_text(run, words):
    assert words == beside(Probe(run.__name__, run))


def declared(run, **how):
    """A lab of one check, which reads one probe."""
    part = Part("part1_toy", writes=[])
    part.probe()(run)

    def holds(): ...

    check = part.check(**how)(holds)
    part.checks["holds"] = replace(part.checks[check.__name__], reads=(run.__name__,))
    return Lab("toy", (part,))


UNDECLARED = (
    "part1_toy.holds: basis is 'outputs', and scripted puts clock, loading.step beside the student's code; say "
    "basis='scripted' or 'report', or in compared= what is compared with the baseline's"
)
LEFT_OVER = (
    "part1_toy.holds: compared= is for outputs of a probe with a script or a recorder; leave it out"
)


@pytest.mark.parametrize(
    ("lab", "problems"),
    [
        pytest.param(
            declared(probes.scripted, basis="outputs"),
            [UNDECLARED],
            id="outputs of a script",
        ),
        pytest.param(declared(probes.scripted, basis="scripted"), [], id="scripted"),
        pytest.param(declared(probes.scripted, basis="report"), [], id="a report"),
        pytest.param(
            declared(probes.scripted, basis="outputs", compared="losses"), [], id="compared outside"
        ),
        pytest.param(declared(probes.with_data, basis="outputs"), [], id="outputs"),
        pytest.param(
            declared(probes.with_data, basis="outputs", compared="losses"),
            [LEFT_OVER],
            id="nothing beside",
        ),
        pytest.param(
            declared(probes.scripted, basis="scripted", compared="losses"), [LEFT_OVER], id="both"
        ),
    ],
)
def test_a_check_that_a_script_decides_says_so(lab, problems):
    """Or it says what of it is compared with a trusted run."""
    assert problems == undeclared(lab)


@pytest.mark.parametrize("name", COURSE.labs)
def test_every_check_of_a_lab_says_what_it_rests_on(name):
    """And what stands beside the code decides no more than its share of any part."""
    kit = COURSE.kit(name)

    assert [] == undeclared(kit.lab)
    assert [] == over_their_share(kit.lab, kit.config)


@pytest.mark.parametrize(("name", "part"), PARTS, ids=[f"{name}-{part.id}" for name, part in PARTS])
def test_a_handout_explains_what_its_checks_rest_on(name, part):
    """Above the table that names it for each of them."""
    text = (COURSE.root / "assignments" / name / f"{part.id}.md").read_text(encoding="utf-8")

    assert all(f"*{basis}*" in text for basis in {check.basis for check in part.checks.values()})
