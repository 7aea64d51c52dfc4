"""What the warm process does ahead: workers find it done, and nothing of it in their way."""

from __future__ import annotations

import errno
import importlib
import sys
from multiprocessing import reduction
from pkgutil import iter_modules

import matplotlib.pyplot as plt
import pytest

from autograder import labs
from autograder.course.labs import load_lab
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


def test_what_a_part_wants_warm_is_imported_with_it(tmp_path, monkeypatch):
    """And what it wants and is not there stops nobody."""
    text = "from autograder.lab import Part\n\npart = Part('part1_warm', warm=['colorsys', 'no_such'])\n"
    (tmp_path / "warmed").mkdir()
    (tmp_path / "warmed" / "__init__.py").write_text("")
    (tmp_path / "warmed" / "part1_warm.py").write_text(text)
    monkeypatch.setattr(labs, "__path__", [*labs.__path__, str(tmp_path)])
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    warm.parts()

    assert "colorsys" in sys.modules


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


def sends(*errors):
    """A way to send descriptors that is refused with these errors first."""
    left = iter(errors)

    def send(*_):
        if number := next(left, 0):
            raise OSError(number, "refused")

    return send


def test_descriptors_wait_while_too_many_are_on_their_way(monkeypatch):
    """They may be another lane's: a DataLoader is late then, and does not fail."""
    waited = []
    monkeypatch.setattr(warm.time, "sleep", waited.append)
    warm.patient(sends(errno.ETOOMANYREFS, errno.ETOOMANYREFS))(None, [1])

    assert 2 == len(waited)


def test_any_other_refusal_is_told():
    with pytest.raises(BrokenPipeError):
        warm.patient(sends(errno.EPIPE))(None, [1])


def test_what_hands_over_descriptors_is_patient():
    """A DataLoader's workers send tensors with it."""
    assert reduction.sendfds.__qualname__.startswith(warm.patient.__name__)
