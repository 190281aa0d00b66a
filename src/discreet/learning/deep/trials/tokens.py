"""Generated rows of tokens: rows that end in a run of one token, beside rows with and without it.

Trust: kernel.

Ordinary generated rows hold the tokens 0 and 1, which every model has.  Code that acts on another
one, such as padding with the token 2 and batches that are cut to their longest row, would see none
of it.  So how many tokens there are is read off the embeddings that are given the inputs, and the
first few and the last are tried.  Without such an embedding up to 256 are, on a CPU, where one that
does not exist is an error and no end of the process.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import torch
from torch import Tensor, nn

from discreet.learning.deep.trial import Trial

Batch = tuple[Tensor, Tensor, Tensor]

_USUAL: Final = 256
_FIRST: Final = 4


def token_batches(trial: Trial, seed: int) -> Iterator[tuple[Batch, tuple[Batch, Batch]]]:
    """Yield a micro-batch of rows that end in some token, and companions without it and of it."""
    shape = trial.shapes[0]
    if shape.dtype.is_floating_point or shape.dtype == torch.bool:
        return
    count = _tokens(trial)
    stream = torch.Generator().manual_seed(seed)
    x, y, inside = trial.batch(seed)
    for token in sorted({*range(min(_FIRST, count)), count - 1}):
        other = torch.randint(0, count - 1, x.shape, generator=stream)
        without = torch.where(other >= token, other + 1, other)
        ending = torch.where(_ends(x.shape, stream), token, without)
        rows = (ending, without, torch.full_like(other, token))
        own, *others = ((each.to(x), y, inside) for each in rows)
        yield own, (others[0], others[1])


def _ends(shape: torch.Size, stream: torch.Generator) -> Tensor:
    """Return which places of rows lie in their ends, of all lengths."""
    if len(shape) == 1:
        return torch.randint(0, 2, shape, generator=stream).bool()
    starts = torch.randint(0, shape[1] + 1, (shape[0], 1), generator=stream)
    ends = torch.arange(shape[1]) >= starts
    return ends.view(*ends.shape, *[1] * (len(shape) - 2))


def _tokens(trial: Trial) -> int:
    """Return how many tokens the model has, as far as can be told."""
    x = trial.batch(0)[0]
    found: list[int] = []

    def note(module: Any, given: tuple[Any, ...]) -> None:
        tokens = given[0] if given else None
        if isinstance(tokens, Tensor) and (
            tokens.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
        ):
            found.append(module.num_embeddings)

    layers = [m for m in trial.model.modules() if isinstance(m, nn.Embedding | nn.EmbeddingBag)]
    handles = [layer.register_forward_pre_hook(note) for layer in layers]
    try:
        with torch.no_grad():
            trial.model(x)
    finally:
        for handle in handles:
            handle.remove()
    if found:
        return max(2, min(*found, int(torch.iinfo(x.dtype).max)))
    return _working(trial.model, x) if trial.device.type == "cpu" else 2


def _working(model: nn.Module, rows: Tensor) -> int:
    """Return how many tokens there are, up to a usual number, by trying them."""
    works, fails = 2, min(_USUAL, torch.iinfo(rows.dtype).max) + 1
    while fails - works > 1:
        middle = (works + fails) // 2
        try:
            with torch.no_grad():
                model(torch.full_like(rows[:2], middle - 1))
        except (IndexError, RuntimeError):
            fails = middle
        else:
            works = middle
    return works
