"""Compositions as JSON: a tree that is read equals the one that was written, price included.

Trust: kernel.

``encode`` gives dicts, lists, text and numbers for ``json.dumps``; ``decode`` takes what
``json.loads`` gives.  Reading goes through the constructors of nodes, mechanisms and losses, so
that what they refuse is refused here.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from discreet.accounting.box import Box
from discreet.accounting.nodes import Choice, Leaf, Node, Repeat, Sequential, checked_node
from discreet.accounting.storage.decoding import undecodable
from discreet.accounting.storage.schema import (
    FLAG,
    NUMBER,
    POSITIVE,
    TEXT,
    WHOLE,
    FieldSchema,
    class_schema,
    lazy_class_schema,
    optional_schema,
    tuple_schema,
    union_schema,
)
from discreet.accounting.storage.source_schemas import LOSS_SCHEMAS, MECHANISM_SCHEMAS, RELATION
from discreet.accounting.values import Values
from discreet.errors import WrongKind
from discreet.loss import PrivacyLoss
from discreet.mechanisms import Mapped
from discreet.units import PrivacyUnit

if TYPE_CHECKING:  # a node is loaded when it is met
    from discreet.accounting.parts_and_samples import Part

_VERSION: Final = 1


def encode(node: Node) -> dict[str, Any]:
    """Write a composition for JSON.

    >>> from discreet.loss import Pure
    >>> encode(Repeat(Leaf(Pure(epsilon="0.1")), 3))["child"]["source"]
    {'kind': 'Pure', 'epsilon': '1/10'}
    """
    data: Any = _NODE.write(checked_node(node), 0)
    return {"version": _VERSION, **data}


def decode(data: object) -> Node:
    """Read what ``encode`` wrote.

    >>> from discreet.loss import Pure
    >>> tree = Leaf(Pure(epsilon="0.1")) * 3
    >>> decode(encode(tree)) == tree
    True
    """
    if not isinstance(data, dict) or type(data.get("version")) is not int:
        raise undecodable("it is not an object with a version")
    if data["version"] != _VERSION:
        raise undecodable(f"its version is not {_VERSION}")
    node: Node = _NODE.read({name: data[name] for name in data if name != "version"}, 0)
    return node


def encode_unit(unit: PrivacyUnit) -> dict[str, Any]:
    """Write who is protected for JSON.

    >>> from discreet.units import person
    >>> encode_unit(person("patient"))["columns"]
    ['patient']
    """
    data: dict[str, Any] = _UNIT.write(unit, 0)  # type: ignore[assignment]
    return data


def decode_unit(data: object) -> PrivacyUnit:
    """Read what ``encode_unit`` wrote.

    >>> from discreet.units import person
    >>> decode_unit(encode_unit(person("patient"))) == person("patient")
    True
    """
    unit: PrivacyUnit = _UNIT.read(data, 0)
    return unit


def _write_source(source: object, depth: int) -> object:
    if isinstance(source, Mapped):
        raise WrongKind(
            what="a mechanism that is followed by a function cannot be written.",
            why="a function is code, and nothing that is read is ever evaluated.",
            do="write the mechanism alone, and the function as Post(Leaf(mechanism), name='...').",
        )
    return _SOURCES.write(source, depth)


def _write_replaced(value: object, depth: int) -> object:
    form = _LOSS if isinstance(value, PrivacyLoss) else POSITIVE
    return form.write(value, depth)


def _read_replaced(data: object, depth: int) -> Any:
    form = _LOSS if isinstance(data, dict) else POSITIVE
    return form.read(data, depth)


def _write_part(part: Part, depth: int) -> dict[str, object]:
    return {"values": part.values.written(), "child": _NODE.write(part.child, depth)}


def _read_part(data: object, depth: int) -> tuple[Values, Node]:
    match data:
        case {"values": values, "child": child, **rest} if not rest:
            return Values.read(values), _NODE.read(child, depth)
    raise undecodable("a part does not hold values and a child")


def _write_child(child: Node, depth: int) -> object:
    return _NODE.write(child, depth)


def _read_child(data: object, depth: int) -> Any:
    return _NODE.read(data, depth)


def _parallel(of: type, *, key: str, parts: tuple[tuple[Values, Node], ...], **rest: Any) -> object:
    by_values = dict(parts)
    if len(by_values) != len(parts):
        raise undecodable("two parts hold the same values")
    return of(key, by_values, **rest)


def _group(of: type, *, child: Node, distance: int | None) -> object:
    return of(child, distance=float("inf") if distance is None else distance)


_LOSS: Final = union_schema("a loss", LOSS_SCHEMAS)
_SOURCES: Final = union_schema("a source", (*LOSS_SCHEMAS, *MECHANISM_SCHEMAS))
_UNIT: Final = union_schema(
    "a unit", [class_schema(PrivacyUnit, name=TEXT, columns=tuple_schema(TEXT), relation=RELATION)]
)
_CHILD: Final = FieldSchema(_write_child, _read_child)
_CHILDREN: Final = tuple_schema(_CHILD)
_late: Final = functools.partial(lazy_class_schema, "discreet.accounting")

_NODE: FieldSchema = union_schema(
    "a node",
    [
        class_schema(
            Leaf,
            source=FieldSchema(_write_source, _SOURCES.read),
            name=TEXT,
            relation=RELATION,
            unit=optional_schema(_UNIT),
            added=POSITIVE,
            replaced=optional_schema(FieldSchema(_write_replaced, _read_replaced)),
            common_domain=FLAG,
            coordinates=WHOLE,
        ),
        class_schema(Sequential, make=lambda of, children: of(*children), children=_CHILDREN),
        class_schema(
            Choice,
            make=lambda of, children, adaptive: of(*children, adaptive=adaptive),
            children=_CHILDREN,
            adaptive=FLAG,
        ),
        class_schema(Repeat, child=_CHILD, count=WHOLE),
        _late(
            "Parallel",
            make=_parallel,
            key=TEXT,
            parts=tuple_schema(FieldSchema(_write_part, _read_part)),
            overlap=WHOLE,
            routed=FLAG,
        ),
        _late(
            "Where",
            box=FieldSchema(lambda box, _: box.written(), lambda data, _: Box.read(data)),
            child=_CHILD,
        ),
        _late("Group", make=_group, child=_CHILD, distance=optional_schema(WHOLE)),
        _late(
            "Sampled",
            child=_CHILD,
            rate=optional_schema(NUMBER),
            size=optional_schema(WHOLE),
            population=optional_schema(WHOLE),
            unit=optional_schema(_UNIT),
        ),
        _late("Shuffled", child=_CHILD, population=WHOLE),
        _late("Post", child=_CHILD, name=TEXT),
    ],
)
