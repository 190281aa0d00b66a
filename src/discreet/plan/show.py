"""A plan as text, and as HTML: who is protected, what is released, its price and its errors.

Trust: public.  Plans hold no data, so all of it may be shown.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, final

from discreet.accounting import Box
from discreet.accounting.amounts import amount_up, shown_up
from discreet.accounting.left import shown_unit
from discreet.mechanisms import Gaussian, NoisyKeys, OptimalKeys
from discreet.plan.distances import TWO_SIDED, root_up
from discreet.plan.estimators import Mean, Sum, Variance
from discreet.plan.lowered import Lowered
from discreet.plan.noises import Choice, Noise
from discreet.plan.prices import Price
from discreet.plan.show_bounds import bounds_title, found_lines, scaled_noise, search_lines

if TYPE_CHECKING:  # a plan shows itself by these functions, so its module imports this one
    from discreet.plan.plan import Plan
    from discreet.plan.reached import Reached

__all__ = ["Branch", "branches_of", "drawn", "html_of", "shown_price", "shown_question"]

_LONGEST: Final = 96
_HALF: Final = Fraction(1, 2)
_RARE: Final = Fraction(1, 1000)


@final
@dataclass(frozen=True, slots=True)
class Branch:
    """A line, and the lines below it."""

    text: str
    below: tuple[Branch, ...] = ()


def drawn(branch: Branch) -> str:
    """Draw a tree of lines.

    >>> print(drawn(Branch("plan", (Branch("who", (Branch("people"),)), Branch("price")))))
    plan
    ├── who
    │   └── people
    └── price
    """
    return "\n".join(_lines(branch, "", ""))


def html_of(branch: Branch) -> str:
    """Return a tree of lines as nested lists.

    >>> html_of(Branch("a < b"))
    '<ul><li>a &lt; b</li></ul>'
    """
    return f"<ul>{_item(branch)}</ul>"


def branches_of(plan: Plan) -> Branch:
    """Return everything about a plan that a person may want to read."""
    return Branch(
        shown_question(plan),
        (
            Branch(f"protects {shown_unit(plan.unit)}{_limits(plan.lowered)}"),
            Branch(f"is about {plan.scope}"),
            *_promises(plan),
            *_groups(plan),
            *_bounds(plan),
            *_releases(plan),
            Branch(f"costs {shown_price(plan.price)}", tuple(_both(plan))),
            *_standing(plan),
            *_errors(plan),
        ),
    )


def _promises(plan: Plan) -> Iterator[Branch]:
    """Name what the price rests on, and no code can enforce."""
    if plan.promises:
        lines = tuple(Branch(str(each)) for each in plan.promises)
        yield Branch("rests on promises of the owner", lines)


def _standing(plan: Plan) -> Iterator[Branch]:
    """Say what the ledger says, where there is one."""
    found = plan.standing
    if found is not None:
        there = "" if found.entry is not None or plan.scope == Box.everything() else " there"
        yield Branch(f"{found}{there}")


def shown_question(plan: Plan) -> str:
    """Return the text of a question on one line, shortened."""
    text = " ".join((plan.question.text or "a question built in Python").split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _limits(lowered: Lowered) -> str:
    if lowered.groups is None:
        return ""
    groups = "1 group" if lowered.groups == 1 else f"{lowered.groups} groups"
    return f", who counts in at most {groups}"


def _groups(plan: Plan) -> Iterator[Branch]:
    lowered = plan.lowered
    names = ", ".join(key.name for key in lowered.keys)
    if not lowered.keys:
        yield Branch("has one group")
    elif plan.selection is None:
        shown = "" if plan.reached is None else _reached(plan.reached)
        yield Branch(f"has {len(lowered.public or ())} public groups of {names}{shown}")
    else:
        chosen = f"chooses which groups of {names} are shown: {_keys(plan.selection, plan)}"
        yield Branch(f"{chosen}; {_keys_share(plan.selection, plan)}")


def _reached(reached: Reached) -> str:
    """Say how many of the groups that are shown have nobody in them."""
    empty = reached.zeros.expected().high
    few = "fewer than 0.001" if empty < _RARE else f"about {float(empty):.3g}"
    return f", and shows those with {reached.words}: {few} of them empty, by noise alone"


def _keys(keys: OptimalKeys | NoisyKeys, plan: Plan) -> str:
    some, sure = keys.smallest(_HALF), keys.smallest(Fraction(99, 100))
    what = dict(plan.about)[plan.chosen_by]
    how = "optimally"
    if isinstance(keys, NoisyKeys):
        how = f"by a threshold of {keys.threshold} on noisy numbers of {what}"
    return f"{how}, every other one of {some} {what}, and 99 % of {sure} {what}"


def _keys_share(keys: OptimalKeys | NoisyKeys, plan: Plan) -> str:
    places = 2 * keys.groups if plan.unit.relation in TWO_SIDED else keys.groups
    if isinstance(keys, OptimalKeys):
        epsilon, delta = places * keys.epsilon, places * keys.delta
    else:
        delta = keys.leak()
        if isinstance(keys.noise, Gaussian):
            rho = Fraction(places * keys.most**2) / (2 * keys.noise.variance)
            return f"rho {_short(rho)}, delta {_short(delta)}"
        epsilon = places * keys.most / keys.noise.scale
    return f"epsilon {_short(epsilon)}, delta {_short(delta)}"


def _bounds(plan: Plan) -> Iterator[Branch]:
    """Say how bounds are found, or which ones were."""
    lines = [] if plan.search is None else [*search_lines(plan.search)]
    if plan.found:
        lines = [*found_lines(plan.found)]
    if lines:
        yield Branch(bounds_title(plan.search), tuple(map(Branch, lines)))


def _steps(plan: Plan) -> dict[str, Fraction]:
    """Return what one step of each total stands for."""
    steps: dict[str, Fraction] = {}
    for estimate in plan.estimates:
        match estimate.estimator:
            case Sum(measure=measure, step=step) | Mean(measure=measure, step=step):
                steps[measure] = step
            case Variance(mean=mean, squares=squares, square_step=square):
                steps |= {mean.measure: mean.step, squares: square}
    return steps


def _releases(plan: Plan) -> Iterator[Branch]:
    about = dict(plan.about)
    steps = _steps(plan)
    waiting = () if plan.search is None or plan.found else plan.search.scaled
    lines = [
        Branch(
            scaled_noise(noise, about[noise.measure], _share(noise, plan))
            if noise.measure in waiting
            else _noise(noise, plan, about, steps.get(noise.measure, Fraction(1)))
        )
        for noise in plan.noises
    ]
    lines += [Branch(_choice(choice, plan, about)) for choice in plan.choices]
    if lines:
        yield Branch("releases", tuple(lines))


def _noise(noise: Noise, plan: Plan, about: dict[str, str], step: Fraction) -> str:
    """Show noise, and how far one unit moves what it hides, in the units of the answer."""
    relation, far = plan.unit.relation, noise.distances
    if isinstance(noise.mechanism, Gaussian):
        square, variance = far.moved_squared(relation), noise.mechanism.variance
        width = f"Gaussian noise of deviation {_short(variance * step * step, root=True)}"
        moved = f"{_short(root_up(square) * step)} in L2"
    else:
        steps, scale = far.moved(relation), noise.mechanism.scale
        width = f"Laplace noise of scale {_short(scale * step)}"
        moved = f"{_short(steps * step)} in L1"
    share = _share(noise, plan)
    return f"{noise.measure}: {about[noise.measure]}, moved by {moved}; {width}; {share}"


def _share(noise: Noise, plan: Plan) -> str:
    """Show which part of the price goes to noise."""
    relation, far = plan.unit.relation, noise.distances
    if isinstance(noise.mechanism, Gaussian):
        return f"rho {_short(far.moved_squared(relation) / (2 * noise.mechanism.variance))}"
    return f"epsilon {_short(far.moved(relation) / noise.mechanism.scale)}"


def _choice(choice: Choice, plan: Plan, about: dict[str, str]) -> str:
    relation = plan.unit.relation
    moved = choice.moved(two_sided=relation in TWO_SIDED)
    spread = 2 * moved / choice.mechanism.scale
    share = f"epsilon {_short(choice.groups * spread)}"
    if plan.delta is not None:
        share = f"rho {_short(choice.groups * spread * spread / 8)}"
    return (
        f"{choice.measure}: {about[choice.measure]} at {choice.level}{_aside(choice)}, "
        f"scores moved by "
        f"{_short(moved)}; a choice of {choice.mechanism.candidates} of scale "
        f"{_short(choice.mechanism.scale)}; {share}"
    )


def _aside(choice: Choice) -> str:
    if choice.offset == 0:
        return ""
    ranks = "1 rank" if abs(choice.offset) == 1 else f"{abs(choice.offset)} ranks"
    return f" and {ranks} {'higher' if choice.offset > 0 else 'lower'}"


def _both(plan: Plan) -> Iterator[Branch]:
    """Say what bounds and answer cost, where both are paid for."""
    if plan.search is not None:
        yield Branch(f"the bounds {shown_price(plan.search.price)}")
        yield Branch(f"the answer {shown_price(plan.search.promise.price)}")


def shown_price(price: Price) -> str:
    """Say what is paid, rounded up."""
    parts = []
    if price.epsilon is not None:
        at = f" at delta {shown_up(amount_up(price.delta))}" if price.delta else ""
        parts.append(f"epsilon {shown_up(amount_up(price.epsilon))}{at}")
    if price.rho is not None:
        at = f" beside delta {shown_up(amount_up(price.beside))}" if price.beside else ""
        parts.append(f"rho {shown_up(amount_up(price.rho))}{at}")
    return "; ".join(parts)


def _errors(plan: Plan) -> Iterator[Branch]:
    lines = tuple(Branch(f"{each.output} {each.words}") for each in plan.predicted)
    if lines:
        yield Branch(f"is off by at most, with a chance of {_percent(plan.confidence)}", lines)


def _percent(chance: Fraction) -> str:
    return f"{float(100 * chance):.6g} %"


def _short(number: Fraction, *, root: bool = False) -> str:
    value = float(number) ** 0.5 if root else float(number)
    return f"{value:.4g}"


def _lines(branch: Branch, first: str, rest: str) -> Iterator[str]:
    yield first + branch.text
    for at, below in enumerate(branch.below, start=1):
        turn, pass_by = ("└── ", "    ") if at == len(branch.below) else ("├── ", "│   ")
        yield from _lines(below, rest + turn, rest + pass_by)


def _item(branch: Branch) -> str:
    below = "".join(_item(each) for each in branch.below)
    inner = f"<ul>{below}</ul>" if below else ""
    return f"<li>{html.escape(branch.text)}{inner}</li>"
