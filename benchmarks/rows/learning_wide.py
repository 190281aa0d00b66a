# ruff: noqa: ANN001, ANN202, PLR0913, PLR0917  kernels of Triton are compiled by their own rules
"""WRN-16-4 with standardized weights, in bfloat16, and the optimizer that standardizes them.

Trust: public.

The layers of the model hold the standardized weights, so the released gradient is theirs; the
optimizer takes it to the weights in float32 behind them, which is post-processing.  There it loses
the part that is constant over a kernel.  That part would be two thirds of its square if inputs of
layers had a mean, and would be clipped with the rest: so their mean is taken off.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

try:
    import triton
    import triton.language as tl
except ModuleNotFoundError:  # no GPU, then
    triton = None

GROUP, EPSILON, TINY = 16, 1e-5, 1e-6
SHIFT, SCALE = 0.3989, 1.7128
"""Mean and inverse spread of a normal variable that is cut at zero."""

if triton is not None:

    @triton.jit
    def _forward(
        x,
        y,
        means,
        roots,
        places: tl.constexpr,
        channels: tl.constexpr,
        group: tl.constexpr,
        shift: tl.constexpr,
        scale: tl.constexpr,
    ):
        n, c = tl.program_id(0).to(tl.int64), tl.program_id(1)
        at = (
            n * places * channels
            + tl.arange(0, places)[:, None] * channels
            + c * group
            + tl.arange(0, group)[None, :]
        )
        v = tl.load(x + at).to(tl.float32)
        mean = tl.sum(v) / (places * group)
        v -= mean
        root = tl.rsqrt(tl.sum(v * v) / (places * group) + 1e-5)
        tl.store(y + at, ((tl.maximum(v * root, 0.0) - shift) * scale).to(tl.bfloat16))
        tl.store(means + n * (channels // group) + c, mean)
        tl.store(roots + n * (channels // group) + c, root)

    @triton.jit
    def _backward(
        x,
        g,
        d,
        means,
        roots,
        places: tl.constexpr,
        channels: tl.constexpr,
        group: tl.constexpr,
        scale: tl.constexpr,
    ):
        n, c = tl.program_id(0).to(tl.int64), tl.program_id(1)
        at = (
            n * places * channels
            + tl.arange(0, places)[:, None] * channels
            + c * group
            + tl.arange(0, group)[None, :]
        )
        mean = tl.load(means + n * (channels // group) + c)
        root = tl.load(roots + n * (channels // group) + c)
        v = (tl.load(x + at).to(tl.float32) - mean) * root
        w = tl.where(v > 0, tl.load(g + at).to(tl.float32) * scale, 0.0)
        first, second = tl.sum(w) / (places * group), tl.sum(w * v) / (places * group)
        tl.store(d + at, (root * (w - first - v * second)).to(tl.bfloat16))


class NormalizedReLU(torch.autograd.Function):
    """Group normalization without weights, and ReLU, in one kernel for each group of an image."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        """Read x once, and write the result."""
        x = x.contiguous(memory_format=torch.channels_last)
        n, c, h, w = x.shape
        y = torch.empty_like(x)
        means, roots = torch.empty(2, n, c // GROUP, device=x.device).unbind()
        warps = 8 if h * w > 256 else 4
        _forward[n, c // GROUP](x, y, means, roots, h * w, c, GROUP, SHIFT, SCALE, num_warps=warps)
        ctx.save_for_backward(x, means, roots)
        return y

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        """Read x and the gradient once, and write the result."""
        x, means, roots = ctx.saved_tensors
        n, c, h, w = x.shape
        g = gradient.contiguous(memory_format=torch.channels_last)
        d = torch.empty_like(x)
        warps = 16 if h * w > 256 else 8
        _backward[n, c // GROUP](x, g, d, means, roots, h * w, c, GROUP, SCALE, num_warps=warps)
        return d


def normalized(x: Tensor) -> Tensor:
    """Normalize groups of 16 channels of each image, and cut at zero."""
    if x.is_cuda and x.dtype == torch.bfloat16 and triton is not None:
        return NormalizedReLU.apply(x)
    cut = torch.relu(nn.functional.group_norm(x, x.shape[1] // GROUP, eps=EPSILON))
    return (cut - SHIFT) * SCALE


def convolution(inside: int, outside: int, size: int, stride: int) -> nn.Conv2d:
    """Return a convolution without a bias, which the normalization would take off again."""
    return nn.Conv2d(inside, outside, size, stride=stride, padding=size // 2, bias=False)


class Residual(nn.Module):
    """A block of a wide residual network."""

    same_operations = True

    def __init__(self, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        self.c1 = convolution(inside, outside, 3, stride)
        self.c2 = convolution(outside, outside, 3, 1)
        same = inside == outside and stride == 1
        self.skip = None if same else convolution(inside, outside, 1, stride)

    def forward(self, x: Tensor) -> Tensor:
        """Compute the outputs."""
        h = normalized(x)
        short = x if self.skip is None else self.skip(h)
        return self.c2(normalized(self.c1(h))) + short


class Head(nn.Module):
    """Normalize, take the mean over places, and score classes."""

    same_operations = True

    def __init__(self, inside: int, classes: int) -> None:
        super().__init__()
        self.scores = nn.Linear(inside, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Compute the outputs."""
        return self.scores(normalized(x).mean((2, 3))).float()


