"""What models and functions keep beside tensors, in a form that can be compared.

Trust: kernel.

A running mean in a Python float, a list that outputs are appended to or a dictionary of tensors
carries something of the rows from one step to the next, as a buffer would.  Values of the usual
types are compared, and how far generators are: examples would share the coins of one that a module
holds.  What classes of modules hold counts, too; those of PyTorch are taken as they are.

Functions are followed to what they hold (:mod:`discreet.learning.deep.memory.attributes`).  Objects
are, too, where a look is for what one step leaves behind: two deep, so that what threads do inside
a logger is no alarm.  From one step to the next an object may change, such as a trainer that counts
its steps; then it is only seen whether it is the same one.  Objects that were met are not looked
into again, and the work is bounded.
"""

from __future__ import annotations

import random  # noqa: TID251  looked at
from collections import deque
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import islice
from typing import Any, Final, final

import numpy as np
import torch
from torch import Tensor, nn

from discreet.learning.deep.memory.attributes import (
    CODE,
    attributes_of,
    class_values,
    held_by_code,
    hooks_of,
    is_closed,
    own_classes,
    values_of,
)

_VALUES: Final = frozenset({bool, int, str, bytes, type(None)})
_NUMBERS: Final = (float, complex, np.generic, bytearray)
_COLLECTIONS: Final = (list, tuple, dict, set, frozenset, deque)
_DEEPEST: Final = 8
_LONGEST: Final = 4096
_MOST: Final = 1 << 17
"""How many values one look reads."""
_OBJECTS: Final = 2
"""How many objects inside of each other are looked into."""


Plain = dict[tuple[str, str], list[Any]]
"""What can be compared, by module and attribute; two classes may share a name."""


def plain_values(model: nn.Module, *, trained: bool = True, inside: bool = True) -> Plain:
    """Return the attributes of all modules that are no tensors, in a form that can be compared.

    Args:
        model: any module.
        trained: whether writes to trained weights count, where a collection holds some.
        inside: whether hooks and objects are looked into.

    >>> model = nn.ReLU()
    >>> model.seen = [1.0]
    >>> before = plain_values(model)
    >>> model.seen.append(2.0)
    >>> first_difference(before, plain_values(model))
    'seen'
    """
    kinds = own_classes(frozenset(map(type, model.modules())))
    met = (*model.modules(), *kinds)
    look, found = _Look(met, trained=trained, objects=_OBJECTS if inside else 0), Plain()
    for name, module in model.named_modules():
        for attribute, value in values_of(module):
            if type(value) in _VALUES:
                found[name, attribute] = [type(value), value]  # as most are
            elif not isinstance(value, Tensor):
                found[name, attribute] = [look.shown(value)]
            elif held := look.held(value):
                found[name, attribute] = held
        if inside:
            found |= {(name, kind): [look.shown(hooks)] for kind, hooks in hooks_of(module)}
    for kind in kinds:
        for attribute, value in class_values(kind):
            found.setdefault((kind.__qualname__, attribute), []).append(look.shown(value))
    return found


def held_values(function: object) -> Plain:
    """Return what a function, or an object that is called, holds, in a form that can be compared.

    >>> class Mixed:
    ...     def __init__(self):
    ...         self.seen = []
    >>> mixed = Mixed()
    >>> before = held_values(mixed)
    >>> mixed.seen.append(1.0)
    >>> first_difference(before, held_values(mixed))
    'seen'
    """
    look, found = _Look((), trained=True, objects=_OBJECTS), Plain()
    for name, value in look.held(function, first=True):
        found.setdefault(("", name), []).append(value)
    return found


def first_difference(before: Plain, now: Plain) -> str | None:
    """Return the name of an attribute that is there once, or differs."""
    if before == now:
        return None
    names = {*before, *now}
    found = min(name for name in names if before.get(name) != now.get(name))
    return ".".join(filter(None, found))


