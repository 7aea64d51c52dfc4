"""What probes of part 3 work with: launches of a trace, a network of a known number of operators."""

from __future__ import annotations

from autograder.worker import rig as worker
from autograder.worker.rigs.counters import Counter
from autograder.worker.rigs.launches import Launches
from autograder.worker.rigs.scripted import ScriptedNet


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    launches = Launches
    traffic = Counter

    def scripted_net(self, seconds: float, rows: int, operators: int, repeats: int) -> ScriptedNet:
        """Return a network of a known number of operators that takes these seconds for inputs of so many *rows*."""
        return ScriptedNet(self.scripted_call({rows: seconds}, {}, repeats), operators)
