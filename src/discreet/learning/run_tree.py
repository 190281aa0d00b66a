"""A training run as a composition, for the accountant, a budget or a ledger.

Trust: kernel.

Definition.  A run releases ``steps`` noisy sums.  For each, every unit enters a fresh sample by
itself with chance ``rate``, a sample is cut to a public cap, and the contributions of the sample
are clipped and added up.  The next step may depend on all sums so far.
Theorem (keys ``poisson-sampling``, ``dominating-pair``, ``capped-batch``).  The run loses no more
than ``steps`` copies of the leaf on a Poisson sample, beside one release that tells all with a
chance of ``overflow``: the chance that a cap cuts anything in any step.
The leaf is certified for a unit that is added or removed, because a sample has no public size;
the accountant prices ``replace`` from it.
"""

from __future__ import annotations

from fractions import Fraction

from discreet.accounting import Contribution, Leaf, Node, Repeat, Sampled, Sequential, account
from discreet.accounting.statement import Statement
from discreet.loss import Approximate
from discreet.loss.parameters import checked_count, checked_rate
from discreet.mechanisms import Gaussian
from discreet.units import PrivacyUnit, Relation


def one_sum(
    mechanism: Gaussian, *, distance: Fraction, coordinates: int, unit: PrivacyUnit
) -> Leaf:
    """Return the leaf of one noisy sum, which adding a unit to the sample moves by ``distance``.

    >>> from discreet.units import row
    >>> one_sum(Gaussian(sigma=2), distance=Fraction(1), coordinates=5, unit=row()).title()
    'one noisy sum: Gaussian(variance=4)'
    """
    return Leaf(
        mechanism,
        name="one noisy sum",
        unit=_added(unit),
        added=distance,
        coordinates=coordinates,
    )


def tree_of_run(
    leaf: Leaf, *, rate: object, steps: int, unit: PrivacyUnit, overflow: Fraction = Fraction(0)
) -> Node:
    """Return the tree of a run.

    Args:
        leaf: one noisy sum of clipped contributions, as ``one_sum`` makes it.
        rate: the chance with which a unit enters the sample of a step; 1 takes all of them.
        steps: how many sums are released.
        unit: who is protected, and drawn together.
        overflow: the chance that any sample exceeds its cap.

    >>> from discreet.units import person
    >>> patient = person("patient")
    >>> leaf = one_sum(Gaussian(sigma=1), distance=Fraction(1), coordinates=9, unit=patient)
    >>> print(tree_of_run(leaf, rate="0.01", steps=100, unit=patient, overflow=Fraction(1, 10**9)))
    Sequential
    ├── 100 times
    │   └── Sampled at rate 1/100, by person
    │       └── one noisy sum: Gaussian(variance=1)
    └── a batch above its cap: Approximate(epsilon=0, delta=1/1000000000)
    """
    chance = checked_rate(rate)
    one: Node = leaf
    if chance != 1:
        one = Sampled(leaf, rate=chance, unit=unit if unit.columns else None)
    every = Repeat(one, checked_count(steps, name="steps"))
    if not overflow:
        return every
    told = Leaf(
        Approximate(epsilon=0, delta=overflow), name="a batch above its cap", unit=_added(unit)
    )
    return Sequential(every, told)


def statement_of(tree: Node, unit: PrivacyUnit) -> Statement:
    """Account for a run: what one unit can lose, whatever its rows.

    >>> from discreet.units import row
    >>> leaf = one_sum(Gaussian(sigma=10), distance=Fraction(1), coordinates=1, unit=row())
    >>> run = tree_of_run(leaf, rate=1, steps=4, unit=row())
    >>> round(statement_of(run, row()).epsilon(delta=1e-6), 4)
    0.8342
    """
    limits = Contribution(rows=1) if unit.columns else None  # a unit enters as one
    return account(tree, unit=unit, contribution=limits)


def _added(unit: PrivacyUnit) -> PrivacyUnit:
    """Return the unit under add/remove."""
    return PrivacyUnit(name=unit.name, columns=unit.columns, relation=Relation.ADD_REMOVE)
