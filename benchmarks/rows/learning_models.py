"""Models to time private training on; needs torch alone: other environments import it, too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A model, and the batch of one step."""

    name: str
    model: Callable[[], nn.Module]
    shape: tuple[int, ...]
    classes: int
    batch: int
    tokens: int | None = None
    """How many different tokens inputs are made of, where they are tokens."""

    def data(self, device: str = "cpu") -> tuple[Any, Any]:
        """Generate one batch."""
        coins = torch.Generator().manual_seed(3)
        size = (self.batch, *self.shape)
        inputs = (
            torch.randn(size, generator=coins)
            if self.tokens is None
            else torch.randint(self.tokens, size, generator=coins)
        )
        targets = torch.randint(self.classes, (self.batch,), generator=coins)
        return inputs.to(device), targets.to(device)

    def made(self, device: str = "cpu") -> nn.Module:
        """Make the model, the same each time."""
        torch.manual_seed(5)
        return self.model().to(device)


def perceptron() -> nn.Module:
    """Return a network of three layers for tables."""
    return nn.Sequential(
        nn.Linear(104, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 2)
    )


def convolutional() -> nn.Module:
    """Return the small network with tanh of Papernot, Thakurta and others (2021)."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 8, 2, padding=2),
        nn.Tanh(),
        nn.MaxPool2d(2, 1),
        nn.Conv2d(16, 32, 4, 2),
        nn.Tanh(),
        nn.MaxPool2d(2, 1),
        nn.Flatten(),
        nn.Linear(512, 32),
        nn.Tanh(),
        nn.Linear(32, 10),
    )


class Attention(nn.Module):
    """Self-attention of plain linear layers, each of which is used once."""

    def __init__(self, width: int, heads: int) -> None:
        """Make four maps."""
        super().__init__()
        self.heads = heads
        self.three, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, inputs: Any) -> Any:
        """Let each position look at all positions of its own row."""
        rows, places, width = inputs.shape
        parts = self.three(inputs).view(rows, places, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(query, key, value)
        return self.out(seen.transpose(1, 2).reshape(rows, places, width))


class Block(nn.Module):
    """One layer of a transformer."""

    def __init__(self, width: int, heads: int) -> None:
        """Make attention and a network of two layers, each after a LayerNorm."""
        super().__init__()
        self.before, self.attention = nn.LayerNorm(width), Attention(width, heads)
        self.between = nn.LayerNorm(width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, inputs: Any) -> Any:
        """Add both to their inputs."""
        middle = inputs + self.attention(self.before(inputs))
        return middle + self.narrow(functional.gelu(self.wide(self.between(middle))))


class Transformer(nn.Module):
    """A classifier of short texts."""

    def __init__(self, tokens: int = 1000, width: int = 256, layers: int = 2) -> None:
        """Make a table of tokens, blocks and a head."""
        super().__init__()
        self.table = nn.Embedding(tokens, width)
        self.blocks = nn.Sequential(*[Block(width, 4) for _ in range(layers)])
        self.last, self.head = nn.LayerNorm(width), nn.Linear(width, 2)

    def forward(self, inputs: Any) -> Any:
        """Average the last layer over positions."""
        return self.head(self.last(self.blocks(self.table(inputs))).mean(1))


class Residual(nn.Module):
    """A block of a wide residual network with GroupNorm."""

    def __init__(self, inside: int, outside: int, stride: int) -> None:
        """Make two convolutions, and a third where the shape changes."""
        super().__init__()
        self.first, self.second = nn.GroupNorm(16, inside), nn.GroupNorm(16, outside)
        self.narrow = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
        self.wide = nn.Conv2d(outside, outside, 3, 1, 1, bias=False)
        self.short = (
            nn.Identity()
            if inside == outside and stride == 1
            else nn.Conv2d(inside, outside, 1, stride, bias=False)
        )

    def forward(self, inputs: Any) -> Any:
        """Add what two convolutions make of the inputs to them."""
        middle = self.narrow(functional.relu(self.first(inputs)))
        return self.short(inputs) + self.wide(functional.relu(self.second(middle)))


def wide_residual(width: int = 4) -> nn.Module:
    """Return WRN-16-4 (Zagoruyko and Komodakis 2016), normalized as by De and others (2022)."""
    sizes = [16, 16 * width, 32 * width, 64 * width]
    blocks: list[nn.Module] = [nn.Conv2d(3, 16, 3, 1, 1, bias=False)]
    for place in range(3):
        for repeat in range(2):
            stride = 2 if place and not repeat else 1
            inside = sizes[place] if not repeat else sizes[place + 1]
            blocks.append(Residual(inside, sizes[place + 1], stride))
    blocks += [nn.GroupNorm(16, sizes[3]), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*blocks, nn.Linear(sizes[3], 10))


CASES = (
    Case(name="MLP", model=perceptron, shape=(104,), classes=2, batch=1024),
    Case(name="linear", model=lambda: nn.Linear(3969, 10), shape=(3969,), classes=10, batch=4096),
    Case(name="CNN", model=convolutional, shape=(1, 28, 28), classes=10, batch=256),
    Case(name="transformer", model=Transformer, shape=(64,), classes=2, batch=32, tokens=1000),
    Case(name="WRN-16-4", model=wide_residual, shape=(3, 32, 32), classes=10, batch=16),
)
GPU_BATCHES = {"MLP": 8192, "linear": 4096, "CNN": 4096, "transformer": 512, "WRN-16-4": 512}
