"""Part 7: fusion. Norms folded into convolutions, modes of torch.compile, and what compiled code launches.

Above 60 lines an exercise: fold_model is tried with fourteen networks, and compile_for is judged by rules for five
purposes.
"""

from autograder.labs.foundations.part7_fusion.part import part

# In the order of the checks.
# isort: off
from autograder.labs.foundations.part7_fusion import folding, modes, counting

__all__ = ["counting", "folding", "modes", "part"]
