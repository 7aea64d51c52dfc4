"""perflab: grades labs on PyTorch performance, with the verdict formed outside the process that is judged."""

__version__ = "0.1.0"
