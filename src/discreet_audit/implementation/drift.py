"""A17: do the law that is proved, the code that draws and the loss that is charged agree?

Trust: public.

Every mechanism says what its answers' law is.  Its divergence on neighbors is compared with the
loss that it claims, in rationals; and real draws are compared with the law, by chi-square, in cells
that the law alone decides.  A proof about another mechanism than the one that runs is found here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from discreet.attacks.exact import exact_epsilon
from discreet.attacks.measured import Measured
from discreet.errors import OutOfRange
from discreet.noise import KeyedEntropy
from discreet_audit.cases import CASES, Case
from discreet_audit.findings import Finding

_LEVEL: Final = 1e-6
_LEAST: Final = 5
_TINY: Final = 1e-9


def attack(*, quick: bool, cases: Iterable[Case] = CASES) -> Finding:
    """Compare law, loss and draws of every mechanism, on every value of every pair."""
    n = 400 if quick else 5_000
    rows: dict[str, Measured] = {}
    chances: dict[str, float] = {}
    values = 0
    for case in cases:
        rows[case.name] = exact_epsilon(
            case.mechanism, case.pairs, claim=case.claim, outcomes=case.outcomes
        )
        drawn = laws_of_draws(case, n)
        values += len(drawn)
        chances[case.name] = min(each.chance for each in drawn)
    drawn_wrong = [name for name, chance in chances.items() if chance < _LEVEL]
    priced_wrong = [name for name, row in rows.items() if row.violates]
    return Finding(
        claimed="exact divergence of neighbors at most the claimed loss; draws follow the law",
        measured=f"{len(rows)} mechanisms on {values} values: {len(priced_wrong)} priced too low, "
        f"{len(drawn_wrong)} drawn from another law (smallest p-value {min(chances.values()):.2g})"
        f"{': ' * bool(priced_wrong or drawn_wrong)}{', '.join(priced_wrong + drawn_wrong)}",
        passed=not priced_wrong and not drawn_wrong,
        numbers={
            "mechanisms": len(rows),
            "values": values,
            "draws": n,
            "smallest_p_value": min(chances.values()),
            **{f"exact loss, {name}": row.lower for name, row in rows.items()},
        },
        rows=tuple(rows.values()),
        not_covered="parameters and neighbors other than these; tails beyond the outcomes listed",
    )


class Draws(NamedTuple):
    """The p-value of draws on one value, and how many cells the law has there."""

    chance: float
    cells: int


def laws_of_draws(case: Case, n: int) -> list[Draws]:
    """Compare n draws on each value of each pair with the law there.

    A case whose laws all have a single cell would agree with any draws, and is refused.
    """
    values = {repr(value): value for pair in case.pairs for value in pair}
    drawn = [law_of_draws(case, value, n) for value in values.values()]
    if max(each.cells for each in drawn) < 2:
        raise OutOfRange(
            what=f"the law of {case.name} has fewer than two cells on every value.",
            why="draws from any law would agree with it.",
            do="give pairs on which several outcomes are likely, or draw more.",
        )
    return drawn


def law_of_draws(case: Case, value: Any, n: int) -> Draws:
    """Return the p-value of n draws on one value against the law.

    The words come from a fixed stream, so the result is the same every time.
    """
    from scipy import stats  # type: ignore[import-untyped]  # noqa: PLC0415  (slow to load)

    law = case.mechanism.reference_pmf(value)
    listed = list(law) if isinstance(law, Mapping) else list(case.outcomes or ())
    chance = law.__getitem__ if isinstance(law, Mapping) else law
    chances = {outcome: float(chance(outcome).low) for outcome in listed}
    likely = [outcome for outcome, mass in chances.items() if mass * n >= _LEAST]
    entropy = KeyedEntropy(key=bytes(32), label=f"drift {case.name} {value!r}")
    place = {outcome: number for number, outcome in enumerate(likely)}
    drawn = [case.key(case.mechanism.run(value, entropy=entropy)) for _ in range(n)]
    counts = np.bincount([place.get(y, len(likely)) for y in drawn], minlength=len(likely) + 1)
    masses = np.array([chances[outcome] for outcome in likely])
    expected = np.append(masses, max(1 - masses.sum(), 0.0)) * n
    if len(likely) == 1 and expected[-1] < _TINY:  # the law allows for one outcome
        return Draws(float(counts[-1] == 0), 1)
    if expected[-1] < _LEAST:  # join the rest with the rarest cell
        rarest = int(expected[:-1].argmin())
        expected[rarest] += expected[-1]
        counts[rarest] += counts[-1]
        expected, counts = expected[:-1], counts[:-1]
    if len(counts) < 2:
        return Draws(1.0, len(counts))
    return Draws(
        float(stats.chisquare(counts, expected * (n / expected.sum())).pvalue), len(counts)
    )
