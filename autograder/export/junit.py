"""JUnit XML, for the pages of CI systems.

A suite for each part of each submission, a case for each check.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from autograder.export import message
from autograder.model import CheckResult, PartResult, Result
from autograder.report.outcome_words import clean
from autograder.results.standing import Standing

KINDS = {
    "partial": "failure",
    "failed": "failure",
    "skipped": "skipped",
    "unavailable": "skipped",
    "inconclusive": "skipped",
    "error": "error",
    "unread": "skipped",
}
NO_XML = re.compile("[\ufffe\uffff]")  # what `clean` leaves and XML cannot hold


def report(standings: Sequence[Standing]) -> str:
    """Write the report; points stand in the cases' output, since JUnit knows none."""
    whole = ET.Element("testsuites", name="perflab")
    for standing in standings:
        whole.extend(_suite(standing.result, part) for part in standing.result.parts)
    ET.indent(whole)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(whole, encoding="unicode")}\n'


def _suite(result: Result, part: PartResult) -> ET.Element:
    name = _text(f"{result.submission}.{part.id}")
    counts = Counter(KINDS.get(check.outcome, "passed") for check in part.checks)
    suite = ET.Element(
        "testsuite", name=name, tests=str(len(part.checks)), timestamp=result.started
    )
    for kind, attribute in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        suite.set(attribute, str(counts[kind]))
    suite.extend(_case(name, check) for check in part.checks)
    return suite


def _case(suite: str, check: CheckResult) -> ET.Element:
    case = ET.Element("testcase", classname=suite, name=_text(check.id))
    text = f"{check.title}\n{message(check)}"
    if kind := KINDS.get(check.outcome):
        summary = check.measured or check.reason or check.title
        ET.SubElement(case, kind, type=check.outcome, message=_text(summary)).text = _text(text)
    ET.SubElement(case, "system-out").text = f"{check.points:g} of {check.max_points:g} points"
    return case


def _text(text: str) -> str:
    return NO_XML.sub("\N{REPLACEMENT CHARACTER}", clean(text))
