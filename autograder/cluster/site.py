"""The site file: which cluster grades, and how many at a time.

Its options are those of Parsl's provider, by name.

provider: SlurmProvider         a class of parsl.providers
gpus: 2                         of a node, one submission on each; or
workers: 2                      submissions at a time on a node
options: {partition: gpu, max_blocks: 2, walltime: "04:00:00"}
executor: {address: login1}     optional, of Parsl's HighThroughputExecutor
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.errors import ReadError, UserError, nearest
from autograder.records import from_json

if TYPE_CHECKING:
    from parsl.config import Config
    from parsl.providers.base import ExecutionProvider

HEARTBEAT = {"heartbeat_period": 10, "heartbeat_threshold": 60}
"""Seconds; a node that is silent for longer is gone."""
LABEL = "nodes"
# Parsl's own relay of messages outlives a Parsl that was killed, and its pilots with it,
# unless it is tied to it.
TIED = (
    "import os; from autograder.machine.processes import die_with; "
    "die_with(os.getppid()); os.execlp('{0}', '{0}')"
)


@dataclass(frozen=True)
class Site:
    """What the file says."""

    provider: str
    workers: int = 0
    """Submissions at a time on one node."""
    gpus: int = 0
    """Of a node, each with a worker of its own."""
    options: Mapping[str, Any] = field(default_factory=dict)
    executor: Mapping[str, Any] = field(default_factory=dict)

    @property
    def per_node(self) -> int:
        """Submissions at a time on one node."""
        if bool(self.workers > 0) == bool(self.gpus > 0) or min(self.workers, self.gpus) < 0:
            each = "how many are graded at a time on a node"
            raise UserError(f"say either workers: N or gpus: N, {each}")
        return self.gpus or self.workers


def read(file: Path) -> Site:
    """Read a site file; what is wrong with it, and Parsl missing, is one line."""
    import yaml

    if find_spec("parsl") is None:
        raise UserError("grading on a cluster needs parsl: pip install 'perflab[cluster]'")
    try:
        return from_json(Site, yaml.safe_load(file.read_bytes()), str(file))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UserError(f"{file}: cannot be read: {' '.join(str(error).split())}") from None
    except ReadError as error:
        raise UserError(str(error)) from None


def config(site: Site, run_dir: Path) -> Config:
    """Say the same to Parsl: it tries nothing twice, and its files are below *run_dir*."""
    import parsl
    from parsl.executors import HighThroughputExecutor
    from parsl.jobs.error_handlers import windowed_error_handler

    values = {
        **HEARTBEAT,
        **site.executor,
        "provider": provider(site),
        "max_workers_per_node": site.per_node,
        "label": LABEL,
        "cores_per_worker": 1e-6,
        # Three pilots in a row that failed end it; one of many may.
        "block_error_handler": windowed_error_handler,
        "interchange_launch_cmd": [sys.executable, "-P", "-c", TIED.format("interchange.py")],
    }
    executor = _made(HighThroughputExecutor, values, "executor")
    return parsl.Config(executors=[executor], retries=0, run_dir=str(run_dir), strategy="simple")


def provider(site: Site) -> ExecutionProvider:
    """Make Parsl's provider.

    Nodes find this very environment first, unless worker_init says otherwise.
    """
    from parsl import launchers, providers

    options = dict(site.options)
    if "launcher" in options:
        options["launcher"] = _named(launchers, str(options["launcher"]), "launcher")()
    own = f"export PATH={Path(sys.executable).parent}{os.pathsep}$PATH"
    options["worker_init"] = "\n".join([own, str(options.get("worker_init", ""))])
    return _made(_named(providers, site.provider, "provider"), options, "options")


def slots(site: Site, of: ExecutionProvider) -> int:
    """Count the submissions that can be graded at a time when all nodes are there."""
    blocks: int = of.max_blocks * of.nodes_per_block
    return max(1, blocks * site.per_node)


def _named(module: Any, name: str, what: str) -> Any:
    if name not in module.__all__:
        raise UserError(f"{what}: Parsl has no '{name}'{nearest(name, module.__all__)}")
    return getattr(module, name)


def _made(kind: Callable[..., Any], options: Mapping[str, Any], where: str) -> Any:
    allowed = inspect.signature(kind).parameters
    for name in options:
        if name not in allowed:
            raise UserError(
                f"{where}: '{name}' is no option of Parsl's {kind.__name__}{nearest(name, allowed)}"
            )
    try:
        return kind(**options)
    except Exception as error:  # each provider has its own ways to refuse
        raise UserError(f"{where}: {kind.__name__}: {' '.join(str(error).split())}") from None
