"""The report of an audit as rows and one picture: claimed against measured.

Trust: public.  It is about our code, and no data of anybody.

Definition.  An attack counts how many answers about each of two neighbors lie in an event, chosen
before.  With chances p and q of the event, f(p, q) = max(ln((p - delta) / q), ln((1 - q - delta) /
(1 - p))) is what the event and its complement show of epsilon, so that a true claim is at least
f(p, q).  It grows with p and falls with q: both ends of the intervals of Clopper and Pearson (key
``clopper-pearson``) give an interval for it, which holds with 99.9 %.  The end of the report's own
certified bound lies further down, since it holds for all promises together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

from discreet.attacks.proportions import at_least, at_most
from discreet.charts import NARROW, Axis, Chart, Picture

_LOW: Final = 0.01
_LEVEL: Final = Fraction(1, 1000)
_TAIL: Final = _LEVEL / 4
"""Two chances, each with two ends, share the level."""
_MOST: Final = 10**7
_NARROW: Final = 100
"""Axes that span no more than this have marks between powers of ten."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedPromise:
    """One mechanism: what is claimed, what its answers prove at least, and what they show.

    ``interval`` is around what the event shows, with 99.9 %; its upper end may be infinite.
    """

    name: str
    verdict: str
    claimed: float
    measured: float
    shown: float
    interval: tuple[float, float]

    @property
    def words(self) -> str:
        """The interval as a table shows it."""
        low, high = self.interval
        return f"{low:.3g} to {'∞' if math.isinf(high) else f'{high:.3g}'}"


def audited_promises(report: Mapping[str, Any]) -> list[AuditedPromise]:
    """Return the promises of a report whose claim is a finite epsilon, without broken twins.

    >>> line = {"name": "Laplace", "verdict": "kept", "claimed": 1.0, "lower": 0.97,
    ...         "parameter": "epsilon"}
    >>> audited_promises({"lines": [line, {**line, "broken": True}]})[0].measured
    0.97
    """
    found = []
    for line in report.get("lines", ()):
        claimed, lower = line.get("claimed"), line.get("lower")
        numbers = isinstance(claimed, int | float) and isinstance(lower, int | float)
        if numbers and not line.get("broken") and line.get("parameter") == "epsilon":
            estimate = line.get("estimate")
            shown = float(estimate) if isinstance(estimate, int | float) else float(lower)
            found.append(
                AuditedPromise(
                    name=str(line.get("name", "")),
                    verdict=str(line.get("verdict", "")),
                    claimed=float(claimed),
                    measured=float(lower),
                    shown=shown,
                    interval=_interval(line) or (float(lower), max(shown, float(lower))),
                )
            )
    return found


def _interval(line: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return the 99.9 % interval of what an event shows; None where nothing was counted."""
    hits, n, delta = line.get("hits"), line.get("n"), line.get("delta", 0.0)
    if not (isinstance(n, int) and 0 < n <= _MOST and isinstance(hits, list) and len(hits) == 2):
        return None
    if not all(isinstance(each, int) and 0 <= each <= n for each in hits):
        return None
    if not isinstance(delta, int | float) or not 0 <= delta < 1:
        return None
    lows = [float(at_least(each, n, level=_TAIL)) for each in hits]
    highs = [float(at_most(each, n, level=_TAIL)) for each in hits]
    return _shown(lows[0], highs[1], delta), _shown(highs[0], lows[1], delta)


def _shown(p: float, q: float, delta: float) -> float:
    """Return what chances of an event, and of its complement, show of epsilon."""
    pairs = ((p - delta, q), (1 - q - delta, 1 - p))
    ratios = [top / bottom if bottom > 0 else math.inf for top, bottom in pairs if top > 0]
    return max(0.0, math.log(max(ratios))) if ratios else 0.0


def verdicts(report: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """Return how many attacks, promises and broken twins came out as they should, and of how many.

    >>> verdicts({"findings": [{"passed": True}, {"passed": False}]})
    {'attacks withstood': (1, 2)}
    """
    lines, findings = report.get("lines", ()), report.get("findings", ())
    passed = [bool(each.get("passed")) for each in findings]
    kept = [not each.get("violates") for each in lines if not each.get("broken")]
    caught = [each.get("verdict") == "caught" for each in lines if each.get("broken")]
    named = {
        "attacks withstood": passed,
        "promises not refuted": kept,
        "broken twins caught": caught,
    }
    return {name: (sum(each), len(each)) for name, each in named.items() if each}


def audit_picture(promises: list[AuditedPromise]) -> Picture | None:
    """Draw what events show against what is claimed; an interval above the line is a violation."""
    shown = [each for each in promises if each.claimed > 0]
    if not shown:
        return None
    most = max(max(each.claimed, each.shown, each.interval[0]) for each in shown) * 2
    least = min(min(each.claimed, max(each.interval[0], _LOW)) for each in shown)
    low = 10.0 ** math.floor(math.log10(least / 2))
    steps = (1, 2, 5) if most / low <= _NARROW else (1,)
    marks = (step * 10.0**power for power in range(-9, 9) for step in steps)
    ticks = [mark for mark in marks if low <= mark <= most]
    ends = {"low": low, "high": most, "ticks": ticks, "log": True}
    chart = Chart(
        width=NARROW,
        title="Measured against claimed",
        x=Axis(label="claimed epsilon", **ends),  # type: ignore[arg-type]
        y=Axis(label="measured epsilon", **ends),  # type: ignore[arg-type]
        description="; ".join(
            f"{each.name}: claimed {each.claimed:.4g}, measured {each.shown:.4g}, "
            f"with 99.9 % {each.words}"
            for each in shown
        ),
    )
    for each in shown:
        ends_of = (min(max(end, low), most) for end in each.interval)
        chart.whisker(each.claimed, *ends_of, color=0)
    chart.line([(low, low), (most, most)], color=1, label="y = x", dashed=True)
    dots = [(each.claimed, min(max(each.shown, low), most)) for each in shown]
    chart.dots(dots, color=0, label="measured, with 99.9 %")
    return chart.picture()
