"""What the probes of part 2 work with: steps, models, ranges that stay open; and trusted profiles, and traces."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor, nn
from torch.autograd.profiler import profile, record_function

from autograder.labs.pairs.part02_profiling.rig.trusted import Trusted, forget, squares, step
from autograder.labs.pairs.part02_profiling.rig.written import FEATURES, WIDTH, Written
from autograder.worker import rig as worker
from autograder.worker.rigs.hooks import Hook
from autograder.worker.rigs.returned import flat


class Steps:
    """A training in steps; each batch has its own number of rows."""

    def __init__(self, rig: Rig, count: int) -> None:
        """Draw everything."""
        first = rig.integer(20, 40)
        self.sizes = [first + 3 * at for at in range(count)]
        self.net = nn.Sequential(nn.Linear(FEATURES, WIDTH), nn.Tanh(), nn.Linear(WIDTH, 5))
        rig.draw(self.net)
        self.batches = [rig.tensor(rig.random.normal(size=(n, FEATURES))) for n in self.sizes]
        self.taken: list[int] = []
        self._optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1, momentum=0.9)

    def step(self, batch: Tensor) -> None:
        """Train."""
        self.taken.append(len(batch))
        self._optimizer.zero_grad()
        torch.softmax(self.net(batch), dim=1).square().mean().backward()
        self._optimizer.step()

    def weights(self) -> Tensor:
        """Return all parameters, flat."""
        return torch.from_numpy(flat(list(self.net.parameters())))

    @contextlib.contextmanager
    def watching(self) -> Iterator[list[int]]:
        """Note how many batches were taken whenever a profiler gets ready: before it warms up, or records."""
        taken = list[int]()
        prepare: Any = profile._prepare_trace

        def prepared(own: Any) -> Any:
            taken.append(len(self.taken))
            return prepare(own)

        with patch.object(profile, "_prepare_trace", prepared):
            yield taken


class Logits(nn.Module):
    """A language model that returns its logits alone."""

    def __init__(self, model: nn.Module) -> None:
        """Keep it."""
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor) -> Any:
        """Return (batch, n, vocabulary)."""
        return self.model(ids).logits


class Broken(nn.Module):
    """Raises an exception in one of its calls."""

    def __init__(self, inner: nn.Module, call: int) -> None:
        """Count down to that call."""
        super().__init__()
        self.inner = inner
        self.left = call

    def forward(self, *given: Any) -> Any:
        """Call what it stands for."""
        self.left -= 1
        if not self.left:
            raise ArithmeticError("this call does not work")
        return self.inner(*given)


@contextlib.contextmanager
def open_ranges() -> Iterator[Counter[str]]:
    """Count the ranges that are entered, by whomever, and not left."""
    count = Counter[str]()
    kind: Any = record_function
    enter, leave = kind.__enter__, kind.__exit__

    def entered(own: Any) -> Any:
        count["open"] += 1
        return enter(own)

    def left(own: Any, *error: Any) -> Any:
        count["open"] -= 1
        return leave(own, *error)

    with patch.multiple(kind, __enter__=entered, __exit__=left):
        yield count


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    written = Written

    @property
    def trusted(self) -> Trusted:
        """Profile as the grader does."""
        return Trusted(self.device)

    def draw(self, model: nn.Module) -> nn.Module:
        """Draw all parameters of a model."""
        with torch.no_grad():
            for it in model.to(self.device).parameters():
                drawn = self.random.normal(size=tuple(it.shape)) / it.shape[-1] ** 0.5
                it.copy_(self.tensor(drawn))
        return model

    def steps(self, count: int) -> Steps:
        """Return a training of so many steps."""
        return Steps(self, count)

    def language_model(self, blocks: int) -> tuple[nn.Module, Tensor]:
        """Return a small language model and tokens."""
        model = self.draw(self.given("TinyLM")(vocabulary=53, blocks=blocks))
        return model, self.tensor(self.random.integers(0, 53, (2, self.integer(9, 15))), "int64")

    def left_behind(self, profile_model: Callable[..., Any], call: int) -> dict[str, str]:
        """Profile a model that raises an exception in this call, or never; name what is left of it, by its kind."""
        model, ids = self.language_model(2)
        block: Any = model.blocks[1]  # type: ignore[index]
        block.mlp = broken = Broken(block.mlp, call)
        block.norm1.register_forward_hook(Hook(lambda *_: None))
        block.norm1.register_forward_pre_hook(Hook(lambda *_: None))
        hooks, raised = self.hooks_on(model), False
        model.train(call != 0)
        with open_ranges() as ranges:
            try:
                profile_model(model, ids, str(self.made_folder()))
            except ArithmeticError:
                raised = True
        mode = "eval" if call else "train"  # the other one
        after = self.hooks_on(model)
        kinds = {
            "hooks": _modules(after - hooks),
            "missing": _modules(hooks - after),
            "mode": mode * any(it.training == (mode == "train") for it in model.modules()),
            "open": str(ranges["open"] or ""),
            "on": "a profiler" * self.profiles.profiling(),
            "caught": "it" * (call > 0 >= broken.left and not raised),
        }
        return kinds | {"case": f" after an exception in step {call}" * bool(call)}

    def models(self) -> list[tuple[str, nn.Module, Tensor]]:
        """Return models that make one tensor of inputs; each has worked once, so nothing is made for the first time."""
        rows = self.integer(48, 80)
        mlp = nn.Sequential(
            nn.Linear(256, 1024), nn.GELU(), nn.LayerNorm(1024), nn.Linear(1024, 256)
        )
        inputs = self.tensor(self.random.normal(size=(rows, 256)))
        tiny, ids = self.language_model(2)
        late = nn.Sequential(
            nn.Linear(256, 2048), nn.Tanh(), nn.Linear(2048, 512)
        )  # of the backward pass
        made = [
            ("an MLP", self.draw(mlp), inputs),
            ("TinyLM", Logits(tiny), ids),
            ("an MLP with a late peak", self.draw(late), inputs),
        ]
        for _, model, given in made:
            squares(model, given, kept="", product=False)
            forget(model)
        return made

    @staticmethod
    def calls_of_modules(model: nn.Module, ids: Tensor) -> dict[str, int]:
        """Count how often each module is called in one step."""
        counts: Counter[str] = Counter()
        for name, layer in model.named_modules():
            if name:
                layer.register_forward_hook(Hook(lambda *_, name=name: counts.update([name])))
        step(model, ids)
        return dict(counts)

    @staticmethod
    def calls_counted(model: nn.Module) -> Counter[str]:
        """Return what counts the calls of a model, and the backward passes through it, from now on."""
        passes, forward = Counter(forward=0, backward=0), model.forward

        def counted(*given: Any, **named: Any) -> Any:
            passes["forward"] += 1
            return forward(*given, **named)

        model.forward = counted  # no hook: one may be removed
        first = next(model.parameters())
        first.register_post_accumulate_grad_hook(Hook(lambda _: passes.update(["backward"])))
        return passes

    @staticmethod
    def with_weights(model: nn.Module) -> list[str]:
        """Name the modules that have a weight of their own: each call of one runs an operator."""
        return [
            name for name, module in model.named_modules() if [*module.parameters(recurse=False)]
        ]

    @staticmethod
    def hooks_on(model: nn.Module) -> set[str]:
        """Name what each module has been given: hooks, which are numbered, or a forward of its own."""
        return {
            f"'{name[:200]}': {key}{number}"
            for name, module in model.named_modules()
            for key, value in vars(module).items()
            if "hooks" in key or key == "forward"
            for number in (value or () if "hooks" in key else [""])
        }


def _modules(hooks: set[str]) -> str:
    """Name the first few modules that these hooks are on."""
    return ", ".join(sorted({it.split(":")[0] for it in hooks})[:3])
