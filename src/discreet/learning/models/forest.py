"""A random forest with public splits, trees on disjoint parts of the rows, and noisy leaves.

Trust: kernel.  Splits are chosen without data, and each row goes to one tree by a fair draw that
does not look at it; so it adds one to one leaf of one tree and one class (key ``row-tables``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, final

import numpy as np

from discreet.exact import whole
from discreet.learning.models.classifier import PrivateClassifier
from discreet.learning.models.fit_plans import Released
from discreet.learning.models.measurement import PlannedSum, RowMeasurer
from discreet.learning.models.rows.bounded_columns import LEVELS, Floats, Integers
from discreet.learning.models.rows.bounded_rows import BoundedRows, Encoding
from discreet.learning.models.rows.row_sums import counts
from discreet.learning.public_randomness import PublicDraws, public_stream
from discreet.noise import Uniform

LEAVES: Final = "classes of each leaf"


@final
@dataclass(frozen=True, slots=True)
class ForestRecipe:
    """Releases how many rows of each class every leaf has."""

    trees: int
    depth: int
    seed: int

    def document(self) -> Mapping[str, Any]:
        """Return its parameters."""
        return {"measures": LEAVES, "trees": self.trees, "depth": self.depth, "seed": self.seed}

    def sums(self, encoding: Encoding) -> tuple[PlannedSum, ...]:
        """Return the one table."""
        cells = self.trees * 2**self.depth * len(encoding.classes or ())
        return (PlannedSum(name=LEAVES, squared=1, linear=1, opposed=False, coordinates=cells),)

    def run(self, rows: BoundedRows, encoding: Encoding, see: RowMeasurer) -> Released:
        """Count rows in their leaves."""
        classes, leaves = len(encoding.classes or ()), 2**self.depth
        splits = public_splits(self, encoding.width)
        tree = Uniform(below=self.trees).sample(len(rows.cells), entropy=see.entropy)
        leaf = np.zeros(len(rows.cells), np.int64)
        for each in range(self.trees):
            mine = tree == each
            leaf[mine] = leaf_of(splits, each, self.depth, rows.cells[mine] / LEVELS)
        place = (tree * leaves + leaf) * classes + rows.codes
        noisy = see.measure(LEAVES, counts(place, self.trees * leaves * classes))
        return {"leaves": noisy.tolist()}


def public_splits(recipe: ForestRecipe, width: int) -> tuple[Integers, Floats]:
    """Return a column and a threshold for each inner node of each tree, chosen without data.

    A threshold lies within what earlier splits on its column have left.
    """
    inner = 2**recipe.depth - 1
    text = f"{recipe.trees} {recipe.depth} {recipe.seed} {width}".encode()
    draws = PublicDraws(public_stream(text, "forest"))
    column = np.minimum((draws.uniform((recipe.trees, inner)) * width).astype(np.int64), width - 1)
    share = draws.uniform((recipe.trees, inner))
    threshold = np.zeros((recipe.trees, inner))
    for tree in range(recipe.trees):
        low = {0: np.full(width, -1.0)}
        high = {0: np.full(width, 1.0)}
        for node in range(inner):
            at = column[tree, node]
            a, b = low.pop(node), high.pop(node)
            cut = a[at] + (b[at] - a[at]) * (0.25 + 0.5 * share[tree, node])
            threshold[tree, node] = cut
            left, right = 2 * node + 1, 2 * node + 2
            low[left], high[right] = a.copy(), b.copy()
            high[left], low[right] = b.copy(), a.copy()
            high[left][at] = low[right][at] = cut
    return column, threshold


def leaf_of(splits: tuple[Integers, Floats], tree: int, depth: int, points: Floats) -> Integers:
    """Return the leaf of each point in a tree."""
    column, threshold = splits
    node = np.zeros(len(points), np.int64)
    for _ in range(depth):
        at = points[np.arange(len(points)), column[tree, node]]
        node = 2 * node + 1 + (at > threshold[tree, node])
    leaf: Integers = node - (2**depth - 1)
    return leaf


@dataclass(eq=False, repr=False, kw_only=True)
class RandomForest(PrivateClassifier):
    """Tell declared classes apart by counts in the leaves of trees with public splits.

    >>> RandomForest(n_estimators=4, epsilon=1, classes=(0, 1), bounds=(0, 1))
    RandomForest(n_estimators=4, epsilon=1, classes=(0, 1), bounds=(0, 1))
    """

    n_estimators: Any = field(default=10, kw_only=False)
    """How many trees there are."""
    max_depth: Any = 5
    """How many splits lead to a leaf."""
    random_state: Any = 0
    """What chooses the public splits, and nothing that is secret."""
    bounds: Any = None
    """Two ends for all columns, or one number a column for either end."""

    def _recipe(self, encoding: Encoding) -> ForestRecipe:  # noqa: ARG002  the same for all
        return ForestRecipe(
            whole(self.n_estimators, name="n_estimators", low=1, high=10_000),
            whole(self.max_depth, name="max_depth", low=1, high=16),
            whole(self.random_state, name="random_state", low=0),
        )

    def _finish(self, released: Released, encoding: Encoding) -> None:
        recipe = self._recipe(encoding)
        self._splits_ = public_splits(recipe, encoding.width)
        self._depth_ = recipe.depth
        self.classes_ = np.array(encoding.classes)
        shape = (recipe.trees, 2**recipe.depth, len(self.classes_))
        self.leaf_counts_ = np.array(released["leaves"], np.float64).reshape(shape)

    def leaf_half_width(self, confidence: Any = "0.95") -> float:
        """Return how far a count of a leaf may be off, with this confidence; noise alone."""
        return self._half_width(LEAVES, confidence)

    def predict_proba(self, X: Any) -> Floats:
        """Return the share of each class among the leaves of all trees."""
        total = np.maximum(self._votes(self._features(X)), 0.0) + 1e-9
        share: Floats = total / total.sum(axis=1, keepdims=True)
        return share

    def _votes(self, cells: Floats) -> Floats:
        """Return the counts of each class in the leaves of a row, over all trees."""
        points = cells / LEVELS
        total = np.zeros((len(points), len(self.classes_)))
        for tree in range(len(self.leaf_counts_)):
            total += self.leaf_counts_[tree][leaf_of(self._splits_, tree, self._depth_, points)]
        return total

    def _best(self, cells: Floats) -> Integers:
        best: Integers = self._votes(cells).argmax(axis=1).astype(np.int64)
        return best
