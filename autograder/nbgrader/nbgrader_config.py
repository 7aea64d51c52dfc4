"""nbgrader with the verdicts of perflab.

`nbgrader autograde` never executes what was handed in.
"""

import os
import sys
from pathlib import Path

c = get_config()  # type: ignore[name-defined]  # noqa: F821 nbgrader gives it
root = Path(__file__).resolve().parent

# nbgrader starts alembic by its name.
programs = str(Path(sys.executable).parent)
os.environ["PATH"] = os.pathsep.join([programs, os.environ.get("PATH", "")])

c.CourseDirectory.root = str(root)
c.CourseDirectory.course_id = "perflab"
# Seconds for a cell of `nbgrader validate`; autograde executes none.
c.Execute.timeout = 600
# Seconds that a writer waits for another.
c.CourseDirectory.db_url = f"sqlite:///{root}/gradebook.db?timeout=60"

OURS = "autograder.nbgrader.autograde."
THEIRS = "nbgrader.preprocessors."
c.GenerateAssignment.preprocessors = [
    THEIRS + "IncludeHeaderFooter",
    THEIRS + "LockCells",
    THEIRS + "ClearSolutions",
    THEIRS + "ClearOutput",
    THEIRS + "CheckCellMetadata",
    THEIRS + "ComputeChecksums",
    THEIRS + "SaveCells",
    THEIRS + "CheckCellMetadata",
    OURS + "RefuseLeaks",
]
# Programs that students hand in beside their notebooks stay theirs,
# and nobody needs the wheel once for each student.
c.Autograde.exclude_overwriting = {
    lab.name: [file.name for kind in ("*.py", "*.whl") for file in lab.glob(kind)]
    for lab in (root / "source").glob("*")
}
c.Autograde.exporter_class = OURS + "GradedNotebook"
c.Autograde.sanitize_preprocessors = [
    THEIRS + "OverwriteKernelspec",
    THEIRS + "CheckCellMetadata",
]
c.Autograde.autograde_preprocessors = [
    OURS + "Verdicts",
    # The lab's, in grading_config.yaml; of a lab without one, c.AssignLatePenalties.
    OURS + "LatePolicy",
    THEIRS + "CheckCellMetadata",
]

c.Verdicts.course = "{course}"  # the folder with grading_config.yaml
# What `perflab grade LAB submitted --out results/LAB` writes.
c.Verdicts.results = "results/{assignment}"
c.Verdicts.grade_when_absent = True  # False: only results that are there already
# "none" runs submissions as you: only work that you trust.
c.Verdicts.isolation = "bubblewrap"
c.Verdicts.device = "auto"
