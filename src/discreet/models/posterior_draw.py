"""One draw of a posterior: a release by itself, with its exact epsilon and no added noise.

Trust: kernel.

Definition.  A share is on a public grid of points from w to 1 - w, and s of n people (n public)
said yes.  A draw returns point t with probability proportional to t**(a+s-1) (1-t)**(b+n-s-1), for
integers a and b of a Beta prior.
Theorem (key ``posterior-draw``; Dimitrakakis and others 2014, Wang, Fienberg and Smola 2015).  It
is the exponential mechanism with the log-likelihood as its score, which is bounded since w > 0.
Between counts s and s + 1 the log ratio of probabilities is ln(t / (1-t)) - ln(N(s+1) / N(s)),
which rises in t; N(s) is the sum of weights.  So the largest |ratio| is at one of the two ends.
N(s)**2 is at most N(s-1) N(s+1), by Cauchy and Schwarz, so that N(s+1) / N(s) rises in s, and is
between the least and the largest t / (1-t): the upper end is worst for the first pair of counts,
the lower end for the last.  The epsilon returned here is the larger of these two, rounded up: all
weights are integers.
Without a lower end w the ratio at t near 0 has no bound: a draw of a plain Beta posterior is not
private.
Assumes: one person moves s by at most one.  In a session an engine counts the rows of each boolean,
a unit adding at most k to either (key ``session-rows``), and the loss is k times the loss of one
answer: a step for each row.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, final

import numpy as np

from discreet.accounting import Leaf
from discreet.errors import BadArrays, OutOfRange, WrongKind
from discreet.exact import float_up, rational, whole
from discreet.extend import (
    ROWS,
    EngineRequest,
    Program,
    RawTotals,
    log,
    opened,
    pay_and_store,
    rows_of_unit,
    rows_question,
    rows_request,
    unit_of_rows,
)
from discreet.ledger import StoredAnswer
from discreet.loss import Pure
from discreet.models.bounded_rows import codes_of
from discreet.models.given import one_a_row, refuse_ignored
from discreet.models.session_rows import is_table
from discreet.noise import SYSTEM, Entropy
from discreet.query import Type
from discreet.units import PrivacyUnit, Relation

_MOST_PEOPLE: Final = 100_000
_MOST_WORK: Final = 10_000_000
_BITS: Final = 256
_TWO: Final = Fraction(1, 2)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PosteriorDraw:
    """A mechanism that draws one share from its posterior.

    >>> draw = PosteriorDraw(people=50, lowest="0.1")
    >>> round(float(draw.epsilon), 2)
    4.23
    >>> 0.1 <= draw.run(20) <= 0.9
    True
    """

    people: int
    lowest: Any
    yes: int = 1
    no: int = 1
    points: int = 257
    epsilon: Fraction = field(init=False, compare=False)
    _weights: tuple[tuple[int, int], ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Work out the exact loss."""
        size = whole(self.people, name="people", low=1)
        points = whole(self.points, name="points", low=2)
        whole(self.yes, name="yes", low=1)
        whole(self.no, name="no", low=1)
        low = rational(self.lowest, name="lowest")
        if not 0 < low < _TWO:
            raise OutOfRange("the lowest share is not between 0 and 1/2: give lowest='0.05', say.")
        if size > _MOST_PEOPLE or size * points > _MOST_WORK:
            raise OutOfRange(
                "there are too many people and points for an exact price: keep people up to "
                f"{_MOST_PEOPLE}, and people times points up to {_MOST_WORK}."
            )
        step = (1 - 2 * low) / (points - 1)
        common = low.denominator * step.denominator
        grid = [low + place * step for place in range(points)]
        pairs = tuple((int(t * common), common - int(t * common)) for t in grid)
        object.__setattr__(self, "_weights", pairs)
        object.__setattr__(self, "epsilon", self._loss())

    def _of(self, count: int) -> list[int]:
        a, b = self.yes + count - 1, self.no + self.people - count - 1
        return [yes**a * no**b for yes, no in self._weights]

    def _loss(self) -> Fraction:
        (low, less), (more, high) = self._weights[0], self._weights[-1]
        first, last = (self._sums(count) for count in (0, self.people - 1))
        upper_end = _ratio_above(more * first[0], high * first[1])
        lower_end = _ratio_above(less * last[1], low * last[0])
        return Fraction(float_up(log(max(Fraction(1), upper_end, lower_end)).high))

    def _sums(self, count: int) -> tuple[int, int]:
        """Return N(s) and N(s + 1)."""
        before = self._of(count)
        after = [w // no * yes for w, (yes, no) in zip(before, self._weights, strict=True)]
        return sum(before), sum(after)

    @property
    def loss(self) -> Pure:
        """What a draw costs each person, who moves the count by at most one."""
        return Pure(epsilon=self.epsilon)

    def release(
        self, answers: Any, *, ledger: Any = None, key: str | None = None, column: str | None = None
    ) -> float:
        """Pay for one draw from the answers of people, and return it.

        It is charged before an answer is read.  Any answer other than a plain yes counts as a no,
        so that each person moves the count by at most one; in a session, by as many rows as a
        unit may have in a group, which is what it pays for.

        Args:
            answers: one boolean a row, each row being one person; or a table of a session.
            ledger: the ledger that pays, once for each draw, if answers are a list.
            key: the name under which the draw is on record; with the same name it comes back.  In
                a session, the same draw from the same table comes back without one.
            column: the boolean of a table that is counted.
        """
        if is_table(answers):
            refuse_ignored(table=True, ledger=ledger, key=key)
            stored = self._from_table(answers, column)
        else:
            refuse_ignored(table=False, column=column)
            stored = self._from_list(answers, ledger, key)
        return float(json.loads(stored.answer)["share"])

    def _from_list(self, answers: Any, ledger: Any, key: str | None) -> StoredAnswer:
        given = one_a_row(answers)
        if given.ndim != 1:
            raise BadArrays(
                what="the answers are not a list of truth values.",
                why="each row is the answer of one person.",
                do="give one truth value for each person.",
            )

        def drawn() -> bytes:
            return self._stored(int((codes_of(given, (True,)) == 0).sum()), SYSTEM)

        grid = f"{self.people} {rational(self.lowest, name='lowest')} {self.points}"
        with opened(ledger) as record:
            leaf = self.leaf(unit_of_rows(record))
            name = f"posterior draw {grid} {self.yes} {self.no}"
            return pay_and_store(record, leaf, drawn, name=name, key=key)

    # --- a table of a session ---------------------------------------------------------------

    def _from_table(self, source: Any, column: str | None) -> StoredAnswer:
        """Charge, count, draw and record; again, it is the same draw for free."""
        if not isinstance(column, str):
            raise WrongKind("write release(session.table('visits'), column='ill'), say.")
        session = source.session
        rows = session.program_rows(rows_question(source.rows.relation(), (column,)))
        (key,) = rows.bound.keys
        if key.facts.type is not Type.BOOLEAN:
            raise WrongKind(f"column {column} must be declared as boolean: a draw counts yeses.")
        reads = (rows_request(rows),)
        program = Program.of(rows, unit=session.unit, reads=reads, delta=None, draw=self)
        stored: StoredAnswer = session.perform(program)
        return stored

    def charged(self, reads: tuple[EngineRequest, ...], unit: PrivacyUnit) -> Leaf:
        """Return the price by the bound that the engine enforces for one of both values."""
        (request,) = reads
        groups = 1 if request.groups is None else request.groups
        return self.leaf(unit, rows_of_unit(request) // groups)

    def __call__(
        self,
        raws: tuple[RawTotals, ...],
        *,
        entropy: Entropy,
        digest: str,  # noqa: ARG002  a draw does not name its program
        sources: tuple[tuple[str, str], ...],  # noqa: ARG002  nor the states of its tables
    ) -> bytes:
        """Count the rows that say yes, and draw."""
        (raw,) = raws
        yes = codes_of(np.array(raw.keys[0].to_pylist(), object), (True,)) == 0
        counts = np.maximum(np.asarray(raw.totals[ROWS], np.int64), 0)
        return self._stored(int(counts[yes].sum()), entropy)

    def document(self) -> dict[str, Any]:
        """Return all public parameters, in plain JSON."""
        return {
            "kind": "posterior draw",
            "people": self.people,
            "lowest": str(rational(self.lowest, name="lowest")),
            "prior": [self.yes, self.no],
            "points": self.points,
        }

    def _stored(self, count: int, entropy: Entropy) -> bytes:
        drawn = {"answer": "posterior draw", "share": self.run(count, entropy=entropy)}
        return json.dumps(drawn).encode("ascii")

    def leaf(self, unit: PrivacyUnit, rows: int = 1) -> Leaf:
        """Return the charge of a draw, for units that move the count by at most this number.

        Replacing a unit moves it by no more: both counts are between 0 and the number of its rows.
        """
        whose = PrivacyUnit(name=unit.name, columns=unit.columns, relation=Relation.ADD_REMOVE)
        loss = Pure(epsilon=self.epsilon * rows)
        replaced = loss if unit.relation.replaces else None
        return Leaf(loss, name="posterior draw", unit=whose, replaced=replaced)

    def run(self, count: int, *, entropy: Entropy = SYSTEM) -> float:
        """Draw one share, given how many said yes; counts are clamped to 0 and all people."""
        weights = self._of(min(max(whole(count, name="count"), 0), self.people))
        total = sum(weights)
        place = _below(total, entropy)
        for (yes, no), weight in zip(self._weights, weights, strict=True):
            if place < weight:
                return yes / (yes + no)
            place -= weight
        raise AssertionError


def _ratio_above(above: int, below: int) -> Fraction:
    """Return a short fraction that is at least a ratio of long numbers, and next to it."""
    shift = max(0, below.bit_length() - _BITS)
    return Fraction((above >> shift) + 1, below >> shift) if shift else Fraction(above, below)


def _below(total: int, entropy: Entropy) -> int:
    """Return an integer below another, each with the same probability."""
    width = (total - 1).bit_length()
    while True:
        word = entropy.bits(width)
        if word < total:
            return word
