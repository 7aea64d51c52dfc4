"""What becomes of a submission next, by the outcomes of all attempts at it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

MOST_TRIES = 3  # of what is owed again
MOST_LOST = 2  # graders that one submission may take down
MOST_CUT_OFF = 5  # times that the whole grader may be gone under it: mostly no doing of its own
Standing = Literal["new", "timing", "again", "settled", "person", "aside"]


@dataclass(frozen=True)
class History:
    """What became of the attempts at one submission under the same circumstances."""

    outcomes: tuple[str, ...] = ()
    """`cut off` where there is no end."""
    result_sha256: str = ""
    """Of the latest result."""

    @property
    def tries(self) -> int:
        """Attempts that left something undecided."""
        return self.outcomes.count("again")

    @property
    def standing(self) -> Standing:
        """Say what is next."""
        if (
            self.outcomes.count("lost") >= MOST_LOST
            or self.outcomes.count("cut off") >= MOST_CUT_OFF
        ):
            return "aside"
        judged = [outcome for outcome in self.outcomes if outcome in ("graded", "timing", "again")]
        match judged[-1:]:
            case ["graded"]:
                return "settled"
            case ["again"]:
                return "again" if self.tries < MOST_TRIES else "person"
            case ["timing"]:
                return "timing"
        return "new"
