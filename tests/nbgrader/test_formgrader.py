"""nbgrader's formgrader in a browser, over a class that perflab graded: the scores, the verdicts, what is left to do."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip(
    "nbgrader.server_extensions.formgrader",
    reason="nbgrader is an extra: pip install 'perflab[nbgrader]'",
)

from tests import chromium
from tests.nbgrader import course
from tests.nbgrader.course import LAB, PART, gradebook, hand_in, nbgrader, released, written

pytestmark = [chromium.needed, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
PATIENCE_SECONDS = 60.0  # of a server and a browser on a busy machine
CLASS = {"ada": "return 2.0", "bob": "return -1.0", "cleo": "while True: pass"}
SERVER = """
import sys
from autograder.machine.processes import die_with
die_with(int(sys.argv[1]))  # whatever becomes of the tests
from jupyter_server.serverapp import ServerApp
app = ServerApp()
app.jpserver_extensions = {"nbgrader.server_extensions.formgrader": True}
words = ["--port=0", "--no-browser", "--IdentityProvider.token=", "--allow-root"]
app.initialize(words, find_extensions=False)  # JupyterLab and others are not looked at here
app.start()
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A class in nbgrader's gradebook, by nbgrader's commands."""
    from autograder.nbgrader import results

    root = tmp_path_factory.mktemp("formgrader") / "course"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(results, "_course", lambda root: course.COURSE)
        patch.setattr(results, "_session", lambda *_: course.session())
        course.make(root)
        assert 0 == nbgrader(root, "generate_assignment", LAB)
        for student, body in CLASS.items():
            hand_in(root, student, written(released(root), body))
        assert 0 == nbgrader(root, "autograde", LAB)
    return root


@pytest.fixture(scope="module")
def url(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Jupyter server with formgrader, on a port that the system chose; ended with all that it started."""
    home = tmp_path_factory.mktemp("jupyter")
    places = {f"JUPYTER_{name}_DIR": str(home / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    log = home / "log"
    with log.open("w") as out:
        server = subprocess.Popen(
            [sys.executable, "-c", SERVER, str(os.getpid())],
            cwd=root, env={**os.environ, **places, "HOME": str(home)}, stdout=out, stderr=out, start_new_session=True,
        )  # fmt: skip
        try:
            yield _until(lambda: _address(home / "RUNTIME", server, log))
        finally:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


def _address(runtime: Path, server: subprocess.Popen[bytes], log: Path) -> str:
    """Read where it serves, once it does."""
    assert server.poll() is None, log.read_text()
    with suppress(OSError, ValueError):  # not there yet, or half of it
        [file] = runtime.glob("jpserver-*.json")
        said = json.loads(file.read_text())
        socket.create_connection(("127.0.0.1", said["port"]), timeout=1).close()
        return f"http://127.0.0.1:{said['port']}"
    return ""


def _until(ask: Any) -> Any:
    """Wait until there is an answer."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not (found := ask()):
        assert time.monotonic() < end, "no answer"
        time.sleep(0.1)
    return found


@pytest.fixture(scope="module")
def browser(url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    found = chromium.start(tmp_path_factory.mktemp("chromium"))
    found.set_page_load_timeout(PATIENCE_SECONDS)
    yield found
    found.quit()


ROWS = """return [...document.querySelectorAll('#main-table tr')].map(row =>
    [...row.cells].map(cell => (cell.querySelector('.name-shown') || cell).textContent.trim()))"""


def rows(browser: Any, columns: int) -> list[list[str]]:
    """Return the table once it is filled."""

    def filled() -> list[list[str]]:
        found: list[list[str]] = browser.execute_script(ROWS)
        return found if found and all(len(row) == columns for row in found) else []

    found: list[list[str]] = _until(filled)
    return found


def test_the_gradebook_page_has_the_class(browser: Any, url: str):
    """Its average is of perflab's scores."""
    browser.get(f"{url}/formgrader/gradebook")
    [[name, _, many, score]] = rows(browser, 4)

    assert (LAB, "3", "3.33 / 14") == (name, many, score)


def test_each_student_has_the_score_of_perflab_and_waits_for_a_person(
    browser: Any, url: str, root: Path
):
    """The table that graders work from."""
    with gradebook(root) as book:
        scores = {one.student.id: one.score for one in book.find_assignment(LAB).submissions}
    browser.get(f"{url}/formgrader/gradebook/{LAB}/{PART}")
    found = {row[1]: row[2] for row in rows(browser, 9)}

    assert {"ada": 6.0, "bob": 2.0, "cleo": 2.0} == scores
    assert {student: f"{score:g} / 14" for student, score in scores.items()} == found


def test_the_page_of_a_submission_shows_the_verdicts_beside_the_points(
    browser: Any, url: str, root: Path
):
    """What a person reads while grading what is owed."""
    with gradebook(root) as book:
        notebook = book.find_submission_notebook(PART, LAB, "bob").id
    browser.get(f"{url}/formgrader/submissions/{notebook}/")

    def points(name: str) -> str:
        return str(browser.execute_script(f"return document.getElementById('{name}').placeholder"))

    def comment() -> str:
        return str(
            browser.execute_script("return document.getElementById('work-comment').placeholder")
        )

    _until(lambda: points("has_table") and comment())
    shown = browser.execute_script("return document.body.textContent")

    assert [] == [words for words in ("it is not positive", "add to it") if words not in shown]
    assert comment().startswith("2 of 14 points, 2 not settled yet")
    assert ["0", "0", "2", ""] == [
        points(name) for name in ("positive", "equal", "has_table", "explains")
    ]
    assert "the_secret_of_the_reference" not in shown
