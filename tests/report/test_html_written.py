"""Pages written beside the results: their links, and that a broken result stops no other."""

from __future__ import annotations

import re

import pytest

from autograder.errors import ReadError, UserError
from autograder.report.html import write
from tests.report.parsed_page import Page, put
from tests.samples import a_class, a_result


def test_pages_are_written_beside_the_results(tmp_path):
    for result in a_class(2):
        put(tmp_path, result)

    expected = [
        tmp_path / "student00/feedback.html",
        tmp_path / "student01/feedback.html",
        tmp_path / "index.html",
    ]
    assert expected == write(tmp_path).files
    assert ["<h1>student00</h1>"] == re.findall(
        r"<h1>.*</h1>", expected[0].read_text(encoding="utf-8")
    )
    assert "<title>resnet18: the class</title>" in expected[-1].read_text(encoding="utf-8")


def test_the_class_page_links_to_the_folder_whatever_the_submission_is_called(tmp_path):
    """A submission may not choose where its page is written or what the link runs."""
    put(tmp_path, a_result(submission="../../javascript:alert(1)"), name="ünï & co #1")

    assert [tmp_path / "ünï & co #1/feedback.html", tmp_path / "index.html"] == write(
        tmp_path
    ).files
    assert (
        '<th scope="row"><a href="./%C3%BCn%C3%AF%20%26%20co%20%231/feedback.html">../../javascript'
        in (tmp_path / "index.html").read_text(encoding="utf-8")
    )


BROKEN = {
    "no JSON": ("{", "bo/result.json: cannot be read: Expecting property name"),
    "another format": (
        '{"format": 3}',
        "bo/result.json: format 3; this perflab reads formats 1 to 2",
    ),
    "a name is missing": ('{"format": 1}', "bo/result.json: 'lab' is missing"),
    "nested without end": (
        "[" * 100_000,
        "bo/result.json: cannot be read: maximum recursion depth",
    ),
}


@pytest.mark.parametrize(("text", "message"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_result_is_named_and_stops_no_other(tmp_path, text, message):
    """The other pages are written first, and the class page names it too."""
    put(tmp_path, a_result())
    (tmp_path / "bo").mkdir()
    (tmp_path / "bo/result.json").write_text(text, encoding="utf-8")

    with pytest.raises(ReadError) as raised:
        write(tmp_path)

    assert str(raised.value).startswith(f"{tmp_path}: 1 of 2 results could not be read: {message}")
    assert message in Page((tmp_path / "index.html").read_text(encoding="utf-8")).text
    assert (tmp_path / "asha/feedback.html").exists()


def test_only_broken_results_still_have_a_class_page(tmp_path):
    (tmp_path / "bo").mkdir()
    (tmp_path / "bo/result.json").write_text("{", encoding="utf-8")

    with pytest.raises(ReadError, match="1 of 1"):
        write(tmp_path)

    assert f"<title>{tmp_path.name}: the class</title>" in (tmp_path / "index.html").read_text(
        encoding="utf-8"
    )


def test_a_folder_without_results_says_which_folder_is_meant(tmp_path):
    with pytest.raises(UserError) as raised:
        write(tmp_path)

    assert (
        f"{tmp_path}: no */result.json here; give the folder that `perflab grade --out` wrote"
        == str(raised.value)
    )
    assert [] == list(tmp_path.iterdir())
