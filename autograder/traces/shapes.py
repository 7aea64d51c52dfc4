"""The arguments of an operator, as far as a recording has their shapes, types and values."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple


class Type(NamedTuple):
    """The type of a number; the higher its category, the more it can hold."""

    category: int
    item: int
    """Bytes of one number."""
    name: str
    """As torch has it."""


BOOL, WHOLE, REAL, COMPLEX = range(4)
TYPES = {
    "bool": Type(BOOL, 1, "bool"),
    "unsigned char": Type(WHOLE, 1, "uint8"),
    "signed char": Type(WHOLE, 1, "int8"),
    "short": Type(WHOLE, 2, "int16"),
    "short int": Type(WHOLE, 2, "int16"),
    "int": Type(WHOLE, 4, "int32"),
    "long": Type(WHOLE, 8, "int64"),
    "long int": Type(WHOLE, 8, "int64"),
    "c10::Float8_e4m3fn": Type(REAL, 1, "float8_e4m3fn"),
    "c10::Float8_e5m2": Type(REAL, 1, "float8_e5m2"),
    "c10::Half": Type(REAL, 2, "float16"),
    "c10::BFloat16": Type(REAL, 2, "bfloat16"),
    "float": Type(REAL, 4, "float32"),
    "double": Type(REAL, 8, "float64"),
    "c10::complex<float>": Type(COMPLEX, 8, "complex64"),
    "c10::complex<double>": Type(COMPLEX, 16, "complex128"),
}
"""By the names that torch.profiler writes."""
DEFAULTS = {
    WHOLE: TYPES["long"],
    REAL: TYPES["float"],
    COMPLEX: TYPES["c10::complex<float>"],
}
"""What a number becomes beside tensors of a lower category."""
LARGEST = 2**50
"""Numbers of one tensor; more is no shape."""
LETTERS = 1000
"""Of a value that is no tensor."""
Sizes = tuple[int, ...]


@dataclass(frozen=True)
class Tensor:
    """The shape of one argument, and the type of its numbers."""

    sizes: Sizes
    type: Type

    @property
    def count(self) -> int:
        """How many numbers it holds."""
        return math.prod(self.sizes)

    @property
    def bytes(self) -> int:
        """How many bytes."""
        return self.count * self.type.item


class UnplacedError(Exception):
    """The recording does not say how much this call computes."""


@dataclass(frozen=True)
class Call:
    """The arguments of one call, as far as they were recorded."""

    args: Sequence[Tensor | None]
    values: Sequence[Any]

    def tensor(self, at: int, dimensions: int = 0) -> Tensor:
        """Return the tensor of an argument."""
        argument = self.args[at] if at < len(self.args) else None
        if argument is None or (dimensions and len(argument.sizes) != dimensions):
            raise UnplacedError
        return argument

    @property
    def tensors(self) -> list[Tensor]:
        """Return all that are tensors."""
        return [it for it in self.args if it is not None]

    def value(self, at: int, kind: type) -> Any:
        """Return an argument that is no tensor."""
        try:
            value = ast.literal_eval(self.values[at][:LETTERS])
        except (IndexError, ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            raise UnplacedError from None
        if type(value) is not kind:
            raise UnplacedError
        return value

    def whole(self, at: int, length: int) -> list[int]:
        """Return a list of so many whole numbers; one may stand for all."""
        values = self.value(at, list)
        values = values * length if len(values) == 1 else values
        if len(values) != length or any(type(it) is not int or it < 0 for it in values):
            raise UnplacedError
        return list(values)


def recorded(args: Mapping[str, Any]) -> Call:
    """Read the arguments of one event."""
    dims, types = args.get("Input Dims", args.get("Input dims")), args.get("Input type")
    values = args.get("Concrete Inputs")
    if type(dims) is not list or type(types) is not list or len(dims) != len(types):
        raise UnplacedError
    tensors = [_tensor(size, kind) for size, kind in zip(dims, types, strict=True)]
    return Call(tensors, values if type(values) is list else [])


def _tensor(sizes: Any, kind: Any) -> Tensor | None:
    known = TYPES.get(kind) if type(kind) is str else None
    if known is None:
        return None
    if type(sizes) is not list or any(type(it) is not int or it < 0 for it in sizes):
        raise UnplacedError
    tensor = Tensor(tuple(sizes), known)
    if tensor.count > LARGEST:
        raise UnplacedError
    return tensor


def promoted(tensors: Sequence[Tensor]) -> Type:
    """Return the type of what is computed from tensors.

    A number of Python is recorded as a tensor without sizes, in float64 or int64; it widens a
    result only if it is of a higher category.
    """
    sized = max((tensor.type for tensor in tensors if tensor.sizes), default=None)
    number = max((tensor.type for tensor in tensors if not tensor.sizes), default=None)
    if sized is None or number is None:
        return max(tensor.type for tensor in tensors)
    return sized if number.category <= sized.category else DEFAULTS[number.category]


def broadcast(shapes: Sequence[Sizes]) -> Sizes:
    """Return the shape of what is computed from tensors of these, number by number."""
    length = max(map(len, shapes), default=0)
    wide = [(1,) * (length - len(shape)) + shape for shape in shapes]
    return tuple(_one_size(column) for column in zip(*wide, strict=True))


def _one_size(column: Sequence[int]) -> int:
    sizes = {size for size in column if size != 1}
    if len(sizes) > 1:
        raise UnplacedError
    return sizes.pop() if sizes else 1
