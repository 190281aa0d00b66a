"""Numbers of the moving pictures, computed in Node, are those of the library."""

import json
import math
import subprocess

import pytest

from discreet.accounting import account
from discreet.continual import BinaryTreeCounter
from discreet.local import Direct, calibrate_shuffled
from discreet.loss import Approximate, Laplace, laplace_scale
from discreet.mechanisms import AboveThreshold
from discreet.mechanisms import Laplace as LaplaceMechanism
from discreet.noise import DyadicGrid, KeyedEntropy
from discreet_course.gallery_pages import MOVING, SCRIPT
from discreet_course.reconstruction import linear
from tests.servers.node import node

QUESTIONS = """
const { laws, GAME, RECORDED, COUNTS, THRESHOLD, pictures } = require(process.argv[1]);
const grid = [[0.1, 0, 1], [1, 0, 1], [1, 0.05, 2], [2.5, 0.3, 5], [4, 0.01, 1]];
console.log(JSON.stringify({
  pictures,
  worlds: grid.map(([e, d, x]) => [laws.scale(e, d, x), laws.delta(e, laws.scale(e, d, x), x),
    laws.caught(e, d, 0.01)]),
  runs: [0, 1, 2, 5, 10, 20].map((n) => laws.runLoss(n, 1)),
  recorded: RECORDED, counts: COUNTS, threshold: THRESHOLD,
  steps: RECORDED.map(laws.steps),
  depths: Array.from({ length: 16 }, (_, i) => laws.depth(i + 1)),
  blocks: Array.from({ length: 16 }, (_, i) => laws.blocks(i + 1)),
  devices: laws.devices,
  errors: Object.keys(laws.devices).map((n) => [laws.central(n, 1), laws.local(n, 1),
    laws.shuffled(n)]),
  found: [0.05, 0.1, 0.25, 1, 4].map(laws.found),
  wrong: [0, 0.5, 1, 2.5, 3].map(laws.wrong),
  game: GAME.map((q) => [q.sensitivity, laws.halfWidth(q.sensitivity, 0.25)]),
  split: [laws.split([0.25, 0.25, 0.25, 0.25], [false, true, false, false], 0, 0.5),
    laws.split([0.25, 0.25, 0.25, 0.25], [true, true, true, true], 0, 0.5),
    laws.split([0.25, 0.25, 0.25, 0.25], [false, true, true, false], 0, 0.97)],
}));
"""
GRID = [("0.1", "0", 1), ("1", "0", 1), ("1", "0.05", 2), ("2.5", "0.3", 5), ("4", "0.01", 1)]


@pytest.fixture(scope="module")
def told():
    command = [str(node()), "-e", QUESTIONS, str(SCRIPT)]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    return json.loads(done.stdout)


def test_all_pictures_have_their_place(told):
    assert set(told["pictures"]) == set(MOVING)


@pytest.mark.parametrize("index", range(len(GRID)))
def test_two_worlds(told, index):
    epsilon, delta, distance = GRID[index]
    scale, uncovered, caught = told["worlds"][index]
    wanted = float(laplace_scale(epsilon=epsilon, delta=delta, distance=distance))
    assert math.isclose(scale, wanted, rel_tol=1e-6)
    exact = Laplace(scale=str(scale / distance)).delta(epsilon=epsilon)
    assert math.isclose(uncovered, exact, abs_tol=1e-9)
    missed = Approximate(epsilon=epsilon, delta=delta).tradeoff(false_alarm="0.01")
    assert math.isclose(caught, 1 - missed, abs_tol=1e-7)


def test_a_sparse_vector_run(told):
    plan = AboveThreshold(threshold=0, epsilon=1)
    for belows, loss in zip((0, 1, 2, 5, 10, 20), told["runs"], strict=True):
        outcome = (False,) * belows + (True,)
        here = plan.reference_pmf((0,) * belows + (1,))[outcome].nearest()
        there = plan.reference_pmf((1,) * belows + (0,))[outcome].nearest()
        assert math.isclose(loss, math.log(here / there), abs_tol=1e-9)


def test_recorded_runs_are_runs_of_the_library(told):
    plan = AboveThreshold(threshold=told["threshold"], epsilon=1)
    assert len(told["recorded"]) == 3
    for recorded, steps in zip(told["recorded"], told["steps"], strict=True):
        answers = plan.run(told["counts"], entropy=fixed(recorded["label"]))
        coins = fixed(recorded["label"])  # the same stream of bits, and now the draws themselves
        assert recorded["threshold"] == plan.threshold_noise.draw(coins)
        assert recorded["counts"] == [plan.query_noise.draw(coins) for _ in answers]
        assert [step["above"] for step in steps] == list(answers)
        assert [step["noisy"] for step in steps] == [
            a + b for a, b in zip(told["counts"], recorded["counts"], strict=False)
        ]
        assert {step["bar"] for step in steps} == {told["threshold"] + recorded["threshold"]}
    ends = [len(steps) for steps in told["steps"]]
    assert ends == [6, 8, 3]  # right, two counts late, and early by noise


def fixed(label):
    return KeyedEntropy(key=bytes(32), label=label)


def test_the_binary_tree(told):
    for day in range(1, 17):
        counter = BinaryTreeCounter(length=day, noise=LaplaceMechanism(scale=10))
        assert told["depths"][day - 1] == counter.depth
        price = account(counter.tree(), relation="replace").epsilon(delta=0)
        assert price >= counter.depth / 10 - 1e-12
        blocks = told["blocks"][day - 1]
        covered = [at for first, last in blocks for at in range(first, last + 1)]
        assert covered == list(range(1, day + 1))
        assert len(blocks) == day.bit_count()


def test_three_models(told):
    spread = math.sqrt(LaplaceMechanism(scale=1).law.moments().variance.nearest())
    for (people, device), errors in zip(told["devices"].items(), told["errors"], strict=True):
        n = int(people)
        central, local, shuffled = errors
        assert math.isclose(central, spread / n, rel_tol=1e-9)
        one = Direct(epsilon=1, values=2).variance("0.5").nearest()
        assert math.isclose(local, math.sqrt(one / n), rel_tol=1e-9)
        wanted = calibrate_shuffled(epsilon=1, delta="1e-6", people=n, binary=True)
        assert device == float(wanted)
        hidden = Direct(epsilon=wanted, values=2).variance("0.5").nearest()
        assert math.isclose(shuffled, math.sqrt(hidden / n), rel_tol=1e-9)


def test_the_noise_that_stops_an_attack(told):
    for roots, share in zip((0.05, 0.1, 0.25, 1, 4), told["found"], strict=True):
        n = 10_000
        wanted = linear.expected(n, questions=2 * n + 1, deviation=roots * math.sqrt(n))
        assert math.isclose(share, wanted, abs_tol=1e-9)
    assert told["wrong"] == [0, 2, 4, 10, 10]


def test_the_budget_game(told):
    for sensitivity, width in told["game"]:
        distance = str(sensitivity)
        noise = LaplaceMechanism(
            scale=str(4 * sensitivity), grid=DyadicGrid.fine(distance=distance)
        )
        assert math.isclose(width, float(noise.error(confidence="0.95")), rel_tol=1e-4)
    moved, kept, pressed = told["split"]
    assert moved == pytest.approx([0.5, 0.25, 0.125, 0.125])
    assert kept == [0.25] * 4  # all others are locked
    assert sum(pressed) == pytest.approx(1)
    assert pressed[1:3] == [0.25, 0.25]
    assert min(pressed) >= 0.01 - 1e-9
