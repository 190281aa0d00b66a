"""A fit: its plan, known before a row is read, and its way from the charge to the record.

Trust: kernel.  Noise, price and digest follow from the plan.  Rows are turned into integers after
the charge, and the stored release determines the model.

Each fit of arrays is a charge of its own, because it is unknown whether they are the same people:
``cross_val_score`` with five folds pays five times.  A fit with a ``key`` is on record under it:
repeating it returns the same model for free, even if the arrays have changed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, final

from discreet.accounting import Node, encode
from discreet.doors import Explainable
from discreet.extend import (
    AskedPrice,
    Branch,
    Measurer,
    PlannedSum,
    Price,
    Record,
    SumSchedule,
    describe_unit,
    encode_unit,
    html_of,
    loss_of,
    pay_and_store,
    plan_text,
    scheduled,
    shown_price,
)
from discreet.ledger import StoredAnswer
from discreet.loss import PrivacyLoss
from discreet.models.bounded_rows import BoundedRows, Encoding
from discreet.noise import SYSTEM, Entropy
from discreet.units import PrivacyUnit

FORMAT: Final = 1

Released = Mapping[str, Any]
"""Numbers by their names, in plain JSON: all that a model is made of."""


class Recipe(Protocol):
    """What a model takes of rows, and how; it holds public parameters alone."""

    def document(self) -> Mapping[str, Any]:
        """Return all parameters that the release depends on, in plain JSON."""
        ...

    def sums(self, encoding: Encoding) -> tuple[PlannedSum, ...]:
        """Return all sums that are taken."""
        ...

    def run(self, rows: BoundedRows, encoding: Encoding, see: Measurer) -> Released:
        """Take the sums, and return the release."""
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
    """Plan a fit for units of at most this number of rows."""
    schedule = scheduled(recipe.sums(encoding), asked, unit=unit, rows=rows)
    return FitPlan(model=model, recipe=recipe, encoding=encoding, schedule=schedule, names=names)


def drawn_bytes(
    recipe: Recipe, encoding: Encoding, schedule: SumSchedule, rows: BoundedRows, entropy: Entropy
) -> bytes:
    """Take all sums of a recipe, and return the stored release."""
    released = recipe.run(rows, encoding, Measurer(schedule, entropy))
    what = f"model: {recipe.document()['measures']}"  # as `ledger show` lists it
    document = {"answer": what, "format": FORMAT, "released": dict(released)}
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode("ascii")


def read_released(stored: bytes) -> Released:
    """Return what a stored fit has released.

    >>> read_released(b'{"format":1,"released":{"count":[7]}}')["count"]
    [7]
    """
    released: Released = json.loads(stored)["released"]
    return released


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
