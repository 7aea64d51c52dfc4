"""How often an invented result passes in an honest report: a share of 400 drawn ones, each in a sentence of its own."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from autograder.checks import configurations, table, versions
from autograder.checks.facts import unfounded
from autograder.checks.report import stated

REFERENCE = Path(__file__).parents[2] / "reference"
DRAWS = 400
LABS = {  # lab -> the judge of its table, the table, two rows
    "resnet18": (configurations, "optimization_results.csv", "From AMP to Compile"),
    "gpu_profiling": (versions, "final_results.csv", "From Model to Memory"),
}
KINDS = {  # what is invented -> its sentence, from, to, the largest share that may pass
    "a percentage": ("the training became {:.1f} % faster.", 1.0, 99.0, 0.15),
    "a percentage of what is not speed": ("the wait for data fell by {:.1f} %.", 1.0, 99.0, 0.2),
    "a percentage of nothing": ("it is {:.1f} % less.", 1.0, 99.0, 0.15),
    "a speedup": ("the training became {:.2f}x as fast.", 0.5, 5.0, 0.06),
    "a factor": ("it is ahead by a factor of {:.2f}.", 0.5, 5.0, 0.06),
    "what everybody claims": ("it became about {:.0f}x as fast.", 3.0, 10.0, 0.0),
    "seconds": ("an epoch took {:.2f} s.", 0.1, 10.0, 0.08),
    "a rate": ("it reached {:.1f} samples/s.", 50.0, 1500.0, 0.06),
}


def accepted(lab: str, kind: str, *, named: bool) -> float:
    """Return the share of invented results that pass, beside the names of *two* rows or none."""
    (judge, results, two), (sentence, low, high, _) = LABS[lab], KINDS[kind]
    rows = table.as_numbers(table.read((REFERENCE / lab / results).read_bytes(), results).rows, judge.NUMBERS)
    facts, drawn, passed = judge.facts(rows), random.Random(f"{lab} {kind} {named}"), 0
    for _ in range(DRAWS):
        said = f"{two if named else 'All together'} {sentence.format(drawn.uniform(low, high))}"
        passed += not unfounded(stated(f"## Lessons\n\n{said}\n"), facts, judge.NAMED)
    return passed / DRAWS


@pytest.mark.parametrize("named", [False, True], ids=["no row named", "two rows named"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lab", LABS)
def test_few_invented_results_pass(lab, kind, named):
    assert accepted(lab, kind, named=named) <= KINDS[kind][-1]


if __name__ == "__main__":  # python -m tests.checks.test_invented: the shares themselves
    for lab in LABS:
        for kind in KINDS:
            shares = (accepted(lab, kind, named=named) for named in (False, True))
            print(f"{lab:15} {kind:35}", *(f"{100 * share:5.1f} %" for share in shares))
