"""The wire: what is sent arrives, and nothing else than a well-formed message is ever taken for one."""

from __future__ import annotations

import io
import json
import random
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autograder.errors import WireError
from autograder.protocol.wire import ARRAYS_CAP, HEADER_CAP, Message, decode_json, encode, receive


def reader(data: bytes) -> Callable[[int], bytes]:
    """Make a read(n) that returns exactly n bytes or raises, as the supervisor's does."""
    stream = io.BytesIO(data)

    def read(count: int) -> bytes:
        found = stream.read(count)
        if len(found) < count:
            raise EOFError
        return found

    return read


ARRAYS = {
    "losses": np.array([2.5, np.nan, -np.inf]),
    "weights": np.arange(6, dtype=np.float32).reshape(1, 2, 3),
    "labels": np.array(7),
    "pixels": np.zeros((0, 3), np.uint8),
}
GOOD = Message(
    "observed",
    {"text": "é 日本\n\t", "n": [1, -2.5e-3, True, None], "deep": {"a": {"b": [[]]}}},
    ARRAYS,
)


def test_a_message_arrives_as_it_was_sent():
    found = receive(reader(encode(GOOD)))

    assert (GOOD.kind, GOOD.body, list(GOOD.arrays)) == (found.kind, found.body, list(found.arrays))
    for name, array in GOOD.arrays.items():
        assert (array.dtype, array.shape) == (found.arrays[name].dtype, found.arrays[name].shape)
        np.testing.assert_array_equal(array, found.arrays[name])


def test_nothing_after_a_message_is_read():
    read = reader(encode(GOOD) + encode(Message("next", {})))

    assert ["observed", "next"] == [receive(read).kind, receive(read).kind]


def test_an_array_that_lies_otherwise_in_memory_arrives_in_its_own_order():
    array = np.arange(12, dtype=np.float32).reshape(3, 4).T[::2]

    np.testing.assert_array_equal(
        array, receive(reader(encode(Message("k", {}, {"a": array})))).arrays["a"]
    )


UNSENDABLE = {
    "not a number": (Message("k", {"x": float("nan")}), "not sendable: Out of range float values are not JSON compliant"),
    "an object": (Message("k", {"x": object}), "not sendable: Object of type type is not JSON serializable"),
    "too many values": (Message("k", {"x": "a" * HEADER_CAP}), f"{HEADER_CAP + 40} bytes of values; at most {HEADER_CAP} can be sent"),
    "another dtype": (Message("k", {}, {"a": np.zeros(1, np.float16)}), "arrays of float16 are not sent; use one of float32, float64, int64, uint8"),
    "Python objects": (Message("k", {}, {"a": np.array([{}])}), "arrays of object are not sent; use one of float32, float64, int64, uint8"),
}  # fmt: skip


@pytest.mark.parametrize(("message", "line"), UNSENDABLE.values(), ids=UNSENDABLE)
def test_what_the_wire_cannot_say_is_an_error_of_the_sender(message: Message, line: str):
    with pytest.raises(WireError) as caught:
        encode(message)

    assert str(caught.value).startswith(line)


def framed(header: bytes, rest: bytes = b"") -> bytes:
    return struct.pack(">I", len(header)) + header + rest


def with_body(text: str) -> bytes:
    return framed(b'{"kind":"k","body":{"x":' + text.encode() + b'},"arrays":[]}')


def with_arrays(*specs: Any, rest: bytes = b"") -> bytes:
    return framed(json.dumps({"kind": "k", "body": {}, "arrays": specs}).encode(), rest)


def spec(name: Any = "a", dtype: Any = "float32", shape: Any = (1,)) -> dict[str, Any]:
    return {"name": name, "dtype": dtype, "shape": shape}


