"""Part 4: memory. Checkpointing that trains every weight, mixed precision, whole steps measured at four batch sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

from autograder.checks import memory, numerics, outputs, precision
from autograder.claims.epochs import TrainingLoop
from autograder.claims.precision import HalfPrecision
from autograder.claims.studies import WRITTEN, Study, written
from autograder.lab import (
    CELL,
    INTEGER,
    NUMBER,
    NUMBERS,
    TEXT,
    Device,
    Failed,
    Pair,
    Part,
    Passed,
    Tolerance,
    Verdict,
    list_of,
    map_of,
)
from autograder.labs.gpu_profiling.part4_memory import judges

part = Part(
    "part4_memory",
    writes=["MemoryEfficientNet", "train_with_amp", "measure_memory_and_speed", "benchmark_memory"],
    hands_in=["memory_results.csv", "part4_notes.md"],
    tables=[judges.RESULTS],
)

BATCH, SIDE = 6, 32  # samples, pixels: so many that shrink has something to average
MOMENTUM = 0.9
LARGE = {"width": 16, "batch": 64, "side": 128}  # so large that activations outweigh the process
BLOCKS = 'see "What a checkpoint does" in the part 4 handout'
WHERE = 'see "Where autocast goes" in the part 4 handout'
STEPS = 'see "What is measured" in the part 4 handout'
WRONG = 'see "What usually goes wrong" in the part 4 handout'


# --- what is run: checkpointing ---------------------------------------------------------------------------------------


@part.outputs
def network(student: Any, rig: Any) -> Any:
    """Two passes, backward after each, of images that need a gradient and of images that do not."""
    seen = rig.answers()
    for wants, mode in ((False, "train"), (True, "train"), (True, "eval")):
        simple = rig.matched.simple_net(rig.integer(2, 4))
        net = student.MemoryEfficientNet(simple).train(mode == "train")
        for turn in (1, 2):
            images = rig.tensor(rig.random.normal(size=(BATCH, 3, SIDE, SIDE))).requires_grad_(
                wants
            )
            output = net(images)
            case = f"pass {turn} in {mode}(), images {'with' if wants else 'without'} a gradient"
            seen.add(f"logits of {case}", output)
            output.backward(rig.tensor(rig.random.normal(size=tuple(output.shape))))
            for name, parameter in simple.named_parameters():
                seen.add(f"gradient of {name}, {case}", parameter.grad)
            if wants or images.grad is not None:
                seen.add(f"gradient of the images, {case}", images.grad)
    return seen.seen()


@part.probe(
    pair=True,
    values={"without": list_of(TEXT), "parameters": INTEGER},
    arrays={"start": ("float32", 1), "weights": ("float32", 1)},
)
def training(student: Any, rig: Any) -> Any:
    """Some steps of an optimizer that holds SimpleNet's own parameters."""
    simple = rig.matched.simple_net(3)
    window = rig.window([BATCH] * 4, model=simple, momentum=MOMENTUM, enlarged=4)
    start, without, net = window.weights(), set(), student.MemoryEfficientNet(simple)
    net.train()
    for images, labels in window.loader:
        window.optimizer.zero_grad()
        window.criterion(net(images), labels).backward()
        without |= {name for name, parameter in simple.named_parameters() if parameter.grad is None}
        window.optimizer.step()
    told = {"without": sorted(without), "parameters": len(list(simple.parameters()))}
    return {**told, "start": start, "weights": window.weights()}


