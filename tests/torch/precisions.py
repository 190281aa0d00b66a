"""Precisions of products that tests ask PyTorch for, and give back as they were."""

import contextlib

import torch


@contextlib.contextmanager
def products(precision):
    """Let products of float32 drop bits for a while; then nothing is asked for, as at first."""
    torch.set_float32_matmul_precision(precision)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision("highest")
        for part in (torch.backends.mkldnn.matmul, torch.backends.cuda.matmul):
            part.fp32_precision = "none"  # which means the same, and is another setting
