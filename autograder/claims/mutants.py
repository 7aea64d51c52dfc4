"""Mistakes and shortcuts that are made of an exercise's own reference: each has a claim that has to fail.

An entry is the reference with a wrapper around what the student writes. One that nothing catches is a hole in the
claims, unless the exercise says why it is right there: `Exercise(..., holes={"zeros": "..."})`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from autograder.claims.claimed import SAME, Claimed
from autograder.claims.devices import STAYS
from autograder.claims.families import SAMPLED
from autograder.claims.graphs import NO_FETCH
from autograder.claims.launches import LAUNCHES
from autograder.claims.object_calls import FOLLOWS
from autograder.claims.refusals import REFUSES
from autograder.claims.same_results import GRADIENTS, LEFT_ALONE
from autograder.errors import CourseError, nearest

BASELINE = "the_baseline"


@dataclass(frozen=True)
class Entry:
    """What is handed in, and the check that has to fail it."""

    name: str
    text: str
    owner: str


WRAPPER = '''

import functools as _functools
import threading as _threading

import torch as _torch


def _each(value, change):
    """Change each tensor of a result."""
    if isinstance(value, _torch.Tensor):
        return change(value)
    if isinstance(value, dict):
        return {{name: _each(it, change) for name, it in value.items()}}
    if isinstance(value, (list, tuple)):
        return type(value)([_each(it, change) for it in value])
    return value


def _others(value):
    """Change each number and word of a result."""
    if isinstance(value, dict):
        return {{name: _others(it) for name, it in value.items()}}
    if isinstance(value, (list, tuple)):
        return type(value)([_others(it) for it in value])
    return f"{{value}}?" if isinstance(value, str) or value is None else value + 1


def _given(args, kwargs):
    return [it for it in (*args, *kwargs.values()) if isinstance(it, _torch.Tensor)]


def _wrapped(right):
    seen = {{}}

    @_functools.wraps(right)
    def wrong(*args, **kwargs):
{body}

    return wrong


if isinstance({name}, type):
    for _name, _method in list(vars({name}).items()):
        if callable(_method) and not _name.startswith("_"):
            setattr({name}, _name, _wrapped(_method))
else:
    {name} = _wrapped({name})
'''
RESULT = "return _each(right(*args, **kwargs), lambda it: {})"
SEEN = "key = {}\nif key not in seen:\n    seen[key] = right(*args, **kwargs), args, kwargs\nreturn seen[key][0]"
SAMPLE = (
    f"tuple(float(x) for it in _given(args, kwargs) for x in it.detach().reshape(-1)[::{SAMPLED}])"
)
SHAPES = "tuple(it.shape for it in _given(args, kwargs))"
STRIDED = "_torch.as_strided(it, it.shape, _torch.empty(it.shape, device='meta').stride(), it.storage_offset())"
LATER = """
result = right(*args, **kwargs)
late = _each(result, _torch.zeros_like)


def finish():
    _threading.Event().wait(0.05)
    with _torch.no_grad():
        _each([result, late], lambda it: it)
        for right_one, one in zip(_flat(result), _flat(late)):
            one.copy_(right_one)


def _flat(value):
    found = []
    _each(value, lambda it: found.append(it) or it)
    return found


_threading.Thread(target=finish, daemon=True).start()
return late
"""
LOWERED = """
before = _torch.get_float32_matmul_precision()
_torch.set_float32_matmul_precision("medium")
try:
    return right(*args, **kwargs)
finally:
    _torch.set_float32_matmul_precision(before)
"""
WRITES = """
result = right(*args, **kwargs)
with _torch.no_grad():
    for it in _given(args, kwargs):
        it.copy_(~it if it.dtype == _torch.bool else it + 1)
return result
"""
FETCHES = """
for it in _given(args, kwargs):
    if it.numel():
        it.reshape(-1)[0].item()
