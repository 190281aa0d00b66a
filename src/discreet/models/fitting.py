"""A fit: its plan, known before a row is read, and its way from the charge to the record.

Trust: kernel.  Noise, price and digest follow from the plan.  Rows are turned into integers after
the charge, and what is stored is what the model is made of.

Each fit of arrays is a charge of its own, because nothing tells whether they are the same people:
``cross_val_score`` with five folds pays five times.  A fit with a ``key`` is on record under it:
carried out again it is the same model, for free, whatever the arrays hold by then.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, Protocol, final

from discreet.accounting import Node
from discreet.accounting.storage.codec import encode, encode_unit
from discreet.doors import Explainable
from discreet.errors import DiscreetError, EntropyError, WrongKind
from discreet.ledger import Ledger
from discreet.ledger.values import StoredAnswer
from discreet.loss import PrivacyLoss
from discreet.models.bounded_rows import BoundedRows, Encoding
from discreet.models.measurement import (
    AskedPrice,
    PlannedSum,
    RowMeasurer,
    SumSchedule,
    scheduled,
)
from discreet.noise import SYSTEM, Entropy
from discreet.plan.plan_words import Branch, html_of, plan_text, shown_price
from discreet.plan.pricing.calibration import Price, loss_of
from discreet.session.record import Record, Rehearsal, answer_failed_error
from discreet.units import PrivacyUnit, row
from discreet.units.unit import describe_unit

FORMAT: Final = 1

Released = Mapping[str, Any]
"""Numbers by their names, in plain JSON: all that a model is made of."""


class Recipe(Protocol):
    """What a model takes of rows, and how; it holds public parameters alone."""

    def document(self) -> Mapping[str, Any]:
        """Return all parameters that what is released depends on, in plain JSON."""
        ...

    def sums(self, encoding: Encoding) -> tuple[PlannedSum, ...]:
        """Return all sums that are taken."""
        ...

    def run(self, rows: BoundedRows, encoding: Encoding, see: RowMeasurer) -> Released:
        """Take the sums, and return what is released."""
        ...


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FitPlan(Explainable):
    """What fitting will measure and cost, known before a row is read."""

    model: str
    recipe: Recipe
    encoding: Encoding
    schedule: SumSchedule
    names: tuple[str, ...] = ()
    program: Any = field(default=None, compare=False)
    digest: str = field(init=False, compare=False)
    """A name for everything that is public about the fit."""

    def __post_init__(self) -> None:
        """Name the fit, once."""
        document = {
            "format": FORMAT,
            "fit": fit_document(self.recipe, self.encoding, self.schedule.asked),
            "unit": encode_unit(self.unit),
            "rows": self.schedule.rows,
            "tree": encode(self.tree),
        }
        text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        object.__setattr__(self, "digest", hashlib.sha256(text.encode("ascii")).hexdigest())

    @property
    def unit(self) -> PrivacyUnit:
        """Who is protected."""
        return self.schedule.unit

    @property
    def tree(self) -> Node:
        """The composition that is charged."""
        return self.schedule.tree

    @property
    def price(self) -> Price:
        """What it costs."""
        return self.schedule.price

    @property
    def loss(self) -> PrivacyLoss:
        """The whole loss of one unit."""
        return loss_of(self.tree, self.unit)

    def __repr__(self) -> str:
        """Show the model and its price on one line."""
        return f"<plan of a {self.model}; costs {shown_price(self.price)}>"

    def __str__(self) -> str:
        """Show everything that will happen, as a tree of lines."""
        return plan_text(self._branches())

    def _repr_html_(self) -> str:
        return html_of(self._branches())

    def _branches(self) -> Branch:
        rows = self.schedule.rows
        most = "one row" if rows == 1 else f"at most {rows} rows"
        lines = []
        for each, noise in zip(self.schedule.sums, self.schedule.noises, strict=True):
            often = "once" if each.times == 1 else f"{each.times} times"
            kind = type(noise).__name__
            numbers = f"{each.coordinates} number{'s' if each.coordinates > 1 else ''}"
            lines.append(Branch(f"{each.name}: {numbers}, {often}, with {kind} noise"))
        return Branch(
            f"{self.model} on {self.encoding.width} entries a row",
            (
                Branch(f"protects {describe_unit(self.unit)}, who adds {most}"),
                Branch("measures", tuple(lines)),
                Branch(f"costs {shown_price(self.price)}"),
            ),
        )


def fit_document(recipe: Recipe, encoding: Encoding, asked: AskedPrice) -> dict[str, Any]:
    """Return all public parameters of a fit, in plain JSON."""
    return {
        "kind": "model",
        "format": FORMAT,
        "recipe": dict(recipe.document()),
        "encoding": encoding.document(),
        "price": asked.document(),
    }


def fit_plan(  # noqa: PLR0913  all that is public about a fit
    model: str,
    recipe: Recipe,
    encoding: Encoding,
    asked: AskedPrice,
    *,
    unit: PrivacyUnit,
    rows: int = 1,
    names: tuple[str, ...] = (),
) -> FitPlan:
    """Plan a fit for units of at most so many rows."""
    schedule = scheduled(recipe.sums(encoding), asked, unit=unit, rows=rows)
    return FitPlan(model=model, recipe=recipe, encoding=encoding, schedule=schedule, names=names)


def drawn_bytes(
    recipe: Recipe, encoding: Encoding, schedule: SumSchedule, rows: BoundedRows, entropy: Entropy
) -> bytes:
    """Take all sums of a recipe, and return what is stored."""
    released = recipe.run(rows, encoding, RowMeasurer(schedule, entropy))
    document = {"format": FORMAT, "released": dict(released)}
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode("ascii")


def read_released(stored: bytes) -> Released:
    """Return what a stored fit has released.

    >>> read_released(b'{"format":1,"released":{"count":[7]}}')["count"]
    [7]
    """
    released: Released = json.loads(stored)["released"]
    return released


_NAME_BITS: Final = 128


@contextmanager
def opened(ledger: object) -> Iterator[Record]:
    """Lend the record that pays: a ledger, an address of one, or a rehearsal of test mode."""
    if isinstance(ledger, Ledger | Rehearsal):
        yield ledger
    elif isinstance(ledger, str | Path):
        with Ledger.open(ledger) as found:
            yield found
    else:
        raise WrongKind(
            what="no ledger is given." if ledger is None else "the ledger is none.",
            why="whatever is learned from people has a price, and a price that is not written down "
            "is paid anew each time a program starts.",
            do="give ledger='study.ledger', the file of a ledger, or an open discreet.ledger."
            "Ledger.",
        )


def unit_of_rows(record: Record) -> PrivacyUnit:
    """Return the unit of a ledger, if rows of arrays can be it."""
    unit = record.unit if isinstance(record, Ledger) else row()
    if unit.columns:
        raise WrongKind(
            what=f"the ledger protects {describe_unit(unit)}, and arrays do not say whose rows "
            "are whose.",
            why="noise for one row does not hide a person with many.",
            do="fit a table of a session: model.fit(session.table('visits'), label='ill').",
        )
    return unit


def pay_and_draw(
    record: Record, plan: FitPlan, rows: Callable[[], BoundedRows], *, key: str | None
) -> StoredAnswer:
    """Charge a fit, draw it and store it; with a key, once and for all."""

    def draw() -> bytes:
        return drawn_bytes(plan.recipe, plan.encoding, plan.schedule, rows(), SYSTEM)

    name = f"fit {plan.digest[:16]}"
    return pay_and_store(
        record, plan.tree, draw, name=name, key=key, delta=plan.schedule.asked.delta
    )


def pay_and_store(  # noqa: PLR0913  a charge, and what it pays for
    record: Record,
    tree: Node,
    draw: Callable[[], bytes],
    *,
    name: str,
    key: str | None = None,
    delta: Fraction | None = None,
) -> StoredAnswer:
    """Charge, start, draw and release; without a key, under a name that is never used again."""
    last = f"{SYSTEM.bits(_NAME_BITS):032x}" if key is None else key
    called = f"{name}/{last}"
    try:
        begun = record.begin(tree, key=called)
    except WrongKind:
        if delta is None:
            raise
        begun = record.begin(tree, key=called, delta=delta)
    if isinstance(begun, StoredAnswer):
        return begun
    return record.release(begun.key, _drawn(record, begun.key, draw))


def _drawn(record: Record, key: str, draw: Callable[[], bytes]) -> bytes:
    """Draw, or close the charge without a word about the reason: it may hold values."""
    failure: DiscreetError | None = None
    try:
        return draw()
    except EntropyError as error:  # never about a value
        failure = type(error)(what=error.what, why=error.why, do=error.do)
    except Exception:  # noqa: BLE001, S110  (its text may quote the data; replaced below)
        pass
    if failure is None:  # raised here, where the other error is out of sight
        record.fail(key)
        failure = answer_failed_error()
    raise failure
