"""Models of the rows of the learning benchmarks: torch alone, so that peers can make them, too.

Trust: public.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn


class Block(nn.Module):
    """A transformer block whose attention is made of plain linear layers."""

    same_operations = True

    def __init__(self, width: int, heads: int, *, causal: bool = False) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.queries, self.keys = nn.Linear(width, width), nn.Linear(width, width)
        self.values, self.out = nn.Linear(width, width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        """Compute the outputs."""
        rows, places, width = x.shape
        normal = self.first(x)

        def split(values: Tensor) -> Tensor:
            return values.view(rows, places, self.heads, width // self.heads).transpose(1, 2)

        q, k, v = (split(f(normal)) for f in (self.queries, self.keys, self.values))
        scores = q @ k.transpose(2, 3) / (width // self.heads) ** 0.5
        if self.causal:
            later = torch.ones(places, places, dtype=torch.bool, device=x.device).triu(1)
            scores = scores.masked_fill(later, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(rows, places, width))
        return x + self.down(torch.nn.functional.gelu(self.up(self.second(x))))


class Transformer(nn.Module):
    """Two blocks over 64 tokens, and a class for each text."""

    same_operations = True

    def __init__(self, width: int = 256, places: int = 64, depth: int = 2) -> None:
        super().__init__()
        self.tokens = nn.Embedding(1000, width)
        self.places = nn.Embedding(places, width)
        self.blocks = nn.ModuleList(Block(width, 4) for _ in range(depth))
        self.normal, self.head = nn.LayerNorm(width), nn.Linear(width, 2)

    def forward(self, x: Tensor) -> Tensor:
        """Compute the outputs."""
        where = torch.arange(x.shape[1], device=x.device).expand(x.shape[0], -1)
        h = self.tokens(x) + self.places(where)
        for block in self.blocks:
            h = block(h)
        return self.head(self.normal(h).mean(1))


class LowRank(nn.Module):
    """A frozen layer, and a product of two narrow ones that learns beside it."""

    same_operations = True

    def __init__(self, frozen: nn.Linear, rank: int) -> None:
        super().__init__()
        self.frozen = frozen
        self.down = nn.Linear(frozen.in_features, rank, bias=False)
        self.up = nn.Linear(rank, frozen.out_features, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Compute the outputs."""
        return self.frozen(x) + self.up(self.down(x))


def low_rank_transformer(rank: int = 8) -> nn.Module:
    """The transformer, of which narrow layers and the head learn."""
    model = Transformer()
    model.requires_grad_(False)
    adapt(model.blocks, rank)
    model.head.requires_grad_(True)
    return model


def adapt(blocks: nn.ModuleList, rank: int) -> None:
    """Put narrow layers beside the six linear layers of each block."""
    for block in blocks:
        for name in ("queries", "keys", "values", "out", "up", "down"):
            setattr(block, name, LowRank(getattr(block, name), rank))


class GPT2(nn.Module):
    """A language model of GPT-2's smallest shape; its head has weights of its own.

    Scores at a position are those of the token after it.
    """

    same_operations = True

    def __init__(
        self,
        width: int = 768,
        depth: int = 12,
        heads: int = 12,
        tokens: int = 50257,
        places: int = 512,
    ) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(tokens, width), nn.Embedding(places, width)
        self.blocks = nn.ModuleList(Block(width, heads, causal=True) for _ in range(depth))
        self.normal, self.head = nn.LayerNorm(width), nn.Linear(width, tokens, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Compute the scores of next tokens, tokens before positions."""
        where = torch.arange(x.shape[1], device=x.device).expand(x.shape[0], -1)
        h = self.tokens(x) + self.places(where)
        for block in self.blocks:
            h = block(h)
        return self.head(self.normal(h)).transpose(1, 2)


def low_rank_gpt2(rank: int = 8) -> nn.Module:
    """GPT-2 of which narrow layers learn."""
    model = GPT2()
    model.requires_grad_(False)
    adapt(model.blocks, rank)
    return model


class Wide(nn.Module):
    """A block of a wide residual network, normalized in groups."""

    same_operations = True

    def __init__(self, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        self.n1, self.n2 = nn.GroupNorm(16, inside), nn.GroupNorm(16, outside)
        self.c1 = nn.Conv2d(inside, outside, 3, stride=stride, padding=1, bias=False)
        self.c2 = nn.Conv2d(outside, outside, 3, padding=1, bias=False)
        same = inside == outside and stride == 1
        self.skip = None if same else nn.Conv2d(inside, outside, 1, stride=stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Compute the outputs."""
        h = torch.relu(self.n1(x))
        short = x if self.skip is None else self.skip(h)
        return self.c2(torch.relu(self.n2(self.c1(h)))) + short


def wrn_16_4(classes: int = 10) -> nn.Module:
    """WRN-16-4 with group normalization."""
    layers: list[nn.Module] = [nn.Conv2d(3, 16, 3, padding=1, bias=False)]
    inside = 16
    for outside, stride in ((64, 1), (128, 2), (256, 2)):
        layers += [Wide(inside, outside, stride), Wide(outside, outside, 1)]
        inside = outside
    return nn.Sequential(
        *layers,
        nn.GroupNorm(16, inside),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(inside, classes),
    )


def tanh_cnn() -> nn.Module:
    """The small network of the literature on MNIST."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 8, stride=2, padding=2),
        nn.Tanh(),
        nn.MaxPool2d(2, 1),
        nn.Conv2d(16, 32, 4, stride=2),
        nn.Tanh(),
        nn.MaxPool2d(2, 1),
        nn.Flatten(),
        nn.Linear(512, 32),
        nn.Tanh(),
        nn.Linear(32, 10),
    )


def mlp() -> nn.Module:
    """A network for a table of 104 columns."""
    return nn.Sequential(
        nn.Linear(104, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 2)
    )


def linear() -> nn.Module:
    """One layer on many features."""
    return nn.Linear(3969, 10)


Batch = tuple[Tensor, Tensor]


def floats(*shape: int, classes: int) -> Callable[[int], Batch]:
    """Return a maker of random rows."""
    return lambda n: (torch.randn(n, *shape), torch.randint(0, classes, (n,)))


MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[int], Batch]]] = {
    "MLP": (mlp, floats(104, classes=2)),
    "linear": (linear, floats(3969, classes=10)),
    "CNN": (tanh_cnn, floats(1, 28, 28, classes=10)),
    "transformer": (
        Transformer,
        lambda n: (torch.randint(0, 1000, (n, 64)), torch.randint(0, 2, (n,))),
    ),
    "LoRA": (
        low_rank_transformer,
        lambda n: (torch.randint(0, 1000, (n, 64)), torch.randint(0, 2, (n,))),
    ),
    "WRN-16-4": (wrn_16_4, floats(3, 32, 32, classes=10)),
    "GPT-2": (
        GPT2,
        lambda n: (torch.randint(0, 50257, (n, 512)), torch.randint(0, 50257, (n, 512))),
    ),
    "GPT-2 LoRA": (
        low_rank_gpt2,
        lambda n: (torch.randint(0, 50257, (n, 512)), torch.randint(0, 50257, (n, 512))),
    ),
}
