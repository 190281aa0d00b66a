"""The names by which scikit-learn finds parameters, copies and kinds of models.

Trust: public.  scikit-learn is never imported: it asks by its own names (``get_params``,
``__sklearn_tags__``).
"""

from __future__ import annotations

import inspect
import sys
from typing import Any, ClassVar, Self

from discreet.errors import BadArrays, NotFitted


class ScikitLearnNames:
    """Parameters are the arguments of a model's constructor, each kept under its own name."""

    kind: ClassVar[str]
    """What it is to scikit-learn: classifier, regressor, clusterer or transformer."""
    two_classes: ClassVar[bool] = False
    """Whether it tells just two classes apart."""
    ledger: Any

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002, FBT001, FBT002  theirs
        """Return all parameters by their names."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: Any) -> Self:
        """Change some parameters, and return the model."""
        known = self._names()
        for name, value in params.items():
            if name not in known:
                raise BadArrays(
                    what=f"Invalid parameter {name!r} for {type(self).__name__}.",
                    why="a parameter that is not there changes nothing.",
                    do=f"use some of: {', '.join(known)}.",
                )
            setattr(self, name, value)
        return self

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted model with the same parameters and the same ledger."""
        return type(self)(**self.get_params())

    def __getstate__(self) -> dict[str, Any]:
        """Leave the ledger behind: a stored model is what was released, and pays for nothing."""
        state = dict(self.__dict__)
        state["ledger"] = self.ledger if isinstance(self.ledger, str) else None
        state.pop("plan_", None)
        return state

    def __repr__(self) -> str:
        """Show the parameters that are not as usual."""
        usual = inspect.signature(type(self).__init__).parameters
        shown = []
        for name in self._names():
            value = getattr(self, name)
            if value is usual[name].default:
                continue
            shown.append(f"{name}={'...' if name == 'ledger' else repr(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def __sklearn_tags__(self) -> Any:
        """Say what it is, in scikit-learn's own words; only scikit-learn asks."""
        words = sys.modules["sklearn.utils"]
        kind, has_target = self.kind, self.kind in {"classifier", "regressor"}
        tags = words.Tags(
            estimator_type=None if kind == "transformer" else kind,
            target_tags=words.TargetTags(required=has_target),
            input_tags=words.InputTags(allow_nan=True),
            non_deterministic=True,
        )
        if kind == "classifier":
            tags.classifier_tags = words.ClassifierTags(multi_class=not self.two_classes)
        elif kind == "regressor":
            tags.regressor_tags = words.RegressorTags()
        if hasattr(self, "transform"):
            tags.transformer_tags = words.TransformerTags(preserves_dtype=[])
        return tags


def not_fitted_error(name: str) -> Exception:
    """Return the error for a model that is not fitted, one of scikit-learn's where it is loaded."""
    theirs = getattr(sys.modules.get("sklearn.exceptions"), "NotFittedError", None)
    kind = NotFitted if theirs is None else type("NotFitted", (NotFitted, theirs), {})
    error: Exception = kind(
        what=f"this {name} is not fitted yet.",
        why="it has learned nothing that it could tell.",
        do="call fit first, which pays for it.",
    )
    return error
