"""The order of groups.

Trust: public.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from discreet.plan.arrow_arrays import arrow_numbers, numbers
from discreet.plan.raw import Integers

__all__ = ["Sorted", "order_of"]

Sorted = tuple[pa.Array, bool, bool]
"""What to sort by, whether from the largest on, and whether NULL comes first."""

_FEW: Final = 256


def order_of(items: Sequence[Sorted], size: int) -> Integers:
    """Return the places of groups in their order; ties keep the order that they have.

    >>> wards = pa.array(["b", None, "a"])
    >>> order_of([(wards, False, True)], 3).tolist()
    [1, 2, 0]
    """
    return _few(items, size) if size <= _FEW else _many(items, size)


def _few(items: Sequence[Sorted], size: int) -> Integers:
    """Sort Python's values, by the last item first; every sort keeps the order of equals."""
    places = list(range(size))
    for values, descending, nulls_first in reversed(items):
        listed = values.to_pylist()
        missing = [place for place in places if listed[place] is None]
        there = [place for place in places if listed[place] is not None]
        there.sort(key=listed.__getitem__, reverse=descending)
        places = missing + there if nulls_first else there + missing
    return np.array(places, np.int64)


def _many(items: Sequence[Sorted], size: int) -> Integers:
    """Sort columns, with what is NULL as a column of its own before each."""
    import pyarrow.compute as pc  # noqa: PLC0415  takes its time, and few answers need it

    columns: dict[str, pa.Array] = {}
    keys: list[tuple[str, str]] = []
    for at, (values, descending, nulls_first) in enumerate(items):
        missing = values.is_null()
        if pa.types.is_boolean(values.type):
            values = values.cast(pa.int8())  # noqa: PLW2901 (truth is sorted as 0 and 1)
        columns[f"null {at}"] = missing.cast(pa.int8())
        keys.append((f"null {at}", "descending" if nulls_first else "ascending"))
        if not pa.types.is_null(values.type):
            columns[f"value {at}"] = values
            keys.append((f"value {at}", "descending" if descending else "ascending"))
    columns["place"] = arrow_numbers(np.arange(size), pa.int64())
    keys.append(("place", "ascending"))
    return numbers(pc.sort_indices(pa.table(columns), sort_keys=keys)).astype(np.int64)
