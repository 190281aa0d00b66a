"""Whether what was recorded for a charge is enough for what it costs.

Trust: kernel.  A recorded price that is too low is a promise broken in writing.

Definition.  Recorded pieces cover those that are found again if there are as many, each recorded
box holds the one in its place, and no amount is below the one in its place; where the recorded box
is the larger, what two records pay is also not below what one was found to pay.
Theorem (key ``covering-charges``).  If recorded pieces cover those that were found, nobody owes
more than is recorded.
    Proof.  A record in a box that was found lies in the recorded one in its place, and pays there.
    Two records that lie in one box that was found lie in the recorded one, and pay what is
    ``replaced``.  Otherwise they owe what is ``added`` for each of them that lies in a box.  That
    is paid in the recorded box: as ``added`` if it does not hold the other record, and if it does
    it is the larger box, so that what is ``replaced`` is enough.
"""

from __future__ import annotations

from collections.abc import Sequence

from discreet.accounting.owed import Piece

__all__ = ["covers"]


def covers(recorded: Sequence[Piece], found: Sequence[Piece]) -> bool:
    """Whether what is recorded is enough for what was found.

    >>> from discreet.accounting import Box, equals
    >>> everyone, some = Box.everything(), Box({"state": equals("CA")})
    >>> covers([Piece(everyone, (2,), (3,))], [Piece(everyone, (2,), (2,))])
    True
    >>> covers([Piece(everyone, (2,), (1,))], [Piece(some, (2,), (1,))])
    False
    """
    return len(recorded) == len(found) and all(map(_covers, recorded, found))


def _covers(recorded: Piece, found: Piece) -> bool:
    same = recorded.box == found.box
    if not same and not recorded.box.covers(found.box):
        return False
    places = zip(recorded.added, recorded.replaced, found.added, found.replaced, strict=True)
    return all(
        one >= added and two >= (replaced if same else max(added, replaced))
        for one, two, added, replaced in places
    )
