"""Auditing the answers of a session, from a table to the released numbers.

Trust: public.

    AuditedQuestion  the engine runs once; noise is drawn on its totals as often as wanted
    AskedQuestion    every answer is paid for, computed, recorded and read back, with a new ledger

All that a release holds is a function of the outputs of its mechanisms (key ``answer-loss``), which
``AuditedQuestion`` looks at: nothing that follows from them can reveal more.
A salt decides which rows of a unit are kept if it has too many.  Promises hold for every salt,
so ``AuditedQuestion`` keeps one, the same on both sides; ``AskedQuestion`` draws a new one each
time.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, cast, final

import numpy as np
import pyarrow as pa

from discreet.accounting import Budget
from discreet.attacks.subjects import Answers, Raised
from discreet.engines.engine import HashOrder
from discreet.errors import DiscreetError, WrongKind
from discreet.loss import PrivacyLoss
from discreet.noise import SYSTEM
from discreet.plan.plan import Plan
from discreet.release.answer import noised
from discreet.requests.raw_totals import RawTotals, SparseLeaves
from discreet.session import Session
from discreet.session import open as opened

_CELLS: Final = 1 << 20
Column = np.ma.MaskedArray[Any, Any]
"""Numbers, and where there are none."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedQuestion:
    """A question to a session; a data set is any argument of ``discreet.open``.

    ``price`` is what ``ask`` takes, and ``options`` what ``discreet.open`` takes.  ``copies`` is
    how many answers are drawn in one pass over the noise: long arrays and short ones take different
    ways through the samplers.

    >>> import pyarrow as pa
    >>> from discreet.units import row
    >>> question = AuditedQuestion(sql="SELECT COUNT(*) AS n FROM people", price={"epsilon": 1},
    ...                     options={"unit": row(), "tables": "people"})
    >>> answers = question.draw(pa.table({"age": [34, 71]}), 100)
    >>> [values.shape for values in answers.values()]
    [(100,)]
    """

    sql: str
    price: Mapping[str, Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    copies: int | None = None
    salt: int = 0

    def draw(self, data: Any, n: int) -> Answers:
        """Compute the totals once, and draw n answers."""
        return self.drawn(*self.totals(data), n)

    def totals(self, data: Any) -> tuple[Plan, RawTotals]:
        """Return the totals that noise is drawn on."""
        with self._planned(data) as (session, plan):
            engine = session._engine  # noqa: SLF001  (totals leave it only here)
            return plan, engine.run(plan.request, order=HashOrder(salt=self.salt))

    def drawn(self, plan: Plan, raw: RawTotals, n: int) -> Answers:
        """Draw n answers on totals."""
        if plan.having_threshold is not None:
            return [_reaching(plan, raw) for _ in range(n)]
        most = self.copies or max(_CELLS // max(raw.units.size, 1), 1)
        sizes = [most] * (n // most) + [n % most] * (n % most > 0)
        return _joined([noisy_copies(plan, raw, size) for size in sizes])

    def loss(self, data: Any) -> PrivacyLoss:
        """Return what the plan claims to lose; it does not depend on the rows."""
        with self._planned(data) as (_, plan):
            return plan.loss

    @contextmanager
    def _planned(self, data: Any) -> Iterator[tuple[Session, Plan]]:
        with opened(data, test_mode=True, **self.options) as session:
            plan = session.plan(self.sql, **self.price)
            if getattr(plan, "search", None) is not None:
                raise WrongKind(
                    what="the question finds its bounds privately before it is answered.",
                    why="totals are computed anew for every draw, so none can be used twice.",
                    do="audit it with AskedQuestion, or give bounds.",
                )
            yield session, plan


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """A question that is asked anew for every answer, in a session with a ledger of its own.

    It takes some hundredths of a second; a few hundred answers show that the whole way keeps what
    its parts promise, as far as so few can.

    >>> import pyarrow as pa
    >>> from discreet.units import row
    >>> question = AskedQuestion(sql="SELECT COUNT(*) AS n FROM people", price={"epsilon": 1},
    ...                  options={"unit": row(), "tables": "people"})
    >>> len(question.draw(pa.table({"age": [34, 71]}), 2))
    2
    """

    sql: str
    price: Mapping[str, Any]
    options: Mapping[str, Any] = field(default_factory=dict)

    def draw(self, data: Any, n: int) -> Answers:
        """Open, ask and close n times; an answer is the whole table."""
        with tempfile.TemporaryDirectory() as folder:
            return [self._once(data, Path(folder) / f"{number}.ledger") for number in range(n)]

    def _once(self, data: Any, ledger: Path) -> Any:
        options = {"budget": Budget(epsilon=1000, delta="1/1000"), **self.options}
        try:
            with opened(data, ledger=ledger, **options) as session:
                return session.ask(self.sql, confirm=True, **self.price).rows()
        except DiscreetError as error:
            return Raised(type(error).__name__)


def noisy_copies(plan: Plan, raw: RawTotals, copies: int) -> dict[str, Column]:
    """Draw many answers at once, with the function that draws each answer of a session.

    All groups are repeated, with their number as their key.  Noise is drawn for each group
    independently, so the copies are independent.
    """
    groups = raw.units.size
    repeated = replace(
        raw,
        keys=(pa.array(np.arange(groups * copies)),),
        units=np.tile(raw.units, copies),
        totals={name: np.tile(total, copies) for name, total in raw.totals.items()},
        leaves={name: _repeated(leaves, groups, copies) for name, leaves in raw.leaves.items()},
    )
    noisy = noised(cast("Plan", _Repeated(plan)), repeated, entropy=SYSTEM)
    names = _named(raw.keys) if raw.keys else [""] * groups
    places = np.asarray(noisy.keys[0])
    columns: dict[str, Column] = {}
    drawn = {name: total.runs[0].values for name, total in noisy.totals.items()}
    for number, chosen in enumerate(noisy.chosen):
        drawn[f"choice {number} of {chosen.choice.measure}"] = chosen.leaves
    if plan.selection is not None:
        drawn["shown"] = np.ones(places.size, np.int64)
    absent = np.ones(groups * copies, np.bool_)
    absent[places] = False
    for measure, values in drawn.items():
        full = np.zeros(groups * copies, np.int64)
        full[places] = values
        for number, group in enumerate(names):
            column = slice(number, None, groups)
            columns[f"{measure}({group})"] = Column(full[column], mask=absent[column])
    return columns


def _reaching(plan: Plan, raw: RawTotals) -> dict[str, int]:
    """Draw one answer about more groups than could be listed: empty ones are drawn with the rest.

    Which of them reach the threshold differs each time, so copies cannot share a draw.
    """
    noisy = noised(plan, raw, entropy=SYSTEM)
    names = _named(noisy.keys)
    return {
        f"{measure}({group})": value
        for measure, total in noisy.totals.items()
        for group, value in zip(names, total.runs[0].values.tolist(), strict=True)
    }


class _Repeated:
    """A plan for repeated groups: as with private keys, any number of them will do."""

    request = SimpleNamespace(keys=(None,), public=None, listed=None, product=None)

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plan, name)


def _repeated(leaves: SparseLeaves, groups: int, copies: int) -> SparseLeaves:
    group, leaf, count = leaves
    start = np.repeat(np.arange(copies) * groups, group.size)
    return np.tile(group, copies) + start, np.tile(leaf, copies), np.tile(count, copies)


def _named(keys: Sequence[pa.Array]) -> list[str]:
    """Name groups by their keys, so that the same group has one name on both sides."""
    columns = [key.to_pylist() for key in keys]
    return [", ".join(map(repr, values)) for values in zip(*columns, strict=True)]


def _joined(parts: list[dict[str, Column]]) -> dict[str, Column]:
    """Put draws one after another."""
    return {
        name: Column(
            np.concatenate([np.ma.getdata(part[name]) for part in parts]),
            mask=np.concatenate([np.ma.getmaskarray(part[name]) for part in parts]),
        )
        for name in parts[0]
    }
