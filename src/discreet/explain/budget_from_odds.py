"""The way back: the budget that keeps a promise stated as odds.

Trust: kernel.  A budget above what the promise allows breaks it.

Definition.  A promise bounds what an observer achieves from everything that a budget pays for:

    prior, posterior       a belief of ``prior`` never rises above ``posterior``
    caught, false_alarms   an alarm with this rate of false alarms catches at most ``caught``
    right                  an even guess is right at most this often

Theorem (key ``budget-for-odds``; Kairouz, Oh and Viswanath 2015).  A pure loss of epsilon keeps
them if and only if, in this order,
    epsilon <= logit(posterior) - logit(prior)
    epsilon <= log(caught / false_alarms)  or  epsilon <= log((1-false_alarms) / (1-caught))
    epsilon <= logit(right)
    Proof.  Randomized response has the largest profile of all losses of epsilon, and its figures
    are e**epsilon times the prior odds; min(e**epsilon a, 1 - e**-epsilon (1 - a)); and
    e**epsilon / (1 + e**epsilon).  Solve for epsilon; all of them grow with it.
With a failure probability ``delta`` in addition to epsilon, ``caught`` and ``right`` are first
lowered by delta, since no profile of (epsilon, delta) exceeds that of epsilon by more.  A posterior
then has no bound that always holds, so it takes no delta.
The epsilon of the budget is rounded down to twelve digits after the point.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from discreet.accounting import Budget
from discreet.errors import OutOfRange, WrongKind
from discreet.explain.guesses import checked_chance
from discreet.loss.elementary import log
from discreet.loss.parameters import checked_delta

_STEPS: Final = 10**12
_HALF: Final = Fraction(1, 2)


def budget_for(  # noqa: PLR0913  three promises, of one or two numbers each
    *,
    prior: object = None,
    posterior: object = None,
    caught: object = None,
    false_alarms: object = None,
    right: object = None,
    delta: object = 0,
) -> Budget:
    """Return the largest budget that keeps a promise about what an observer can find out.

    Give ``prior`` and ``posterior``, or ``caught`` and ``false_alarms``, or ``right``.

    Args:
        prior: how likely something about a unit seems before.
        posterior: how likely it may seem after all answers, at most.
        caught: the largest share of units in the data that an alarm may catch.
        false_alarms: the rate of false alarms of that alarm.
        right: how often an even guess may be right.
        delta: the probability of failure of the budget, for ``caught`` and ``right``.

    >>> print(budget_for(prior="0.01", posterior="0.05"))
    epsilon 1.65
    >>> print(budget_for(caught="0.05", false_alarms="0.01"))
    epsilon 1.609
    """
    chance = checked_delta(delta)
    given = {
        "prior": prior,
        "posterior": posterior,
        "caught": caught,
        "false_alarms": false_alarms,
        "right": right,
    }
    names = {name for name, value in given.items() if value is not None}
    if names == {"prior", "posterior"}:
        epsilon = _from_belief(prior, posterior, chance)
    elif names == {"caught", "false_alarms"}:
        epsilon = _from_alarm(caught, false_alarms, chance)
    elif names == {"right"}:
        epsilon = _from_guess(right, chance)
    else:
        raise WrongKind(
            what="it takes prior and posterior, caught and false_alarms, or right.",
            why="each of the three is a promise of its own, with a budget of its own.",
            do="give one of them, such as budget_for(prior=0.01, posterior=0.05).",
        )
    return Budget(epsilon=epsilon, delta=chance) if chance else Budget(epsilon=epsilon)


def _from_belief(prior: object, posterior: object, delta: Fraction) -> Fraction:
    before = checked_chance(prior, name="prior")
    after = checked_chance(posterior, name="posterior")
    if delta:
        raise WrongKind(
            what="a delta is given for a promise about beliefs.",
            why="with the chance delta a belief may rise to certainty, whatever epsilon is.",
            do="leave delta out, or state the promise by caught and false_alarms.",
        )
    _check_above(after, before, "posterior", "prior")
    return _log_down(after * (1 - before) / (before * (1 - after)))


def _from_alarm(caught: object, false_alarms: object, delta: Fraction) -> Fraction:
    alarm = checked_chance(false_alarms, name="false_alarms")
    share = checked_chance(caught, name="caught") - delta
    _check_above(share, alarm, "caught, less delta,", "false_alarms")
    return _log_down(max(share / alarm, (1 - alarm) / (1 - share)))


def _from_guess(right: object, delta: Fraction) -> Fraction:
    share = checked_chance(right, name="right") - delta
    _check_above(share, _HALF, "right, less delta,", "1/2")
    return _log_down(share / (1 - share))


def _log_down(number: Fraction) -> Fraction:
    return Fraction(log(number).low * _STEPS // 1, _STEPS)


def _check_above(larger: Fraction, smaller: Fraction, name: str, other: str) -> None:
    if larger <= smaller:
        raise OutOfRange(
            what=f"{name} is not above {other}.",
            why="an observer achieves that much without any answer, so no budget would keep it.",
            do=f"give {name} above {other}.",
        )
