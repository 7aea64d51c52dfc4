"""Records as plain JSON and back; reading is strict: unknown, missing or mistyped names are refused."""

from __future__ import annotations

import dataclasses
import sys
import types
import typing
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, TypeVar

from autograder.errors import ReadError, nearest


def to_json(record: Any) -> Any:
    """Turn a record into plain JSON values; `try_` is written `try`."""
    if dataclasses.is_dataclass(record):
        fields = dataclasses.fields(record)
        return {f.name.rstrip("_"): to_json(getattr(record, f.name)) for f in fields}
    if isinstance(record, Mapping):
        return {key: to_json(value) for key, value in record.items()}
    if isinstance(record, list | tuple):
        return [to_json(value) for value in record]
    return record


T = TypeVar("T")


def from_json(kind: type[T], value: Any, where: str = "") -> T:
    """Read *value* as a *kind*: a dataclass, a container of known types, or a plain value."""
    return typing.cast("T", _read(kind, value, where or kind.__name__))


def _read(kind: Any, value: Any, where: str) -> Any:  # noqa: PLR0911 one return per kind of type
    if dataclasses.is_dataclass(kind):
        return _read_record(kind, value, where)
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return value
    if origin is Literal:
        return _expect(
            value in args and type(value) is type(args[0]),
            value,
            where,
            f"one of {', '.join(map(str, args))}",
        )
    if origin in (typing.Union, types.UnionType):
        return (
            None
            if value is None
            else _read(next(a for a in args if a is not type(None)), value, where)
        )
    if origin is tuple:
        _expect(type(value) is list, value, where, "a list")
        return tuple(_read(args[0], item, f"{where}[{i}]") for i, item in enumerate(value))
    if origin is not None and issubclass(origin, Mapping):
        _expect(type(value) is dict, value, where, "an object")
        return {
            _read(args[0], k, where): _read(args[1], v, f"{where}.{k}") for k, v in value.items()
        }
    return _read_plain(kind, value, where)


def _read_plain(kind: Any, value: Any, where: str) -> Any:
    if kind is float:
        number = type(value) in (int, float) and abs(value) <= sys.float_info.max
        return float(_expect(number, value, where, "a finite number"))
    names = {int: "a whole number", str: "text", bool: "true or false"}
    return _expect(type(value) is kind, value, where, names[kind])


def _read_record(kind: Any, value: Any, where: str) -> Any:
    _expect(type(value) is dict, value, where, "an object")
    hints = _hints(kind)
    fields = {f.name.rstrip("_"): f for f in dataclasses.fields(kind)}
    for name in value:
        if name not in fields:
            raise ReadError(f"{where}: unknown name '{name}'{nearest(name, fields)}")
    for name, f in fields.items():
        if (
            name not in value
            and f.default is dataclasses.MISSING
            and f.default_factory is dataclasses.MISSING
        ):
            raise ReadError(f"{where}: '{name}' is missing")
    return kind(
        **{
            fields[k].name: _read(hints[fields[k].name], v, f"{where}.{k}")
            for k, v in value.items()
        }
    )


@cache  # they are text until then, and a class has many records
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _expect(holds: bool, value: Any, where: str, wanted: str) -> Any:
    if not holds:
        raise ReadError(f"{where}: {value!r} is not {wanted}")
    return value