def standardized_wrn_16_4(classes: int = 10, width: int = 4) -> nn.Module:
    """WRN-16-4, whose weights StandardizedSGD keeps standardized."""
    layers: list[nn.Module] = [convolution(3, 16, 3, 1)]
    inside = 16
    for outside, stride in ((16 * width, 1), (32 * width, 2), (64 * width, 2)):
        layers += [Residual(inside, outside, stride), Residual(outside, outside, 1)]
        inside = outside
    head = Head(inside, classes)
    nn.init.zeros_(head.scores.weight)
    nn.init.zeros_(head.scores.bias)
    return nn.Sequential(*layers, head)


def standardized(weight: Tensor, gain: Tensor) -> Tensor:
    """Return a kernel whose weights of each output have mean 0 and norm ``gain``."""
    each = weight.flatten(1)
    each = each - each.mean(1, keepdim=True)
    each = each * (each.square().sum(1, keepdim=True) + TINY).rsqrt()
    return (each * gain[:, None]).view_as(weight)


class StandardizedSGD(torch.optim.Optimizer):
    """SGD on the weights behind standardized ones, with an average of late weights."""

    def __init__(self, model: nn.Module, *, lr: float, kept: float) -> None:
        super().__init__(model.parameters(), {"lr": lr})
        self.parameters = list(model.parameters())
        self.behind, self.kept, self.taken = [], kept, 0
        for p in self.parameters:
            raw = p.detach().float().clone(memory_format=torch.contiguous_format)
            if p.dim() == 4:
                raw.normal_(std=p[0].numel() ** -0.5)
                self.behind.append((raw, torch.ones(len(raw), device=raw.device)))
            else:
                self.behind.append((raw,))
        self.average = [tuple(v.clone() for v in values) for values in self.behind]
        self.show(self.behind)

    @torch.no_grad()
    def show(self, behind: list[tuple[Tensor, ...]]) -> None:
        """Put weights into the model."""
        for p, values in zip(self.parameters, behind, strict=True):
            p.copy_(values[0] if len(values) == 1 else standardized(*values))

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # noqa: ARG002  none is needed
        """Take a step, and show it to the model."""
        gradients: list[Tensor] = []
        for p, values in zip(self.parameters, self.behind, strict=True):
            gradient = p.grad.float()
            gradients += (gradient,) if len(values) == 1 else behind(gradient, *values)
        now = [value for values in self.behind for value in values]
        torch._foreach_add_(now, gradients, alpha=-self.param_groups[0]["lr"])
        self.taken += 1
        share = 1 - min(self.kept, (1 + self.taken) / (10 + self.taken))
        torch._foreach_lerp_([v for values in self.average for v in values], now, share)
        self.show(self.behind)


def behind(gradient: Tensor, weight: Tensor, gain: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradients of a weight and its gain from that of the standardized weight."""
    g, each = gradient.flatten(1), weight.flatten(1)
    each = each - each.mean(1, keepdim=True)
    root = (each.square().sum(1, keepdim=True) + TINY).rsqrt()
    each = each * root
    along = (g * each).sum(1, keepdim=True)
    found = (g - g.mean(1, keepdim=True) - each * along) * (root * gain[:, None])
    return found.view_as(weight), along[:, 0]
