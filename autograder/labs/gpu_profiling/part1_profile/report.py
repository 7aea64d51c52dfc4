"""What the report says of the profile, and which of the planted faults it names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from autograder.checks import plot
from autograder.checks.hints import hinted
from autograder.claims.answers import idle
from autograder.lab import (
    INTEGER,
    Answer,
    Failed,
    Pair,
    Passed,
    Picture,
    Student,
    Text,
    Verdict,
    list_of,
    map_of,
)
from autograder.labs.gpu_profiling.part1_profile import judges
from autograder.labs.gpu_profiling.part1_profile.part import part
from autograder.model import verdict
from autograder.traces import Trace
from autograder.traces.words import many

if TYPE_CHECKING:
    from autograder.labs.gpu_profiling.part1_profile.rig import Rig
else:
    Rig = Any

FAULTS = 3  # that are to be named
# What is planted in given/training_unoptimized.py, by what stands in the line.
PLANTED: Mapping[str, str] = {
    "small batches": r"^\s*batch_size\b",
    "one process loads": r"num_workers=0|DataLoader\(|spanned\(loader\)",
    "pageable memory": r"pin_memory=False",
    "copies that are waited for": r"(images|labels)\.to\(device\)",
    "waits for the device": r"synchronize\(device\)$",
    "values fetched at every step": r"\.item\(\)",
    "photos decoded and resized anew": r"^\s.*transform",
}
CAUSED: Mapping[str, tuple[str, ...]] = {  # which of them show as what
    "data loading": ("one process loads", "photos decoded and resized anew"),
    "synchronising": (
        "waits for the device",
        "values fetched at every step",
        "copies that are waited for",
    ),
    "launching": ("small batches",),
}


@part.probe(pair=True, values={"lines": map_of(list_of(INTEGER))})
def planted(student: Student, rig: Rig) -> Answer:
    """The lines of the script in which a fault stands; the student's process is not asked."""
    if rig.side == "student":
        return {"lines": {}}
    return {"lines": rig.profiles.lines("given.training_unoptimized", PLANTED)}


REPORT = part.made_by["baseline_analysis.txt"]
FORM = "baseline_analysis.txt must have a share, numbered bottlenecks and a potential"
SHARE = (
    "fix answers_know_the_gaps first if it fails; else copy operators_percent (with a GPU: "
    "gpu_utilization_percent) from answers.json"
)
FAULT_HINTS = {
    "names no line": "begin each bottleneck with its number and its line, 1. line 12: ...",
    "may be named": "in each bottleneck, keep only the line that must change",
    "wastes no time": "replace it by a line that costs time and could do without",
    "different ones": "look for faults of other kinds, instead of more lines of one",
}


@part.check(basis="artefact")
def analysis_fits_the_profile(baseline_analysis: Text, baseline_profile: Trace) -> Verdict:
    """baseline_analysis.txt gives the share of work that the profile shows, and a potential that it allows."""
    findings, problem = judges.parsed(baseline_analysis)
    if findings is None:
        return Failed(problem, FORM, REPORT)
    judged = judges.shares_problem(findings, baseline_profile, try_=SHARE)
    hints = {
        "no work of a GPU": 'write "Operators: ... %" instead',
        "the work of a GPU": 'write "GPU utilization: ... %" instead',
        "the potential must": "write a number between the two",
        "cannot be recomputed": "record the profile again",
    }
    return hinted(judged, hints)


@part.check(basis="artefact")
def names_planted_faults(baseline_analysis: Text, planted: Pair) -> Verdict:
    """The bottlenecks in baseline_analysis.txt name lines of the script that cost time, three different faults."""
    findings, problem = judges.parsed(baseline_analysis)
    if findings is None:
        return Failed(problem, FORM, REPORT)
    faults = planted.baseline.values["lines"]
    problem = judges.faults_problem(findings, faults, FAULTS)
    if not problem:
        return Passed(many(len(findings.entries), "bottleneck"))
    why = "each bottleneck must name a line that wastes time; together the bottlenecks name three faults"
    judged = Failed(problem, why, "look in the script for what each wait comes from")
    return hinted(judged, FAULT_HINTS)


@part.check(basis="artefact", needs=[names_planted_faults])
def starts_with_the_largest(
    baseline_analysis: Text, baseline_profile: Trace, planted: Pair
) -> Verdict:
    """The first bottleneck in baseline_analysis.txt is one that causes the most idle time in the profile."""
    findings, problem = judges.parsed(baseline_analysis)
    causes = [cause.name for cause, _ in idle(baseline_profile) if cause.name in CAUSED]
    if findings is None:
        return Failed(problem, FORM, REPORT)
    if not causes:
        lacks = f"{baseline_profile.file} shows no cause of idle time"
        why = "the profile must hold steps and operators"
        return Failed(lacks, why, "fix profile_is_of_the_script first")
    cause = causes[0]
    first = judges.faults_found(findings, planted.baseline.values["lines"])[0]
    measured = f"first: {', '.join(first) or 'no fault'}; the profile's largest cause: {cause}"
    right = any(name in CAUSED[cause] for name in first)
    why = "" if right else f"{cause} costs more time in this profile than your first bottleneck"
    return verdict(measured, why, f"put the bottleneck that causes {cause} first")


@part.check(basis="artefact")
def timeline_is_a_picture(baseline_timeline: Picture) -> Verdict:
    """The submitted baseline_timeline.png is a picture of a timeline that can be read."""
    return plot.is_drawn(baseline_timeline, try_=part.made_by["baseline_timeline.png"])
