"""Every aggregate of the dialect is measured, and every estimator has a value and an interval."""

from discreet.plan.aggregates import estimator, measured
from discreet.query.functions import AGGREGATES
from discreet.release.aggregates import KINDS


def test_every_aggregate_is_measured():
    assert set(measured.AGGREGATES) == set(AGGREGATES)


def test_every_estimator_is_released():
    known = {kind.__name__ for kind in estimator.Estimator.__subclasses__()}
    assert {kind.__name__ for kind in KINDS} == known