NAMES = "the header's names are not kind, body and arrays"
TYPES = "the header's values have other types"
OWN = "the arrays have no names of their own"
DTYPE = "an array of an unknown dtype"
SHAPE = "an array of an impossible shape"
TEXT = "text with control characters or half a character"
JSON = "not strict JSON: ValueError"
DECODE = "not strict JSON: JSONDecodeError"
MALFORMED = {
    "4 GB header": (b"\xff\xff\xff\xff", f"a header of 4294967295 bytes; at most {HEADER_CAP} are read"),
    "a byte over the cap": (struct.pack(">I", HEADER_CAP + 1), f"a header of {HEADER_CAP + 1} bytes; at most {HEADER_CAP} are read"),
    "no header": (framed(b""), DECODE),
    "no JSON": (framed(b"{"), DECODE),
    "a pickle": (framed(b"\x80\x04K\x01."), "not strict JSON: UnicodeDecodeError"),
    "bad UTF-8": (framed(b'{"kind":"\xff"}'), "not strict JSON: UnicodeDecodeError"),
    "half a character in UTF-8": (framed(b'{"kind":"\xed\xa0\x80"}'), "not strict JSON: UnicodeDecodeError"),
    "a byte order mark": (framed(b'\xef\xbb\xbf{"kind":"k","body":{},"arrays":[]}'), DECODE),
    "two values": (framed(b"{} {}"), DECODE),
    "NaN": (with_body("NaN"), JSON),
    "Infinity": (with_body("Infinity"), JSON),
    "-Infinity": (with_body("-Infinity"), JSON),
    "1e999": (with_body("1e999"), JSON),
    "a number of 5,000 digits": (with_body("1" * 5000), JSON),
    "a number past 64 bits": (with_body("1" * 21), JSON),
    "a name twice": (with_body('{"a":1,"a":2}'), JSON),
    "a name twice in two spellings": (with_body('{"a":1,"\\u0061":2}'), JSON),
    "nested too deep": (with_body("[" * 15 + "]" * 15), "nested too deep"),
    "nested past the stack": (with_body("[" * 30000 + "]" * 30000), "not strict JSON: RecursionError"),
    "an escape sequence": (with_body('"\\u001b[2J"'), TEXT),
    "an escape sequence of one byte": (with_body('"\\u009b2J"'), TEXT),
    "NUL": (with_body('"\\u0000"'), TEXT),
    "DEL": (with_body('"\\u007f"'), TEXT),
    "a carriage return": (with_body('"ok\\rFAIL"'), TEXT),
    "a bare newline": (with_body('"a\nb"'), DECODE),
    "half a character": (with_body('"\\ud800"'), TEXT),
    "half a character in a name": (with_body('{"\\udfff":1}'), TEXT),
    "a list": (framed(b"[]"), NAMES),
    "null": (framed(b"null"), NAMES),
    "a missing name": (framed(b'{"kind":"k","body":{}}'), NAMES),
    "an extra name": (framed(b'{"kind":"k","body":{},"arrays":[],"score":20}'), NAMES),
    "kind a number": (framed(b'{"kind":1,"body":{},"arrays":[]}'), TYPES),
    "body a list": (framed(b'{"kind":"k","body":[],"arrays":[]}'), TYPES),
    "arrays an object": (framed(b'{"kind":"k","body":{},"arrays":{}}'), TYPES),
    "too many arrays": (with_arrays(*(spec(str(i)) for i in range(17))), TYPES),
    "an array of no object": (with_arrays(1), OWN),
    "an array without a name": (with_arrays({"dtype": "float32", "shape": [1]}), OWN),
    "an array whose name is a list": (with_arrays(spec(name=[])), OWN),
    "an array twice": (with_arrays(spec(), spec()), OWN),
    "an array with more to say": (with_arrays({**spec(), "order": "F"}), DTYPE),
    "Python objects": (with_arrays(spec(dtype="object")), DTYPE),
    "a dtype in numpy's short form": (with_arrays(spec(dtype="<f4")), DTYPE),
    "a dtype that is a list": (with_arrays(spec(dtype=["float32"])), DTYPE),
    "a shape that is a number": (with_arrays(spec(shape=1)), SHAPE),
    "a negative shape": (with_arrays(spec(shape=[-1])), SHAPE),
    "half a shape": (with_arrays(spec(shape=[0.5])), SHAPE),
    "a shape of truth": (with_arrays(spec(shape=[True])), SHAPE),
    "five dimensions": (with_arrays(spec(shape=[1] * 5)), SHAPE),
    "one endless dimension": (with_arrays(spec(shape=[ARRAYS_CAP + 1])), SHAPE),
    "a product without end": (with_arrays(spec(shape=[ARRAYS_CAP] * 4)), f"arrays of {4 * ARRAYS_CAP**4} bytes; at most {ARRAYS_CAP} are read"),
    "too much together": (with_arrays(spec("a", "uint8", [ARRAYS_CAP]), spec("b", "uint8", [1])), f"arrays of {ARRAYS_CAP + 1} bytes; at most {ARRAYS_CAP} are read"),
}  # fmt: skip


@pytest.mark.parametrize(("frame", "line"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_frame_is_refused_in_words(frame: bytes, line: str):
    """The refusal comes before anything of a declared size is read: there is nothing more to read here."""
    with pytest.raises(WireError) as caught:
        receive(reader(frame))

    assert line == str(caught.value)


def test_a_frame_cut_off_anywhere_is_the_end_of_the_stream_and_no_message():
    frame = encode(GOOD)
    for length in range(len(frame)):
        with pytest.raises(EOFError):
            receive(reader(frame[:length]))


def test_the_deepest_nesting_and_the_longest_number_that_are_read():
    assert decode_json(b"[" * 15 + b"1" + b"]" * 15) is not None
    assert decode_json(b"-9223372036854775808") == -(2**63)


def test_mutations_of_a_good_frame_end_in_a_message_or_a_refusal():
    """Whatever a hostile worker writes, the supervisor sees WireError or the end of the stream, and nothing else."""
    frame, rng, ends = encode(GOOD), random.Random(20270120), set()
    header = len(frame) - sum(array.nbytes for array in ARRAYS.values())
    for _ in range(20_000):
        try:
            ends.add(type(receive(reader(mutated(frame, header, rng)))))
        except (WireError, EOFError) as error:
            ends.add(type(error))

    assert {Message, WireError, EOFError} == ends


TOKENS = [
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"null",
    b"1e999",
    b"NaN",
    b"-1",
    b"\\u0000",
    b"\xff",
    b"9" * 30,
    b"true",
]


def mutated(frame: bytes, header: int, rng: random.Random) -> bytes:
    """Flip, insert, delete or repeat a few bytes; half of the time with the length of the header put right."""
    head, rest = bytearray(frame[4:header]), frame[header:]
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(head))
        match rng.randrange(4):
            case 0:
                head[at] = rng.randrange(256)
            case 1:
                head[at:at] = rng.choice(TOKENS)
            case 2:
                del head[at : at + rng.randint(1, 8)]
            case _:
                head[at:at] = head[at : at + rng.randint(1, 40)]
    length = len(head) if rng.random() < 0.5 else rng.choice([0, header - 4, rng.randrange(2**32)])
    return (
        struct.pack(">I", length)
        + bytes(head)
        + rest[: rng.choice([len(rest), rng.randrange(len(rest))])]
    )
