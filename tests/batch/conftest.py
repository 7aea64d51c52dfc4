"""A class without submissions yet."""

from __future__ import annotations

import pytest

from tests.batch.graded_class import Class


@pytest.fixture
def a_class(tmp_path):
    return Class(tmp_path)
