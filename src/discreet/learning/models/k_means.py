"""k-means: a few rounds of noisy counts and sums of clusters, from a public start.

Trust: kernel.  In each round a row adds itself and a one to the place of its nearest center, which
was released before (key ``row-tables``).  Sizes are counted once more at the end, around the
centers that are released, because each move changes whose rows are whose.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.exact import whole
from discreet.learning.models.estimator import PrivateModel
from discreet.learning.models.fit_plans import Released
from discreet.learning.models.measurement import PlannedSum, RowMeasurer
from discreet.learning.models.rows.bounded_columns import LEVELS, Floats, Integers, NumberColumn
from discreet.learning.models.rows.bounded_rows import BoundedRows, Encoding
from discreet.learning.models.rows.row_sums import counts, table
from discreet.learning.public_randomness import PublicDraws, public_stream

CLUSTERS: Final = "counts and sums of clusters"
SIZES: Final = "sizes of clusters"
_SIZE_SHARE: Final = Fraction(1, 20)
_CANDIDATES: Final = 64


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
        """Return the table of a round, and the sizes."""
        entries = 1 + len(encoding.features)
        return (
            PlannedSum(
                name=CLUSTERS,
                squared=entries * LEVELS**2,
                linear=entries * LEVELS,
                opposed=True,
                coordinates=self.clusters * (1 + encoding.width),
                times=self.rounds,
                share=1 - _SIZE_SHARE,
            ),
            PlannedSum(
                name=SIZES,
                squared=1,
                linear=1,
                opposed=False,
                coordinates=self.clusters,
                share=_SIZE_SHARE,
            ),
        )

    def run(self, rows: BoundedRows, encoding: Encoding, see: RowMeasurer) -> Released:
        """Move centers to the noisy means of their clusters."""
        planned, _ = self.sums(encoding)
        centers = public_centers(self.clusters, encoding.width)
        vectors = np.hstack([np.full((len(rows.cells), 1), float(LEVELS)), rows.cells])
        points = rows.cells / LEVELS
        for _ in range(self.rounds):
            total = table(
                nearest(points, centers),
                self.clusters,
                vectors,
                squared=planned.squared,
                linear=planned.linear,
                opposed=True,
            )
            noisy = see.measure(CLUSTERS, total).reshape(self.clusters, -1) / LEVELS
            held = noisy[:, :1]
            moved = np.clip(noisy[:, 1:] / np.maximum(held, 1.0), -1.0, 1.0)
            centers = np.where(held > 1.0, moved, centers)
        sizes = see.measure(SIZES, counts(nearest(points, centers), self.clusters))
        return {"centers": centers.tolist(), "sizes": sizes.tolist()}


def public_centers(clusters: int, width: int) -> Floats:
    """Return centers far from one another, chosen without data.

    >>> public_centers(2, 1).shape
    (2, 1)
    """
    draws = PublicDraws(public_stream(f"{clusters} {width}".encode(), "k-means start"))
    pool = draws.uniform((max(_CANDIDATES, 4 * clusters), width)) * 1.6 - 0.8
    chosen = [pool[0]]
    for _ in range(clusters - 1):
        gaps = np.min([((pool - center) ** 2).sum(axis=1) for center in chosen], axis=0)
        chosen.append(pool[int(gaps.argmax())])
    return np.array(chosen)


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
        half, middle = [], []
        for column in encoding.features:
            half += [column.half] if isinstance(column, NumberColumn) else [1.0] * column.width
            middle += [column.middle] if isinstance(column, NumberColumn) else [0.0] * column.width
        self.cluster_centers_ = centers * np.array(half) + np.array(middle)
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
