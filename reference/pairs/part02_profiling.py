# %% [markdown]
# # Part 2: what a profile says
#
# A profile answers three questions: which operators take the time, how much memory is needed at one moment, and which
# module the time belongs to. Each answer has a trap. The first steps are slow and must not be recorded. Operators do
# not all hold their memory at the same time, so the sum of their bytes is not the peak. A profile knows nothing of
# modules unless you tell it their names.

# %%
from __future__ import annotations

import argparse
import json
from itertools import accumulate
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile, record_function, schedule

from given import TinyLM

# %% [markdown]
# ## 2.1 Some steps of many


# %%
def top_operators(averages, count: int) -> list[dict]:
    """Return rows of the operators with the most self time, the largest first, at most *count* of them.

    averages: what key_averages() of the profiler returned.

    A row is {"operator": "aten::mm", "calls": 12, "self_us": 345.6}. If torch.cuda.is_available(), use the
    GPU's time instead of the CPU's.
    """
    # TODO: only names that begin with aten:: are operators.
    ### BEGIN SOLUTION
    name = "self_device_time_total" if torch.cuda.is_available() else "self_cpu_time_total"
    rows = [
        {"operator": each.key, "calls": each.count, "self_us": getattr(each, name)}
        for each in averages
        if each.key.startswith("aten::")
    ]
    return sorted(rows, key=lambda row: row["self_us"], reverse=True)[:count]
    ### END SOLUTION


def profile_steps(step, batches, folder: str, active: int = 3) -> list[dict]:
    """Call step(batch) once for each batch, in order, and record *active* of these calls; return the top ten operators.

    The profiler ignores the first call, warms up in the second, records the next *active*, and ignores the rest.
    There are enough batches for that. Record shapes and memory, and write step_trace.json into *folder*. There the
    third call is called ProfilerStep#2, the fourth ProfilerStep#3.
    """
    # TODO: a schedule without repeat=1 begins again, and writes the file again.
    ### BEGIN SOLUTION
    with profile(
        activities=activities(),
        schedule=schedule(wait=1, warmup=1, active=active, repeat=1),
        on_trace_ready=lambda done: done.export_chrome_trace(str(Path(folder) / "step_trace.json")),
        record_shapes=True,
        profile_memory=True,
    ) as recorded:
        for batch in batches:
            step(batch)
            recorded.step()
    return top_operators(recorded.key_averages(), 10)
    ### END SOLUTION


