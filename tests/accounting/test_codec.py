"""Compositions in JSON: what was written is what is read, and everything else is refused."""

import copy
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.accounting import (
    Box,
    Group,
    Leaf,
    Parallel,
    Post,
    Repeat,
    Sequential,
    Where,
    above,
    at_least,
    at_most,
    decode,
    encode,
)
from discreet.accounting.codec import KINDS
from discreet.errors import DiscreetError, OutOfRange, WrongKind
from discreet.loss import Approximate, Profile, Pure
from discreet.mechanisms import (
    FiniteMechanism,
    Laplace,
    Mechanism,
    RandomizedResponse,
)
from discreet.units import person
from discreet_course.optimal import geometric_on_counts
from tests.accounting.random_trees import trees

ONE = Leaf(Pure(epsilon="0.1"))
SAMPLE = Sequential(
    Leaf(Laplace(scale=2), name="visits", replaced=0),
    Parallel("ward", {"A": 2 * ONE, "B": Leaf(RandomizedResponse(epsilon=1))}),
    Where(Box({"age": above(3)}), Group(ONE, distance=2)),
    Leaf(Approximate(epsilon=1, delta="1e-6"), unit=person("patient")),
)


def through_text(node):
    return decode(json.loads(json.dumps(encode(node), allow_nan=False)))


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(trees)
def test_what_was_written_is_what_is_read(tree):
    again = through_text(tree)
    assert again == tree
    assert hash(again) == hash(tree)
    assert str(again) == str(tree)
    assert json.dumps(encode(again)) == json.dumps(encode(tree))


def test_the_form_is_the_documented_one():
    assert encode(Repeat(Leaf(Laplace(scale="0.5"), name="visits", replaced=0), 3)) == {
        "version": 1,
        "kind": "Repeat",
        "child": {
            "kind": "Leaf",
            "source": {"kind": "Laplace", "scale": "1/2", "grid": None},
            "name": "visits",
            "relation": "add_remove",
            "unit": None,
            "added": "1",
            "replaced": "0",
            "common_domain": False,
            "coordinates": 1,
        },
        "count": 3,
    }


def test_every_public_mechanism_that_is_plain_data_can_be_written():

    from discreet import mechanisms  # noqa: PLC0415  (as a namespace)

    public = {getattr(mechanisms, name) for name in mechanisms.__all__}
    concrete = {kind for kind in public if isinstance(kind, type) and issubclass(kind, Mechanism)}
    assert {each.__name__ for each in concrete - {Mechanism}} <= set(KINDS)


def test_every_public_notion_can_be_written():

    from discreet import loss  # noqa: PLC0415  (as a namespace)

    public = {getattr(loss, name) for name in loss.__all__}
    notions = {k for k in public if isinstance(k, type) and issubclass(k, loss.PrivacyLoss)}
    assert {each.__name__ for each in notions - {loss.PrivacyLoss}} <= set(KINDS)


# --- what cannot be written ----------------------------------------------------------------------


class Homemade:
    """A pair of laws that nobody knows by name."""


def test_unknown_classes_are_not_written():
    with pytest.raises(WrongKind, match="Homemade"):
        encode(homemade())
    coin = FiniteMechanism(matrix=[[1], [1]], outputs=[1.5])
    with pytest.raises(WrongKind, match="float"):
        encode(Leaf(coin))
    with pytest.raises(WrongKind, match="node"):
        encode(Pure(epsilon=1))


def homemade():
    profile = Pure(epsilon=1).profile()
    pairs = ((Homemade(), 1),)
    side = copy.copy(profile.remove[0])
    object.__setattr__(side, "pairs", pairs)
    return Leaf(Profile(remove=(side,), add=(side,)))


def test_what_is_too_deep_to_be_read_is_not_written():
    deep = ONE
    for _ in range(99):
        deep = Post(deep)
    with pytest.raises(OutOfRange):
        encode(deep)
    assert through_text(deep.child) == deep.child


# --- what cannot be read -------------------------------------------------------------------------


def refused(data):
    with pytest.raises(DiscreetError) as caught:
        decode(data)
    assert caught.value.what.endswith(".")


LEAF = encode(ONE)


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        "Leaf",
        7,
        {},
        {"kind": "Leaf"},
        {"version": 1},
        {**LEAF, "version": 2},
        {**LEAF, "version": True},
        {**LEAF, "version": "1"},
        {**LEAF, "kind": "Leaves"},
        {**LEAF, "kind": ["Leaf"]},
        {**LEAF, "kind": None},
        {**LEAF, "kind": "Pure"},
        {**LEAF, "extra": 1},
        {**LEAF, 5: 1},
        {name: value for name, value in LEAF.items() if name != "added"},
        {**LEAF, "name": 5},
        {**LEAF, "name": "two\nlines"},
        {**LEAF, "relation": "swap"},
        {**LEAF, "relation": {}},
        {**LEAF, "common_domain": 0},
        {**LEAF, "common_domain": True},
        {**LEAF, "coordinates": True},
        {**LEAF, "coordinates": 1.0},
        {**LEAF, "coordinates": "1/2"},
        {**LEAF, "coordinates": 2},
        {**LEAF, "added": 1},
        {**LEAF, "added": "one"},
        {**LEAF, "added": "__import__('os')"},
        {**LEAF, "added": None},
        {**LEAF, "replaced": "1"},
        {**LEAF, "unit": {"kind": "PrivacyUnit", "name": "", "columns": [], "relation": "replace"}},
        {**LEAF, "unit": {"kind": "row"}},
        {**LEAF, "source": None},
        {**LEAF, "source": "Pure"},
        {**LEAF, "source": LEAF},
        {**LEAF, "source": {"kind": "Pure"}},
        {**LEAF, "source": {"kind": "Pure", "epsilon": 0.1}},
        {**LEAF, "source": {"kind": "object"}},
        {"version": 1, "kind": "Sequential", "children": {}},
        {"version": 1, "kind": "Sequential", "children": [7]},
        {"version": 1, "kind": "Sequential", "children": [LEAF]},  # a version below the root
        {"version": 1, "kind": "Choice", "children": [], "adaptive": 0},
    ],
)
def test_malformed_data_is_refused(data):
    refused(data)


