"""Memoization: keep one private answer for each value, and report it through fresh noise.

Trust: kernel.  Proofs are in docs/proofs/local.md.

Definition.  ``Memo(values=k, permanent=a, fresh=b)`` draws, for a value that is new to the device,
one answer by k-ary randomized response at a, and keeps it.  Each report is the kept answer, passed
through fresh randomized response at b.
What T reports cost (``memo_price.py``, keys ``memo-constant`` and ``memo-changes``): less than a
while the value stays; T b when it changes.  ``constant=True`` is enforced, not promised: the device
keeps a single answer, that of the first value, and reports it even if the value changes.  So a
wrong belief that values stay costs accuracy, never privacy.

The memo is a file.  Price and kept answer are on disk before the first report leaves.  A memo that
is lost begins anew, with a second draw, and the diary adds its whole price to what was spent.  The
memo knows how much of its price a diary was charged; reports without a diary are charged with the
next report that has one.
Assumes: no memo or diary is restored to an earlier state; one diary for one memo.

The cost of a memo: while a value stays, and when it changes.

Setting.  A device keeps one answer of k-ary randomized response at ``permanent`` = a for each value
that it meets, and reports that answer through fresh randomized response at ``fresh`` = b.

Theorem (key ``memo-constant``).  Between two people whose values stay, T reports lose exactly
ln((e^(a + T b) + k - 1) / (e^(T b) + e^a + k - 2)), which grows with T and stays below a.

Theorem (key ``memo-changes``).  Between any two histories, T reports lose at most T b.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, final

import numpy as np

from discreet.errors import OtherLedger, WrongKind
from discreet.exact import Interval, freeze, whole
from discreet.local.diary import DeviceFile, Diary, HeldFile, read_price
from discreet.local.randomizer import local_epsilon, value_count
from discreet.loss import Pure
from discreet.loss.elementary import exp, log
from discreet.mechanisms.mechanism import Number
from discreet.mechanisms.randomized_response import respond, response_chances
from discreet.noise import SYSTEM, Entropy
from discreet.notebook import Shown

_ONLY: Final = "*"
_MOST: Final = 1 << 16


@final
@dataclass(frozen=True, slots=True, init=False)
class Memo(Shown):
    """Two steps of randomized response; the result of the first is kept.

    >>> memo = Memo(values=2, permanent=1, fresh=1, constant=True)
    >>> [round(memo.loss(reports=days).epsilon(delta=0), 6) for days in (1, 2, 4, 365)]
    [0.433781, 0.735326, 0.958128, 1.0]
    >>> Memo(values=2, permanent=1, fresh=1).loss(reports=365)
    Pure(epsilon=Fraction(365, 1))
    """

    values: int
    permanent: Fraction
    fresh: Fraction
    constant: bool

    def __init__(
        self, *, values: int, permanent: Number, fresh: Number, constant: bool = False
    ) -> None:
        """Take the number of values, both losses, and whether one answer is kept for good."""
        freeze(
            self,
            values=value_count(values, high=_MOST),
            permanent=local_epsilon(permanent),
            fresh=local_epsilon(fresh),
            constant=bool(constant),
        )

    def while_it_stays(self, *, reports: int) -> Interval:
        """Enclose what reports of a value that stays lose."""
        return price_of_constant(
            values=self.values,
            permanent=self.permanent,
            fresh=self.fresh,
            reports=whole(reports, name="reports", low=0),
        )

    def price(self, *, reports: int) -> Fraction:
        """Return the charge for this number of reports."""
        count = whole(reports, name="reports", low=0)
        if self.constant or count <= 1:  # one report shows no pattern
            return min(rounded_up(self.while_it_stays(reports=count).high), self.permanent)
        return count * self.fresh

    def loss(self, *, reports: int) -> Pure:
        """Return the loss of this number of reports of one device."""
        return Pure(epsilon=self.price(reports=reports))

    def chances(self) -> tuple[Fraction, Fraction]:
        """Return how often one report names the true value, and any other one.

        Shares are estimated from them as from any oracle's; reports of one device on several days
        are not independent.
        """
        kept, lied = response_chances(self.permanent, self.values)
        told, turned = response_chances(self.fresh, self.values)
        truth = kept * told + (self.values - 1) * lied * turned
        return truth, (1 - truth) / (self.values - 1)

    def law(self, history: Sequence[int]) -> dict[tuple[int, ...], Fraction]:
        """Return the exact probability of every list of reports about a short history of codes."""
        told, turned = response_chances(self.fresh, self.values)
        kept, lied = response_chances(self.permanent, self.values)
        codes = [whole(code, name="each code", low=0, high=self.values - 1) for code in history]
        met = [codes[0]] * len(codes) if self.constant and codes else codes
        days = {code: [day for day, other in enumerate(met) if other == code] for code in met}
        law = {}
        for reports in itertools.product(range(self.values), repeat=len(codes)):
            chance = Fraction(1)
            for code, when in days.items():
                chance *= sum(
                    (kept if cell == code else lied)
                    * math.prod(told if reports[day] == cell else turned for day in when)
                    for cell in range(self.values)
                )
            law[reports] = chance
        return law

    def open(self, path: str | Path, *, diary: Diary | None = None, name: str = "memo") -> OpenMemo:
        """Open the memo of a device, or begin one; ``name`` is what the diary calls it."""
        file = DeviceFile(Path(path), kind="memo")
        if diary is not None and diary.file.path == file.path:
            raise WrongKind("memo and diary have the same path; give the memo another path.")
        return OpenMemo(self, file, diary, name)

    def describe(self) -> dict[str, Any]:
        """Return the parameters, ready for JSON."""
        return {
            "values": self.values,
            "permanent": str(self.permanent),
            "fresh": str(self.fresh),
            "constant": self.constant,
        }


@final
@dataclass(frozen=True, slots=True)
class OpenMemo:
    """The memo of one device, in its file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     memo = Memo(values=3, permanent=2, fresh=1).open(f"{folder}/memo.json")
    ...     reports = [memo.report(2) for day in range(4)]
    ...     memo.reports(), set(reports) <= {0, 1, 2}
    (4, True)
    """

    memo: Memo
    file: DeviceFile
    diary: Diary | None
    name: str

    def reports(self) -> int:
        """Return how many reports have left, or were about to."""
        with self.file.held() as held:
            return self._state(held)[0]

    def report(self, code: int, *, entropy: Entropy = SYSTEM) -> int:
        """Return one report, after its price and the kept answer are on disk.

        First the diary is charged, then the memo is written: a crash in between costs budget, and
        reveals nothing.
        """
        memo = self.memo
        value = whole(code, name="the code of a value", low=0, high=memo.values - 1)
        key = _ONLY if memo.constant else str(value)
        with self.file.held() as held:
            count, cells, charged = self._state(held)
            due = memo.price(reports=count + 1) - charged
            if self.diary is not None and due > 0:
                self.diary.charge(epsilon=due, name=self.name)
                charged += due
            fresh_cell = _response(value, memo.permanent, memo.values, entropy)
            cell = cells.setdefault(key, fresh_cell)  # always drawn: timing reveals nothing
            told = {"reports": count + 1, "charged": str(charged), "cells": cells}
            held.write({"memo": memo.describe(), **told})
        return _response(cell, memo.fresh, memo.values, entropy)

    def _state(self, held: HeldFile) -> tuple[int, dict[str, int], Fraction]:
        """Return the number of reports, the kept answers, and what a diary was charged."""
        state = held.read()
        if state is None:
            return 0, {}, Fraction(0)
        if state.get("memo") != self.memo.describe():
            raise OtherLedger(
                what="the memo on this device was made with other parameters.",
                why="its kept answers were drawn for another promise.",
                do="open it with those parameters, or begin another file, which is charged anew.",
            )
        count: Any = state.get("reports")
        cells: Any = state.get("cells")
        keys = {_ONLY} if self.memo.constant else set(map(str, range(self.memo.values)))
        sound = (
            type(count) is int
            and count > 0
            and isinstance(cells, dict)
            and len(cells) > 0
            and set(cells) <= keys
            and all(type(c) is int and 0 <= c < self.memo.values for c in cells.values())
        )
        if not sound:
            raise self.file.damaged()
        try:
            charged = read_price(state.get("charged"))
        except (ValueError, ZeroDivisionError):
            raise self.file.damaged() from None
        if charged > self.memo.price(reports=count):
            raise self.file.damaged()
        return count, cells, charged


def _response(code: int, epsilon: Fraction, values: int, entropy: Entropy) -> int:
    return int(respond(np.array([code], np.int64), epsilon, values, entropy)[0])


_GRAIN: Final = 1 << 40


def price_of_constant(
    *, values: int, permanent: Fraction, fresh: Fraction, reports: int
) -> Interval:
    """Enclose what T reports of a value that stays lose.

    >>> one = Fraction(1)
    >>> round(price_of_constant(values=2, permanent=one, fresh=one, reports=2).nearest(), 6)
    0.735326
    """
    kept, told = exp(-permanent), exp(-fresh * reports)
    ends = [
        (1 + (values - 1) * a * b) / (a + b + (values - 2) * a * b)
        for a, b in ((kept.high, told.high), (kept.low, told.low))
    ]
    return Interval(max(log(ends[0]).low, Fraction(0)), min(log(ends[1]).high, permanent))


def rounded_up(price: Fraction) -> Fraction:
    """Round a price up to a multiple of 2**-40, so that sums of prices stay short.

    >>> rounded_up(Fraction(1, 3)) - Fraction(1, 3) < Fraction(1, 2**40)
    True
    """
    return Fraction(math.ceil(price * _GRAIN), _GRAIN)
