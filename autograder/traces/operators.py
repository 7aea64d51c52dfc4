"""How much an operator computes and moves at least, from the shapes that were recorded.

Each tensor is read or written once, whatever caches do. A product is two operations for each pair
of numbers, as everywhere, and eight where they are complex; half of a causal attention is not taken
off.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from autograder.traces.shapes import (
    COMPLEX,
    TYPES,
    Call,
    Tensor,
    UnplacedError,
    broadcast,
    promoted,
    recorded,
)

PRODUCTS = ("matmul", "convolution", "attention")
KINDS = (*PRODUCTS, "elementwise", "reduction", "norm")
MOST = 2**100
"""Operations or bytes of one call; more is no work."""
COMPLEX_PRODUCT = 4
"""Products of real numbers in one of complex numbers, each with its addition."""
LARGEST = 2**62
"""Bytes of one call that a column holds."""
NORM = 5
"""Operations for each number of a norm or a softmax: mean, spread, difference, scale.

The backward pass of a norm has twice as many.
"""


@dataclass(frozen=True)
class Work:
    """What one call computes and moves at least."""

    kind: str
    type: str
    """Of its numbers: float32, or several."""
    shape: str
    flops: int
    bytes: int
    item: int = 4
    """Bytes of a number that it reads."""


Counts = tuple[int, int]


def work(name: str, args: Mapping[str, Any]) -> Work | None:
    """Return what a call computes and moves; nothing where its name or shapes do not say."""
    formula = FORMULAS.get(name)
    if formula is None:
        return None
    kind, count = formula
    try:
        call = recorded(args)
        first = call.tensors[:3] or [call.tensor(0)]
        flops, size = count(call)
        if kind in PRODUCTS and promoted(call.tensors).category == COMPLEX:
            flops *= COMPLEX_PRODUCT
    except UnplacedError:
        return None
    if not (0 < flops < MOST and 0 < size < MOST):
        return None
    shapes = " ".join("x".join(map(str, tensor.sizes)) or "1" for tensor in first)
    return Work(kind, _types(first), shapes, flops, size, first[0].type.item)


def _types(tensors: Sequence[Tensor]) -> str:
    """Name the types of tensors; a number that was recorded as one without sizes has no say."""
    sized = [tensor for tensor in tensors if tensor.sizes] or tensors
    return " ".join(dict.fromkeys(tensor.type.name for tensor in sized))


def moved(args: Mapping[str, Any]) -> int:
    """Return the bytes of all inputs of a call; 0 where they were not recorded."""
    try:
        size = sum(tensor.bytes for tensor in recorded(args).tensors)
    except UnplacedError:
        return 0
    return size if size < LARGEST else 0


def _product(left: Tensor, right: Tensor, more: Sequence[Tensor] = ()) -> Counts:
    """Count a product of matrices, or of as many pairs of them."""
    *batch, rows, inner = left.sizes
    *others, depth, columns = right.sizes
    if batch != others or inner != depth:
        raise UnplacedError
    out = Tensor((*batch, rows, columns), left.type)
    moved = left.bytes + right.bytes + out.bytes + sum(tensor.bytes for tensor in more)
    return 2 * out.count * inner, moved


def _mm(call: Call) -> Counts:
    return _product(call.tensor(0, 2), call.tensor(1, 2))


def _addmm(call: Call) -> Counts:
    return _product(call.tensor(1, 2), call.tensor(2, 2), [call.tensor(0)])


def _bmm(call: Call) -> Counts:
    return _product(call.tensor(0, 3), call.tensor(1, 3))


def _baddbmm(call: Call) -> Counts:
    return _product(call.tensor(1, 3), call.tensor(2, 3), [call.tensor(0)])


def _mv(call: Call) -> Counts:
    matrix, vector = call.tensor(0, 2), call.tensor(1, 1)
    return _product(matrix, Tensor((*vector.sizes, 1), vector.type))


def _convolution(call: Call) -> Counts:
    """Count a convolution; each place of its output, or of its input if it is transposed."""
    image, weight = call.tensor(0), call.tensor(1)
    places = len(image.sizes) - 2
    if places < 1 or len(weight.sizes) != len(image.sizes):
        raise UnplacedError
    stride, padding, dilation = (call.whole(at, places) for at in (3, 4, 5))
    transposed, more = call.value(6, bool), call.whole(7, places)
    groups = call.value(8, int)
    spans = [gap * (size - 1) for gap, size in zip(dilation, weight.sizes[2:], strict=True)]
    moves = zip(image.sizes[2:], stride, padding, spans, more, strict=True)
    if transposed:
        sizes = [
            (size - 1) * step - 2 * pad + span + extra + 1 for size, step, pad, span, extra in moves
        ]
    elif 0 in stride:
        raise UnplacedError
    else:
        sizes = [(size + 2 * pad - span - 1) // step + 1 for size, step, pad, span, _ in moves]
    channels = weight.sizes[1] * groups if transposed else weight.sizes[0]
    out = Tensor((image.sizes[0], channels, *(max(size, 0) for size in sizes)), image.type)
    moved = sum(tensor.bytes for tensor in call.tensors) + out.bytes
    return _taps(image if transposed else out, weight), moved


def _taps(places: Tensor, weight: Tensor) -> int:
    """Count the products of a convolution: each of these numbers takes part in a row of weights."""
    return 2 * places.count * math.prod(weight.sizes[1:])


def _convolution_backward(call: Call) -> Counts:
    """Count the gradients that were asked for; each costs what the convolution did."""
    grad, image, weight = (call.tensor(at) for at in (0, 1, 2))
    transposed, mask = call.value(7, bool), call.value(10, list)
    if len(mask) != 3:
        raise UnplacedError
    moved = grad.bytes
    if mask[0]:
        moved += weight.bytes + image.bytes
    if mask[1]:
        moved += image.bytes + weight.bytes
    return (bool(mask[0]) + bool(mask[1])) * _taps(image if transposed else grad, weight), moved


def _both_gradients(call: Call) -> Counts:
    """Count both gradients of a convolution, as old versions record it: image, gradient, weight."""
    image, grad, weight = (call.tensor(at) for at in (0, 1, 2))
    if len(grad.sizes) < 3 or not len(image.sizes) == len(weight.sizes) == len(grad.sizes):
        raise UnplacedError
    return 2 * _taps(grad, weight), 2 * (image.bytes + grad.bytes + weight.bytes)


def _scores(query: Tensor, key: Tensor) -> int:
    """Count the pairs of a query and a key."""
    return math.prod(query.sizes[:3]) * key.sizes[2]


def _mask(call: Call, at: int, query: Tensor, key: Tensor) -> int:
    """Return the bytes of a mask, at least: a GPU has it spread over all samples and heads."""
    scores = query.sizes[2], key.sizes[2]
    mask = call.args[at] if at < len(call.args) else None
    if mask is None or mask.sizes[-2:] != scores:
        return 0
    once = Tensor(scores, mask.type)
    return once.bytes if mask.sizes[:-2] == query.sizes[:2] else mask.bytes


def _attention(call: Call, mask: int) -> Counts:
    query, key, value = (call.tensor(at, 4) for at in (0, 1, 2))
    out = Tensor((*query.sizes[:3], value.sizes[3]), query.type)
    flops = 2 * _scores(query, key) * (query.sizes[3] + value.sizes[3])
    moved = query.bytes + key.bytes + value.bytes + out.bytes
    return flops, moved + _mask(call, mask, query, key)


def _attention_backward(call: Call, mask: int) -> Counts:
    """Count five products: the scores again, and the gradients of scores and of each input."""
    grad, query, key, value = (call.tensor(at, 4) for at in (0, 1, 2, 3))
    flops = 2 * _scores(query, key) * (3 * query.sizes[3] + 2 * value.sizes[3])
    moved = 2 * (grad.bytes + query.bytes + key.bytes + value.bytes)
    return flops, moved + _mask(call, mask, query, key)


def _traffic(call: Call, out: Tensor, inputs: int) -> int:
    """Return the bytes of all tensors and of the result, which may be given behind the inputs."""
    size = sum(tensor.bytes for tensor in call.tensors)
    given = len(call.tensors) > inputs and call.tensors[-1].sizes == out.sizes
    return size if given else size + out.bytes


def _elementwise(call: Call, inputs: int) -> Counts:
    """Count one operation for each number of the result."""
    sizes = broadcast([tensor.sizes for tensor in call.tensors])
    out = Tensor(sizes, promoted(call.tensors))
    return out.count, _traffic(call, out, inputs)


def _in_place(call: Call) -> Counts:
    """Count one for each number of the first tensor, which is the result."""
    count = math.prod(broadcast([tensor.sizes for tensor in call.tensors]))
    return count, sum(tensor.bytes for tensor in call.tensors) + call.tensor(0).bytes


def _comparison(call: Call) -> Counts:
    """Count a truth value, of one byte, for each number."""
    out = Tensor(broadcast([tensor.sizes for tensor in call.tensors]), TYPES["bool"])
    return out.count, _traffic(call, out, 2)


def _dropout(call: Call) -> Counts:
    """Count a draw for each number, and the mask that is kept."""
    whole = call.tensor(0)
    return whole.count, 2 * whole.bytes + whole.count


def _reduction(call: Call) -> Counts:
    """Count one operation for each number that is read; the result is small and not counted."""
    if len([it for it in call.tensors if it.sizes]) > 1:
        return _elementwise(call, 2)  # the larger of two, say
    return call.tensor(0).count, call.tensor(0).bytes


def _norm(call: Call) -> Counts:
    whole = call.tensor(0)
    return NORM * whole.count, sum(tensor.bytes for tensor in call.tensors) + whole.bytes


def _norm_backward(call: Call) -> Counts:
    flops, moved = _norm(call)
    return 2 * flops, moved


def _softmax(call: Call) -> Counts:
    whole = call.tensor(0)
    return NORM * whole.count, _traffic(call, whole, 1)


def _softmax_backward(call: Call) -> Counts:
    """Count it from the gradient and the result; old versions record the input as well."""
    whole = call.tensor(0)
    return NORM * whole.count, 3 * whole.bytes


OLD_BACKWARD = "aten::cudnn_convolution_backward"
"""Up to torch 1.10. It calls itself `..._input` and `..._weight` for the gradients asked for."""
WORD = re.compile(r"\w+")
UNARY = WORD.findall("""
neg abs sign square sqrt rsqrt exp exp2 expm1 log log2 log1p sin cos tanh sigmoid erf relu relu6
leaky_relu elu gelu silu mish hardtanh hardswish hardsigmoid softplus reciprocal floor ceil round
bernoulli threshold
""")
BINARY = WORD.findall("""
add sub rsub mul div true_divide pow clamp_min clamp_max maximum minimum bitwise_and bitwise_or
threshold_backward gelu_backward silu_backward tanh_backward sigmoid_backward elu_backward
leaky_relu_backward hardtanh_backward hardswish_backward native_dropout_backward
""")
TERNARY = WORD.findall("clamp where lerp addcmul addcdiv masked_fill")
ELEMENTWISE = {
    **dict.fromkeys(UNARY, 1),
    **dict.fromkeys(BINARY, 2),
    **dict.fromkeys(TERNARY, 3),
}
"""How many tensors go in, at most."""
COMPARISONS = WORD.findall("eq ne lt le gt ge logical_and logical_or logical_not isnan isinf")
REDUCTIONS = WORD.findall("""
sum mean prod max min amax amin argmax argmin var std var_mean std_mean norm linalg_vector_norm all
any logsumexp nansum
""")
NORMS = WORD.findall("""
native_layer_norm native_batch_norm native_group_norm cudnn_batch_norm miopen_batch_norm
_fused_rms_norm
""")
ATTENTION = {
    "_scaled_dot_product_flash_attention": (7, 15),  # it takes none
    "_scaled_dot_product_efficient_attention": (3, 4),
    "_scaled_dot_product_cudnn_attention": (3, 8),
    "_scaled_dot_product_flash_attention_for_cpu": (5, 8),
}
"""Where its mask stands among the arguments, and among those of its backward pass."""
Formula = Callable[[Call], Counts]
FORMULAS: Mapping[str, tuple[str, Formula]] = {
    **{
        f"aten::{name}": ("elementwise", partial(_elementwise, inputs=inputs))
        for name, inputs in ELEMENTWISE.items()
    },
    **{f"aten::{name}_": ("elementwise", _in_place) for name in ELEMENTWISE},
    **{f"aten::{name}": ("elementwise", _comparison) for name in COMPARISONS},
    "aten::native_dropout": ("elementwise", _dropout),
    **{f"aten::{name}": ("reduction", _reduction) for name in REDUCTIONS},
    **{f"aten::{name}": ("norm", _norm) for name in NORMS},
    **{f"aten::{name}_backward": ("norm", _norm_backward) for name in NORMS},
    **{
        f"aten::{name}": ("attention", partial(_attention, mask=mask))
        for name, (mask, _) in ATTENTION.items()
    },
    **{
        f"aten::{name}_backward": ("attention", partial(_attention_backward, mask=mask))
        for name, (_, mask) in ATTENTION.items()
    },
    "aten::_softmax": ("norm", _softmax),
    "aten::_log_softmax": ("norm", _softmax),
    "aten::_softmax_backward_data": ("norm", _softmax_backward),
    "aten::_log_softmax_backward_data": ("norm", _softmax_backward),
    "aten::mm": ("matmul", _mm),
    "aten::addmm": ("matmul", _addmm),
    "aten::_addmm_activation": ("matmul", _addmm),
    "aten::bmm": ("matmul", _bmm),
    "aten::baddbmm": ("matmul", _baddbmm),
    "aten::mv": ("matmul", _mv),
    "aten::convolution": ("convolution", _convolution),
    "aten::convolution_backward": ("convolution", _convolution_backward),
    OLD_BACKWARD: ("convolution", _both_gradients),
}
