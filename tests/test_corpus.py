"""The course proved whole: what `perflab course check` looks at, one test for each thing, with real workers."""

from __future__ import annotations

import os
from functools import partial
from hashlib import sha256

import pytest

from autograder.course import Course, find_root
from autograder.course.build import stale
from autograder.course.cases import load_cases
from autograder.course.expectations import floor, full, over_their_share, undecorated
from autograder.course.proof import prove_case, untimed
from autograder.course.try_mutants import owners
from autograder.grading.grade import grade
from autograder.grading.session import open_session
from autograder.handed_in import submission

pytestmark = pytest.mark.slow
COURSE = Course(find_root())
KITS = {name: COURSE.kit(name) for name in COURSE.labs}
CASES = {
    f"{name}-{case.id}": (name, case)
    for name, kit in KITS.items()
    for case in load_cases(COURSE, kit.lab)
}


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """Nothing is timed here: `make course` does that, for as long as it takes."""
    run = tmp_path_factory.getbasetemp()
    shared = (
        run.parent if "PYTEST_XDIST_WORKER" in os.environ else run
    ) / "answers"  # the base of all its processes
    shared.mkdir(exist_ok=True)
    labs = (kit.lab for kit in KITS.values())
    opening = partial(open_session, COURSE.config.tier, "cpu", "best")
    with untimed(opening, *labs, shared=shared) as opened:
        yield opened


def written() -> bytes:
    """Digest what is proved and what proves it: a change gives other entries their turn."""
    folders = (
        COURSE.root / "reference",
        COURSE.root / "tests" / "submissions",
        COURSE.root / "autograder",
    )
    files = sorted(
        path for folder in folders for path in folder.rglob("*") if path.suffix in (".py", ".yaml")
    )
    return sha256(b"".join(path.read_bytes() for path in files)).digest()


WRITTEN = written()
SEED = 20261205
"""One for all, so that the baseline answers once. It stays, so that a change fails no entry that it
does not touch; `make course` draws other inputs each time."""


def graded(folder, name, session):
    return grade(submission.load(folder, KITS[name].lab.files), KITS[name], session, seed=SEED)


@pytest.mark.parametrize("name", KITS)
def test_the_reference_loses_nothing(name, session):
    """What this machine cannot show is owed."""
    assert full(graded(COURSE.reference(name), name, session)) == []


@pytest.mark.parametrize("name", KITS)
def test_the_template_wins_nothing(name, session):
    """And every check says that it is not written yet."""
    assert floor(graded(COURSE.template(name), name, session)) == []


def only_timed(name, case) -> bool:
    """Whether nothing but a check with a bar shows what is wrong with an entry."""
    checks = KITS[name].lab.part(case.part).checks
    return bool(case.fails) and all("bar" in checks[check].reads for check in case.fails)


WHOLE_SUITE = "PYTEST_XDIST_WORKER" in os.environ
ENTRIES = 60  # in the whole suite, about: a minute and a half on two cores
WEIGHTS = {"wrong": 1}
WEIGHT = 5  # of all else: honest work and cheats
SHARE = ENTRIES / sum(WEIGHTS.get(case.kind, WEIGHT) for _, case in CASES.values())


def drawn(case) -> bool:
    """Whether an entry has its turn in the whole suite as things are written."""
    lot = int.from_bytes(sha256(WRITTEN + f"{case.part} {case.id}".encode()).digest()[:4]) / 2**32
    return not WHOLE_SUITE or lot < SHARE * WEIGHTS.get(case.kind, WEIGHT)


@pytest.mark.parametrize(("name", "case"), CASES.values(), ids=CASES)
def test_each_entry_is_judged_as_it_states(name, case, session):
    """Wrong work fails exactly its checks with words that name the mistake; honest, unusual work passes; cheats gain nothing."""
    if only_timed(name, case):
        pytest.skip(
            "only the clock shows what is wrong with it, and nothing is timed here: make course"
        )
    if not drawn(case):
        pytest.skip("an entry that this run has not drawn: make course proves all")
    assert prove_case(session, case, KITS[name], SEED).problems == (), f"seed {SEED}"


