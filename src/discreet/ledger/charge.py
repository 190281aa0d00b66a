"""The entry of a charge: what was asked, of whom, and what it costs each account.

Trust: kernel.

Definition.  Amounts are whole quanta, as decimal text; for each account of the path that has limits
there is one pair a box: what one record pays, and what two of the box pay where one is replaced.
The body is the SHA-256 of the canonical text of [account, tree, scope, delta, question]: two
requests are the same if their bodies are.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Self, final

from discreet.accounting.box import Box
from discreet.accounting.currency import Amounts
from discreet.accounting.decimals import read_decimals, written_decimals
from discreet.accounting.owed import Piece
from discreet.ledger.entry import FORMAT, canonical, digest

__all__ = ["Charge", "Costs", "Pieces", "Priced"]

Pieces = tuple[tuple[str, tuple[Piece, ...]], ...]
"""For each account that is debited, the root first, what its records pay."""

Costs = tuple[tuple[str, Amounts], ...]
"""For each account that is debited, the most that a record pays, or two of one box."""

_EVERYTHING: Final = Box.everything()
_WRITTEN: Final = _EVERYTHING.written()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """A request that is charged; the texts of its line are there if it was made here."""

    kind: ClassVar[str] = "charge"

    account: str
    key: str
    question: str
    body: str
    pieces: Pieces
    texts: tuple[str, ...] = field(default=(), repr=False, compare=False)

    def line(self, seq: int, at: str) -> str:
        """Return the canonical line: its names are in order."""
        costs, boxes, scope, tree = self.texts
        return (
            f'{{{costs},"at":"{at}","body":"{self.body}",{boxes},"format":{FORMAT},'
            f'"key":{canonical(self.key)},"kind":"charge","question":{canonical(self.question)},'
            f'{scope},"seq":{seq},{tree}}}'
        )

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> Self:
        """Read what a line says."""
        boxes = [_EVERYTHING if box == _WRITTEN else Box.read(box) for box in fields["boxes"]]
        pieces = tuple(
            (path, tuple(_piece(box, pair) for box, pair in zip(boxes, pairs, strict=True)))
            for path, pairs in sorted(fields["amounts"].items())
        )
        return cls(
            account=fields["account"],
            key=fields["key"],
            question=fields["question"],
            body=fields["body"],
            pieces=pieces,
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Priced:
    """A request with its price, before it has a key: the same for all who ask for it."""

    account: str
    pieces: Pieces
    costs: Costs
    asked: str = field(repr=False)
    texts: tuple[str, ...] = field(repr=False)

    @classmethod
    def of(  # noqa: PLR0913  the parts of a charge
        cls,
        account: str,
        pieces: Pieces,
        costs: Costs,
        *,
        tree: object,
        scope: Box,
        delta: str | None,
    ) -> Self:
        """Take the account, what its records and those of the accounts above pay, and the request.

        Args:
            account: the account that is charged.
            pieces: what records pay, for each account with limits.
            costs: the most that they pay.
            tree: the written form of what is asked.
            scope: the records that it can depend on.
            delta: what is spent on events outside which the loss is smaller.
        """
        boxes = [piece.box.written() for piece in pieces[0][1]]
        amounts = {path: [_pair(piece) for piece in parts] for path, parts in pieces}
        name, about = canonical(account), canonical(scope.written())
        what, chance = canonical(tree), canonical(delta)
        return cls(
            account=account,
            pieces=pieces,
            costs=costs,
            asked=f"[{name},{what},{about},{chance},",
            texts=(
                f'"account":{name},"amounts":{canonical(amounts)}',
                f'"boxes":{canonical(boxes)},"delta":{chance}',
                f'"scope":{about}',
                f'"tree":{what}',
            ),
        )

    def charge(self, key: str, question: str) -> Charge:
        """Return the entry for somebody's key and question."""
        return Charge(
            account=self.account,
            key=key,
            question=question,
            body=digest(f"{self.asked}{canonical(question)}]".encode("ascii")),
            pieces=self.pieces,
            texts=self.texts,
        )


def _pair(piece: Piece) -> list[list[str]]:
    return [written_decimals(piece.added), written_decimals(piece.replaced)]


def _piece(box: Box, pair: Any) -> Piece:
    one, both = pair
    return Piece(box, _amounts(tuple(one)), _amounts(tuple(both)))


@functools.lru_cache(1024)
def _amounts(texts: tuple[str, ...]) -> Amounts:
    return read_decimals(list(texts), width=len(texts))
