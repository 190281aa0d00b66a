"""Rows lie in memory as models were tried, whatever the strides of the data are."""

import numpy as np
import pytest
import torch
from torch import nn

from discreet.learning.deep.augmentation import ViewedRows
from discreet.learning.deep.batch_sums import BatchSums, RowTensors
from discreet.learning.deep.training_data import clip_groups, normalized_groups
from discreet.learning.deep.tried_model import try_model

CPU = torch.device("cpu")
COUNT = 24


def images(channels, size=8):
    """Return images whose channels lie last in memory, and the same images row by row."""
    stream = torch.Generator().manual_seed(channels)
    strided = torch.randn(COUNT, size, size, channels, generator=stream).permute(0, 3, 1, 2)
    plain = torch.empty(strided.shape).copy_(strided)
    assert plain.stride() != strided.stride()
    return strided, plain


def network(channels):
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(channels, 16, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 16, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(16, 16),
    )


@pytest.mark.parametrize("channels", [1, 3, 16])
@pytest.mark.parametrize("views", [0, 2])
@pytest.mark.parametrize("drawn", [np.arange(4)[:, None], np.array([[3], [-1]]), np.array([[5]])])
def test_rows_have_the_strides_of_generated_ones(channels, views, drawn):
    strided, plain = images(channels)
    targets = torch.randn(5, COUNT).T
    source = RowTensors(strided, targets)
    if views:
        source = ViewedRows(source, views, lambda row: row.flip(-1))
    x, y, _ = source.take(drawn, CPU)
    count = len(drawn) * max(1, views)
    for taken, shape in zip((x, y), source.shapes, strict=True):
        assert taken.stride() == shape.rows(count, seed=0, device=CPU).stride()
    kept = drawn.ravel()[0]
    assert torch.equal(x[0], plain[kept].flip(-1) if views else plain[kept])
    assert torch.equal(y[0], targets[kept])


@pytest.mark.parametrize("channels", [1, 3, 16])
@pytest.mark.parametrize("micro", [1, 8])
def test_sums_do_not_depend_on_the_strides_of_the_data(channels, micro):
    """Kernels for channels that lie last round otherwise; they are not the ones that were tried."""
    model, y = network(channels), torch.arange(COUNT) % 16
    groups = normalized_groups(model, clip_groups(model, 1))
    strided, plain = images(channels)
    tried = try_model(
        model,
        nn.functional.cross_entropy,
        shapes=RowTensors(plain, y).shapes,
        units=micro,
        rows=1,
        groups=groups,
    )
    totals = [
        BatchSums(
            model,
            tried.engine,
            RowTensors(x, y),
            groups=groups,
            micro=micro,
            normalized=False,
            device=CPU,
        ).total(np.arange(COUNT)[:, None])[0]
        for x in (strided, plain)
    ]
    assert torch.equal(*totals)
