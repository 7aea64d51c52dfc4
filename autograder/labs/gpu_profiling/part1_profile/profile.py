"""nsys by its command lines, a profile by torch, and eleven questions about it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from autograder.checks import trace as profile
from autograder.checks.hints import Causes, hint_for, hinted
from autograder.claims.answers import Answers, Question, Slips, Values, percent
from autograder.errors import SubmissionError
from autograder.lab import (
    BOOLEAN,
    INTEGER,
    TEXT,
    Answer,
    Failed,
    Observation,
    Pair,
    Passed,
    Student,
    Unavailable,
    Verdict,
    list_of,
    map_of,
)
from autograder.labs.gpu_profiling.part1_profile import nsys as commands
from autograder.labs.gpu_profiling.part1_profile.judges import PASSED_OVER, RECORDED, misplanned
from autograder.labs.gpu_profiling.part1_profile.part import part
from autograder.model import verdict
from autograder.traces import Trace
from autograder.traces.summary import NO_GPU
from autograder.traces.words import many

if TYPE_CHECKING:
    from autograder.labs.gpu_profiling.part1_profile.rig import Rig
else:
    Rig = Any


RANGES = ("copy", "forward", "backward", "optimizer_step")
LEAST = 5  # steps of a submitted profile
CONVOLUTIONS = 3  # of SimpleNet
BYTES = 16 * 1024 * 1024  # of a profile
NSYS = 'see "nsys" in the part 1 handout'
SCHEDULE = 'see "The schedule" in the part 1 handout'
QUESTIONS = 'see "Eleven questions" in the part 1 handout'
READ = (
    "if a check of analyse_profile fails, fix that first; then run part1_profile.py, "
    "and submit the profile and the answers that it writes"
)

# --- what is run ---


@part.probe(
    pair=True,
    values={"lines": map_of(list_of(TEXT)), "program": list_of(TEXT), "report": TEXT},
)
def command_lines(student: Student, rig: Rig) -> Answer:
    """A program and a report of secret names."""
    number = rig.integer(10, 99)
    program = ["python", "-m", f"given.training_{number}", "--batches", str(rig.integer(20, 60))]
    asked = {"program": program, "report": f"baseline_{number}"}
    if rig.side != "student":
        return {"lines": {}, **asked}
    commands = rig.returned("nsys_commands", student.nsys_commands(list(program), asked["report"]))
    lines = {name: _words(rig, commands[name]) for name in ("capture", "stats", "export")}
    return {"lines": lines, **asked}


def _words(rig: Rig, line: Any) -> list[str]:
    """Take a list of words, or the line as it would be typed."""
    if isinstance(line, str):
        text = str(rig.text(line, 2000)).replace("\\\n", " ").replace("\\ ", " ")
        try:
            return shlex.split(text)[:100]
        except ValueError:  # a quote that is never closed
            return text.split()[:100]
    return [rig.text(word) for word in (line if isinstance(line, list | tuple) else ())][:100]


@part.probe(
    arrays={"profile": ("uint8", 1)},
    values={"asked": list_of(INTEGER), "stepped": INTEGER, "passed_on": BOOLEAN, "still": BOOLEAN},
)
def profiled(student: Student, rig: Rig) -> Answer:
    """A training with the ranges of the script; what the profiler wrote is read outside."""
    window = rig.window([4] * rig.integer(32, 40), momentum=0.9)
    train = rig.profiles.training(window)
    folder = rig.made_folder()
    returned = student.profile_training(train, folder=str(folder))
    file = rig.file_bytes(folder / part.artefacts["baseline_profile"], BYTES + 1)
    calls = {"asked": train.asked, "stepped": train.stepped, "passed_on": returned is train.losses}
    return {**calls, "still": rig.profiles.profiling(), "profile": file}


US, MS = 1e3, 1e6  # ns


def form(work: Mapping[str, Question], small: Mapping[str, Question]) -> dict[str, Question]:
    """Declare eleven questions, some of which have names of their own with a GPU and without one."""
    return {
        **work,
        "gap_cause": Question("gpu"),
        "host_to_device_ms": Question("data", "h2d_time", MS),
        "copy_overlap_percent": percent("data", "copy_overlap"),
        "data_wait_percent": percent("data", "data_loading"),
        **small,
        "host_busy_percent": percent("cpu", "host_busy"),
        "longest_wait_ms": Question("cpu", "longest_wait", MS),
    }


ON_A_GPU = form(
    {
        "gpu_utilization_percent": percent("gpu", "gpu_utilization"),
        "gaps_over_1ms": Question("gpu", "gaps"),
    },
    {
        "small_kernels_percent": percent("work", "small_kernels"),
        "kernel_mean_us": Question("work", "kernel_mean", US),
        "launching_percent": percent("work", slice="launching"),
    },
)
ON_A_CPU = form(
    {
        "operators_percent": percent("gpu", "operator_share"),
        "operator_gaps_over_1ms": Question("gpu", "operator_gaps"),
    },
    {
        "small_operators_percent": percent("work", "small_operators"),
        "operator_mean_us": Question("work", "operator_mean", US),
        "python_percent": percent("work", slice="Python and other"),
    },
)
questions = Answers(part, "analyse_profile", ON_A_GPU, ON_A_CPU, reason="data", see=QUESTIONS)


@questions.asks
def made(rig: Rig) -> Iterator[tuple[bytes, Values, Slips]]:
    """Profiles, two with a GPU and one without, of which everything is known.

    The last one mostly loads, and holds no copy from the host.
    """
    for gpu, loads in ((True, False), (False, None), (True, True)):
        timeline = rig.profiles.timeline(rig.random, gpu=gpu, loads=loads, to_gpu=loads is not True)
        yield timeline.data(copies=True), timeline.expected(), timeline.slips()


# --- what is judged: command lines ---


LINE_HINTS = {
    "it begins with": "begin the line with nsys and its command",
    "--trace": "write --trace=cuda,nvtx as one word",
    "--capture-range-end is": "leave it out, or take stop",
    "--capture-range is": "add --capture-range=cudaProfilerApi",
    "so the program gets": "move nsys's options before the program",
    "it runs": "end the list with the words of program, after all options of nsys",
    "--type is not there": "add --type=sqlite: the ending of --output does not set the type",
    "--output": "write --output and the name in report, without an ending",
    "--report is": "name both sums, or leave --report out",
    "--format is": "add --format=csv",
    "--type is": "write --type=sqlite",
    "the line reads": "read the file that the capture line wrote: report and .nsys-rep",
}


def _line(pair: Pair, name: str, problem: Callable[..., str], *more: Any) -> Verdict:
    words = pair.student.values["lines"].get(name, [])
    why = problem(words, *more, pair.baseline.values["report"])
    try_ = hint_for(why, LINE_HINTS) or NSYS  # the line itself has the words of many hints
    return verdict(" ".join(words)[:300] or "nothing", why, try_)


@part.check(basis="outputs")
def captures_the_training(command_lines: Pair) -> Verdict:
    """The capture line records CUDA and NVTX of the program's training, into the report that was named."""
    return _line(
        command_lines, "capture", commands.capture_problem, command_lines.baseline.values["program"]
    )


