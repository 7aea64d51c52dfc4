"""What torch.compile is asked for, by what it is for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autograder.lab import (
    BOOLEAN,
    TEXT,
    Failed,
    Observation,
    Passed,
    Student,
    Verdict,
    list_of,
    map_of,
    record,
)
from autograder.labs.foundations.part7_fusion import judges
from autograder.labs.foundations.part7_fusion.part import FIRST, part

if TYPE_CHECKING:
    from autograder.labs.foundations.part7_fusion.rig import Rig
else:
    Rig = Any

ASKED = {
    "calls": list_of(
        record(backend=TEXT, mode=TEXT, dynamic=TEXT, fullgraph=TEXT, options=map_of(TEXT))
    ),
    "is_made": BOOLEAN,
    "raised": TEXT,
}


@part.probe(
    values={"asked": list_of(record(**ASKED))},
    takes=["compile_for"],
)
def purposes(student: Student, rig: Rig) -> Any:
    """What torch.compile is asked for; nothing is called, so nothing is compiled."""
    answers, asked = rig.answers(student), []
    for purpose in judges.PURPOSES:
        model = rig.given("make_folding")(FIRST)
        returned = answers.tried(student.compile_for, purpose, model)
        raised = answers.named(returned) if isinstance(returned, Exception) else ""
        asked.append({**rig.asked_of_compile(returned), "raised": raised})
    return {"asked": asked}


@part.check(basis="report")
def options_fit_the_purpose(purposes: Observation) -> Verdict:
    """compile_for asks torch.compile for what each of the five purposes needs."""
    pairs = zip(judges.PURPOSES, purposes.values["asked"], strict=False)
    problems = [judges.purpose_problem(purpose, asked) for purpose, asked in pairs]
    if wrong := next(filter(None, problems), None):
        return Failed(*wrong)
    return Passed(f"{len(problems)} purposes")
