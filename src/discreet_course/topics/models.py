"""Exercises on the local model, heavy hitters, synthetic tables, posteriors and training."""

from __future__ import annotations

import math
from typing import Final

from discreet.attacks import ReplayEntropy
from discreet.exact import decimal
from discreet.local import Direct, Memo
from discreet.loss import Pure
from discreet.mechanisms import Laplace
from discreet.models import BetaBernoulli, PosteriorDraw
from discreet_course.exercise import Exercise
from discreet_course.judges import Law, Number, OneOf, PrivateProgram


def _report(color: int, coins: ReplayEntropy) -> int:
    drawn = coins.bits(2)
    return color if drawn < 2 else (color + drawn - 1) % 3


def _supports_the_color(here: Law, there: Law) -> str | None:
    enough = here.get(0, 0) >= 0.5 and there.get(1, 0) >= 0.5
    return None if enough else "the own color comes with a chance below 1/2."


def _step(gradients: tuple[int, ...], coins: ReplayEntropy) -> str:
    up = sum(max(-1, min(1, gradient)) for gradient in gradients) > 0
    return "up" if up ^ (coins.bits(2) == 0) else "down"


def _follows_the_gradients(here: Law, there: Law) -> str | None:
    enough = here.get("up", 0) >= 0.75 and there.get("down", 0) >= 0.75
    return None if enough else "where all gradients agree, it follows them less than 3 times in 4."


