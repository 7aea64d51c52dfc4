"""Three exercises as an author writes them: right work passes every claim, each mistake fails the claim it breaks."""

from __future__ import annotations

import pytest

from autograder.model import Failed, Passed, Unavailable
from tests.claims import exercises
from tests.claims.harness import judged
from tests.claims.written import RIGHT, SLOW, WRONG

BY_NAME = {it.function: it for it in (exercises.products, exercises.clip, exercises.cache)}


@pytest.mark.parametrize(("name", "style"), RIGHT, ids=[" ".join(each) for each in RIGHT])
def test_right_work_passes_whatever_its_style(name, style, tmp_path):
    found = judged(BY_NAME[name], RIGHT[name, style], SLOW[name], tmp_path)

    assert set(BY_NAME[name].part.checks) == set(found)
    assert [] == [(check, it) for check, it in found.items() if not isinstance(it, Passed | Unavailable)]


@pytest.mark.parametrize(("name", "mistake"), WRONG, ids=[" ".join(each) for each in WRONG])
def test_a_mistake_fails_the_claims_that_it_breaks(name, mistake, tmp_path):
    text, fails = WRONG[name, mistake]
    found = judged(BY_NAME[name], text, SLOW[name], tmp_path)
    failed = {check: f"{it.measured} {it.why}" for check, it in found.items() if isinstance(it, Failed)}

    assert {check for check in fails if check != "is_faster"} == set(failed)
    for check, words in failed.items():
        assert fails[check] in words
