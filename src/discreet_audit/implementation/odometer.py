"""A8: can questions chosen in view of answers lose more than the budget promises?

Trust: public.

An analyst decides by a fixed stream of coins what to ask after every list of answers so far.  All
questions are randomized responses, which of all mechanisms tell neighbors apart best; a rule
accepts or refuses each.  All lists of answers are followed, with their chances on both neighbors,
so the loss of the whole conversation is known: at every epsilon, its delta must be at most that of
the budget's promise.
Fixed lists of questions are compared as well: what is accounted for them is at least their exact
loss (key ``optimal-composition``).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from fractions import Fraction
from math import ceil, floor
from typing import Final, NamedTuple

from discreet.accounting import Budget, Leaf, PrivacyFilter, Sequential, account
from discreet.errors import OverBudget
from discreet.exact import Interval
from discreet.loss import Pure, optimal_delta
from discreet.loss.elementary import exp, reciprocal
from discreet.noise import KeyedEntropy
from discreet.units import row
from discreet_audit.findings import Finding

__all__ = ["Path", "Rule", "attack", "book_rule", "conversation", "delta_of"]

Asked = tuple[Fraction, ...]
Rule = Callable[[Asked], bool]
"""Says of the epsilons of questions whether the last one is accepted after the others."""

_PRICES: Final = tuple(Fraction(part, 20) for part in (13, 8, 5, 3, 2, 1))
_EPSILONS: Final = tuple(Fraction(part, 10) for part in (0, 2, 5, 10, 15))
_ONE: Final = 1 << 128
_BUDGETS: Final = {
    "basic": Budget(epsilon=1),
    "joint": Budget(epsilon=1, delta="0.05"),
    "either": Budget(epsilon=1, delta="0.05", currency="either"),
    "zcdp": Budget(epsilon=1, delta="0.05", currency="zcdp"),
    "gaussian": Budget(epsilon="0.5", delta="0.2", currency="gaussian"),
    "rho": Budget(rho="0.2"),
}


class Path(NamedTuple):
    """What was asked and answered on one way through a conversation, and its two chances."""

    asked: Asked
    answers: tuple[int, ...]
    here: Interval
    there: Interval


def attack(*, quick: bool) -> Finding:
    """Play conversations against every kind of budget, and account for fixed lists."""
    conversations, depth = (4, 5) if quick else (20, 8)
    wrong: list[str] = []
    share = 0.0
    for kind, budget in _BUDGETS.items():
        rule = book_rule(budget)
        for seed in range(conversations):
            paths = conversation(rule, seed=seed, depth=depth)
            for epsilon in _EPSILONS:
                delta = delta_of(paths, epsilon)
                promised = budget.guarantee.delta(epsilon=epsilon)
                if delta > Fraction(promised):
                    wrong.append(f"{kind}, conversation {seed}: {float(delta):.4g} at {epsilon}")
                share = max(share, float(delta) / promised if promised else 0.0)
    lists = _wrong_lists(10 if quick else 200)
    return Finding(
        claimed="every conversation keeps the promise of its budget; lists are accounted for at "
        "no less than their exact loss",
        measured=f"{len(_BUDGETS) * conversations} conversations of {depth} questions: at most "
        f"{share:.3g} of the promised delta is reached, {len(wrong) + len(lists)} violations"
        f"{': ' * bool(wrong or lists)}{'; '.join((wrong + lists)[:3])}",
        passed=not wrong and not lists,
        numbers={
            "conversations": len(_BUDGETS) * conversations,
            "depth": depth,
            "largest_share_of_delta": share,
            "violations": len(wrong) + len(lists),
        },
        not_covered="analysts who plan further than coins do; conversations that are longer, or "
        "about parts of a table; several ledgers for the same people",
    )


def book_rule(budget: Budget) -> Rule:
    """Return the rule of a book with this budget.

    >>> rule = book_rule(Budget(epsilon=1))
    >>> rule((Fraction(1, 2), Fraction(1, 2))), rule((Fraction(1), Fraction(1, 20)))
    (True, False)
    """

    @functools.cache
    def accepts(asked: Asked) -> bool:
        book = PrivacyFilter(budget, unit=row())
        try:
            for epsilon in asked:
                book.charge(Pure(epsilon=epsilon))
        except OverBudget:
            return False
        return True

    return accepts


def delta_of(paths: Iterable[Path], epsilon: Fraction) -> Fraction:
    """Return the delta of a conversation at an epsilon, in the worse direction; rounded down."""
    growth = exp(epsilon).high
    one, other = Fraction(0), Fraction(0)
    for path in paths:
        one += max(path.here.low - growth * path.there.high, Fraction(0))
        other += max(path.there.low - growth * path.here.high, Fraction(0))
    return max(one, other)


def conversation(rule: Rule, *, seed: int, depth: int) -> list[Path]:
    """Return all ways through a conversation of at most ``depth`` questions."""
    certain = Interval(Fraction(1), Fraction(1))
    paths, waiting = [], [Path((), (), certain, certain)]
    while waiting:
        path = waiting.pop()
        epsilon = _next(rule, path, seed) if len(path.asked) < depth else None
        if epsilon is None:
            paths.append(path)
            continue
        decay = exp(-epsilon)
        likely = reciprocal(Interval(1 + decay.low, 1 + decay.high))
        rare = Interval(1 - likely.high, 1 - likely.low)
        for answer, (here, there) in enumerate(((likely, rare), (rare, likely))):
            waiting.append(
                Path(
                    (*path.asked, epsilon),
                    (*path.answers, answer),
                    _times(path.here, here),
                    _times(path.there, there),
                )
            )
    return paths


def _next(rule: Rule, path: Path, seed: int) -> Fraction | None:
    """Decide what to ask: one of the prices, or the largest below it that is accepted."""
    label = f"conversation {seed} {path.answers}"
    start = KeyedEntropy(key=bytes(32), label=label).bits(16) % len(_PRICES)
    accepted = (price for price in _PRICES[start:] if rule((*path.asked, price)))
    return next(accepted, None)


def _times(one: Interval, other: Interval) -> Interval:
    """Multiply chances, rounded outward to a number of bits."""
    low, high = one.low * other.low * _ONE, one.high * other.high * _ONE
    return Interval(Fraction(floor(low), _ONE), Fraction(ceil(high), _ONE))


def _wrong_lists(count: int) -> list[str]:
    """Return the fixed lists of questions that are accounted for at less than they lose."""
    wrong: list[str] = []
    for seed in range(count):
        coins = KeyedEntropy(key=bytes(32), label=f"list {seed}")
        asked = [_PRICES[coins.bits(16) % len(_PRICES)] for _ in range(2 + coins.bits(2))]
        tree = Sequential(*(Leaf(Pure(epsilon=epsilon)) for epsilon in asked))
        priced = account(tree, relation="add_remove")
        for epsilon in _EPSILONS:
            least = optimal_delta([(loss, 0) for loss in asked], target=epsilon).low
            if Fraction(priced.delta(epsilon=epsilon)) < least:
                wrong.append(f"list {seed} at {epsilon}")
    return wrong
