"""Promises, and what one event says about each of them.

Trust: public.

Definition.  An event E of outputs has probability p on one neighbor and q on the other.  If p >= P
and q <= Q are known, every family of promises has a least member that is still possible.

Theorem (key ``event-bounds``; Kairouz, Oh and Viswanath 2015, The Composition Theorem for
Differential Privacy; Lokna and others 2023, Group and Attack: Auditing Differential Privacy).
With 1 >= p >= P > Q >= q >= 0, a mechanism that is
    (epsilon, delta)-DP has  epsilon >= ln((P - delta) / Q) and ln((1 - Q - delta) / (1 - P));
    rho-zCDP has  rho >= D_a(P || Q) / a and D_a(Q || P) / a, for all orders a > 1 of the
    divergences of two coins;
    mu-GDP has  mu >= Phi^-1(P) - Phi^-1(Q).
Proof.  Whether an output is in E is post-processing, so the coins (p, q) keep the promise.  Each
right side grows with P and falls with Q if P > Q, so it is at most its value at (p, q), which
the promise bounds.  The second form is the first, for the outputs outside E and the neighbors
swapped.
All of them follow from the same two numbers: one event may test any number of promises, at all
deltas and orders, and choosing among them costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, final

import numpy as np

from discreet.attacks.claim import (
    DELTAS,
    Claim,
    Floats,
    Level,
    epsilon_level,
    log_ratios,
    normal_gap,
    renyi_coins,
)
from discreet.errors import OutOfRange, WrongKind
from discreet.exact import float_down, float_up
from discreet.loss import Approximate as ApproximateLoss
from discreet.loss import GaussianDP, PrivacyLoss, ZeroConcentrated
from discreet.loss.parameters import checked_delta, checked_epsilon, checked_parameter

__all__ = [
    "ORDERS",
    "ApproximateClaim",
    "Concentrated",
    "Curve",
    "GaussianMu",
    "PureClaim",
    "claim_of",
]

ORDERS: Final = tuple(Fraction(round(64 * (1 + 2.0**k)), 64) for k in range(-6, 9))
_LITTLE: Final = 0.01


@final
@dataclass(frozen=True, slots=True, init=False)
class ApproximateClaim(Claim):
    """(epsilon, delta)-differential privacy at one delta.

    >>> ApproximateClaim(delta="1e-6", epsilon=1).lower(Fraction(1, 2), Fraction(1, 10)).lower
    1.6094359124321003
    """

    delta: Fraction
    epsilon: Fraction | None

    def __init__(self, *, delta: object, epsilon: object = None) -> None:
        """Take the delta, and the epsilon that was promised."""
        object.__setattr__(self, "delta", checked_delta(delta))
        object.__setattr__(self, "epsilon", None if epsilon is None else checked_epsilon(epsilon))

    def lower(self, p: Fraction, q: Fraction) -> Level:
        """Return the larger of the two logarithms."""
        return epsilon_level(p, q, self.delta, _up(self.epsilon))

    def guess(self, p: Floats, q: Floats) -> Floats:
        """Return the larger of the two logarithms."""
        return log_ratios(p, q, float(self.delta))

    def curve(self, p: Fraction, q: Fraction) -> tuple[Level, ...]:
        """Add the delta of the promise, and what it says at larger ones."""
        return tuple(
            epsilon_level(p, q, delta, _up(self.epsilon) if delta >= self.delta else None)
            for delta in sorted({*DELTAS, self.delta})
        )


@final
@dataclass(frozen=True, slots=True, init=False)
class PureClaim(Claim):
    """Pure differential privacy.

    >>> PureClaim(epsilon=1).lower(Fraction(1, 2), Fraction(1, 10))
    Level(lower=1.6094379124341003, claimed=1.0, delta=0.0)
    """

    epsilon: Fraction | None

    def __init__(self, *, epsilon: object = None) -> None:
        """Take the epsilon that was promised."""
        object.__setattr__(self, "epsilon", None if epsilon is None else checked_epsilon(epsilon))

    def lower(self, p: Fraction, q: Fraction) -> Level:
        """Return the larger of the two logarithms."""
        return ApproximateClaim(delta=0, epsilon=self.epsilon).lower(p, q)

    def guess(self, p: Floats, q: Floats) -> Floats:
        """Return the larger of the two logarithms."""
        return log_ratios(p, q, 0.0)

    def curve(self, p: Fraction, q: Fraction) -> tuple[Level, ...]:
        """Return the least possible epsilon at several deltas; the claim holds at all of them."""
        return ApproximateClaim(delta=0, epsilon=self.epsilon).curve(p, q)


@final
@dataclass(frozen=True, slots=True, init=False)
class Concentrated(Claim):
    """Zero-concentrated differential privacy.

    >>> Concentrated().lower(Fraction(1, 2), Fraction(1, 10)).lower > 0.51
    True
    """

    parameter: ClassVar[str] = "rho"
    rho: Fraction | None

    def __init__(self, *, rho: object = None) -> None:
        """Take the rho that was promised."""
        given = None if rho is None else checked_parameter(rho, name="rho")
        object.__setattr__(self, "rho", given)

    def lower(self, p: Fraction, q: Fraction) -> Level:
        """Return the largest divergence of two coins over its order."""
        if p <= q:
            return Level(0.0, _up(self.rho))
        bound = max(
            divergence / order
            for order in ORDERS
            for divergence in (renyi_coins(p, q, order), renyi_coins(q, p, order))
        )
        if isinstance(bound, float):
            return Level(bound, _up(self.rho))
        return Level(float_down(max(bound, Fraction(0))), _up(self.rho))

    def guess(self, p: Floats, q: Floats) -> Floats:
        """Return the larger Kullback-Leibler divergence, which is near the largest quotient."""
        return np.where(p > q, np.maximum(_entropy(p, q), _entropy(q, p)), 0.0)


@final
@dataclass(frozen=True, slots=True, init=False)
class GaussianMu(Claim):
    """Gaussian differential privacy.

    >>> round(GaussianMu().lower(Fraction(1, 2), Fraction(1, 10)).lower, 6)
    1.281552
    """

    parameter: ClassVar[str] = "mu"
    mu: Fraction | None

    def __init__(self, *, mu: object = None) -> None:
        """Take the mu that was promised."""
        object.__setattr__(self, "mu", None if mu is None else checked_parameter(mu, name="mu"))

    def lower(self, p: Fraction, q: Fraction) -> Level:
        """Return the difference of two quantiles."""
        return Level(normal_gap(p, q) if p > q else 0.0, _up(self.mu))

    def guess(self, p: Floats, q: Floats) -> Floats:
        """Return the difference of two quantiles."""
        from scipy.special import ndtri  # type: ignore[import-untyped]  # noqa: PLC0415  slow

        with np.errstate(invalid="ignore"):
            gap: Floats = ndtri(p) - ndtri(q)
        return np.maximum(np.nan_to_num(gap, nan=0.0), 0.0)


@final
@dataclass(frozen=True, slots=True, init=False)
class Curve(Claim):
    """Any loss at all, or a list of promises: epsilon at several deltas.

    The most telling delta is shown.

    >>> from discreet.loss import GaussianDP
    >>> found = Curve(GaussianDP(mu=1)).lower(Fraction(1, 2), Fraction(1, 100))
    >>> found.lower > found.claimed
    True
    >>> Curve({"0": 2, "1e-6": 1}).points
    ((Fraction(0, 1), 2.0), (Fraction(1, 1000000), 1.0))
    """

    points: tuple[tuple[Fraction, float], ...]

    def __init__(self, loss: PrivacyLoss | Mapping[object, object]) -> None:
        """Take a loss, and look up what it promises; or epsilons, by their deltas."""
        if isinstance(loss, Mapping):
            given = {checked_delta(delta): epsilon for delta, epsilon in loss.items()}
            known = [(at, float_up(checked_epsilon(given[at]))) for at in sorted(given)]
        else:
            known = [(delta, loss.epsilon(delta=delta)) for delta in DELTAS]
        finite = tuple(point for point in known if math.isfinite(point[1]))
        if not finite:
            raise OutOfRange(
                what="the promise says nothing at any delta.",
                why="what is measured is compared with what was claimed.",
                do="give a finite epsilon for at least one delta below 1.",
            )
        object.__setattr__(self, "points", finite)

    def lower(self, p: Fraction, q: Fraction) -> Level:
        """Return the epsilon that is the largest multiple of its claim."""
        return max(
            self.curve(p, q), key=lambda level: level.lower / max(level.claimed or 0.0, _LITTLE)
        )

    def curve(self, p: Fraction, q: Fraction) -> tuple[Level, ...]:
        """Return the least possible epsilon at the deltas of the promise."""
        return tuple(epsilon_level(p, q, delta, claimed) for delta, claimed in self.points)

    def guess(self, p: Floats, q: Floats) -> Floats:
        """Return the largest multiple of a claim."""
        excesses = [
            log_ratios(p, q, float(delta)) / max(claimed, _LITTLE) for delta, claimed in self.points
        ]
        return np.asarray(np.max(excesses, axis=0), dtype=np.float64)

    def point(self, p: Floats, q: Floats, delta: float) -> float:
        """Return epsilon at one delta."""
        return float(log_ratios(p, q, delta))


def claim_of(promise: object) -> Claim:  # noqa: PLR0911  one for each kind of promise
    """Return the claim that a number, a loss or None denotes.

    >>> claim_of(1), claim_of(None)
    (PureClaim(epsilon=Fraction(1, 1)), PureClaim(epsilon=None))
    >>> claim_of(GaussianDP(mu_squared=2)).mu > Fraction("1.414")
    True
    """
    match promise:
        case Claim():
            return promise
        case None:
            return PureClaim()
        case GaussianDP():
            return GaussianMu(mu=Fraction(promise.mu))
        case ZeroConcentrated():
            return Concentrated(rho=promise.rho)
        case ApproximateLoss():
            return ApproximateClaim(delta=promise.delta_bound, epsilon=promise.epsilon_bound)
        case PrivacyLoss():
            bound = promise.pure_bound()
            return Curve(promise) if bound is None else PureClaim(epsilon=bound)
        case int() | float() | Fraction() | str():
            return PureClaim(epsilon=promise)
        case _:
            raise WrongKind(
                what=f"a {type(promise).__name__} is not a promise about privacy.",
                why="what is measured is compared with what was claimed.",
                do="give an epsilon, a loss, or claims.ApproximateClaim(epsilon=1, delta='1e-6').",
            )


def _entropy(p: Floats, q: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        first = np.where(p > 0, p * np.log(p / q), 0.0)
        second = np.where(p < 1, (1 - p) * np.log((1 - p) / (1 - q)), 0.0)
    return np.asarray(first + second, dtype=np.float64)


def _up(value: Any) -> float | None:
    return None if value is None else float_up(value)
