"""The messages between supervisor and worker: a length, strict JSON, then raw arrays.

    4 bytes, big-endian: length of the header       header: {"kind", "body", "arrays": [{name, dtype, shape}, ...]}
    the header, UTF-8 JSON of at most HEADER_CAP    then each array, little-endian, in that order

Both ends speak it; only the supervisor has to distrust it, so readers refuse anything unusual
with `WireError`.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from autograder.errors import WireError

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

HEADER_CAP = 64 * 1024  # bytes: what a probe may say in JSON
ARRAYS_CAP = 64 * 1024 * 1024  # bytes of all arrays of one message
DTYPES = {"float32": 4, "float64": 8, "int64": 8, "uint8": 1}
MAX_ARRAYS = 16
MAX_DEPTH = 16
MAX_DIMENSIONS = 4
NO_TEXT = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]"
)  # control characters and halves of one


@dataclass(frozen=True)
class Message:
    """One frame."""

    kind: str
    body: Mapping[str, Any]
    arrays: Mapping[str, Array] = field(default_factory=dict)


def encode(message: Message) -> bytes:
    """Write a frame; a value that strict JSON cannot say is an error of the sender."""
    arrays = {name: _little(array) for name, array in message.arrays.items()}
    specs = [{"name": n, "dtype": str(a.dtype), "shape": list(a.shape)} for n, a in arrays.items()]
    header = {"kind": message.kind, "body": dict(message.body), "arrays": specs}
    try:
        text = json.dumps(header, allow_nan=False, separators=(",", ":")).encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise WireError(f"not sendable: {error}") from None
    if len(text) > HEADER_CAP:
        raise WireError(f"{len(text)} bytes of values; at most {HEADER_CAP} can be sent")
    return struct.pack(">I", len(text)) + text + b"".join(a.tobytes() for a in arrays.values())


def receive(read: Callable[[int], bytes]) -> Message:
    """Read one frame through *read(n)*, which returns exactly n bytes or raises."""
    (length,) = struct.unpack(">I", read(4))
    if length > HEADER_CAP:
        raise WireError(f"a header of {length} bytes; at most {HEADER_CAP} are read")
    header = decode_json(read(length))
    kind, body, specs = _header(header)
    sizes = [_array_bytes(spec) for spec in specs]
    if sum(sizes) > ARRAYS_CAP:
        raise WireError(f"arrays of {sum(sizes)} bytes; at most {ARRAYS_CAP} are read")
    arrays = {
        spec["name"]: _array(spec, read(size)) for spec, size in zip(specs, sizes, strict=True)
    }
    return Message(kind, body, arrays)


def decode_json(data: bytes) -> Any:
    """Read JSON strictly: UTF-8, finite numbers, no duplicate names, no control characters,
    bounded depth.
    """
    try:
        value = json.loads(
            data.decode("utf-8"),
            parse_constant=_refuse,
            parse_float=_float,
            parse_int=_int,
            object_pairs_hook=_unique,
        )
    except (ValueError, RecursionError) as error:
        raise WireError(f"not strict JSON: {type(error).__name__}") from None
    _walk(value, MAX_DEPTH)
    return value


def _header(header: Any) -> tuple[str, dict[str, Any], list[dict[str, Any]]]:
    if type(header) is not dict or set(header) != {"kind", "body", "arrays"}:
        raise WireError("the header's names are not kind, body and arrays")
    kind = header["kind"]
    body = header["body"]
    specs = header["arrays"]
    if (
        type(kind) is not str
        or type(body) is not dict
        or type(specs) is not list
        or len(specs) > MAX_ARRAYS
    ):
        raise WireError("the header's values have other types")
    names = [spec.get("name") if type(spec) is dict else None for spec in specs]
    if not all(type(name) is str for name in names) or len(set(names)) != len(names):
        raise WireError("the arrays have no names of their own")
    return kind, body, specs


def _array_bytes(spec: dict[str, Any]) -> int:
    dtype = spec.get("dtype")
    shape = spec.get("shape")
    if set(spec) != {"name", "dtype", "shape"} or type(dtype) is not str or dtype not in DTYPES:
        raise WireError("an array of an unknown dtype")
    if (
        type(shape) is not list
        or len(shape) > MAX_DIMENSIONS
        or not all(type(n) is int and 0 <= n <= ARRAYS_CAP for n in shape)
    ):
        raise WireError("an array of an impossible shape")
    return math.prod(shape) * DTYPES[dtype]


def _array(spec: dict[str, Any], data: bytes) -> Array:
    import numpy as np

    return (
        np.frombuffer(data, dtype=np.dtype(spec["dtype"]).newbyteorder("<"))
        .astype(spec["dtype"])
        .reshape(spec["shape"])
    )


def _little(array: Array) -> Array:
    if str(array.dtype) not in DTYPES:
        raise WireError(f"arrays of {array.dtype} are not sent; use one of {', '.join(DTYPES)}")
    return array.astype(array.dtype.newbyteorder("<"))


def _refuse(text: str) -> Any:
    raise ValueError(text)


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _int(text: str) -> int:
    if len(text) > 20:
        raise ValueError(text)
    return int(text)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = dict(pairs)
    if len(names) != len(pairs):
        raise ValueError("duplicate name")
    return names


def _walk(value: Any, depth: int) -> None:
    if depth == 0:
        raise WireError("nested too deep")
    if type(value) is str:
        _check_text(value)
    elif type(value) is dict:
        for name, item in value.items():
            _check_text(name)
            _walk(item, depth - 1)
    elif type(value) is list:
        for item in value:
            _walk(item, depth - 1)


def _check_text(text: str) -> None:
    if NO_TEXT.search(text):
        raise WireError("text with control characters or half a character")
