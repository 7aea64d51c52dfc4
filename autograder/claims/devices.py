"""The claim that a call stays where its inputs are. Device `meta` stands in for a GPU on any machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Unpack

from autograder.checks.hints import reason
from autograder.claims.claimed import Claimed, Words, described
from autograder.claims.families import Case, Sizes
from autograder.claims.graphs import WAITS
from autograder.lab import INTEGER, TEXT, list_of
from autograder.model import Failed, Observation, Passed, Verdict

STAYS = "stays_on_the_device"
NEEDS_VALUE = f"the host asks for a value: on a GPU, {WAITS}"
REASONS = {
    "expected device": "a tensor is on the CPU, and the inputs are on another device",
    "same device": "a tensor is on the CPU, and the inputs are on another device",
    "nonzero": f"a mask as an index asks how many are True: on a GPU, {WAITS}",
    "meta": NEEDS_VALUE,
    "": "the call works on the CPU only",
}
"""Words of what is raised on device meta -> the cause."""
Elsewhere = Callable[[Any, Mapping[str, Any], Any, Any], Any]
"""Of what was written, the inputs on the CPU, a device and the rig: one call that has its result on the device."""


class Devices(Claimed):
    """stays_on_the_device."""

    def stays_on_the_device(
        self,
        sizes: Sizes | None = None,
        *,
        call: Elsewhere | None = None,
        bytes: int | None = None,  # noqa: A002
        **words: Unpack[Words],
    ) -> None:
        """Claim that a call whose inputs are on a device needs no value on the host and returns what is there.

        A *call* of its own may leave inputs on the CPU. At most so many *bytes* may cross to the device.
        """
        run, fixed = call or self._there, sizes or {}
        self.require_drawn(STAYS, [fixed])

        def on_meta(student: Any, rig: Any) -> dict[str, Any]:
            given = self.given(rig, Case("elsewhere", fixed), exact=False)
            written = getattr(student, self.function)
            if not call:
                given = {name: _to(it, "meta") for name, it in given.items()}
            answer: dict[str, Any] = rig.on_meta(
                student, lambda device: run(written, given, device, rig)
            )
            return answer

        def judge(observation: Observation) -> Verdict:
            values = observation.values
            crossed = f"{values['bytes']:,} bytes crossed to the device"
            if bytes is not None and values["bytes"] > bytes:
                measured = f"{crossed} for {described(fixed)}; expected at most {bytes:,}"
                return Failed(measured, words["why"], words["try_"])
            if values["raised"]:
                return Failed(values["raised"], reason(REASONS, values["raised"]), words["try_"])
            if values["places"] != ["meta"]:
                measured = f"the result is on {' and '.join(values['places']) or 'no device'}"
                return Failed(
                    f"{measured}; expected the device of the inputs", NEEDS_VALUE, words["try_"]
                )
            return Passed("it returns where its inputs are" if bytes is None else crossed)

        answer = {"raised": TEXT, "places": list_of(TEXT), "bytes": INTEGER}
        probe = self.add_probe(self.named("on_meta"), on_meta, values=answer)
        said = f"{self.function} stays on the device of its inputs."
        self.add_check(
            STAYS,
            said,
            "report",
            judge,
            [probe],
            words,
            structural=True,
            own_why=bytes is None,
        )

    def _there(self, written: Any, given: Mapping[str, Any], _device: Any, _rig: Any) -> Any:
        """Use it with inputs that are on the device."""
        return self._use(written, given)


def _to(value: Any, device: Any) -> Any:
    return value.to(device) if hasattr(value, "to") else value