def kept_inputs(width: int, batch: int, side: int) -> int:
    """Return the bytes of the inputs of the second and third block; the images are there anyway."""
    return 4 * batch * (width * (side // 2) ** 2 + 2 * width * (side // 4) ** 2)


@part.probe(pair=True, values={"saved": INTEGER, "inputs": INTEGER, "classified": INTEGER})
def kept(student: Any, rig: Any) -> Any:
    """What one forward pass keeps for the backward pass, and how often the classifier runs in both."""
    width, batch, side = 4, 4, 64
    simple = rig.matched.simple_net(width)
    images, net = (
        rig.tensor(rig.random.normal(size=(batch, 3, side, side))),
        student.MemoryEfficientNet(simple),
    )
    classified: list[int] = []
    simple.fc1.register_forward_hook(lambda *_: classified.append(1))
    with rig.saved(*simple.parameters(), images) as seen:
        logits = net(images)
    logits.sum().backward()
    return {
        "saved": seen.bytes,
        "inputs": kept_inputs(width, batch, side),
        "classified": len(classified),
    }


@part.probe(pair=True, arrays=NUMBERS)
def large_step(student: Any, rig: Any) -> Any:
    """One forward and backward pass; the first block keeps most, and comes back as a whole."""
    width, batch, side = LARGE.values()
    simple = rig.matched.simple_net(width)
    images = rig.tensor(rig.random.normal(size=(batch, 3, side, side)))
    net = student.MemoryEfficientNet(simple)
    rig.return_memory_at_once()
    net(images).square().mean().backward()
    return {"numbers": rig.flat([it.grad for it in simple.parameters() if it.grad is not None])}


@part.probe(pair=True)
def idle(student: Any, rig: Any) -> Any:
    """Small work: what a worker holds before anything is large."""
    student.MemoryEfficientNet(rig.matched.simple_net(2))(
        rig.tensor(rig.random.normal(size=(2, 3, SIDE, SIDE)))
    )
    return {}


# --- what is run: mixed precision -------------------------------------------------------------------------------------


def train(student: Any, window: Any) -> Any:
    """Call the student's training loop, with the scaler of the window."""
    arguments = (window.model, window.loader, window.criterion, window.optimizer, window.device)
    return {"losses": student.train_with_amp(*arguments, scaler=window.scaler)}


def train_alone(student: Any, window: Any) -> Any:
    """Call it without a scaler where none is needed: a CPU computes in bfloat16."""
    return train(student, replace(window, scaler=None) if window.device.type == "cpu" else window)


# --- what is run: measurements ----------------------------------------------------------------------------------------

ROWS = list_of(map_of(CELL))
WARM_UP = 2  # steps, at least
SMALLER = 64  # times is a loss, so that no scaler that begins high skips a step, whose seconds would be missed


def scripted(
    rig: Any,
    passed: dict[Any, list[float]],
    full: float,
    half: float,
    backward: float,
    cold: float,
    step: float,
) -> Any:
    """Return a make_training: a forward pass takes *full* or *half* seconds, a backward pass *backward*.

    The first forward pass takes *cold* seconds longer, and so do the first two backward passes. The
    optimizer takes *step* seconds, and as much again for each other size and precision that its model has seen.
    *passed* has, for each model, a sum of each batch that passed.
    """
    trainings, left = rig.trainings(full, half, cold, SMALLER), [cold, cold]

    def make_training(device: Any) -> Any:
        model, criterion, optimizer = trainings(device)
        kinds = set()

        def hook(module: Any, inputs: Any, output: Any) -> None:
            kinds.add((len(inputs[0]), output.dtype))
            passed.setdefault(module, []).append(float(inputs[0].double().sum()))
            if output.requires_grad:
                output.register_hook(
                    lambda _: rig.clock.advance(backward + (left.pop() if left else 0), busy=True)
                )

        model.register_forward_hook(hook)
        optimizer.register_step_post_hook(
            lambda *_: rig.clock.advance(step * len(kinds), busy=True)
        )
        return model, criterion, optimizer

    return make_training


@part.probe(
    pair=True,
    values={
        **WRITTEN,
        "nets": list_of(TEXT),
        "sizes": list_of(INTEGER),
        "saved": list_of(NUMBER),
        "script": list_of(map_of(NUMBER)),
        "steps": INTEGER,
        "batches": INTEGER,
        "models": INTEGER,
        "warm": INTEGER,
        "device": TEXT,
    },
)
def measured(student: Any, rig: Any) -> Any:
    """Nets whose passes take scripted seconds, the first one of each longer; what is kept is ours to know."""
    names, steps, sizes = (
        ["simple", "efficient"],  # not in the order of the alphabet
        rig.integer(4, 9),
        sorted({rig.integer(3, 9), rig.integer(10, 20)}),
    )
    script, passed = [], dict[Any, list[float]]()
    for _ in names:
        (full,), (faster,), (backward,) = (
            rig.seconds(0.2, 0.5, 1),
            rig.seconds(1.3, 2.5, 1),
            rig.seconds(0.5, 0.9, 1),
        )
        script.append(
            {
                "full": full,
                "half": full / faster,
                "backward": backward,
                "cold": 3.0,
                "step": full / 3,
            }
        )
    rig.clock.freeze()
    nets = {name: scripted(rig, passed, **own) for name, own in zip(names, script, strict=True)}
    options = {"image_size": 8, "classes": 4, "steps": steps}
    returned = student.benchmark_memory(
        nets, list(sizes), rig.device, folder=str(rig.made_folder()), **options
    )
    told = written(rig, judges.RESULTS, "benchmark_memory", returned)
    told["batches"] = max((len(set(batches[-steps:])) for batches in passed.values()), default=0)
    told["models"] = len(passed)
    told["warm"] = sum(len(batches) >= steps + WARM_UP for batches in passed.values())
    known = {
        "nets": names,
        "sizes": sizes,
        "script": script,
        "steps": steps,
        "saved": saved_by_size(rig, sizes),
    }
    return {**told, **known, "device": rig.text(rig.given("device_name")(rig.device))}


def saved_by_size(rig: Any, sizes: Any) -> list[float]:
    """Return the MB that are kept at each size, in FP32 and in half precision."""
    found: list[float] = []
    for size in sizes:
        images = rig.tensor(rig.random.normal(size=(size, 3, 8, 8)))
        look = partial(rig.given("saved_mb"), rig.window([2]).model, images)
        found += [look(), rig.autocast("bfloat16", look)]
    return found


# --- what is judged: checkpointing ------------------------------------------------------------------------------------

SAME = 1e-5  # of the largest number: the second run repeats the first
APART = 1e-4  # of the update's norm, after four steps
LEANER = 0.92  # of the peak. Measured: three blocks or smaller ones 0.90; all but the first 0.97, one or none 1.0
UNWANTED = "requires_grad_() changes the caller's images, and what it makes backward compute for them is for nobody"


def _unused(without: Sequence[str]) -> tuple[str, str]:
    """Say why weights have no gradient, and what to try: of these the classifier's never are a checkpoint's doing."""
    if any("fc" in name for name in without):
        return (
            "copies run in the place of the layers handed in",
            f"simple.conv1 and the others themselves; {BLOCKS}",
        )
    why = "the reentrant variant gives none to a block whose input needs none, and images need none; nor does no_grad()"
    return why, f"checkpoint(block, x, use_reentrant=False); {BLOCKS}"


@part.check(basis="outputs")
def gradients_match(network: Pair) -> Verdict:
    """MemoryEfficientNet gives SimpleNet's logits, and every weight of the SimpleNet its gradient."""
    try_ = f"checkpoint(block, x, use_reentrant=False); {BLOCKS}"
    asked = {case["case"] for case in network.baseline.values["cases"]}
    cases = network.student.values["cases"]
    for case in cases:
        if case["case"] not in asked:
            return Failed(case["case"], UNWANTED, try_)
        if case["dtype"] == "nothing":
            return Failed(
                f"no {case['case']}",
                *_unused([it["case"] for it in cases if it["dtype"] == "nothing"]),
            )
    why = {
        "logits": "another function than SimpleNet's",
        "gradient": "a block ran twice where it should run again",
    }
    return outputs.same(network, SAME, why=why, try_=try_)


@part.check(basis="outputs")
def every_weight_trains(training: Pair) -> Verdict:
    """Trained as a MemoryEfficientNet, every weight of the SimpleNet moves as it does without checkpoints."""
    without, count = training.student.values["without"], training.baseline.values["parameters"]
    if without:
        missing = f"{len(without)} of {count} weights have no gradient: {', '.join(without[:3])}"
        return Failed(missing, *_unused(without))
    why = "gradients or logits differ from SimpleNet's"
    try_ = f"the blocks in their order, then the classifier; {WRONG}"
    return numerics.same_update(training, APART, why=why, try_=try_)


@part.check(basis="report", needs=[gradients_match])
def keeps_only_the_inputs(kept: Pair) -> Verdict:
    """Little more than the inputs of the blocks is kept, and a quarter of the rest; the classifier runs once a step."""
    seen, known = kept.student.values["saved"], kept.baseline.values
    allowed = known["inputs"] + (known["saved"] - known["inputs"]) / 4
    found = f"{seen / 1e6:.3f} MB of {known['saved'] / 1e6:.3f} MB; allowed {allowed / 1e6:.3f} MB"
    if kept.student.values["classified"] > 1:
        why = "the classifier is checkpointed as well: it keeps little, and runs twice for it"
        return Failed(
            f"fc1 ran {kept.student.values['classified']} times in a step",
            why,
            f"three blocks; {BLOCKS}",
        )
    why = "a block keeps what is inside it, or none is checkpointed"
    return Passed(found) if seen <= allowed else Failed(found, why, f"all three blocks; {BLOCKS}")


@part.check(basis="outputs", needs=[gradients_match])
def needs_less_memory(large_step: Pair, idle: Pair) -> Verdict:
    """The peak of a large step is at most 92 % of SimpleNet's, measured from outside."""
    apart = outputs.furthest(
        large_step.student.arrays["numbers"], large_step.baseline.arrays["numbers"]
    )
    why = "blocks keep what is inside them, or one block is the whole network: running it again brings all back"
    return memory.leaner(large_step, idle, LEANER, apart, APART, why, f"three blocks; {BLOCKS}")


# --- what is judged: mixed precision ----------------------------------------------------------------------------------

# The bounds of the lab resnet18, part 3, which were measured with this very training: see its file.
FOLLOWS = Tolerance(losses=1.6e-3, weights=2.6e-4)


loop = TrainingLoop(part, "train_with_amp", train_alone)
follows_fp32 = loop.follows(
    "follows_fp32",
    FOLLOWS,
    says="Training with AMP follows the FP32 losses, batch by batch.",
    otherwise=lambda pair, within: (
        precision.why_apart(pair, within),
        "compare your loop step by step",
    ),
    see=WHERE,
)


half = HalfPrecision(part, train, WHERE, takes="train_with_amp")
half.rounds_as_autocast(needs=["follows_fp32"])
half.runs_where_it_helps(needs=["follows_fp32"])
half.uses_the_scaler_in_order()
half.skips_overflow()


# --- what is judged: measurements -------------------------------------------------------------------------------------


def _measured(measured: Pair, device: Device) -> str:
    seen, known = measured.student.values, measured.baseline.values
    rows = seen["rows"]
    wrong = judges.unit_problem(rows) or judges.figure_problem(
        rows, known, on_gpu=device.kind == "cuda"
    )
    if wrong:
        return wrong
    if seen["batches"] > 1:
        return (
            f"{known['steps']} timed steps had {seen['batches']} batches: making one is timed, too"
        )
    if seen["models"] < 2 * len(rows):
        return "saved_mb was measured on the model that is trained then: make another one, and throw it away"
    if seen["warm"] < len(rows):
        return "the warm-up trained another model than the one that is measured then"
    return ""


def _expected(known: Mapping[str, Any]) -> list[tuple[str, int, str]]:
    return list(product(known["nets"], known["sizes"], judges.PRECISIONS))


study = Study(part, judges.RESULTS, "benchmark_memory", by=measured, expected=_expected)
study.is_measured(
    "measures_training_steps",
    _measured,
    says="measure_memory_and_speed times complete steps after a warm-up, and says what is kept, in both precisions.",
    try_=STEPS,
    shows=["throughput"],
    reads=["device"],
)
study.is_written()


# --- what is judged: the files that are handed in ---------------------------------------------------------------------


study.is_consistent(
    lambda rows: (
        judges.unit_problem(rows)
        or judges.whole_problem(rows, ("SimpleNet", "MemoryEfficientNet"), 4)
    ),
    says="The memory_results.csv handed in has both nets at four batch sizes and precisions, with less kept by yours.",
)
