"""What a model is beside its trained weights and its modes: the same in each step as at planning.

Trust: kernel.

A trial speaks for the model that was tried.  A buffer that fades a branch in, statistics of a
normalization that are taken away, a flag, a hook that is added later: each may let examples mix
where they did not.  So tensors that are not trained, plain attributes, classes and hooks of all
modules are kept, and a step with others is refused.  Trained weights alone may change in a run.

A step costs a look at every attribute.  Values of a tensor are read again only where it is another
object or its counter of writes has moved, so a checkpoint that brings the same values back is no
change.  A write through ``.data`` raises no counter, and is not seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, final

from torch import Tensor, nn
from torch.nn.modules import module as modules

from discreet.errors import OtherRun
from discreet.learning.deep.memory.attributes import HOOKS, tensors_of
from discreet.learning.deep.memory.plain_values import (
    Plain,
    first_difference,
    plain_values,
    tensor_digest,
)
from discreet.learning.deep.model_state import writes_to

_HOOKS_OF_ALL: Final = (
    "_global_forward_hooks",
    "_global_forward_pre_hooks",
    "_global_backward_hooks",
    "_global_backward_pre_hooks",
)
Code = tuple[tuple[Any, ...], ...]


@final
@dataclass(frozen=True, slots=True)
class PinnedModel:
    """The tensors of a model that are not trained, its plain attributes, and what its code is."""

    fixed: dict[str, tuple[Tensor, int, bytes]]
    plain: Plain
    code: Code

    @classmethod
    def of(cls, model: nn.Module) -> PinnedModel:
        """Read a model."""
        fixed = {name: (v, writes_to(v), tensor_digest(v)) for name, v in _fixed(model).items()}
        return cls(fixed, plain_values(model, trained=False, inside=False), _code(model))

    def check(self, model: nn.Module) -> None:
        """Refuse a model that is another one now, in more than its trained weights."""
        name = self._changed(model)
        if name is not None:
            raise OtherRun(
                what=f"{name} of the model is not what it was at planning.",
                why="contributions were tested with what was there; a branch that is faded in, a "
                "flag or a hook may let examples move each other.",
                do="set it back before the next step, or make a new Training for the model as it "
                "is now; schedules belong in the optimizer or in the objective.",
            )

    def _changed(self, model: nn.Module) -> str | None:
        now = _fixed(model)
        for name in sorted(now.keys() ^ self.fixed.keys()):
            return f"the tensor '{name}'"
        for name, value in now.items():
            was, writes, digest = self.fixed[name]
            same = value is was and writes == writes_to(value) and not value.is_inference()
            if not same and tensor_digest(value) != digest:
                return f"the tensor '{name}'"
        attribute = first_difference(self.plain, plain_values(model, trained=False, inside=False))
        if attribute is not None:
            return f"the attribute '{attribute}'"
        code = _code(model)
        if code == self.code:
            return None
        both = zip(code, self.code, strict=True) if len(code) == len(self.code) else ()
        where = next((f" '{a[0]}'" for a, b in both if a != b and a[0]), "")
        return f"the code or a hook of module{where}" if where else "the code or a hook"


def _fixed(model: nn.Module) -> dict[str, Tensor]:
    """Return the tensors of a model that are not trained."""
    return {name: value for name, value in tensors_of(model) if not value.requires_grad}


def _code(model: nn.Module) -> Code:
    """Return the classes of all modules, what their forwards are, and their hooks."""
    found: list[tuple[Any, ...]] = [
        (name, type(each), type(each).forward, *(tuple(vars(each)[h].values()) for h in HOOKS))
        for name, each in model.named_modules(remove_duplicate=False)
    ]
    found.append(("", *(tuple(getattr(modules, hooks).values()) for hooks in _HOOKS_OF_ALL)))
    return tuple(found)
