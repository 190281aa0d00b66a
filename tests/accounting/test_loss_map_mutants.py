"""The model notices loss maps that are wrong."""

import numpy as np
import pytest

from discreet.accounting import cells as partition
from discreet.accounting.cells import CellTable, ChargeHistories, ColumnAmounts
from tests.accounting.map_model import check, some_charges


def forget_a_piece(self, cells, condition, cut=CellTable._cut):
    before = self.size
    cut(self, cells, condition)
    left = np.arange(before)
    self.masks = self.masks[:, left]
    self.paid = self.paid[:, left]
    self.branches.nodes = self.branches.nodes[left]
    self.histories.numbers = self.histories.numbers[left]
    self.histories.mixed = self.histories.mixed[left]


def keep_what_sticks_out(self, cells, condition, cut=CellTable._cut):
    masks = self.masks[condition.axis, cells].copy()
    cut(self, cells, condition)
    self.masks[condition.axis, cells] = masks


def merge_downward(self, cells, others, columns, join=CellTable.join):
    self.paid[:, others] = self.paid[:, cells] = np.minimum(
        self.paid[:, cells], self.paid[:, others]
    )
    return join(self, cells, others, columns)


def charge_the_others(self, bits, price, whole, charge=ColumnAmounts.charge):
    charge(self, bits ^ ((1 << self.atoms.size) - 1), price, whole=whole)


def raise_nothing(self, cells, price, whole, charge=CellTable.charge):
    if whole:
        charge(self, cells, price, whole=whole)


def mix_nothing(self, parts, whole, charge=ChargeHistories.charge):
    if whole:
        charge(self, parts, whole=whole)


@pytest.mark.parametrize(
    ("owner", "name", "mutant"),
    [
        (CellTable, "_cut", forget_a_piece),
        (CellTable, "_cut", keep_what_sticks_out),
        (CellTable, "charge", raise_nothing),
        (CellTable, "join", merge_downward),
        (ColumnAmounts, "charge", charge_the_others),
        (ChargeHistories, "charge", mix_nothing),
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
