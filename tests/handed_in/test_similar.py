"""Who shares what is rarely shared: renaming hides nothing, what was handed out and what all have says nothing."""

from __future__ import annotations

import time

import pytest

from autograder.handed_in.similar import find

HANDED_OUT = "def train(model, loader):\n" + "".join(
    f"    step_{n} = loader.read({n}, model, None)\n" for n in range(30)
)


def source(seed, length=30):
    """Work of somebody: each seed writes other operators."""
    signs = ["+", "-", "*", "/", "//", "%", "@", "**"]
    lines = [
        f"    value_{n} = {signs[(seed >> n % 9) % 8]}first[{n * seed % 97}] {signs[(n * seed + n // 3) % 8]} second({n})"
        for n in range(length)
    ]
    return "def work(first, second):\n" + "\n".join(lines) + "\n    return value_0\n"


def handed_in(**sources):
    return {who: {"part3_amp.py": text.encode()} for who, text in sources.items()}


def said(found):
    return [(*one.who, one.file) for one in found]


def test_renamed_and_commented_work_is_still_the_same():
    """With the lines of both as evidence."""
    copied = (
        source(5)
        .replace("value_", "v")
        .replace("first", "images")
        .replace("\n    v1 ", "\n    # mine\n    v1 ")
    )
    found = find(handed_in(ada=source(5), ben=copied, cleo=source(7)), {})

    assert [("ada", "ben", "part3_amp.py")] == said(found)
    assert 1.0 == found[0].share
    assert "ada and ben: part3_amp.py: " in str(found[0])
    assert " marks, the same in both: lines 1 to " in str(found[0])


QUESTION = (
    "Which share of the epoch is spent in waiting for data, and how do you know that it is so?"
)
ANSWER = "The loader waits for {} because one process decodes all images of the batch while the step is short"


def notes(seed):
    """Answers of somebody: each seed writes other words."""
    said = [f"{ANSWER.format(f'reason{seed + n}')} and reason{seed * n}." for n in range(3)]
    return f"## Notes\n\n{QUESTION}\n\n" + "\n".join(said)


def test_answers_that_were_passed_round_are_found_whatever_their_capitals_and_signs():
    """The questions are everybody's."""
    written = {"ada": notes(5), "ben": notes(5).upper().replace(".", ";"), "cem": QUESTION}
    found = find(
        {who: {"part3_notes.md": text.encode()} for who, text in written.items()},
        {"part3_notes.md": QUESTION.encode()},
    )

    assert [("ada", "ben", "part3_notes.md")] == said(found)
    assert "the same in both: lines 1 to 7 and 1 to 7" in str(found[0])


@pytest.mark.parametrize("many", [2, 4, 5, 12, 26])
def test_the_same_work_is_a_group_however_many_have_it(many):
    """A file that was passed round is no way in which everybody writes it; whoever changed it is a pair with the group."""
    group = {f"s{n:02}": HANDED_OUT + source(5) for n in range(many)}
    others = {f"t{n:02}": HANDED_OUT + source(8 + n).replace("work", "own") for n in range(14)}
    changed = HANDED_OUT + source(5, 24)
    found = find(handed_in(**group, **others, zoe=changed), {"part3_amp.py": HANDED_OUT.encode()})

    assert [(*group, "part3_amp.py"), ("s00", "zoe", "part3_amp.py")] == said(found)
    assert [True, False] == [one.same for one in found]


def test_what_nobody_changed_is_no_group():
    """Templates are the same, and so is what has a line or two of its own."""
    nobody = {f"s{n}": HANDED_OUT for n in range(9)}
    little = {f"t{n}": HANDED_OUT + "x = 1\n" for n in range(9)}

    assert [] == find(handed_in(**nobody, **little), {"part3_amp.py": HANDED_OUT.encode()})


def test_what_formatted_texts_say_is_as_silent_as_what_others_say():
    """A text is a text, with names in it or without, in every Python."""
    shown = "def show(a):\n" + "".join(
        f'    print(f"one {{a[{n}]}} of {{len(a)}}", {n % 7}, -a)\n' for n in range(60)
    )
    reworded = shown.replace('f"one ', 'f"the number ').replace("of {len(a)}", "out of them")

    assert 1.0 == find(handed_in(ada=shown, ben=reworded), {})[0].share


def test_what_was_handed_out_says_nothing():
    """Two who wrote little have the template in common."""
    ada, ben = HANDED_OUT + source(5, 4), HANDED_OUT + source(7, 4)

    assert [] == find(handed_in(ada=ada, ben=ben), {"part3_amp.py": HANDED_OUT.encode()})
    assert [("ada", "ben", "part3_amp.py")] == said(find(handed_in(ada=ada, ben=ben), {}))


def test_what_many_have_says_nothing():
    """It is how the lab is solved; a few who share more than that stand out."""
    many = {f"s{n}": source(5) + source(8 + n).replace("work", "own") for n in range(12)}
    found = find(handed_in(**many, copy=many["s3"]), {})

    assert [("copy", "s3", "part3_amp.py")] == said(found)


def test_measured_numbers_are_not_measured_twice():
    """Short ones are, and so are those that every table has."""
    rows = {"ada": (0.734121, 12.5), "ben": (0.912377, 12.5), "cleo": (0.734121, 12.5)}
    tables = {
        who: {
            "amp_results.csv": "\n".join(
                f"fp32,{a + n / 7:.6f},{b},11173962.0" for n in range(5)
            ).encode()
        }
        for who, (a, b) in rows.items()
    }
    [found] = find(tables, {})

    assert ("ada", "cleo", "amp_results.csv", 6) == (*found.who, found.file, found.shared)
    assert "0.734121 (line 1, line 1)" in found.evidence


def test_broken_sources_are_read_as_far_as_they_go():
    """Nothing that was handed in stops the others."""
    broken = {
        "ada": source(5) + "\n'''",
        "ben": source(5) + "\n  x = (\n",
        "cleo": "\x00\xff",
        "zoe": "",
    }

    assert ("ada", "ben", "part3_amp.py") in said(find(handed_in(**broken), {}))


def test_the_most_alike_come_first():
    half = source(5, 30) + source(11, 20).replace("work", "more")
    found = find(handed_in(ada=source(5, 30), ben=source(5, 30), cleo=half, zoe=source(7)), {})

    assert ("ada", "ben", "part3_amp.py") == said(found)[0]
    assert sorted((one.share for one in found), reverse=True) == [one.share for one in found]


@pytest.mark.parametrize(("file", "text"), [("part3_amp.py", "'\\"), ("a.csv", "1")])
def test_no_file_takes_longer_than_it_is_long(file, text):
    """A quarter of a megabyte of one student's, whom a class would wait for."""
    began = time.process_time()
    find({who: {file: (text * (1 << 18))[: 1 << 18].encode()} for who in ("ada", "ben")}, {})

    assert time.process_time() - began < 60


def test_what_is_no_python_is_compared_too():
    """A text that does not end, or a line without an end, hides nothing."""
    broken = "x = 'it\n# " + "x" * 20_000 + "\n" + source(5)

    assert [("ada", "ben", "part3_amp.py")] == said(find(handed_in(ada=source(5), ben=broken), {}))
