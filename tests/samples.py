"""Results for tests: one that holds every outcome, and a class of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from autograder.model import OWED, CheckResult, Device, Outcome, Owed, PartResult, Result
from autograder.report.tally import Row
from autograder.result_file import FORMAT

PAIRS = [0.0, 0.02, -0.01, 0.01, 0.03, 0.01, 0.0, 0.02, -0.02]
H100 = Device("NVIDIA H100 80GB HBM3", "cuda", "hopper", {"torch": "2.15.0", "python": "3.11.7"})


def a_check(**changes: Any) -> CheckResult:
    """A failed check with all four parts, or what *changes* make of it."""
    failed = CheckResult(
        id="amp_is_faster",
        outcome="failed",
        basis="outputs",
        points=0,
        max_points=6,
        title="AMP trains at least 1.50x as fast as FP32",
        measured="1.01x (0.98 to 1.04, 9 pairs, NVIDIA H100 80GB HBM3)",
        why="92 % of matmul and convolution time ran in float32",
        try_='put the forward pass and the loss under torch.autocast; see "Where autocast goes" in the part 3 handout',
        evidence={"pairs": PAIRS, "interval": [0.98, 1.04], "bar": 1.5},
    )
    return replace(failed, **changes)


def a_silent_check(**changes: Any) -> CheckResult:
    """A check that says nothing but its title, or what *changes* add to it."""
    return a_check(**{"measured": "", "why": "", "try_": "", "evidence": {}} | changes)


def every_outcome() -> tuple[PartResult, ...]:
    """Two parts in which each outcome and each basis occurs."""
    amp = (
        a_silent_check(
            id="follows_fp32",
            outcome="passed",
            points=6,
            title="Training with AMP follows the FP32 loss curve",
            measured="largest gap 0.004 after 24 steps; 0.020 is allowed",
        ),
        a_check(),
        a_check(
            id="half_precision_where_it_helps",
            outcome="partial",
            basis="report",
            points=1.5,
            max_points=3,
            title="Convolutions and matrix products run in half precision, softmax and loss in float32",
            measured="20 of 20 convolutions in float16, softmax in float16",
            why="the softmax stands outside autocast with a half-precision input",
            try_="compute the loss inside autocast, which casts it to float32 by itself",
            evidence={},
        ),
        a_silent_check(
            id="explains_where_autocast_goes",
            outcome="unavailable",
            basis="person",
            max_points=2,
            title="The notes explain where autocast goes and where not",
            reason="read by a person",
        ),
    )
    memory = (
        a_silent_check(
            id="results_complete",
            outcome="skipped",
            basis="artefact",
            max_points=2,
            title="memory_results.csv has one row per strategy",
            reason="needs memory_falls, which failed",
        ),
        a_silent_check(
            id="memory_falls",
            outcome="unavailable",
            max_points=4,
            title="Checkpointing lowers peak memory by 30 %",
            reason="this machine has no GPU; a GPU runner measures peak memory",
        ),
        a_silent_check(
            id="steady_speed",
            outcome="inconclusive",
            max_points=3,
            title="Checkpointing costs at most 40 % of speed",
            measured="0.61x (0.38 to 0.97, 30 pairs)",
            reason="the machine was too noisy: the bar 0.60x lies inside the interval",
        ),
        a_silent_check(
            id="gradients_agree",
            outcome="error",
            basis="scripted",
            max_points=3,
            title="Gradients agree with the baseline's",
            reason="KeyError: 'grads' in the check",
        ),
        a_silent_check(
            id="plot_is_a_picture",
            outcome="unread",
            basis="artefact",
            max_points=1,
            title="memory.png is a picture",
            reason="part4_memory.py was not taken: line 3 is not UTF-8",
        ),
    )
    return (a_part("part3_amp", "Mixed precision", *amp), a_part("part4_memory", "Memory", *memory))


def a_part(part_id: str, title: str, *checks: CheckResult) -> PartResult:
    """A part whose score is the sum of its checks."""
    return PartResult(
        part_id, title, sum(c.points for c in checks), sum(c.max_points for c in checks), checks
    )


def a_bonus(won: float = 2.0) -> PartResult:
    """A bonus part of one check."""
    check = a_silent_check(
        id="finds_the_hot_line", outcome="partial", points=won, max_points=9.0, title="The hot line"
    )
    return replace(a_part("bonus", "Bonus", check), bonus=True)


def with_bonus(won: float = 2.0) -> Result:
    """The result with every outcome, and a bonus part that makes up for some of what is lost."""
    parts = (*every_outcome(), a_bonus(won))
    return a_result(*every_outcome(), parts=parts, score=sum(part.score for part in parts))


def a_result(*parts: PartResult, **changes: Any) -> Result:
    """A result whose sums agree: by default the one with every outcome."""
    parts = parts or every_outcome()
    owed = tuple(
        Owed(
            f"{part.id}.{check.id}",
            check.owed,
            "person" if check.basis == "person" else OWED[check.outcome],
        )
        for part in parts
        for check in part.checks
        if check.owed
    )
    result = Result(
        format=FORMAT,
        lab="resnet18",
        lab_version="1.0",
        submission="asha",
        submission_sha256="9f2c" * 16,
        attempt=1,
        seed=20270113,
        started="2027-01-13T10:04:00+05:30",
        seconds=84.2,
        device=H100,
        isolation="bubblewrap",
        score=sum(p.score for p in parts),
        max_score=sum(p.max_score for p in parts),
        owed=owed,
        parts=parts,
        notes=("left out: scratch.py is no file of this lab",),
    )
    return replace(result, **changes)


def a_class(size: int) -> list[Result]:
    """Results whose outcomes differ, the same at every call."""
    outcomes: tuple[Outcome, ...] = (
        "passed",
        "passed",
        "failed",
        "passed",
        "partial",
        "skipped",
        "passed",
        "unavailable",
    )
    shares = {"passed": 1.0, "partial": 0.5}
    reasons = {
        "skipped": "needs follows_fp32, which failed",
        "unavailable": "this machine has no GPU",
    }

    def graded(check: CheckResult, draw: int) -> CheckResult:
        if check.outcome not in ("passed", "failed", "partial"):
            return check
        outcome = outcomes[draw % len(outcomes)]
        return replace(
            check,
            outcome=outcome,
            points=check.max_points * shares.get(outcome, 0.0),
            reason=reasons.get(outcome, ""),
        )

    def student(n: int) -> Result:
        parts = [
            a_part(
                p.id, p.title, *(graded(c, n * n + 3 * i + n // 3) for i, c in enumerate(p.checks))
            )
            for p in every_outcome()
        ]
        return a_result(*parts, submission=f"student{n:02}")

    return [student(n) for n in range(size)]


def rows(results: list[Result]) -> list[Row]:
    """The results as rows of a class page."""
    return [Row(result, result.submission) for result in results]
