"""What the warm process does ahead: workers find it done, and nothing of it in their way."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pkgutil import iter_modules

import matplotlib.pyplot as plt
import pytest
from matplotlib.font_manager import FontManager

from autograder import labs
from autograder.lab import load_lab
from autograder.worker import warm


@pytest.mark.parametrize("name", [module.name for module in iter_modules(labs.__path__)])
def test_every_part_is_imported(name):
    """In whatever lab it is, without anybody asking for it."""
    own = {f"autograder.labs.{name}.{part.id}" for part in load_lab(name).parts}
    for module in own:
        sys.modules.pop(module)
    warm.parts()

    assert own <= set(sys.modules)


def test_a_part_that_cannot_be_imported_stops_no_worker(tmp_path, monkeypatch):
    """Whoever runs it says what is wrong; all others go on."""
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "__init__.py").write_text("")
    (tmp_path / "broken" / "part1_odd.py").write_text("1 / 0")
    monkeypatch.setattr(labs, "__path__", [*labs.__path__, str(tmp_path)])
    warm.parts()

    assert "autograder.labs.broken" in sys.modules
    assert "autograder.labs.broken.part1_odd" not in sys.modules


def test_the_first_picture_is_gone():
    """A student's first figure is number 1."""
    before = plt.get_fignums()
    warm.picture()

    assert before == plt.get_fignums()


def test_a_picture_that_cannot_be_drawn_stops_no_worker(monkeypatch):
    """Most of them draw nothing."""
    drawn = []
    monkeypatch.setattr(plt, "subplots", lambda: drawn.append(1) or 1 / 0)
    importlib.reload(warm)

    assert [1] == drawn


@pytest.mark.slow
def test_fonts_that_cannot_be_kept_are_no_word_on_the_terminal(tmp_path):
    """As in a folder for all users, where the list is another user's."""
    (tmp_path / f"fontlist-v{FontManager.__version__}.json").mkdir()
    environ = {"MPLCONFIGDIR": str(tmp_path), "MPLBACKEND": "Agg", "HOME": str(tmp_path)}
    said = subprocess.run(
        [sys.executable, "-m", "autograder.worker.warm"], env=environ, capture_output=True, check=True
    )

    assert b"font_manager" not in said.stderr
