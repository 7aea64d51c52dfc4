"""The key of a class's pseudonyms."""

from __future__ import annotations

import pytest

from autograder.errors import UserError
from autograder.report import pseudonym_key


def test_a_key_is_made_once_and_only_when_asked_for(tmp_path):
    assert None is pseudonym_key.key(tmp_path)
    made = pseudonym_key.key(tmp_path, make=True)

    assert made == pseudonym_key.key(tmp_path) == pseudonym_key.key(tmp_path, make=True)
    assert 0o600 == (tmp_path / pseudonym_key.FILE).stat().st_mode & 0o777


@pytest.mark.parametrize("text", ["", "short", "é" * 64 + "x"], ids=["empty", "short", "no key"])
def test_a_damaged_key_names_nobody_anew(tmp_path, text):
    (tmp_path / pseudonym_key.FILE).write_text(text, encoding="utf-8")

    with pytest.raises(UserError) as raised:
        pseudonym_key.key(tmp_path, make=True)

    mend = "put back the one that made the names, or remove it for new ones"
    assert f"{tmp_path}/pseudonyms.key: is no key; {mend}" == str(raised.value)