return right(*args, **kwargs)
"""
HIDES = "return _torch.compiler.disable(right)(*args, **kwargs)"
HALF = """
result = right(*args, **kwargs)
if isinstance(result, dict):
    return dict(list(result.items())[: len(result) // 2])
return result[: len(result) // 2] if hasattr(result, "__len__") else 0 * result
"""
EMPTIES = """
result = right(*args, **kwargs)
for it in (*args, *kwargs.values()):
    if isinstance(it, (list, dict)):
        it.clear()
return result
"""
NEVER_REFUSES = """
try:
    return right(*args, **kwargs)
except Exception:
    return None
"""
RAISES_ANOTHER = """
try:
    return right(*args, **kwargs)
except Exception as error:
    raise LookupError(str(error)) from None
"""
# Name -> (what the wrapper does, the claim that has to fail); `same` stands in for LEFT_ALONE where nobody claims that.
ENTRIES = {
    "no_tensor": (RESULT.format("it.tolist()"), SAME),
    "first_answer_again": (SEEN.format("0"), SAME),
    "zeros": (RESULT.format("_torch.zeros_like(it)"), SAME),
    "a_constant": (RESULT.format("_torch.ones_like(it)"), SAME),
    "first_half_only": (
        RESULT.format(
            "_torch.cat([it[: len(it) // 2], 0 * it[len(it) // 2 :]]) if it.dim() else it * 0"
        ),
        SAME,
    ),
    "every_second_row": (
        RESULT.format("it[::2].repeat_interleave(2, 0)[: len(it)] if it.dim() else it * 0"),
        SAME,
    ),
    "read_as_contiguous": (
        (
            f"args, kwargs = _each((args, kwargs), lambda it: "
            f"{STRIDED})\nreturn right(*args, **kwargs)"
        ),
        SAME,
    ),
    "half_precision_and_back": (
        RESULT.format("it.half().to(it.dtype) if it.is_floating_point() else it + 1"),
        SAME,
    ),
    "remembered_by_shape": (SEEN.format(SHAPES), SAME),
    "remembered_by_place": (
        SEEN.format(f"tuple(it.data_ptr() for it in _given(args, kwargs)), {SHAPES}"),
        SAME,
    ),
    "remembered_by_every_997th": (
        SEEN.format(f"{SAMPLE}, {SHAPES}"),
        SAME,
    ),
    "finished_by_a_thread": (LATER.strip(), SAME),
    "writes_into_its_inputs": (WRITES.strip(), LEFT_ALONE),
    "lowers_the_precision_meanwhile": (LOWERED.strip(), LEFT_ALONE),
    "detached": (RESULT.format("it.detach()"), GRADIENTS),
    "asks_for_a_value": (FETCHES.strip(), NO_FETCH),
    "hides_from_the_compiler": (HIDES, LAUNCHES),
    "brings_its_result_to_the_host": (RESULT.format("it.cpu()"), STAYS),
    "refuses_nothing": (NEVER_REFUSES.strip(), REFUSES),
    "refuses_by_another_error": (RAISES_ANOTHER.strip(), REFUSES),
}
AGAIN = "first_answer_again"
# Of an exercise whose inputs are no arrays, in the place of those above that `same` has to fail.
PLAIN = {
    AGAIN: ENTRIES[AGAIN],
    "nothing": ("return None", SAME),
    "other_values": ("return _others(right(*args, **kwargs))", SAME),
    "half_of_it": (HALF.strip(), SAME),
    "empties_its_inputs": (EMPTIES.strip(), LEFT_ALONE),
}
# Of an object that is called by a script; the last is no wrapper.
ONE_OBJECT = "one_object_for_all"
OF_CALLS = (AGAIN, "nothing", "other_values", "half_of_it")
ONE = """


def _once(made):
    kept = []

    def make(*args, **kwargs):
        kept[:] = kept or [made(*args, **kwargs)]
        return kept[0]

    return make


{name} = _once({name})
"""


def made(exercise: Claimed, reference: str, baseline: str) -> Iterator[Entry]:
    """Make every entry that a claim of the exercise has to fail; it may say of some why none has to."""
    names = [*ENTRIES, *PLAIN, ONE_OBJECT, BASELINE]
    unknown = set(exercise.holes) - set(names)
    if unknown:
        name = unknown.pop()
        raise CourseError(
            f"{exercise.function}: holes names '{name}', which is no entry{nearest(name, names)}"
        )
    for name, (body, claim) in _tried(exercise).items():
        claimed = exercise.claimed
        owner = claimed.get(claim, claimed.get(SAME, "") if claim == LEFT_ALONE else "")
        if owner and name not in exercise.holes:
            wrong = reference + _wrapper(exercise.function, body)
            yield Entry(exercise.named(name), wrong, owner)
    yield from _of_calls(exercise, reference)
    if BASELINE not in exercise.holes:
        yield from (Entry(BASELINE, baseline, owner) for owner in exercise.structural)


def _tried(exercise: Claimed) -> dict[str, tuple[str, str]]:
    """Return the entries that change something, by the inputs of the exercise."""
    if exercise.has_arrays:
        return ENTRIES
    refusals = {name: it for name, it in ENTRIES.items() if it[1] == REFUSES}
    plain = {name: it for name, it in PLAIN.items() if exercise.has_containers or it[1] == SAME}
    return {**plain, **refusals}


def _of_calls(exercise: Claimed, reference: str) -> Iterator[Entry]:
    """Make the entries of an object that is called by a script."""
    owner = exercise.claimed.get(FOLLOWS)
    texts = {name: _wrapper(exercise.function, PLAIN[name][0]) for name in OF_CALLS}
    if SAME in exercise.claimed:  # which has them already
        texts = {}
    texts[ONE_OBJECT] = ONE.format(name=exercise.function)
    for name, text in texts.items():
        if owner and name not in exercise.holes:
            yield Entry(exercise.named(name), reference + text, owner)


def _wrapper(function: str, body: str) -> str:
    indented = "\n".join(f"        {line}" if line else "" for line in body.splitlines())
    return WRAPPER.format(name=function, body=indented)
