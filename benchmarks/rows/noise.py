"""What ``benchmarks/noise.py`` races: exact noise against unsafe floats and other libraries."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from benchmarks.measure import Contender, Race, import_seconds, timed
from benchmarks.peers.environment import Peers
from benchmarks.report import OURS
from discreet.noise import (
    Bernoulli,
    Categorical,
    DiscreteGaussian,
    DiscreteLaplace,
    DyadicGrid,
    Uniform,
    exponential_weights,
)
from discreet.noise.laplace import TwoSidedLaw
from discreet.noise.table import table_sampler

NUMPY, OPENDP, DIFFPRIVLIB = "numpy", "opendp", "diffprivlib"
NUMPY_LAPLACE = "numpy laplace"
"""NumPy's float Laplace beside our Gaussian, where the column shows NumPy's float normal."""

LAPLACE_SCALES = (1, 10, 16, 100, 10**3, 10**6, 10**9, 10**12)
GAUSSIAN_SCALES = (1, 10, 64, 10**3, 10**6, 10**12)
CANDIDATES = (10**3, 10**5, 10**6)
PATIENCE = 10**3  # the largest sigma at which diffprivlib's discrete Gaussian ends within seconds

rng = np.random.default_rng(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much work a turn is. Peers get less of it; all figures are per unit of work."""

    vector: int = 10**6
    bits: int = 10**8
    opendp: int = 10**4
    diffprivlib: int = 2 * 10**3
    single: int = 5 * 10**3
    candidates: tuple[int, ...] = CANDIDATES


QUICK = Sizes(bits=10**7, opendp=10**3, diffprivlib=200, single=10**3)


