"""What ``benchmarks/accounting.py`` must show: ratios within one run, narrow and true brackets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.measure import Result
from benchmarks.report import OURS, PER_SECOND, Bar, figures
from benchmarks.rows.accounting import (
    CASES,
    COLD,
    CORPUS,
    FEW,
    GOOGLE,
    MIX,
    PRINTED,
    README,
    SGD,
    WORK,
    row,
    sampled_excess,
)
from discreet.loss.rounding import Bracket

FASTER = 50
WIDEST = 1e-6
SMALL = {FEW: 10, README: 20, PRINTED: 20, CORPUS: 10, COLD: 5}
"""Small prices, in pieces of fixed work that takes some 10 ms."""
ABOVE = 1e-4


def bars(
    results: Sequence[Result], answers: Mapping[str, Bracket], deltas: Sequence[float]
) -> list[Bar]:
    """Return the bars that decide the run."""
    quick = [
        small(result, most)
        for result in results
        for name, most in SMALL.items()
        if result.name == name
    ]
    return [
        speed(results),
        width(answers),
        truth(answers, deltas),
        samples(sampled_excess()),
        *quick,
    ]


def small(result: Result, most: int) -> Bar:
    """Hold a small price against the fixed work that was timed beside it."""
    ratio = result.seconds[OURS] / result.seconds[WORK]
    spent = figures(result.seconds[OURS] * PER_SECOND[result.unit])
    return Bar(
        text=f"{result.name}: at most {most} times the fixed work beside it",
        measured=f"{ratio:.2g} times ({spent} {result.unit})",
        passed=ratio <= most,
        binding=True,
    )


def speed(results: Sequence[Result]) -> Bar:
    """Compare with dp_accounting wherever both found an epsilon, on warm code."""
    text = f"at least {FASTER} times as fast as dp_accounting in every warm row"
    rows = [result for result in results if result.kind == "epsilon"]
    ratios = {one.name: ratio for one in rows if (ratio := one.ratio(GOOGLE)) is not None}
    if len(ratios) < len(rows):
        return Bar(text=text, measured="no figures", passed=None, binding=True)
    worst = min(ratios, key=ratios.__getitem__)
    return Bar(
        text=text,
        measured=f"{ratios[worst]:,.0f} times at worst ({worst})",
        passed=ratios[worst] >= FASTER,
        binding=True,
    )


def width(answers: Mapping[str, Bracket]) -> Bar:
    """Look for the widest bracket."""
    worst = max(answers, key=lambda name: answers[name].width)
    return Bar(
        text=f"every bracket at most {WIDEST:g} wide",
        measured=f"{answers[worst].width:.1g} at worst ({worst})",
        passed=answers[worst].width <= WIDEST,
        binding=True,
    )


def truth(answers: Mapping[str, Bracket], deltas: Sequence[float]) -> Bar:
    """Hold every bracket against the profile to forty digits."""
    wrong = [
        name
        for case in CASES
        for delta in deltas
        for name in [row(case, delta)]
        if not case.truth().encloses(delta, answers[name].low, answers[name].high)
    ]
    right = len(answers) - len(wrong)
    return Bar(
        text="every bracket holds the epsilon that arithmetic with 40 digits gives",
        measured=f"{right} of {len(answers)}" + "".join(f"; not {name}" for name in wrong),
        passed=not wrong,
        binding=True,
    )


def samples(excess: Sequence[float]) -> Bar:
    """Hold Rényi divergences of samples against quadrature."""
    return Bar(
        text=f"Rényi of samples against quadrature: not below it, and at most {ABOVE:g} above",
        measured=f"between {min(excess):.1g} and {max(excess):.1g} in {len(excess)} cases",
        passed=min(excess) >= 0 and max(excess) <= ABOVE,
        binding=True,
    )


def notes(results: Sequence[Result]) -> list[Bar]:
    """Return the targets in absolute time, which depend on the machine and decide nothing."""
    found = []
    for text, name, most in (
        *((f"{case.name} at most {case.target:g} ms", case.name, case.target) for case in CASES),
        ("DP-SGD of another length at most 5 ms", "DP-SGD, another length", 5),
        ("sigma of DP-SGD at most 200 ms", "sigma of", 200),
        *(
            (
                f"adding a {what} mechanism to {case.name} at most 100 µs",
                f"add a {what} mechanism to {case.name}",
                100,
            )
            for case in (SGD, MIX)
            for what in ("new", "repeated")
        ),
    ):
        exact = [one for one in results if one.name == name]
        near = [one for one in results if one.name.startswith(name) and one.kind != "first"]
        rows = exact or [one for one in near if one.name.startswith(f"{name},")] or near
        slowest = max(rows, key=lambda one: one.seconds[OURS])
        spent = slowest.seconds[OURS] * PER_SECOND[slowest.unit]
        found.append(
            Bar(
                text=text,
                measured=f"{figures(spent)} {slowest.unit} ({slowest.name})",
                passed=spent <= most,
                binding=False,
            )
        )
    return found
