"""Charges: what each had to cost, worked out again, and whether what it debits is enough.

Trust: kernel.  A recorded price that is too low is a promise broken in writing.

Definition.  Recorded pieces cover the needed ones if there are as many, each recorded box contains
the one in its place, and no amount is below the one in its place; where the recorded box is larger,
what two records pay is also not below what one needs to pay.
Theorem (key ``covering-charges``).  If recorded pieces cover the needed ones, nobody owes more than
is recorded.
    Proof.  A record in a needed box is in the recorded one in its place, and pays there.  Two
    records in one needed box are in the recorded one, and pay what is ``replaced``.  Otherwise
    they owe what is ``added`` for each of them that is in a box.  That is paid in the recorded
    box: as ``added`` if it does not hold the other record, and if it does it is the larger box, so
    that what is ``replaced`` is enough.

The account, tree, scope, delta, boxes and amounts of a charge decide everything but its place among
the others, so equal charges are checked once.  Everything is looked up by its recorded text: equal
texts are read once, and equal parts of a tree are priced once per currency, whatever the scope.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, TypeVar, final

from discreet.accounting import codec
from discreet.accounting.amounts import decode_amounts
from discreet.accounting.balances import ChargedBox
from discreet.accounting.box import Box, Contribution
from discreet.accounting.budget import Budget
from discreet.accounting.currencies import Amounts, Currency, price_in_currency
from discreet.accounting.nodes import Node
from discreet.accounting.requests import RequestPart, RequestPricer
from discreet.exact import rational
from discreet.ledger.verify.entry_format import canonical
from discreet.ledger.verify.parsing import ChargeTexts
from discreet.loss.parameters import checked_delta
from discreet.units import PrivacyUnit, Relation, same_unit


def covers(recorded: Sequence[ChargedBox], needed: Sequence[ChargedBox]) -> bool:
    """Whether what is recorded is enough for what is needed."""
    return len(recorded) == len(needed) and all(map(_covers, recorded, needed))


def _covers(recorded: ChargedBox, needed: ChargedBox) -> bool:
    same = recorded.box == needed.box
    if not same and not recorded.box.covers(needed.box):
        return False
    places = zip(recorded.added, recorded.replaced, needed.added, needed.replaced, strict=True)
    return all(
        paid >= added and paid_by_two >= (replaced if same else max(added, replaced))
        for paid, paid_by_two, added, replaced in places
    )


Pieces = tuple[ChargedBox, ...]
"""What one charge costs an account: boxes, and the price in each."""

_KEPT_PRICES: Final = 1 << 14
_EVERYTHING: Final = Box.everything()


@final
@dataclass(frozen=True, slots=True)
class _Tree:
    """A tree, and the prices of its parts by part, currency, delta and how neighbors differ."""

    node: Node
    known: dict[tuple[Node, Currency, Fraction | None, bool], Amounts] = field(default_factory=dict)


@final
class RecomputedPrices:
    """What requests cost, for the unit of a ledger."""

    __slots__ = ("_found", "_pricer", "_tree")

    def __init__(
        self,
        *,
        unit: PrivacyUnit,
        constant: Iterable[str] = (),
        contribution: Contribution | None = None,
    ) -> None:
        """Take who is protected, and what is known of the rows of one unit."""
        shared = tuple(constant)
        self._pricer = RequestPricer(
            unit=same_unit(unit), constant=shared, contribution=contribution
        )
        self._tree = functools.lru_cache(_KEPT_PRICES)(_read_tree)
        self._found = functools.lru_cache(_KEPT_PRICES)(self._work_out)

    def learn(self, constant: Iterable[str]) -> bool:
        """Take more columns that all rows of a unit share, and say whether there were any."""
        new = tuple(column for column in constant if column not in self._pricer.constant)
        self._pricer = self._pricer.sharing(new)
        self._found.cache_clear()
        return bool(new)

    @property
    def relation(self) -> Relation:
        """How neighbors differ."""
        return self._pricer.unit.relation

    def of(self, tree: str, scope: str, delta: str, currency: Currency) -> Pieces:
        """Return the boxes that a request is about and what it costs there, from JSON texts."""
        return self._found(tree, scope, delta, currency)

    def _work_out(self, tree: str, scope: str, delta: str, currency: Currency) -> Pieces:
        said = json.loads(delta)
        chance = None if said is None else checked_delta(rational(said, name="delta"))
        known = self._tree(tree)
        portions = self._pricer.parts(known.node, Box.read(json.loads(scope)))
        return tuple(self._piece(known, part, currency, chance) for part in portions)

    def _piece(
        self, tree: _Tree, part: RequestPart, currency: Currency, delta: Fraction | None
    ) -> ChargedBox:
        """Price a part where one unit is added or removed, and where one is replaced."""
        price = functools.partial(self._price, tree, part.node, currency, delta)
        if not self.relation.replaces:
            single = price(two=False)
            return ChargedBox(part.box, single, single)
        both = price(two=True)
        if part.sees_every_unit and self.relation is not Relation.EITHER:
            everywhere = part.box == _EVERYTHING  # no neighbors differ in one unit that it sees
            return ChargedBox(part.box, both if everywhere else price(two=False), both)
        single = price(two=False)
        return ChargedBox(part.box, single, tuple(map(max, single, both)))

    def _price(
        self, tree: _Tree, node: Node, currency: Currency, delta: Fraction | None, *, two: bool
    ) -> Amounts:
        key = (node, currency, delta, two)
        if key not in tree.known:
            loss = self._pricer.two_sided(node) if two else self._pricer.one_sided(node)
            tree.known[key] = price_in_currency(currency, loss, delta)
        return tree.known[key]


def _read_tree(text: str) -> _Tree:
    return _Tree(codec.decode(json.loads(text)))


_KEPT: Final = 1 << 14

Found = TypeVar("Found")


@final
@dataclass(frozen=True, slots=True)
class Debits:
    """What a charge costs each account that it debits, and what is wrong with it."""

    pieces: Mapping[str, Pieces]
    problems: tuple[tuple[str, str], ...]


@final
class Charges:
    """The charges of one ledger, checked one by one."""

    __slots__ = ("_boxes", "_debit", "_known", "_prices")

    def __init__(self, prices: RecomputedPrices) -> None:
        """Take what requests cost."""
        self._prices = prices
        self._known: dict[ChargeTexts, Debits] = {}
        self._boxes = functools.lru_cache(_KEPT)(_read_boxes)
        self._debit = functools.lru_cache(_KEPT)(self._look_at)

    def learn(self, constant: Iterable[str]) -> None:
        """Take columns that all rows of a unit share, as a description has them."""
        if self._prices.learn(constant):
            self._known.clear()
            self._debit.cache_clear()

    def debits(self, said: ChargeTexts, budgets: Mapping[str, Budget]) -> Debits:
        """Return what a charge costs; the budgets are those on the path of its account."""
        debits = self._known.get(said)
        if debits is None:
            if len(self._known) >= _KEPT:
                self._known.clear()
            debits = self._known[said] = self._read(said, budgets)
        return debits

    def _read(self, said: ChargeTexts, budgets: Mapping[str, Budget]) -> Debits:
        amounts = json.loads(said.amounts)
        if amounts.keys() != budgets.keys():
            wrong = "it does not debit exactly the accounts with a budget on its path."
            return Debits({}, (("charge", wrong),))
        asked = (said.tree, said.scope, said.delta, said.boxes)
        pieces: dict[str, Pieces] = {}
        problems = []
        for path, budget in budgets.items():
            debited, wrong = self._debit(*asked, budget.currency, canonical(amounts[path]))
            if debited is not None:
                pieces[path] = debited
            if wrong:
                problems.append(("charge" if debited is None else "price", f"{wrong} ({path})."))
        return Debits(pieces, tuple(problems))

    def _look_at(  # noqa: PLR0913, PLR0917  all that decides what one account pays
        self, tree: str, scope: str, delta: str, boxes: str, currency: Currency, amounts: str
    ) -> tuple[Pieces | None, str]:
        """Return what one account is debited, and what is wrong with it."""
        places = safely(self._boxes, boxes)
        recorded = safely(_recorded, places, json.loads(amounts), len(currency.components))
        if recorded is None:
            return None, "its boxes or amounts cannot be read"
        needed = safely(self._prices.of, tree, scope, delta, currency)
        if needed is None:
            return recorded, "what it costs cannot be worked out"
        return recorded, "" if covers(recorded, needed) else "it debits less than its tree costs"


def safely(read: Callable[..., Found], *given: object) -> Found | None:
    """Return what was read, or None if the data cannot be read."""
    try:
        return read(*given)
    except Exception:  # noqa: BLE001  garbage may fail anywhere, and it all means the same
        return None


def _read_boxes(text: str) -> tuple[Box, ...]:
    boxes = tuple(Box.read(data) for data in json.loads(text))
    if not all(box.exact for box in boxes):
        raise ValueError
    return boxes


def _recorded(boxes: tuple[Box, ...], data: object, width: int) -> Pieces:
    if not isinstance(data, list):
        raise TypeError
    pieces = []
    for box, (single, both) in zip(boxes, data, strict=True):
        added, replaced = (decode_amounts(texts, width=width) for texts in (single, both))
        pieces.append(ChargedBox(box, added, replaced))
    return tuple(pieces)
