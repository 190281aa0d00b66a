"""Every loss in JSON: samples of fixed size, shuffles, groups, mixtures, and prices of trees."""

import importlib
import inspect
import json
import pkgutil

import pytest

import discreet.loss
from discreet.accounting import Choice, Group, Leaf, Parallel, Sampled, account, decode, encode
from discreet.errors import DiscreetError
from discreet.loss import GaussianDP, Laplace, PrivacyLoss, Profile, Pure, RenyiDP, ZeroConcentrated
from discreet.loss.curved_pair import CompositionPair
from discreet.loss.pair import Pair
from discreet.loss.shuffle import Shuffle

GAUSS, COIN = GaussianDP(mu=1), Pure(epsilon=1)
TWO = COIN.compose(GAUSS).profile().remove[0]
BINARY = Shuffle(epsilon=1, population=50, binary=True)
SAMPLE = Sampled(Parallel("ward", {"A": Leaf(GAUSS), "B": Leaf(COIN)}), rate="0.2")
LOSSES = {
    "laplace": Laplace(scale="5/6"),
    "concentrated": ZeroConcentrated(rho="0.1"),
    "renyi": RenyiDP(orders=(2, 4), values=("0.1", "0.3")),
    "shuffle": COIN.shuffled(population=100),
    "binary shuffle": Profile.of_symmetric(BINARY),
    "fixed size": GAUSS.sampled_without_replacement(size=3, population=100),
    "fixed size of two": GAUSS.join(COIN).sampled_without_replacement(size=3, population=100),
    "envelope": GAUSS.profile().join(COIN).power(2),
    "group of a sample": GAUSS.sampled(rate="0.1").group(3),
    "group of a shuffle": COIN.shuffled(population=50).group(2),
    "one pair": Profile.of(CompositionPair(TWO)),
    "replaced in a sample": account(SAMPLE, relation="replace").loss,
    "adaptive": account(Choice(Leaf(GAUSS), Leaf(COIN), adaptive=True), relation="replace").loss,
    "imported": discreet.loss.from_pld(
        {
            "discretization": 0.5,
            "pessimistic_estimate": True,
            "remove": {"lower_loss": -1, "probs": [0.25, 0.1, 0.6499], "infinity_mass": 0.0001},
        }
    ),
    "price": account(Leaf(COIN) + Leaf(GAUSS), relation="add_remove").loss,
}
every = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)


def through_text(node):
    return decode(json.loads(json.dumps(encode(node), allow_nan=False)))


@every
def test_a_loss_is_read_as_it_was_written(loss):
    again = through_text(Leaf(loss)).source
    assert again == loss
    assert hash(again) == hash(loss)
    assert repr(again) == repr(loss)
    assert again.epsilon("1e-5") == loss.epsilon("1e-5")
    assert json.dumps(encode(Leaf(again))) == json.dumps(encode(Leaf(loss)))


def written_kinds(data):
    if isinstance(data, dict):
        yield data.get("kind")
        for value in data.values():
            yield from written_kinds(value)
    elif isinstance(data, list):
        for value in data:
            yield from written_kinds(value)


def test_every_class_of_loss_and_pair_can_be_written():
    """Whoever adds one adds its line, and a loss above that holds it."""
    classes, never_stored = set(), {"RenyiPart"}  # a curve as engines see it
    for found in pkgutil.walk_packages(discreet.loss.__path__, "discreet.loss."):
        module = importlib.import_module(found.name)
        for name, of in inspect.getmembers(module, inspect.isclass):
            if of.__module__ == found.name and not name.startswith("_"):
                final = getattr(of, "__final__", False)
                if final and issubclass(of, PrivacyLoss | Pair) and name not in never_stored:
                    classes.add(of.__name__)
    more = [
        Leaf(loss)
        for loss in (COIN, GAUSS, COIN.profile(), discreet.loss.Approximate(epsilon=1, delta=0))
    ]
    seen = {kind for loss in LOSSES.values() for kind in written_kinds(encode(Leaf(loss)))}
    seen |= {kind for node in more for kind in written_kinds(encode(node))}
    plain = {"BoundedRangePair", "DiscreteGaussianPair", "DiscreteLaplacePair", "FinitePair"}
    plain |= {"LaplacePair", "SmoothedGaussianPair"}  # tests/accounting/random_trees.py has them
    assert classes - plain <= seen


def test_what_bounds_one_release_still_does_after_reading():
    """A price that lost its mark would be grouped pair by pair, for less than it loses."""
    price = LOSSES["price"]
    again = through_text(Leaf(price)).source
    assert again.indivisible
    assert again.group(2).epsilon("1e-5") == price.group(2).epsilon("1e-5")
    forgotten = Profile(remove=price.remove, add=price.add)
    assert forgotten.group(2).epsilon("1e-5") < price.group(2).epsilon("1e-5")
    tree = Group(Leaf(price), distance=2)
    ends = [
        account(node, relation="add_remove").epsilon("1e-5")
        for node in (tree, decode(encode(tree)))
    ]
    assert ends[0] == ends[1]
    assert "indivisible" not in encode(Leaf(COIN.profile()))["source"]  # as it was always written


def changed(data, path, value):
    """Return a copy of stored data with another value somewhere."""
    copy = json.loads(json.dumps(data))
    place = copy
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return copy


PAIR = ("source", "remove", 0, "pairs", 0, 0)


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("fixed size", (*PAIR, "rate"), "0"),
        ("fixed size", (*PAIR, "rate"), "3/2"),
        ("fixed size", (*PAIR, "rate"), 0.03),
        ("fixed size", (*PAIR, "parts"), []),
        ("fixed size", (*PAIR, "kind"), "Shuffle"),
        ("shuffle", (*PAIR, "population"), 1),
        ("shuffle", (*PAIR, "population"), "100.5"),
        ("shuffle", (*PAIR, "epsilon"), "-1"),
        ("shuffle", (*PAIR, "binary"), 1),
        ("shuffle", (*PAIR, "more"), 1),
        ("group of a sample", (*PAIR, "rate"), "2"),
        ("group of a sample", (*PAIR, "turned"), None),
        ("price", ("source", "indivisible"), False),
        ("price", ("source", "indivisible"), 1),
        ("laplace", ("source", "scale"), "0"),
    ],
)  # fmt: skip
def test_what_was_not_written_here_is_not_read(name, path, value):
    data = encode(Leaf(LOSSES[name]))
    assert decode(data)
    with pytest.raises(DiscreetError):
        decode(changed(data, path, value))
