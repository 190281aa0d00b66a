"""Examples of Transformers as rows of tensors, and their losses one by one.

Trust: kernel.  Shapes follow from declared numbers alone: the longest document of a data set is a
fact about one of its units, so texts are padded or cut to a *public* length.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, final

import torch
from torch import Tensor, nn

from discreet.errors import NotSampled, WrongKind

_IGNORED: Final = -100
_PADS: Final = {"attention_mask": 0, "labels": _IGNORED, "token_type_ids": 0}


@final
class RowModel(nn.Module):  # type: ignore[misc]  # torch is not read
    """A model that takes its named inputs side by side in one tensor, and returns logits.

    Positions are passed for each row, if the model takes them: an embedding that is broadcast over
    a batch has no gradient of a single example.
    """

    def __init__(self, model: nn.Module, names: Sequence[str], *, positions: bool) -> None:
        """Take the names of the inputs, in the order of the second dimension."""
        super().__init__()
        self.model, self.names, self.positions = model, tuple(names), positions

    def inputs(self, rows: Tensor) -> dict[str, Tensor]:
        """Return the named inputs of rows."""
        if self.names == ("pixel_values",) or rows.is_floating_point():
            return {self.names[0]: rows}
        named = {name: rows[:, place] for place, name in enumerate(self.names)}
        if self.positions:
            each = torch.arange(rows.shape[2], device=rows.device)
            named["position_ids"] = each.expand(rows.shape[0], -1)
        return named

    def forward(self, rows: Tensor) -> Tensor:
        """Return the logits of rows."""
        logits: Tensor = self.model(**self.inputs(rows)).logits
        return logits


@final
class RowLoss(nn.Module):  # type: ignore[misc]  # torch is not read
    """A ``compute_loss`` of the user's, called with one example at a time."""

    def __init__(self, model: nn.Module, rows: RowModel, loss: Callable[..., Any]) -> None:
        """Take the Trainer's own method."""
        super().__init__()
        self.model, self._rows, self._loss = model, (rows,), loss

    def forward(self, rows: Tensor) -> Tensor:
        """Return one loss for each row; its labels are its last line."""
        found = []
        for row in rows:
            named = {**self._rows[0].inputs(row[None, :-1]), "labels": row[None, -1]}
            found.append(self._loss(self.model, named))
        return torch.stack(found)[:, None]


def token_loss(logits: Tensor, labels: Tensor, *, shift: bool) -> Tensor:
    """Return the mean cross-entropy of each example over its own labels, -100 left out.

    >>> token_loss(torch.zeros(1, 3, 4), torch.tensor([[1, 2, -100]]), shift=True).round(decimals=2)
    tensor([1.3900])
    """
    if shift:
        logits, labels = logits[:, :-1], labels[:, 1:]
    each = nn.functional.cross_entropy(
        logits.flatten(0, 1), labels.flatten(), ignore_index=_IGNORED, reduction="none"
    ).view(labels.shape)
    return each.sum(1) / (labels != _IGNORED).sum(1).clamp_min(1)


def rows_of(
    dataset: Sequence[Any], collate: Callable[[list[Any]], Mapping[str, Any]], *, length: int | None
) -> tuple[dict[str, Tensor], Tensor]:
    """Return the inputs and labels of all examples, each padded or cut to a public length."""
    columns: dict[str, list[Tensor]] = {}
    for place in range(len(dataset)):
        for name, value in collate([dataset[place]]).items():
            row = torch.as_tensor(value)[0]
            text = not row.is_floating_point() and row.dim() == 1
            columns.setdefault(name, []).append(_cut(name, row, length) if text else row)
    labels = columns.pop("labels", None)
    if labels is None or not columns:
        raise NotSampled(
            what="the data collator gives no labels." if labels is None else "it gives no inputs.",
            why="a private run minimizes a loss of inputs and labels, one example at a time.",
            do="give a collator that adds them, such as "
            "DataCollatorForLanguageModeling(tokenizer, mlm=False).",
        )
    lengths = {len(values) for values in (*columns.values(), labels)}
    if len(lengths) != 1:
        raise NotSampled(
            what="some examples have inputs that others have not.",
            why="all rows have one shape, which is public.",
            do="give a collator that returns the same names for every example.",
        )
    return {name: torch.stack(values) for name, values in columns.items()}, torch.stack(labels)


def _cut(name: str, row: Tensor, length: int | None) -> Tensor:
    if length is None:
        raise WrongKind(
            "the examples are texts, and no length is given: give length=128, say, a public number "
            "of tokens to which every example is padded or cut."
        )
    full = torch.full((length,), _PADS.get(name, 0), dtype=torch.long)
    kept = row[:length].long()
    full[: len(kept)] = kept
    return full
