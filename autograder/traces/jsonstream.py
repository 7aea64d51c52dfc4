"""Reads a large JSON file event by event in bounded memory, and mends what profilers are known to
write.

One event at a time is a third of the time and a tenth of the memory of reading it whole; and a
file that ends in the middle still gives every event before that.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from autograder.errors import SubmissionError
from autograder.traces.source import Source

# Events of any kind; real ones have a hundred characters, so a file of 1 GiB has no more.
MOST = 10_000_000
MOST_DAMAGED = 10_000
ONE_CAP = 4 * 1024 * 1024  # characters of one event, or of one other value
EVENTS = "traceEvents"
EVENTS_AHEAD = re.compile(r'"traceEvents"\s*+:\s*+\[')
BLANK = re.compile(r"[\s,]*")
EVENT_END = re.compile(r"\}(?=\s*+(?:,\s*+\{|\]|,?\s*+$))")
BARE = re.compile(r"(?<=[:,\[])\s*(?:N/A|-?nan|-?inf)(?:\(\w*\))?(?=\s*[,}\]])", re.IGNORECASE)


@dataclass
class Document:
    """What was read beside the events, and how well."""

    values: dict[str, Any] = field(default_factory=dict)
    damaged: int = 0
    truncated: bool = False
    too_long: bool = False
    """Whether it was cut because one value goes on and on."""


class _Short(Exception):  # noqa: N818 it never leaves this file
    """The text ends inside a value."""


class Stream:
    """A window on the text that moves forward."""

    def __init__(self, source: Source, document: Document) -> None:
        """Read the first piece."""
        self._more = source.text()
        self._document = document
        self._name = source.name
        self._text = ""
        self._at = 0
        self._ended = False
        self._decoder = json.JSONDecoder(strict=False)
        self._read()

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield each event; other values of the outer object go into the document."""
        try:
            opening = self._next()
            self._at += 1
            if opening == "[":
                yield from self._list()
                return
            while (char := self._next()) != "}":
                if not char:
                    raise _Short
                yield from self._member()
        except _Short:
            self._document.truncated = True

    def _member(self) -> Iterator[dict[str, Any]]:
        try:
            name = self._value()
            if self._next() != ":":
                raise ValueError("no value")
            self._at += 1
            if self._next() != "[" or name != EVENTS:
                self._document.values[str(name)] = self._value()
                return
        except ValueError:
            self._to_events()
        self._at += 1
        yield from self._list()

    def _to_events(self) -> None:
        """Pass over what cannot be read, to the list of events."""
        self._document.damaged += 1
        match = EVENTS_AHEAD.search(self._text, self._at)
        if match is None:
            raise _Short
        self._at = match.end() - 1

    def _list(self) -> Iterator[dict[str, Any]]:
        for number in count():
            char = self._next()
            if char == "]":
                break
            if not char:
                raise _Short
            self._refuse(number)
            event = self._event()
            if isinstance(event, dict):
                yield event
        self._at += 1

    def _refuse(self, number: int) -> None:
        """Read no further where that would take minutes."""
        if number >= MOST:
            raise SubmissionError(f"{self._name}: more than {MOST:,} events; record fewer steps")
        if self._document.damaged > MOST_DAMAGED:
            raise SubmissionError(
                f"{self._name}: more than {MOST_DAMAGED:,} events are damaged; export it again"
            )

    def _event(self) -> Any:
        """Read one event; a broken one is mended, or counted and passed over."""
        try:
            return self._value()
        except ValueError:
            end = EVENT_END.search(self._text, self._at)
        if end is None:  # the last one, cut: what is missing behind it counts more
            self._document.too_long = len(self._text) - self._at > ONE_CAP
            raise _Short
        broken = self._text[self._at : end.start() + 1]
        self._at = end.end()
        try:
            return self._decoder.raw_decode(BARE.sub("null", broken))[0]
        except (ValueError, RecursionError):
            self._document.damaged += 1
            return None

    def _value(self) -> Any:
        """Read one value, however far it goes; ValueError when it is none."""
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
                if end < len(self._text) or self._ended:  # else a number may go on
                    self._at = end
                    return value
            except RecursionError:
                raise ValueError("nested too deep") from None
            except ValueError:
                if self._ended or len(self._text) - self._at > ONE_CAP:
                    raise
            self._read()

    def _next(self) -> str:
        """Pass over blanks and commas; return the next character, or nothing at the end."""
        while True:
            blank = BLANK.match(self._text, self._at)
            assert blank is not None
            self._at = blank.end()
            if self._at < len(self._text) or self._ended:
                return self._text[self._at : self._at + 1]
            self._read()

    def _read(self) -> None:
        piece = next(self._more, None)
        self._ended = piece is None
        self._text = self._text[self._at :] + (piece or "")
        self._at = 0


def stream(source: Source) -> tuple[Iterator[dict[str, Any]], Document]:
    """Return the events, to be read once, and the document that fills while they are."""
    document = Document()
    return Stream(source, document).events(), document
