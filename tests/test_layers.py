"""Imports go down only; files of one layer do not import each other; nobody imports the worker; no file is long."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import autograder
from autograder import checks

ROOT = Path(autograder.__file__).parent
REPOSITORY = Path(__file__).parents[1]
# Top first. The table of autograder/README.md; a module may import modules of lower lines only.
LAYERS = [
    {"cli"},
    {"nbgrader"},
    {"cluster", "export", "student"},
    {"batch", "report"},
    {"course", "results"},
    {"grading", "labs"},
    {"claims"},
    {"checks"},
    {"clock", "handed_in", "sandbox"},
    {"config", "lab", "machine", "result_file", "traces"},
    {"probe"},
    {"json_schema", "model", "part_name", "protocol", "records", "sheet", "yaml_file"},
    {"errors"},
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
WORKER_MAY_IMPORT = {"labs", "lab", "probe", "protocol", "machine", "model", "errors", "worker"}
TORCH = {"torch", "torchvision"}
LABS = ["distributed", "foundations", "gpu_profiling", "pairs", "resnet18"]
LONGEST_MEAN = 46  # characters of a line that is not blank
MOST_LINES = 400  # of a file
LONGER = {"reference/gpu_profiling/bonus.py"}  # a part is one file; this has four challenges


@cache
def imported(path: Path) -> list[tuple[str, ...]]:
    """Every absolute import of a file, function bodies included, as dotted names."""
    found: list[tuple[str, ...]] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [tuple(alias.name.split(".")) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: a relative import hides its layer"
            found += [(*(node.module or "").split("."), alias.name) for alias in node.names]
    return found


def modules() -> dict[Path, str]:
    """Every file of the package -> the name of its layer's module."""
    files = [
        p for p in ROOT.rglob("*.py") if "_course" not in p.parts and p != ROOT / "__init__.py"
    ]
    return {path: room(path.relative_to(ROOT).with_suffix("").parts) for path in files}


def room(parts: tuple[str, ...]) -> str:
    """The room that a file belongs to: a part's own rig is the worker's, wherever it stands."""
    own_rig = parts[0] == "labs" and parts[3:4] == ("rig",)
    return "worker" if own_rig else parts[0]


def problems() -> list[str]:
    found = []
    for path, here in modules().items():
        own = [
            names[1]
            for names in imported(path)
            if names[0] == "autograder" and len(names) > 1 and names[1] != "__version__"
        ]
        for top in {name for name in own if name != here}:
            if here == "worker":
                bad = top not in WORKER_MAY_IMPORT
            elif top == "worker":
                bad = (
                    here != "lab"
                )  # for its types; the next test says that nothing of it is loaded
            else:
                bad = top not in RANK or here not in RANK or RANK[top] <= RANK[here]
            if bad:
                found.append(f"{path.relative_to(ROOT)}: '{here}' must not import '{top}'")
    return sorted(found)


def test_the_list_of_judges_names_each_of_them():
    """Whoever looks for one finds it there."""
    heads = [line[4:20] for line in (checks.__doc__ or "").splitlines() if line.startswith("    ")]
    listed = {name for head in heads for name in head.replace(",", " ").split()}

    assert {path.stem for path in (ROOT / "checks").glob("*.py")} - {"__init__"} == listed


def test_imports_go_down_only():
    """No module imports its own layer or one above it."""
    assert problems() == []


def test_every_module_has_a_layer():
    """A new module is given its place in the table, and the table names nothing that is gone."""
    assert set(modules().values()) == set(RANK) | {"worker"}


def test_torch_stays_behind_the_wall():
    """Only the worker imports torch."""
    offenders = {
        path.relative_to(ROOT).as_posix()
        for path, here in modules().items()
        if here != "worker" and any(names[0] in TORCH for names in imported(path))
    }

    assert offenders == set()


def test_no_lab_loads_the_worker_nor_a_rig():
    """The types of a probe's toolkit are for editors and mypy."""
    code = (
        "import sys; from autograder.course.labs import load_lab; "
        f"labs = [load_lab(name) for name in {LABS}]; "
        "print([name for name in sys.modules"
        " if name.startswith(('autograder.worker', 'torch')) or '.rig' in name])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert told.stdout.strip() == "[]"


def test_parts_do_not_import_each_other():
    """A part is judged alone; what parts share lives in checks/ and claims/."""
    parts = [path for path in modules() if path.relative_to(ROOT).parts[0] == "labs"]
    offenders = [
        path.name
        for path in parts
        for names in imported(path)
        if names[:2] == ("autograder", "labs") and names[2:4] != own_part(path)
    ]

    assert parts
    assert offenders == []


def test_lines_are_not_dense():
    """A line holds one idea; the mean of all lines that are not blank, indentation included."""
    lines = [line for path in modules() for line in path.read_text(encoding="utf-8").splitlines()]
    lengths = [len(line) for line in lines if line.strip()]

    assert len(lengths) > 10_000
    assert sum(lengths) / len(lengths) <= LONGEST_MEAN


def test_no_file_is_long():
    """A file with more lines is about more than one thing, and can be cut where the next one begins."""
    longer = {
        path.relative_to(REPOSITORY).as_posix()
        for folder in ("autograder", "reference", "student_template", "tests")
        for path in (REPOSITORY / folder).rglob("*.py")
        if "_course" not in path.parts and path.read_bytes().count(b"\n") > MOST_LINES
    }

    assert longer == LONGER


def own_part(path: Path) -> tuple[str, ...]:
    """The lab and the part that a file belongs to."""
    return path.relative_to(ROOT).with_suffix("").parts[1:3]


def test_the_guard_sees_an_upward_import(tmp_path, monkeypatch):
    """A guard that watches nothing must not pass."""
    (tmp_path / "sheet.py").write_text("from autograder.grading.grade import grade\n")
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)

    assert problems() == ["sheet.py: 'sheet' must not import 'grading'"]
