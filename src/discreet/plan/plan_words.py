"""A plan in words: on a line, on a screen, and as a tree of everything that will happen.

Trust: public.  Bounds that were found are released, and paid for.  Plans hold no data, so all of it
may be shown.
"""

from __future__ import annotations

import html
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Final, final

from discreet.accounting import Box
from discreet.accounting.amounts import amount_up, format_up
from discreet.mechanisms import Gaussian, NoisyKeys, OptimalKeys, SumKeys
from discreet.plan.bounds_search import BoundsSearch, FoundBounds
from discreet.plan.pricing.calibration import Price
from discreet.plan.pricing.cube_strategy import CubeStrategy
from discreet.plan.pricing.group_sensitivity import Noise, ScoredChoice, root_up, trees_of
from discreet.plan.pricing.linear_strategy import CellSensitivity
from discreet.plan.statistics.truncation import brief_cuts
from discreet.requests.engine_request import EngineRequest
from discreet.units import describe_unit

if TYPE_CHECKING:  # for annotations alone
    from discreet.plan.plan import Plan
    from discreet.plan.pricing.quantile_tree import QuantileTree
    from discreet.plan.statistics.having_threshold import HavingThreshold


@final
@dataclass(frozen=True, slots=True)
class Branch:
    """A line, and the lines below it."""

    text: str
    below: tuple[Branch, ...] = ()


