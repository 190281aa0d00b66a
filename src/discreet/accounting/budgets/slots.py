"""Slots: requests that were planned ahead, asked one by one.

Trust: kernel.

Definition.  A list of slots is fixed before anything is asked, each with a loss.  A request takes a
slot, or several, whose loss is proved to be no smaller than its own; each slot is taken once, in
any order, and may stay empty.  What is asked in a slot may depend on all answers so far.
Threads may share slots; they cannot be copied, nor taken in a forked process.
Theorem (key ``slots``).  All answers together lose at most the composition of the slots.
    Proof.  Each answer is a function of a draw from the pair of its slot, of coins and of earlier
    answers (domination is just that), and the draws can be made up front, whichever slot they are
    used in.  So all answers are a function of draws from the product of the pairs.  Slots that are
    known by divergences alone add up to one curve (key ``filter-renyi``), given all draws.
The composition of the slots is tight.  A budget that is filled up request by request may not be
measured in that way, since answers would decide what is composed; here it is fixed in advance.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import NoReturn, final

from discreet.accounting.budgets.request import Priceable, RequestPricer
from discreet.accounting.budgets.spending import Guard, refuse_copy
from discreet.accounting.scopes.contribution import Contribution
from discreet.errors import OutOfRange, OverBudget, WrongKind
from discreet.loss import PrivacyLoss, Pure
from discreet.units import PrivacyUnit, same_unit

__all__ = ["Slots"]


@final
class Slots:
    """A fixed list of slots, each to be taken once by a request that loses no more.

    >>> from discreet.loss import GaussianDP
    >>> from discreet.units import row
    >>> slots = Slots({"map": GaussianDP(mu=1), "table": Pure(epsilon="0.5")}, unit=row())
    >>> slots.take("table", Pure(epsilon="0.4"))
    >>> slots.free
    ('map',)
    >>> slots.guarantee.epsilon(delta="1e-6") < 5.8
    True
    """

    __slots__ = ("_asker", "_guard", "_losses", "_taken")

    def __init__(
        self,
        losses: Mapping[str, Priceable],
        *,
        unit: PrivacyUnit,
        contribution: Contribution | None = None,
    ) -> None:
        """Take a name and a loss for each slot, and whom the losses are about."""
        if not isinstance(losses, Mapping) or not losses:
            raise WrongKind(
                what="the slots are not a mapping from names to losses, or are none.",
                why="each slot is fixed in advance, and taken by its name.",
                do="give a dict, such as {'map': GaussianDP(mu=1), 'table': Pure(epsilon=1)}.",
            )
        self._asker = RequestPricer(unit=same_unit(unit), contribution=contribution)
        self._losses = {name: self._loss(what) for name, what in losses.items()}
        self._taken: set[str] = set()
        self._guard = Guard()

    def _loss(self, what: Priceable) -> PrivacyLoss:
        return self._asker.loss(self._asker.node(what))

    @property
    def unit(self) -> PrivacyUnit:
        """Whom the guarantee is about."""
        return self._asker.unit

    @property
    def free(self) -> tuple[str, ...]:
        """The slots that have not been taken."""
        with self._guard:
            return tuple(name for name in self._losses if name not in self._taken)

    @property
    def guarantee(self) -> PrivacyLoss:
        """What all answers together lose at most, whether or not all slots are taken."""
        return _composed(list(self._losses.values()))

    def take(self, slot: str | tuple[str, ...], what: Priceable) -> None:
        """Take a slot, or several at once, for a request; refuse without changing anything."""
        names = (slot,) if isinstance(slot, str) else tuple(slot)
        self._guard.check_process()
        loss = self._loss(what)
        with self._guard:
            self._take(names, loss)

    def _take(self, names: tuple[str, ...], loss: PrivacyLoss) -> None:
        """Decide and record; no other thread comes between."""
        self._check(names)
        if not _composed([self._losses[name] for name in names]).dominates(loss):
            raise OverBudget(
                what=f"the request is not proved to lose at most what {_listed(names)} allows.",
                why="the guarantee is the composition of the slots, so that each request has to "
                "lose no more than its slot at every epsilon.",
                do="ask with more noise of the kind that the slot was planned for.",
            )
        self._taken.update(names)

    def _check(self, names: tuple[str, ...]) -> None:
        unknown = [name for name in names if name not in self._losses]
        if unknown or not names or len(set(names)) < len(names):
            raise OutOfRange(
                what="a slot is taken that does not exist, or twice in one request.",
                why="the list of slots is fixed in advance.",
                do=f"take one of {_listed(self.free) or 'none: all are taken'}.",
            )
        used = [name for name in names if name in self._taken]
        if used:
            raise OverBudget(
                what=f"{_listed(tuple(used))} has been taken already.",
                why="the guarantee counts each slot once.",
                do=f"take one of {_listed(self.free) or 'none: all are taken'}.",
            )

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuse to be copied or stored."""
        refuse_copy("a list of slots")

    def __repr__(self) -> str:
        """Show how many slots are left."""
        return f"<{len(self.free)} of {len(self._losses)} slots free, {self.unit.name}>"


def _composed(losses: list[PrivacyLoss]) -> PrivacyLoss:
    return (
        functools.reduce(lambda first, second: first.compose(second), losses)
        if losses
        else Pure(epsilon=0)
    )


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(repr(name) for name in names)