@part.check(basis="outputs")
def sums_up_the_report(command_lines: Pair) -> Verdict:
    """The stats line prints the sums over kernels and over copies of the report, as CSV."""
    return _line(command_lines, "stats", commands.stats_problem)


@part.check(basis="outputs")
def exports_for_others(command_lines: Pair) -> Verdict:
    """The export line writes the report as SQLite."""
    return _line(command_lines, "export", commands.export_problem)


# --- what is judged: the profile ---


@part.check(basis="report")
def trains_once_and_stops(profiled: Observation) -> Verdict:
    """profile_training calls train once, for ten batches or more, and returns what it returned."""
    asked, stepped, least = (
        profiled.values["asked"],
        profiled.values["stepped"],
        PASSED_OVER + RECORDED,
    )
    measured = f"train was called {many(len(asked), 'time')}, on_step {many(stepped, 'time')}"
    if len(asked) != 1:
        why = "train must be called exactly once, while the profiler runs"
        return Failed(measured, why, "call train once, inside of `with profile(...)`")
    if not stepped:
        return Failed(measured, *UNSTEPPED)
    if stepped < least:
        why = f"train ran {asked[0]} batches, but {least} are needed: 1 to skip, 1 to warm up, 8 to record"
        return Failed(measured, why, f"call train with batches={least}")
    if profiled.values["still"]:
        why = "your code starts a profiler and does not stop it"
        return Failed("a profiler is still recording", why, "with profile(...) as prof: stops it")
    if not profiled.values["passed_on"]:
        why = "profile_training must return the same list that train returned"
        return Failed("the list of losses was not returned", why, "return train(...)")
    return Passed(measured)


