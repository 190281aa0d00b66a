"""The order of groups.

Trust: public.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.plan.raw import Integers

__all__ = ["Sorted", "order_of"]

Sorted = tuple[pa.Array, bool, bool]
"""What to sort by, whether from the largest on, and whether NULL comes first."""


def order_of(items: Sequence[Sorted], size: int) -> Integers:
    """Return the places of groups in their order; ties keep the order that they have.

    >>> wards = pa.array(["b", None, "a"])
    >>> order_of([(wards, False, True)], 3).tolist()
    [1, 2, 0]
    """
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
    columns["place"] = pa.array(np.arange(size))
    keys.append(("place", "ascending"))
    found: Integers = pc.sort_indices(pa.table(columns), sort_keys=keys).to_numpy()
    return found.astype(np.int64)
