"""The claim that results are rounded as a lower precision rounds them: neither wrong nor too exact."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NotRequired, Unpack

from autograder.checks import rounding
from autograder.claims.claimed import SAME, Words
from autograder.claims.families import Sizes, every
from autograder.claims.same_results import GRADIENTS, SEEN, Results, left_alone
from autograder.lab import CASES, NUMBERS, list_of
from autograder.model import Failed, Pair, Verdict


class Between(Words):
    """What claims about rounding are told as well."""

    exact: NotRequired[str | tuple[str, str]]
    """Why an error is too small, and perhaps what to try."""
    coarse: NotRequired[str | tuple[str, str]]
    """The same of an error that is at most twice as large as it may be."""


class Rounds(Results):
    """error_between."""

    def error_between(
        self,
        low: float,
        high: float,
        cases: Mapping[str, Sizes] | None = None,
        *,
        of: str = "results",
        dtypes: Collection[str] = (),
        skip_families: Mapping[str, str] | None = None,
        **words: Unpack[Between],
    ) -> None:
        """Claim the relative error of results, or *of* "gradients", against the slow version in float64.

        It stands in for `same` and `same_gradients`: the same cases and families, and entries that have to fail.
        """
        skipped = skip_families or {}
        tried = every(self.sizes, dtypes, cases or {}, skipped, whole=self.has_whole_numbers)
        self.require_drawn("error_between", (case.sizes for case in tried))
        again = [case for case in tried if not case.again]
        gradients = of == "gradients"
        run = self._gradients(again, None, None) if gradients else self._results(tried, None, {})

        def judge(pair: Pair) -> Verdict:
            why, try_ = words["why"], words["try_"]
            left = left_alone(pair.student, try_)
            if isinstance(left, Failed):
                return left
            exact, coarse = words.get("exact", ""), words.get("coarse", "")
            return rounding.between(pair, low, high, why=why, exact=exact, coarse=coarse, try_=try_)

        claim = GRADIENTS if gradients else SAME
        probe = self.add_probe(
            self.named(of, words),
            run,
            pair=True,
            values={**CASES, **SEEN, "slips": list_of(CASES["cases"])},
            arrays=NUMBERS,
        )
        bounds = f"from {low:.0e} to {high:.0e}" if low else f"at most {high:.0e}"
        said = f"The {of} of {self.function} have an error {bounds}, measured against float64."
        self.add_check(claim, said, "outputs", judge, [probe], words, compared=of)
