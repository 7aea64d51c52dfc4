"""The page of who waits."""

import re

import pytest

from autograder.report.queue import Queue, Running, write

SAID = {
    "grading has stopped": (
        Queue("now", waiting=["ben"], each=30.0, stopped=True),
        "Grading has stopped. Waiting until it goes on: 1.",
    ),
    "nobody": (Queue("now"), "Nobody waits."),
    "nothing is known of how long it takes": (
        Queue("now", [Running("ada", 3.0)], ["ben"]),
        "1 being graded, 1 waiting.",
    ),
    "one of two is nearly done": (
        Queue("now", [Running("ada", 20.0)], ["ben"], each=30.0),
        "1 being graded, 1 waiting: done in about 40 s.",
    ),
    "one takes longer than others did": (
        Queue("now", [Running("ada", 90.0)], each=30.0),
        "1 being graded, 0 waiting: done in about 15 s.",
    ),
}


@pytest.mark.parametrize(("queue", "said"), SAID.values(), ids=SAID)
def test_how_things_stand_is_a_line(queue, said):
    assert said == str(queue)


def test_a_page_that_nobody_writes_any_more_says_so_unless_grading_was_stopped(tmp_path):
    """It loads itself again, and its own clock tells."""
    write(tmp_path, "resnet18", Queue("12:00", [Running("ada", 12.0)]))
    running = (tmp_path / "queue.html").read_text(encoding="utf-8")
    write(tmp_path, "resnet18", Queue("12:00", stopped=True))
    stopped = (tmp_path / "queue.html").read_text(encoding="utf-8")

    assert re.search(r"Date\.now\(\) / 1000 - \d{10} < 120;", running)
    assert "the grader was killed" in running
    assert "the grader was killed" not in stopped


def test_the_page_names_who_is_where_and_loads_itself_again(tmp_path):
    running = [Running("<b>ada</b>", 12.0, "pair 2")]
    write(tmp_path, "resnet18", Queue("12:00", running, ["ben", "cy"], ["dan"], 30.0))
    page = (tmp_path / "queue.html").read_text(encoding="utf-8")

    assert '<meta http-equiv="refresh" content="10">' in page
    assert "&lt;b&gt;ada&lt;/b&gt;" in page
    assert page.index("pair 2") < page.index("<li>ben") < page.index("<li>cy") < page.index("dan:")
