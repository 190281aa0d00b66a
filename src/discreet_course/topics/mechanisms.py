"""Exercises on sensitivity, Laplace noise, other mechanisms and the sparse vector technique."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from discreet.attacks import ReplayEntropy
from discreet.loss import laplace_scale
from discreet.mechanisms import (
    AboveThreshold,
    Exponential,
    FiniteMechanism,
    Laplace,
    RandomizedResponse,
    discrete_gaussian_sigma,
)
from discreet_course.exercise import Exercise
from discreet_course.judges import Law, Number, OneOf, PrivateProgram
from discreet_course.sensitivity import average_sensitivity, sum_sensitivity


def _noisy_choice(votes: tuple[int, int], coins: ReplayEntropy) -> int:
    best = int(votes[1] > votes[0])
    return best ^ (coins.bits(2) == 0)


def _prefers_the_winner(here: Law, _there: Law) -> str | None:
    winner = here.get(0, Fraction(0))
    enough = winner >= Fraction(3, 5)
    return None if enough else f"the winner by one vote is chosen with a chance of {winner} only."


EXERCISES: Final = (
    Exercise(
        key="L1",
        page="sensitivity-and-laplace",
        question="Counts of orange cats, of heavy cats and of all cats, published together. "
        "What is their ℓ1 sensitivity under add or remove?",
        judge=Number(
            lambda: 3,
            slips={
                1: "one cat may be in more than one of the counts.",
                2: "and all cats are a count, too.",
            },
        ),
        solution="A heavy orange cat is in all three counts, so it moves three of them by 1: 3.",
    ),
    Exercise(
        key="L5",
        page="sensitivity-and-laplace",
        question="Salaries lie between 20 000 and 200 000. What is the sensitivity of their total "
        "under replace?",
        judge=Number(
            lambda: sum_sensitivity("replace", low=20_000, high=200_000),
            slips={
                200_000: "that is how far a total moves when a salary comes or goes; here one "
                "takes another's place."
            },
        ),
        solution="A salary of 200 000 takes the place of one of 20 000: a move by 180 000.",
    ),
    Exercise(
        key="L6",
        page="sensitivity-and-laplace",
        question="The average of 60 such salaries, where 60 is public: which scale of Laplace "
        "noise gives ε = 1/2 under replace?",
        judge=Number(
            lambda: laplace_scale(
                epsilon="0.5",
                distance=average_sensitivity("replace", low=20_000, high=200_000, size=60),
            ),
            slips={
                3000: "that is the sensitivity; divide it by ε.",
                1500: "noise grows as ε falls.",
            },
        ),
        solution="The sensitivity is 180 000 / 60 = 3000, and the scale is 3000 / (1/2) = 6000.",
    ),
    Exercise(
        key="L8",
        page="sensitivity-and-laplace",
        question="One person reports an age between 18 and 100 with Laplace noise. Which scale "
        "gives ε = 1?",
        judge=Number(
            lambda: laplace_scale(epsilon=1, distance=82),
            slips={1: "any age may take the place of any other.", 100: "ages start at 18."},
        ),
        solution="Any two ages are neighbors, 82 years apart, so the scale is 82.",
    ),
    Exercise(
        key="L10",
        page="sensitivity-and-laplace",
        question="The share of 500 people who say yes, 500 public, with continuous Laplace noise "
        "on the share: which scale gives ε = 0.1?",
        judge=Number(
            lambda: laplace_scale(epsilon="0.1", distance=Fraction(1, 500)),
            slips={10: "that is for the count; a share moves by 1/n."},
        ),
        solution="A share moves by 1/500, so the scale is (1/500) / 0.1 = 0.02.",
    ),
    Exercise(
        key="M1",
        page="other-mechanisms",
        question="What is the ε of the matrix with rows (0.9, 0.1) and (0.8, 0.2)?",
        judge=Number(
            lambda: FiniteMechanism(matrix=[["0.9", "0.1"], ["0.8", "0.2"]]).epsilon(),
            slips={math.log(9 / 8): "that is the first column; the largest ratio counts."},
        ),
        solution="The ratios are 9/8 and 2, so ε = ln 2. It is no randomized response, which "
        "would tell the truth equally often in both rows.",
    ),
    Exercise(
        key="M2",
        page="other-mechanisms",
        question="Randomized response at ε = ln 3: with which chance does it keep a bit?",
        judge=Number(
            lambda: RandomizedResponse(epsilon=str(math.log(3))).keep().nearest(),
            slips={Fraction(1, 4): "that is the chance of a lie."},
        ),
        solution="e^ε / (1 + e^ε) = 3/4.",
    ),
    Exercise(
        key="M3",
        page="other-mechanisms",
        question="Write a program((a, b), entropy) for votes a and b that returns 0 or 1, is "
        "ln 3-DP when one vote is added, and returns 0 with a chance of at least 3/5 at (2, 1).",
        judge=PrivateProgram(
            pairs=(((2, 1), (2, 2)), ((2, 2), (2, 3)), ((1, 0), (1, 1)), ((2, 1), (3, 1))),
            epsilon=math.log(3),
            useful=_prefers_the_winner,
            example=_noisy_choice,
        ),
        solution="Find the winner, and tell the other one with a chance of 1/4: all ratios are "
        "1 or 3. The exponential mechanism does better for margins of more than one vote.",
    ),
    Exercise(
        key="M4",
        page="other-mechanisms",
        question="With u = -|r - q| and a count q, which scale of Exponential (weights "
        "exp(u / scale)) gives ε = 1 by its general theorem?",
        judge=Number(
            lambda: Exponential(candidates=2, scale=1).loss(distance=1).epsilon(delta=0),
            slips={1: "the theorem pays twice: once for the weight, once for the sum of weights."},
        ),
        solution="exp(ε u / 2Δu), so scale 2. On all integers the sum of weights does not "
        "move with q: scale 1 is enough, and that is the Laplace mechanism.",
    ),
    Exercise(
        key="M5",
        page="other-mechanisms",
        question="What is the least σ of discrete Gaussian noise on one count for "
        "ε = 1 and δ = 10^-5, to three digits?",
        judge=Number(
            lambda: discrete_gaussian_sigma(epsilon=1, delta="1e-5"),
            tolerance=2e-3,
            slips={math.sqrt(2 * math.log(1.25e5)): "that is the classical formula, which wastes."},
        ),
        solution="discrete_gaussian_sigma(epsilon=1, delta='1e-5') searches the exact curve: 3.74.",
    ),
    Exercise(
        key="V1",
        page="sparse-vector",
        question="AboveThreshold at ε = 1 says 'below' 999 times and then 'above'. "
        "What does the run cost?",
        judge=Number(
            lambda: AboveThreshold(threshold=0, epsilon=1).epsilon,
            slips={250: "that is the price of paying for each comparison."},
        ),
        solution="1, whatever its length: the threshold moves along, and belows are free.",
    ),
    Exercise(
        key="V2",
        page="sparse-vector",
        question="Does its privacy change if ties are 'below' instead of 'above': 'yes' or 'no'?",
        judge=OneOf("no", {"yes": "move the threshold by one, and compare the two programs."}),
        solution="For integers, q >= t and q > t - 1 are the same. So it is the same program with "
        "a threshold that is smaller by one, and a public threshold costs nothing.",
    ),
    Exercise(
        key="V3",
        page="sparse-vector",
        question="Variant 4 does not let the noise of counts grow with c. Its loss is "
        "(1 + 6c)ε/4. How many times its claim does it lose at c = 5?",
        judge=Number(lambda: Fraction(31, 4), slips={5: "put c = 5 into (1 + 6c)/4."}),
        solution="(1 + 30)/4 = 7.75 times.",
    ),
    Exercise(
        key="V4",
        page="sparse-vector",
        question="One noisy count with Laplace noise of scale 4 and a public threshold: what does "
        "a single comparison cost?",
        judge=Number(
            lambda: Laplace(scale=4).loss(distance=1).pure_bound(),
            slips={1: "that is a whole run with a noisy threshold."},
        ),
        solution="Comparing is post-processing of a count with noise of scale 4: 1/4.",
    ),
)
