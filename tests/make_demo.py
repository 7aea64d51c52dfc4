"""Write a small class of sample submissions: good, slow and dishonest. `make demo` grades it."""

from __future__ import annotations

import shutil
import sys
import zipfile
from pathlib import Path

from autograder.course import Course, find_root
from autograder.course.proof import load_cases

# Student -> entry of the corpus; the rest of the class is the reference, the template, and an archive.
CLASS = {
    "babbage_one_batch_ahead": "one_batch_ahead",
    "curie_waits_at_each_step": "item_at_every_step",
    "dijkstra_clips_too_early": "clip_before_unscale",
    "euler_timer_starts_late": "timer_starts_after_the_fetch",
    "moriarty_forges_the_answer": "forges_the_answer",
    "ripley_leaves_early": "ends_the_process",
}


def make(out: Path) -> None:
    """Write every submission below *out*."""
    course = Course(find_root(start=Path(__file__).parent))
    lab = course.lab("resnet18")
    cases = {case.id: case for case in load_cases(course, lab)}
    for student, entry in CLASS.items():
        write(out / student, cases[entry].submission.files)
    reference = {name: (course.reference("resnet18") / name).read_bytes() for name in lab.files}
    write(out / "ada_by_the_book", reference)
    shutil.copytree(course.template("resnet18"), out / "zeno_has_not_begun")
    with zipfile.ZipFile(out / "hopper_sends_a_zip.zip", "w") as archive:
        for name, data in reference.items():
            archive.writestr(f"lab/{name}", data)


def write(folder: Path, files: dict[str, bytes]) -> None:
    """Write one submission."""
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