def activities() -> list[ProfilerActivity]:
    """Return what can be recorded here: the CPU, and the GPU where there is one."""
    return [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * torch.cuda.is_available()


# %% [markdown]
# ## 2.2 How much memory at one moment


# %%
def profile_memory(model: nn.Module, inputs: Tensor, folder: str) -> dict:
    """Profile model(inputs).float().square().mean().backward(), in one expression; return {"peak_bytes", "rows"}.

    peak_bytes: the most bytes that were allocated at one time since the recording began. rows: the ten operators with
    the largest self_bytes, the largest first: {"operator": "aten::mm", "self_bytes": 4096}. self_bytes is
    self_cpu_memory_usage, or self_device_memory_usage if torch.cuda.is_available(): bytes allocated minus bytes freed.
    No parameter has a gradient when this is called. You may write files into *folder*.
    """
    # TODO: the trace has an event "[memory]" for each change; args["Bytes"] is negative where memory is freed,
    # TODO: and args["Device Type"] is 0 for the CPU and 1 for a GPU.
    ### BEGIN SOLUTION
    with profile(activities=activities(), profile_memory=True) as recorded:
        model(inputs).float().square().mean().backward()
    trace = Path(folder) / "memory_trace.json"
    recorded.export_chrome_trace(str(trace))
    on_gpu = torch.cuda.is_available()
    events = json.loads(trace.read_text())["traceEvents"]
    changes = [each for each in events if each["name"] == "[memory]" and each["args"]["Device Type"] == on_gpu]
    changes.sort(key=lambda event: event["ts"])
    kind = "self_device_memory_usage" if on_gpu else "self_cpu_memory_usage"
    rows = [
        {"operator": each.key, "self_bytes": getattr(each, kind)}
        for each in recorded.key_averages()
        if each.key.startswith("aten::")
    ]
    rows.sort(key=lambda row: row["self_bytes"], reverse=True)
    return {"peak_bytes": max(accumulate(each["args"]["Bytes"] for each in changes)), "rows": rows[:10]}
    ### END SOLUTION


# %% [markdown]
# ## 2.3 Which module the time belongs to


# %%
def profile_model(model: nn.Module, input_ids: Tensor, folder: str) -> list[dict]:
    """Take two whole steps to warm up and profile one; return its top twenty operators.

    A step is model.zero_grad(), model(input_ids, labels=input_ids).loss and its backward(). In the third one there are
    ranges "forward" and "backward", one after the other, and inside "forward" one for each call of a submodule, named
    as in model.named_modules(). Writes model_trace.json into *folder*. Leaves no hook of its own on the model, also
    when the model raises an exception, and removes none of the caller's. The model stays in its mode.
    """
    # TODO: a forward pre-hook enters record_function(name), a forward hook leaves it.
    # TODO: a forward hook with always_call=True is called after an exception, too.
    ### BEGIN SOLUTION
    handles, ranges = [], []

    def enter(name: str):
        def hook(*_):
            ranges.append(record_function(name))
            ranges[-1].__enter__()

        return hook

    def leave(*_):
        ranges.pop().__exit__(None, None, None)

    def step():
        model.zero_grad()
        with record_function("forward"):
            loss = model(input_ids, labels=input_ids).loss
        with record_function("backward"):
            loss.backward()

    step()
    step()
    try:
        for name, module in model.named_modules():
            if name:
                handles.append(module.register_forward_pre_hook(enter(name)))
                handles.append(module.register_forward_hook(leave, always_call=True))
        with profile(activities=activities(), record_shapes=True) as recorded:
            step()
    finally:
        for handle in handles:
            handle.remove()
    recorded.export_chrome_trace(str(Path(folder) / "model_trace.json"))
    return top_operators(recorded.key_averages(), 20)
    ### END SOLUTION


# %% [markdown]
# ## 2.4 Three profiles


# %%
def language_model(llama: bool):
    """Return a small language model: TinyLM, or LLaMA's network with random weights (needs transformers)."""
    torch.manual_seed(0)
    if not llama:
        return TinyLM(vocabulary=1000, width=128, blocks=4, heads=4)
    try:
        # No check calls this, so the rule about imports does not apply.
        from transformers import AutoModelForCausalLM, LlamaConfig
    except ModuleNotFoundError:
        raise SystemExit("--llama needs transformers: pip install transformers") from None

    sizes = {"hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4}
    return AutoModelForCausalLM.from_config(LlamaConfig(vocab_size=1000, **sizes))


def show(title: str, rows: list[dict]) -> None:
    """Print the first five rows of a table."""
    print(title)
    for operator, *numbers in (row.values() for row in rows[:5]):
        print(f"    {operator:32}", *(f"{number:12,.0f}" for number in numbers))


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("--llama", action="store_true", help="profile LLaMA's network of transformers")
    net = language_model(options.parse_args().llama)
    tokens = torch.randint(1000, (4, 64))
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)

    def train(batch):
        sgd.zero_grad()
        net(batch, labels=batch).loss.backward()
        sgd.step()

    show("three steps", profile_steps(train, [tokens] * 9, "."))
    mlp = nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.LayerNorm(1024), nn.Linear(1024, 256))
    memory = profile_memory(mlp, torch.randn(64, 256), ".")
    show(f"a peak of {memory['peak_bytes']:,} bytes", memory["rows"])
    show("one step (its modules are in model_trace.json)", profile_model(net, tokens, "."))
