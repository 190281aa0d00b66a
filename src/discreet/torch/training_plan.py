"""What a training run will do and cost, before a row is read, and the least noise for a promise.

Trust: kernel.

A plan is a value made of public numbers: the shape of the model, how units are drawn, the bound on
what one contributes, the noise.  Its tree is what the ledger is charged, and its digest names the
run on record.  ``batch`` and ``population`` are declared; nothing follows from how many rows there
are.

The search for sigma runs on continuous Gaussians, whose price takes milliseconds.  Noise on a grid
is below such a Gaussian (key ``gaussian-smoothing``), so the variance that the grid and the
distance with its slack need follows from a formula; one price of the whole tree then certifies it.
A wrong sigma would be priced correctly, and a plan shows that price.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

from discreet.accounting import Node, dp_sgd_sigma, encode
from discreet.errors import OutOfRange, TooImprecise, WrongKind
from discreet.exact import decimal, float_up, positive, whole
from discreet.extend import (
    checked_count,
    checked_delta,
    checked_epsilon,
    checked_rate,
    encode_unit,
    smoothing,
)
from discreet.loss import gaussian_sigma
from discreet.torch.banded_noise import INDEPENDENT, Band
from discreet.torch.clipping import Clipping
from discreet.torch.private_sum import PrivateSum, statement_of, tree_of_run
from discreet.torch.sampling import PoissonBatches, overflow_chance, smallest_cap
from discreet.torch.side_counts import NOTHING_BESIDE, SideCounts
from discreet.units import PrivacyUnit, Relation

_BITS: Final = 22
_TRIES: Final = 24


def calibrated_sigma(  # noqa: PLR0913  a promise, and the run that it is about
    *,
    rate: object,
    steps: int,
    epsilon: object,
    delta: object,
    squared: int,
    step: Fraction,
    coordinates: int,
    tree: Callable[[Fraction], Node],
    unit: PrivacyUnit,
    overflow: Fraction = Fraction(0),
) -> Fraction:
    """Return a sigma, in the units of the sum, at which the whole tree keeps the promise.

    Args:
        rate: the probability with which a unit enters a sample.
        steps: how many sums are released.
        epsilon: what may be lost.
        delta: with this probability, more.
        squared: the squared distance of two sums, in steps of the grid.
        step: the step of the grid.
        coordinates: how many numbers a sum has.
        tree: the composition, for a sigma in the units of the sum.
        unit: who is protected, under which relation.
        overflow: the part of delta that is spent on batches above their cap.
    """
    chance = checked_delta(delta)
    target = positive(checked_epsilon(epsilon), name="epsilon")
    rest = chance - (2 if unit.relation.replaces else 1) * overflow
    if rest <= 0:
        raise OutOfRange(
            "delta is used up by the chance that a batch exceeds its cap: give a larger delta, or "
            "a larger cap."
        )
    multiplier = noise_multiplier(rate=rate, steps=steps, epsilon=target, delta=rest, unit=unit)
    sigma = _on_grid(multiplier, squared, step, smoothing(min(coordinates, squared)))
    for _ in range(_TRIES):
        if statement_of(tree(sigma), unit).delta(epsilon=target) <= chance:
            return sigma
        sigma = _rounded_up(sigma * Fraction(1 + 2**-16))
    raise OutOfRange(
        "no noise near that of a continuous Gaussian keeps the promise: raise epsilon or delta, or "
        "take fewer steps."
    )


def noise_multiplier(
    *, rate: object, steps: int, epsilon: object, delta: object, unit: PrivacyUnit
) -> Fraction:
    """Return the least noise of a run, over the distance of two sums, on continuous Gaussians.

    Replacing a unit removes one and adds another; the search uses half of epsilon, and the result
    is then certified by the tree, which finds the true loss.

    >>> from discreet.units import row
    >>> args = dict(rate=Fraction(4096, 50000), steps=875, epsilon=1, delta=1e-5)
    >>> round(float(noise_multiplier(**args, unit=row())), 4)
    9.119
    """
    times, chance = checked_count(steps, name="steps"), checked_rate(rate)
    goal = positive(checked_epsilon(epsilon), name="epsilon")
    if chance == 1:
        far = 2 if unit.relation.replaces else 1
        return gaussian_sigma(epsilon=goal, delta=delta, count=times, distance=far)
    if unit.relation.replaces:
        goal /= 2
    return dp_sgd_sigma(rate=chance, steps=times, epsilon=goal, delta=delta)


def _on_grid(multiplier: Fraction, squared: int, step: Fraction, lost: Fraction) -> Fraction:
    """Return a sigma with sigma**2 / step**2 >= multiplier**2 * squared + lost, just above."""
    variance = (multiplier**2 * squared + lost) * step**2
    return _rounded_up(Fraction(float_up(variance)), root=True)


def _rounded_up(value: Fraction, *, root: bool = False) -> Fraction:
    """Round up to a few significant bits, so that it prints and digests as a short number."""
    size = math.sqrt(value) if root else float(value)
    mantissa, power = math.frexp(size)
    rounded = Fraction(math.ceil(mantissa * 2**_BITS), 2**_BITS) * Fraction(2) ** power
    while root and rounded**2 < value:
        rounded += Fraction(2) ** (power - _BITS)
    return rounded


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPlan:
    """A run: T noisy sums, each on a Poisson sample.

    ``one`` is a normalized sum: one unit adds at most 1, for any clipping threshold.
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
        """The probability with which a unit enters the sample of a step."""
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
        """Return the composition of these steps, with their share of batches above the cap."""
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
        """Describe the side quantities, and the memory of a step in excess of the model's."""
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


