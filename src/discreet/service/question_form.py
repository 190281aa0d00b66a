"""A question as it travels: SQL text or a tree of the table builder, and its price, as JSON.

Trust: kernel.  What arrives is read strictly: an unknown name or a wrong type is refused, numbers
are exact texts, and nothing is ever evaluated or unpickled.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, final

from discreet.errors import WrongKind
from discreet.plan import estimate, estimate_limits, limits, share_cut
from discreet.query.question import Question
from discreet.service.value_codec import QUESTION_CLASSES, read_value, written_value

_LONGEST: Final = 100_000
_TEXTS: Final = (
    "epsilon",
    "rho",
    "delta",
    "confidence",
    "bounds_epsilon",
    "bounds_rho",
    "limits_epsilon",
    "share_cut_epsilon",
)
_COUNTS: Final = ("size", "max_rows", "max_groups")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionForm:
    """A question, what it may cost, and what is bought beside it.

    >>> form = QuestionForm.read({"question": "SELECT COUNT(*) AS n FROM visits", "epsilon": "0.1"})
    >>> form.options()["epsilon"], QuestionForm.read(form.written()) == form
    ('0.1', True)
    """

    question: str | Question
    epsilon: str | None = None
    rho: str | None = None
    delta: str | None = None
    error: tuple[tuple[str, str], ...] = ()
    size: int | None = None
    confidence: str | None = None
    bounds_epsilon: str | None = None
    bounds_rho: str | None = None
    max_rows: int | None = None
    max_groups: int | None = None
    limits_epsilon: str | None = None
    share_cut_epsilon: str | None = None
    confirm: bool = False

    @classmethod
    def read(cls, document: object) -> QuestionForm:
        """Read what ``written`` returned, or what somebody has typed."""
        known = {item.name for item in fields(cls)}
        if not isinstance(document, Mapping) or not set(document) <= known:
            raise _refused(f"it is not an object, or has names other than {sorted(known)}")
        asked = document.get("question")
        if isinstance(asked, Mapping):
            asked = read_value(asked, QUESTION_CLASSES)
        if not isinstance(asked, str | Question) or (
            isinstance(asked, str) and not 0 < len(asked) <= _LONGEST
        ):
            raise _refused("'question' is neither SQL text nor the tree of a question")
        values: dict[str, Any] = {"question": asked}
        values |= {name: _text(document.get(name), name) for name in _TEXTS}
        values |= {name: _count(document.get(name), name) for name in _COUNTS}
        values["error"] = _errors(document.get("error"))
        values["confirm"] = document.get("confirm", False)
        if not isinstance(values["confirm"], bool):
            raise _refused("'confirm' is not true or false")
        return cls(**values)

    def written(self) -> dict[str, Any]:
        """Return plain JSON, without what is not given."""
        document: dict[str, Any] = {
            item.name: value
            for item in fields(self)
            if (value := getattr(self, item.name)) is not None
            and value is not False  # a zero equals it, and is refused where it is planned
            and value != ()
        }
        if isinstance(self.question, Question):
            document["question"] = written_value(self.question)
        if self.error:
            document["error"] = dict(self.error)
        return document

    @property
    def digest(self) -> str:
        """Tell forms apart: the SHA-256 of the canonical JSON."""
        text = json.dumps(self.written(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode("ascii")).hexdigest()

    def options(self) -> dict[str, Any]:
        """Return the options of ``Session.plan`` and ``Session.ask``."""
        bounds: Any = None
        if self.bounds_epsilon is not None or self.bounds_rho is not None:
            bounds = estimate(epsilon=self.bounds_epsilon, rho=self.bounds_rho)
        return {
            "epsilon": self.epsilon,
            "rho": self.rho,
            "delta": self.delta,
            "error": dict(self.error) or None,
            "size": self.size,
            "confidence": self.confidence,
            "bounds": bounds,
            "limits": self._limits(),
            "share_cut": None
            if self.share_cut_epsilon is None
            else share_cut(epsilon=self.share_cut_epsilon),
        }

    def _limits(self) -> Any:
        given = self.max_rows is not None or self.max_groups is not None
        if self.limits_epsilon is None:
            return limits(max_rows=self.max_rows, max_groups=self.max_groups) if given else None
        if given:
            raise _refused("limits are given, and others are to be bought")
        return estimate_limits(epsilon=self.limits_epsilon)


def check_draws(forms: Sequence[QuestionForm]) -> None:
    """Refuse further draws of another question: a draw is one of the first form's answer.

    >>> form = QuestionForm.read({"question": "SELECT COUNT(*) AS n FROM t", "epsilon": "1"})
    >>> check_draws([form, form])
    """
    first, *more = (form.written()["question"] for form in forms)
    if any(question != first for question in more):
        raise _refused("a further draw has another question than the first form")


def _text(value: object, name: str) -> str | None:
    """Return an exact number as text; JSON numbers are taken as they are written."""
    if value is None or isinstance(value, str):
        if value is not None and len(value) > 100:
            raise _refused(f"'{name}' is too long")
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _refused(f"'{name}' is not a number")
    return repr(value)


def _count(value: object, name: str) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise _refused(f"'{name}' is not a whole number")


def _errors(value: object) -> tuple[tuple[str, str], ...]:
    if value is None:
        return ()
    if not isinstance(value, Mapping) or len(value) > 1000:
        raise _refused("'error' is not an object of outputs and numbers")
    return tuple((str(name), _text(each, "error") or "") for name, each in value.items())


def _refused(what: str) -> WrongKind:
    return WrongKind(
        what=f"the question cannot be read: {what}.",
        why="what travels is read strictly, so that nothing is ignored.",
        do='send {"question": "SELECT COUNT(*) AS n FROM visits", "epsilon": "0.1"}, say.',
    )
