"""A training run of another library, debited to a ledger as what it was.

Trust: kernel.

An accountant of Opacus keeps a history: noise multiplier, sample rate and number of steps, one
triple after another.  The releases of such a run compose with all other releases about the same
rows, so the run is charged: as T noisy sums on Poisson samples, priced by the accountant of this
library and not by the run's own.

Theorem (key ``adopted-coins``).  Draw a float32 uniformly from the multiples of 2**-24 below 1, and
keep a row if the draw is below q.  Then the row is kept with probability equal to the least such
multiple that is not below q; this is the rate that is priced, for q and for q as a float32.
Proof.  Of 2**24 multiples, ceil(q 2**24) are below q.
At a rate of 10**-6 that is 1.3 percent above q.

Theorem (key ``told-samples``).  A release from a Poisson sample of rate q is (0, q)-differentially
private when a row is added or removed, even if it reveals the whole sample.
Proof.  Let Q be its distribution without the row, and P its distribution given that the row is in
the sample.  With the row the distribution is (1 - q) Q + q P, and no event's probability differs by
more than q.
This theorem prices steps with so little noise that an accountant would charge an epsilon in the
hundreds for each: a sum with a noise multiplier of 1/20 costs a sampled row an epsilon of about
200, which is no protection, and only the small sampling rate hides the row.

Facts missing from the history are taken on trust and named in the entry: that samples were Poisson
samples (``poisson_sampling=True``), one a step; that rows were clipped one by one; that steps
counted the actual draws.  Floating-point noise, which is distinguishable from real noise, is not
covered (docs/known-weaknesses.md).
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np

from discreet.accounting import Leaf, Node, Repeat, Sequential
from discreet.errors import OutOfRange, WrongKind
from discreet.exact import positive, probability, whole
from discreet.extend import describe_unit
from discreet.ledger import Charged, Ledger, StoredAnswer
from discreet.loss import Approximate, GaussianDP
from discreet.torch.private_sum import tree_of_run
from discreet.units import PrivacyUnit, Relation

_COINS: Final = 1 << 24
_LEAST_NOISE: Final = Fraction(1, 20)
_TRUSTED: Final = "Poisson samples, one a step; rows clipped one by one; noise of floats"


def adopt(history: Any, *, name: str, ledger: Ledger, delta: object) -> Charged:
    """Debit a run that another library has made; the same run under the same name is paid once.

    Args:
        history: a ``PrivacyEngine`` of Opacus, its accountant, or the history of that: triples of
            noise multiplier, sample rate and steps.
        name: what this run is called in the ledger; two runs need two names.
        ledger: who pays; its unit is a row, because Opacus clips rows.
        delta: what the ledger spends on events outside which the loss is smaller.

    >>> import tempfile
    >>> import discreet as dp
    >>> from discreet.accounting import Budget
    >>> with tempfile.TemporaryDirectory() as folder, Ledger.open(f"{folder}/a.ledger",
    ...         unit=dp.row(), budget=Budget(epsilon=8, delta="1e-4")) as ledger:
    ...     paid = adopt([(1.0, 0.01, 1000)], name="March", ledger=ledger, delta="1e-6")
    >>> paid.key, paid.new
    ('adopted March', True)
    """
    if not isinstance(ledger, Ledger):
        raise WrongKind(
            "no ledger is given, or one that is not open: give "
            "dp.ledger.Ledger.open('study.ledger')."
        )
    tree = tree_of_history(history, unit=ledger.unit)
    key = f"adopted {name}"
    paid = ledger.charge(tree, key=key, delta=delta)
    if not isinstance(ledger.start(key), StoredAnswer):
        text = json.dumps({"answer": "adopted run", "trusted": _TRUSTED}, sort_keys=True)
        ledger.release(key, text.encode("ascii"))
    return paid


def tree_of_history(history: Any, *, unit: PrivacyUnit) -> Node:
    """Return a history as a composition.

    >>> from discreet.units import row
    >>> print(tree_of_history([(2.0, 0.5, 10), (4.0, 1.0, 1)], unit=row()))
    Sequential
    ├── 10 times
    │   └── Sampled at rate 1/2
    │       └── one noisy sum of another library: GaussianDP(mu=1/2)
    └── 1 times
        └── one noisy sum of another library: GaussianDP(mu=1/4)
    """
    if unit.columns:
        raise WrongKind(
            f"the ledger protects {describe_unit(unit)}, and the run has clipped rows: debit the "
            "run to a ledger whose unit is a row."
        )
    added = PrivacyUnit(name=unit.name, columns=unit.columns, relation=Relation.ADD_REMOVE)
    runs: list[Node] = []
    for triple in _triples(history):
        sigma = positive(_number(triple[0]), name="noise multiplier")
        steps, rate = whole(triple[2], name="steps", low=1), coin_rate(triple[1])
        if sigma < _LEAST_NOISE:
            told = Approximate(epsilon=0, delta=rate)
            runs.append(Repeat(Leaf(told, name="a sample that is told", unit=added), steps))
            continue
        leaf = Leaf(GaussianDP(mu=1 / sigma), name="one noisy sum of another library", unit=added)
        runs.append(tree_of_run(leaf, rate=rate, steps=steps, unit=unit))
    return runs[0] if len(runs) == 1 else Sequential(*runs)


def coin_rate(rate: object) -> Fraction:
    """Return with which probability a float32 coin shows heads (key ``adopted-coins``).

    >>> coin_rate(0.5)
    Fraction(1, 2)
    >>> float(coin_rate(1e-6) / Fraction(1e-6)) > 1.01
    True
    """
    exact = probability(_number(rate), name="sample rate")
    if exact == 0:
        raise OutOfRange("a sample rate is 0: leave those steps out.")
    short = Fraction(float(np.float32(float(exact))))
    return min(Fraction(1), Fraction(math.ceil(max(exact, short) * _COINS), _COINS))


def _number(value: object) -> object:
    """Return the number that a float is: that is what the other library has used."""
    return Fraction(value) if isinstance(value, float) and math.isfinite(value) else value


def _triples(history: Any) -> Sequence[Sequence[Any]]:
    """Read the history of an accountant; refuse an invalid or empty one."""
    accountant = getattr(history, "accountant", history)
    found = getattr(accountant, "history", accountant)
    if (
        not isinstance(found, Sequence)
        or not found
        or any(not isinstance(each, Sequence) or len(each) != 3 for each in found)
    ):
        raise WrongKind(
            "the history is not a list of noise multiplier, sample rate and steps: give the "
            "privacy_engine of Opacus after the run, or such triples."
        )
    return found
