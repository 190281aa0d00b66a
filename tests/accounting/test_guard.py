"""Budgets in memory: one thread at a time, one process, no copies."""

import sys
import threading

import pytest

from discreet.accounting import Box, Budget, PrivacyFilter, between
from discreet.errors import DiscreetError, OverBudget
from discreet.loss import Pure
from discreet.units import row


@pytest.fixture(autouse=True)
def _switching():
    """Let threads take turns as often as can be."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def raced(action, threads=8, times=25):
    """Do something in many threads at once; return what came of it."""
    found, barrier = [], threading.Barrier(threads)

    def work(number):
        barrier.wait()
        for time in range(times):
            try:
                found.append(action(number * times + time))
            except DiscreetError as error:
                found.append(error)
            except Exception as error:  # noqa: BLE001 (nothing else may come)
                found.append(repr(error))

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not [each for each in found if isinstance(each, str)]
    return found


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_ten_charges_of_a_tenth_are_ten(relation):
    for _ in range(5):
        spending = PrivacyFilter(Budget(epsilon=1), unit=row(relation=relation))
        cost = Pure(epsilon="0.1" if relation == "add_remove" else "0.05")
        found = raced(lambda _, spending=spending, cost=cost: spending.charge(cost), times=4)
        granted = [each for each in found if not isinstance(each, OverBudget)]
        assert len(granted) == 10
        assert sorted(charge.number for charge in granted) == list(range(1, 11))


def test_charges_about_parts_and_looks_at_what_is_left():
    spending = PrivacyFilter(Budget(epsilon=1), unit=row())

    def act(number):
        scope = Box({"age": between(number % 7, number % 7 + number % 5)})
        if number % 3 == 0:
            spending.left(scope).how_many(Pure(epsilon="0.1"))
            spending.written()
            return spending.spent
        return spending.charge(Pure(epsilon="0.1"), scope=scope)

    raced(act, times=10)
    assert spending.spent <= spending.budget.limit
