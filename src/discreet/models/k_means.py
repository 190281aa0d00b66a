"""k-means: a start from noisy second moments, then rounds of noisy counts and sums of clusters.

Trust: kernel.  In each round a row adds itself and a one to the place of its nearest center, which
was released before (key ``row-tables``).  Sizes are counted once more at the end, around the
centers that are released, because each move changes whose rows are whose.

Lloyd's rounds end near where they begin, and a start that is chosen without data is usually far
from all rows.  So a part of the price buys the matrix of second moments (key ``moment-matrix``):
public points are drawn from the normal distribution with these moments and clustered, which costs
nothing, and their centers are the start.  A center whose noisy count is close to zero moves next to
the largest cluster, and takes half of it in the next round.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.exact import whole
from discreet.extend import Measurer, PlannedSum
from discreet.models.bounded_rows import (
    LEVELS,
    BoundedRows,
    Encoding,
    Floats,
    Integers,
)
from discreet.models.estimator import PrivateModel
from discreet.models.fitting import Released
from discreet.models.linear import MOMENTS, moment_matrix, moment_noise, planned_moments
from discreet.models.public_randomness import PublicDraws, public_stream
from discreet.models.row_sums import counts, moments, table

CLUSTERS: Final = "counts and sums of clusters"
SIZES: Final = "sizes of clusters"
_SIZE_SHARE: Final = Fraction(1, 20)
_MOMENT_SHARE: Final = Fraction(1, 5)
_PUBLIC_POINTS: Final = 2048
_PUBLIC_ROUNDS: Final = 12
_WIDEST_MOMENTS: Final = 64
"""So many columns may have moments: for more, their noise outweighs what they tell."""


@final
@dataclass(frozen=True, slots=True)
class ClusterRecipe:
    """Releases counts and sums of clusters, round by round, and sizes around the last centers."""

    clusters: int
    rounds: int

    def document(self) -> Mapping[str, Any]:
        """Return its parameters."""
        return {"measures": CLUSTERS, "clusters": self.clusters, "rounds": self.rounds}

    def sums(self, encoding: Encoding) -> tuple[PlannedSum, ...]:
        """Return the moments of the start, the table of a round, and the sizes."""
        start = _MOMENT_SHARE if encoding.width <= _WIDEST_MOMENTS + 1 else Fraction(0)
        rounds = PlannedSum(
            name=CLUSTERS,
            squared=encoding.squared,
            linear=(len(encoding.features) + 1) * LEVELS,
            opposed=True,
            coordinates=self.clusters * encoding.width,
            times=self.rounds,
            share=1 - _SIZE_SHARE - start,
        )
        sizes = PlannedSum(
            name=SIZES,
            squared=1,
            linear=1,
            opposed=False,
            coordinates=self.clusters,
            share=_SIZE_SHARE,
        )
        return (
            *((planned_moments(encoding.width, encoding.squared, start),) if start else ()),
            rounds,
            sizes,
        )

    def run(self, rows: BoundedRows, encoding: Encoding, see: Measurer) -> Released:
        """Move centers to the noisy means of their clusters."""
        planned = {each.name: each for each in self.sums(encoding)}
        matrix, noise = np.diag([0.3] * (encoding.width - 1) + [1.0]), 0.0
        if MOMENTS in planned:
            found = see.measure(MOMENTS, moments(rows)).tolist()
            matrix = moment_matrix({"moments": found}, encoding.width)
            noise = moment_noise(see.noise(MOMENTS))
        centers = public_start(self.clusters, matrix, noise)
        spread, points = (
            float(see.noise(CLUSTERS).error(confidence="0.68")) / LEVELS,
            rows.cells / LEVELS,
        )
        for left in range(self.rounds, 0, -1):
            total = table(
                nearest(points[:, :-1], centers),
                self.clusters,
                rows.cells,
                squared=encoding.squared,
                linear=planned[CLUSTERS].linear,
                opposed=True,
            )
            noisy = see.measure(CLUSTERS, total).reshape(self.clusters, -1) / LEVELS
            centers = moved(centers, noisy, spread=spread, split=left > 1)
        sizes = see.measure(SIZES, counts(nearest(points[:, :-1], centers), self.clusters))
        return {"centers": centers.tolist(), "sizes": sizes.tolist()}


def public_start(clusters: int, matrix: Floats, noise: float) -> Floats:
    """Return centers of public points with these second moments; the last column is constant.

    >>> public_start(2, np.diag([0.1, 1.0]), 0.0).shape
    (2, 1)
    """
    width = len(matrix) - 1
    size = max(1.0, float(matrix[-1, -1]))
    mean = np.clip(matrix[-1, :-1] / size, -1.0, 1.0)
    values, vectors = np.linalg.eigh(matrix[:-1, :-1] / size - np.outer(mean, mean))
    kept = np.where(values > noise / size * width**0.5, values, 0.0).clip(1e-4)
    draws = PublicDraws(public_stream(f"{clusters} {width}".encode(), "k-means start"))
    normal = draws.normal((_PUBLIC_POINTS, width))
    points = np.clip(mean + (normal * np.sqrt(kept)) @ vectors.T, -1.0, 1.0)
    chosen = [points[0]]
    gaps = np.full(len(points), np.inf)
    for _ in range(clusters - 1):  # each far from all before it
        gaps = np.minimum(gaps, ((points - chosen[-1]) ** 2).sum(axis=1))
        chosen.append(points[int(gaps.argmax())])
    centers = np.array(chosen)
    for _ in range(_PUBLIC_ROUNDS):
        mine = nearest(points, centers) == np.arange(clusters)[:, None]
        held = mine.sum(axis=1, keepdims=True)
        centers = np.where(held > 0, mine @ points / np.maximum(held, 1), centers)
    return centers


def moved(centers: Floats, noisy: Floats, *, spread: float, split: bool) -> Floats:
    """Return the next centers, given the noisy sums and counts (last) of their clusters.

    >>> moved(np.array([[0.5]]), np.array([[30.0, 100.0]]), spread=1.0, split=False).tolist()
    [[0.3]]
    """
    held = noisy[:, -1:]
    means = np.clip(noisy[:, :-1] / np.maximum(held, 1.0), -1.0, 1.0)
    known = held[:, 0] > max(1.0, 2 * spread)
    found = np.where(known[:, None], means, centers)
    large = held[:, 0].copy()
    average = max(1.0, float(large.clip(0).mean()))
    for empty in np.flatnonzero(large < 0.1 * average) if split else ():
        largest = int(large.argmax())
        away = found[largest] - found[known].mean(axis=0) if known.any() else found[largest]
        aside = 0.15 * away + 0.02 * np.where(np.arange(len(away)) % 2, 1.0, -1.0)
        found[empty] = np.clip(found[largest] + aside, -1.0, 1.0)
        large[largest] /= 2
    return found


def nearest(points: Floats, centers: Floats) -> Integers:
    """Return the number of the nearest center of each point.

    >>> nearest(np.array([[0.1], [0.9]]), np.array([[0.0], [1.0]])).tolist()
    [0, 1]
    """
    whole, steps = np.rint(centers * LEVELS), np.rint(points * LEVELS)  # so that sums are exact
    gaps = (whole**2).sum(axis=1) - 2 * steps @ whole.T
    found: Integers = gaps.argmin(axis=1).astype(np.int64)
    return found


@dataclass(eq=False, repr=False, kw_only=True)
class KMeans(PrivateModel):
    """Group rows around a few centers.

    >>> KMeans(n_clusters=3, rho=1, bounds=(0, 1))
    KMeans(n_clusters=3, rho=1, bounds=(0, 1))
    """

    kind: ClassVar[str] = "clusterer"
    constant: ClassVar[bool] = True

    n_clusters: Any = field(default=8, kw_only=False)
    """How many centers there are."""
    rounds: Any = 5
    """How often they move."""
    bounds: Any = None
    """Two ends for all columns, or one number a column for either end."""

    def _recipe(self, encoding: Encoding) -> ClusterRecipe:  # noqa: ARG002  the same for all
        clusters = whole(self.n_clusters, name="n_clusters", low=1, high=10_000)
        return ClusterRecipe(clusters, whole(self.rounds, name="rounds", low=1, high=1000))

    def _finish(self, released: Released, encoding: Encoding) -> None:
        centers = np.array(released["centers"])
        self._centers_ = centers
        half, middle = encoding.scales
        self.cluster_centers_ = centers * half + middle
        self.cluster_sizes_ = np.array(released["sizes"])

    def size_half_width(self, confidence: Any = "0.95") -> float:
        """Return how far the size of a cluster may be off, with this confidence; noise alone."""
        return self._half_width(SIZES, confidence)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the number of the nearest center of each row."""
        return nearest(self._features(X) / LEVELS, self._centers_)

    def transform(self, X: Any) -> Floats:
        """Return the distance to each center, in units of the ends of bounds."""
        points = self._features(X) / LEVELS
        gaps: Floats = np.linalg.norm(points[:, None, :] - self._centers_, axis=2)
        return gaps
