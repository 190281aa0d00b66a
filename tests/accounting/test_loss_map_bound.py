"""A bound on all payments of a map, and the boxes that it could not charge."""

import pytest

from discreet.accounting import Box, at_least, equals
from discreet.accounting.loss_map import LossMap
from discreet.errors import WrongKind
from tests.accounting.map_model import some_charges


@pytest.mark.theorem("loss-map")
@pytest.mark.theorem("merging-upward")
@pytest.mark.parametrize("cap", [4096, 8, 5])
@pytest.mark.parametrize("seed", range(3))
def test_no_record_has_paid_more(seed, cap):
    paid = LossMap(2, cap=cap)
    for at, (box, amounts) in enumerate(some_charges(seed, 100)):
        paid.add(box, amounts)
        pairs = zip(paid.highest(), paid.at_most(), strict=True)
        assert all(high <= most for high, most in pairs)
        if at % 10 == 0:
            paid._since = 1000  # so that it is worked out again
            assert paid.at_most() == paid.highest()


def test_the_bound_comes_back_to_what_was_paid():
    paid = LossMap(1)
    for at in range(64):
        paid.add(Box({"ward": equals(f"W{at % 8}")}), [1])
        assert paid.at_most() in {(at + 1,), (8,)}
    assert paid.at_most() == paid.highest() == (8,)
    paid.add(Box({"ward": equals("W0")}), [5])
    assert paid.at_most() == (13,)
    assert paid.copy().at_most() == (13,)
    assert LossMap.read(paid.written()).at_most() == (13,)


def test_boxes_that_could_not_be_charged_together_are_refused():
    paid = LossMap(1)
    ward, number = Box({"ward": equals("A")}), Box({"ward": equals(1)})
    paid.check([])
    paid.check([ward, Box.everything(), Box({"age": at_least(3)})])
    with pytest.raises(WrongKind, match="kinds"):
        paid.check([ward, number])
    paid.check([number])
    paid.add(ward, [1])
    before = paid.written()
    with pytest.raises(WrongKind, match="kinds"):
        paid.check(iter([number]))
    assert paid.written() == before
