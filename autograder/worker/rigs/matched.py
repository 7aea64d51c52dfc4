"""Networks whose weights are drawn, and what becomes of a run that fails."""

from __future__ import annotations

from typing import Any

from torch import nn

WIDTH = 2  # channels


class Matched:
    """`rig.matched`."""

    def __init__(self, rig: Any) -> None:
        """Draw from the rig, and write into its folder."""
        self._rig = rig

    def simple_net(self, width: int = WIDTH, *, even: bool = False) -> Any:
        """Return a SimpleNet whose weights are drawn; both sides draw the same.

        In an *even* one each block has four times the channels of the one before, so that all three are equally large.
        """
        net = self._rig.given("SimpleNet")(width)
        if even:
            net.conv2 = nn.Conv2d(width, 4 * width, 3, padding=1)
            net.conv3 = nn.Conv2d(4 * width, 16 * width, 3, padding=1)
            net.fc1 = nn.Linear(16 * width * 16, net.fc1.out_features)
        weights = {}
        for name, tensor in net.state_dict().items():
            numbers = self._rig.random.normal(size=tuple(tensor.shape), scale=0.1)
            weights[name] = self._rig.tensor(numbers)
        net.load_state_dict(weights)
        return net.to(self._rig.device)

    def hopeless(self, run_version: Any, path: str) -> str:
        """Say what becomes of a run that fails."""
        try:
            returned = run_version([path, "--hopeless"])
            return f"no error, and returned {self._rig.text(returned, 300)}"
        except (Exception, SystemExit) as error:
            own = isinstance(error, RuntimeError)
            kind = "RuntimeError" if own else type(error).__name__
            return f"{kind}: {self._rig.text(error, 3000)}"[:4000]
