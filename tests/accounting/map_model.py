"""What each of a few hundred records owes, added up one by one, for tests of loss maps."""

import itertools
import math
import random
from functools import cache

from hypothesis import strategies as st

from discreet.accounting.box import Box
from discreet.accounting.loss_map import LossMap
from discreet.accounting.values import (
    above,
    at_least,
    below,
    between,
    equals,
    is_not_null,
    is_null,
    one_of,
)

# Every condition below is told from every other by these values, and so is every union of parts.
DOMAIN = {
    "age": [-1, 0, 0.5, 1, 2, None],
    "state": ["CA", "NY", "other", None],
    "alive": [True, False, None],
    "dose": [0.1, 1, math.nan, None],
}
RECORDS = [dict(zip(DOMAIN, values, strict=True)) for values in itertools.product(*DOMAIN.values())]
CONDITIONS = {
    "age": [
        equals(0),
        at_least(0),
        below(1),
        between(0, 1),
        (~equals(1) & is_not_null()),
        is_not_null(),
    ],
    "state": [equals("CA"), equals("NY"), one_of("CA", "NY"), ~equals("CA"), is_null()],
    "alive": [equals(True), equals(False), is_null()],
    "dose": [at_least(1), below(1), is_not_null()],
}
LARGE = 10**30


def boxes():
    chosen = {column: st.sampled_from(sets) for column, sets in CONDITIONS.items()}
    return st.fixed_dictionaries({}, optional=chosen).map(Box)


def charges(most=20):
    amounts = st.tuples(st.sampled_from([0, 1, 2, LARGE]), st.integers(0, 3))
    return st.lists(st.tuples(boxes(), amounts), max_size=most)


def some_charges(seed, size=25):
    chance = random.Random(seed)  # noqa: S311  the same charges each time
    drawn = []
    for _ in range(size):
        columns = chance.sample(list(CONDITIONS), chance.randrange(5))
        box = Box({column: chance.choice(CONDITIONS[column]) for column in columns})
        drawn.append((box, (chance.choice([0, 1, 2, LARGE]), chance.randrange(4))))
    return drawn


def charged(asked, cap=4096):
    paid = LossMap(2, cap=cap)
    for box, amounts in asked:
        paid.add(box, amounts)
    return paid


@cache
def held(box):
    """Return the places of the records in a box, which is one of a few hundred."""
    return [at for at, record in enumerate(RECORDS) if record in box]


def debts(asked):
    """Return what each record owes, and the charges that held it."""
    owed = [[0, 0] for _ in RECORDS]
    stories = [0] * len(RECORDS)
    for number, (box, amounts) in enumerate(asked):
        if not any(amounts):
            continue
        for at in held(box):
            owed[at] = [old + new for old, new in zip(owed[at], amounts, strict=True)]
            stories[at] |= 1 << number
    return [tuple(amounts) for amounts in owed], stories


def alone(record):
    """Return the box of one record."""
    return Box({column: alike(value) for column, value in record.items()})


def alike(value):
    if value is None:
        return is_null()
    return above(math.inf) if value != value else equals(value)  # noqa: PLR0124  NaN


ALONE = [alone(record) for record in RECORDS]


def at_most(left, right):
    return all(here <= there for here, there in zip(left, right, strict=True))


def check(asked, cap, scope=None):
    """Compare a map with the model; return the map.

    Asks for the payments of every third record alone; of others, if there is one charge more.
    """
    paid = charged(asked, cap)
    owed, stories = debts(asked)
    exact = cap == 4096
    assert paid.cells <= cap
    for box, amounts in [*zip(ALONE, owed, strict=True)][len(asked) % 3 :: 3]:
        payment = paid.highest(box)
        assert at_most(amounts, payment)
        assert not exact or payment == amounts
    inside = range(len(RECORDS)) if scope is None else held(scope)
    truth = tuple(map(max, zip((0, 0), *(owed[at] for at in inside), strict=True)))
    assert at_most(truth, paid.highest(scope))
    assert not exact or truth == paid.highest(scope)
    apart = {stories[at]: owed[at] for at in inside}
    for component, found in enumerate(paid.two_highest(scope)):
        amounts = sorted((story[component] for story in apart.values()), reverse=True)
        two = tuple([*amounts, 0, 0][:2])
        assert at_most(two, found)
        assert not exact or two == found
    return paid


def highest_debt(asked):
    """Return the most that a record owes, component by component."""
    return tuple(map(max, zip(*debts(asked)[0], strict=True)))
