"""Joint tables of several attributes, and their marginals.

Trust: public.

Definition.  The values of several attributes of a person are one value of their product, reported
at the full epsilon; its code counts the last attribute fastest.  A marginal adds up estimated
shares, with normal intervals (see ``weighted_sums``).
For marginals alone, ``Record`` needs fewer reports: each person reports one attribute.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UnknownName, WrongKind
from discreet.local.analysis.estimates import Estimates, miss_chance
from discreet.local.analysis.intervals import Integers, Target
from discreet.local.analysis.share_table import ShareTable
from discreet.local.analysis.weighted_sums import normal_reach, sum_variance
from discreet.local.randomizers.oracle import FrequencyOracle
from discreet.local.randomizers.randomizer import checked_codes
from discreet.notebook import Shown


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JointTable(Shown):
    """The shares of all combinations of attributes.

    >>> from discreet.local import Direct
    >>> attributes = {"smoker": ("no", "yes"), "ward": ("A", "B")}
    >>> oracle = Direct(epsilon=2, values=4)
    >>> people = np.array([600, 150, 150, 100])  # whose reports these might be
    >>> joint = JointTable.of(oracle, people, people=1000, attributes=attributes)
    >>> [(row.value, round(row.share, 2)) for row in joint.marginal("smoker")]
    [('no', 0.91), ('yes', 0.09)]
    """

    attributes: tuple[tuple[str, tuple[Hashable, ...]], ...]
    estimates: Estimates

    @classmethod
    def of(
        cls,
        oracle: FrequencyOracle,
        tally: Integers,
        *,
        people: int,
        attributes: Mapping[str, Sequence[Hashable]],
    ) -> JointTable:
        """Read the tally of an oracle on the product of all attributes' values."""
        named = tuple((name, tuple(values)) for name, values in attributes.items())
        combinations = tuple(itertools.product(*(values for _, values in named)))
        if len(combinations) != oracle.values:
            raise WrongKind(
                what="the oracle has another number of values than there are combinations.",
                why="each combination of attributes is one value.",
                do="give an oracle with the product of the attributes' sizes as its values.",
            )
        estimates = Estimates.of(oracle, tally, people=people, values=combinations)
        return cls(attributes=named, estimates=estimates)

    @staticmethod
    def codes(
        columns: Sequence[NDArray[np.integer[Any]]], sizes: Sequence[int]
    ) -> NDArray[np.int64]:
        """Return the code of each person's combination, from the codes of the attributes.

        >>> JointTable.codes([np.array([0, 1]), np.array([2, 0])], [2, 3]).tolist()
        [2, 3]
        """
        joined = np.zeros(len(columns[0]), np.int64)
        for column, size in zip(columns, sizes, strict=True):
            joined = joined * size + checked_codes(column, size)
        return joined

    def table(self, **options: Any) -> ShareTable:
        """Return all combinations, as ``Estimates.table`` does."""
        return self.estimates.table(**options)

    def marginal(
        self, name: str, *, confidence: object = "0.95", target: Target = "population"
    ) -> ShareTable:
        """Return the shares of one attribute's values."""
        names = [attribute for attribute, _ in self.attributes]
        if name not in names:
            raise UnknownName(
                what="there is no attribute of this name.",
                why="a marginal adds up all others.",
                do=f"use one of: {', '.join(names)}.",
            )
        place = names.index(name)
        values = self.attributes[place][1]
        shape = [len(each) for _, each in self.attributes]
        belongs = np.moveaxis(np.arange(math.prod(shape)).reshape(shape), place, 0)
        shares, reach = self.estimates.shares, normal_reach(confidence)
        sums, spans = [], []
        for cells in belongs.reshape(len(values), -1):
            weights = np.zeros(len(shares))
            weights[cells] = 1
            variance = sum_variance(weights, shares, self.estimates.coins, target)
            sums.append(float(shares[cells].sum()))
            spans.append(reach * math.sqrt(variance / self.estimates.people))
        total, span = np.array(sums), np.array(spans)
        return ShareTable(
            values=values,
            shares=total,
            low=np.clip(total - span, 0, 1),
            high=np.clip(total + span, 0, 1),
            people=self.estimates.people,
            confidence=1 - miss_chance(confidence),
            consistent="raw",
            hostile=0,
            target=target,
            bars="each",
        )

    def __str__(self) -> str:
        return str(self.table())
