"""What a plan releases, in words: noise, trees of counts and choices, and the price of each.

Trust: public.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from discreet.mechanisms import Gaussian, NoisyKeys, OptimalKeys
from discreet.plan.pricing.group_sensitivity import Noise, ScoredChoice, root_up, trees_of

if TYPE_CHECKING:  # loaded when first used, because a plain question needs none of it
    from discreet.plan.plan import Plan
    from discreet.plan.pricing.quantile_tree import QuantileTree

_HALF: Final = Fraction(1, 2)


def selection_words(keys: OptimalKeys | NoisyKeys, plan: Plan) -> str:
    """Say how groups are chosen, and at which part of the price."""
    return f"{_keys(keys, plan)}; {_keys_share(keys, plan)}"


def _keys(keys: OptimalKeys | NoisyKeys, plan: Plan) -> str:
    some, sure = keys.smallest(_HALF), keys.smallest(Fraction(99, 100))
    what = dict(plan.descriptions)[plan.chosen_by]
    how = "optimally"
    if isinstance(keys, NoisyKeys):
        how = f"by a threshold of {keys.threshold} on noisy numbers of {what}"
    return f"{how}, every other one of {some} {what}, and 99 % of {sure} {what}"


def _keys_share(keys: OptimalKeys | NoisyKeys, plan: Plan) -> str:
    places = plan.unit.relation.sides * keys.groups
    if isinstance(keys, OptimalKeys):
        epsilon, delta = places * keys.epsilon, places * keys.delta
    else:
        delta = keys.leak()
        if isinstance(keys.noise, Gaussian):
            rho = Fraction(places * keys.most**2) / (2 * keys.noise.variance)
            return f"rho {short_number(rho)}, delta {short_number(delta)}"
        epsilon = places * keys.most / keys.noise.scale
    return f"epsilon {short_number(epsilon)}, delta {short_number(delta)}"


def released_lines(plan: Plan) -> Iterator[str]:
    """Say what is released, with which noise, and at which part of the price."""
    about = dict(plan.descriptions)
    steps = _steps(plan)
    waiting = () if plan.search is None or plan.found else plan.search.scaled
    for noise in plan.noises:
        if noise.measure in waiting:
            yield _scaled_noise(noise, about[noise.measure], _share(noise, plan))
        else:
            yield _noise(noise, plan, about, steps.get(noise.measure, Fraction(1)))
    for tree, read in trees_of(plan.choices).items():
        yield _tree(tree, len({choice.use for choice in read}), plan, about)
    for choice in plan.choices:
        if isinstance(choice, ScoredChoice):
            yield _choice(choice, plan, about)


def _steps(plan: Plan) -> dict[str, Fraction]:
    """Return what one step of each total stands for."""
    return {
        measure: step
        for estimate in plan.estimates
        for measure, step in estimate.estimator.steps().items()
    }


def _scaled_noise(noise: Noise, about: str, share: str) -> str:
    """Show noise whose scale follows from bounds that are not known yet."""
    what, less, _ = about.rpartition(" less ")
    words = f"{what} less the middle of the bounds" if less else about
    law = type(noise.mechanism).__name__
    return f"{noise.measure}: {words}; {law} noise in proportion to the bounds; {share}"


def _noise(noise: Noise, plan: Plan, about: dict[str, str], step: Fraction) -> str:
    """Show noise, and how far one unit moves what it hides, in the units of the answer."""
    relation, far = plan.unit.relation, noise.distances
    if not far.moved(relation):
        return f"{noise.measure}: {about[noise.measure]}, a public number that costs nothing"
    cells = far.strategy
    if far.group_strategy is not None:
        cells = far.group_strategy.cells
    step = step if cells is None else Fraction(1, cells.unit)
    unit = " times the bounds of a row" if cells is not None and cells.values else ""
    if isinstance(noise.mechanism, Gaussian):
        deviation = Fraction(noise.mechanism.width)
        width = f"Gaussian noise of deviation {short_number(deviation * step)}{unit}"
        moved = f"{short_number(root_up(far.moved_squared(relation)) * step)}{unit} in L2"
    else:
        steps, scale = far.moved(relation), noise.mechanism.scale
        width = f"Laplace noise of scale {short_number(scale * step)}{unit}"
        moved = f"{short_number(steps * step)}{unit} in L1"
    share, what = _share(noise, plan), about[noise.measure]
    if cells is not None:
        what = f"{what}, {cells.words}"
    return f"{noise.measure}: {what}, moved by {moved}; {width}; {share}"


def _share(noise: Noise, plan: Plan) -> str:
    """Show which part of the price goes to noise."""
    relation, far = plan.unit.relation, noise.distances
    if isinstance(noise.mechanism, Gaussian):
        return f"rho {short_number(far.moved_squared(relation) / (2 * noise.mechanism.variance))}"
    return f"epsilon {short_number(far.moved(relation) / noise.mechanism.scale)}"


def _tree(tree: QuantileTree, levels: int, plan: Plan, about: dict[str, str]) -> str:
    """Show a tree of counts, which has its say on values and on intervals at the same price."""
    far = tree.distances
    why = "" if tree.better is None else f" ({tree.better:g} times the error of single choices)"
    blocks = f"blocks on {far.levels} levels of {far.arity}" if far.levels > 1 else "leaves"
    noise = Noise(measure=tree.measure, mechanism=tree.mechanism, distances=far)
    what = f"{about[tree.measure]} at {levels} levels and their intervals, from counts of {blocks}"
    return _noise(noise, plan, {tree.measure: what + why}, Fraction(1))


def _choice(choice: ScoredChoice, plan: Plan, about: dict[str, str]) -> str:
    relation = plan.unit.relation
    moved = choice.moved(two_sided=relation.replaces)
    spread = 2 * moved / choice.mechanism.scale
    share = f"epsilon {short_number(choice.groups * spread)}"
    if plan.delta is not None:
        share = f"rho {short_number(choice.groups * spread * spread / 8)}"
    if not choice.is_value:
        share += " for the interval"
    return (
        f"{choice.measure}: {about[choice.measure]} at {choice.words}, "
        f"scores moved by "
        f"{short_number(moved)}; a choice of {choice.mechanism.candidates} of scale "
        f"{short_number(choice.mechanism.scale)}; {share}"
    )


def short_number(number: Fraction) -> str:
    """Show a number to four digits, even where no float is as large.

    >>> short_number(Fraction(1, 3)), short_number(Fraction(10**400))
    ('0.3333', '1.000e+400')
    """
    if number > sys.float_info.max:
        return f"{Decimal(number.numerator) / Decimal(number.denominator):.4g}"
    return f"{float(number):.4g}"