@dataclass(frozen=True, slots=True)
class Field:
    """Makes races of one size, with or without peers."""

    sizes: Sizes
    peers: Peers | None

    def races(self) -> Iterator[Race]:
        """Yield all races, building the data of each only when its turn comes."""
        yield from self.laplace()
        yield from self.gaussian()
        yield from self.single()
        yield from self.response()
        yield from self.finite()
        yield from self.selection()
        yield from self.release()
        yield from tables()
        yield importing()

    def laplace(self) -> Iterator[Race]:
        """Discrete Laplace against float Laplace."""
        n = self.sizes.vector
        for scale in LAPLACE_SCALES:
            law = DiscreteLaplace(scale=scale)
            contenders = {
                OURS: timed(lambda law=law: law.sample(n), units=n),
                NUMPY: timed(lambda scale=scale: rng.laplace(0.0, scale, n), units=n),
                **self._vector_peers("laplace", scale),
            }
            name = f"discrete Laplace, scale {short(scale)}"
            yield Race(kind="laplace", name=name, size=scale, contenders=contenders)

    def gaussian(self) -> Iterator[Race]:
        """Discrete Gaussian against float normal, and against float Laplace."""
        n = self.sizes.vector
        for sigma in GAUSSIAN_SCALES:
            law = DiscreteGaussian(variance=sigma**2)
            contenders = {
                OURS: timed(lambda law=law: law.sample(n), units=n),
                NUMPY: timed(lambda sigma=sigma: rng.normal(0.0, sigma, n), units=n),
                NUMPY_LAPLACE: timed(lambda sigma=sigma: rng.laplace(0.0, sigma, n), units=n),
                **self._vector_peers("gaussian", sigma),
            }
            name = f"discrete Gaussian, sigma {short(sigma)}"
            yield Race(kind="gaussian", name=name, size=sigma, contenders=contenders)

    def _vector_peers(self, law: str, scale: int) -> dict[str, Contender]:
        """OpenDP takes an array; diffprivlib takes one number at a time."""
        sizes, found = self.sizes, self._peer(OPENDP, law, scale=scale, count=self.sizes.opendp)
        if law == "laplace":
            found |= self._peer(DIFFPRIVLIB, law, scale=scale, count=sizes.diffprivlib)
        elif scale <= PATIENCE:  # its time grows with sigma
            count = max(50, sizes.diffprivlib // scale)
            found |= self._peer(DIFFPRIVLIB, law, scale=scale, count=count)
        return found

    def _peer(self, library: str, work: str, **parameters: float) -> dict[str, Contender]:
        if self.peers is None:
            return {}
        return {library: self.peers.contender(work=f"{library} {work}", **parameters)}

    def single(self) -> Iterator[Race]:
        """One draw at a time."""
        for scale in (10, 10**6):
            laplace = DiscreteLaplace(scale=scale)
            gaussian = DiscreteGaussian(variance=scale**2)
            yield self._single(
                "laplace",
                f"Laplace draw(), scale {short(scale)}",
                scale,
                {OURS: laplace.draw, NUMPY: lambda s=float(scale): rng.laplace(0.0, s)},
            )
            yield self._single(
                "gaussian",
                f"Gaussian draw(), sigma {short(scale)}",
                scale,
                {OURS: gaussian.draw, NUMPY: lambda s=float(scale): rng.normal(0.0, s)},
            )

    def _single(
        self, law: str, name: str, scale: int, draws: dict[str, Callable[[], object]]
    ) -> Race:
        calls = self.sizes.single
        contenders = {who: timed(draw, units=1, calls=calls) for who, draw in draws.items()}
        contenders |= self._peer(OPENDP, f"one {law}", scale=scale, count=calls // 20)
        if law == "laplace" or scale <= PATIENCE:
            contenders |= self._peer(DIFFPRIVLIB, law, scale=scale, count=calls // 20)
        return Race(kind=f"{law} draw", name=name, unit="µs", size=scale, contenders=contenders)

    def response(self) -> Iterator[Race]:
        """Randomized response: flip true bits with chance 1 / (1 + e)."""
        coin, p = Bernoulli(p="0.26894142137"), 1.0 / (1.0 + math.e)
        peers = {
            **self._peer(OPENDP, "response", epsilon=1.0, count=8 * self.sizes.opendp),
            **self._peer(DIFFPRIVLIB, "response", epsilon=1.0, count=self.sizes.diffprivlib),
        }
        for n in (10**6, self.sizes.bits):
            truth = rng.integers(0, 2, n, dtype=np.bool_)
            contenders = {
                OURS: timed(lambda truth=truth, n=n: truth ^ coin.flips(n), units=n),
                NUMPY: timed(lambda truth=truth, n=n: truth ^ (rng.random(n) < p), units=n),
                **peers,
            }
            name = f"randomized response, {short(n)} bits"
            yield Race(kind="response", name=name, size=n, contenders=contenders, rounds=5)

    def finite(self) -> Iterator[Race]:
        """Categorical and uniform draws."""
        n = self.sizes.vector
        for k in (4, 16, 256):
            weights = [*range(1, k + 1)]
            law, p = Categorical(weights=weights), np.array(weights) / sum(weights)
            contenders = {
                OURS: timed(lambda law=law: law.sample(n), units=n),
                NUMPY: timed(lambda k=k, p=p: rng.choice(k, n, p=p), units=n),
            }
            yield Race(
                kind="categorical", name=f"categorical, k {k}", size=k, contenders=contenders
            )
        for below in (10, 1000, 10**9 + 7):
            uniform = Uniform(below=below)
            contenders = {
                OURS: timed(lambda law=uniform: law.sample(n), units=n),
                NUMPY: timed(lambda below=below: rng.integers(0, below, n), units=n),
            }
            name = f"uniform below {short(below)}"
            yield Race(kind="uniform", name=name, size=below, contenders=contenders)

    def selection(self) -> Iterator[Race]:
        """Choosing one of many candidates; NumPy's way is Gumbel noise and argmax."""
        rate = Fraction(1, 20)
        for k in self.sizes.candidates:
            scores = np.random.default_rng(1).integers(0, 1000, k)
            calls = max(1, 10**5 // k)

            def ours(scores: np.ndarray = scores) -> int:
                return exponential_weights(scores=scores, rate=rate)

            def gumbel(scores: np.ndarray = scores, k: int = k) -> int:
                return int(np.argmax(scores * float(rate) + rng.gumbel(size=k)))

            contenders = {
                OURS: timed(ours, units=k, calls=calls),
                NUMPY: timed(gumbel, units=k, calls=calls),
            }
            if k <= 10**5:  # their time per candidate does not fall any further
                contenders |= self._peer(OPENDP, "weights", rate=float(rate), count=k)
                contenders |= self._peer(DIFFPRIVLIB, "weights", rate=float(rate), count=k)
            name = f"exponential weights, {short(k)} candidates"
            yield Race(kind="weights", name=name, size=k, contenders=contenders)

    def release(self) -> Iterator[Race]:
        """Floats released on a dyadic grid: round down, add integer noise, go back."""
        n = self.sizes.vector
        values = rng.uniform(-100.0, 100.0, n)
        grid = DyadicGrid.fine(distance=1)
        steps = grid.distance_l1(1)
        laws = {
            "Laplace": (DiscreteLaplace(scale=steps), rng.laplace),
            "Gaussian": (DiscreteGaussian(variance=steps**2), rng.normal),
        }
        for name, (law, unsafe) in laws.items():

            def ours(law: DiscreteLaplace | DiscreteGaussian = law) -> np.ndarray:
                return grid.from_grid(grid.to_grid(values) + law.sample(n))

            contenders = {
                OURS: timed(ours, units=n),
                NUMPY: timed(lambda unsafe=unsafe: values + unsafe(0.0, 1.0, n), units=n),
            }
            yield Race(
                kind="release", name=f"float release, {name} on a grid", contenders=contenders
            )


def tables() -> Iterator[Race]:
    """Building the table of a new scale, which happens once for each exact parameter."""
    laws: dict[str, Callable[[int], TwoSidedLaw]] = {
        "Laplace": lambda scale: DiscreteLaplace(scale=scale),
        "Gaussian": lambda scale: DiscreteGaussian(variance=scale**2),
    }
    for name, law_of in laws.items():
        for scale in (1, 16, 64, 10**3, 10**12):
            law = law_of(scale)

            def ours(law: TwoSidedLaw = law) -> None:
                table_sampler.cache_clear()
                table_sampler(law.decay, law._block_bits)  # noqa: SLF001  as sample() calls it

            yield Race(
                kind="table",
                name=f"{name} table, scale {short(scale)}",
                unit="ms",
                size=scale,
                contenders={OURS: timed(ours, units=1)},
            )


def importing() -> Race:
    """Starting Python and importing the package; NumPy alone in NumPy's column."""
    contenders = {OURS: import_seconds("discreet"), NUMPY: import_seconds("numpy")}
    return Race(kind="import", name="start Python and import", unit="s", contenders=contenders)


def short(number: int) -> str:
    """Write a number as 1, 64, 1e3, 1e12, ..."""
    zeros = len(str(number)) - len(str(number).rstrip("0"))
    return f"{number // 10**zeros}e{zeros}" if zeros >= 3 else str(number)