@pytest.mark.parametrize("name", KITS)
def test_the_course_is_consistent(name):
    """Templates are current, reports carry little, and every check is failed by an entry."""
    kit, cases = KITS[name], [case for lab, case in CASES.values() if lab == name]
    failed = {(case.part, check) for case in cases for check in case.fails} | owners(kit.lab)

    assert stale(COURSE, name) == []
    assert over_their_share(kit.lab, kit.config) == []
    assert undecorated(kit.lab, kit.config, failed, "cpu") == []


SIZES = {  # wrong, unusual, hostile or cheating
    ("resnet18", "part1_baseline"): (41, 8, 6),
    ("resnet18", "part2_dataloader"): (30, 6, 6),
    ("resnet18", "part3_amp"): (12, 8, 5),
    ("resnet18", "part4_memory"): (31, 8, 6),
    ("resnet18", "part5_compile"): (34, 8, 5),
    ("resnet18", "bonus"): (47, 8, 6),
    ("resnet18", "part6_comparison"): (37, 18, 7),
    ("foundations", "part1_attention"): (25, 8, 30),
    ("foundations", "part2_loops"): (21, 8, 10),
    ("foundations", "part3_profilers"): (44, 2, 3),
    ("foundations", "part4_timeline"): (42, 4, 1),
    ("foundations", "part5_augmentation"): (25, 6, 1),
    ("foundations", "part6_float16"): (24, 4, 0),
    ("foundations", "part7_fusion"): (35, 3, 1),
    ("foundations", "part8_benchmark"): (26, 2, 1),
    ("foundations", "part9_diagnosis"): (26, 2, 1),
    ("pairs", "part01_measuring"): (29, 4, 1),
    ("pairs", "part12_allocator"): (25, 3, 1),
    ("pairs", "part02_profiling"): (46, 7, 1),
    ("pairs", "part03_lifetimes"): (41, 9, 1),
    ("pairs", "part04_checkpointing"): (24, 2, 1),
    ("pairs", "part06_custom_gradients"): (20, 4, 1),
    ("pairs", "part14_comparison"): (24, 3, 1),
    ("pairs", "part05_precision"): (29, 2, 1),
    ("pairs", "part07_attention"): (22, 6, 2),
    ("pairs", "part08_kv_cache"): (26, 3, 2),
    ("pairs", "part09_roofline"): (21, 4, 2),
    ("pairs", "part11_loading"): (21, 4, 1),
    ("pairs", "part10_compile"): (25, 6, 2),
    ("pairs", "part13_sharding"): (25, 3, 2),
    ("distributed", "part3_overlap"): (44, 12, 2),
    ("gpu_profiling", "part1_profile"): (50, 8, 8),
    ("gpu_profiling", "part2_dataloader"): (17, 6, 6),
    ("gpu_profiling", "part3_kernels"): (39, 12, 8),
    ("gpu_profiling", "part4_memory"): (24, 8, 5),
    ("gpu_profiling", "part5_scaling"): (20, 6, 5),
    ("gpu_profiling", "part6_final"): (27, 6, 5),
    ("gpu_profiling", "bonus"): (25, 6, 4),
    ("distributed", "part6_final"): (51, 9, 4),
    ("distributed", "part1_baseline"): (60, 7, 1),
    ("distributed", "part2_communication"): (65, 7, 2),
    ("distributed", "part4_steps"): (56, 11, 1),
    ("distributed", "part5_sharding"): (42, 9, 2),
    ("distributed", "bonus"): (30, 8, 1),
}


@pytest.mark.parametrize(("lab", "part"), SIZES)
def test_the_corpus_is_as_large_as_it_should_be(lab, part):
    """A guard that watches nothing must not pass."""
    kinds = [case.kind for name, case in CASES.values() if (name, case.part) == (lab, part)]
    wrong, unusual, hostile = SIZES[lab, part]

    assert kinds.count("wrong") >= wrong
    assert kinds.count("unusual") >= unusual
    assert kinds.count("hostile") + kinds.count("cheat") >= hostile


def test_every_part_has_a_size_to_hold():
    """A new part brings its line above: how many wrong, unusual and hostile entries it has at least."""
    assert set(SIZES) == {(name, part.id) for name, kit in KITS.items() for part in kit.lab.parts}
