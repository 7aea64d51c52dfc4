"""Splits the Python of a notebook's cell into top-level statements, and says which of them only
define something.

By tokens, since `ast.parse` can be made to crash its caller; whether it is valid Python is the
worker's to say.
"""

from __future__ import annotations

import keyword
import re
import tokenize
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Literal

from autograder.handed_in.tokens import OPEN, tokens

Kind = Literal[
    "future", "import", "definition", "assignment", "computed", "constant", "main", "other"
]
Line = list[tokenize.TokenInfo]
PYTHON_BELOW = ("%%time", "%%timeit", "%%capture", "%%prun")
MAGIC = re.compile(
    r"^\s*(!|[%?]\S)|^\s*[\w.*]+\?\??\s*$|^\s*[\w.][\w., ]*=\s*(!|%\w)"
)  # the last: files = !ls
DEFINES = ("def", "class", "async", "@")
HEADS = (*DEFINES, "if", "for", "while", "with", "try")
ENDLESS = 1 << 30
CONTINUES = ("else", "elif", "except", "finally")
ASSIGNS = frozenset(
    ["=", "+=", "-=", "*=", "/=", "//=", "%=", "**=", ">>=", "<<=", "&=", "^=", "|=", "@="]
)
PARAMETER_AFTER = ("lambda", "(", ",", "*", "**")
TARGETS = frozenset([",", ":", *ASSIGNS])
SILENT = {
    tokenize.NL,
    tokenize.COMMENT,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


@dataclass(frozen=True)
class Statement:
    """One top-level statement.

    Its lines, counted from 1, and what it does when the file is read.
    """

    kind: Kind
    first: int
    last: int
    text: str
    name: str = ""
    """Of a definition."""
    sets: frozenset[str] = frozenset()
    """Names that an assignment sets."""
    uses: frozenset[str] = frozenset()
    """Names that it takes from elsewhere.

    Parameters and local names of a function are its own.
    """


def split(source: str) -> list[Statement]:
    """Split a cell; SyntaxError where not even its brackets and quotes can be told apart."""
    lines = source.split("\n")
    if _is_foreign(source):
        raise SyntaxError(lines[0])
    try:
        return [
            _statement(piece, lines)
            for group in _groups(_logical(source))
            for piece in _pieces(group)
        ]
    except (tokenize.TokenError, SyntaxError) as error:
        reason = str(error.args[0])
        # Each version of Python has words of its own.
        is_open = "EOF in multi-line" in reason or "unterminated" in reason
        raise SyntaxError(OPEN if is_open else reason) from None


def plain(source: str) -> str:
    """Put `pass` where Jupyter's own commands stand.

    In a text within quotes nothing is one.
    """
    if _is_foreign(source):
        return source
    lines = source.split("\n")
    try:
        commands = {
            line[0].start[0]
            for line in _logical(source)
            if MAGIC.search(lines[line[0].start[0] - 1])
        }
    except (tokenize.TokenError, SyntaxError):  # a shell command may hold half a quote
        commands = {n for n, line in enumerate(lines, 1) if MAGIC.search(line)}
    return "\n".join(_without(lines, commands))


def _without(lines: Sequence[str], commands: Collection[int]) -> Iterator[str]:
    goes_on = False
    for number, line in enumerate(lines, 1):
        begins = number in commands and not goes_on
        if begins:
            yield line[: len(line) - len(line.lstrip())] + "pass"
        else:
            yield "" if goes_on else line
        goes_on = (begins or goes_on) and line.endswith("\\")


def _is_foreign(source: str) -> bool:
    """Whether a cell's first line makes all of it another language."""
    head = next(iter(source.split(None, 1)), "")
    return head.startswith("%%") and head not in PYTHON_BELOW


def _logical(source: str) -> list[Line]:
    """Gather tokens by logical line: brackets and quotes belong to what surrounds them."""
    lines: list[Line] = [[]]
    for token in _whole(tokens(source), source.split("\n")):
        if token.type == tokenize.NEWLINE:
            lines.append([])
        elif token.type not in SILENT:
            lines[-1].append(token)
    return [line for line in lines if line]


def _whole(
    tokens: Iterable[tokenize.TokenInfo], lines: Sequence[str]
) -> Iterator[tokenize.TokenInfo]:
    """Make one token of each f-string, as it was until Python 3.12."""
    opened: list[tokenize.TokenInfo] = []
    for token in tokens:
        kind = tokenize.tok_name[token.type]
        if kind.endswith("STRING_START"):
            opened.append(token)
        elif kind.endswith("STRING_END"):
            (first, column), (last, end) = opened.pop().start, token.end
            text = "\n".join(lines[first - 1 : last])[column : end - len(lines[last - 1]) or None]
            if not opened:
                yield token._replace(type=tokenize.STRING, string=text, start=(first, column))
        elif not opened:
            yield token


def _groups(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Gather lines by statement.

    A body belongs to its head, else to if, a function to its decorator.
    """
    group: list[Line] = []
    for line in lines:
        decorated = bool(group) and group[-1][0].string == "@" and group[-1][0].start[1] == 0
        if line[0].start[1] == 0 and group and line[0].string not in CONTINUES and not decorated:
            yield group
            group = []
        group.append(line)
    if group:
        yield group


def _pieces(group: Sequence[Line]) -> Iterator[Sequence[Line]]:
    """Part what stands on one line with semicolons between.

    A body on the line of its head belongs to that.
    """
    line = group[0]
    marks = [index for index, token in enumerate(line) if token.string == ";"]
    is_one_line = len(group) == 1 and line[0].start[0] == line[-1].end[0]
    if not marks or not is_one_line or line[0].string in HEADS:
        yield group
        return
    for first, last in pairwise([-1, *marks, len(line)]):
        piece = line[first + 1 : last]
        if piece:
            yield [piece]


def _statement(group: Sequence[Line], lines: Sequence[str]) -> Statement:
    (first, column), (last, end) = group[0][0].start, group[-1][-1].end
    head = next((line for line in group if line[0].string != "@"), group[0])
    words = [token.string for token in head[:3]]
    defines = {"def": 1, "class": 1, "async": 2}.get(words[0])
    name = (
        words[defines]
        if defines and len(words) > defines and (words[0] != "async" or words[1] == "def")
        else ""
    )
    kind: Kind = "definition" if name else _kind(group)
    sets, uses = _names(group)
    if name:
        sets = frozenset()
    text = lines[first - 1][column:end] if first == last else "\n".join(lines[first - 1 : last])
    return Statement(kind, first, last, text, name, sets, uses)


def _kind(group: Sequence[Line]) -> Kind:
    words = [token.string for token in group[0]]
    if words[0] == "if" and "__name__" in words:
        return "main"
    if len(group) == 1:
        return _simple(group[0])
    if words[0] not in ("if", "try", "with") or {"await", "yield"} & {
        token.string for line in group for token in line
    }:
        return "other"
    # An import or a function for want of another, or a value that is chosen.
    defines = words[0] != "with" and {"other", "computed"}.isdisjoint(_inner(group))
    return "assignment" if defines else "computed"


def _inner(group: Sequence[Line]) -> Iterator[Kind]:
    """What stands in the branches; of a function only that it is defined."""
    within = ENDLESS
    for line in group:
        column = line[0].start[1]
        word = line[0].string
        if column > within:
            continue
        within = column if column and word in DEFINES else ENDLESS
        if column:
            yield "definition" if word in DEFINES else _simple(line)
        elif line[-1].string != ":":  # else: train()
            yield "other"


def _simple(line: Line) -> Kind:
    words = [token.string for token in line]
    if words[0] in ("from", "import"):
        return "future" if words[:2] == ["from", "__future__"] else "import"
    if words == ["pass"] or all(token.type == tokenize.STRING for token in line):
        return "constant"
    operators = [i for i, word in enumerate(words) if word in ASSIGNS]
    if not operators or words[0] in keyword.kwlist or words[0] in ASSIGNS | {"=="}:
        return "other"
    deferred = words[operators[0] + 1 : operators[0] + 2] == ["lambda"]
    if {"await", "yield"} & set(words):
        return "other"
    return "assignment" if deferred or not _calls(line) else "computed"


def _calls(line: Line) -> bool:
    """Whether an opening bracket stands behind what can be called."""
    return any(
        after.string == "(" and (before.string in (")", "]") or _is_name(before))
        for before, after in pairwise(line)
    )


def _is_name(token: tokenize.TokenInfo) -> bool:
    return token.type == tokenize.NAME and not keyword.iskeyword(token.string)


def _names(group: Sequence[Line]) -> tuple[frozenset[str], frozenset[str]]:
    """Names that the lines of a statement set, and those that they take from elsewhere."""
    roles = [role for line in group for role in _roles(line)]
    shared = {name for name, role in roles if role == "shared"}
    sets = {name for name, role in roles if role == "set"} - shared
    uses = {name for name, role in roles if role == "use"} | shared
    return frozenset(sets), frozenset(uses - sets)


def _depths(words: Sequence[str]) -> list[int]:
    """Return for each word how many brackets are open after it."""
    steps = {**dict.fromkeys("([{", 1), **dict.fromkeys(")]}", -1)}
    return list(accumulate(steps.get(word, 0) for word in words))


def _last_assignment(words: Sequence[str], depths: Sequence[int]) -> int:
    operators = (index for index, word in enumerate(words) if word in ASSIGNS and not depths[index])
    return max(operators, default=0)


def _roles(line: Line) -> Iterator[tuple[str, Literal["set", "use", "shared"]]]:
    """Yield each name in a line, and whether it is set there, used, or declared as the file's."""
    words = [token.string for token in line] + [""]
    depths = _depths(words)
    target = _last_assignment(words, depths)
    header = words[0] in ("def", "async")
    binding = ""
    for i, token in enumerate(line):
        before = words[i - 1] if i else ""
        word = words[i]
        after = words[i + 1]
        if word in ("for", "as", "import", "lambda"):
            binding = word
        elif (binding, word) in (("for", "in"), ("lambda", ":")):
            binding = ""
        elif token.type == tokenize.STRING and "f" in word[:2].lower():
            yield from ((name, "use") for name in re.findall(r"[^\W\d]\w*", word))
        elif not _is_name(token) or before == ".":
            continue
        elif words[0] in ("global", "nonlocal"):
            yield word, "shared"
        elif (
            before in ("def", "class")
            or binding in ("for", "as", "import")
            or after == ":="
            or (i < target and not depths[i] and after in TARGETS and before != ":")
        ):
            yield word, "set"
            binding = "" if binding == "as" else binding
        elif (binding == "lambda" or (header and depths[i] == 1)) and before in PARAMETER_AFTER:
            yield word, "set"
        elif not depths[i] or after != "=":  # not f(name=...)
            yield word, "use"
