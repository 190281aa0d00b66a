"""Sentences of explanations: templates that give every number its denominator and its world.

Trust: public.

Numbers are natural frequencies out of 100, the same for both worlds, and both worlds are shown.
Upper bounds are rounded up and lower bounds down, so that no sentence promises more than is proved.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from discreet.exact import with_article
from discreet.explain.disclosure import Disclosure
from discreet.explain.figures import Figures, GuessOdds


def of_hundred(share: float) -> str:
    """Say a share that is an upper bound, out of 100.

    >>> of_hundred(0.0165), of_hundred(0.004), of_hundred(0.999)
    ('at most 2 in 100', 'fewer than 1 in 100', 'up to 100 in 100')
    """
    percent = math.ceil(round(100 * share, 9))
    if percent >= 100:
        return "up to 100 in 100"
    return "fewer than 1 in 100" if share < 0.01 else f"at most {percent} in 100"


def rounded_up(number: float, digits: int = 3) -> str:
    """Show an upper bound with a few digits, rounded up.

    >>> rounded_up(0.1451), rounded_up(42.5478, 4), rounded_up(0.0), rounded_up(12345.0)
    ('0.146', '42.55', '0', '12400')
    """
    rounded = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(Decimal(number))
    return f"{float(rounded):.{max(digits, 6)}g}"


def one_in(chance: Fraction) -> str:
    """Say a small probability as one in many; the number is rounded down, so the probability up.

    >>> one_in(Fraction(1, 10**6)), one_in(Fraction(3, 10**7))
    ('1 in 1,000,000', '1 in 3,333,333')
    """
    return f"1 in {int(1 / chance):,}" if chance else "0"


def data_of(disclosure: Disclosure) -> str:
    """Name the data: its title and its period, as far as the owner says them.

    >>> from discreet.explain.sources import disclosure_of
    >>> from discreet.loss import Pure
    >>> data_of(disclosure_of(Pure(epsilon=1)))
    'the data'
    """
    about = disclosure.about
    if not about.title:
        return f"the data of {about.period}" if about.period else "the data"
    return f"“{about.title}”" + (f" ({about.period})" if about.period else "")


def worlds(disclosure: Disclosure, odds: GuessOdds, *, who: str) -> str:
    """Tell both worlds with one denominator.

    Args:
        disclosure: the disclosed answers and their loss.
        odds: the numbers.
        who: "you", or a word for one of those who are protected.
    """
    you = who == "you"
    name = "you" if you else with_article(who)
    if disclosure.relation.replaces:
        whose = "your data" if you else f"the data of {name}"
        return (
            f"Take two versions of {whose}. If the first is true, at least {odds.without} of 100 "
            f"possible answers suggest the second. If the second is true, at most {odds.within} "
            "of 100 do."
        )
    are, they = ("are", "you are") if you else ("is", "it is")
    return (
        f"If {name} {are} not in the data, at least {odds.without} of 100 possible answers suggest "
        f"that {they}. If {name} {are} in the data, at most {odds.within} of 100 do."
    )


def right(odds: GuessOdds, subject: str) -> str:
    """Say how often something is right, at most.

    >>> right(GuessOdds(right=0.55, caught=()), "A guess")
    'A guess is right at most 55 times in 100.'
    """
    return f"{subject} is right at most {odds.within} times in 100."


def guess(disclosure: Disclosure, odds: GuessOdds) -> str:
    """Say how often a guess is right."""
    matter = "which version is true" if disclosure.relation.replaces else "who is in the data"
    subject = f"Someone who guesses {matter} from {disclosure.source}"
    return f"{right(odds, subject)} A coin is right 50 times."


def alarms(disclosure: Disclosure, odds: GuessOdds) -> str:
    """Say what alarms catch."""
    parts = [
        f"{int(100 * alarm)} in 100 false alarms, {of_hundred(caught)}"
        for alarm, caught in odds.caught
    ]
    target = "of those with the other version" if disclosure.relation.replaces else "of those in it"
    return f"The best alarm catches, with {parts[0]} {target}; with {parts[1]}."


def belief(disclosure: Disclosure, figures: Figures, *, priors: tuple[Fraction, ...]) -> str:
    """Say what a belief rises to, in what the loss is about: presence, or one of two versions.

    A belief about a property of a person who is known to be in the data may rise further, if one
    step of the relation adds or removes them.
    """
    told = [
        f"from {float(100 * prior):g} in 100 to {of_hundred(after)}"
        for prior, after in figures.posteriors
        if prior in priors
    ]
    fails = "" if not figures.chance else f", except with a chance of {one_in(figures.chance)}"
    matter = (
        "one version of the data of one of them is true"
        if disclosure.relation.replaces
        else "one of them is in the data"
    )
    return f"A belief that {matter} rises {' and '.join(told)}{fails}."


def delta_in_words(figures: Figures) -> str:
    """Say what may fail, and how often."""
    if not figures.chance:
        return "These bounds hold for every single answer."
    return (
        f"With a chance of at most {one_in(figures.chance)} an answer is outside of the bound on "
        "beliefs, and may say more."
    )
