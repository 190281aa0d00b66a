"""Losses from the events of dp_accounting.

Trust: public.  What is imported is the claim of whoever wrote the event.

Definition.  An event of dp_accounting (0.6) says which mechanism ran.  It becomes the loss of that
mechanism where one record is added or removed, which is what dp_accounting takes as well, unless it
is told otherwise.  A float stands for its decimal text.  Events are known by the names of their
classes, so that nothing has to be imported for them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Final

from discreet.errors import OutOfRange, WrongKind
from discreet.loss.continuous_laplace import Laplace
from discreet.loss.gaussian_dp import GaussianDP
from discreet.loss.pairs.laplace import DiscreteLaplacePair
from discreet.loss.parameters import checked_count
from discreet.loss.privacy_loss import PrivacyLoss
from discreet.loss.profile import Profile
from discreet.loss.pure_and_approximate import Pure
from discreet.loss.renyi.renyi_and_zcdp import ZeroConcentrated


def from_dp_event(event: object) -> PrivacyLoss:
    """Return the loss of an event of dp_accounting, where one record is added or removed.

    Known are Gaussian, Laplace and discrete Laplace noise, zCDP, Poisson samples, and compositions
    of these; not what has other neighbors, such as randomized response.

    >>> class GaussianDpEvent:  # stands for the one of dp_accounting
    ...     noise_multiplier = 2.0
    >>> from_dp_event(GaussianDpEvent())
    GaussianDP(mu=Fraction(1, 2))
    """
    reader = _READERS.get(type(event).__name__)
    try:
        loss = None if reader is None else reader(event)
    except AttributeError:  # of that name, and not from there
        loss = None
    if loss is None:
        raise WrongKind(
            f"a {type(event).__name__} has no loss here; give one of dp_accounting's: "
            f"{', '.join(_READERS)}."
        )
    return loss


def _number(event: Any, name: str) -> Fraction:
    """Read a number of an event; a float stands for its decimal text."""
    value = getattr(event, name)
    try:
        return Fraction(str(value))
    except ValueError:
        raise OutOfRange(
            f"{name} of a {type(event).__name__} is {value!r}; give a finite number."
        ) from None


def _noise(event: Any, name: str = "noise_multiplier") -> Fraction:
    noise = _number(event, name)
    if noise <= 0:
        raise OutOfRange(
            f"the noise of a {type(event).__name__} is {noise}; give a {name} above 0."
        )
    return noise


def _discrete_laplace(event: Any) -> PrivacyLoss:
    scale = 1 / _noise(event, "noise_parameter")
    return Profile.of_symmetric(DiscreteLaplacePair(scale, checked_count(event.sensitivity)))


def _concentrated(event: Any) -> PrivacyLoss:
    if _number(event, "xi") != 0:
        raise WrongKind("a ZCDpEvent has an xi that is not 0; give a ZCDpEvent with rho alone.")
    return ZeroConcentrated(rho=_number(event, "rho"))


def _composed(event: Any) -> PrivacyLoss:
    parts = [from_dp_event(part) for part in event.events]
    return functools.reduce(lambda one, two: one.compose(two), parts) if parts else Pure(epsilon=0)


_READERS: Final[Mapping[str, Callable[[Any], PrivacyLoss]]] = {
    "NoOpDpEvent": lambda _: Pure(epsilon=0),
    "GaussianDpEvent": lambda event: GaussianDP(mu=1 / _noise(event)),
    "LaplaceDpEvent": lambda event: Laplace(scale=_noise(event)),
    "DiscreteLaplaceDpEvent": _discrete_laplace,
    "ZCDpEvent": _concentrated,
    "ComposedDpEvent": _composed,
    "SelfComposedDpEvent": lambda event: from_dp_event(event.event).power(event.count),
    "PoissonSampledDpEvent": lambda event: from_dp_event(event.event).sampled(
        rate=_number(event, "sampling_probability")
    ),
}
