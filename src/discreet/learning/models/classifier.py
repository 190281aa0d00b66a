"""What all classifiers share: declared classes, and a score for public data.

Trust: kernel.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.learning.models.bounded_rows import Encoding
from discreet.learning.models.declarations import declared_classes
from discreet.learning.models.estimator import PrivateModel


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
    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likeliest class of each row."""

    def score(self, X: Any, y: Any) -> float:
        """Return the accuracy on public data; on private data, buy it with ``evaluate``."""
        return float((self.predict(X) == np.asarray(y)).mean())
