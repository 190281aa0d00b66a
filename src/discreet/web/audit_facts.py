"""The report of an audit as rows and one picture: claimed against measured.

Trust: public.  It is about our code, and no data of anybody.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, final

from discreet.charts import NARROW, Axis, Chart, Picture

_LOW: Final = 0.01


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedPromise:
    """One mechanism: what is claimed, and what its answers prove at least."""

    name: str
    verdict: str
    claimed: float
    measured: float


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
            found.append(
                AuditedPromise(
                    name=str(line.get("name", "")),
                    verdict=str(line.get("verdict", "")),
                    claimed=float(claimed),
                    measured=float(lower),
                )
            )
    return found


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
    """Draw what is proved against what is claimed; a dot above the line is a violation."""
    shown = [each for each in promises if each.claimed > 0]
    if not shown:
        return None
    most = max(max(each.claimed, each.measured) for each in shown) * 1.2
    low = min([_LOW, *(each.claimed for each in shown)])
    ticks = [tick for tick in (0.01, 0.1, 1, 10, 100) if low <= tick <= most]
    ends = {"low": low, "high": most, "ticks": ticks, "log": True}
    chart = Chart(
        width=NARROW,
        title="Proved by attacks, against claimed",
        x=Axis(label="claimed epsilon", **ends),  # type: ignore[arg-type]
        y=Axis(label="proved, at least", **ends),  # type: ignore[arg-type]
        description="; ".join(
            f"{each.name}: claimed {each.claimed:.4g}, proved {each.measured:.4g}" for each in shown
        ),
    )
    chart.line([(low, low), (most, most)], color=1, label="as claimed", dashed=True)
    dots = [(each.claimed, max(each.measured, low)) for each in shown]
    chart.dots(dots, color=0, label="one mechanism")
    return chart.picture()
