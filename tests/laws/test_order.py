"""The order of a composition does not matter."""

from functools import reduce

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws.losses import any_loss


@settings(max_examples=60)
@given(st.lists(any_loss, min_size=2, max_size=5), st.randoms(use_true_random=False))
def test_shuffled_compositions_are_equal(losses, shuffler):
    other = list(losses)
    shuffler.shuffle(other)
    one = reduce(lambda total, loss: total.compose(loss), losses)
    two = reduce(lambda total, loss: total.compose(loss), other)
    assert one.profile() == two.profile()


@given(any_loss, any_loss)
def test_joins_commute(one, two):
    first, second = one.join(two).profile(), two.join(one).profile()
    assert set(first.remove) == set(second.remove)
    assert set(first.add) == set(second.add)
