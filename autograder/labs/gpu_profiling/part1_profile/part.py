"""Part 1: where the time goes. nsys by its command lines, a profile by torch, eleven questions, the planted faults."""

from __future__ import annotations

from autograder.lab import Part

part = Part(
    "part1_profile",
    writes=["nsys_commands", "profile_training", "analyse_profile"],
    hands_in=[
        "baseline_profile.gz",
        "answers.json",
        "baseline_analysis.txt",
        "baseline_timeline.png",
        "part1_notes.md",
    ],
    made_by={
        "baseline_analysis.txt": 'write it in the form of "The report" in the part 1 handout',
        "baseline_timeline.png": "perflab trace baseline_profile.gz --page baseline_timeline.png",
    },
)
