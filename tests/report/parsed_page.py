"""A page as a browser reads it, and the results that pages are made of."""

from __future__ import annotations

import json
from html.parser import HTMLParser

from autograder.records import to_json

VOID = {"meta", "link", "input", "br", "rect", "line"}


class Page(HTMLParser):
    """Reads a page as a browser would: its text, its elements, and whether they nest."""

    def __init__(self, html: str):
        super().__init__()
        self.elements: list[tuple[str, dict]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(html)
        self.close()
        assert [] == self.open, "elements left open"

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert tag == self.open.pop()

    def handle_data(self, data):
        if not {"style", "script"} & set(self.open):
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    def all(self, tag: str) -> list[dict]:
        return [attributes for name, attributes in self.elements if name == tag]


def put(folder, result, name=None):
    """Write a result.json where a grading would."""
    home = folder / (name or result.submission)
    home.mkdir()
    (home / "result.json").write_text(json.dumps(to_json(result)), encoding="utf-8")
