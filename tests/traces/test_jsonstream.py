"""Large and broken JSON: what is read, mended, counted, and where it ends."""

from __future__ import annotations

import json

import pytest

from autograder.errors import SubmissionError
from autograder.traces import jsonstream
from autograder.traces.jsonstream import stream
from autograder.traces.source import Source

A, B = '{"a": 1, "args": {"x": "}"}}', '{"b": [1, 2]}'


def streamed(folder, text):
    path = folder / "t.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    events, document = stream(Source(path))
    return list(events), document


@pytest.mark.parametrize(
    ("text", "count", "damaged", "truncated"),
    [
        pytest.param(f'{{"traceEvents": [{A}, {B}], "z": 1}}', 2, 0, False, id="object"),
        pytest.param(f"[{A},\n{B}]", 2, 0, False, id="bare list"),
        pytest.param(f"[{A},\n{B},\n", 2, 0, True, id="cut after an event"),
        pytest.param(f'{{"traceEvents": [{A}, {{"b": [1', 1, 0, True, id="cut inside an event"),
        pytest.param(f'{{"traceEvents": [{A}, {{"b": nan}}, {B}]}}', 3, 0, False, id="bare nan"),
        pytest.param(
            f'{{"traceEvents": [{{"b": N/A, "c": -inf}}, {B}]}}',
            2,
            0,
            False,
            id="bare N/A and -inf",
        ),
        pytest.param(
            f'{{"traceEvents": [{A}, {{"b": oops}}, {B}]}}',
            2,
            1,
            False,
            id="one event beyond mending",
        ),
        pytest.param(
            f'{{"traceEvents": [{A}, 7, null, {B}]}}', 2, 0, False, id="elements that are no events"
        ),
        pytest.param(
            f'{{"traceEvents": [{A}, "c\x01\n{{"]}}', 1, 0, False, id="raw control characters"
        ),
        pytest.param(
            '{"traceEvents": [' + "[" * 100_000 + "]}", 0, 1, True, id="nested without end"
        ),
        pytest.param(
            f'{{"about": {{"x": nan}}, "traceEvents": [{A}]}}',
            1,
            1,
            False,
            id="a broken header value",
        ),
        pytest.param(
            '{"about": {"x": nan}}', 0, 1, True, id="a broken header value and nothing after"
        ),
        pytest.param(f'{{"traceEvents" [{A}]}}', 0, 1, True, id="no colon"),
        pytest.param('{"traceEvents": 5}', 0, 0, False, id="events that are no list"),
        pytest.param('{"a": 1', 0, 0, True, id="an object that is not closed"),
        pytest.param("{", 0, 0, True, id="only an opening"),
    ],
)
def test_what_can_be_read_is_read(tmp_path, text, count, damaged, truncated):
    events, document = streamed(tmp_path, text)

    assert (count, damaged, truncated) == (len(events), document.damaged, document.truncated)


def test_bytes_that_are_no_text_harm_nothing(tmp_path):
    events, _ = streamed(tmp_path, b'{"traceEvents": [{"name": "\xff\xfe"}, {"b": 1}]}')

    assert [{"name": "\ufffd\ufffd"}, {"b": 1}] == events


def test_values_beside_the_events_are_kept_wherever_they_stand(tmp_path):
    events, document = streamed(tmp_path, f'{{"before": [1], "traceEvents": [{A}], "after": 12.5}}')

    assert [json.loads(A)] == events
    assert {"before": [1], "after": 12.5} == document.values


@pytest.mark.parametrize("size", [1, 2, 7, 64])
def test_pieces_may_end_anywhere(tmp_path, monkeypatch, size):
    """A number, a name or an event may lie across two pieces of the file."""
    monkeypatch.setattr(Source.text, "__defaults__", (size,))
    text = f'{{"n": 12345, "traceEvents": [{A}, {B}], "m": 678, "s": "x"}}'

    events, document = streamed(tmp_path, text)

    assert ([json.loads(A), json.loads(B)], {"n": 12345, "m": 678, "s": "x"}) == (
        events,
        document.values,
    )
    assert (0, False) == (document.damaged, document.truncated)


def test_a_value_that_never_ends_is_given_up(tmp_path, monkeypatch):
    """A broken event is not looked at for longer than the longest one allowed."""
    monkeypatch.setattr(jsonstream, "ONE_CAP", 100)
    monkeypatch.setattr(Source.text, "__defaults__", (64,))

    events, document = streamed(tmp_path, f'[{A}, {{"b": "' + "x" * 1000)

    assert (1, True) == (len(events), document.truncated)


@pytest.mark.parametrize(
    ("cap", "text", "words"),
    [
        pytest.param(
            ("MOST", 5),
            "[" + "{}," * 6 + "{}]",
            "t.json: more than 5 events; record fewer steps",
            id="empty",
        ),
        pytest.param(
            ("MOST", 5),
            "[" + '{"ph": "X", "name": "a"},' * 9,
            "t.json: more than 5 events",
            id="short names",
        ),
        pytest.param(
            ("MOST_DAMAGED", 3),
            "[" + '{"a": [{}, ' * 3000,
            "t.json: more than 3 events are damaged; export it again",
            id="each opened and none closed",
        ),
    ],
)
def test_a_file_that_would_take_minutes_is_refused_in_words(
    tmp_path, monkeypatch, cap, text, words
):
    monkeypatch.setattr(jsonstream, *cap)

    with pytest.raises(SubmissionError, match=words):
        streamed(tmp_path, text)


@pytest.mark.parametrize("count", [0, 1, 5])
def test_as_many_events_as_are_taken_are_read(tmp_path, monkeypatch, count):
    monkeypatch.setattr(jsonstream, "MOST", 5)

    assert count == len(streamed(tmp_path, f"[{','.join([A] * count)}]")[0])


@pytest.mark.parametrize(
    "opening", ["[", '{"a":', '{"traceEvents": [', '{"traceEvents": [{"args": ']
)
def test_json_of_any_depth_is_read_to_its_end_in_words(tmp_path, opening):
    """As deep as a stack is, in a header, an event or where events begin."""
    events, document = streamed(tmp_path, opening + "[" * 100_000 + '{"b":' * 100_000)

    assert [] == events
    assert document.truncated
