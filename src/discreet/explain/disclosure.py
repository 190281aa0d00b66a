"""The subject of an explanation: some answers, their loss, their units, and their public facts.

Trust: public.  Everything here is public: plans, budgets and entries, never data.

Every loss of a disclosure is a bound for the same answers; the best of them counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, final

from discreet.accounting import Node
from discreet.loss import PrivacyLoss
from discreet.plan.policy.policy import About
from discreet.units import PrivacyUnit, Relation

CHANCE: Final = Fraction(1, 10**6)
"""The probability at which statements about beliefs may fail, unless another one is given."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Disclosure:
    """Answers, or what may be asked, with everything that an explanation says of them.

    >>> from discreet.explain.sources import disclosure_of
    >>> from discreet.loss import Pure
    >>> disclosure_of(Pure(epsilon=1)).source
    'answers with this loss'
    """

    kind: str
    source: str
    """What an observer sees, as the object of a sentence."""
    unit: PrivacyUnit
    losses: tuple[PrivacyLoss, ...]
    price: str = ""
    chance: Fraction = CHANCE
    """The probability with which a statement about beliefs may fail."""
    promise: PrivacyLoss | None = None
    left: str = ""
    theorems: tuple[str, ...] = ()
    trusted: tuple[str, ...] = ()
    """What the owner promises, and the price rests on."""
    public: tuple[str, ...] = ()
    """Facts that no noise hides."""
    cut: tuple[str, ...] = ()
    """What limits may have left out."""
    accuracy: tuple[str, ...] = ()
    trees: tuple[Node, ...] = ()
    about: About = field(default_factory=About)
    entries: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)
    """The entries of a ledger that it was read from."""
    receipt: str = ""
    releases: int = 1

    @property
    def entity(self) -> str:
        """One of those who are protected, in a word."""
        if self.about.entity:
            return self.about.entity
        return " and ".join(self.unit.columns).removesuffix("_id") or self.unit.name

    @property
    def relation(self) -> Relation:
        """Which worlds an observer cannot distinguish."""
        return self.unit.relation
