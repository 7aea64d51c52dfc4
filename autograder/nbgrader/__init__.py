"""The bridge to nbgrader: notebooks made from the one source, verdicts of perflab in its gradebook."""
