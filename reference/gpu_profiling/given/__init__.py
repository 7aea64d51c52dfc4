"""What the parts of this lab are given: photos to train on, a network, the script that is to be profiled.

    python -m given.training_unoptimized       # the script; some seconds on a CPU

The lab hands this folder out and grades with its own copy: a change here reaches nobody else.
"""

from .devices import device_name
from .memory import saved_mb
from .net import SimpleNet
from .photos import CLASSES, Photos
from .profiles import NO_WORK, Event, covered, divided, gaps, load_events, queued
from .spans import span, spanned
from .trainings import make_photos, make_training, read_options, record

__all__ = [
    "CLASSES",
    "NO_WORK",
    "Event",
    "Photos",
    "SimpleNet",
    "covered",
    "device_name",
    "divided",
    "gaps",
    "load_events",
    "make_photos",
    "make_training",
    "queued",
    "read_options",
    "record",
    "saved_mb",
    "span",
    "spanned",
]
