"""Many quantiles: what they share is computed once, however many there are."""

import pytest

from discreet.aggregates import quantile as quantiles
from discreet.plan.pricing.quantile_tree import QuantileLevels
from tests.session import clinic


@pytest.mark.parametrize("place", ["priced", "read"])
def test_work_does_not_grow_with_the_square_of_the_levels(monkeypatch, place):
    owner, name = {
        "priced": (QuantileLevels, "within_epsilon"),
        "read": (quantiles, "_monotone"),
    }[place]
    calls = []
    real = getattr(owner, name)

    def counted(*given):
        calls.append(given)
        return real(*given)

    monkeypatch.setattr(owner, name, counted)
    seen = []
    with clinic.in_test_mode() as session:
        for levels in (8, 32):
            calls.clear()
            sql = f"SELECT APPROX_QUANTILES(cost, {levels}) AS q FROM visits"  # noqa: S608
            session.ask(sql, epsilon=1, delta="1e-9")
            seen.append(len(calls))
    assert 0 < seen[1] <= seen[0] + 2
