"""How losses are written: every notion, and every profile whose pairs are known by name.

Trust: kernel.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from discreet.accounting.forms import Form, choice, kind, kinds, many, optional, unreadable
from discreet.accounting.written_values import POSITIVE, WHOLE
from discreet.loss import (
    Approximate,
    Composition,
    GaussianDP,
    Profile,
    Pure,
    RenyiCurve,
    RenyiDP,
    ZeroConcentrated,
)
from discreet.loss.pairs.bounded_range import BoundedRangePair
from discreet.loss.pairs.discrete_gaussian import DiscreteGaussianPair
from discreet.loss.pairs.discrete_laplace import DiscreteLaplacePair
from discreet.loss.pairs.finite import FinitePair
from discreet.loss.pairs.gaussian import GaussianPair
from discreet.loss.pairs.laplace import LaplacePair
from discreet.loss.pairs.pair import Pair
from discreet.loss.pairs.response import ResponsePair
from discreet.loss.pairs.sampled import Direction, SampledPair
from discreet.loss.pairs.smoothed_gaussian import SmoothedGaussianPair

__all__ = ["LOSS_KINDS"]

_CURVE: Final = kinds(
    "a curve", [kind(RenyiCurve, rho=POSITIVE, orders=many(POSITIVE), values=many(POSITIVE))]
)
_LAW: Final = many(POSITIVE, low=1)


def _response(*, epsilon: Fraction, delta: Fraction) -> ResponsePair:
    if delta > 1:
        raise unreadable("a delta is above one")
    return ResponsePair(epsilon, delta)


def _write_counted(counted: tuple[Pair, int], depth: int) -> list[object]:
    pair, count = counted
    return [_PAIR.write(pair, depth), WHOLE.write(count, depth)]


def _read_counted(data: object, depth: int) -> tuple[Pair, int]:
    match data:
        case [pair, count]:
            return _PAIR.read(pair, depth), WHOLE.read(count, depth)
    raise unreadable("a pair of laws does not stand beside its count")


_COUNTED: Final = many(Form(_write_counted, _read_counted))
_COMPOSITION: Final = kinds(
    "a product of pairs", [kind(Composition, pairs=_COUNTED, renyi=optional(_CURVE))]
)
_SIDE: Final = many(_COMPOSITION, low=1)

_PAIR: Form = kinds(
    "a pair of laws",
    [
        kind(BoundedRangePair, epsilon=POSITIVE),
        kind(DiscreteGaussianPair, variance=POSITIVE, distance=WHOLE),
        kind(DiscreteLaplacePair, scale=POSITIVE, distance=WHOLE),
        kind(FinitePair, p=_LAW, q=_LAW),
        kind(GaussianPair, mu_squared=POSITIVE),
        kind(LaplacePair, epsilon=POSITIVE),
        kind(ResponsePair, make=_response, epsilon=POSITIVE, delta=POSITIVE),
        kind(SmoothedGaussianPair, mu_squared=POSITIVE, leak=POSITIVE, rho=POSITIVE),
        kind(SampledPair, inner=_COMPOSITION, rate=POSITIVE, direction=choice(Direction)),
    ],
)

LOSS_KINDS: Final = (
    kind(Pure, epsilon=POSITIVE, kept={"epsilon": "bound"}),
    kind(
        Approximate,
        epsilon=POSITIVE,
        delta=POSITIVE,
        kept={"epsilon": "epsilon_bound", "delta": "delta_bound"},
    ),
    kind(ZeroConcentrated, rho=POSITIVE),
    kind(GaussianDP, mu_squared=POSITIVE),
    kind(RenyiDP, orders=many(POSITIVE), values=many(POSITIVE)),
    kind(Profile, remove=_SIDE, add=_SIDE),
)
"""Adding a notion of loss is one line here."""
