"""A question as it travels: SQL text or a tree of the table builder, and its price.

Trust: kernel.  What arrives is read strictly: an unknown name or a wrong type is refused, numbers
are exact texts, and nothing is ever evaluated or unpickled.

Definition.  A tree is {"format": 1, "value": V}.  None, booleans, integers and strings are
themselves.  Everything else is a list of a tag and its parts: ["/", "1/3"] a fraction, ["m", "1.5"]
a decimal, ["f", hex] a float, ["d", iso] a date, ["t", iso] a timestamp, ["()", ...] a tuple, and
["Column", {"name": ...}] a node: its class and its fields.  Nothing but the listed classes is made,
each by its constructor, which refuses what it always refuses (T1).
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Annotated, Any, Final, Literal, Self, final

from pydantic import BeforeValidator, ConfigDict, Field, field_validator

from discreet.documents.document import FORMAT, Document
from discreet.errors import WrongKind
from discreet.plan import estimate, estimate_limits, limits, share_cut
from discreet.query import expressions, question, relations, source_text, types
from discreet.query.question import Question
from discreet.release.population import check_intervals

_LONGEST: Final = 100_000
_DEEPEST: Final = 200
_OUTPUTS: Final = 1000


def _number(value: object) -> str | None:
    """Return an exact number as text; JSON numbers are taken as they are written."""
    if value is None or (isinstance(value, str) and len(value) <= 100):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _refused("a number is too long, or no number")
    return repr(value)


def _asked(value: object) -> object:
    if isinstance(value, Question):
        return written_tree(value)
    if isinstance(value, Mapping):
        read_tree(value)
        return value
    if isinstance(value, str) and 0 < len(value) <= _LONGEST:
        return value
    raise _refused("'question' is neither SQL text nor the tree of a question")


def _params(value: object) -> object:
    """Return the values of parameters with the tags of a tree; a number may be plain JSON."""
    if isinstance(value, Mapping):
        return {str(name): _param(each) for name, each in _few(value).items()} or None
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_param(each) for each in _few(value)] or None
    if value is None:
        return None
    raise _refused("'params' is neither a list nor an object")


def _kind_of_intervals(value: object) -> object:
    """Return a word, also for what Python takes: False is none."""
    return None if value is None or value is True else check_intervals(value)


def _few(values: Any) -> Any:
    if len(values) > _OUTPUTS:
        raise _refused("'params' has too many values")
    return values


def _param(value: object) -> Any:
    try:
        tagged = value if isinstance(value, list) else _written(value)
        read_param(tagged)
    except (ArithmeticError, LookupError, TypeError, ValueError):
        raise _refused("a value of 'params' has no literal in SQL") from None
    return tagged


def read_param(value: Any) -> Any:
    """Return the value of a parameter that travels.

    >>> read_param("A"), read_param(["d", "2024-02-01"])
    ('A', datetime.date(2024, 2, 1))
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    tag, written = value
    if tag not in {"f", "m", "t", "d"} or not isinstance(written, str) or len(written) > 100:
        raise ValueError
    return _PLAIN[tag](written)


_Number = Annotated[str | None, BeforeValidator(_number, json_schema_input_type=str | float | None)]
_Count = Annotated[int | None, Field(strict=True)]


