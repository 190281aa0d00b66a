"""What cannot be used is refused by the right error, before a bit is drawn."""

import dataclasses
import functools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import DiscreetError, NotExact, OutOfRange, TooLarge, WrongKind
from discreet.mechanisms import (
    AboveThreshold,
    Exponential,
    FiniteMechanism,
    Gaussian,
    Laplace,
    NoisyKeys,
    NumericSparse,
    OptimalKeys,
    RandomizedResponse,
    Sparse,
)
from discreet.mechanisms.finite import stochastic
from discreet.mechanisms.partition_selection import EmptyGroups
from discreet.noise import DyadicGrid
from discreet.units import NeighborGraph
from discreet_course.counting import Counting, Histogram, points
from discreet_course.optimal import cost_table, expected, prior_on
from discreet_course.permute_and_flip import PermuteAndFlip


class NoEntropy:
    """Fails the test as soon as anything is drawn."""

    def words(self, count, width):
        pytest.fail("a word was drawn for bad input")

    bits = words


NOTHING = NoEntropy()
GRID = DyadicGrid(exponent=-4)
KEYS = {"groups": 1, "relation": "add_remove"}
MECHANISMS = [
    Laplace(scale=2),
    Laplace(scale=2, grid=GRID),
    Gaussian(sigma=2),
    Gaussian(sigma=2, grid=GRID),
    Exponential(candidates=3, scale=2),
    PermuteAndFlip(candidates=3, scale=2),
    Histogram(cells=3, noise=Laplace(scale=2), relation="replace"),
    NoisyKeys(noise=Laplace(scale=1), threshold=9, **KEYS),
    OptimalKeys(epsilon=1, delta="1e-6", **KEYS),
    RandomizedResponse(epsilon=1),
    Sparse(threshold=5, answers=2, epsilon=1),
]
ADDITIVE = MECHANISMS[0], MECHANISMS[2]
CHOICES = Exponential, PermuteAndFlip

COIN = FiniteMechanism(matrix=[["0.75", "0.25"], ["0.25", "0.75"]])
LINE = FiniteMechanism(matrix=[["1/2", "1/2"]] * 3, graph=NeighborGraph.line(3))

NOT_A_NUMBER = {WrongKind: ["far", None, True, [1]], OutOfRange: [math.nan, math.inf]}
NOT_A_DISTANCE = NOT_A_NUMBER | {OutOfRange: [-1, -0.5, math.nan, math.inf, np.float64("nan")]}
NOT_A_CONFIDENCE = {OutOfRange: [0, 1, -0.1, 95, math.nan], WrongKind: ["95%", None]}
NOT_POSITIVE = NOT_A_NUMBER | {OutOfRange: [0, -2, math.nan, math.inf]}
NOT_A_COUNT = {OutOfRange: [0, -1], WrongKind: [1.0, None, "1", True]}
NOT_A_CHANCE = NOT_A_NUMBER | {OutOfRange: [0, 1, -1, 2, math.nan]}
NO_INTEGERS = {
    NotExact: [1.0, np.float64(1), Fraction(1, 2), [1, 2.0], np.array([1.0])],
    WrongKind: [True, "5", None, [1, None], [[1, 2], [3]], np.array([True]), np.array(["a"])],
    TooLarge: [2**63, [2**63], np.array([2**64 - 1], np.uint64)],
}
NO_SCORES = {
    OutOfRange: [[1, 2], []],
    NotExact: [[1, 2, 3.0], np.array([1.0, 2.0, 3.0])],
    WrongKind: [[1, 2, None], [1, 2, True], "abc", 7],
}
NO_COUNTS = {NotExact: [[1, 0.5]], OutOfRange: [5], WrongKind: [None, "5", [[1, 2], [3]]]}
NO_STREAM = {WrongKind: [[0.5], 5, None, "12", [None], [True]]}
NO_MATRIX = {
    WrongKind: [[], [[1], [0, 1]], [[None, 1]], [1, 0], "01", {0: [1]}],
    OutOfRange: [
        [[]],
        [["0.5", "0.4"]],
        [["0.5", "0.6"]],
        [[1 / 3, 1 / 3, 1 / 3]],
        [["-0.5", "1.5"]],
        [[math.nan, 1]],
        [[math.inf, 0]],
    ],
}


def argument(make, name, **others):
    return lambda value: make(**others, **{name: value})


def both_faces(mechanism):
    def call(value):
        with pytest.raises(DiscreetError):
            mechanism.reference_pmf(value)
        mechanism.run(value, entropy=NOTHING)

    return call


