"""What a ledger has released so far, and what it promises.

Trust: public.  It is read from entries alone, and only if each follows from the one before.

There are two things to say of a ledger.  Its *promise* holds for everything that is asked, and will
be asked, in view of all answers.  What was *released so far* bounds the answers as if their
questions had been fixed in advance, at the record that paid most; it is the sum that the ledger
keeps, or the composition of the recorded mechanisms, whichever is less.
If a ledger was restored from a backup and charges may be missing, neither bounds anything: which
route of the currency paid for them is unknown, and so are their mechanisms.  Then the promise is
all there is to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from discreet.accounting import (
    Budget,
    Leaf,
    Node,
    Parallel,
    Post,
    Repeat,
    Sequential,
    account,
    decode,
)
from discreet.accounting.amounts import NEVER, amount_value, format_up
from discreet.accounting.box import Box, Contribution
from discreet.accounting.currencies import point_price
from discreet.accounting.filter import Left
from discreet.accounting.requests import RequestPricer
from discreet.errors import DiscreetError, OutOfRange, WrongKind
from discreet.explain.disclosure import Disclosure
from discreet.ledger.ledger_view import LedgerView
from discreet.ledger.values import Receipt
from discreet.loss import Approximate, GaussianDP, PrivacyLoss, Pure, ZeroConcentrated
from discreet.plan.policy.policy import About
from discreet.release import Release
from discreet.units import PrivacyUnit, Relation

_MOST_LEAVES: Final = 16
_LARGEST: Final = 64
_NOTHING: Final = Pure(epsilon=0)
_WHOLE: Final = Box.everything().written()


def from_ledger(
    ledger: LedgerView, about: About, *, path: str | None = None, receipt: Receipt | None = None
) -> Disclosure:
    """Return what a ledger has released so far, and what it promises.

    Args:
        ledger: the ledger.
        about: what the owner says of the data.
        path: the account; the first one by default, which pays for everything.
        receipt: a head of the ledger; its end unless given.
    """
    left = (
        ledger.left(account=path) if receipt is None else ledger.left_as_of(receipt, account=path)
    )
    end = receipt or ledger.receipt
    below = "" if path is None else f"{path}/"
    entries = ledger.proved_entries(end)
    charges: list[dict[str, Any]] = [
        entry
        for entry in entries
        if entry["kind"] == "charge" and f"{entry['account']}/".startswith(below)
    ]
    trees = _trees(charges)
    return Disclosure(
        kind="ledger",
        source="all answers so far" if path is None else f"all answers so far of {path}",
        unit=ledger.unit,
        losses=tuple(_losses(left, trees, charges)),
        price=_spent_text(left.budget, left.spent),
        promise=left.budget.guarantee,
        left=str(left),
        theorems=(left.budget.currency.theorem,),
        trees=tuple(trees),
        about=about,
        entries=tuple(entries),
        receipt=str(end),
        releases=len(charges),
    )


def _trees(charges: Iterable[Mapping[str, Any]]) -> dict[Node, int]:
    """Return the recorded trees, each with how often it was charged."""
    counts: dict[str, tuple[Any, int]] = {}
    for entry in charges:
        text = repr(entry["tree"])
        counts[text] = (entry["tree"], counts.get(text, (None, 0))[1] + 1)
    trees: dict[Node, int] = {}
    for stored, count in counts.values():
        try:
            node = decode(stored)
        except DiscreetError:  # of a later version, say; what the ledger keeps counts alone
            return {}
        trees[node] = trees.get(node, 0) + count
    return trees


def _losses(
    left: Left, trees: Mapping[Node, int], charges: Sequence[Mapping[str, Any]]
) -> Iterator[PrivacyLoss]:
    """Yield bounds on what was released so far."""
    if left.every_route:  # charges may be missing
        yield left.budget.guarantee
    elif not charges:
        yield _NOTHING
    else:
        yield from _spent(left.budget, left.spent)
        scoped = any(entry["scope"] != _WHOLE for entry in charges)
        yield from _recorded(trees, left.unit, scoped=scoped)


def _spent(budget: Budget, spent: tuple[int, ...]) -> Iterator[PrivacyLoss]:
    """Yield the losses spent on the record that paid most."""
    named = {
        name: amount_value(amount)
        for name, amount in zip(budget.components, spent, strict=True)
        if amount < NEVER
    }
    beside = named.get("delta", Fraction(0))
    if "epsilon" in named:
        chance = beside + named.get("conversion delta", Fraction(0))
        yield _point(named["epsilon"], min(chance, Fraction(1)))
    if "rho" in named:
        loss: PrivacyLoss = ZeroConcentrated(rho=named["rho"])
        yield loss.compose(_point(Fraction(0), beside)) if beside else loss
    if "mu squared" in named:
        gaussian: PrivacyLoss = GaussianDP(mu_squared=named["mu squared"])
        yield gaussian.compose(_point(Fraction(0), beside)) if beside else gaussian
    if not {"epsilon", "rho"} & named.keys():
        yield budget.currency.loss(spent)


def _recorded(
    trees: Mapping[Node, int], unit: PrivacyUnit, *, scoped: bool
) -> Iterator[PrivacyLoss]:
    """Yield the composition of the mechanisms' own losses, if there are few of them.

    Every leaf counts, for any part of the data.  That bounds the loss if each leaf is priced for
    the unit, and not for one of its rows, and if nothing around it raises its price.
    If a record is replaced, a leaf about a part of the data may lose it without gaining another.

    Args:
        trees: what was charged, and how often.
        unit: who is protected.
        scoped: whether a charge is about a part of the data.
    """
    nodes = [node for tree in trees for node in tree.walk()]
    if not all(_is_plain(node, unit) for node in nodes):
        return
    parts = scoped or any(isinstance(node, Parallel) for node in nodes)
    leaves = [
        (leaf, times) for node, count in trees.items() for leaf, times in leaves_of(node, count)
    ]
    points = [
        (point_price(_leaf_price(leaf, unit.relation, parts=parts)), times)
        for leaf, times in leaves
    ]
    known = [(point, times) for point, times in points if point is not None]
    total = sum((times * epsilon for (epsilon, _), times in known), Fraction(0))
    if not known or len(known) < len(points) or len(known) > _MOST_LEAVES or total > _LARGEST:
        return
    composed: PrivacyLoss = _NOTHING
    for (epsilon, delta), times in known:
        composed = composed.compose(_point(epsilon, delta).power(times))
    yield composed


def _leaf_price(leaf: Leaf, relation: Relation, *, parts: bool) -> PrivacyLoss:
    """Return what one step of a relation costs in a leaf: all that the step may be to it."""
    if not relation.replaces:
        return leaf.price(1, 0)
    if parts or relation.adds:
        return leaf.price_up_to(1, 1)
    return leaf.price(1, 1)


def _is_plain(node: Node, unit: PrivacyUnit) -> bool:
    if isinstance(node, Leaf):
        return {*(node.unit.columns if node.unit else ())} == {*unit.columns}
    return isinstance(node, Sequential | Repeat | Parallel | Post)


def leaves_of(node: Node, count: int) -> Iterator[tuple[Leaf, int]]:
    """Yield the leaves of a tree, each with how often it is released.

    >>> from discreet.mechanisms import Laplace
    >>> [(times) for _, times in leaves_of(Repeat(Leaf(Laplace(scale=2)), 3), 2)]
    [6]
    """
    if isinstance(node, Leaf):
        yield node, count
        return
    times = node.count if isinstance(node, Repeat) else 1
    for _, child in node.branches():
        yield from leaves_of(child, count * times)


def _point(epsilon: Fraction, delta: Fraction) -> PrivacyLoss:
    return Approximate(epsilon=epsilon, delta=delta) if delta else Pure(epsilon=epsilon)


def _spent_text(budget: Budget, spent: tuple[int, ...]) -> str:
    parts = (
        f"{name} {format_up(amount)}"
        for name, amount in zip(budget.components, spent, strict=True)
        if 0 < amount < NEVER
    )
    return ", ".join(parts) or "nothing"


def from_entry(ledger: LedgerView, number: int, about: About) -> Disclosure:
    """Return what one recorded answer discloses; it is named by the entry that records it."""
    entries: list[dict[str, Any]] = ledger.proved_entries()
    kinds = {entry["seq"]: entry for entry in entries}
    answer = kinds.get(number)
    if answer is None or answer["kind"] != "release":
        raise OutOfRange(
            what=f"entry {number} of this ledger records no answer.",
            why="only an answer on record can be explained by its number.",
            do="take the number of an entry of the kind release: `discreet ledger show`.",
        )
    charge = next(
        entry for entry in entries if entry["kind"] == "charge" and entry["key"] == answer["key"]
    )
    tree, scoped = decode(charge["tree"]), charge["scope"] != _WHOLE
    limits = entries[0]["contribution"]
    contribution = None if limits is None else Contribution.read(limits)
    statement = account(tree, unit=ledger.unit, contribution=contribution)
    loss = statement.loss
    if scoped and ledger.unit.relation.replaces:  # by a record that the question is not about
        pricer = RequestPricer(unit=ledger.unit, contribution=contribution)
        loss = loss.join(pricer.one_sided(tree))
    return Disclosure(
        kind="release",
        source="this answer",
        unit=ledger.unit,
        losses=(loss, *_recorded({tree: 1}, ledger.unit, scoped=scoped)),
        price=_charged_text(ledger, charge),
        theorems=statement.theorems,
        trees=(tree,),
        about=about,
        entries=tuple(entries),
        receipt=f"{ledger.id}:{number}",
    )


def recorded_entry(release: Release, ledger: LedgerView) -> int:
    """Return the entry of a ledger that records an answer; the answer of another is refused."""
    receipt = release.receipt
    if receipt is None or not release.private:
        raise WrongKind(
            what="the answer is not on record.",
            why="what is answered in test mode, or not yet recorded, is in no ledger.",
            do="ask the question in a session with a ledger.",
        )
    ledger.left_as_of(receipt)  # refuses the receipt of another ledger, or of another past
    return receipt.seq


def _charged_text(ledger: LedgerView, charge: Mapping[str, Any]) -> str:
    path = charge["account"]
    budget = ledger.left(account=path).budget
    sides = [tuple(map(int, side)) for piece in charge["amounts"].get(path, ()) for side in piece]
    most = tuple(max(column) for column in zip(*sides, strict=True)) if sides else ()
    return _spent_text(budget, most) if most else ""
