"""What the parts of this lab are given: the training of the last part, and names of devices.

The lab hands this folder out and grades with its own copy: a change here reaches nobody else.
"""

from .devices import device_name
from .final_training import make_datasets, make_training, peak_mb, profiled, read_options

__all__ = ["device_name", "make_datasets", "make_training", "peak_mb", "profiled", "read_options"]
