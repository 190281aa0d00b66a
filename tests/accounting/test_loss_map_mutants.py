"""The model notices loss maps that are wrong."""

import numpy as np
import pytest

from discreet.accounting import cells as partition
from discreet.accounting.cells import AmountArray, CellTable, ChargeHistories, ColumnAmounts
from tests.accounting.map_model import check, some_charges


def forget_a_piece(self, cells, condition, cut=CellTable._cut):
    before = self.size
    cut(self, cells, condition)
    left = np.arange(before)
    self.masks = self.masks[:, left]
    self.paid.digits = self.paid.digits[:, :, left]
    self.branches.nodes = self.branches.nodes[left]
    self.stories.numbers, self.stories.mixed = self.stories.numbers[left], self.stories.mixed[left]


def keep_what_sticks_out(self, cells, condition, cut=CellTable._cut):
    masks = self.masks[condition.axis, cells].copy()
    cut(self, cells, condition)
    self.masks[condition.axis, cells] = masks


def merge_downward(self, order, starts):
    self.digits = self.digits[:, :, order[starts]]


def charge_the_others(self, bits, amounts, whole, charge=ColumnAmounts.charge):
    charge(self, bits ^ ((1 << self.atoms.size) - 1), amounts, whole=whole)


def raise_nothing(self, cells, amounts):
    pass


def mix_nothing(self, parts):
    pass


@pytest.mark.parametrize(
    ("owner", "name", "mutant"),
    [
        (CellTable, "_cut", forget_a_piece),
        (CellTable, "_cut", keep_what_sticks_out),
        (CellTable, "charge_partly", raise_nothing),
        (AmountArray, "join", merge_downward),
        (ColumnAmounts, "charge", charge_the_others),
        (ChargeHistories, "mark_mixed", mix_nothing),
    ],
)
def test_the_model_catches_maps_that_are_wrong(owner, name, mutant, monkeypatch):
    monkeypatch.setattr(partition, "_MANY", 4)
    monkeypatch.setattr(owner, name, mutant)

    def is_caught(seed, size, cap):
        try:
            check(some_charges(seed, size), cap)
        except (AssertionError, IndexError, ValueError):
            return True
        return False

    shapes = [(30, 4096), (30, 20), (8, 2)]
    assert any(is_caught(seed, *shape) for seed in range(10) for shape in shapes)
