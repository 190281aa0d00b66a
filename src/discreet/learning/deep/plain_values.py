"""What modules keep beside tensors: numbers, texts and collections that are plain attributes.

Trust: kernel.

A running mean in a Python float, a list that outputs are appended to or a dictionary of tensors
carries something of the rows from one step to the next, as a buffer would.  Values of the usual
types are compared, and how far generators are: examples would share the coins of one that a module
holds.  What classes of modules hold counts, too, functions among it; those of PyTorch are taken as
they are.  Of other objects it is only seen whether they are the same ones.
"""

from __future__ import annotations

import random  # noqa: TID251  looked at
from collections import deque
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final, final

import numpy as np
import torch
from torch import Tensor, nn

_OWN: Final = frozenset(vars(nn.Module()))
_LISTED: Final = frozenset({"_flat_weights", "_flat_weight_refs"})
"""Weights that recurrent layers list anew, where they are others than in the last call."""
_LIBRARIES: Final = frozenset({"torch", "builtins", "typing", "abc"})
_VALUES: Final = frozenset({bool, int, str, bytes, type(None)})
_NUMBERS: Final = (float, complex, np.generic, bytearray)
_COLLECTIONS: Final = (list, tuple, dict, set, frozenset, deque)
_DEEPEST: Final = 6
_LONGEST: Final = 4096


Plain = dict[tuple[str, str], Any]
"""What can be compared, by module and attribute."""


def plain_values(model: nn.Module, *, trained: bool = True) -> Plain:
    """Return the attributes of all modules that are no tensors, in a form that can be compared.

    Args:
        model: any module.
        trained: whether writes to trained weights count, where a collection holds some.

    >>> model = nn.ReLU()
    >>> model.seen = [1.0]
    >>> before = plain_values(model)
    >>> model.seen.append(2.0)
    >>> first_difference(before, plain_values(model))
    'seen'
    """
    found = {
        (name, attribute): (
            (type(value), value) if type(value) in _VALUES else _shown(value, 0, trained=trained)
        )
        for name, module in model.named_modules()
        for attribute, value in vars(module).items()
        if attribute not in _OWN and not isinstance(value, Tensor)
        if not (attribute in _LISTED and isinstance(module, nn.RNNBase))
    }
    for kind in _own_classes(frozenset(map(type, model.modules()))):
        found |= {
            (kind.__qualname__, attribute): _shown(value, 0, trained=trained)
            for attribute, value in vars(kind).items()
            if not attribute.startswith("_abc_")
        }
    return found


def held_values(function: object) -> Plain:
    """Return what an object keeps in its attributes, in a form that can be compared.

    >>> class Mixed:
    ...     def __init__(self):
    ...         self.seen = []
    >>> mixed = Mixed()
    >>> before = held_values(mixed)
    >>> mixed.seen.append(1.0)
    >>> first_difference(before, held_values(mixed))
    'seen'
    """
    held = getattr(function, "__dict__", {})
    return {("", name): _shown(value, 0) for name, value in held.items()}


@lru_cache(maxsize=64)
def _own_classes(kinds: frozenset[type]) -> tuple[type, ...]:
    """Return the classes of modules that are not PyTorch's, in a fixed order."""
    every = {each for kind in kinds for each in kind.__mro__}
    own = (each for each in every if each.__module__.partition(".")[0] not in _LIBRARIES)
    return tuple(sorted(own, key=lambda each: (each.__module__, each.__qualname__)))


def first_difference(before: Plain, now: Plain) -> str | None:
    """Return the name of an attribute that is there once, or differs."""
    if before == now:
        return None
    names = {*before, *now}
    absent = object()
    found = min(name for name in names if before.get(name, absent) != now.get(name, absent))
    return ".".join(filter(None, found))


def _shown(value: Any, depth: int, *, trained: bool = True) -> Any:
    """Return a value that equals another one if nothing has changed."""
    kind = type(value)
    if kind in _VALUES:
        return kind, value
    if isinstance(value, _NUMBERS):
        return kind, repr(value)  # where NaN equals itself
    if isinstance(value, Tensor):
        return _Same(value), _writes(value, trained=trained)
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        return kind, value.shape, value.dtype.str, sha256(value.tobytes()).digest()
    if depth < _DEEPEST and isinstance(value, _COLLECTIONS):
        items = list(value.items() if isinstance(value, dict) else value)
        return (
            kind,
            len(items),
            [_shown(each, depth + 1, trained=trained) for each in items[:_LONGEST]],
        )
    return _Same(value), _drawn(value)


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
    if isinstance(value, np.random.Generator):  # noqa: TID251  looked at
        return _shown(value.bit_generator.state, 0)
    if isinstance(value, np.random.RandomState):  # noqa: TID251  looked at
        return _shown(value.get_state(legacy=False), 0)
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
