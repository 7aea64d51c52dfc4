"""Part1 profile: sums of squares. One sentence on what the student learns here."""

from autograder.lab import Failed, Pair, Part, Passed, Verdict

part = Part("part1_profile", writes=["sum_of_squares"])


@part.probe(pair=True, arrays={"sums": ("float64", 1)})
def sums(student, rig):  # type: ignore[no-untyped-def]
    """Runs in the worker, once beside the student's code and once beside the baseline's, on the same fresh inputs."""
    import numpy as np

    inputs = np.random.default_rng(rig.seed).normal(size=(5, 100))
    return {"sums": np.array([float(student.sum_of_squares(row)) for row in inputs])}


@part.check(basis="outputs")
def sums_are_right(sums: Pair) -> Verdict:
    """The sums equal those of the baseline."""
    import numpy as np

    got, want = sums.student.arrays["sums"], sums.baseline.arrays["sums"]
    if np.allclose(got, want):
        return Passed(f"{len(want)} sums agree")
    measured = f"{got[0]:.6g} instead of {want[0]:.6g}"
    return Failed(measured, "a sum differs from the baseline's", "square each number before adding")
