"""Domains: every value has one code, and what has none is refused without being quoted."""

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import DiscreetError, OutOfRange, WrongKind
from discreet.local import Domain

HIDDEN = "a rare illness"


def test_codes_are_places_in_the_list():
    domain = Domain(["flu", "cold", 7])
    assert domain.codes([7, "flu", "cold"]).tolist() == [2, 0, 1]
    assert domain.codes(np.array(["cold", "flu"])).tolist() == [1, 0]
    assert domain.values == 3


def test_what_has_no_code_is_refused_and_not_quoted():
    for value in (HIDDEN, None, 3.5, True, [HIDDEN]):
        with pytest.raises(OutOfRange) as refusal:
            Domain(["flu", "cold", 1]).code(value)
        assert HIDDEN not in str(refusal.value)


def test_others_have_the_last_code():
    domain = Domain(["flu", "cold"], other="else")
    assert domain.codes([HIDDEN, None, "cold", "else", True]).tolist() == [2, 2, 1, 2, 2]


@pytest.mark.parametrize(
    "categories", [["a"], [], ["a", "a"], ["a", None], ["a", 1.5], ["a", True], "ab", {"a", "b"}, 3]
)
def test_what_is_no_domain_is_refused(categories):
    with pytest.raises(DiscreetError):
        Domain(categories)


def test_an_other_that_is_listed_is_refused():
    with pytest.raises(WrongKind):
        Domain(["a", "b"], other="b")


@given(st.floats(0, 1), st.integers(2, 50))
def test_a_float_and_its_decimal_text_have_the_same_bin(value, count):
    domain = Domain.bins(low=0, high=1, count=count)
    text = Fraction(repr(value))
    exact = domain.codes([text])
    assert domain.codes(np.array([value])).tolist() == exact.tolist()
    assert domain.edges[exact[0]] <= text <= domain.edges[exact[0] + 1]
    assert domain.code(value) == exact[0]


def test_edges_belong_to_the_bin_above_and_the_last_one_to_the_last():
    domain = Domain.bins(low="0.1", high="0.7", count=3)
    assert domain.codes(["0.1", "0.3", "0.5", "0.7", "0.299"]).tolist() == [0, 1, 2, 2, 0]
    assert (
        domain.codes(np.array([0.1, 0.3, 0.7])).tolist() == domain.codes([0.1, 0.3, 0.7]).tolist()
    )


@pytest.mark.parametrize("value", ["0.09", 0.71, float("nan"), float("inf"), "text", None])
def test_numbers_outside_the_interval_are_refused(value):
    domain = Domain.bins(low="0.1", high="0.7", count=3)
    with pytest.raises(OutOfRange) as refusal:
        domain.code(value)
    assert "0.7" not in str(refusal.value)
    with pytest.raises(DiscreetError):
        domain.codes(np.array([np.nan, 0.5]))


@pytest.mark.parametrize(
    "bins",
    [
        {"low": 1, "high": 1, "count": 3},
        {"low": 0, "high": 1, "count": 1},
        {"low": 2, "high": 1, "count": 2},
        {"low": 0, "high": "1e301", "count": 2},
    ],
)
def test_bins_that_are_none_are_refused(bins):
    with pytest.raises(OutOfRange):
        Domain.bins(**bins)


def test_descriptions_are_read_back_and_digests_tell_domains_apart():
    domains = [
        Domain(["a", "b"]),
        Domain(["b", "a"]),
        Domain(["a"], other="b"),
        Domain(["1", "2"]),
        Domain([1, 2]),
        Domain.bins(low=0, high=1, count=2),
        Domain.bins(low=0, high=2, count=2),
    ]
    for domain in domains:
        assert Domain.of_description(json.loads(json.dumps(domain.describe()))) == domain
    assert len({domain.digest() for domain in domains}) == len(domains)
    for wrong in (None, {}, {"bins": 2}, {"categories": ["a", "b"], "other": None, "more": 1}, []):
        with pytest.raises(WrongKind):
            Domain.of_description(wrong)
