# ruff: noqa: E402  the paths come first
"""Private training on one GPU beside plain SGD, and beside Opacus where it is installed.

    python benchmarks/learning_gpu.py [--quick] [--rows MLP,CNN] [--json FILE] [--device cuda]

Needs torch, numpy, scipy and cryptography, and this source.  Times are medians of CUDA events of
whole steps; contenders take turns.  Kernels are deterministic.  One step of ours is: contributions,
norms, clipped sums in float64, the floor to the grid, exact noise that processes have drawn
meanwhile, its way to the device, and the optimizer's step.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent / "src")]

import torch
from rows.learning_models import MODELS
from rows.learning_steps import OBJECTIVE, Ours, plain_step
from torch import nn

BATCHES = {"MLP": 8192, "linear": 8192, "CNN": 4096, "transformer": 512, "WRN-16-4": 512}
BATCHES |= {"GPT-2 LoRA": 16, "GPT-2": 16}
BARS = {"MLP": 1.4, "transformer": 1.3, "CNN": 1.6, "WRN-16-4": 1.8, "GPT-2 LoRA": 1.15}


def timed(step: Callable[[], None], device: torch.device) -> float:
    """Return the milliseconds of one step."""
    if device.type != "cuda":
        began = time.perf_counter()
        step()
        return 1000 * (time.perf_counter() - began)
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    start.record()
    step()
    end.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(end))


def recorded(step: Callable[[], None]) -> Callable[[], None]:
    """Return a step whose kernels are started at once, as a graph of CUDA."""
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()

    def replay() -> None:
        _ = step  # whose model has the memory that the graph writes to
        graph.replay()

    return replay


def opacus_steps(make: Callable[[], nn.Module], x: Any, y: Any) -> dict[str, Callable[[], None]]:
    """Return a step of Opacus in each of its modes, where it is installed and takes the model."""
    try:
        from opacus import PrivacyEngine  # noqa: PLC0415  may be missing
    except ImportError:
        return {}
    from torch.utils.data import DataLoader, TensorDataset  # noqa: PLC0415

    steps: dict[str, Callable[[], None]] = {}
    for mode in ("hooks", "ew", "functorch", "ghost"):
        try:
            model = make().to(x.device)
            loader = DataLoader(TensorDataset(x, y), batch_size=x.shape[0])
            made = PrivacyEngine(accountant="rdp").make_private(
                module=model,
                optimizer=torch.optim.SGD(model.parameters(), lr=0.01),
                data_loader=loader,
                noise_multiplier=1.0,
                max_grad_norm=1.0,
                grad_sample_mode=mode,
                criterion=nn.CrossEntropyLoss(),
                poisson_sampling=False,
            )
            module, optimizer = made[0], made[1]
            objective = made[2] if mode == "ghost" else OBJECTIVE

            def step(m: Any = module, o: Any = optimizer, f: Any = objective) -> None:
                o.zero_grad(set_to_none=True)
                f(m(x), y).backward()
                o.step()

            step()
            steps[f"opacus {mode}"] = step
        except Exception as failure:  # noqa: BLE001  a mode that fails is a row that says so
            print(f"  opacus {mode}: {type(failure).__name__}")
    return steps


def measure(name: str, *, device: torch.device, repeats: int, processes: int, quick: bool) -> Any:
    """Measure one row."""
    make, rows = MODELS[name]
    batch = BATCHES[name] // (16 if quick else 1)
    torch.manual_seed(0)
    x, y = (t.to(device) for t in rows(batch))
    ours = Ours(make, x, y, micro=batch, processes=processes)
    steps = {"plain": plain_step(make, x, y), "ours": ours.step, "ours, sum alone": ours.sum}
    if device.type == "cuda":
        steps["plain, recorded"] = recorded(plain_step(make, x, y))
    steps |= opacus_steps(make, x, y)
    peak = {}
    for key, step in steps.items():
        for _ in range(3):
            step()
        if device.type == "cuda":
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
            step()
            torch.cuda.synchronize()
            peak[key] = (torch.cuda.max_memory_allocated() - before) / 2**20
    times: dict[str, list[float]] = {key: [] for key in steps}
    for _ in range(repeats):  # contenders take turns
        for key, step in steps.items():
            times[key].append(timed(step, device))
    began = time.perf_counter()
    for _ in range(3):
        ours.noise.take()
    noise = 1000 * (time.perf_counter() - began) / 3
    ours.noise.close()
    plain = times["plain"]
    return {
        "row": name,
        "batch": batch,
        "parameters": ours.one.coordinates,
        "engine": ours.engine.layers[0],
        "slack": float(ours.one.slack),
        "noise_ms_alone": noise,
        "milliseconds": {key: statistics.median(v) for key, v in times.items()},
        "ratio": {
            key: statistics.median(a / b for a, b in zip(v, plain, strict=True))
            for key, v in times.items()
        },
        "peak_mib": peak,
        "bar": BARS.get(name),
    }


def main() -> None:
    """Print a table and JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--rows", default=",".join(BATCHES))
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--processes", type=int, default=min(8, os.cpu_count() or 1))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--tf32", action="store_true")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    device = torch.device(given.device)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = given.tf32
    where = torch.cuda.get_device_name() if device.type == "cuda" else "CPU"
    print(
        f"torch {torch.__version__} on {where}, tf32 {given.tf32}, "
        f"{given.processes} processes for noise"
    )
    results = []
    for name in given.rows.split(","):
        result = measure(
            name,
            device=device,
            repeats=3 if given.quick else given.repeats,
            processes=given.processes,
            quick=given.quick,
        )
        results.append(result)
        print(
            f"{name}: batch {result['batch']}, {result['parameters']} parameters, "
            f"slack {result['slack']:.1e}, "
            f"noise alone {result['noise_ms_alone']:.2f} ms, bar {result['bar']}"
        )
        for key, ms in result["milliseconds"].items():
            memory = result["peak_mib"].get(key)
            shown = "" if memory is None else f"{memory:10.0f} MiB"
            print(
                f"  {key:18} {ms:10.3f} ms {result['ratio'][key]:8.2f} x plain{shown}", flush=True
            )
    text = json.dumps(
        {"torch": torch.__version__, "device": where, "tf32": given.tf32, "rows": results}, indent=1
    )
    if given.json:
        given.json.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
