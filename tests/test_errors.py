"""Errors: which of them the user can mend, and the nearest name that they offer."""

from __future__ import annotations

import pytest

from autograder import errors
from autograder.errors import CourseError, PerflabError, SubmissionError, UserError, nearest


@pytest.mark.parametrize(
    ("name", "known", "words"),
    [
        ("folows_fp32", ["amp_is_faster", "follows_fp32"], " (did you mean 'follows_fp32'?)"),
        ("part3", ["part2_dataloader", "part3_amp"], " (did you mean 'part3_amp'?)"),
        ("pionts", {"points": 6}, " (did you mean 'points'?)"),
        ("weather", ["follows_fp32"], ""),
        ("anything", [], ""),
        ("", ["follows_fp32"], ""),
    ],
    ids=[
        "a letter is missing",
        "the beginning",
        "names of a mapping",
        "nothing like it",
        "nothing known",
        "no name",
    ],
)
def test_the_nearest_name_is_offered_and_only_when_it_is_near(
    name: str, known: list[str], words: str
):
    assert words == nearest(name, known)


def test_all_errors_have_one_root_and_those_the_user_can_mend_another():
    found = [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, Exception)]

    assert [e for e in found if not issubclass(e, PerflabError)] == []
    assert {UserError, CourseError, SubmissionError, errors.NotGradedError} == {
        e for e in found if issubclass(e, UserError)
    }
