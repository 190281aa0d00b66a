"""Random compositions of every kind of node, source and condition."""

import math
from fractions import Fraction

from hypothesis import strategies as st

from discreet.accounting import (
    Box,
    Choice,
    Group,
    Leaf,
    Parallel,
    Post,
    Repeat,
    Sampled,
    Sequential,
    Shuffled,
    Where,
    above,
    at_most,
    between,
    is_null,
)
from discreet.loss import (
    Approximate,
    GaussianDP,
    Profile,
    Pure,
    RenyiDP,
    ZeroConcentrated,
)
from discreet.loss.finite import FinitePair
from discreet.loss.pure_pairs import BoundedRangePair, LaplacePair
from discreet.mechanisms import (
    AboveThreshold,
    Exponential,
    FiniteMechanism,
    Gaussian,
    Laplace,
    NoisyKeys,
    NumericSparse,
    RandomizedResponse,
    Sparse,
)
from discreet.noise import DyadicGrid
from discreet.units import NeighborGraph, Relation, custom, person
from discreet_course.optimal import geometric_on_counts

RATIONALS = st.fractions(min_value=Fraction(1, 50), max_value=5, max_denominator=50)
NAMES = st.text(
    st.characters(categories=["L", "N", "Zs"], exclude_characters="\xa0"), max_size=8
).filter(str.isprintable)
HALF = Fraction(1, 2)

notions = st.one_of(
    st.builds(Pure, epsilon=RATIONALS),
    st.builds(Approximate, epsilon=RATIONALS, delta=RATIONALS.map(lambda t: t / 5)),
    st.builds(ZeroConcentrated, rho=RATIONALS),
    st.builds(GaussianDP, mu_squared=RATIONALS),
    st.builds(RenyiDP, orders=st.just((2, "7/2", 10)), values=st.tuples(*[RATIONALS] * 3)),
)
profiles = st.one_of(
    RATIONALS.map(lambda t: Profile.of(LaplacePair(t))),
    RATIONALS.map(lambda t: Profile.of_symmetric(BoundedRangePair(t))),
    st.just(Profile.of(FinitePair((HALF, HALF), (Fraction(1, 3), Fraction(2, 3))))),
    RATIONALS.map(lambda t: Gaussian(sigma=t).loss().compose(Laplace(scale=t).loss(distance=2))),
    RATIONALS.map(lambda t: Pure(epsilon=t).power(10).compose(ZeroConcentrated(rho=t))),
    st.builds(lambda loss, rate: loss.sampled(rate=rate), notions, RATIONALS.map(lambda t: t / 5)),
)
losses = st.one_of(notions, profiles)

GRIDS = st.one_of(st.none(), st.builds(DyadicGrid, exponent=st.integers(-20, 4)))
CHANGES = st.sampled_from(["general", "monotone"])
OPEN = st.sampled_from(["add_remove", "either"])
ANY = st.sampled_from(list(Relation))
SCORES = {"candidates": st.integers(2, 9), "scale": RATIONALS, "change": CHANGES}
THRESHOLDS = {
    "threshold": st.integers(-(10**20), 10**20),
    "epsilon": RATIONALS,
    "sensitivity": st.integers(1, 5),
    "monotone": st.booleans(),
}
ANSWERS = {"answers": st.integers(1, 5), **THRESHOLDS}
noises = st.one_of(st.builds(Laplace, scale=RATIONALS), st.builds(Gaussian, sigma=RATIONALS))

steps = st.builds(  # mechanisms that count rows
    NoisyKeys, noise=noises, threshold=st.integers(1, 9), groups=st.integers(1, 3), relation=OPEN
)
moved = st.one_of(  # mechanisms that are priced by how far their input moves
    st.builds(Laplace, scale=RATIONALS, grid=GRIDS),
    st.builds(Gaussian, sigma=RATIONALS, grid=GRIDS),
    st.builds(Exponential, **SCORES),
    st.builds(
        RandomizedResponse,
        epsilon=RATIONALS,
        categories=st.sampled_from([(0, 1), ("a", "b", None), (True, "x", (HALF, (2, "y")))]),
    ),
    st.builds(AboveThreshold, **THRESHOLDS),
    st.builds(Sparse, **ANSWERS),
    st.builds(NumericSparse, share=st.just(Fraction(1, 3)), **ANSWERS),
    st.builds(geometric_on_counts, largest=st.integers(1, 3), epsilon=RATIONALS),
    st.just(
        FiniteMechanism(
            matrix=[["0.5", "0.5"], ["1/3", "2/3"], [1, 0]],
            graph=NeighborGraph.line(3),
            inputs=["none", 10**30, (1, HALF)],
            outputs=["yes", None],
        )
    ),
)
units = st.one_of(
    st.none(), st.just(person("patient")), st.just(custom("day", columns=["patient", "day"]))
)

leaves = st.one_of(
    st.builds(
        Leaf,
        losses,
        name=NAMES,
        replaced=st.one_of(st.none(), st.just(0), losses),
    ),
    st.builds(Leaf, losses, name=NAMES, unit=units),
    st.builds(Leaf, losses, relation=st.just("either")),
    st.builds(Leaf, losses, relation=st.just("replace"), common_domain=st.just(True)),
    st.builds(
        Leaf,
        moved,
        added=st.one_of(st.just(0), RATIONALS),
        replaced=st.one_of(st.none(), st.just(0), RATIONALS, losses),
    ),
    st.builds(Leaf, noises, coordinates=st.integers(1, 10**6)),
    st.builds(Leaf, steps, name=NAMES),
)
"""Leaves that may run on a part of the table."""

whole_leaves = st.one_of(
    st.builds(Leaf, losses, relation=ANY),
    st.builds(
        Leaf,
        st.builds(
            NoisyKeys,
            noise=noises,
            threshold=st.integers(1, 9),
            groups=st.integers(1, 3),
            relation=ANY,
        ),
    ),
)
"""Leaves that may not."""

PARTS = [
    ["A", "B", "C"],
    [1, Fraction(1, 2), -3],
    [True, False],
    [at_most(0), above(10), between(3, 5), 7],
    [is_null(), "A"],
]


@st.composite
def parallels(draw, children):
    keys = draw(st.sampled_from(PARTS))
    parts = {key: draw(children) for key in keys[: draw(st.integers(1, len(keys)))]}
    single = keys is not PARTS[3]
    return Parallel(
        draw(st.sampled_from(["ward", "age"])),
        parts,
        overlap=draw(st.integers(1, 3)) if single else 1,
    )


def inner(children):
    return st.one_of(
        st.lists(children, max_size=3).map(lambda nodes: Sequential(*nodes)),
        st.builds(
            lambda nodes, adaptive: Choice(*nodes, adaptive=adaptive),
            st.lists(children, min_size=1, max_size=3),
            st.booleans(),
        ),
        st.builds(Repeat, children, st.integers(0, 10**12)),
        parallels(children),
        st.builds(Where, st.sampled_from([Box.everything(), Box({"age": above(3)})]), children),
        st.builds(Group, children, distance=st.one_of(st.integers(0, 9), st.just(math.inf))),
        st.builds(Sampled, children, rate=RATIONALS.map(lambda t: t / 5)),
        st.builds(Sampled, children, size=st.integers(1, 9), population=st.integers(9, 99)),
        st.builds(Post, children, name=NAMES),
    )


parts = st.recursive(leaves, inner, max_leaves=6)
trees = st.one_of(
    parts,
    st.builds(lambda one, other: one + other, parts, whole_leaves),
    st.builds(Shuffled, st.one_of(leaves, whole_leaves), population=st.integers(2, 99)),
)
