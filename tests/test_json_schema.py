"""jsonschema without the grammar that takes longer to compile than all else that a start needs."""

from __future__ import annotations

import subprocess
import sys

import pytest

SAYS = "import sys; import autograder.json_schema; print('rfc3987_syntax' in sys.modules)"


def test_the_grammar_of_addresses_is_not_compiled_and_can_be_imported_later():
    pytest.importorskip("rfc3987_syntax")
    later = f"{SAYS}; import rfc3987_syntax; print(rfc3987_syntax is not None)"
    said = subprocess.run([sys.executable, "-c", later], capture_output=True, text=True, check=True)

    assert ["False", "True"] == said.stdout.split()
