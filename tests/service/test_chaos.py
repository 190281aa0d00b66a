"""Clients, kills and restarts on two servers of one ledger; ``chaos/service.py`` does more."""

import pytest

from chaos import service as chaos


def check(storm):
    assert not storm.problems
    told = [event.status for event in storm.events]
    assert 200 in told
    assert 402 in told
    return storm


def test_a_short_storm(tmp_path):
    storm = check(
        chaos.run(tmp_path, clients=8, questions=12, granted=8, kills=3, seconds=45, seed=3)
    )
    assert sum(storm.kills.values()) == 3


@pytest.mark.slow
def test_a_long_storm(tmp_path):
    check(chaos.run(tmp_path, clients=64, questions=120, granted=80, kills=30, seconds=240))


def test_the_check_sees_what_it_should():
    """Histories that must not be: a late grant."""
    storm = chaos.Storm()
    storm.events = [chaos.Event(1, 0.0, 1.0, 402), chaos.Event(2, 2.0, 3.0, 200, "[]", 5)]
    chaos.check_grants(storm)
    assert storm.problems == ["question 2 was granted after a refusal"]
    storm.problems, storm.events[1].invoked = [], 0.5
    chaos.check_grants(storm)
    assert not storm.problems
