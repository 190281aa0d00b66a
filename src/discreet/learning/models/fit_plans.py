"""The plan of a fit: what it will measure and cost, known before a row is read.

Trust: kernel.  Noise, price and digest follow from it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, final

from discreet.accounting import Node
from discreet.accounting.codec import encode, encode_unit
from discreet.doors import Explainable
from discreet.learning.models.asked_price import AskedPrice
from discreet.learning.models.measurement import (
    PlannedSum,
    RowMeasurer,
    SumSchedule,
    scheduled,
)
from discreet.learning.models.rows.bounded_rows import BoundedRows, Encoding
from discreet.loss import PrivacyLoss
from discreet.noise import Entropy
from discreet.plan.plan_text import Branch, html_of, plan_text, shown_price
from discreet.plan.pricing.calibration import Price, loss_of
from discreet.units import PrivacyUnit
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
