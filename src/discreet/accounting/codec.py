"""Compositions as JSON: what was written is what is read, and has the same price.

Trust: kernel.

``written`` gives dicts, lists, text and numbers for ``json.dumps``; ``read`` takes what
``json.loads`` gives.  Reading goes through the constructors of nodes, mechanisms and losses, so
that what they refuse is refused here.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from discreet.accounting.box import Box
from discreet.accounting.forms import Form, kind, kinds, late, many, optional, unreadable
from discreet.accounting.leaf import Leaf
from discreet.accounting.node import Choice, Node, Repeat, Sequential, checked_node
from discreet.accounting.written_losses import LOSS_KINDS
from discreet.accounting.written_mechanisms import MECHANISM_KINDS, RELATION
from discreet.accounting.written_values import FLAG, NUMBER, POSITIVE, TEXT, WHOLE
from discreet.errors import WrongKind
from discreet.loss import PrivacyLoss
from discreet.mechanisms import Mapped
from discreet.units import PrivacyUnit

if TYPE_CHECKING:  # a node is loaded when it is met
    from discreet.accounting.parallel import Parallel, Part
    from discreet.accounting.values import Values
    from discreet.accounting.wrappers import Group

__all__ = ["read", "read_unit", "written", "written_unit"]

_VERSION: Final = 1


def written(node: Node) -> dict[str, Any]:
    """Write a composition for JSON.

    >>> from discreet.loss import Pure
    >>> written(Repeat(Leaf(Pure(epsilon="0.1")), 3))["child"]["source"]
    {'kind': 'Pure', 'epsilon': '1/10'}
    """
    found: Any = _NODE.write(checked_node(node), 0)
    return {"version": _VERSION, **found}


def read(data: object) -> Node:
    """Read what ``written`` wrote.

    >>> from discreet.loss import Pure
    >>> tree = Leaf(Pure(epsilon="0.1")) * 3
    >>> read(written(tree)) == tree
    True
    """
    if not isinstance(data, dict) or type(data.get("version")) is not int:
        raise unreadable("it is not an object with a version")
    if data["version"] != _VERSION:
        raise unreadable(f"its version is not {_VERSION}")
    node: Node = _NODE.read({name: data[name] for name in data if name != "version"}, 0)
    return node


def written_unit(unit: PrivacyUnit) -> dict[str, Any]:
    """Write who is protected for JSON.

    >>> from discreet.units import person
    >>> written_unit(person("patient"))["columns"]
    ['patient']
    """
    found: dict[str, Any] = _UNIT.write(unit, 0)  # type: ignore[assignment]
    return found


def read_unit(data: object) -> PrivacyUnit:
    """Read what ``written_unit`` wrote.

    >>> from discreet.units import person
    >>> read_unit(written_unit(person("patient"))) == person("patient")
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
            from discreet.accounting.values import Values  # noqa: PLC0415  as above

            return Values.read(values), _NODE.read(child, depth)
    raise unreadable("a part does not hold values and a child")


def _write_child(child: Node, depth: int) -> object:
    return _NODE.write(child, depth)


def _read_child(data: object, depth: int) -> Any:
    return _NODE.read(data, depth)


def _parallel(*, key: str, parts: tuple[tuple[Values, Node], ...], **rest: Any) -> Parallel:
    by_values = dict(parts)
    if len(by_values) != len(parts):
        raise unreadable("two parts hold the same values")
    from discreet.accounting.parallel import Parallel  # noqa: PLC0415  as above

    return Parallel(key, by_values, **rest)


def _group(*, child: Node, distance: int | None) -> Group:
    from discreet.accounting.wrappers import Group  # noqa: PLC0415  as above

    return Group(child, distance=float("inf") if distance is None else distance)


_LOSS: Final = kinds("a loss", LOSS_KINDS)
_SOURCES: Final = kinds("a source", (*LOSS_KINDS, *MECHANISM_KINDS))
_UNIT: Final = kinds(
    "a unit", [kind(PrivacyUnit, name=TEXT, columns=many(TEXT), relation=RELATION)]
)
_CHILD: Final = Form(_write_child, _read_child)
_CHILDREN: Final = many(_CHILD)
_late: Final = functools.partial(late, "discreet.accounting")

_NODE: Form = kinds(
    "a node",
    [
        kind(
            Leaf,
            source=Form(_write_source, _SOURCES.read),
            name=TEXT,
            relation=RELATION,
            unit=optional(_UNIT),
            added=POSITIVE,
            replaced=optional(Form(_write_replaced, _read_replaced)),
            common_domain=FLAG,
            coordinates=WHOLE,
        ),
        kind(Sequential, make=lambda children: Sequential(*children), children=_CHILDREN),
        kind(
            Choice,
            make=lambda children, adaptive: Choice(*children, adaptive=adaptive),
            children=_CHILDREN,
            adaptive=FLAG,
        ),
        kind(Repeat, child=_CHILD, count=WHOLE),
        _late(
            "Parallel",
            make=_parallel,
            key=TEXT,
            parts=many(Form(_write_part, _read_part)),
            overlap=WHOLE,
            routed=FLAG,
        ),
        _late(
            "Where",
            box=Form(lambda box, _: box.written(), lambda data, _: Box.read(data)),
            child=_CHILD,
        ),
        _late("Group", make=_group, child=_CHILD, distance=optional(WHOLE)),
        _late(
            "Sampled",
            child=_CHILD,
            rate=optional(NUMBER),
            size=optional(WHOLE),
            population=optional(WHOLE),
            unit=optional(_UNIT),
        ),
        _late("Shuffled", child=_CHILD, population=WHOLE),
        _late("Post", child=_CHILD, name=TEXT),
    ],
)
