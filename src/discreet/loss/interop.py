"""Privacy loss distributions in exchange: what others made is read, ours are written for them.

Trust: kernel.

Definition.  A distribution in one direction has masses p_k at losses k s, for integers k and a
discretization s, and a mass at infinity; its profile is
    h(eps) = p_inf + sum of p_k (1 - e**(eps - k s))+.
A *pessimistic* one claims that the release has no larger profile at any eps >= 0.

Theorem (key ``imported-distribution``; Doroshenko et al. 2022, Connect the Dots).  Let two
distributions bound the profiles of a release at every eps >= 0, if a unit is removed and where
it is added.  The chords through h_remove at the losses k s >= 0, and through h_add likewise, are
the two sides of one pair, which dominates the release in every composition.
Proof: docs/proofs/accounting.md, section 15.

Losses below 0 therefore say nothing, and errors of a Fourier transform there cost nothing.  Walking
from the largest loss to the left, with w = the sum of p_i e**-(s(i - k)) over i >= k,
    h((k - g) s) = h(k s) + (1 - e**-(g s)) w      if no mass is between,
so that only numbers above zero are added and every step rounds by a few units.

The written curve connects the dots (key ``connect-the-dots``).
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np

from discreet.errors import OutOfRange, WrongKind
from discreet.exact import whole
from discreet.loss.composition import Composition
from discreet.loss.curved_pair import CurvedPair, LossEnds
from discreet.loss.dots import above_knots, knots
from discreet.loss.parameters import checked_count
from discreet.loss.polygon import HalfProfile
from discreet.loss.privacy_loss import PrivacyLoss, checked_loss
from discreet.loss.profile import Profile
from discreet.loss.rho import MomentGrowth
from discreet.loss.rounding import NODE_MARGIN, UNIT, Bracket

_RARE: Final = Fraction(1, 10**12)
_FARTHEST: Final = 200
_MOST: Final = 10**12
_ROUNDED: Final = 1e-4  # how far cancellation may take masses below zero, or their sum above one

Nodes = tuple[tuple[float, float], ...]


@final
@dataclass(frozen=True, slots=True)
class ImportedPair(CurvedPair):
    """Corners (eps, h) of two profiles, from eps = 0 on; each eps is a multiple of a spacing."""

    forward: Nodes
    backward: Nodes
    spacing: Fraction

    def reverse(self) -> ImportedPair:
        return ImportedPair(self.backward, self.forward, self.spacing)

    def half_profile(self) -> HalfProfile:
        x, value = np.array(self.forward).T
        return HalfProfile.of_nodes(x, value)

    def ends(self) -> LossEnds:
        last, left = self.forward[-1]
        return LossEnds(Bracket(left, left), last * (1 - NODE_MARGIN), last, self.spacing)

    def moment(self, t: float) -> float:  # noqa: ARG002
        return math.inf

    def growth(self) -> MomentGrowth | None:
        return MomentGrowth(linear=self.forward[-1][0])


def from_pld(distribution: object) -> Profile:
    """Return the loss that a pessimistic privacy loss distribution claims, both ways.

    It is as true as the distribution: nothing here can check how that was made.  Its neighbors are
    those for which it was made.  Read are a ``PrivacyLossDistribution`` of dp_accounting, and plain
    data with the same names, as in JSON: ``discretization``, ``pessimistic_estimate`` and, for
    ``remove`` and ``add``, ``lower_loss`` (the first loss, as a multiple), ``probs`` and
    ``infinity_mass``.  Without ``add``, both directions are alike.

    Mass that is missing counts as infinite; an optimistic distribution is refused.

    >>> coin = {"lower_loss": -1, "probs": [0.25, 0, 0.75], "infinity_mass": 0}
    >>> plain = {"discretization": 1.0986122886681098, "pessimistic_estimate": True, "remove": coin}
    >>> loss = from_pld(plain)
    >>> round(loss.delta(epsilon=0), 12), round(loss.power(2).epsilon(delta="0.1"), 4)
    (0.5, 2.0015)
    """
    try:
        data = distribution if isinstance(distribution, Mapping) else _plain(distribution)
        forward = _corners(data, "remove")
        backward = _corners(data, "add") if "add" in data else forward
        pair = ImportedPair(forward, backward, Fraction(float(data["discretization"])))
    except (AttributeError, KeyError, TypeError, ValueError):
        raise WrongKind(
            f"a {type(distribution).__name__} is not read as a privacy loss distribution; give a "
            "PrivacyLossDistribution of dp_accounting, or a mapping with discretization, "
            "pessimistic_estimate and remove: lower_loss, probs and infinity_mass."
        ) from None
    return Profile(remove=(Composition.of(pair),), add=(Composition.of(pair.reverse()),))


def _plain(distribution: Any) -> dict[str, Any]:
    """Read the fields of an object of dp_accounting (0.6) as plain data."""
    data: dict[str, Any] = {}
    for name, pmf in (("remove", distribution._pmf_remove), ("add", distribution._pmf_add)):  # noqa: SLF001
        fields = vars(pmf)
        masses = fields.get("_loss_probs")
        if masses is None:
            masses = dict(enumerate(fields["_probs"], start=fields["_lower_loss"]))
        first = min(masses, default=0)
        probs = [masses.get(at, 0.0) for at in range(first, max(masses, default=-1) + 1)]
        infinite = fields["_infinity_mass"]
        data[name] = {"lower_loss": first, "probs": probs, "infinity_mass": infinite}
        step, sure = fields["_discretization"], fields["_pessimistic_estimate"]
        if data.setdefault("discretization", step) != step:
            raise ValueError(step)
        data["pessimistic_estimate"] = data.get("pessimistic_estimate", True) and sure
    return data


def _corners(data: Mapping[str, Any], name: str) -> Nodes:
    """Return the corners of h at the losses above 0, and its value at 0, rounded up."""
    if data["pessimistic_estimate"] is not True:
        raise OutOfRange(
            "the privacy loss distribution is not stated to be pessimistic; make it with "
            "pessimistic_estimate=True."
        )
    step = float(data["discretization"])
    if not (math.isfinite(step) and step > 0):
        raise OutOfRange(f"discretization must be above 0 and finite, got {step}.")
    first = whole(data[name]["lower_loss"], name="lower_loss", low=-_MOST, high=_MOST)
    given = [float(mass) for mass in (*data[name]["probs"], data[name]["infinity_mass"])]
    mass = [max(each, 0.0) for each in given]  # rounding may take some below zero
    total = math.fsum(mass)
    if not all(-_ROUNDED <= each <= 1 + _ROUNDED for each in given) or total > 1 + _ROUNDED:
        raise OutOfRange(
            "masses of a privacy loss distribution must be between 0 and 1 and add up to at most 1."
        )
    left = 1.0 - total  # what is missing, as far as rounding does not explain it
    rounded = left <= 2 * UNIT * len(mass)
    scale = max(1.0, 1.0 / total) if rounded and total else 1.0
    beyond = 0.0 if rounded else left
    atoms = []
    for place, chance in enumerate(mass[:-1], start=first):
        if place * step > _FARTHEST:
            beyond += chance * scale
        elif place > 0 and chance:
            atoms.append((place, chance * scale))
    value, weight, before = mass[-1] * scale + beyond, 0.0, atoms[-1][0] if atoms else 0
    slack = 1 + 32 * UNIT * (len(mass) + 8 + _FARTHEST)
    corners = []
    for place, chance in [*reversed(atoms), (0, 0.0)]:
        gap = (before - place) * step
        value -= math.expm1(-gap) * weight
        weight = weight * math.exp(-gap) + chance
        corners.append((math.nextafter(place * step, math.inf) if place else 0.0, value * slack))
        before = place
    return tuple((x, min(high, 1.0)) for x, high in reversed(corners))


def to_pld(loss: PrivacyLoss, *, points: int = 1000) -> Any:
    """Return a ``PrivacyLossDistribution`` of dp_accounting that bounds a loss from above.

    It is pessimistic: its delta is nowhere below that of the loss, alone and composed.  The highest
    losses, with a probability of 1e-12 in all, count as infinite.
    More points of the profile are tighter.
    """
    count = checked_count(points, name="points", low=16)
    profile = checked_loss(loss).profile()
    beyond = Fraction(profile.delta(epsilon=_FARTHEST))  # that of an infinite loss, if there is one
    end = profile.epsilon(delta=min(beyond + _RARE, Fraction(1)))
    if beyond > Fraction(1, 2) or not end < _FARTHEST:
        raise OutOfRange(
            f"a loss above {_FARTHEST} has a chance of {float(beyond):.2g}; export a smaller "
            "loss, and compose it there."
        )
    step = Fraction(2) ** math.ceil(math.log2(max(2 * end, 1e-6) / count))
    try:
        pmf: Any = importlib.import_module("dp_accounting.pld.pld_pmf")
        pld: Any = importlib.import_module("dp_accounting.pld.privacy_loss_distribution")
    except ModuleNotFoundError:
        raise WrongKind(
            "dp_accounting is not installed; install it: pip install dp-accounting."
        ) from None
    made, (start, x) = [], knots(-end, end, step)
    for side in (profile.remove, profile.add):
        upper = np.array([max(part.delta_above(float(eps)) for part in side) for eps in x])
        law = above_knots(start, x, upper, step)
        moved = law.start + math.ceil(law.drift / float(step))  # to where it may drift
        masses = {moved + place: float(mass) for place, mass in enumerate(law.mass) if mass > 0}
        made.append(pmf.create_pmf(masses, float(step), law.infinite, True))
    return pld.PrivacyLossDistribution(*made)
