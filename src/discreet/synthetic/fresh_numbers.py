"""Columns that name the unit, as new numbers.

Trust: public.  A row of a synthetic table is nobody, so each row has a number of its own.
"""

from __future__ import annotations

import pyarrow as pa

from discreet.query.types import Type
from discreet.requests.raw_totals import ARROW_TYPES
from discreet.synthetic.domain import Domain


def with_fresh_columns(table: pa.Table, domain: Domain) -> pa.Table:
    """Return a table with the columns that name the unit before all others, numbered from 1.

    >>> ids = with_fresh_columns(pa.table({"ward": ["A", "B"]}), Domain((), (("patient", Type.TEXT),)))
    >>> ids.column("patient").to_pylist(), ids.column_names
    (['1', '2'], ['patient', 'ward'])
    """
    numbers = pa.array(range(1, table.num_rows + 1), pa.int64())
    for name, kind in reversed(domain.fresh):
        table = table.add_column(0, name, numbers.cast(ARROW_TYPES[kind]))
    return table
