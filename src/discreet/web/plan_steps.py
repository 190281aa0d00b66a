"""A plan in one line: what is bounded, clipped, grouped, and which noise is added.

Trust: public.  A plan holds no data.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from discreet.mechanisms import Gaussian
from discreet.plan.plan import Plan
from discreet.plan.pricing.group_sensitivity import Noise

_BOUNDED: Final = {"rows": "rows", "groups": "groups", "values": "values"}


def plan_steps(plan: Plan) -> list[str]:
    """Return the steps of a plan in a few words each, in the order in which they happen."""
    return list(_steps(plan))


def _steps(plan: Plan) -> Iterator[str]:
    if plan.exact:
        yield "public tables alone: exact, and free"
        return
    who = " and ".join(plan.unit.columns) or plan.unit.name
    for cut in plan.truncations:
        if cut.kind in _BOUNDED and cut.limit is not None:
            each = " in each group" if cut.kind == "rows" and plan.request.keys else ""
            yield f"bound {cut.limit} {_BOUNDED[cut.kind]} of each {who}{each}"
        elif cut.kind == "bounds":
            yield f"clip: {cut.words.rstrip('.')}"
    if plan.selection is not None:
        yield "select groups that are large enough"
    elif plan.request.keys and plan.request.public is not None:
        yield f"{len(plan.request.public)} public groups"
    if plan.search is not None and not plan.found:
        yield "find bounds first"
    steps = {
        measure: step
        for estimate in plan.estimates
        for measure, step in estimate.estimator.steps().items()
    }
    for noise in plan.noises:
        yield _noise(noise, steps.get(noise.measure, Fraction(1)))
    if plan.choices:
        yield "choose values by the exponential mechanism"


def _noise(noise: Noise, step: Fraction) -> str:
    """Say the law, the size and the grid of a noise, in the unit of the number."""
    mechanism = noise.mechanism
    if isinstance(mechanism, Gaussian):
        size = f"Gaussian σ = {math.sqrt(mechanism.variance) * step:.4g}"
    else:
        size = f"Laplace scale = {float(mechanism.scale * step):.4g}"
    grid = "integers" if step == 1 else f"grid of {float(step):.3g}"
    return f"{noise.measure}: {size} ({grid})"
