"""Public groups as tables, for statements that keep their rows and no others.

Trust: kernel.

Groups that are listed are one table: their keys p0, p1, ..., and their place in the order.  Of a
product, which may be far larger than any table, there is one table of values for each key.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from discreet.engines.sql.bounding import PUBLIC, values_of
from discreet.plan.arrow_arrays import arrow_numbers, arrow_values
from discreet.plan.lowered import Lowered
from discreet.plan.raw import ARROW_TYPES

__all__ = ["public_tables"]


def public_tables(lowered: Lowered) -> dict[str, pa.Table]:
    """Return the tables that the statements of a question name.

    >>> from discreet.plan.lowered import Key
    >>> from discreet.plan.product import Product
    >>> from discreet.query.expressions import Column
    >>> from discreet.query.relations import Scan
    >>> from discreet.query.types import Type
    >>> keys = tuple(Key(name, Column(name), Type.INTEGER) for name in "ab")
    >>> lowered = Lowered(relation=Scan("t", (("a", Type.INTEGER), ("b", Type.INTEGER))), unit=(),
    ...                   keys=keys, groups=None, public=Product(((1, 2), (7,))), measures=())
    >>> {name: table.to_pydict() for name, table in public_tables(lowered).items()}
    {'"public values 0"': {'p0': [1, 2]}, '"public values 1"': {'p1': [7]}}
    """
    kinds = [ARROW_TYPES[key.type] for key in lowered.keys]
    if lowered.product is not None:
        return {
            values_of(at): pa.table({f"p{at}": arrow_values(values, kinds[at])})
            for at, values in enumerate(lowered.product.lists)
        }
    if lowered.listed is None:
        return {}
    columns = {
        f"p{at}": arrow_values([group[at] for group in lowered.listed], kind)
        for at, kind in enumerate(kinds)
    }
    position = arrow_numbers(np.arange(len(lowered.listed), dtype=np.int64), pa.int64())
    return {PUBLIC: pa.table({**columns, "position": position})}
