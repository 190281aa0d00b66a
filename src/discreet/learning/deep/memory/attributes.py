"""Where objects keep what they hold: in dictionaries, slots, closures, defaults and arguments.

Trust: kernel.  What is not listed here is compared by nobody.

An object keeps values in its ``__dict__`` and in the ``__slots__`` of its classes.  A function
keeps them in the cells of its closure, in defaults of its arguments and in attributes; a bound
method, in the object that it belongs to; a ``functools.partial``, in its arguments.  A module of
PyTorch has parameters, buffers and hooks besides, and a tensor may have attributes as any object.
What functions find in globals is not followed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property, lru_cache, partial, partialmethod
from types import BuiltinFunctionType, FunctionType, MemberDescriptorType, MethodType
from typing import Any, Final

from torch import Tensor, nn

HOOKS: Final = (
    "_forward_hooks",
    "_forward_pre_hooks",
    "_backward_hooks",
    "_backward_pre_hooks",
)
CODE: Final = (
    FunctionType,
    MethodType,
    BuiltinFunctionType,
    partial,
    partialmethod,
    cached_property,
    staticmethod,
    classmethod,
    property,
)
"""What is called, and holds something for it."""
_LINKS: Final = (
    "__self__",
    "__func__",
    "__defaults__",
    "__kwdefaults__",
    "func",
    "args",
    "keywords",
    "fget",
)
_OWN: Final = frozenset(vars(nn.Module()))
_LISTED: Final = frozenset({"_flat_weights", "_flat_weight_refs"})
"""Weights that recurrent layers list anew, where they are others than in the last call."""
_BASES: Final = frozenset({"torch", "builtins", "typing", "abc"})
_CLOSED: Final = {"torch", "discreet", *sys.stdlib_module_names} - {
    "argparse",
    "collections",
    "queue",
    "types",
}
"""Whose objects are not looked into: a run, an optimizer and a logger change by themselves."""


def attributes_of(thing: object) -> list[tuple[str, Any]]:
    """Return the attributes of an object, those in slots included.

    >>> class Kept:
    ...     __slots__ = ("seen", "unset")
    >>> kept = Kept()
    >>> kept.seen = 3
    >>> attributes_of(kept)
    [('seen', 3)]
    """
    found = list(getattr(thing, "__dict__", {}).items())
    for name, slot in _slots(type(thing)):  # type: ignore[arg-type]  # classes have hashes
        with suppress(AttributeError):  # it holds nothing
            found.append((name, slot.__get__(thing)))
    return found


def held_by_code(code: object) -> Iterator[tuple[str, Any]]:
    """Yield what a function, a method or a function with arguments holds.

    >>> def counted(seen):
    ...     return lambda row, most=9: seen
    >>> list(held_by_code(counted([1])))
    [('__defaults__', (9,)), ('seen', [1])]
    """
    for link in _LINKS:
        if (held := getattr(code, link, None)) is not None:
            yield link, held
    if isinstance(code, FunctionType):
        for name, cell in zip(code.__code__.co_freevars, code.__closure__ or (), strict=True):
            with suppress(ValueError):  # it holds nothing
                yield name, cell.cell_contents
    yield from attributes_of(code)


def values_of(module: nn.Module) -> list[tuple[str, Any]]:
    """Return parameters and buffers of a module, and its attributes that are not PyTorch's own."""
    skipped = _OWN | _LISTED if isinstance(module, nn.RNNBase) else _OWN
    own = (each for each in attributes_of(module) if each[0] not in skipped)
    return [*vars(module)["_parameters"].items(), *vars(module)["_buffers"].items(), *own]


def hooks_of(module: nn.Module) -> Iterator[tuple[str, Any]]:
    """Yield the hooks of a module, where there are any."""
    for name in HOOKS:
        if hooks := vars(module)[name]:
            yield name, [*hooks.values()]


def tensors_of(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Yield parameters, buffers, and tensors that are plain attributes of modules."""
    yield from model.named_parameters(remove_duplicate=False)
    yield from model.named_buffers(remove_duplicate=False)
    for name, module in model.named_modules():
        for attribute, value in attributes_of(module):
            if isinstance(value, Tensor):
                yield f"{name}.{attribute}".lstrip("."), value


@lru_cache(maxsize=256)
def own_classes(kinds: frozenset[type]) -> tuple[type, ...]:
    """Return those of some classes and their bases that are not PyTorch's, in a fixed order."""
    every = {each for kind in kinds for each in kind.__mro__ if _root(each) not in _BASES}
    return tuple(sorted(every, key=lambda each: (each.__module__, each.__qualname__)))


def class_values(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield what a class holds, but for notes about its subclasses."""
    return ((name, value) for name, value in vars(kind).items() if not name.startswith("_abc_"))


def is_closed(kind: type) -> bool:
    """Say whether objects of a class are a library's own business."""
    return _root(kind) in _CLOSED


def _root(kind: type) -> str:
    return str(kind.__module__).partition(".")[0]


@lru_cache(maxsize=256)
def _slots(kind: type) -> tuple[tuple[str, Any], ...]:
    """Return the slots of a class, and of its bases that are not PyTorch's."""
    return tuple(
        (name, slot)
        for each in kind.__mro__
        if "__slots__" in vars(each) and _root(each) not in _BASES
        for name, slot in vars(each).items()
        if isinstance(slot, MemberDescriptorType)
    )
