"""Kernels: a convolution, a ReLU and a pool in one, in Triton and in CUDA."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from autograder.checks import outputs, tiles
from autograder.checks.hints import hinted
from autograder.checks.numerics import Array
from autograder.checks.result_form import named
from autograder.lab import (
    CASES,
    INTEGER,
    NUMBERS,
    TEXT,
    Answer,
    Failed,
    Observation,
    Pair,
    Student,
    Verdict,
    list_of,
)
from autograder.labs.gpu_profiling.bonus.part import Rig, part
from autograder.model import verdict

AXES = ("image", "filter", "row", "column")
SAME = 1e-5  # of the largest number: sums of some dozen products in another order
INDEX = "usually an index is wrong"
WINDOW = "compute one window of 2 x 2 by hand: products, bias, ReLU, maximum"


@part.probe(pair=True, values={"tools": list_of(TEXT)})
def tools(student: Student, rig: Rig) -> Answer:
    """What this machine has; the baseline's side is believed."""
    return {"tools": rig.tools()}


@part.outputs
def fused(student: Student, rig: Rig) -> Answer:
    """Images of several sizes, and images that are not contiguous."""
    answers = rig.answers()
    function = student.conv_relu_pool if rig.side == "student" else rig.pooled
    cases = [*rig.layers(), ("images transposed", *rig.transposed())]
    for case, *inputs in cases if "Triton" in rig.tools() else []:
        answers.add(case, function(*map(rig.exact, inputs)), "float32")
    return answers.values()


@part.probe(values=tiles.LAUNCHED)
def launched(student: Student, rig: Rig) -> Answer:
    """One call on contiguous tensors."""
    _, *inputs = rig.layers()[3]  # so many numbers that some are above zero, whatever was drawn
    with rig.tiles() as watched:
        result = student.conv_relu_pool(*inputs) if "Triton" in rig.tools() else None
    return {
        "launches": watched.launches,
        "operators": watched.operators,
        "wrote": watched.wrote(result),
    }


@part.probe(pair=True, values={**CASES, "strayed": list_of(TEXT), "error": TEXT}, arrays=NUMBERS)
def threads(student: Student, rig: Rig) -> Answer:
    """The CUDA kernel's threads, one after another on the CPU."""
    answers = rig.answers()
    strayed: list[str] = []
    there = "g++" in rig.tools()
    kernel = None
    if there and rig.side == "student":
        kernel = rig.threads(rig.text(student.cuda_source(), 20_000))
    for case, *inputs in rig.layers() if there else []:
        if kernel is None:
            answers.add(case, rig.pooled(*map(rig.exact, inputs)), "float32")
            continue
        if kernel.error:
            break
        numbers, outside = kernel(*(tensor.cpu().numpy() for tensor in inputs))
        answers.add(case, rig.tensor(numbers))
        if outside:
            strayed.append(case)
    error = kernel.error if kernel else ""
    return {**answers.values(), "strayed": strayed, "error": error}


@part.probe(values={"entries": list_of(TEXT), "spilled": INTEGER, "error": TEXT})
def cubin(student: Student, rig: Rig) -> Answer:
    """What nvcc makes of the source."""
    return rig.nvcc(rig.text(student.cuda_source(), 20_000) if "nvcc" in rig.tools() else "")


@part.check(basis="outputs")
def fused_answers_alike(fused: Pair, tools: Pair) -> Verdict:
    """conv_relu_pool gives what a convolution, a ReLU and a pool give, at any size; owed where there is no Triton."""
    why = {
        "odd": "the last row or column has no partner, and must be left out",
        "transposed": "your kernel reads these tensors as if they were contiguous",
        "block": "usually programs begin at a wrong number, or the last one's mask is wrong",
        "": INDEX,
    }
    hints = {
        "odd": "compute height // 2 rows and width // 2 columns",
        "transposed": "call .contiguous() on each tensor before the launch",
        "block": "number the outputs by program_id * BLOCK + arange, and mask the last ones",
    }
    judged = outputs.same(fused, SAME, why=why, try_=WINDOW)
    return tiles.without(tools, "Triton") or _placed(fused, hinted(judged, hints))


@part.check(basis="report", needs=[fused_answers_alike])
def fused_is_one_launch(launched: Observation) -> Verdict:
    """conv_relu_pool launches one kernel, which writes the result; no operator of torch computes beside it."""
    return tiles.one_launch(launched.values)


