"""Bounded answers without noise: what engines hand to the release, and nobody else may see.

Trust: kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.query.types import Type

__all__ = ["ARROW_TYPES", "MOST", "Integers", "Raw", "SparseLeaves"]

MOST: Final = 2**62
"""Answers are clamped to this size, so that noise can be added without a thought."""

Integers = NDArray[np.int64]
SparseLeaves = tuple[Integers, Integers, Integers]
"""The leaves that are not empty: the number of the group, the leaf, and its rows."""

ARROW_TYPES: Final[dict[Type, pa.DataType]] = {
    Type.INTEGER: pa.int64(),
    Type.TEXT: pa.string(),
    Type.BOOLEAN: pa.bool_(),
    Type.DATE: pa.date32(),
    Type.TIMESTAMP: pa.timestamp("us"),
}
"""How the columns of keys are stored."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Raw:
    """Bounded answers without noise, one for each group that some kept unit touches.

    ``keys`` are Arrow arrays, one for each key.  Groups are sorted by their keys, NULL first, or
    stand in the order of the public groups; so nothing tells how the data is stored.

    >>> one = np.array([1])
    >>> Raw(keys=(), units=one, totals={"visits": one}, leaves={})
    Raw(hidden)
    """

    keys: tuple[pa.Array, ...]
    units: Integers
    totals: Mapping[str, Integers]
    leaves: Mapping[str, SparseLeaves]

    def __repr__(self) -> str:
        """Show nothing: these numbers are not protected by anything yet."""
        return "Raw(hidden)"