TABLE = [
    *((functools.partial(lambda m, d: m.loss(distance=d), m), NOT_A_DISTANCE) for m in MECHANISMS),
    *((lambda c, m=m: m.error(confidence=c), NOT_A_CONFIDENCE) for m in MECHANISMS),
    *((lambda n, m=m: m.loss(coordinates=n), NOT_A_COUNT) for m in ADDITIVE),
    *((lambda n, m=m: m.error(confidence=0.9, coordinates=n), NOT_A_COUNT) for m in ADDITIVE),
    *((both_faces(mechanism), NO_INTEGERS) for mechanism in ADDITIVE),
    *((argument(kind, "scale", candidates=3), NOT_POSITIVE) for kind in CHOICES),
    *((argument(kind, "candidates", scale=2), NOT_A_COUNT) for kind in CHOICES),
    *((argument(k, "change", candidates=3, scale=2), {WrongKind: ["up", None]}) for k in CHOICES),
    *((lambda s, m=m: m.run(s, entropy=NOTHING), NO_SCORES) for m in MECHANISMS[4:6]),
    *((lambda s, m=m: m.run(s, entropy=NOTHING), NO_COUNTS) for m in MECHANISMS[7:9]),
    (argument(Laplace, "scale"), NOT_POSITIVE),
    (argument(Laplace, "grid", scale=1), {WrongKind: ["fine", 3]}),
    (argument(Gaussian, "grid", sigma=1), {WrongKind: ["fine", 3]}),
    (argument(Gaussian, "sigma"), {OutOfRange: [0, -3, math.nan], WrongKind: [None]}),
    (argument(Gaussian, "variance"), {OutOfRange: [-9], TooLarge: [2**115], WrongKind: [None]}),
    (argument(Gaussian, "variance", sigma=3), {WrongKind: [9]}),
    (
        lambda value: MECHANISMS[1].run(value, entropy=NOTHING),
        {OutOfRange: [math.nan, [math.inf]], WrongKind: ["x"]},
    ),
    (argument(OptimalKeys, "epsilon", delta="1e-6", **KEYS), NOT_A_DISTANCE),
    (argument(OptimalKeys, "delta", epsilon=1, **KEYS), NOT_A_CHANCE),
    (argument(OptimalKeys, "groups", epsilon=1, delta=0.1, relation="replace"), NOT_A_COUNT),
    (
        argument(OptimalKeys, "relation", epsilon=1, delta=0.1, groups=1),
        {WrongKind: ["swap", None]},
    ),
    (argument(OptimalKeys, "fewest", epsilon=1, delta=0.1, **KEYS), NOT_A_COUNT),
    (argument(NoisyKeys, "noise", threshold=3, **KEYS), {WrongKind: [2, None, MECHANISMS[1]]}),
    (argument(NoisyKeys, "most", noise=ADDITIVE[0], threshold=3, **KEYS), NOT_A_COUNT),
    (
        argument(NoisyKeys, "threshold", noise=ADDITIVE[0], **KEYS),
        {WrongKind: [0.5], TooLarge: [2**64]},
    ),
    (argument(NoisyKeys.for_delta, "delta", noise=ADDITIVE[0], **KEYS), NOT_A_CHANCE),
    (argument(RandomizedResponse, "epsilon"), NOT_A_DISTANCE),
    (
        argument(RandomizedResponse, "categories", epsilon=1),
        {WrongKind: [(), (1,), (1, 1), ([1], [2]), 5, None]},
    ),
    (lambda value: RandomizedResponse(epsilon=1).run(value), {WrongKind: [2, [0], None]}),
    (argument(AboveThreshold, "epsilon", threshold=3), NOT_POSITIVE),
    (argument(AboveThreshold, "threshold", epsilon=1), {WrongKind: [0.5, None, "1", True]}),
    (argument(AboveThreshold, "monotone", threshold=3, epsilon=1), {WrongKind: [0, None, "yes"]}),
    (argument(AboveThreshold, "sensitivity", threshold=3, epsilon=1), NOT_A_COUNT),
    (argument(Sparse, "answers", threshold=3, epsilon=1), NOT_A_COUNT),
    (argument(NumericSparse, "share", threshold=3, answers=1, epsilon=1), NOT_A_CHANCE),
    (lambda values: Sparse(threshold=5, answers=2, epsilon=1).run(values), NO_STREAM),
    (
        lambda n: MECHANISMS[10].error(confidence=0.9, queries=n),
        {OutOfRange: [0], WrongKind: [2.0]},
    ),
    *((m.kept, {OutOfRange: [-1], WrongKind: [0.5]}) for m in MECHANISMS[7:9]),
    (MECHANISMS[7].smallest, {OutOfRange: [1, 0]}),
    (MECHANISMS[8].smallest, {OutOfRange: ["1.5"]}),
    (lambda n: MECHANISMS[7].leak(steps=n), NOT_A_COUNT),
    (lambda c: MECHANISMS[7].intervals(c, confidence="0.9"), {OutOfRange: [[2]]}),
    (lambda entropy: MECHANISMS[8].run([1], entropy=entropy), {WrongKind: [np.random, None]}),
    (argument(OptimalKeys.within, "delta", epsilon=1, **KEYS), NOT_A_CHANCE),
    (argument(OptimalKeys, "epsilon", delta="1e-9", **KEYS), {OutOfRange: ["1e-9"]}),
    (argument(EmptyGroups, "threshold", noise=ADDITIVE[0], groups=9), NOT_A_COUNT),
    (argument(EmptyGroups, "groups", noise=ADDITIVE[0], threshold=9), {OutOfRange: [0, 2**63]}),
    (argument(EmptyGroups, "noise", groups=9, threshold=9), {WrongKind: [MECHANISMS[1], 2]}),
    (argument(FiniteMechanism, "graph", matrix=COIN.matrix), {WrongKind: [LINE.graph, "line"]}),
    (argument(FiniteMechanism, "inputs", matrix=COIN.matrix), {WrongKind: [["a"], ["a", "a"]]}),
    (argument(FiniteMechanism, "outputs", matrix=COIN.matrix), {WrongKind: [[[1], [2]]]}),
    (COIN.run, {WrongKind: [2, [0]]}),
    (COIN.reference_pmf, {WrongKind: ["0"]}),
    (lambda epsilon: COIN.delta(epsilon=epsilon), {OutOfRange: [-1, math.nan]}),
    (COIN.then, {WrongKind: [[[1]]], OutOfRange: [[["0.5"], [1]]]}),
    (lambda cost: expected(COIN, cost), {WrongKind: [3]}),
    (stochastic, NO_MATRIX),
    (lambda cost: cost_table(cost, [0], [0]), {WrongKind: [None, lambda x, y: "much"]}),
    (lambda cost: cost_table(cost, [0], [0]), {OutOfRange: [lambda x, y: math.nan]}),
    (lambda prior: prior_on(prior, 2), {WrongKind: [[1], None], OutOfRange: [["0.5", "0.4"]]}),
    (lambda value: MECHANISMS[6].run(value, entropy=NOTHING), {NotExact: [[1, 2, 0.5]]}),
    (argument(Histogram, "cells", noise=ADDITIVE[0], relation="replace"), NOT_A_COUNT),
    (argument(Histogram, "relation", cells=3, noise=ADDITIVE[0]), {WrongKind: ["swap"]}),
    (argument(Histogram, "noise", cells=3, relation="replace"), {WrongKind: [2, MECHANISMS[1]]}),
    (points, {OutOfRange: [[], [1, 1]]}),
    (points([1, 2]).answers, {OutOfRange: [[3]]}),
    (points([1, 2]).averages, {OutOfRange: [[]]}),
    (points([1, 2]).l1, {WrongKind: ["swap"]}),
    (lambda queries: Counting([1, 2], queries), {WrongKind: [[5]]}),
    (lambda universe: Counting(universe, [bool]), {WrongKind: [7]}),
]


@pytest.mark.parametrize(("call", "wrong"), TABLE)
def test_what_cannot_be_used_is_refused(call, wrong):
    for error, values in wrong.items():
        for value in values:
            with pytest.raises(DiscreetError) as caught:
                call(value)
            assert caught.type is error, f"{value!r}: {caught.type.__name__}: {caught.value}"


@pytest.mark.parametrize("value", [[1, 2], 5, [[1, 2, 3]]])
def test_a_histogram_has_one_count_for_each_cell(value):
    with pytest.raises(DiscreetError):
        MECHANISMS[6].run(value, entropy=NOTHING)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_arguments_are_named(mechanism):
    with pytest.raises(TypeError):
        mechanism.loss(1)
    with pytest.raises(TypeError):
        mechanism.error(0.9)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(mechanism, dataclasses.fields(mechanism)[0].name, 3)
