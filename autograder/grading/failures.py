"""What is told of a worker that ended without an answer; the why is the worker's own words."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import PurePath

from autograder.handed_in.imports import ALLOWED
from autograder.model import Cause, Failed, Kind, Observation

ENDS: Mapping[str, tuple[str, str]] = {
    "raised": (
        "your code raised an exception",
        (
            "make the same call at the end of your file, "
            "and read the traceback down to the last line that is yours"
        ),
    ),
    "timeout": (
        "no answer in time",
        "look for an endless loop, or for far more work than the part asks for",
    ),
    "memory": (
        "too much memory",
        "look for tensors that are kept from step to step, such as losses with their graph",
    ),
    "crash": (
        "the process died",
        "let functions return; do not end the process or start processes that outlive it",
    ),
    "tampering": (
        "its processes worked while they were stopped",
        "let nothing continue a process that the grader has stopped, and start none that does",
    ),
    "refused": (
        "what your code sent to the grader was refused",
        "return what the handout names, and leave the process that runs your code alone",
    ),
}
"""How it ended -> what was measured, and what to try."""
NOT_IMPORTED = (
    "the file cannot be imported",
    (
        "correct the line that is named: it runs as soon as the file is imported; "
        'calls that only try a function belong below `if __name__ == "__main__":`'
    ),
)
"""The same, where the file itself raised."""

KINDS: Mapping[Kind, tuple[str, str]] = {
    "missing module": (
        "a module is missing here",
        f"a part's file may import {ALLOWED}, and none of your other files: copy what it needs",
    ),
    "syntax": (
        "the file cannot be read as Python",
        "open it at that line; `python -m py_compile` with the file's name shows the place",
    ),
    "unwritten": (
        "nothing yet",
        "fill in the function; the handout says what is asked and how it is judged",
    ),
    "missing function": (
        "a function is missing",
        "define it, under the name that the template has; in a notebook, in a code cell",
    ),
    "no figures": (
        "the program printed no figures",
        "print(json.dumps(figures)) as the last line of its output",
    ),
    "failed program": (
        "the program ended with an error",
        "run it with these options in a terminal: status 2 is argparse's, which refused them",
    ),
    "wrong type": (
        "something else was returned",
        (
            "return what the docstring names; dict(...), ._asdict() or dataclasses.asdict(...) "
            "make a dict, .tolist() a list"
        ),
    ),
    "no return": (
        "nothing was returned",
        "return what the docstring names; a function that ends without `return` returns None",
    ),
    "missing key": (
        "a key is missing",
        "add this key; keys must be spelt as the docstring or the handout spells them",
    ),
    "bad return": (
        "the result is not what the handout asks for",
        "compare what your code returns or writes with what its docstring promises",
    ),
    "reused context": (
        "a context was entered a second time",
        (
            "what a function with @contextmanager returns works once; "
            "write a class with __enter__ and __exit__"
        ),
    ),
    "changed segment": (
        "the second run of a segment saved other tensors than the first",
        (
            "hold statistics by a momentum of 0 in the second run; "
            "change neither train(), eval(), track_running_stats nor random numbers there"
        ),
    ),
    "recompiled": (
        "compiled in pieces, more of them than the recompile limit allows",
        (
            "compile the whole model, torch.compile(model, ...), and not "
            "its layers: each is a graph of its own"
        ),
    ),
    "apart": (
        "the processes did not make the same collective calls",
        "let all processes make the same collective calls, in one order, with equal bytes",
    ),
    "left early": (
        "a process returned, and another one still waits for it in a collective call",
        "let no rank return, or skip a collective call, before all ranks have made that call",
    ),
    "unended": (
        "processes of the group did not end",
        "let all processes make the same collective calls, and wait only for what was started",
    ),
    "ruled out": (
        "something was used that the handout rules out",
        "write that part by hand; the handout says what your code may not use",
    ),
    "other results": (
        "different results from the baseline's",
        (
            "call both on the same fresh inputs, many times, and compare; "
            "each call has to compute its own result"
        ),
    ),
}
"""Of which kind the end was, where that says more -> the same."""
EXCEPTIONS: Mapping[str, str] = {
    "Trace is already saved": "call prof.export_chrome_trace once in each call of the handler",
    "backward through the graph a second time": (
        "call backward() once for each forward pass, and detach what you keep for the next step"
    ),
    "does not require grad and does not have a grad_fn": (
        "keep the graph from the parameters to the loss: no .item(), .detach() or no_grad() there"
    ),
    "modified by an inplace operation": (
        "make a new tensor where one is changed in place (y = y + "
        "x): the backward pass needs the old"
    ),
    "addmm.default got mixed torch.Tensor and DTensor": (
        "call the model as model(x): the hooks that gather its "
        "weights do not run in model.forward(x)"
    ),
    "mixed torch.Tensor and DTensor": (
        "call fully_shard on the model itself after its blocks, so that all parameters are DTensors"
    ),
    "unscale_() is being called after step()": (
        "for each batch: scale, backward; for each step: unscale_, clip, scaler.step, "
        "scaler.update; without update() the next unscale_() raises this"
    ),
    "cuda_time_total'": (
        "torch renamed it: self_device_time_total of a GPU; on a CPU take self_cpu_time_total"
    ),
    "FSDP needs a non-CPU accelerator": (
        "FullyShardedDataParallel is FSDP1: call torch.distributed.fsdp.fully_shard in its place"
    ),
    "has no attribute '__name__'": (
        "return a function: torch asks for its __name__, and an object such as a partial has none"
    ),
    "Unable to cast Python instance of type <class 'torch.Tensor'>": (
        "return a future, such as work.get_future().then(f), and no tensor"
    ),
    "overlapping meshes": "call fully_shard on each block first, and on the model after its blocks",
    "stack expects each tensor to be equal size": (
        "where __getitems__ returns a whole batch, give the DataLoader "
        "a collate_fn that returns it as it is; "
        "elsewhere, give tensors one size before you stack them"
    ),
    "is out of bounds for dimension": (
        "look for the length that is too large: usually __len__ of a data set"
    ),
    "mutually exclusive with shuffle": "leave shuffle out of DataLoader: the sampler shuffles",
    "persistent_workers option needs": "persistent_workers=True only where num_workers is above 0",
    "no len()": "count batches in the loop: an iterable that you are given may have no len()",
    "and no slices": "give the data set itself to the DataLoader, which reads it index by index",
    "called sys.exit(": "take out what calls sys.exit(): a function must return",
    "closed the file descriptor": "close no file descriptor that your code did not open",
    "CUDA out of memory: in this test": (
        "train in batches of the size that the options or your search give; an attempt of the search "
        "must train a whole step, with --amp and --compile if they are given"
    ),
    "left: its process ended with status": "take out what ends this process, such as os._exit()",
    "requires at least one CUDA device": "give dist.init_process_group 'gloo' where there is no GPU",
    "on the same device": "move the model once, and each batch in its step, by .to(device)",
    "printed more than": "print at most a few lines: nothing for each sample, batch or step",
    "waits for a keyboard": "take it out; to try something by hand, run the file itself",
    "unexpected keyword argument": "give the function the parameters of the template, by their names",
}
"""Words of an exception -> what to try."""
TOLD = (
    "apart", "left early", "unended", "unwritten", "missing function", "ruled out",
    "wrong type", "no return", "missing key", "bad return",
)  # fmt: skip
"""Kinds that say themselves what to try: what a probe says of an exception does not help there."""
MODULE = re.compile(r"No module named '([\w.]+)'")
OBJECT = re.compile(r"\b(?!self=)(\w+)=(?!(?:None|True|False|nan|inf)\b)[A-Za-z_]\w*(?=[,)])")
"""An argument of a call that is shown by its type alone."""
LOGGED = 2000  # characters, the last of what it printed


def failed_to_run(
    observation: Observation,
    hints: Mapping[str, str] | None = None,
    own: Collection[str] = (),
) -> Failed:
    """Fail who did not answer; *hints* of the probe say what to try instead. *own* are files of the student's."""
    measured, try_ = KINDS.get(observation.kind) or ENDS[observation.ended]
    if observation.kind == "missing module":
        try_ = _without(observation.error, own) or try_
    elif observation.kind == "wrong type" and "; return " in observation.error:
        try_ = "return what the docstring names"
    elif not observation.kind and observation.ended == "raised":
        try_ = _like_it(observation.error, try_)
    if not observation.imported and observation.ended == "raised" and not observation.kind:
        measured, try_ = NOT_IMPORTED
    else:
        known = next((it for words, it in EXCEPTIONS.items() if words in observation.error), "")
        told = hints or {}
        if observation.kind not in TOLD:
            try_ = told.get(observation.ended, try_)
        try_ = told.get(observation.kind) or known or try_
    evidence = {"log": observation.log[-LOGGED:]} if observation.log else {}
    return Failed(measured, observation.error, try_, evidence)


def _without(error: str, own: Collection[str]) -> str:
    """Say what to do without a package; nothing where the module is a file of the student's own."""
    found = MODULE.search(error)
    names = {PurePath(part).stem for path in own for part in PurePath(path).parts}
    if found is None or found[1].partition(".")[0] in names:
        return ""
    return (
        f"do without {found[1]}: the grader has only {ALLOWED}, whatever is installed where you "
        "work"
    )


def _like_it(error: str, try_: str) -> str:
    """Say whose objects the call takes: a student has none of the grader's."""
    _, called, call = error.rpartition(", called as ")
    objects = OBJECT.findall(call) if called else []
    own = f"call, with {' and '.join(objects[:3])} of your own,"
    return try_.replace("call", own) if objects else try_


def cause_of(observation: Observation) -> Cause:
    """Return what a failure comes of where a worker did not answer."""
    assert observation.ended != "ok"
    if observation.kind == "unwritten":
        return "unwritten"
    return observation.ended