_SHARE_OF_DELTA: Final = 1000
_MOST_SLACK: Final = Fraction(5, 100)
_BYTES: Final = 24  # of a coordinate: float64 totals, noise, and the noise drawn ahead


def plan_training(  # noqa: PLR0913  everything that a run depends on
    *,
    name: str,
    unit: PrivacyUnit,
    population: int,
    batch: int,
    steps: int,
    clip: object = 1,
    coordinates: int,
    delta: object,
    epsilon: object = None,
    sigma: object = None,
    rows: int = 1,
    micro: int = 256,
    positions: int = 1,
    short: int = 0,
    side: SideCounts = NOTHING_BESIDE,
    band: int = 1,
    memory: int = 0,
    layers: tuple[str, ...] = (),
    model: Mapping[str, Any] | None = None,
    notes: tuple[str, ...] = (),
) -> TrainingPlan:
    """Plan a run for an epsilon, or with a noise multiplier ``sigma``.

    >>> from discreet.units import row
    >>> plan = plan_training(name="digits", unit=row(), population=1797, batch=256, steps=100,
    ...     clip="0.2", coordinates=650, epsilon=3, delta="1e-5")
    >>> round(float(plan.sigma), 3), plan.epsilon() <= 3
    (2.22, True)

    ``clip`` is a number, or one for each group of parameters, as pairs of a prefix and a number;
    ``coordinates`` is how many numbers the model has.
    """
    if (epsilon is None) == (sigma is None):
        raise WrongKind(
            "neither or both of epsilon and sigma are given: give epsilon, and the noise follows; "
            "or give sigma, and the price follows."
        )
    people = whole(population, name="population", low=1)
    drawn = whole(batch, name="batch", low=1, high=people)
    times, chance = whole(steps, name="steps", low=1), checked_delta(delta)
    if chance == 0:
        raise OutOfRange("delta is 0: give a delta far below one over the population.")
    rate, turns = Fraction(drawn, people), Band(band)
    whole(drawn * turns.width, name="batch times band", high=people)
    _check_delta(chance, rate * turns.width, turns.blocks(times))
    cap = cap_of(population=people, batch=drawn, steps=times, delta=chance)
    overflow = overflow_chance(population=people, rate=rate, cap=cap, steps=times)
    size = min(whole(micro, name="micro", low=1), cap)
    numbers = coordinates + len(side.names)

    def one(width: Fraction) -> PrivateSum:
        return PrivateSum(
            clipping=Clipping(bound=1),
            sigma=width,
            coordinates=numbers,
            units=cap,
            operations=2 * cap * positions * rows + 8,  # each is added to the total, and padding
            short=short,
            beside=side.squared,
        )

    first = one(Fraction(1))
    _check_slack(first)
    if sigma is None:
        width = calibrated_sigma(
            rate=rate * turns.width,
            steps=turns.blocks(times),
            epsilon=epsilon,
            delta=chance,
            squared=turns.squared(first),
            step=turns.grid(first).step,
            coordinates=numbers * turns.width,
            tree=lambda s: tree_of_run(
                turns.leaf(one(s), unit),
                rate=rate * turns.width,
                steps=turns.blocks(times),
                unit=unit,
                overflow=overflow,
            ),
            unit=unit,
            overflow=overflow,
        )
    else:
        width = positive(decimal(sigma, name="sigma"), name="sigma")
    return TrainingPlan(
        name=name,
        unit=unit,
        population=people,
        batch=drawn,
        steps=times,
        clip=_thresholds(clip),
        rows=rows,
        micro=size,
        delta=chance,
        one=one(width),
        overflow=overflow,
        layers=layers,
        model={} if model is None else model,
        side=side,
        band=turns,
        memory=memory and memory + (_BYTES + 16 * (turns.width - 1)) * numbers,
        notes=notes,
    )


def cap_of(*, population: int, batch: int, steps: int, delta: object) -> int:
    """Return how many units a batch of a run has at most.

    >>> cap_of(population=1797, batch=256, steps=100, delta="1e-5")
    363
    """
    people = whole(population, name="population", low=1)
    return smallest_cap(
        population=people,
        rate=Fraction(whole(batch, name="batch", low=1, high=people), people),
        steps=whole(steps, name="steps", low=1),
        chance=checked_delta(delta) / _SHARE_OF_DELTA,
    )


def _thresholds(clip: object) -> tuple[tuple[str, Fraction], ...]:
    """Read the clipping threshold of each group of parameters."""
    pairs = clip if isinstance(clip, tuple) else (("", clip),)
    return tuple((name, positive(decimal(each, name="clip"), name="clip")) for name, each in pairs)


def _check_delta(delta: Fraction, rate: Fraction, times: int) -> None:
    """Refuse a delta that a run without noise would keep: the probability of any draw."""
    if rate == 1 and delta < 1:
        return
    if rate == 1 or delta >= -math.expm1(times * math.log1p(-float(rate))):
        raise OutOfRange(
            "delta is as large as the chance that a unit is drawn at all: give a delta far below "
            "one over the population."
        )


def _check_slack(one: PrivateSum) -> None:
    """Refuse sums whose rounding would cost too much."""
    if one.slack > _MOST_SLACK:
        raise TooImprecise(
            what="rounding may move a sum by more than 5 percent of what one unit adds.",
            why="it is added to the distance that noise is scaled to, and costs accuracy.",
            do="take smaller batches, or add up in float64.",
        )
