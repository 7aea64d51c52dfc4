"""What probes of part 3 work with: launches of a trace, a network of a known number of operators."""

from __future__ import annotations

from autograder.labs.gpu_profiling.part3_kernels.rig import launches
from autograder.labs.gpu_profiling.part3_kernels.rig.nets import ScriptedNet, without_relus
from autograder.labs.gpu_profiling.part3_kernels.rig.reports import Report
from autograder.worker import rig as worker
from autograder.worker.rigs.counters import Counter


class Launches:
    """`rig.launches`."""

    eager = staticmethod(launches.eager)
    compiled = staticmethod(launches.compiled)
    on_gpu = staticmethod(launches.on_gpu)
    report = staticmethod(Report)
    UNITS, OLD_UNITS = ("us", "ms"), ("nsecond", "msecond")


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    launches = Launches
    traffic = Counter

    without_relus = staticmethod(without_relus)

    def scripted_net(self, seconds: float, rows: int, operators: int, repeats: int) -> ScriptedNet:
        """Return a network of a known number of operators that takes these seconds for inputs of so many *rows*."""
        return ScriptedNet(self.scripted_call({rows: seconds}, {}, repeats), operators)
