"""What a training run will do and cost, before a row is read.

Trust: kernel.

A plan is a value made of public numbers: the shape of the model, how units are drawn, the bound on
what one contributes, the noise.  Its tree is what the ledger is charged, and its digest names the
run on record.  ``batch`` and ``population`` are declared; nothing follows from how many rows there
are.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from discreet.accounting import Node, encode
from discreet.accounting.storage.codec import encode_unit
from discreet.learning.banded_noise import INDEPENDENT, Band
from discreet.learning.private_sum import PrivateSum
from discreet.learning.run_tree import statement_of, tree_of_run
from discreet.learning.sampling import PoissonBatches
from discreet.learning.side_counts import NOTHING_BESIDE, SideCounts
from discreet.units import PrivacyUnit, Relation


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPlan:
    """A run: T noisy sums, each on a Poisson sample.

    ``one`` is a sum that is normalized: one unit adds at most 1, whatever the clipping threshold.
    """

    name: str
    unit: PrivacyUnit
    population: int
    batch: int
    steps: int
    clip: tuple[tuple[str, Fraction], ...]
    rows: int
    micro: int
    delta: Fraction
    one: PrivateSum
    overflow: Fraction
    layers: tuple[str, ...]
    model: Mapping[str, Any]
    side: SideCounts = NOTHING_BESIDE
    band: Band = INDEPENDENT
    memory: int = 0
    notes: tuple[str, ...] = ()

    @property
    def rate(self) -> Fraction:
        """The chance with which a unit enters the sample of a step."""
        return Fraction(self.batch, self.population)

    @property
    def sigma(self) -> Fraction:
        """The noise multiplier: the noise on a sum to which one unit adds at most 1."""
        return self.one.sigma

    @property
    def batches(self) -> PoissonBatches:
        """How units are drawn."""
        return PoissonBatches(rate=self.rate, cap=self.one.units)

    @property
    def tree(self) -> Node:
        """What the ledger is charged."""
        return self.tree_of(self.steps)

    def tree_of(self, steps: int) -> Node:
        """Return the composition of so many steps, with their share of batches above the cap."""
        return tree_of_run(
            self.band.leaf(self.one, self.unit),
            rate=self.rate * self.band.width,
            steps=self.band.blocks(steps),
            unit=self.unit,
            overflow=self.overflow * steps / self.steps,
        )

    def epsilon(self, *, relation: Relation | str | None = None) -> float:
        """Return what the run loses at its delta, for the unit's relation or another one."""
        unit = self.unit
        if relation is not None:
            unit = PrivacyUnit(
                name=unit.name, columns=unit.columns, relation=Relation.read(relation)
            )
        return statement_of(self.tree, unit).epsilon(delta=self.delta)

    @property
    def document(self) -> dict[str, Any]:
        """All public parameters, in plain JSON."""
        return {
            "format": 1,
            "training": self.name,
            "unit": encode_unit(self.unit),
            "population": self.population,
            "batch": self.batch,
            "steps": self.steps,
            "clip": [[name, str(bound)] for name, bound in self.clip],
            "rows": self.rows,
            "delta": str(self.delta),
            "tree": encode(self.tree),
            "model": dict(self.model),
            **({"band": self.band.width} if self.band.width > 1 else {}),
            **({"told": [*self.side.names, str(self.side.most)]} if self.side.names else {}),
        }

    @property
    def digest(self) -> str:
        """The name of the run on record."""
        text = json.dumps(self.document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode("ascii")).hexdigest()

    @property
    def key(self) -> str:
        """The key of the charge."""
        return f"training {self.digest}"

    def __str__(self) -> str:
        """Show it on a few lines."""
        bounds = ", ".join(f"{n}: {float(b):g}" if n else f"{float(b):g}" for n, b in self.clip)
        slack = float(self.one.slack / self.one.clipping.bound)
        both = " and ".join(
            f"{self.epsilon(relation=r):.4g} under {r}" for r in ("add_remove", "replace")
        )
        lines = [
            (
                f"{self.steps} steps on {self.batch} of at most {self.population} "
                f"{self.unit.name}s, drawn by chance (rate {float(self.rate):.4g})"
            ),
            (
                f"noise multiplier {float(self.sigma):.5g} on {self.one.coordinates} numbers, "
                f"clipped at {bounds}"
            ),
            f"epsilon {both}, at delta {float(self.delta):g}",
            (
                f"cap {self.one.units} (exceeded with a chance of {float(self.overflow):.1g}), "
                f"micro-batches of {self.micro}, slack {slack:.1e}"
            ),
            *(f"  {line}" for line in self.layers),
            *self._bought(),
            *self.notes,
        ]
        return "\n".join(lines)

    def _bought(self) -> list[str]:
        """Say what is told beside the sums, and what memory a step takes beside the model."""
        spreads = self.side.spreads(sigma=self.sigma, batch=self.batch)
        told = ", ".join(f"{name} (noise {spread:.2g})" for name, spread in spreads.items())
        lines = [f"told in each step: {told}"] if told else []
        if self.band.width > 1:
            lines.append(
                f"noise in bands of {self.band.width} steps; units take turns in as many parts"
            )
        if self.memory:
            lines.append(f"about {self.memory / 2**20:.1f} MiB beside model and optimizer")
        return lines
