"""The two roles of this room: an inference fits a model; a model answers marginals and makes rows.

Trust: public.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.noise import Entropy
from discreet.synthetic.inference.values import CodedDomain, ImpossibleCells, Measurement

Codes = NDArray[np.unsignedinteger[Any]]
"""A table of codes in the narrowest unsigned type, one row a person who does not exist."""


class Model(Protocol):
    """A law of rows, times a number of rows that was itself inferred from noisy counts."""

    @property
    def domain(self) -> CodedDomain:
        """The columns and their codes."""
        ...

    @property
    def total(self) -> float:
        """How many rows the model stands for: inferred, never a true count, at least 0."""
        ...

    def marginal(self, columns: Sequence[int]) -> NDArray[np.float64]:
        """Return the expected counts of some columns, in rising order of column numbers.

        The result has one axis for each column, and sums to ``total``.
        """
        ...

    def rows(self, count: int, stream: Entropy) -> Codes:
        """Return rows of codes (count x columns) that follow the model as closely as they can.

        The stream is public: it comes from the digest of a release, so the same release gives the
        same rows.  It hides nothing, and no privacy rests on it.
        """
        ...


class Inference(Protocol):
    """Fits a model to noisy marginals."""

    def fit(
        self,
        domain: CodedDomain,
        measurements: Sequence[Measurement],
        *,
        zeros: Sequence[ImpossibleCells] = (),
        start: Model | None = None,
    ) -> Model:
        """Return the model that explains the measurements best.

        Args:
            domain: The columns and their codes.
            measurements: Noisy marginals; the same marginal may come several times.
            zeros: Cells that get no mass.
            start: A model of fewer measurements of the same domain, to begin from.
        """
        ...
