"""Part 8: tokens one by one. A cache of keys and values that grows without being copied, and text from it."""

from autograder.labs.pairs.part08_kv_cache.part import part

# In the order of the checks.
# isort: off
from autograder.labs.pairs.part08_kv_cache import cache, text

__all__ = ["cache", "part", "text"]
