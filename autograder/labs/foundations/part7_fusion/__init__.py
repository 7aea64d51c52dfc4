"""Part 7: fusion. Norms folded into convolutions, modes of torch.compile, and what compiled code launches."""

from autograder.labs.foundations.part7_fusion.part import part

# In the order of the checks.
# isort: off
from autograder.labs.foundations.part7_fusion import folding, modes, counting

__all__ = ["counting", "folding", "modes", "part"]