@final
class _Look:
    """One look at values: into each object once, and into no more than some."""

    def __init__(self, met: Iterable[object], *, trained: bool, objects: int) -> None:
        """Take what is looked at elsewhere, and how many objects deep this look goes."""
        self._met = {id(each): (each, 0, 0) for each in met}  # held, so that no id is used again
        self._trained, self._objects, self._left = trained, objects, _MOST

    def shown(self, value: Any, *, depth: int = 0, objects: int = 0) -> Any:
        """Return a value that equals another one if nothing has changed.

        Args:
            value: anything.
            depth: how many collections, functions and objects it is in.
            objects: how many objects it is in.
        """
        kind = type(value)
        if kind in _VALUES:
            return kind, value
        if isinstance(value, _NUMBERS):
            return kind, repr(value)  # where NaN equals itself
        self._left -= 1
        own, items = self._own(value)
        if depth == _DEEPEST or self._left < 0:
            return own
        inner = [self.shown(each, depth=depth + 1, objects=objects) for each in items]
        return own, inner, self.held(value, depth=depth, objects=objects)

    def held(
        self, value: Any, *, depth: int = 0, objects: int = 0, first: bool = False
    ) -> list[tuple[str, Any]]:
        """Return what a value holds by names, unless it was met, no deeper in than here.

        The first object of a look is looked into whoever wrote its class.
        """
        _, lower, outer = self._met.get(id(value), (value, depth + 1, objects))
        if lower <= depth and outer <= objects:
            return []
        if not isinstance(value, _COLLECTIONS):
            self._met[id(value)] = value, depth, objects
        parts = self._parts(value)
        if parts is None and objects < self._objects and (first or not is_closed(type(value))):
            kind: type = type(value)
            parts, objects = [*attributes_of(value), (kind.__qualname__, kind)], objects + 1
        return [
            (name, self.shown(part, depth=depth + 1, objects=objects)) for name, part in parts or ()
        ]

    def _parts(self, value: Any) -> Iterable[tuple[str, Any]] | None:
        """Return what a value holds; nothing where it is some other object."""
        if isinstance(value, CODE):
            return held_by_code(value)
        if isinstance(value, (Tensor, np.ndarray, *_COLLECTIONS)):
            return attributes_of(value)
        if isinstance(value, type):
            own = () if is_closed(value) else own_classes(frozenset({value}))
            return (each for kind in own for each in class_values(kind))
        if isinstance(value, nn.Module):
            return self._of_modules(value) if self._objects else ()
        return None

    def _of_modules(self, model: nn.Module) -> Iterator[tuple[str, Any]]:
        """Yield what all modules of a model hold, and their classes."""
        for name, module in model.named_modules():
            self._met[id(module)] = module, *self._met[id(model)][1:]
            for attribute, value in (*values_of(module), *hooks_of(module)):
                yield f"{name}.{attribute}".lstrip("."), value
            yield type(module).__qualname__, type(module)

    def _own(self, value: Any) -> tuple[Any, list[Any]]:
        """Return what a value is but for its attributes, and what it is a collection of."""
        kind = type(value)
        if isinstance(value, Tensor):
            return (_Same(value), _writes(value, trained=self._trained)), []
        if isinstance(value, np.ndarray):
            form = kind, value.shape, value.dtype.str
            if value.dtype.hasobject:
                return form, self._begin(value.ravel())
            return (*form, sha256(value.tobytes()).digest()), []
        if isinstance(value, _COLLECTIONS):
            items = value.items() if isinstance(value, dict) else value
            return (kind, len(value)), self._begin(items)
        return (_Same(value), _drawn(value)), []

    def _begin(self, items: Iterable[Any]) -> list[Any]:
        """Return the items that are looked at."""
        found = list(islice(items, max(0, min(_LONGEST, self._left))))
        self._left -= len(found)
        return found


def _writes(value: Tensor, *, trained: bool) -> object:
    """Return what tells of writes to a tensor; nothing where weights may be trained."""
    if value.is_inference():
        return tensor_digest(value)  # nothing counts them
    return value._version if trained or not value.requires_grad else None  # noqa: SLF001


def tensor_digest(value: Tensor) -> bytes:
    """Return a digest of the values of a tensor."""
    dense = value.detach().to_dense() if value.layout is not torch.strided else value.detach()
    flat = dense.cpu().contiguous().reshape(-1).view(torch.uint8)
    return sha256(flat.numpy()).digest()


def _drawn(value: Any) -> Any:
    """Return where a generator is; nothing for other objects."""
    if isinstance(value, random.Random):
        return value.getstate()
    if isinstance(value, torch.Generator):
        return value.get_state().numpy().tobytes()
    look = _Look((), trained=True, objects=0)
    if isinstance(value, np.random.Generator):  # noqa: TID251  looked at
        return look.shown(value.bit_generator.state)
    if isinstance(value, np.random.RandomState):  # noqa: TID251  looked at
        return look.shown(value.get_state(legacy=False))
    return None


@final
class _Same:
    """An object that equals itself alone; it is held, so that no other one takes its place."""

    __slots__ = ("held",)

    def __init__(self, held: Any) -> None:
        self.held = held

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.held is other.held

    __hash__ = None  # type: ignore[assignment]  # compared, never looked up
