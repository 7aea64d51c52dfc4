# %% [markdown]
# # Part1 profile: sums of squares

# %%
import numpy as np


# %%
def sum_of_squares(numbers):
    """Return the sum of the squares of an array."""
    # TODO: one vectorised call, no Python loop.
    # YOUR CODE HERE
    raise NotImplementedError()
