"""The part: what it has a student write."""

from __future__ import annotations

from autograder.lab import Part

part = Part("part08_kv_cache")
WRONG = 'see "What usually goes wrong" in the part 8 handout'
EXACT = {"float32": 0.0, "bfloat16": 0.0}
