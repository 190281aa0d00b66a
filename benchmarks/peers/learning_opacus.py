"""Steps of Opacus; runs inside its environment, started by ``environment.py``.

A request names a case of ``rows/learning_models.py``, a mode of Opacus and how many steps to take;
the answer is CPU seconds a step, or why there is none.  With ``memory`` it is by how many bytes
steps raise the memory of the process.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "rows"))  # opacus has a "benchmarks", too

import torch
from learning_models import MODELS
from opacus import PrivacyEngine
from peak_memory import growth
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.simplefilter("ignore")
torch.set_num_threads(1)


class Steps:
    """A model that Opacus has made private, and its steps."""

    def __init__(self, name: str, mode: str, batch: int) -> None:
        """Make everything once."""
        make, rows = MODELS[name]
        torch.manual_seed(0)
        self.inputs, self.targets = rows(batch)
        model = make()
        loader = DataLoader(TensorDataset(self.inputs, self.targets), batch_size=batch)
        criterion = nn.CrossEntropyLoss()
        ghost = {"criterion": criterion} if mode == "ghost" else {}
        made = PrivacyEngine().make_private(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
            data_loader=loader,
            noise_multiplier=2.0,
            max_grad_norm=1.0,
            poisson_sampling=False,
            grad_sample_mode=mode,
            **ghost,
        )
        self.model, self.optimizer = made[0], made[1]
        self.criterion = made[2] if ghost else criterion

    def step(self) -> None:
        """Take one step."""
        self.optimizer.zero_grad(set_to_none=True)
        self.criterion(self.model(self.inputs), self.targets).backward()
        self.optimizer.step()


def answered(request: dict[str, Any], made: dict[tuple[str, str, int], Steps]) -> dict[str, Any]:
    """Take the steps of one request."""
    key = request["case"], request["mode"], request["batch"]
    try:
        if key not in made:
            made[key] = Steps(*key)
        if request.get("memory"):
            make, rows = MODELS[request["case"]]
            inputs, targets = rows(1)  # what libraries keep is there before
            nn.CrossEntropyLoss()(make()(inputs), targets).backward()
            return {"bytes": growth(made[key].step)}
        begun = time.process_time()
        for _ in range(request["steps"]):
            made[key].step()
        seconds = (time.process_time() - begun) / request["steps"]
    except Exception as problem:  # noqa: BLE001  what a mode does not support is told
        why = f"{type(problem).__name__}: {problem}"[:200]
        return {"seconds": float("inf"), "bytes": float("inf"), "why": why}
    return {"seconds": seconds}


def main() -> None:
    """Answer each line."""
    versions = {name: version(name) for name in ("opacus", "torch")}
    print(json.dumps({"versions": versions}), flush=True)
    made: dict[tuple[str, str, int], Steps] = {}
    for line in sys.stdin:
        print(json.dumps(answered(json.loads(line), made)), flush=True)


if __name__ == "__main__":
    main()
