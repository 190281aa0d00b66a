"""Every aggregate of the dialect is measured, and every estimator has a value and an interval."""

import pytest

from discreet.plan.aggregates import estimator, measured
from discreet.query.functions import AGGREGATES
from discreet.release.aggregates import KINDS


def test_every_aggregate_is_measured():
    assert set(measured.AGGREGATES) == set(AGGREGATES)


def test_every_estimator_is_released():
    known = {kind.__name__ for kind in estimator.Estimator.__subclasses__()}
    assert {kind.__name__ for kind in KINDS} == known


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_aggregate_has_one_file_in_each_room(kind):
    name = kind.__module__.rpartition(".")[2]
    assert type(KINDS[kind]).__module__ == f"discreet.release.aggregates.{name}"
