"""JUnit XML as Jenkins' xunit-plugin reads it (junit-10.xsd), with every outcome and nothing that XML cannot hold."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

from autograder.export import junit
from autograder.handed_in.roster import Student
from autograder.results.standing import Standing
from tests.samples import a_check, a_part, a_result

# Of junit-10.xsd: an element -> what it must have, what it may have, what may stand in it.
SCHEMA = {
    "testsuites": (set(), {"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors"},
        {
            "group",
            "time",
            "skipped",
            "timestamp",
            "hostname",
            "id",
            "package",
            "file",
            "log",
            "url",
        },
        {"testsuite", "properties", "testcase", "system-out", "system-err"},
    ),
    "testcase": (
        {"name"},
        {"time", "classname", "group"},
        {"skipped", "error", "failure", "system-out", "system-err"},
    ),
    "failure": (set(), {"type", "message"}, set()),
    "error": (set(), {"type", "message"}, set()),
    "skipped": (set(), {"type", "message"}, set()),
    "system-out": (set(), set(), set()),
}


def read(*results):
    """Parse a report and hold each element against the schema."""
    standings = [
        Standing(result, Path(result.submission), Student(result.submission)) for result in results
    ]
    whole = ET.fromstring(junit.report(standings).encode())
    for element in whole.iter():
        must, may, inside = SCHEMA[element.tag]
        assert must <= set(element.attrib) <= must | may
        assert {child.tag for child in element} <= inside
    return whole


def test_every_outcome_has_its_element():
    """A fault of ours is an error; what is owed is skipped."""
    cases = {case.get("name"): case[0].tag for case in read(a_result()).iter("testcase")}

    assert {
        "follows_fp32": "system-out",
        "amp_is_faster": "failure",
        "half_precision_where_it_helps": "failure",
        "explains_where_autocast_goes": "skipped",
        "results_complete": "skipped",
        "memory_falls": "skipped",
        "steady_speed": "skipped",
        "gradients_agree": "error",
        "plot_is_a_picture": "skipped",
    } == cases


def test_suites_are_parts_of_submissions_and_count_their_cases():
    suites = {
        suite.get("name"): suite.attrib
        for suite in read(a_result(), a_result(submission="ben")).iter("testsuite")
    }
    counted = [
        suites["asha.part4_memory"][name] for name in ("tests", "failures", "errors", "skipped")
    ]

    assert ["asha.part3_amp", "asha.part4_memory", "ben.part3_amp", "ben.part4_memory"] == list(
        suites
    )
    assert ["5", "0", "1", "4"] == counted


def test_a_case_says_what_the_check_says():
    [case] = read(a_result(a_part("part3", "AMP", a_check()))).iter("testcase")

    assert a_check().measured == case[0].get("message")
    assert all(text in case[0].text for text in (a_check().title, a_check().why, a_check().try_))
    assert "0 of 6 points" == case[1].text


def test_what_a_student_wrote_is_text_that_xml_can_hold():
    """Markup is escaped, and what XML cannot hold is replaced."""
    hostile = "]]><failure/>\x00\x1b[31m\ud800\ufffe&amp;"
    [case] = read(a_result(a_part("part3", "AMP", a_check(measured=hostile)))).iter("testcase")

    assert "]]><failure/>\ufffd\ufffd[31m\ufffd\ufffd&amp;" == case[0].get("message")
