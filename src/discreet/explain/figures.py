"""The numbers of an explanation, computed once from the curve of the loss.

Trust: public.  Each is a bound on the safe side; none is below what an attacker can achieve.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

from discreet.errors import DiscreetError
from discreet.explain.disclosure import Disclosure
from discreet.explain.guesses import ChainGuesses, Guesses, after_ratio
from discreet.loss import PrivacyLoss, Profile, ZeroConcentrated
from discreet.units import Relation

ALARMS: Final = (Fraction(1, 100), Fraction(1, 20))
PRIORS: Final = (Fraction(1, 1000), Fraction(1, 100), Fraction(1, 10), Fraction(1, 2))
HOUSEHOLD: Final = 4
_ALARMING: Final = 0.5


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class GuessOdds:
    """Both worlds, the best guess, and the best alarm; all but ``without`` are upper bounds.

    Of 100 answers that point to one of two worlds, at most ``with_`` come from it and at least
    ``without`` from the other.
    """

    right: float
    caught: tuple[tuple[Fraction, float], ...]

    @classmethod
    def of(cls, guesses: Guesses | ChainGuesses) -> GuessOdds:
        """Compute them from what can be guessed."""
        return cls(
            right=guesses.right(),
            caught=tuple((alarm, guesses.caught(alarm)) for alarm in ALARMS),
        )

    @property
    def within(self) -> int:
        """Of 100 answers where it is true, how many suggest it, at most."""
        return min(100, math.ceil(round(100 * self.right, 9)))

    @property
    def without(self) -> int:
        """Of 100 answers where it is not true, how many suggest it, at least."""
        return 100 - self.within

    def as_json(self) -> dict[str, Any]:
        """Return them for JSON, unrounded."""
        return {
            "without_of_100": 100 * (1 - self.right),
            "with_of_100": 100 * self.right,
            "best_guess": self.right,
            "caught_at_false_alarms": {str(float(alarm)): caught for alarm, caught in self.caught},
        }


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Everything that an explanation says in numbers.

    >>> from discreet.explain.sources import disclosure_of
    >>> from discreet.loss import Pure
    >>> figures = Figures.of(disclosure_of(Pure(epsilon="0.5")))
    >>> figures.one.without, figures.one.within
    (37, 63)
    >>> figures.attribute.within, figures.household.within
    (74, 89)
    """

    one: GuessOdds
    least_right: float
    """How often the best attacker is right, at least; 0.5 if nothing is known."""
    attribute: GuessOdds
    """About a property of a unit that is in the data for sure."""
    household: GuessOdds | None
    posteriors: tuple[tuple[Fraction, float], ...]
    chance: Fraction
    """The probability with which a belief may rise above its bound; 0 for a pure loss."""
    ratio: float
    promise: GuessOdds | None

    @classmethod
    def of(cls, disclosure: Disclosure) -> Figures:
        """Compute them for a disclosure."""
        guesses = Guesses(*_telling(disclosure.losses))
        pure = math.isfinite(guesses.ratio())
        chance = Fraction(0) if pure else disclosure.chance
        one, ratio = GuessOdds.of(guesses), guesses.ratio(chance)
        return cls(
            one=one,
            least_right=(1.0 + guesses.apart_at_least()) / 2.0,
            attribute=one if disclosure.relation.replaces else GuessOdds.of(guesses.chain(2)),
            household=_group(guesses, disclosure.relation),
            posteriors=tuple((prior, after_ratio(prior, ratio)) for prior in PRIORS),
            chance=chance,
            ratio=ratio,
            promise=None
            if disclosure.promise is None
            else GuessOdds.of(Guesses(disclosure.promise)),
        )

    @property
    def alarming(self) -> bool:
        """Whether most units are caught by an alarm that almost never sounds for others."""
        return self.one.caught[0][1] > _ALARMING

    def as_json(self, relation: Relation) -> dict[str, Any]:
        """Return them for JSON, unrounded."""
        shown: dict[str, Any] = {
            "question": "version" if relation.replaces else "membership",
            "odds": self.one.as_json(),
            "best_guess_at_least": self.least_right,
            "attribute": self.attribute.as_json(),
            "posterior": {str(float(prior)): after for prior, after in self.posteriors},
            "posterior_except_with": float(self.chance),
            "log_ratio": self.ratio if math.isfinite(self.ratio) else None,
        }
        if self.household is not None:
            shown["group"] = {"size": HOUSEHOLD, **self.household.as_json()}
        if self.promise is not None:
            shown["promise"] = self.promise.as_json()
        return shown


def _telling(losses: tuple[PrivacyLoss, ...]) -> Iterator[PrivacyLoss]:
    """Leave out a rho next to the profile that it was taken from: its curve is below that of rho.

    The remaining ones are bounds in any case.
    """
    known = [loss.concentrated() for loss in losses if isinstance(loss, Profile)]
    rhos = [rho for rho in known if rho is not None]
    for loss in losses:
        if not (isinstance(loss, ZeroConcentrated) and rhos and min(rhos) <= loss.rho):
            yield loss


def _group(guesses: Guesses, relation: Relation) -> GuessOdds | None:
    """Return the odds for a household: all of it added, or each member replaced in turn."""
    if relation.replaces:
        return GuessOdds.of(guesses.chain(HOUSEHOLD))
    try:
        return GuessOdds.of(guesses.group(HOUSEHOLD))
    except DiscreetError:  # no bound for groups is known of this loss
        return None