@part.check(basis="outputs")
def cuda_answers_alike(threads: Pair, tools: Pair) -> Verdict:
    """Run on the CPU, one thread at a time, the CUDA kernel gives the right result and writes nothing beside it."""
    strayed, error = (threads.student.values[name] for name in ("strayed", "error"))
    if error:
        return _uncompiled(error)
    if strayed:
        why = "threads without a number must return, and odd heights and widths are rounded down"
        measured = f'case "{strayed[0]}": numbers were written outside of the result'
        try_ = "return if the thread's number is not below the size of out"
        return Failed(measured, why, try_)
    judged = outputs.same(threads, SAME, why=INDEX, try_=WINDOW)
    return tiles.without(tools, "g++") or _placed(threads, judged)


def _uncompiled(error: str) -> Failed:
    """An error is fatal where a file cannot be included."""
    line = "correct the line that is named, or the end of the line before it"
    try_ = "leave out #include" if "fatal error" in error else line
    return Failed(error, "the CUDA source does not compile", try_)


def _placed(run: Pair, judged: Verdict) -> Verdict:
    """Say of numbers that are wrong in the first case whether they are below 0, or at another place."""
    if not isinstance(judged, Failed) or "furthest off" not in judged.measured:
        return judged
    for _, asked, got, want in outputs.paired(run):
        if got is None or not judged.measured.startswith(f"{named(asked)}: "):
            continue
        if (got < 0).any():
            why = "the result has numbers below 0, and a ReLU gives none"
            return replace(judged, why=why, try_="take the larger of each sum and 0")
        if np.allclose(np.sort(got), np.sort(want), rtol=1e-4, atol=1e-6):
            why = "the numbers are right and at other places: the indices of the result are wrong"
            return replace(judged, why=why, try_="compare where your numbers and torch's lie")
        if len(asked["shape"]) != 4:
            continue
        wrong = (np.abs(got - want) > SAME * np.abs(want).max()).reshape(tuple(asked["shape"]))
        if _inside(wrong):
            why = "only numbers at a border are wrong: the zeros around the image are not right"
            return replace(
                judged, why=why, try_="read 0 where a row or column is outside of the image"
            )
        if axis := _wrong_from(wrong):
            name, at = axis[:-2], int(axis[-1])
            why = f"numbers are wrong from {axis} on: usually the index of the {name} is wrong"
            images, right = (numbers.reshape(wrong.shape) for numbers in (got, want))
            if name == "image" and np.allclose(images[at], right[0]):
                why = f"{axis} of the result is that of image 0: the index of the image is wrong"
            rows = f"{name}s {2 * at} and {2 * at + 1} of the convolution"
            source = f"{axis} alone" if name in AXES[:2] else rows
            return replace(judged, why=why, try_=f"compute {axis} of the result from {source}")
    return judged


def _wrong_from(wrong: Array) -> str:
    """Name the first image, filter, row or column from which on each has wrong numbers, most of all."""
    for number, axis in enumerate(AXES):
        shares = np.moveaxis(wrong, number, 0).reshape(wrong.shape[number], -1).mean(axis=1)
        at = int((shares > 0).argmax())
        after = shares[at:]
        if 0 < at < 10 and after.min() > 0 and after.mean() > 0.5:
            return f"{axis} {at}"
    return ""


def _inside(wrong: Array) -> bool:
    """Whether all numbers are right but those of the first and last rows and columns.

    Where only the end of the last row is wrong, numbers may have been left out.
    """
    if min(wrong.shape[2:]) < 3:
        return False
    inner = wrong[:, :, 1:-1, 1:-1]
    return bool(wrong.ravel()[: -wrong.shape[-1]].any() and not inner.any())


@part.check(basis="report")
def cuda_compiles(cubin: Observation, tools: Pair) -> Verdict:
    """nvcc compiles the CUDA source for an A100, and its registers suffice; owed where there is no nvcc."""
    values, owed = cubin.values, tiles.without(tools, "nvcc")
    if owed:
        return owed
    if values["error"]:
        return _uncompiled(values["error"])
    if "conv_relu_pool" not in values["entries"]:
        kernels = f"kernels: {', '.join(values['entries']) or 'none'}; conv_relu_pool is right"
        why = "no kernel has this name: C++ makes names longer without extern C"
        return Failed(kernels, why, 'extern "C" __global__ void conv_relu_pool(...)')
    why = "the kernel has more values than registers, so some go to memory and back"
    measured = f"{values['spilled']} bytes spilled from registers"
    return verdict(measured, why if values["spilled"] else "", "keep fewer values at once")
