"""Part 3: kernels. The same network with less to move and in one graph, launches counted, single kernels under ncu."""

from autograder.labs.gpu_profiling.part3_kernels.part import part

# In the order of the checks.
# isort: off
from autograder.labs.gpu_profiling.part3_kernels import network, launches, nsight, files

__all__ = ["files", "launches", "network", "nsight", "part"]
