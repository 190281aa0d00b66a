"""Paths of accounts, and texts that people read."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import OutOfRange, WrongKind
from discreet.ledger.values import checked_path, checked_text, parent_account, path_and_ancestors

PARTS = st.lists(st.text("abcXYZ019_-.", min_size=1, max_size=64), min_size=1, max_size=8)


@given(PARTS)
def test_what_is_above_a_path_are_its_beginnings(parts):
    path = checked_path("/".join(parts))
    above = path_and_ancestors(path)
    assert above[-1] == path
    assert [len(each.split("/")) for each in above] == list(range(1, len(parts) + 1))
    assert all(parent_account(below) == itertool for itertool, below in itertools.pairwise(above))
    assert parent_account(above[0]) == ""
    assert list(above) == sorted(above)


@pytest.mark.parametrize(
    "path",
    ["", "/", "a/", "/a", "a//b", "a b", "é", "a\n", "a" * 65, "/".join("a" * 9), "a\0", "٣"],
)
def test_other_texts_are_no_paths(path):
    with pytest.raises(OutOfRange):
        checked_path(path)


@pytest.mark.parametrize("path", [None, 3, b"data", ["data"]])
def test_what_is_no_text_is_no_path(path):
    with pytest.raises(WrongKind):
        checked_path(path)


@pytest.mark.parametrize("text", ["k", "größer als Ω 中文 🙂", "x" * 200, "a/b: c"])
def test_texts_that_people_can_read_pass(text):
    assert checked_text(text, name="key", most=200) == text


@pytest.mark.parametrize("text", ["", " ", "\t", "x" * 201, "a\0b", "a\nb", "\ud800", "\u200b"])
def test_other_texts_do_not(text):
    with pytest.raises(OutOfRange) as error:
        checked_text(text, name="key", most=200)
    assert "key" in error.value.what


@pytest.mark.parametrize("text", [None, 3, b"k"])
def test_what_is_no_text_does_not(text):
    with pytest.raises(WrongKind):
        checked_text(text, name="key", most=200)
