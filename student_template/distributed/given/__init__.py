"""What the parts of this lab are given.

    model = Branches()                    (n, 6) -> (n, 4): a tied weight, a frozen layer, and one that is optional

The lab hands this folder out and grades with its own copy: a change here reaches nobody else.
"""

from .branches import Branches

__all__ = ["Branches"]