EXERCISES: Final = (
    Exercise(
        key="C1",
        page="local-model",
        question="10,000 people, ε = 1, one bit each, half of them ones: what is the root mean "
        "squared error of the share in the local model?",
        judge=Number(
            lambda: math.sqrt(Direct(epsilon=1, values=2).variance("0.5").nearest() / 10_000),
            tolerance=0.02,
            slips={0.000136: "that is the central model, where one noise is divided by n."},
        ),
        solution="Each report has a variance near 0.92, and the mean of 10,000 has 0.0096.",
    ),
    Exercise(
        key="C2",
        page="local-model",
        question="Write a program(color, entropy) for the colors 0, 1 and 2 that is ln 2-DP for "
        "any two colors and reports the own one with a chance of at least 1/2.",
        judge=PrivateProgram(
            pairs=((0, 1), (1, 2), (0, 2)),
            epsilon=math.log(2),
            useful=_supports_the_color,
            example=_report,
        ),
        solution="Four equally likely coins: two say the own color, one says each other color. "
        "Chances are 1/2, 1/4 and 1/4.",
    ),
    Exercise(
        key="C3",
        page="local-model",
        question="An age between 18 and 100 is reported with Laplace noise of scale 41. "
        "What is its ε?",
        judge=Number(
            lambda: Laplace(scale=41).loss(distance=82).epsilon(delta=0),
            slips={1 / 41: "any two ages are neighbors, not ages that differ by one."},
        ),
        solution="Ages are up to 82 apart: 82 / 41 = 2.",
    ),
    Exercise(
        key="C4",
        page="local-model",
        question="A memo with permanent loss 2 and fresh loss 1 keeps its first answer for good. "
        "What does it lose in a very long time, at most?",
        judge=Number(
            lambda: Memo(values=2, permanent=2, fresh=1, constant=True).price(reports=10_000),
            slips={10_000: "fresh noise hides one kept answer, which is private by itself."},
        ),
        solution="All reports are post-processing of the kept answer, which loses 2.",
    ),
    Exercise(
        key="H1",
        page="heavy-hitters",
        question="100,000 people report one of many values at ε = 1 by a method with a variance of "
        "4.68 a report. What is the standard deviation of an estimated number of people?",
        judge=Number(
            lambda: math.sqrt(4.68 * 100_000),
            slips={math.sqrt(4.68 / 100_000): "that is of a share; multiply by 100,000 people."},
        ),
        solution="√(4.68 · 100,000) = 684 people: rarer values drown.",
    ),
    Exercise(
        key="H2",
        page="heavy-hitters",
        question="People have ten attributes. Reporting all at ε/10 each, or one at the full ε: "
        "which has the smaller variance for small ε, 'all' or 'one'?",
        judge=OneOf("one", {"all": "the variance grows like 1/ε², so a tenth costs a hundred."}),
        solution="All: about 100 times the variance. One: a tenth of the reports, 10 times.",
    ),
    Exercise(
        key="H3",
        page="heavy-hitters",
        question="A value is never reported by anybody. Can its estimated count be negative: "
        "'yes' or 'no'?",
        judge=OneOf("yes", {"no": "an unbiased estimate of 0 that is never below 0 is always 0."}),
        solution="Yes. Estimates are unbiased, so those of absent values lie on both sides of 0.",
    ),
    Exercise(
        key="Y1",
        page="synthetic-data",
        question="A synthetic table was made at ε = 1. You draw a million rows from its model "
        "instead of a thousand. What do they cost?",
        judge=Number(
            lambda: Pure(epsilon=1).epsilon(delta=0),
            slips={1000: "rows are drawn from a model that is already private."},
        ),
        solution="1: drawing rows is post-processing of the measured counts.",
    ),
    Exercise(
        key="Y2",
        page="synthetic-data",
        question="A row of the synthetic table equals yours. Does it show that you were in the "
        "data: 'yes' or 'no'?",
        judge=OneOf(
            "no", {"yes": "rows come from a model that would be nearly the same without you."}
        ),
        solution="No: its chance without you is at least e^-ε times that with you.",
    ),
    Exercise(
        key="Y3",
        page="synthetic-data",
        question="Three marginal tables are measured with Laplace noise for ε = 1 in all, add or "
        "remove. Which scale does each count get?",
        judge=Number(
            lambda: Laplace(scale=3).scale,
            slips={1: "a person is in one cell of each of the three tables."},
        ),
        solution="A person is in three counts, so the sensitivity is 3, and so is the scale.",
    ),
    Exercise(
        key="B1",
        page="posteriors",
        question="100 people, a noisy count of 37 at ε = 0.1, a uniform prior. What is the mean of "
        "the posterior of the share, to three digits, for someone who knows about the noise?",
        judge=Number(
            lambda: BetaBernoulli(people=100, released=37, epsilon="0.1").posterior.mean,
            tolerance=2e-3,
            slips={38 / 102: "that takes the noisy count for people: it is Beta(38, 64)."},
        ),
        solution="0.377: Beta laws of all true counts, weighed by how well each explains 37. Noise "
        "pulls the mean toward that of the prior, 1/2.",
    ),
    Exercise(
        key="B2",
        page="posteriors",
        question="The noisy count is -4, not 0. Noise is Laplace. Is the posterior of the share "
        "another one: 'yes' or 'no'?",
        judge=OneOf(
            "no", {"yes": "compare exp(-ε|-4 - s|) with exp(-ε|0 - s|) for counts s from 0 up."}
        ),
        solution="No. For s >= 0 the chance of -4 is e^(-4ε) times that of 0, whatever s is, and "
        "a factor that does not depend on s cancels.",
    ),
    Exercise(
        key="B3",
        page="posteriors",
        question="A share is 1/4 or 3/4, both equally likely before. One person answers yes or no, "
        "and one draw of the posterior is published. What is its ε?",
        judge=Number(
            lambda: PosteriorDraw(people=1, lowest="1/4", points=2).epsilon,
            slips={
                2 * math.log(3): "that compares two outputs; compare one output on two answers."
            },
        ),
        solution="After a yes, 3/4 is drawn with a chance of 3/4, after a no with 1/4: ln 3.",
    ),
    Exercise(
        key="B4",
        page="posteriors",
        question="One draw of the plain Beta posterior of n people, every share from 0 to 1 being "
        "possible: is it ε-differentially private for some ε: 'yes' or 'no'?",
        judge=OneOf("no", {"yes": "look at draws close to 0, and at one yes more or less."}),
        solution="No. One yes more multiplies the density at t by t / (1 - t), up to a constant, "
        "and that comes as close to 0 as one likes.",
    ),
    Exercise(
        key="T1",
        page="private-training",
        question="Each gradient is clipped to a norm of 0.2, and those of about 480 digits are "
        "summed. One digit is replaced by another. How far may the sum move at most, as a norm?",
        judge=Number(
            lambda: 2 * decimal("0.2", name="clip"),
            slips={
                0.2: "one gradient leaves the sum, and another one enters it.",
                0.2 / 480: "noise is put on the sum, before anything is divided.",
            },
        ),
        solution="0.4: the old gradient has a norm of up to 0.2, and the new one may point the "
        "other way. How many others there are does not matter.",
    ),
    Exercise(
        key="T2",
        page="private-training",
        question="The noise multiplier is 3, gradients are clipped to 0.2, and 480 digits are "
        "expected in a batch. What is the standard deviation of the noise in each coordinate of "
        "the mean gradient?",
        judge=Number(
            lambda: 3 * decimal("0.2", name="clip") / 480,
            slips={
                0.6: "that is the noise of the sum.",
                0.2 / 480: "the multiplier counts in clipping bounds: there are three of them.",
            },
        ),
        solution="3 · 0.2 = 0.6 on the sum, and 0.6 / 480 = 0.00125 on the mean.",
    ),
    Exercise(
        key="T3",
        page="private-training",
        question="A step loses ε = 1 about those who are in its batch, and a coin puts each "
        "person into the batch with a chance of 1/10. What does the step lose about a person, "
        "added or removed?",
        judge=Number(
            lambda: Pure(epsilon=1).sampled(rate="0.1").epsilon(delta=0),
            slips={
                0.1: "close for a small ε; follow a likelihood ratio of e through the coin.",
                1: "nine times in ten nothing about the person is used.",
            },
        ),
        solution="ln(1 + (e - 1) / 10) = 0.1586: the chance of an output without the person is "
        "mixed with one that is at most e times as large.",
    ),
    Exercise(
        key="T4",
        page="private-training",
        question="Write a program(gradients, entropy) that moves one weight: from a tuple of "
        "whole numbers it says 'up' or 'down'. One gradient replaced by another, of any size, "
        "loses at most ln 3; and where all gradients are positive or all are negative it follows "
        "them with a chance of at least 3/4.",
        judge=PrivateProgram(
            pairs=(((5,), (-5,)), ((0,), (1000,)), ((-1, -1), (-1, 1000)), ((2, 3), (2, -1000))),
            epsilon=math.log(3),
            useful=_follows_the_gradients,
            example=_step,
        ),
        solution="Take the sign of the sum, and turn it around with a chance of 1/4. Whatever one "
        "gradient does to the sign, each word has a chance of 1/4 or 3/4.",
    ),
)
