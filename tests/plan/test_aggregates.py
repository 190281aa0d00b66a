"""Every aggregate of the dialect is measured."""

from discreet.aggregates import measured
from discreet.query.functions import AGGREGATES


def test_every_aggregate_is_measured():
    assert set(measured.AGGREGATES) == set(AGGREGATES)
