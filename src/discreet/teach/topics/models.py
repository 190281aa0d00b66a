"""Exercises on the local model, heavy hitters and synthetic tables.

Trust: public.
"""

from __future__ import annotations

import math
from typing import Final

from discreet.local import Direct, LaplaceReport, Memo
from discreet.loss import Pure
from discreet.mechanisms import Laplace
from discreet.noise import ReplayEntropy
from discreet.teach.exercise import Exercise
from discreet.teach.judges import Law, Number, OneOf, PrivateProgram


def _report(color: int, coins: ReplayEntropy) -> int:
    drawn = coins.bits(2)
    return color if drawn < 2 else (color + drawn - 1) % 3


def _supports_the_color(here: Law, there: Law) -> str | None:
    enough = here.get(0, 0) >= 0.5 and there.get(1, 0) >= 0.5
    return None if enough else "the own color comes with a chance below 1/2."


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
            lambda: LaplaceReport(low=18, high=100, scale=41).epsilon,
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
)
