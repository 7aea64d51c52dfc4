"""What results have to be when a lab is whole; each function returns the problems."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from autograder.config import LabConfig
from autograder.course.cases import Case
from autograder.lab import Lab, Part
from autograder.model import Basis, CheckResult, PartResult, Result

FORGEABLE: Mapping[str, tuple[set[Basis], float]] = {
    "reports": ({"report"}, 0.4),
    "reports and scripted checks": ({"report", "scripted"}, 0.6),
}
"""What stands beside the student's code may decide at most such shares of a part's points."""


def full(result: Result) -> list[str]:
    """The reference loses nothing; what this machine cannot show is owed."""
    return [
        f"{name}: {check.outcome}: {_told(check)}"
        for name, check in _checks(result)
        if check.outcome not in ("passed", "unavailable")
    ]


def floor(result: Result) -> list[str]:
    """The template wins nothing, and says that it is not written yet."""
    won = [
        f"{name}: the unwritten template wins {check.points:g}"
        for name, check in _checks(result)
        if check.points
    ]
    odd = [
        f"{name}: {check.outcome}: {check.reason}"
        for name, check in _checks(result)
        if check.outcome in ("error", "inconclusive")
    ]
    unclear = [
        f"{name}: says {check.why!r} and not that it is not written yet"
        for name, check in _checks(result)
        if check.outcome == "failed" and check.cause == "raised"
    ]
    return won + odd + unclear


def _checks(result: Result) -> Iterator[tuple[str, CheckResult]]:
    for part in result.parts:
        for check in part.checks:
            yield f"{part.id}.{check.id}", check


def differences(case: Case, part: PartResult) -> list[str]:
    """Compare one part with what an entry states: exactly those fail, each with its words."""
    problems = (_difference(check, case) for check in part.checks)
    return [problem for problem in problems if problem]


def _difference(check: CheckResult, case: Case) -> str:
    if check.id in case.fails:
        return _unlike_failure(check, case.fails[check.id])
    fine = check.outcome in ("passed", "unavailable")
    if fine or (check.outcome == "skipped" and case.fails):
        return ""
    return f"{check.id}: {check.outcome}: {_told(check)}"


def _unlike_failure(check: CheckResult, words: str) -> str:
    if check.outcome == "unavailable":  # settled where it can be shown
        return ""
    if check.outcome != "failed" and not _short_of_its_bar(check):
        return f"{check.id}: {check.outcome} instead of failed: {_told(check)}"
    message = f"{check.measured} {check.why} {check.try_} {check.reason} {check.cause}"
    if words.lower() in message.lower():
        return ""
    return f"{check.id}: {words!r} is not in what it says: {_told(check)}"


def _told(check: CheckResult) -> str:
    """Write what a check says for the author of an entry, with the name of each of its texts."""
    said = {"measured": check.measured, "why": check.why, "try": check.try_}
    named = [f"{name}: {words}" for name, words in said.items() if words]
    return " | ".join([*filter(None, (check.reason or check.cause,)), *named])


def undecided(problems: Collection[str]) -> bool:
    """Whether this machine could not decide a check; that is no mistake of the lab."""
    return any(": inconclusive" in problem for problem in problems)


def _short_of_its_bar(check: CheckResult) -> bool:
    """Whether a clock ran and measured too little.

    What is proved of the way is paid to anybody.
    """
    return check.outcome == "partial" and "bar" in check.evidence


def over_their_share(lab: Lab, config: LabConfig) -> list[str]:
    """Reports may be forged and scripts read.

    They decide a bounded share of a part's points.
    """
    problems = []
    for part in lab.parts:
        points = config.parts[part.id].checks
        whole = config.parts[part.id].points
        for words, (bases, share) in FORGEABLE.items():
            carried = sum(
                points[check.name].points for check in part.checks.values() if check.basis in bases
            )
            if carried > share * whole + 1e-9:
                problems.append(
                    f"{part.id}: {words} carry {carried:g} of {whole:g} points; "
                    f"at most {100 * share:.0f} %"
                )
    return problems


def undecorated(
    lab: Lab,
    config: LabConfig,
    failed: Collection[tuple[str, str]],
    tier: str,
) -> list[str]:
    """A check that no entry fails may be a check that cannot fail.

    Those without a bar here are judged elsewhere.
    """
    return [
        f"{part.id}.{check.name}: no entry of the corpus fails it"
        for part in lab.parts
        for check in part.checks.values()
        if (part.id, check.name) not in failed
        and ("bar" not in check.reads or has_a_bar(part, check.name, config, tier))
    ]


def has_a_bar(part: Part, check: str, config: LabConfig, tier: str) -> bool:
    """Whether a check is timed on a tier."""
    bar = config.parts[part.id].checks[check].bar_for(tier)
    return "bar" in part.checks[check].reads and bar is not None
