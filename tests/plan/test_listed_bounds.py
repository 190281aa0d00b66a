"""Whole numbers that are listed for a column bound it, and are held to it like declared bounds."""

import pyarrow as pa

import discreet as dp

POLICY = """
format = 1
unit = "patient"
[limits]
max_rows = 1
max_groups = 1
[tables.visits]
key = ["patient"]
[tables.visits.columns]
patient = { type = "integer", nullable = false }
died = { type = "integer", categories = [0, 1, 3] }
"""


def opened(values, folder):
    table = pa.table({"patient": list(range(len(values))), "died": values})
    budget = dp.Budget(epsilon=10**6)
    return dp.open({"visits": table}, policy=POLICY, budget=budget, ledger=folder / "ledger")


def test_means_and_sums_need_no_bounds_beside_the_list(tmp_path):
    """The chance that noise of this scale moves a sum by 1 is below 1e-300."""
    with opened([0, 1, 1, 3] * 10, tmp_path) as session:
        row = session.ask("SELECT SUM(died) AS s FROM visits", epsilon=3000, confirm=True).rows()[0]
    assert abs(row["s"] - 50) < 1


def test_values_beyond_the_list_are_held_to_it(tmp_path):
    """A wrong list costs accuracy alone: one person moves the sum by 3, as the plan says."""
    with opened([0, 10**6], tmp_path) as session:
        row = session.ask("SELECT SUM(died) AS s FROM visits", epsilon=3000, confirm=True).rows()[0]
    assert abs(row["s"] - 3) < 1
