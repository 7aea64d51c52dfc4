"""Lab gpu_profiling: what a profile says of a training, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from autograder.model import Failed, Verdict


def hinted(judged: Verdict, hints: Mapping[str, str], see: str = "") -> Verdict:
    """Give a failure the hint for its cause: the first whose key stands in what the failure says.

    *see* names the section of the handout. A failure without such a hint keeps its own.
    """
    if not isinstance(judged, Failed):
        return judged
    said = f"{judged.measured}; {judged.why}"
    hint = next((hint for words, hint in hints.items() if words in said), "")
    return replace(judged, try_="; ".join(filter(None, (hint, see)))) if hint else judged
