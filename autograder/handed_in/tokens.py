"""The words of Python text, in time that grows with its length and no faster, whatever the text is.

Python 3.11's `tokenize` takes the square of a line that opens texts and ends none: hours for a file
that may be handed in. A mere look reads words here; only what has to be split into statements is
tokenised, and only what can be.
"""

from __future__ import annotations

import io
import re
import sys
import tokenize
from collections.abc import Iterator
from typing import NamedTuple

LONGEST_LINE = 10_000
"""Characters: nobody writes such a line, and for each of its tokens all of it may be looked at."""
OPEN = "a bracket or a quote is not closed"
TEXT = r"{0}{0}{0}(?:[^{0}\\]|\\.|{0}(?!{0}{0}))*+(?:{0}{0}{0})?|{0}(?:[^{0}\\\n]|\\.)*+{0}?"
# Possessive, and nothing has to follow: each character is looked at once, also of a text that
# never ends.
WORD = re.compile(
    rf"(?P<comment>\#[^\n]*)|(?P<prefix>(?:(?<!\w)[bfrtu]{{1,2}})?)(?P<text>{TEXT.format(chr(39))}|{TEXT.format(chr(34))})"
    r"|(?P<name>\w+)|(?P<mark>\*\*|//|<<|>>|->|:=|[-+*/%@&|^<>=!]=|[^\s\w])",
    re.DOTALL | re.IGNORECASE,
)


class Word(NamedTuple):
    """A word, and where it begins; a comment is none."""

    kind: str
    """text, name (numbers too) or mark."""
    string: str
    """A text with its quotes."""
    prefix: str
    """Of a text: f, rb."""
    line: int


def words(source: str) -> Iterator[Word]:
    """Read any text as if it were Python; what is none is read all the same."""
    line = 1
    read = 0
    for match in WORD.finditer(source):
        line += source.count("\n", read, match.start())
        read = match.start()
        kind = match.lastgroup or ""
        if kind != "comment":
            yield Word(kind, match[kind], (match["prefix"] or "").lower(), line)


def tokens(source: str) -> Iterator[tokenize.TokenInfo]:
    """Tokenise a file; SyntaxError where it is none, or where that would take too long."""
    if any(len(line) > LONGEST_LINE for line in source.split("\n")):
        raise SyntaxError(f"a line has more than {LONGEST_LINE} characters")
    # Later versions find that themselves, at once.
    if sys.version_info < (3, 12) and not all(_ends(word) for word in words(source)):
        raise SyntaxError(OPEN)
    return tokenize.generate_tokens(io.StringIO(source).readline)


def _ends(word: Word) -> bool:
    """Whether a text has its closing quotes."""
    if word.kind != "text":
        return True
    text = word.string
    quote = text[:3] if text[:3] in ("'''", '"""') else text[:1]
    return len(text) >= 2 * len(quote) and text.endswith(quote)
