"""Profiles of the script of gpu_profiling as they are with a GPU: made, not recorded, small, and the same each time.

python -m tests.labs.scripted_profiles      writes the folders of the corpus that hand one in
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import yaml

from autograder.checks.trace import has_gpu
from autograder.claims.answers import idle
from autograder.labs.gpu_profiling.part1_profile.profile import ON_A_CPU, ON_A_GPU
from autograder.traces import Trace, figures_claimed, read
from tests.labs.bench import ROOT
from tests.labs.scripted_recordings import of_nsys, of_torch

HOME = ROOT / "tests/submissions/gpu_profiling"
REFERENCE = ROOT / "reference/gpu_profiling"


def trace_of(data: bytes, folder: Path) -> Trace:
    path = folder / "baseline_profile.gz"
    path.write_bytes(data)
    return read(path)


def answers(trace: Trace, **changed: Any) -> dict[str, Any]:
    """Return the eleven answers as the profile has them, null where it says nothing, and some of them changed."""
    gpu = has_gpu(trace)
    found: dict[str, Any] = {}
    parts = idle(trace)
    for name, question in (ON_A_GPU if gpu else ON_A_CPU).items():
        if question.quantity:
            first = next(figures_claimed.accepted(trace, question.quantity), None)
            found[name] = round(first.value / question.unit, 3) if first else None
        elif question.slice:
            share = next((share for one, share in parts if one.name == question.slice), 0.0)
            found[name] = round(share, 3) if parts else None
        else:
            found[name] = parts[0][0].name if parts else None
    found |= changed
    empty = [name for name, value in found.items() if value is None]
    return {**found, "reason": f"the profile does not say {', '.join(empty)}" if empty else None}


def report(share: str, potential: float, *lines: str) -> str:
    numbered = "".join(f"{number}. {line}\n" for number, line in enumerate(lines, 1))
    return f"{share}\n\nMain bottlenecks:\n{numbered}\nEstimated improvement potential: {potential:.0f} %\n"


def line(words: str) -> int:
    """Return the line of the script that holds these words first."""
    script = (REFERENCE / "given/training_unoptimized.py").read_text(encoding="utf-8").splitlines()
    return next(number for number, text in enumerate(script, 1) if words in text)


def faults() -> list[str]:
    """Return three bottlenecks of the script, and where they stand."""
    return [
        f"line {line('num_workers=0')}: one process decodes the photos while the GPU waits",
        f"line {line('        synchronize(device)')}: waits for the GPU at every step",
        f"line {line('pin_memory')}: copies from pageable memory",
    ]


def on_a_gpu(trace: Trace, **changed: Any) -> dict[str, Any]:
    """Return answers.json and baseline_analysis.txt for a profile with a GPU."""
    busy, waits = (
        trace.figure("busy_kernel", "steps") or 0.0,
        trace.figure("dataloader", "steps") or 0.0,
    )
    told = report(f"GPU utilization: {busy:.1f} %", waits, *faults())
    return {
        "answers.json": json.dumps(answers(trace, **changed), indent=2) + "\n",
        "baseline_analysis.txt": told,
    }


GPU, DATA, WORK, CPU = (
    "answers_know_the_gaps",
    "answers_know_the_data",
    "answers_know_the_work",
    "answers_know_the_cpu",
)
SCRIPT, RECORDED, ANALYSIS = (
    "profile_is_of_the_script",
    "the_gpu_was_recorded",
    "analysis_fits_the_profile",
)


def with_a_gpu(folder: Path) -> dict[str, tuple[str, str, dict[str, str], dict[str, Any]]]:
    """Return name -> kind, about, what fails, files."""
    data, other = of_torch(), of_torch(seed=2, wait=30_000)
    trace, busy = (
        trace_of(data, folder),
        trace_of(data, folder).figure("busy_kernel", "steps") or 0.0,
    )
    top = trace.rows("kernels")[0]
    elsewhere = answers(trace_of(other, folder))
    by_nsys, on_a_cpu = of_nsys(folder), of_nsys(folder, cuda=False)
    resnet, workers = of_torch(convolutions=20), of_torch(workers="MultiProcessing")

    def handed(about: str, kind: str, fails: dict[str, str], **changed: Any) -> Any:
        return kind, about, fails, {"baseline_profile.gz": data, **on_a_gpu(trace, **changed)}

    def of(profile: bytes, about: str, kind: str, fails: dict[str, str]) -> Any:
        return (
            kind,
            about,
            fails,
            {"baseline_profile.gz": profile, **on_a_gpu(trace_of(profile, folder))},
        )

    none = trace_of(on_a_cpu, folder)
    ran = none.figure("op_busy", "steps") or 0.0
    cpu = {"answers.json": json.dumps(answers(none), indent=2) + "\n"}
    cpu["baseline_analysis.txt"] = report(f"Operators: {ran:.1f} %", 100 - ran, *faults())
    mean = trace.figure("kernel_mean") or 0.0
    return {
        "profile_with_a_gpu": of(data, "recorded by torch.profiler with a GPU", "unusual", {}),
        "profile_by_nsys": of(by_nsys, "an export of Nsight Systems, packed; its answers are typed in", "unusual", {}),
        "other_definitions": handed(
            "utilization with the copies, the median kernel instead of the mean one", "unusual", {},
            gpu_utilization_percent=trace.figure("busy_any", "steps"),
            kernel_mean_us=(trace.figure("kernel_median") or 0.0) / 1000,
        ),
        "forged_utilization": handed(
            "a utilization that sounds better", "cheat", {GPU: "no accepted definition"}, gpu_utilization_percent=91.5
        ),
        "microseconds_for_milliseconds": handed(
            "copies in microseconds where ms are asked for", "wrong", {DATA: "in another unit"},
            host_to_device_ms=(trace.figure("h2d_time") or 0.0) / 1000,
        ),
        "milliseconds_for_microseconds": handed(
            "the mean kernel in ms where us are asked for", "wrong", {WORK: "in another unit"},
            kernel_mean_us=mean / 1e6,
        ),
        "hundred_less_the_value": handed(
            "the idle share for the busy one", "wrong", {GPU: "the rest, and not the share"},
            gpu_utilization_percent=100 - busy,
        ),
        "share_of_the_rows": handed(
            "the column Time (%) of the first kernel as utilization", "wrong", {GPU: "among the kernels listed"},
            gpu_utilization_percent=round(top.share, 1),
        ),
        "small_things_named": handed(
            "a cause of gaps that is none", "wrong", {GPU: "data loading is the largest"}, gap_cause="allocating"
        ),
        "nulls_for_what_it_says": handed(
            "null where the profile has the figure", "wrong", {CPU: "longest_wait_ms is null"}, longest_wait_ms=None
        ),
        "answers_of_another_profile": (
            "cheat", "answers and report copied from another profile of the same script",
            {GPU: "no accepted definition", DATA: "", CPU: "", ANALYSIS: "GPU utilization is given as"},
            {"baseline_profile.gz": data, "answers.json": json.dumps(elsewhere, indent=2) + "\n",
             "baseline_analysis.txt": on_a_gpu(trace_of(other, folder))["baseline_analysis.txt"]},
        ),
        "profile_of_another_network": of(
            resnet, "the ranges of the script around a network of twenty convolutions", "cheat",
            {SCRIPT: "20 convolutions a step"},
        ),
        "profile_with_workers": of(
            workers, "the script was mended before it was profiled", "wrong", {SCRIPT: "has workers"}
        ),
        "nsys_without_a_gpu": (
            "wrong", "nsys recorded a script that ran on the CPU", {RECORDED: "holds no CUDA work"},
            {"baseline_profile.gz": on_a_cpu, **cpu},
        ),
    }  # fmt: skip


def without_one() -> dict[str, tuple[str, str, dict[str, str], dict[str, Any]]]:
    """Return what goes with the profile of the reference, which has no GPU."""
    right = json.loads((REFERENCE / "answers.json").read_text(encoding="utf-8"))
    ran, waited = right["operators_percent"], right["data_wait_percent"]
    share = f"Operators: {ran:.1f} %"

    def told(text: str) -> dict[str, Any]:
        return {"baseline_analysis.txt": text}

    def said(**changed: Any) -> dict[str, Any]:
        return {"answers.json": json.dumps({**right, **changed}, indent=2) + "\n"}

    less = {name: value for name, value in right.items() if name != "python_percent"}
    gpu = {
        "gpu_utilization_percent": 0,
        "gaps_over_1ms": 0,
        "small_kernels_percent": 0,
        "kernel_mean_us": 0,
    }
    gpu |= {"launching_percent": 0}
    kept = {name: value for name, value in right.items() if name in ON_A_GPU or name == "reason"}
    loader, sync, item = (
        line("num_workers=0"),
        line("        synchronize(device)"),
        line("losses.append"),
    )
    markdown = (
        f"# Baseline\r\n\r\n**Operators:** {ran:.1f} % of the steps\r\n\r\n## Main bottlenecks\r\n\r\n"
        f"1) **training_unoptimized.py:{loader}** no workers\r\n2) lines {item} and {item + 2}: .item()\r\n"
        f"3) L{line('batch_size = 32')}, a batch of 32\r\n\r\n"
        f"**Estimated improvement potential:** {waited:.1f} %\r\n"
    ).replace(f"{ran:.1f}", f"{ran:.1f}".replace(".", ","))
    return {
        "analysis_in_markdown": ("unusual", "headings, emphasis, a decimal comma, Windows line ends", {}, told(markdown)),
        "answers_rounded": (
            "unusual", "whole numbers", {},
            said(**{name: round(value) for name, value in right.items() if isinstance(value, float) and value > 25}),
        ),
        "answer_left_out": ("wrong", "ten answers", {"answers_are_complete": "'python_percent' is missing"},
                            {"answers.json": json.dumps(less)}),
        "null_without_a_reason": ("wrong", "nulls that nobody explains",
                                  {"answers_are_complete": "reason is empty"}, said(reason=None)),
        "zero_for_no_gpu": (
            "cheat", "the form of a GPU, with zeros, for a profile without one",
            {GPU: "holds no work of a GPU", DATA: "", WORK: "", CPU: ""},
            {"answers.json": json.dumps({**kept, **gpu})},
        ),
        "answers_made_up": (
            "cheat", "numbers that could be, of no profile at all",
            {GPU: "no accepted definition", DATA: "", WORK: "", CPU: ""},
            said(operators_percent=55.0, data_wait_percent=20.0, small_operators_percent=30.0, host_busy_percent=40.0),
        ),
        "loading_counted_as_work": (
            "wrong", "operators and loading together, as the share of operators", {ANALYSIS: "share of operators"},
            told(report(f"Operators: {ran + waited:.1f} %", 100 - ran - waited, *faults())),
        ),
        "potential_out_of_the_air": ("wrong", "more than all that is not work", {ANALYSIS: "the potential must lie between"},
                                     told(report(share, 99, *faults()))),
        "report_without_numbers": (
            "wrong", "words alone", {ANALYSIS: "there is no line", "names_planted_faults": "there is no line"},
            told("The loader is slow, the batches are small, and there are too many waits.\n"),
        ),
        "names_every_line": (
            "cheat", "each bottleneck is the whole script", {"names_planted_faults": "at most 6 may be named"},
            told(report(share, waited, *[f"lines {n}-{n + 19}: slow" for n in (30, 50, 70)])),
        ),
        "names_innocent_lines": (
            "wrong", "the forward pass as a bottleneck", {"names_planted_faults": "which wastes no time"},
            told(report(share, waited, faults()[0], f"line {line('model(images)')}: the network", faults()[2])),
        ),
        "names_one_fault_thrice": (
            "wrong", "three lines of one fault", {"names_planted_faults": "1 fault named (one process loads); 3 different"},
            told(report(share, waited, f"line {loader}: no workers", f"line {line('return DataLoader')}: the loader",
                        f"line {line('spanned(loader)')}: its wait")),
        ),
        "starts_with_a_small_one": (
            "wrong", "the waits for a GPU first, where the loader costs most",
            {"starts_with_the_largest": "data loading costs more"},
            told(report(share, waited, f"line {sync}: waits", faults()[0], faults()[2])),
        ),
    }  # fmt: skip


def before_and_after() -> dict[str, tuple[str, str, dict[str, str], dict[str, Any]]]:
    """Return what is handed in of part 2 beside the reference's code."""
    before, after = of_torch(wait=30_000), of_torch(seed=2, workers="MultiProcessing", wait=1_000)
    slower = of_torch(seed=2, workers="MultiProcessing", wait=60_000)
    header, first, *rows = (
        (REFERENCE / "dataloader_results.csv").read_text(encoding="utf-8").splitlines()
    )
    edited = f"{first.rpartition(',')[0].rpartition(',')[0]},99999.0,AMD EPYC"
    return {
        "loader_profiles_with_a_gpu": (
            "unusual", "recorded by torch.profiler with a GPU", {},
            {"before_profile.gz": before, "after_profile.gz": after},
        ),
        "loader_profile_without_workers": (
            "wrong", "the optimized training was given the script's loader",
            {"profiles_are_of_both": "after_profile.gz: its DataLoader has no workers"},
            {"after_profile.gz": of_torch(wait=1_000)},
        ),
        "loader_profile_of_another_network": (
            "cheat", "steps and ranges around a network of twenty convolutions, where waiting is little",
            {"profiles_are_of_both": "20 convolutions a step"},
            {"after_profile.gz": of_torch(convolutions=20, workers="MultiProcessing", wait=1_000)},
        ),
        "loader_waits_as_before": (
            "wrong", "workers that do not keep up", {"waits_less_for_data": "the workers do not keep up"},
            {"before_profile.gz": before, "after_profile.gz": slower},
        ),
        "loader_table_edited": (
            "cheat", "one throughput was made larger", {"csv_is_consistent": "but samples / seconds is"},
            {"dataloader_results.csv": "\n".join([header, edited, *rows]) + "\n"},
        ),
        "loader_optimum_of_the_recipe": (
            "wrong", "what the recipe says, without a look at the table",
            {"optimum_is_the_best_row": "samples/s, and BS="},
            {"dataloader_optimum.json": '{"batch_size": 32, "num_workers": 8, "pin_memory": true}\n'},
        ),
    }  # fmt: skip


def main() -> None:
    """Write each folder anew."""
    with tempfile.TemporaryDirectory() as folder:
        made = {
            name: ("part1_profile", it)
            for name, it in {**with_a_gpu(Path(folder)), **without_one()}.items()
        }
        made |= {name: ("part2_dataloader", it) for name, it in before_and_after().items()}
        for name, (part, (kind, about, fails, files)) in made.items():
            home = HOME / name
            home.mkdir(parents=True, exist_ok=True)
            said = {"about": about, "kind": kind, "part": part, "fails": fails}
            (home / "expect.yaml").write_text(
                yaml.safe_dump(said, sort_keys=False, width=120), encoding="utf-8"
            )
            for file, data in files.items():
                (home / file).write_bytes(data if isinstance(data, bytes) else data.encode())


if __name__ == "__main__":
    main()
