"""Tables of shares are tables like all others: Arrow, pandas, Polars, and a picture."""

import numpy as np
import pytest

from discreet.local import Direct, Domain, Estimates, Form, Prefixes, Ranges
from tests.noise.laws import stream


def share_table():
    collector = Form.of(Domain(["flu", "cold", 3], other="else"), epsilon=2).collector()
    collector.add_many(collector.form.client().batch(["flu"] * 300 + ["cold"] * 100))
    return collector.estimates().table()


def cell_table():
    ages = Ranges(cells=8, epsilon=4)
    reports = ages.record.run_each(ages.codes(np.arange(8).repeat(100)), entropy=stream("cells"))
    return ages.estimates(ages.record.tally(reports)).table()


def hitters():
    plan = Prefixes(bits=24, epsilon=4, top=3, step=12, pool=1 << 12)
    words = plan.words(["cat"] * 900 + ["dog"] * 600)
    reports = plan.response.run_each(words, entropy=stream("words"))
    return plan.hitters(plan.response.tally(reports), texts=True)


@pytest.mark.parametrize(
    ("make", "name"), [(share_table, "value"), (cell_table, "value"), (hitters, "word")]
)
def test_shares_are_tables_like_all_others(make, name):
    made = make()
    rows = [tuple(row) for row in made]
    table = made.to_arrow()
    assert table.column_names == [name, "share", "share_low", "share_high"]
    assert table["share"].to_pylist() == [row[1] for row in rows]
    assert table["share_high"].to_pylist() == [row[3] for row in rows]
    assert [str(value) for value in table[name].to_pylist()] == [str(row[0]) for row in rows]
    assert made.to_pandas()["share"].tolist() == made.to_polars()["share"].to_list()
    axes = made.plot()
    assert len(axes.patches) == len(rows)
    assert axes.get_ylabel() == "share"


def test_a_few_values_keep_their_type():
    table = Estimates.of(Direct(epsilon=1, values=2), [6, 4], people=10, values=(0, 1)).table()
    assert table.to_arrow()["value"].to_pylist() == [0, 1]
