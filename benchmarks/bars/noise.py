"""What ``benchmarks/noise.py`` must show: ratios within one run, and targets for a fast machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.measure import Result
from benchmarks.report import OURS, PER_SECOND, Bar
from benchmarks.rows.noise import NUMPY, NUMPY_LAPLACE, OPENDP

Where = Callable[[Result], bool]


def bars(results: Sequence[Result]) -> list[Bar]:
    """Return the bars that decide the run."""

    def bar(text: str, kind: str, other: str, least: float, where: Where = lambda _: True) -> Bar:
        rows = [result for result in results if result.kind == kind and where(result)]
        ratios = {row.name: ratio for row in rows if (ratio := row.ratio(other)) is not None}
        if not rows or len(ratios) < len(rows):
            return Bar(text=text, measured="no figures", passed=None, binding=True)
        worst = min(ratios, key=ratios.__getitem__)
        return Bar(
            text=text,
            measured=f"{ratios[worst]:,.2f} times ahead at worst ({worst})",
            passed=ratios[worst] >= least,
            binding=True,
        )

    def modest(row: Result) -> bool:
        return row.size <= 10**3

    def at(*sizes: int) -> Where:
        return lambda row: row.size in sizes

    close = 1 / 1.5
    return [
        bar(
            "Laplace in .15 of NumPy's time at scales 1, 10", "laplace", NUMPY, 1 / 0.15, at(1, 10)
        ),
        bar("Laplace in .5 of NumPy's time at 1e3", "laplace", NUMPY, 1 / 0.5, at(10**3)),
        bar("Laplace in .6 of NumPy's time at 1e6", "laplace", NUMPY, 1 / 0.6, at(10**6)),
        bar("Laplace ahead of NumPy's float Laplace up to scale 1e3", "laplace", NUMPY, 1, modest),
        bar("Laplace no more than 1.5 times behind it at any scale", "laplace", NUMPY, close),
        bar("Gaussian ahead of the same up to sigma 1e3", "gaussian", NUMPY_LAPLACE, 1, modest),
        bar(
            "Gaussian no more than 1.5 times behind it at any sigma",
            "gaussian",
            NUMPY_LAPLACE,
            close,
        ),
        bar("Laplace 500 times ahead of OpenDP", "laplace", OPENDP, 500),
        bar("Gaussian 500 times ahead of OpenDP", "gaussian", OPENDP, 500),
        bar("randomized response ahead of rng.random() < p", "response", NUMPY, 1),
    ]


def notes(results: Sequence[Result]) -> list[Bar]:
    """Return the targets in absolute time, which depend on the machine and decide nothing."""

    def note(kind: str, most: float, where: Where = lambda _: True, text: str = "") -> Bar:
        rows = [row for row in results if row.kind == kind and where(row)]
        unit = rows[0].unit
        slowest = max(rows, key=lambda row: row.seconds[OURS])
        spent = slowest.seconds[OURS] * PER_SECOND[unit]
        return Bar(
            text=f"{text or kind} at most {most:g} {unit}",
            measured=f"{spent:.3g} {unit} ({slowest.name})",
            passed=spent <= most,
            binding=False,
        )

    def up_to(size: float) -> Where:
        return lambda row: row.size <= size

    def exactly(size: float) -> Where:
        return lambda row: row.size == size

    return [
        note("laplace", 4, up_to(16), "Laplace up to scale 16"),
        note("gaussian", 4, up_to(64), "Gaussian up to sigma 64"),
        note("laplace", 15, text="Laplace at any scale"),
        note("gaussian", 15, text="Gaussian at any sigma"),
        note("response", 1, lambda row: row.size > 10**6, "randomized response, a bit of many,"),
        note("categorical", 4, text="categorical"),
        note("weights", 30, exactly(10**5), "exponential weights, a candidate of 1e5,"),
        note("laplace draw", 5, text="a single Laplace draw"),
        note("gaussian draw", 5, text="a single Gaussian draw"),
        note("table", 20, text="a table"),
        note("import", 0.3, text="import"),
    ]