def plan_text(branch: Branch) -> str:
    """Draw a tree of lines.

    >>> print(plan_text(Branch("plan", (Branch("who", (Branch("people"),)), Branch("price")))))
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


def shown_price(price: Price) -> str:
    """Say what is paid, rounded up."""
    parts = []
    if price.epsilon is not None:
        outside = f" at delta {format_up(amount_up(price.delta))}" if price.delta else ""
        parts.append(f"epsilon {format_up(amount_up(price.epsilon))}{outside}")
    if price.rho is not None:
        outside = f" beside delta {format_up(amount_up(price.beside))}" if price.beside else ""
        parts.append(f"rho {format_up(amount_up(price.rho))}{outside}")
    return "; ".join(parts)


def brief_price(price: Price) -> str:
    """Say what is paid in one currency: epsilon and delta if there is an epsilon."""
    first, _, rest = shown_price(price).partition("; ")
    return first if price.epsilon is not None else first + rest


def _lines(branch: Branch, first: str, rest: str) -> Iterator[str]:
    yield first + branch.text
    for number, below in enumerate(branch.below, start=1):
        turn, pass_by = ("└── ", "    ") if number == len(branch.below) else ("├── ", "│   ")
        yield from _lines(below, rest + turn, rest + pass_by)


def _item(branch: Branch) -> str:
    below = "".join(_item(inner) for inner in branch.below)
    inner = f"<ul>{below}</ul>" if below else ""
    return f"<li>{html.escape(branch.text)}{inner}</li>"


_HALF: Final = Fraction(1, 2)


def selection_words(keys: OptimalKeys | NoisyKeys | SumKeys, plan: Plan) -> str:
    """Say how groups are chosen, and at which part of the price."""
    return f"{_keys(keys, plan)}; {_keys_share(keys, plan)}"


def _keys(keys: OptimalKeys | NoisyKeys | SumKeys, plan: Plan) -> str:
    some, sure = keys.smallest(_HALF), keys.smallest(Fraction(99, 100))
    what = dict(plan.descriptions)[plan.chosen_by]
    how = "at random, by the optimal rule"
    if isinstance(keys, NoisyKeys):
        how = f"if their noisy number of {what} is at least {keys.threshold}"
    if isinstance(keys, SumKeys):
        least = short_number(Fraction(keys.threshold, keys.most))
        how = f"if the noisy parts of each add up to at least {least} {what}"
    return f"{how}: half of those with {some} {what}, 99 % of those with {sure}"


def _keys_share(keys: OptimalKeys | NoisyKeys | SumKeys, plan: Plan) -> str:
    if isinstance(keys, SumKeys):
        return f"delta {short_number(keys.leak())}, at no epsilon of its own"
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
    cube = far.cells if isinstance(far, CellSensitivity) and cells is None else None
    step = step if cells is None else Fraction(1, cells.unit)
    if isinstance(cube, CubeStrategy):
        step *= Fraction(cube.step, max(cube.factors))
    unit = " times the bounds of a row" if cells is not None and cells.source.scaled else ""
    if isinstance(noise.mechanism, Gaussian):
        deviation = Fraction(noise.mechanism.width)
        width = f"Gaussian noise of deviation {short_number(deviation * step)}{unit}"
        moved = f"{short_number(root_up(far.moved_squared(relation)) * step)}{unit} in L2"
    else:
        steps, scale = far.moved(relation), noise.mechanism.scale
        width = f"Laplace noise of scale {short_number(scale * step)}{unit}"
        moved = f"{short_number(steps * step)}{unit} in L1"
    share, what = _share(noise, plan), about[noise.measure]
    if isinstance(far, CellSensitivity):
        what = f"{what}, {far.cells.words}"
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


_LONGEST: Final = 96
_SCREEN: Final = 12
_APART: Final = ("unlisted", "unnamed")
"""What is left out by no limit."""
_RARE: Final = Fraction(1, 1000)


def plan_line(plan: Plan) -> str:
    """Show the question and the price on one line."""
    return f"<plan: {_question(plan)}; costs {shown_price(plan.price)}>"


def plan_tree(plan: Plan) -> str:
    """Show everything that will happen, as a tree of lines."""
    return plan_text(branches_of(plan))


def plan_screen(plan: Plan) -> str:
    """Show what matters before paying, in at most a dozen lines."""
    return plan_text(screen_of(plan))


def plan_html(plan: Plan) -> str:
    """Show the same as nested lists, with everything else folded away."""
    folded = f"<details><summary>details</summary>{html_of(branches_of(plan))}</details>"
    return html_of(screen_of(plan)) + folded


def screen_of(plan: Plan) -> Branch:
    """Return what a person has to know before paying, at most a dozen lines."""
    if plan.exact:
        return branches_of(plan)
    lines = [f"protects {describe_unit(plan.unit)}{_limits(plan.request)}"]
    lines += [f"WARNING: {words}" for words in plan.warnings]
    lines += [branch.text for branch in _groups(plan)]
    lines += [branch.text for branch in _bounds(plan)]
    if plan.found_limits is not None or plan.released_by:
        lines += [branch.text for branch in (*_found_limits(plan), *_released_by(plan))]
    if cut := brief_cuts(plan.truncations):
        lines.append(f"{cut[0].lower()}{cut[1:].rstrip('.')}")
    lines.append(f"costs {brief_price(plan.price)}")
    if plan.budget_preview is not None:
        lines += [plan.budget_preview.brief]
        lines += [words for words in (plan.budget_preview.better,) if words]
    outputs = () if plan.expected is None else plan.expected.outputs
    told = [] if plan.expected is None else list(plan.expected.lines())
    known = {each.output for each in outputs if each.share}
    errors = "; ".join(
        f"{error.output} {error.words}" for error in plan.predicted if error.output not in known
    )
    if errors:
        lines.append(f"error, with {_percent(plan.confidence)} confidence: {errors}")
    lines += told
    if len(lines) >= _SCREEN:
        lines = [*lines[: _SCREEN - 2], f"{len(lines) - _SCREEN + 2} more lines in the details"]
    return Branch(_question(plan), tuple(map(Branch, lines)))


def branches_of(plan: Plan) -> Branch:
    """Return everything about a plan that a person may want to read."""
    if plan.exact:
        words = "reads public tables alone, and answers exactly, for nothing"
        return Branch(_question(plan), (Branch(words), *_standing(plan)))
    return Branch(
        _question(plan),
        (
            Branch(f"protects {describe_unit(plan.unit)}{_limits(plan.request)}"),
            Branch(f"is about {plan.scope}"),
            *(Branch(f"WARNING: {words}") for words in plan.warnings),
            *_titled("rests on promises of the owner", plan.promises),
            *_groups(plan),
            *_bounds(plan),
            *_titled("releases", released_lines(plan)),
            *_found_limits(plan),
            *_released_by(plan),
            *_truncations(plan),
            Branch(f"costs {shown_price(plan.price)}", tuple(_both(plan))),
            *_standing(plan),
            *_titled(
                f"error, with {_percent(plan.confidence)} confidence",
                (f"{error.output} {error.words}" for error in plan.predicted),
            ),
        ),
    )


def _titled(title: str, lines: Iterable[object]) -> tuple[Branch, ...]:
    """Return lines below their title, if there are any."""
    below = tuple(Branch(str(line)) for line in lines)
    return (Branch(title, below),) if below else ()


def _found_limits(plan: Plan) -> Iterator[Branch]:
    """Say which limits were bought, and what they follow from."""
    found = plan.found_limits
    if found is not None:
        title = f"uses limits that were bought apart, for epsilon {short_number(found.epsilon)}"
        yield Branch(title, tuple(map(Branch, found.words)))


def _released_by(plan: Plan) -> Iterator[Branch]:
    """Say which questions have released the groups, and what they cost."""
    for words in plan.released_by:
        yield Branch(f"is about groups that were released apart, by {words}")


def _truncations(plan: Plan) -> Iterator[Branch]:
    """Say what limits may leave out, which no interval covers."""
    cuts = {kind: [cut for cut in plan.truncations if cut.kind == kind] for kind in _APART}
    limits = (cut for cut in plan.truncations if cut.kind not in cuts)
    yield from _titled("has limits that may cut something off", limits)
    for cut in cuts["unlisted"]:
        rows = cut.words.removesuffix(" are left out.")
        yield Branch(f"leaves out {rows[0].lower()}{rows[1:]}")
    if cuts["unnamed"]:
        who = " or ".join(plan.unit.columns)
        yield Branch(f"leaves out rows whose {who} is missing (NULL)")


def _standing(plan: Plan) -> Iterator[Branch]:
    """Say what the ledger says, if there is one."""
    preview = plan.budget_preview
    if preview is not None:
        there = "" if preview.entry is not None or plan.scope == Box.everything() else " there"
        yield Branch(f"{preview}{there}")
        yield from map(Branch, (*preview.notes, *([preview.better] if preview.better else [])))


def _question(plan: Plan) -> str:
    """Return the text of a question on one line, shortened."""
    text = " ".join((plan.question.text or "a question built in Python").split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _limits(request: EngineRequest) -> str:
    if request.groups is None:
        return ""
    groups = "1 group" if request.groups == 1 else f"{request.groups} groups"
    return f", who counts in at most {groups}"


def _groups(plan: Plan) -> Iterator[Branch]:
    request = plan.request
    names = ", ".join(key.name for key in request.keys)
    if not request.keys:
        yield Branch("has one group")
    elif plan.selection is None:
        if plan.cube is not None:
            rows = sum(map(plan.cube.cells, plan.cube.sets))
            yield Branch(f"has {rows} public groups of {names}, on {len(plan.cube.sets)} levels")
            return
        shown = "" if plan.having_threshold is None else _reached(plan.having_threshold)
        yield Branch(f"has {len(request.public or ())} public groups of {names}{shown}")
    else:
        chosen = selection_words(plan.selection, plan)
        other = ", and all others as one" if plan.question.other else ""
        yield Branch(f"shows groups of {names} {chosen}{other}")


def _reached(reached: HavingThreshold) -> str:
    """Say how many of the shown groups are expected to be empty."""
    empty = reached.zeros.expected().high
    few = "fewer than 0.001" if empty < _RARE else f"about {float(empty):.3g}"
    return f", and shows those with {reached.words}: {few} of them empty, by noise alone"


def _bounds(plan: Plan) -> tuple[Branch, ...]:
    """Say how bounds are found, or which ones were."""
    title = "uses bounds that were found before"
    lines: Iterable[str] = ()
    if plan.search is not None:
        title = "finds bounds first, among signed powers of two, from one row of each unit"
        lines = _search_lines(plan.search)
    return _titled(title, found_lines(plan.found) if plan.found else lines)


def _search_lines(search: BoundsSearch) -> Iterator[str]:
    """Say how the bounds of each target are looked for."""
    for target, noise in zip(search.targets, search.noises, strict=True):
        scale = noise.mechanism.scale if not isinstance(noise.mechanism, Gaussian) else Fraction(0)
        yield (
            f"{target.about}: {target.bins.count} bins; Laplace noise of scale {float(scale):.4g}"
        )


def found_lines(found: tuple[FoundBounds, ...]) -> Iterator[str]:
    """Say which bounds were found.

    >>> cost = FoundBounds(about="cost", low=Fraction(0), high=Fraction(128), seen=True)
    >>> list(found_lines((cost,)))
    ['cost from 0 to 128']
    """
    for target in found:
        ends = f"{target.about} from {_number(target.low)} to {_number(target.high)}"
        if not target.seen:
            yield f"{ends}, the widest: no bin stood out from the noise"
        elif target.outside:
            yield f"{ends}, which may clip up to {float(100 * target.outside):.2g} % of the rows"
        else:
            yield ends


def _number(value: Fraction) -> str:
    return f"{value}" if value.denominator == 1 and abs(value) < 10**9 else f"{float(value):.6g}"


def _both(plan: Plan) -> Iterator[Branch]:
    """Say what bounds and answer cost, if both are paid for."""
    if plan.search is not None:
        yield Branch(f"the bounds {shown_price(plan.search.price)}")
        yield Branch(f"the answer {shown_price(plan.search.promise.price)}")


def _percent(chance: Fraction) -> str:
    return f"{float(100 * chance):.6g} %"