@final
class QuestionDocument(Document):
    """A question, its price (epsilon, rho, error or share), and its further purchases.

    >>> asked = QuestionDocument.read({"question": "SELECT COUNT(*) AS n FROM t", "epsilon": 0.1})
    >>> asked.epsilon, QuestionDocument.read(asked.written()) == asked
    ('0.1', True)
    """

    model_config = ConfigDict(extra="forbid")

    question: Annotated[
        str | dict[str, Any],
        BeforeValidator(_asked, json_schema_input_type=str | dict[str, Any]),
        Field(description="SQL, or the tree of the table builder."),
    ]
    epsilon: _Number = None
    rho: _Number = None
    delta: _Number = None
    error: dict[str, Annotated[str, BeforeValidator(_number)]] | None = Field(
        default=None, description="Instead of a price: how far outputs may be off, by name."
    )
    share: _Number = Field(
        default=None, description="Instead of a price: a part of the budget, as 1/100 or 1%."
    )
    size: _Count = None
    confidence: _Number = None
    bounds_epsilon: _Number = None
    bounds_rho: _Number = None
    max_rows: _Count = None
    max_groups: _Count = None
    limits_epsilon: _Number = None
    share_cut_epsilon: _Number = None
    confirm: Annotated[bool, Field(strict=True)] = False
    intervals: Annotated[
        Literal["noise", "population", "none"] | None, BeforeValidator(_kind_of_intervals)
    ] = None
    other: Annotated[bool, Field(strict=True)] = Field(
        default=False, description="One more row, for all groups that are not shown."
    )
    dialect: Annotated[str, Field(max_length=100)] | None = None
    params: Annotated[
        list[Any] | dict[str, Any] | None,
        BeforeValidator(_params),
        Field(description="The values of parameters: of ? and $1 in a list, else by name."),
    ] = None

    @field_validator("error")
    @classmethod
    def _few_outputs(cls, value: dict[str, str] | None) -> dict[str, str] | None:
        if value is not None and len(value) > _OUTPUTS:
            raise _refused("'error' names too many outputs")
        return value or None

    @classmethod
    def _refused(cls, what: str) -> WrongKind:
        return _refused(what)

    @property
    def asked(self) -> str | Question:
        """The text of the question, or what the table builder made."""
        return self.question if isinstance(self.question, str) else read_tree(self.question)

    @property
    def text(self) -> str:
        """The text of the question, if it has one."""
        return self.question if isinstance(self.question, str) else "(made in Python)"

    @property
    def price(self) -> dict[str, Any]:
        """All that was given but the question."""
        return {name: each for name, each in self.written().items() if name != "question"}

    @property
    def is_about(self) -> tuple[object, ...]:
        """The fields that define the question, without its price."""
        return self.question, self.dialect, self.params, self.other

    def written(self) -> dict[str, Any]:
        """Return plain JSON, without missing fields."""
        return self.model_dump(mode="json", exclude_defaults=True)

    def but(self, **changes: Any) -> Self:
        """Return the same question with some fields changed."""
        return self.read({**self.written(), **changes})

    @property
    def digest(self) -> str:
        """Distinguish questions: the SHA-256 of the canonical JSON."""
        text = json.dumps(self.written(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode("ascii")).hexdigest()

    def options(self) -> dict[str, Any]:
        """Return the options of ``Session.plan`` and ``Session.ask``."""
        bounds: Any = None
        if self.bounds_epsilon is not None or self.bounds_rho is not None:
            bounds = estimate(epsilon=self.bounds_epsilon, rho=self.bounds_rho)
        names = ("epsilon", "rho", "delta", "error", "share", "size", "confidence")
        cut, params = self.share_cut_epsilon, self.params
        if isinstance(params, list):
            params = [read_param(each) for each in params]
        elif params is not None:
            params = {name: read_param(each) for name, each in params.items()}
        return {
            **{name: getattr(self, name) for name in names},
            "bounds": bounds,
            "limits": self._limits(),
            "share_cut": None if cut is None else share_cut(epsilon=cut),
            "dialect": self.dialect,
            "params": params,
            "other": self.other or None,
            "intervals": self.intervals,
        }

    def _limits(self) -> Any:
        given = self.max_rows is not None or self.max_groups is not None
        if self.limits_epsilon is None:
            return limits(max_rows=self.max_rows, max_groups=self.max_groups) if given else None
        if given:
            raise _refused("limits are given, and others are to be bought")
        return estimate_limits(epsilon=self.limits_epsilon)


def check_draws(asked: Sequence[QuestionDocument]) -> None:
    """Refuse further draws of another question: a draw is one of the first question's answer.

    >>> one = QuestionDocument.read({"question": "SELECT COUNT(*) AS n FROM t", "epsilon": "1"})
    >>> check_draws([one, one])
    """
    if any(each.is_about != asked[0].is_about for each in asked[1:]):
        raise _refused("a further draw has another question than the first")


def _refused(what: str) -> WrongKind:
    return WrongKind(
        what=f"the question cannot be read: {what}.",
        why="what travels is read strictly, so that nothing is ignored.",
        do='send {"question": "SELECT COUNT(*) AS n FROM visits", "epsilon": "0.1"}, say.',
    )


# --- trees of the table builder ---------------------------------------------------------------

_NODES: Final = (
    "Column Literal Call Case Cast Order Window Aggregate Grouped Grouping Star InnerQuery Table "
    "Named Filter Project Join SemiJoin Valued Aggregated Distinct UnionAll Clause Question Span "
    "Type"
)
_PLACES: Final = (expressions, relations, question, source_text, types)
_CLASSES: Final[Mapping[str, Any]] = {
    name: next(kind for place in _PLACES if (kind := vars(place).get(name)) is not None)
    for name in _NODES.split()
}
"""The classes that questions are made of."""
_FRACTION: Final = re.compile(r"-?[0-9]{1,4000}(/[0-9]{1,4000})?", re.ASCII)


def _fraction(text: Any) -> Fraction:
    """Read what ``str`` writes of a fraction; 1e999999999 would keep a processor busy (T1)."""
    if not isinstance(text, str) or _FRACTION.fullmatch(text) is None:
        raise ValueError
    return Fraction(text)


_PLAIN: Final[Mapping[str, Callable[[Any], Any]]] = {
    "/": _fraction,
    "f": float.fromhex,
    "m": Decimal,
    "t": datetime.fromisoformat,
    "d": date.fromisoformat,
}


def written_tree(asked: Question) -> dict[str, Any]:
    """Return a question of the table builder as plain JSON."""
    return {"format": FORMAT, "value": _written(asked)}


def _written(value: object) -> Any:  # noqa: C901, PLR0911  one case a line
    match value:
        case None | bool() | str():
            return value
        case Enum():
            return [type(value).__name__, value.name]
        case int():
            return int(value)
        case float():
            return ["f", float(value).hex()]
        case Fraction():
            return ["/", str(value)]
        case Decimal():
            return ["m", str(value)]
        case datetime():
            return ["t", value.isoformat()]
        case date():
            return ["d", value.isoformat()]
        case tuple():
            return ["()", *map(_written, value)]
    if type(value).__name__ in _CLASSES and dataclasses.is_dataclass(value):
        names = [item.name for item in dataclasses.fields(value) if item.init]
        return [type(value).__name__, {name: _written(getattr(value, name)) for name in names}]
    raise _refused(f"a {type(value).__name__} cannot be sent")


def read_tree(document: object) -> Question:
    """Return the question that ``written_tree`` has written."""
    known = isinstance(document, Mapping) and set(document) == {"format", "value"}
    if not known or document["format"] != FORMAT:  # type: ignore[index]
        raise _refused(f"its tree is not of the format {FORMAT}")
    try:
        found = _read(document["value"], 0)  # type: ignore[index]
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        raise _refused("its tree has parts that no question has") from None
    if not isinstance(found, Question):
        raise _refused("its tree is that of something else")
    return found


def _read(document: object, depth: int) -> Any:
    if document is None or isinstance(document, bool | int | str):
        return document
    if not isinstance(document, list) or depth > _DEEPEST:
        raise ValueError
    tag, *rest = document
    if tag == "()":
        return tuple(_read(each, depth + 1) for each in rest)
    (written,) = rest
    if tag in _PLAIN:
        return _PLAIN[tag](written)
    kind = _CLASSES[tag]
    if issubclass(kind, Enum):
        return kind[written]
    if set(written) != {item.name for item in dataclasses.fields(kind) if item.init}:
        raise ValueError
    return kind(**{name: _read(each, depth + 1) for name, each in written.items()})