@pytest.mark.parametrize(
    "change",
    [
        {"added": "-1"},
        {"added": "2"},
        {"added": "nan"},
        {"added": "1/0"},
        {"added": "0x1/0x0"},
        {"added": "9" * 2000},
        {"added": "1e999999999"},
        {"added": "0x" + "f" * 10**6 + "/0x1"},
        {"coordinates": 10**400},
        {"coordinates": 0},
        {"source": {"kind": "Pure", "epsilon": "1e300"}},
        {"source": {"kind": "Pure", "epsilon": "-1"}},
        {"source": {"kind": "Approximate", "epsilon": "1", "delta": "2"}},
        {"source": {"kind": "RenyiDP", "orders": ["1/2"], "values": ["1"]}},
        {"source": {"kind": "Profile", "remove": [], "add": []}},
    ],
)
def test_numbers_out_of_their_range_are_refused(change):
    refused({**LEAF, **change})


PAIRS = [
    {"kind": "ResponsePair", "epsilon": "1", "delta": "2"},
    {"kind": "ResponsePair", "epsilon": "-1", "delta": "0"},
    {"kind": "GaussianPair", "mu_squared": "-1"},
    {"kind": "LaplacePair", "epsilon": "-1"},
    {"kind": "BoundedRangePair", "epsilon": "-1"},
    {"kind": "DiscreteLaplacePair", "scale": "0", "distance": 1},
    {"kind": "DiscreteLaplacePair", "scale": "1", "distance": 0},
    {"kind": "DiscreteGaussianPair", "variance": "1", "distance": -1},
    {"kind": "FinitePair", "p": ["1"], "q": ["1/2"]},
    {"kind": "FinitePair", "p": [], "q": []},
    {"kind": "FinitePair", "p": ["2", "-1"], "q": ["1", "0"]},
]


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("count", [1, -1, "1/2", True])
def test_a_loss_that_would_be_too_low_is_refused(pair, count):
    side = {"kind": "Composition", "pairs": [[pair, count]], "renyi": None}
    refused({**LEAF, "source": {"kind": "Profile", "remove": [side], "add": [side]}})


def test_what_constructors_refuse_is_refused():
    data = encode(Parallel("age", {at_most(3): ONE, at_least(4): ONE}))
    data["parts"][1][0] = at_least(3).written()
    refused(data)
    data = encode(Parallel("age", {at_most(3): ONE, at_least(4): ONE}))
    data["parts"][1][0] = data["parts"][0][0]
    refused(data)
    data = encode(Parallel("age", {1: ONE}))
    data["parts"][0][1]["relation"] = "replace"
    refused(data)
    data = encode(Repeat(ONE, 3))
    data["count"] = -1
    refused(data)
    data = encode(Leaf(geometric_on_counts(largest=2, epsilon=1)))
    data["source"]["matrix"][0][0] = "1"
    with pytest.raises(DiscreetError):
        decode(data)


def test_deep_nesting_is_refused_before_it_exhausts_anything():
    data = copy.deepcopy(LEAF)
    del data["version"]
    for _ in range(50_000):
        data = {"kind": "Post", "child": data, "name": ""}
    refused({"version": 1, **data})
    names = ["x"]
    for _ in range(50_000):
        names = [names]
    source = {"kind": "RandomizedResponse", "epsilon": "1", "categories": names}
    refused({**LEAF, "source": source})


def mutants(data):
    """List all copies of some data with one value replaced."""
    junk = [None, True, -1, 10**30, 0.5, "", "x", "-1/2", [], {}, [[]], {"kind": "Leaf"}]
    places = []

    def visit(value, path):
        places.append(path)
        items = value.items() if isinstance(value, dict) else enumerate(value)
        if isinstance(value, dict | list):
            for key, item in items:
                visit(item, (*path, key)) if isinstance(item, dict | list) else places.append(
                    (*path, key)
                )

    visit(data, ())
    return [(path, other) for path in places if path for other in junk]


def test_no_mutant_causes_anything_but_a_clear_error():
    accepted = 0
    for path, other in mutants(encode(SAMPLE)):
        data = copy.deepcopy(encode(SAMPLE))
        target = data
        for key in path[:-1]:
            target = target[key]
        target[path[-1]] = other
        try:
            tree = decode(data)
        except DiscreetError:
            continue
        assert through_text(tree) == tree
        accepted += 1
    assert accepted < 100  # names, and a few numbers in their range


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["kind", "source", "x"]), inner, max_size=3),
    ),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(JSON, st.sampled_from(sorted(LEAF)))
def test_arbitrary_json_is_refused_clearly(data, field):
    with pytest.raises(DiscreetError):
        decode(data)
    try:
        tree = decode({**LEAF, field: data})
    except DiscreetError:
        return
    assert through_text(tree) == tree
