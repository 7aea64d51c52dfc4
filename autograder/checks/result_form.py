"""Says how a result has another form than the right one: a type, a shape, a dtype, or too few entries."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from autograder.checks.hints import Why, reason
from autograder.checks.numerics import Array
from autograder.model import Failed

TENSORS = (
    "float16", "bfloat16", "float32", "float64", "bool", "uint", "int8", "int16", "int32", "int64"
)  # fmt: skip
"""What the name of a tensor's dtype begins with."""
FLOATS = {"float16": 16, "bfloat16": 16, "float32": 32, "float64": 64}
"""Bits of a dtype that rounds."""
INDEXED = re.compile(r"(?:, ([a-z]+_[a-z_]+))?, (?:result|entry) (\d+)\b")
"""An entry of a list, which may be a dict's."""
NOTHING = "nothing"
"""In the place of a dtype: None was returned."""
HAS_ENTRIES = "a list or dict"
TENSORS_INSIDE = "a tuple, list or dict of tensors"
NO_RETURN = "a function that ends without `return` returns None"
ROW = re.compile(r"(?P<case>.+?)(?:, (?P<rows>[a-z_]+))?, entry (?P<at>\d+), (?P<column>\w+)")
"""An entry of a dict in a list, which may be an entry of a dict itself."""
ENTRIES = {"result ": TENSORS_INSIDE, "names": "a dict", "number of entries": "a list or tuple"}
"""How the name of an entry begins -> what it is an entry of."""
A_TENSOR = "return a tensor: no .item(), .numpy(), float() or int() at the end"
FROM_TENSORS = {"int", "float", "ndarray"}
"""What becomes of a tensor that is converted."""
WHOLE_OR_NOT = {"int", "float"}
"""Python's numbers: either may stand for the other."""

Form = Mapping[str, Any]
"""Of one answer: its case, its shape, its dtype."""


def misfit(case: Form, asked: Form, got: Array | None, why: Why, try_: str) -> Failed | None:
    """Fail what was raised, or has another shape or dtype than the right answer, or too few numbers."""
    if case["dtype"].startswith("raised "):
        return _raised(case, try_)
    if got is not None and _fits(case, asked):
        return None
    if case["case"] != asked["case"]:
        return _not_several(case, asked)
    returned = f"{named(asked)}: {_instead(_form(case), _form(asked))}"
    form, of_type = _wrong_form(case, asked), _type_hint(case, asked)
    if (_is_plain(asked) or _has_no_gradient(case)) and not of_type:
        return Failed(returned, reason(why, asked["case"]), try_)
    return Failed(returned, form, of_type or try_)


def _raised(case: Form, try_: str) -> Failed:
    """Fail an exception, or a result of which a probe could use nothing."""
    told = case["dtype"]
    whole = named({"case": case["case"].partition(", result ")[0]})
    if " was returned" in told:
        return Failed(
            f"{whole}: {told.removeprefix('raised ')}", "the type of the result is wrong", try_
        )
    error, _, call = told.removeprefix("raised ").partition(", called as ")
    called = f", called as {call}" if call else ""
    line = "look at the line that is named, with the inputs of this case"
    steps = [try_] * (not try_.startswith("see "))
    if ", line " in told and not try_.startswith("fix "):  # which is settled by its first word
        steps.insert(0, line)
    measured = f"{whole}: raised {error.partition(':')[0]}{called}"
    return Failed(measured, error, "; ".join(steps) or try_)


def _type_hint(case: Form, asked: Form) -> str:
    """Say what to do about a result of another type; nothing where the check's own words fit better."""
    is_number = asked["dtype"] in WHOLE_OR_NOT
    if (_is_plain(asked) and not is_number) or _has_no_gradient(case):
        return ""
    if case["dtype"] == HAS_ENTRIES:
        return "return that value without a list, tuple or dict around it"
    if is_number:
        return "" if _is_plain(case) else "return a plain value: .item() makes one of a tensor"
    if case["dtype"] == NOTHING:
        return f"return it as well; {NO_RETURN}"
    if _is_plain(case):
        either = asked["dtype"] == "bool"  # of a tensor, or Python's
        return "" if either or case["dtype"] not in FROM_TENSORS else A_TENSOR
    same_shape = case["shape"] == asked["shape"]
    return _conversion(case["dtype"], asked["dtype"]) if same_shape else ""


