"""How losses are written: every notion, and every profile whose pairs are known by name.

Trust: kernel.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from discreet.accounting.forms import Form, Kind, choice, kinds, late, many, optional, unreadable
from discreet.accounting.written_values import POSITIVE, WHOLE

if TYPE_CHECKING:  # a loss is loaded when it is met
    from discreet.loss.pairs.pair import Pair
    from discreet.loss.pairs.response import ResponsePair
    from discreet.loss.pairs.sampled import Direction

__all__ = ["LOSS_KINDS"]

_loss: Final = functools.partial(late, "discreet.loss")

_CURVE: Final = kinds(
    "a curve", [_loss("RenyiCurve", rho=POSITIVE, orders=many(POSITIVE), values=many(POSITIVE))]
)
_LAW: Final = many(POSITIVE, low=1)


def _response(*, epsilon: Fraction, delta: Fraction) -> ResponsePair:
    if delta > 1:
        raise unreadable("a delta is above one")
    from discreet.loss.pairs.response import ResponsePair  # noqa: PLC0415  as above

    return ResponsePair(epsilon, delta)


def _write_counted(counted: tuple[Pair, int], depth: int) -> list[object]:
    pair, count = counted
    return [_PAIR.write(pair, depth), WHOLE.write(count, depth)]


def _read_counted(data: object, depth: int) -> tuple[Pair, int]:
    match data:
        case [pair, count]:
            return _PAIR.read(pair, depth), WHOLE.read(count, depth)
    raise unreadable("a pair of laws does not stand beside its count")


def _read_direction(data: object, depth: int) -> Direction:
    from discreet.loss.pairs.sampled import Direction  # noqa: PLC0415  as above

    found: Direction = choice(Direction).read(data, depth)
    return found


def _pair(file: str, name: str, *, make: Callable[..., Any] | None = None, **fields: Form) -> Kind:
    return late(f"discreet.loss.pairs.{file}", name, make=make, kept=None, **fields)


_DIRECTION: Final = Form(lambda member, _: member.value, _read_direction)
_COUNTED: Final = many(Form(_write_counted, _read_counted))
_COMPOSITION: Final = kinds(
    "a product of pairs", [_loss("Composition", pairs=_COUNTED, renyi=optional(_CURVE))]
)
_SIDE: Final = many(_COMPOSITION, low=1)

_PAIR: Form = kinds(
    "a pair of laws",
    [
        _pair("bounded_range", "BoundedRangePair", epsilon=POSITIVE),
        _pair("discrete_gaussian", "DiscreteGaussianPair", variance=POSITIVE, distance=WHOLE),
        _pair("discrete_laplace", "DiscreteLaplacePair", scale=POSITIVE, distance=WHOLE),
        _pair("finite", "FinitePair", p=_LAW, q=_LAW),
        _pair("gaussian", "GaussianPair", mu_squared=POSITIVE),
        _pair("laplace", "LaplacePair", epsilon=POSITIVE),
        _pair("response", "ResponsePair", make=_response, epsilon=POSITIVE, delta=POSITIVE),
        _pair(
            "smoothed_gaussian",
            "SmoothedGaussianPair",
            mu_squared=POSITIVE,
            leak=POSITIVE,
            rho=POSITIVE,
        ),
        _pair("sampled", "SampledPair", inner=_COMPOSITION, rate=POSITIVE, direction=_DIRECTION),
    ],
)

LOSS_KINDS: Final = (
    _loss("Pure", epsilon=POSITIVE, kept={"epsilon": "bound"}),
    _loss(
        "Approximate",
        epsilon=POSITIVE,
        delta=POSITIVE,
        kept={"epsilon": "epsilon_bound", "delta": "delta_bound"},
    ),
    _loss("ZeroConcentrated", rho=POSITIVE),
    _loss("GaussianDP", mu_squared=POSITIVE),
    _loss("RenyiDP", orders=many(POSITIVE), values=many(POSITIVE)),
    _loss("Profile", remove=_SIDE, add=_SIDE),
)
"""Adding a notion of loss is one line here."""
