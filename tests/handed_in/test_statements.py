"""What of a cell only defines something, and what runs something; nothing is compiled on the way."""

from __future__ import annotations

import tokenize
from contextlib import suppress

import pytest

from autograder.handed_in import statements
from autograder.handed_in.statements import plain, split
from autograder.handed_in.tokens import OPEN

KINDS = {
    "an import": ("import torch", ["import"]),
    "an import over lines": ("from a import (\n    b,\n    c,\n)", ["import"]),
    "a future import": ("from __future__ import annotations", ["future"]),
    "a function": ("def f(x):\n    print(x)\n    return x", ["definition"]),
    "a decorated function": ("@cache\n@other(1)\ndef f(x):\n    return x", ["definition"]),
    "a coroutine": ("async def f():\n    pass", ["definition"]),
    "a class": ("class A:\n    x = f()\n\n    def g(self): ...", ["definition"]),
    "a constant": ("N = 3", ["assignment"]),
    "a typed constant": ("N: int = 3", ["assignment"]),
    "a tuple in brackets": ("N = (1, 2)", ["assignment"]),
    "a choice in brackets": ("N = 1 if (a and (b)) else not (c)", ["assignment"]),
    "an attribute": ("torch.backends.cudnn.benchmark = True", ["assignment"]),
    "a lambda": ("f = lambda x: g(x)", ["assignment"]),
    "a docstring": ('"""What this is for."""', ["constant"]),
    "pass": ("pass", ["constant"]),
    "a call": ("train(model)", ["other"]),
    "an assigned call": ("rows = train(model)", ["computed"]),
    "a called attribute": ("x = a.b[0](1)", ["computed"]),
    "a call of a call": ("x = f\\\n(1)(2)", ["computed"]),
    "a loop": ("for i in a:\n    x = i", ["other"]),
    "what is read": ("with open(a) as f:\n    x = f.read()", ["computed"]),
    "an awaited choice": ("if a:\n    x = await b", ["other"]),
    "an async loop": ("async with a:\n    pass", ["other"]),
    "an awaited value": ("x = await y", ["other"]),
    "a bare name": ("model", ["other"]),
    "an assertion": ("assert x == 3", ["other"]),
    "an experiment": ('if __name__ == "__main__":\n    train()\nelse:\n    pass', ["main"]),
    "an import with a substitute": (
        "try:\n    import a\nexcept ImportError:\n    a = None",
        ["assignment"],
    ),
    "a try that runs": (
        "try:\n    train()\nexcept ValueError:\n    pass\nfinally:\n    x = 1",
        ["computed"],
    ),
    "a one-line if": ("if a: x = 1", ["other"]),
    "a one-line else": ("if a:\n    x = 1\nelse: train()", ["computed"]),
    "a choice that is computed": ("if a():\n    x = f()\nelse:\n    x = 1", ["computed"]),
    "a function for want of another": (
        "try:\n    from a import f\nexcept ImportError:\n  @cache\n  def f():\n    print()\n",
        ["assignment"],
    ),
    "a run below a function": ("if a:\n    def f():\n        pass\n    f()", ["computed"]),
    "comments alone": ("# nothing\n\n# more", []),
    "nothing": ("", []),
    "three things": (
        "import a\nx = 1\n\ndef f():\n    pass\n",
        ["import", "assignment", "definition"],
    ),
    "two on a line": ("import a; train(a)", ["import", "other"]),
    "one with its end": ("plt.show();", ["other"]),
    "a function on a line": ("def f(x): y = x; return y", ["definition"]),
    "two on a line of more": ("x = 1; y = f(\n    2)", ["computed"]),
    "half a decorator": ("@cache", ["other"]),
    "half a definition": ("def", ["other"]),
    "half a conflict": ("=======", ["other"]),
    "no Python, in tokens": ("hello there world", ["other"]),
}


@pytest.mark.parametrize(("source", "kinds"), KINDS.values(), ids=KINDS)
def test_a_statement_defines_or_runs(source, kinds):
    """By its tokens alone."""
    assert kinds == [statement.kind for statement in split(source)]


def test_a_statement_knows_its_lines_and_its_name():
    """Decorators and bodies belong to it; comments between statements do not."""
    source = "import a\n\n# why\n@a.b\ndef f():\n    # inside\n    return 1\n\nx = 2"

    assert [("", 1, 1), ("f", 4, 7), ("", 9, 9)] == [
        (s.name, s.first, s.last) for s in split(source)
    ]
    assert "@a.b\ndef f():\n    # inside\n    return 1" == split(source)[1].text


NAMES = {
    "a value": ("x = f(a.b, key=c)[d]", "x", "f a c d"),
    "two values": ("x, y = f(x)", "x y", "f"),
    "an attribute": ("torch.benchmark = on()", "", "torch on"),
    "a typed value": ("x: int = f()", "x", "f int"),
    "a comprehension": ("x = [f(i) for i in a]", "i x", "f a"),
    "a lambda": ("f = lambda x, *y, z=c: x + g(y)", "f x y z", "g c"),
    "a walrus": ("x = f(y := a)", "x y", "f a"),
    "a formatted text": ('x = f(f"{a} b")', "x", "f a b"),
    "a formatted text that holds signs": ('y = f"{x=} (" + z', "y", "f x z"),
    "a plain text": ('x = f("{a} b")', "x", "f"),
    "a function": (
        "def f(x, y=c, *rest):\n    z = x\n    for i in a:\n        pass\n    return z + END.b",
        "",
        "c a END",
    ),
    "a typed function": (
        "async def f(x: T, *, y: list[S] = ()) -> R:\n    with g() as h:\n        return h",
        "",
        "T S R g list",
    ),
    "a decorated function": ("@cache(3)\ndef f():\n    return log.info(f)", "", "cache log f"),
    "a function with a global": ("def f():\n    global N\n    N = N + 1", "", "N"),
    "a choice of functions": ("if a:\n    def f(): ...\nelse:\n    f = b", "f", "a b"),
    "an import within": ("def f():\n    import a.b as c\n    return c + d", "", "d"),
}


