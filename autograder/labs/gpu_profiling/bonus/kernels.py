"""Kernels: a convolution, a ReLU and a pool in one, in Triton and in CUDA."""

from __future__ import annotations

from autograder.checks import outputs, tiles
from autograder.checks.hints import hinted
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

FUSED = 'see "One kernel" in the bonus handout'
CUDA = 'see "The same in CUDA" in the bonus handout'
SAME = 1e-5  # of the largest number: sums of some dozen products in another order


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


@part.probe(pair=True, values={**CASES, "strayed": list_of(TEXT)}, arrays=NUMBERS)
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
        numbers, outside = kernel(*(tensor.cpu().numpy() for tensor in inputs))
        answers.add(case, rig.tensor(numbers))
        if outside:
            strayed.append(case)
    return {**answers.values(), "strayed": strayed}


@part.probe(values={"entries": list_of(TEXT), "spilled": INTEGER, "error": TEXT})
def cubin(student: Student, rig: Rig) -> Answer:
    """What nvcc makes of the source."""
    return rig.nvcc(rig.text(student.cuda_source(), 20_000) if "nvcc" in rig.tools() else "")


@part.check(basis="outputs")
def fused_answers_alike(fused: Pair, tools: Pair) -> Verdict:
    """conv_relu_pool gives what a convolution, a ReLU and a pool give, at any size; owed where there is no Triton."""
    why = {
        "odd": "the last row or column has no partner: the pool leaves it out",
        "transposed": "a kernel sees only addresses, and these tensors are not contiguous",
        "block": "programs after the first begin elsewhere, or the last one's mask is wrong",
        "": "a different function: a border, the order of the axes, or where a window begins",
    }
    try_ = (
        "print where your numbers and torch's differ: only at a border means that its mask is wrong"
    )
    hints = {
        "odd": "height // 2 rows and width // 2 columns",
        "transposed": "call .contiguous() on each tensor before the launch",
        "block": "number the outputs by program_id * BLOCK + arange, and mask the last ones",
    }
    judged = outputs.same(fused, SAME, why=why, try_=try_)
    return tiles.without(tools, "Triton") or hinted(judged, hints)


@part.check(basis="report", needs=[fused_answers_alike])
def fused_is_one_launch(launched: Observation) -> Verdict:
    """conv_relu_pool launches one kernel, which writes the result; no operator of torch computes beside it."""
    return tiles.one_launch(launched.values)


@part.check(basis="outputs")
def cuda_answers_alike(threads: Pair, tools: Pair) -> Verdict:
    """Run on the CPU, one thread at a time, the CUDA kernel gives the right result and writes nothing beside it."""
    strayed = threads.student.values["strayed"]
    if strayed:
        why = "the last block has threads without a number, which must return; odd heights and widths are rounded down"
        return Failed(
            f"{strayed[0]}: written beside the result", why, "return if there is no number"
        )
    why = "the kernel computes a different function, or a thread computes another's number"
    try_ = "compute one window of 2 x 2 by hand: products, bias, ReLU, maximum"
    return tiles.without(tools, "g++") or outputs.same(threads, SAME, why=why, try_=try_)


@part.check(basis="report")
def cuda_compiles(cubin: Observation, tools: Pair) -> Verdict:
    """nvcc compiles the CUDA source for an A100, and its registers suffice; owed where there is no nvcc."""
    values, owed = cubin.values, tiles.without(tools, "nvcc")
    if owed:
        return owed
    if values["error"]:
        return Failed(values["error"], "nvcc refuses the source", "correct the line that it names")
    measured = (
        f"kernels: {', '.join(values['entries']) or 'none'}; {values['spilled']} bytes spilled"
    )
    if "conv_relu_pool" not in values["entries"]:
        why = "a loader looks for conv_relu_pool, but C++ gives it a longer name"
        return Failed(measured, why, 'extern "C"')
    why = "what does not fit into registers goes to memory and back"
    return verdict(measured, why if values["spilled"] else "", "keep fewer values at once")
