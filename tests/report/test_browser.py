"""The pages in a browser: they fit a phone and a desk, and the class table sorts and filters."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from html import unescape

import pytest

from autograder.report.html import class_page, feedback_page
from tests.samples import a_class, a_result

CHROMIUM = shutil.which("chromium") or ""
FLAGS = ["--headless", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=2000", "--dump-dom"]
pytestmark = pytest.mark.skipif(not CHROMIUM, reason="wants the Debian package chromium: make system")


def ask(folder, html: str, question: str, width: int = 1100, *flags: str):
    """Open the page, evaluate a JavaScript expression in it, and return its value."""
    script = f"<script>document.title = 'ANSWER' + JSON.stringify({question});</script>"
    page = folder / "page.html"
    page.write_text(html.replace("</body>", f"{script}</body>"), encoding="utf-8")
    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    command = [
        CHROMIUM,
        *FLAGS,
        *root,
        *flags,
        f"--user-data-dir={folder}",
        f"--window-size={width},900",
        page.as_uri(),
    ]
    dom = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    return json.loads(unescape(re.search("<title>ANSWER(.*?)</title>", dom, re.DOTALL)[1]))


PAGES = {"class": lambda: class_page(a_class(12), "resnet18"), "feedback": lambda: feedback_page(a_result())}


@pytest.mark.parametrize("width", [500, 1100], ids=["narrow", "wide"])
@pytest.mark.parametrize("page", PAGES)
def test_no_page_is_wider_than_its_window(tmp_path, page, width):
    """Chromium makes no window narrower than 500 pixels; wide tables scroll inside their own box."""
    assert 0 == ask(tmp_path, PAGES[page](), "document.documentElement.scrollWidth - innerWidth", width)


def test_a_click_on_a_head_sorts_the_class(tmp_path):
    """Scores start with the highest, and a second click turns the order."""
    scores = "[...document.querySelectorAll('#class tbody tr')].map(row => Number(row.cells[1].dataset.value))"
    click = "document.querySelectorAll('#class thead button')[1].click()"
    down, up = ask(tmp_path, class_page(a_class(12), "resnet18"), f"[({click}, {scores}), ({click}, {scores})]")

    assert sorted(down, reverse=True) == down
    assert sorted(up) == up != down


def test_typing_a_name_leaves_those_that_hold_it(tmp_path):
    """The rest of the table is hidden, and the count says how many are shown."""
    names = [result.submission for result in a_class(12)]
    question = f"""(() => {{
        const filter = document.getElementById("filter");
        filter.value = {json.dumps(names[0].upper())};
        filter.dispatchEvent(new Event("input"));
        const shown = [...document.querySelectorAll("#class tbody tr")].filter(row => !row.hidden);
        return [shown.map(row => row.cells[0].textContent.trim()), document.getElementById("shown").textContent];
    }})()"""

    assert [[names[0]], f"1 of {len(names)}"] == ask(tmp_path, class_page(a_class(12), "resnet18"), question)


def test_dark_screens_get_a_dark_page(tmp_path):
    """The page follows the system's colours."""
    colour = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)"
    light, dark = (
        ask(
            tmp_path,
            class_page(a_class(12), "resnet18"),
            colour,
            1100,
            f"--blink-settings=preferredColorScheme={scheme}",
        )
        for scheme in (1, 0)
    )

    assert min(light) > 200
    assert max(dark) < 80
