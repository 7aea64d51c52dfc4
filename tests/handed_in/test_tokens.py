"""The words of a text: as Python has them, and in time that grows with its length whatever it is."""

from __future__ import annotations

import io
import time
import tokenize
from pathlib import Path

import pytest

from autograder.handed_in.tokens import LONGEST_LINE, tokens, words

SOURCE = '''\
import os  # it's a comment
if'a'"b": x = rb'it\\'s' + f"{os.sep!r}" # "
"""one
it's two \\""" """; y = 0x1f ** 2.5e-3 if x != 'a\\
b' else ""
'''


def said(source):
    return [(word.kind, word.prefix + word.string, word.line) for word in words(source)]


def test_words_are_those_of_python():
    """Comments are none; a text is one, however it is quoted, with the line where it begins."""
    found = said(SOURCE)

    assert [
        ("name", "import", 1), ("name", "os", 1), ("name", "if", 2), ("text", "'a'", 2), ("text", '"b"', 2),
        ("mark", ":", 2), ("name", "x", 2), ("mark", "=", 2), ("text", "rb'it\\'s'", 2), ("mark", "+", 2),
        ("text", 'f"{os.sep!r}"', 2), ("text", '"""one\nit\'s two \\""" """', 3), ("mark", ";", 4),
    ] == found[:13]  # fmt: skip
    assert [
        ("mark", "!=", 4),
        ("text", "'a\\\nb'", 4),
        ("name", "else", 5),
        ("text", '""', 5),
    ] == found[-4:]


def test_words_are_what_the_tokenizer_finds():
    """Of this very file."""
    source = Path(__file__).read_text(encoding="utf-8")
    kinds = (tokenize.NAME, tokenize.STRING)
    every = tokenize.generate_tokens(io.StringIO(source).readline)
    expected = [(token.string, token.start[0]) for token in every if token.type in kinds]
    found = [word for word in words(source) if word.kind == "text" or word.string.isidentifier()]

    assert expected == [(word.prefix + word.string, word.line) for word in found]


LONG = 1 << 16
HOSTILE = {
    "quotes that open": "'\\",
    "double ones": '"\\',
    "three": "'''",
    "three of both kinds": "''' \"\"\" ",
    "one of each": "'\"",
    "one on each line": "'\n",
    "a backslash": "\\",
    "prefixes": "bf",
    "f-strings": "f'{",
    "a name": "a",
    "marks": "-",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("end", ["", "\\", "'"])
def test_no_text_takes_more_than_its_length(text, end):
    """64 KiB: a quarter of a second, where the square of it would be more than a minute."""
    began = time.process_time()
    for word in words(text * (LONG // len(text)) + end):
        assert word.string

    assert time.process_time() - began < 15


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("line", [LONGEST_LINE, 100 * LONGEST_LINE])
def test_what_cannot_be_tokenised_in_time_is_refused(text, line):
    """Or it is tokenised, in half a second."""
    lines = (text * (line // len(text)) + "\n") * max(1, LONG // line)
    began = time.process_time()
    try:
        for _ in tokens(lines):
            pass
    except (SyntaxError, tokenize.TokenError):
        pass

    assert time.process_time() - began < 15


def test_what_is_no_python_is_said():
    """By the reason."""
    with pytest.raises(SyntaxError, match="a line has more than 10000 characters"):
        tokens("x = 1\n" + "#" * 10_001)
    with pytest.raises((SyntaxError, tokenize.TokenError)):
        list(tokens("x = 'it\n"))