def _not_several(case: Form, asked: Form) -> Failed:
    """Fail what came in place of several entries, of which *asked* is the first."""
    entry = asked["case"].rpartition(", ")[2]
    expected = {"names": f"a dict with {unquoted(asked)}", "number of entries": "a list"}
    kind = "tuple" if entry.removeprefix("result ").isdigit() else "dict"
    instead = expected.get(entry, f"a {kind} of tensors")
    came = _form(case) if _is_plain(case) else f"one tensor, {_form(case)},"
    why, hint = {
        NOTHING: ("your function returned None", NO_RETURN),
        TENSORS_INSIDE: (
            "its entries are tensors, and plain values are expected",
            ".item() makes a number of a tensor, .tolist() a list",
        ),
    }.get(case["dtype"], ("the type of the result is wrong", ""))
    try_ = f"return {instead}"
    measured = f"{named(case)}: {came} instead of {instead}"
    return Failed(measured, why, f"{try_}; {hint}" if hint else try_)


def named(case: Form) -> str:
    """Quote the name of a case, which is no finding; the column of a row stands behind it, as Python would find it."""
    if row := ROW.fullmatch(case["case"]):
        column = "keys" if row["column"] == "names" else row["column"]
        at = f"{row['rows'] or 'result'}[{int(row['at']) - 1}]"
        return f'case "{row["case"]}", {column} of {at}'
    name = INDEXED.sub(_indexed, case["case"])
    return f'case "{name}"'


def _indexed(entry: re.Match[str]) -> str:
    """Write an entry as Python would, which counts from 0."""
    whole, number = entry.groups()
    return f", {whole or 'result'}[{int(number) - 1}]"


def wrong_keys(case: Form, asked: Form) -> str:
    """Say which keys of a dict are missing, and which are not asked for; or nothing."""
    if case["case"] != asked["case"] or not asked["case"].endswith(", names"):
        return ""
    came, expected = (set(filter(None, unquoted(it).split(", "))) for it in (case, asked))
    wrong = {"missing": expected - came, "not asked for": came - expected}
    return "; ".join(
        f"{words} in the dict: {', '.join(sorted(it))}" for words, it in wrong.items() if it
    )


def unquoted(case: Form) -> str:
    return str(case["dtype"]).strip("'")


def _conversion(came: str, expected: str) -> str:
    """Say how a result comes to the dtype expected: digits that were dropped on the way do not come back."""
    if came in FLOATS and FLOATS[came] < FLOATS.get(expected, 0):
        return f"compute in {expected} from the first step on, and make nothing {came} on the way"
    return f"convert it at the end, by .to(torch.{expected}) for this result"


def _instead(came: str, expected: str) -> str:
    """Name both; `raises ...` is an error that is asked for, and beside "right" an answer says what is wrong."""
    if expected == "'right'":
        return came.strip("'")
    error = expected.strip("'").removeprefix("raises ")
    if expected == f"'raises {error}'":
        return f"no error came; {error} is expected"
    return f"{came} instead of {expected}"


def _wrong_form(case: Form, asked: Form) -> str:
    if case["dtype"] == NOTHING:
        return "the result is missing"
    if _is_plain(case) or _is_plain(asked):
        return "the type of the result is wrong"
    wrong = [name for name in ("shape", "dtype") if case[name] != asked[name]]
    said = f"the {' and the '.join(wrong) or 'shape'} of the result is wrong"
    sides = list(zip(case["shape"], asked["shape"], strict=False))
    short = [str(at) for at, (came, right) in enumerate(sides) if came < right]
    alike = len(case["shape"]) == len(asked["shape"]) and wrong == ["shape"]
    return f"{said}: dimension {short[0]} is too short" if alike and len(short) == 1 else said


def around(own: Mapping[str, tuple[Form, Array]], name: str) -> Form:
    """Return what stands in the place of a case that is missing: what it is an entry of, or what has entries."""
    if any(other.startswith(f"{name}, ") for other in own):
        return {"case": name, "shape": [], "dtype": HAS_ENTRIES}
    whole, _, entry = name.rpartition(", ")
    while whole:
        if whole in own:
            return own[whole][0]
        for kind, came in ENTRIES.items():
            of_kind = any(it.startswith(f"{whole}, {kind}") for it in own)
            if of_kind and entry.startswith(tuple(ENTRIES)) and not entry.startswith(kind):
                return {"case": whole, "shape": [], "dtype": came}
        whole, _, entry = whole.rpartition(", ")
    return {"case": name, "shape": [], "dtype": NOTHING}


def _fits(case: Form, asked: Form) -> bool:
    numbers = {case["dtype"], asked["dtype"]} <= WHOLE_OR_NOT
    return case["shape"] == asked["shape"] and (numbers or case["dtype"] == asked["dtype"])


def _form(case: Form) -> str:
    return str(case["dtype"]) if _is_plain(case) else f"{case['dtype']} {tuple(case['shape'])}"


def _has_no_gradient(case: Form) -> bool:
    return case["dtype"] == NOTHING and "gradient of " in case["case"]


def _is_plain(case: Form) -> bool:
    """Whether this is a number or a word, and no tensor."""
    return not case["shape"] and not case["dtype"].startswith(TENSORS)