UNSTEPPED = (
    "train did not get on_step, so the profiler never moves on",
    "call train(on_step=prof.step, ...)",
)
RECORDED_HINTS = {
    "in folder": (
        "nothing was exported under this name, or the argument folder is ignored",
        "in on_trace_ready, export to Path(folder) / 'baseline_profile.gz'",
    ),
    "' 0 times": (
        "nothing of train is in the file: usually no profiler records while train runs",
        "call train inside of `with profile(...)`, and export what this profiler recorded",
    ),
    "holds the range": (
        "the file must be a profile of train, the training that the function is given",
        "call train while the profiler records, and write what the profiler exports",
    ),
}


@part.check(basis="report")
def follows_the_schedule(profiled: Observation) -> Verdict:
    """profile_training writes a profile of batches 3 to 10, a ProfilerStep each, with the script's ranges."""
    data, file = profiled.arrays["profile"].tobytes(), part.artefacts["baseline_profile"]
    problem, why = f"no {file} in folder", f"{file} must be a profile of eight batches"
    if data:
        try:
            problem = profile.recorded(profile.read(data, file), RECORDED, PASSED_OVER, RANGES)
        except SubmissionError as error:
            problem = str(error)
    if not problem:
        return Passed("steps 2 to 9, with their ranges")
    if not profiled.values["stepped"]:
        return Failed(problem, *UNSTEPPED)
    if "its steps are" in problem or ", expected" in problem:
        return Failed(problem, *misplanned(problem, profiled.values["stepped"]))
    return hinted(Failed(problem, why, SCHEDULE), RECORDED_HINTS)


FINDS = {
    "gaps": ("how much of the steps is work, the gaps in it, and their largest cause", "gpu"),
    "copies_and_waits": (
        "the time of copies to the GPU, their overlap with kernels, and the wait for data",
        "data",
    ),
    "small_work": (
        "the share of short kernels, the mean of all kernels, and the GPU's idle time because of launching",
        "work",
    ),
    "load_of_the_cpu": ("how busy the CPU is, and the longest wait for the loader", "cpu"),
}
WORK = "kernels and copies are work, and no cause of idle time"
LARGEST = "give each moment to its first cause; leave out kernels and copies; return the largest"
FOUND: Causes = {
    "whole recording": "take the time from the start of the first ProfilerStep# to the end of the last",
    "gpu_user_annotation has": "take events of category user_annotation, and none of gpu_user_annotation",
    "' is missing": (
        "return the names of a GPU if there is an event of category kernel (a copy alone is not "
        "enough), else the names of a CPU"
    ),
    "None is right": "return None where the file has nothing of this kind, and say in reason why",
    **dict.fromkeys(("gap_cause is 'kernels'", "gap_cause is 'copies'"), (WORK, LARGEST)),
    "gap_cause": (
        "usually a moment counts for another cause than its first in the handout's order",
        LARGEST,
    ),
    "wait for the loader": "take for work only operators that begin outside of the loader's ranges",
    "operator_gaps": "count stretches over 1000 us without an operator from outside of the loader's ranges",
    "gaps_over": "count stretches over 1000 us in which no kernel, copy or memset runs",
    "gpu_utilization": "take the share of the window in which a kernel ran, overlaps once",
    "small_": "divide the number of kernels (or operators) below 10 us by that of all in the file",
    "_mean_us": "divide the sum of the durations by their number, in the whole file",
    "operators_percent": "take the share in which an operator ran, not the loader, overlaps once",
    "host_to_device": "add up all Memcpy HtoD of the whole file, overlaps once",
    "copy_overlap": "divide the time of copies in which a kernel ran, too, by the time of all copies",
    "data_wait": "take the user_annotations that begin with enumerate(DataLoader), in the window",
    "cudaFree": "let calls beginning with cudaMalloc, cudaFree or cudaHostAlloc be allocating",
    "launching": (
        "take operators and calls (cuda_runtime and cuda_driver), less the work and the causes "
        "that come before"
    ),
    "python_percent": "take off the loader and the operators, overlaps once",
    "host_busy": (
        "take the time of loader, operators and calls (cuda_runtime and cuda_driver), "
        "less the time of waiting calls"
    ),
    "longest_wait": "take the longest of the waits that begin in the window, each in its whole length",
}
for _name, (_what, _group) in FINDS.items():
    questions.knows(f"finds_the_{_name}", f"analyse_profile finds {_what}.", _group, hints=FOUND)


