"""jsonschema's validator, imported without two seconds of work that no schema here asks for."""

from __future__ import annotations

import sys

# Where it is installed, jsonschema compiles a grammar of international addresses while it is imported.
GRAMMAR = "rfc3987_syntax"
hidden = GRAMMAR not in sys.modules
if hidden:
    sys.modules[GRAMMAR] = None  # type: ignore[assignment]  # an import of it raises ImportError

from jsonschema import Draft202012Validator  # noqa: E402

if hidden:
    del sys.modules[GRAMMAR]

__all__ = ["Draft202012Validator"]
