"""What the grader hangs on a student's model: it goes along with copies, and whoever pickles the model loses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self


class Hook:
    """A hook that can be pickled, whatever it rests on."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self.call = call

    def __call__(self, *arguments: Any) -> Any:
        return self.call(*arguments)

    def __deepcopy__(self, _: Any) -> Self:
        """Stay the one hook, as a function would."""
        return self

    def __reduce__(self) -> Any:
        """Be pickled as a hook that does nothing: the file outlives the probe."""
        return _silent, ()


def _silent() -> Callable[..., None]:
    return _nothing


def _nothing(*_: Any) -> None: ...
