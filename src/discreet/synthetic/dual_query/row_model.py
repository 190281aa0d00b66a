"""A model that is a list of rows: what DualQuery releases.

Trust: public.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from discreet.noise import Entropy
from discreet.synthetic.inference.apportionment import shuffled, systematic
from discreet.synthetic.inference.inference import Codes
from discreet.synthetic.inference.values import CodedDomain, code_type


@final
@dataclass(frozen=True, slots=True, eq=False)
class RowModel:
    """Equally likely rows of codes, times a number of rows.

    >>> model = RowModel(CodedDomain(("a",), (2,)), np.array([[0], [1], [1], [1]]), 100.0)
    >>> model.marginal((0,)).tolist()
    [25.0, 75.0]
    """

    domain: CodedDomain
    codes: NDArray[np.integer[Any]]
    total: float

    def marginal(self, columns: Sequence[int]) -> NDArray[np.float64]:
        """Return the expected counts of some columns."""
        chosen = self.domain.marginal(columns)
        shape = self.domain.shape(chosen)
        cells = np.zeros(len(self.codes), np.int64)
        for column, size in zip(chosen, shape, strict=True):
            cells = cells * size + self.codes[:, column]
        counts = np.bincount(cells, minlength=self.domain.size(chosen)).astype(np.float64)
        counts *= self.total / len(self.codes)
        return counts.reshape(shape)

    def rows(self, count: int, stream: Entropy) -> Codes:
        """Return every row about equally often, in random order."""
        often = systematic(np.ones(len(self.codes)), count, stream)
        repeated = np.repeat(self.codes, often, axis=0).astype(code_type(self.domain.sizes))
        return repeated[shuffled(count, stream)]