# --- what is judged: the submitted files ---


@part.check(basis="artefact")
def profile_is_of_the_script(baseline_profile: Trace) -> Verdict:
    """The submitted baseline_profile.gz is of training_unoptimized: its steps, its ranges, its wait for data."""
    why = profile.of_another(baseline_profile, LEAST, RANGES, CONVOLUTIONS, workers=False)
    file = baseline_profile.file
    again = "run part1_profile.py, and submit what it wrote"
    hints = {
        "workers": f"restore given/training_unoptimized.py and {again}",
        "expected at least": f"schedule(wait=1, warmup=1, active=8, repeat=1), then {again}",
    }
    if why:
        cause = f"{file} must be of given/training_unoptimized.py, as it is handed out"
        note = next((it for it in baseline_profile.notes if why.endswith(f": {it}")), "")
        seen = why.removesuffix(f": {note}")
        if note != NO_GPU:  # which is no cause of anything else
            cause = note or cause
        return hinted(Failed(f"{file}: {seen}", cause, again), hints)
    return Passed(f"{baseline_profile.tool}, {many(len(baseline_profile.steps), 'step')}")


@part.check(basis="artefact", needs=[profile_is_of_the_script])
def the_gpu_was_recorded(baseline_profile: Trace) -> Verdict:
    """The submitted profile holds the work of a GPU; the check is owed where torch.profiler found no GPU."""
    kernels = baseline_profile.figure("busy_kernel", "steps")
    if kernels is not None:
        return Passed(f"kernels ran {kernels:.1f} % of the steps")
    if baseline_profile.tool == "kineto" and not baseline_profile.devices:
        return Unavailable("the profile was recorded without a GPU")
    why = (
        baseline_profile.notes[0]
        if baseline_profile.notes
        else "the work of the GPU was not recorded"
    )
    tools = {"kineto": "add ProfilerActivity.CUDA to the activities"}
    try_ = tools.get(
        baseline_profile.tool,
        "run nsys --trace=cuda,nvtx with a GPU; without a GPU, submit the profile of torch.profiler",
    )
    return Failed(f"{baseline_profile.tool}, no kernel", why, try_)


COMPLETE = "answers_are_complete"
questions.fits(
    COMPLETE, "The submitted answers.json holds the eleven answers, with a reason for what is null."
)
ANSWERED = {
    "gaps": (
        "Utilization, gaps and their cause in answers.json are what the submitted profile says.",
        "gpu",
    ),
    "data": (
        "Copies, their overlap and the wait for data in answers.json are what the profile says.",
        "data",
    ),
    "work": (
        (
            "The share of short work, the mean of all work and the "
            "cost of launching in answers.json "
            "are what the profile says."
        ),
        "work",
    ),
    "cpu": (
        "The load of the CPU and the longest wait in answers.json are what the profile says.",
        "cpu",
    ),
}
for _name, (_says, _group) in ANSWERED.items():
    questions.fits(
        f"answers_know_the_{_name}",
        _says,
        _group,
        about="baseline_profile",
        try_=READ,
        needs=[COMPLETE],
        source=profile_is_of_the_script.__name__,
    )
