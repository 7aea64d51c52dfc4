"""Write a small class of sample submissions: good, slow and dishonest. `make demo` grades it."""

from __future__ import annotations

import shutil
import sys
import zipfile
from pathlib import Path

from autograder.course import Course, find_root
from autograder.course.cases import load_cases

# Student -> entry of the corpus; the rest of the class is the reference, the template, and an archive.
CLASS = {
    "babbage_one_batch_ahead": "one_batch_ahead",
    "curie_waits_at_each_step": "item_at_every_step",
    "dijkstra_clips_too_early": "clip_before_unscale",
    "euler_timer_starts_late": "timer_starts_after_the_fetch",
    "moriarty_forges_the_answer": "forges_the_answer",
    "ripley_leaves_early": "ends_the_process",
}
TIMED_CLASS = {
    "lovelace_loops_over_points": "a_loop_over_points",
    "moriarty_hides_the_loop": "hides_its_loop",
}


def make(out: Path) -> None:
    """Write every submission below *out*, in a folder for each lab."""
    course = Course(find_root(start=Path(__file__).parent))
    for lab, students in (("resnet18", CLASS), ("foundations", TIMED_CLASS)):
        cases = {case.id: case for case in load_cases(course, course.lab(lab))}
        for student, entry in students.items():
            write(out / lab / student, cases[entry].submission.files)
        write(out / lab / "ada_by_the_book", reference(course, lab))
    shutil.copytree(course.template("resnet18"), out / "resnet18" / "zeno_has_not_begun")
    shutil.copytree(
        course.template("foundations") / "baseline", out / "foundations" / "zeno_hands_in_the_loops"
    )
    with zipfile.ZipFile(out / "resnet18" / "hopper_sends_a_zip.zip", "w") as archive:
        for name, data in reference(course, "resnet18").items():
            archive.writestr(f"lab/{name}", data)


def reference(course: Course, lab: str) -> dict[str, bytes]:
    """Read what an excellent student would hand in."""
    return {name: (course.reference(lab) / name).read_bytes() for name in course.lab(lab).files}


def write(folder: Path, files: dict[str, bytes]) -> None:
    """Write one submission."""
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
