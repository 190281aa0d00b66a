"""What all classifiers share: declared classes, and a score for public data.

Trust: kernel.  Whoever counts right answers relies on this: the answer for a row depends on that
row and the model alone, to the last bit.  So answers come from exact sums, or from operations on
single numbers in a fixed order, whose results do not depend on where a row lies in memory.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from discreet.learning.models.estimator import PrivateModel
from discreet.learning.models.rows.bounded_columns import Floats, Integers
from discreet.learning.models.rows.bounded_rows import Encoding
from discreet.learning.models.rows.given import declared_classes

_CHUNK: Final = 1 << 15


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateClassifier(PrivateModel):
    """A model that tells declared classes apart."""

    kind: ClassVar[str] = "classifier"

    classes: Any = None
    """The labels that there are, from public knowledge."""

    def _encoding(self, width: int) -> Encoding:
        return Encoding(
            features=self._declared(width),
            classes=declared_classes(self.classes),
            constant=self.constant,
        )

    @abstractmethod
    def _best(self, cells: Floats) -> Integers:
        """Return the place of the likeliest class of each row, given its features in steps."""

    def codes(self, cells: Floats) -> Integers:
        """Return the place of the class of each row, some rows at a time; ends of rows are cut."""
        width = sum(column.width for column in self.encoding_.features)
        starts = range(0, len(cells), _CHUNK)
        parts = [self._best(cells[start : start + _CHUNK, :width]) for start in starts]
        return np.concatenate([np.zeros(0, np.int64), *parts])

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likeliest class of each row."""
        cells = self._features(X)
        found: NDArray[Any] = np.array(self.encoding_.classes)[self.codes(cells)]
        return found

    def score(self, X: Any, y: Any) -> float:
        """Return the accuracy on public data; on private data, buy it with ``evaluate``."""
        return float((self.predict(X) == np.asarray(y)).mean())
