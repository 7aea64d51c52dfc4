"""The bridge to nbgrader.

Notebooks made from the one source, verdicts of perflab in its gradebook.
"""