@pytest.mark.parametrize(("source", "sets", "uses"), NAMES.values(), ids=NAMES)
def test_a_statement_knows_what_it_sets_and_what_it_takes_from_elsewhere(source, sets, uses):
    """Parameters and local names of a function are its own."""
    [statement] = split(source)

    assert (set(sets.split()), set(uses.split())) == (
        statement.sets,
        statement.uses - {statement.name} | ({"f"} & set(uses.split())),
    )


@pytest.mark.parametrize(
    "source",
    ["f(", '"""open', "def f():\n        a\n    b", "%%bash\necho"],
    ids=["bracket", "quote", "indent", "another language"],
)
def test_what_cannot_be_told_apart_is_a_syntax_error(source):
    """It says what tokenize said, or what other language it is."""
    with pytest.raises(SyntaxError):
        split(source)


@pytest.mark.parametrize("source", ["f(", '"""open', "x = 'open\ny = 1", "r'open\\\n", 'f"{x'])
def test_what_is_left_open_is_told_in_the_same_words(source):
    """By every Python."""
    with pytest.raises(SyntaxError) as error:
        split(source)

    assert OPEN == error.value.args[0]


PLAIN = {
    "a line magic": ("%matplotlib inline\nx = 1", "pass\nx = 1"),
    "a timed cell": ("%%time\nx = 1", "pass\nx = 1"),
    "a shell command": ("!pip install it\nx = 1", "pass\nx = 1"),
    "a shell command with half a bracket": ("!echo (\nx = 1", "pass\nx = 1"),
    "an assigned command": ("files = !ls\nx = 1", "pass\nx = 1"),
    "an assigned command, further off": ("a, files = ! ls\nx = 1", "pass\nx = 1"),
    "a shell command, further off": ("! pip install it's\nx = 1", "pass\nx = 1"),
    "a shell command over lines": ("!train \\\n    --a it's \\\n  --b\nx = 1", "pass\n\n\nx = 1"),
    "an unequal line": ("x = (a\n!= b)", "x = (a\n!= b)"),
    "a question": ("torch.autocast?\nx = 1", "pass\nx = 1"),
    "a question at length": ("?torch\ntorch.nn??\n*.load*?", "pass\npass\npass"),
    "a question in a comment": ("x = 1  # enough?", "x = 1  # enough?"),
    "a question in a docstring": (
        'def f():\n    """Why?\n\n    So."""',
        'def f():\n    """Why?\n\n    So."""',
    ),
    "within a function": (
        "def f():\n    %timeit g()\n    return 1",
        "def f():\n    pass\n    return 1",
    ),
    "within quotes": ('s = """\n%d items\nreally?\n!\n"""', 's = """\n%d items\nreally?\n!\n"""'),
    "a remainder": ("x = (a\n%b)", "x = (a\n%b)"),
    "another language": ("%%bash\n!echo", "%%bash\n!echo"),
}


@pytest.mark.parametrize(("source", "text"), PLAIN.values(), ids=PLAIN)
def test_commands_of_jupyter_give_way_to_pass(source, text):
    """A body keeps a statement, and every line its number."""
    found = plain(source)

    assert text == found
    assert source.count("\n") == found.count("\n")


def test_no_depth_of_nesting_ends_the_process():
    """What makes ast.parse crash or run out of stack is text like any other."""
    for source in [
        "(" * 20_000,
        "-" * 50_000 + "1",
        "x = " + "a." * 20_000 + "b",
        "lambda: " * 20_000 + "1",
    ]:
        with suppress(SyntaxError):
            split(plain(source))


def as_of_3_12(line, monkeypatch):
    """Tokens of `y = f"{x=} (" + z` as Python 3.12 gives them, and more in pieces."""
    kinds = {"FSTRING_START": 901, "FSTRING_MIDDLE": 902, "FSTRING_END": 903}
    for name, number in kinds.items():
        monkeypatch.setitem(tokenize.tok_name, number, name)
    pieces = [
        *(
            (tokenize.NAME, "y"),
            (tokenize.OP, "="),
            (901, 'f"'),
            (tokenize.OP, "{"),
            (tokenize.NAME, "x"),
        ),
        *(
            (tokenize.OP, "="),
            (tokenize.OP, "}"),
            (902, " ("),
            (903, '"'),
            (tokenize.OP, "+"),
            (tokenize.NAME, "z"),
        ),
    ]
    at, found = 0, []
    for kind, text in pieces:
        at = line.index(text, at)
        found.append(tokenize.TokenInfo(kind, text, (1, at), (1, at + len(text)), line))
        at += len(text)
    return [*found, tokenize.TokenInfo(tokenize.NEWLINE, "", (1, at), (1, at), line)]


def test_an_f_string_is_one_text_in_every_python(monkeypatch):
    """From Python 3.12 on it comes in pieces, whose brackets and signs are not the line's."""
    line = 'y = f"{x=} (" + z'
    tokens = as_of_3_12(line, monkeypatch)
    whole = [token.string for token in statements._whole(tokens, [line])]
    monkeypatch.setattr(statements.tokenize, "generate_tokens", lambda _: iter(tokens))
    (found,) = split(line)

    assert ["y", "=", 'f"{x=} ("', "+", "z", ""] == whole
    assert ("assignment", {"y"}) == (found.kind, found.sets)
    assert {"x", "z"} <= found.uses
