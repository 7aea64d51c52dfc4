"""The configuration: what is read, and the one line that each mistake in it is answered with."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from autograder import config
from autograder.config import CheckConfig, Config, LatePolicy, PartConfig
from autograder.errors import CourseError
from autograder.model import Bar, Limits

GOOD = """\
format: 1
tiers: {t4: "T4", hopper: "H100|H200"}
labs:
  resnet18:
    version: 2
    due: 2027-01-20T23:59+05:30
    late: {grace_minutes: 10, per_day: 10 %, at_most: 50 %}
    parts:
      part3_amp:
        points: 14.3
        limits: {seconds: 120, memory_mb: 4096}
        checks:
          follows_fp32: 6
          unscales: 0.3
          amp_is_faster: {points: 6, bar: {t4: 1.5, hopper: 1.3}, from: seed}
        rubric: {explains_autocast: 2}
"""
PART = "labs.resnet18.parts.part3_amp"


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "grading_config.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.fixture
def good(tmp_path: Path) -> Config:
    return config.load(written(tmp_path, GOOD))


def test_a_part_is_read_with_its_points_limits_bars_and_rubric(good: Config):
    expected = PartConfig(
        points=14.3,
        limits=Limits(seconds=120.0, memory_mb=4096, output_mb=8),
        checks={
            "follows_fp32": CheckConfig(6.0),
            "unscales": CheckConfig(0.3),
            "amp_is_faster": CheckConfig(6.0, {"t4": 1.5, "hopper": 1.3}, "seed"),
        },
        rubric={"explains_autocast": 2.0},
        says={"explains_autocast": "Explains autocast"},
    )

    assert expected == good.lab("resnet18").parts["part3_amp"]


def test_a_check_that_takes_two_gpus_has_no_bar_on_one(tmp_path: Path):
    text = GOOD.replace("hopper: 1.3}, from", "hopper: 1.3}, gpus: 2, from")
    check = (
        config.load(written(tmp_path, text))
        .lab("resnet18")
        .parts["part3_amp"]
        .checks["amp_is_faster"]
    )

    assert (2, None) == (check.gpus, check.bar_for("t4"))


def test_a_rubric_item_says_what_a_person_looks_for(tmp_path: Path):
    item = '{explains_autocast: {points: 2, says: "notes.md says where, and why"}}'
    part = (
        config.load(written(tmp_path, GOOD.replace("{explains_autocast: 2}", item)))
        .lab("resnet18")
        .parts["part3_amp"]
    )

    assert {"explains_autocast": "notes.md says where, and why"} == part.says
    assert {"explains_autocast": 2.0} == part.rubric


def test_a_lab_is_read_with_its_version_due_time_and_late_policy(good: Config):
    lab = good.lab("resnet18")

    assert ("resnet18", 2, "2027-01-20T23:59+05:30", LatePolicy(10.0, 0.1, 0.5)) == (
        lab.name,
        lab.version,
        lab.due,
        lab.late,
    )


def test_what_may_be_left_out_has_its_default(tmp_path: Path):
    lab = config.load(
        written(tmp_path, "format: 1\nlabs: {a: {parts: {p: {points: 1, checks: {c: 1}}}}}")
    ).lab("a")

    assert (1, None, None, Limits(), {}) == (
        lab.version,
        lab.due,
        lab.late,
        lab.parts["p"].limits,
        lab.parts["p"].rubric,
    )


@pytest.mark.parametrize(
    ("said", "expected"), [("bonus: true, ", True), ("bonus: false, ", False), ("", False)]
)
def test_a_part_is_a_bonus_if_it_says_so(tmp_path: Path, said: str, expected: bool):
    text = f"format: 1\nlabs: {{a: {{parts: {{p: {{{said}points: 1, checks: {{c: 1}}}}}}}}}}"

    assert expected == config.load(written(tmp_path, text)).lab("a").parts["p"].bonus


def test_seconds_in_the_due_time_do_not_make_it_another_type(tmp_path: Path):
    path = written(tmp_path, GOOD.replace("T23:59+05:30", "T23:59:30+05:30"))

    assert config.load(path).lab("resnet18").due == "2027-01-20T23:59:30+05:30"


def test_a_byte_order_mark_is_accepted(tmp_path: Path, good: Config):
    assert good.labs == config.load(written(tmp_path, b"\xef\xbb\xbf" + GOOD.encode())).labs


@pytest.mark.parametrize(
    ("device", "kind", "tier"),
    [
        ("Tesla T4", "cuda", "t4"),
        ("NVIDIA H100 80GB HBM3", "cuda", "hopper"),
        ("NVIDIA GeForce RTX 4090", "cuda", "gpu"),
        ("T4 in the name of a CPU", "cpu", "cpu"),
    ],
)
def test_the_tier_is_the_first_whose_regex_finds_the_device(
    good: Config, device: str, kind: str, tier: str
):
    assert tier == good.tier(device, kind)


def test_a_tier_has_the_bar_set_for_it_and_no_other(good: Config):
    check = good.lab("resnet18").parts["part3_amp"].checks["amp_is_faster"]

    assert (Bar(1.5, "seed"), None) == (check.bar_for("t4"), check.bar_for("gpu"))


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(json.loads(config.SCHEMA.read_text("utf-8")))


# (what is written instead of what, the line that answers it after the file's name)
MISTAKES = {
    "misspelt part key": ("points: 14.3", "pionts: 14.3", f"{PART}: unknown name 'pionts' (did you mean 'points'?); known here: points, bonus, limits, checks, rubric"),
    "bonus is a word": ("points: 14.3", "points: 14.3\n        bonus: yes", f"{PART}.bonus: 'yes' is not true, or false as it is without it"),
    "misspelt check key": ("from: seed", "form: seed", f"{PART}.checks.amp_is_faster: unknown name 'form' (did you mean 'from'?); known here: points, bar, gpus, from"),
    "unknown top key": ("tiers:", "teirs:", "the file: unknown name 'teirs' (did you mean 'tiers'?); known here: format, tiers, labs"),
    "no format": ("format: 1\n", "", "the file: 'format' is missing; add 1, the format that this perflab reads"),
    "newer format": ("format: 1", "format: 2", "format: 2; this perflab reads format 1"),
    "format as true": ("format: 1", "format: true", "format: True is not 1, the format that this perflab reads"),
    "no points": ("        points: 14.3\n", "", f"{PART}: 'points' is missing; add a number of points above 0 and at most 1000"),
    "bar without source": (", from: seed", "", f"{PART}.checks.amp_is_faster: 'from' is missing; add 'seed', or 'calibrated <date>, <device>' in quotes, like 'calibrated 2027-01-09, Tesla T4'"),
    "source without bar": ("bar: {t4: 1.5, hopper: 1.3}, ", "", f"{PART}.checks.amp_is_faster: 'bar' is missing; add a mapping from tier to bar, like {{t4: 1.5}}"),
    "source of another kind": ("from: seed", "from: hearsay", f"{PART}.checks.amp_is_faster.from: 'hearsay' is not 'seed', or 'calibrated <date>, <device>' in quotes, like 'calibrated 2027-01-09, Tesla T4'"),
    "points as text": ("points: 14.3", "points: many", f"{PART}.points: 'many' is not a number of points above 0 and at most 1000"),
    "points as true": ("follows_fp32: 6", "follows_fp32: true", f"{PART}.checks.follows_fp32: True is not a number of points from above 0 to 1000, a mapping with points, bar and from, or off"),
    "a word for off": ("follows_fp32: 6", "follows_fp32: none", f"{PART}.checks.follows_fp32: 'none' is not a number of points from above 0 to 1000, a mapping with points, bar and from, or off"),
    "a check off and its points kept": ("follows_fp32: 6", "follows_fp32: off", f"{PART}.points: 14.3 is not 8.3, the sum of its checks and rubric; change one of them"),
    "zero points": ("follows_fp32: 6", "follows_fp32: 0", f"{PART}.checks.follows_fp32: 0 is not a number of points from above 0 to 1000, a mapping with points, bar and from, or off"),
    "infinite points": ("follows_fp32: 6", "follows_fp32: 1e999", f"{PART}.checks.follows_fp32: inf is not a number of points from above 0 to 1000, a mapping with points, bar and from, or off"),
    "negative rubric": ("explains_autocast: 2", "explains_autocast: -2", f"{PART}.rubric.explains_autocast: -2 is not a number of points above 0 and at most 1000, or a mapping with points and says"),
    "points too fine": ("unscales: 0.3", "unscales: 0.333", f"{PART}.checks.unscales: 0.333 points are finer than 0.01; round them"),
    "sum differs": ("points: 14.3", "points: 20", f"{PART}.points: 20 is not 14.3, the sum of its checks and rubric; change one of them"),
    "rubric named as a check": ("explains_autocast: 2", "follows_fp32: 2", f"{PART}.rubric.follows_fp32: is the name of a check too; give the rubric item its own"),
    "bar below 1.10": ("t4: 1.5", "t4: 1.09", f"{PART}.checks.amp_is_faster.bar.t4: 1.09 is no bar; write a ratio to the baseline from 1.10 to 100"),
    "bar in percent": ("t4: 1.5", "t4: 150", f"{PART}.checks.amp_is_faster.bar.t4: 150 is no bar; write a ratio to the baseline from 1.10 to 100"),
    "bar with an x": ("t4: 1.5", "t4: 1.5x", f"{PART}.checks.amp_is_faster.bar.t4: '1.5x' is not a ratio to the baseline, like 1.5"),
    "bar that is not a number": ("t4: 1.5", "t4: !!float .nan", f"{PART}.checks.amp_is_faster.bar.t4: nan is no bar; write a ratio to the baseline from 1.10 to 100"),
    "bar for no tier": ("hopper: 1.3", "hoper: 1.3", f"{PART}.checks.amp_is_faster.bar.hoper: there is no tier 'hoper' (did you mean 'hopper'?); tiers: t4, hopper, gpu, cpu"),
    "no bars": ("{t4: 1.5, hopper: 1.3}", "{}", f"{PART}.checks.amp_is_faster.bar: {{}} is not a mapping from tier to bar, like {{t4: 1.5}}"),
    "endless time": ("seconds: 120", "seconds: 100000", f"{PART}.limits.seconds: 100000 is not a number of seconds from 1 to 3600"),
    "half a megabyte": ("memory_mb: 4096", "memory_mb: 4096.5", f"{PART}.limits.memory_mb: 4096.5 is not a whole number of megabytes from 256 to 1000000"),
    "broken regex": ('"T4"', '"T4("', "tiers.t4: 'T4(' is not a regex: missing ), unterminated subpattern; mend it"),
    "tier named gpu": ("tiers: {t4:", "tiers: {gpu:", "tiers.gpu: 'gpu' is what machines without a tier are called; choose another name"),
    "part with a space": ("part3_amp:", "part 3:", "labs.resnet18.parts: 'part 3' is not a name of small letters, digits and _"),
    "part with a newline": ("part3_amp:", '"part3_amp\\n":', "labs.resnet18.parts: 'part3_amp\\n' is not a name of small letters, digits and _"),
    "tier with a newline": ("hopper: 1.3", '"a\\nb": 1.3', f"{PART}.checks.amp_is_faster.bar: 'a\\nb' is not a name of small letters, digits and _"),
    "due without offset": ("T23:59+05:30", "T23:59", "labs.resnet18.due: '2027-01-20T23:59' is not a time with its offset; write it like 2027-01-20T23:59+05:30"),
    "due on no day": ("2027-01-20T", "2027-02-30T", "labs.resnet18.due: '2027-02-30T23:59+05:30' is not a time with its offset; write it like 2027-01-20T23:59+05:30"),
    "late without due": ("    due: 2027-01-20T23:59+05:30\n", "", "labs.resnet18.late: has no due time to count from; add 'due'"),
    "share without percent": ("per_day: 10 %", "per_day: 10", "labs.resnet18.late.per_day: 10 is not a share from 0 % to 100 %, written like 10 %"),
    "share above all": ("at_most: 50 %", "at_most: 150 %", "labs.resnet18.late.at_most: '150 %' is not a share from 0 % to 100 %, written like 10 %"),
    "no share": (", at_most: 50 %", "", "labs.resnet18.late: 'at_most' is missing; add a share from 0 % to 100 %, written like 10 %"),
    "a check twice": ("unscales: 0.3", "follows_fp32: 0.3", "line 14: this is not YAML that can be read: key 'follows_fp32' stands twice; keep one"),
    "a key that is a number": ("tiers: {t4:", "tiers: {4090:", "line 2: this is not YAML that can be read: key '4090' is no text; put it in quotes"),
    "a key that is a mapping": ("tiers: {t4:", "tiers: {? {} :", "line 2: this is not YAML that can be read: key [] is no text; put it in quotes"),
    "no YAML": ("tiers: {t4: ", "tiers: {t4: [", "line 2: this is not YAML that can be read: expected ',' or ']', but got '}'"),
    "a Python object": ("points: 14.3", "points: !!python/name:os.system", "line 10: this is not YAML that can be read: could not determine a constructor for the tag 'tag:yaml.org,2002:python/name:os.system'"),
    "a control character": ("format: 1", "format: 1\x00", "this is not YAML that can be read: unacceptable character #x0000: special characters are not allowed"),
    "brackets without end": ("format: 1", "format: " + "[" * 500, "this is not YAML that can be read: nested too deep"),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "line"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_line_with_file_path_value_and_what_to_do(
    tmp_path: Path, old: str, new: str, line: str
):
    assert GOOD.count(old) == 1
    path = written(tmp_path, GOOD.replace(old, new))

    with pytest.raises(CourseError) as caught:
        config.load(path)

    assert f"{path}: {line}" == str(caught.value)
    assert "\n" not in str(caught.value)


WHOLE_FILES = {
    "empty": (b"", "the file: None is not a mapping with format, tiers and labs"),
    "a list": (b"- 1", "the file: [1] is not a mapping with format, tiers and labs"),
    "two documents": (
        b"format: 1\n---\nformat: 1",
        "line 2: this is not YAML that can be read: but found another document",
    ),
    "Latin-1": (
        "format: 1 # für".encode("latin-1"),
        "byte 13 is not UTF-8; save the file as UTF-8",
    ),
    "UTF-16": ("format: 1".encode("utf-16"), "byte 0 is not UTF-8; save the file as UTF-8"),
}


@pytest.mark.parametrize(("data", "line"), WHOLE_FILES.values(), ids=WHOLE_FILES)
def test_a_file_that_is_no_configuration_is_named_as_such(tmp_path: Path, data: bytes, line: str):
    path = written(tmp_path, data)

    with pytest.raises(CourseError) as caught:
        config.load(path)

    assert f"{path}: {line}" == str(caught.value)


def test_a_missing_file_says_how_to_name_the_course(tmp_path: Path):
    with pytest.raises(CourseError) as caught:
        config.load(tmp_path / "grading_config.yaml")

    assert (
        f"{tmp_path / 'grading_config.yaml'}: No such file or directory; name the folder of the course with --course"
        == str(caught.value)
    )


DECLARED = {"part3_amp": ["follows_fp32", "unscales", "amp_is_faster"]}
BARRED = {"part3_amp": ["amp_is_faster"]}


def test_a_lab_that_says_what_its_parts_declare_is_accepted(good: Config):
    assert config.agree(good, "resnet18", DECLARED, BARRED) is None


DISAGREEMENTS = {
    "unknown lab": ("resnet19", DECLARED, BARRED, "labs: there is no lab 'resnet19' (did you mean 'resnet18'?); labs: resnet18"),
    "unknown part": ("resnet18", {"part3_amq": []}, {}, f"{PART}: there is no such part (did you mean 'part3_amq'?); rename or remove it"),
    "missing part": ("resnet18", {**DECLARED, "part4_memory": []}, BARRED, "labs.resnet18.parts: part 'part4_memory' is missing; add it with its points and checks, or write off"),
    "unknown check": ("resnet18", {"part3_amp": ["folows_fp32", "unscales", "amp_is_faster"]}, BARRED, f"{PART}.checks.follows_fp32: the part has no such check (did you mean 'folows_fp32'?); rename or remove it"),
    "missing check": ("resnet18", {"part3_amp": [*DECLARED["part3_amp"], "honest_timing"]}, BARRED, f"{PART}.checks: check 'honest_timing' is missing; add it with its points, or write off"),
    "bar that nobody reads": ("resnet18", DECLARED, {}, f"{PART}.checks.amp_is_faster.bar: the check reads no bar; remove 'bar' and 'from', or let its judge read `bar`"),
    "no bar to read": ("resnet18", DECLARED, {"part3_amp": ["amp_is_faster", "unscales"]}, f"{PART}.checks.unscales: the check reads a bar and none is set; add one, like bar: {{t4: 1.5}}, from: seed"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "due 2027-01-20T23:59+05:30, and each day late costs 10 %, at most 50 %"),
        ({"late": None}, "due 2027-01-20T23:59+05:30, and lateness costs nothing"),
        ({"late": None, "due": None}, "due at no time, and lateness costs nothing"),
    ],
)
def test_a_lab_says_until_when_it_is(good: Config, changes: dict, said: str):
    """Whoever releases it sees a time that is not theirs."""
    assert said == replace(good.lab("resnet18"), **changes).deadline


OFF = (
    GOOD.replace("follows_fp32: 6", "follows_fp32: off").replace("14.3", "8.3")
    + "      part4_memory: off\n"
)


def test_a_course_does_without_what_is_off(tmp_path: Path):
    """A check or a part: it has no points, and the parts may still declare it."""
    found = config.load(written(tmp_path, OFF))
    lab = found.lab("resnet18")

    assert ({"part4_memory"}, ["part3_amp"]) == (lab.off, list(lab.parts))
    assert ({"follows_fp32"}, ["unscales", "amp_is_faster"]) == (
        lab.parts["part3_amp"].off,
        list(lab.parts["part3_amp"].checks),
    )
    assert (
        config.agree(found, "resnet18", {**DECLARED, "part4_memory": ["needs_less"]}, BARRED)
        is None
    )


def test_a_lab_can_name_the_only_parts_that_it_has(tmp_path: Path):
    """All others are off, whatever points they have; a number is enough to name a part."""
    part = "      part4_memory: {points: 1, checks: {needs_less: 1}}\n"
    text = (GOOD + part).replace("    parts:", "    only: [part3]\n    parts:")
    lab = config.load(written(tmp_path, text)).lab("resnet18")

    assert ({"part4_memory"}, ["part3_amp"]) == (lab.off, list(lab.parts))
    with pytest.raises(CourseError, match=r"resnet18\.only: there is no part 'part5'"):
        config.load(written(tmp_path, text.replace("only: [part3]", "only: [part3, part5]")))


def test_what_is_off_has_to_be_there(tmp_path: Path):
    """A misspelt name would leave the check on, and nobody would know."""
    found = config.load(written(tmp_path, OFF))

    with pytest.raises(CourseError, match=r"parts\.part4_memory: there is no such part"):
        config.agree(found, "resnet18", DECLARED, BARRED)
    with pytest.raises(CourseError, match=r"checks\.follows_fp32: the part has no such check"):
        config.agree(
            found,
            "resnet18",
            {"part3_amp": ["unscales", "amp_is_faster"], "part4_memory": []},
            BARRED,
        )


def test_a_lab_keeps_a_part(tmp_path: Path):
    """Or there would be nothing to grade."""
    path = written(tmp_path, GOOD[: GOOD.index("      part3_amp:")] + "      part3_amp: off\n")

    with pytest.raises(
        CourseError, match=r"labs\.resnet18\.parts: every part is off; a lab needs one"
    ):
        config.load(path)


@pytest.mark.parametrize(
    ("lab", "declared", "barred", "line"), DISAGREEMENTS.values(), ids=DISAGREEMENTS
)
def test_points_and_part_files_that_disagree_are_told_apart(
    good: Config, lab: str, declared: dict, barred: dict, line: str
):
    with pytest.raises(CourseError) as caught:
        config.agree(good, lab, declared, barred)

    assert f"{good.path}: {line}" == str(caught.value)
