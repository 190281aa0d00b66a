"""Answers in two stages: bounds are found first, and then the answer within them.

Trust: kernel.  Both stages are paid for before the first one reads data, and told together: nobody
sees bounds from an attempt that broke off.

The bounds are stored with the digest of the plan that they led to and the answer of that plan:
whoever reads it plans the second stage again, and gets the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

from discreet.engines.engine import Engine
from discreet.engines.hash_order import HashOrder
from discreet.errors import WrongKind
from discreet.ledger.entries import canonical
from discreet.noise import Entropy
from discreet.plan.bounds_search import FoundBounds
from discreet.plan.plan import Plan
from discreet.planner import SecondStage
from discreet.release.answer import answer, private_bounds
from discreet.release.release import Release
from discreet.session.answer_pipeline import finish_with_noise

SecondStagePlanner = Callable[[Plan, tuple[FoundBounds, ...]], SecondStage]
"""Plans the second stage of a plan, from bounds that were found."""

_FORMAT: Final = 1


def draw_in_stages(  # noqa: PLR0913  what both stages need
    plan: Plan,
    plan_stage: SecondStagePlanner,
    *,
    engine: Engine,
    entropy: Entropy,
    order: HashOrder,
    sources: tuple[tuple[str, str], ...] = (),
) -> bytes:
    """Find bounds, answer within them, and return both as they will be stored."""
    search = plan.search
    if search is None:
        message = "a plan without a search has one stage"
        raise TypeError(message)
    raw = engine.run(search.request, order=order)

    def stages() -> bytes:
        bounds = private_bounds(search, raw, entropy=entropy)
        final, digest = plan_stage(plan, bounds)
        release = answer(final, engine.run(final.request, order=order), entropy=entropy)
        written = replace(release, sources=sources).written()
        document = {
            "answer": json.loads(written),
            "bounds": [
                [each.about, str(each.low), str(each.high), each.seen, str(each.outside)]
                for each in bounds
            ],
            "format": _FORMAT,
            "stage": digest,
        }
        return canonical(document).encode("ascii")

    return finish_with_noise(stages)


def read_stages(data: bytes, plan: Plan, plan_stage: SecondStagePlanner) -> Release:
    """Read what was stored, with the plan that its bounds led to."""
    try:
        document = json.loads(data)
        bounds = tuple(_bounds(bound) for bound in document["bounds"])
        stage, known = document["stage"], document["format"] == _FORMAT
        inner = canonical(document["answer"])
    except (ValueError, KeyError, TypeError, ZeroDivisionError):
        raise _unreadable() from None
    if not known:
        raise _unreadable()
    final, digest = plan_stage(plan, bounds)
    if digest != stage:
        raise _unreadable()
    return Release.read(inner.encode("ascii"), final)


def _bounds(document: Any) -> FoundBounds:
    about, low, high, seen, outside = document
    return FoundBounds(
        about=str(about),
        low=Fraction(low),
        high=Fraction(high),
        seen=bool(seen),
        outside=Fraction(outside),
    )


def _unreadable() -> WrongKind:
    return WrongKind(
        what="a stored answer cannot be read with its plan.",
        why="it was written by another version of this package, or changed since.",
        do="read it with the version that wrote it, or ask at another price.",
    )
