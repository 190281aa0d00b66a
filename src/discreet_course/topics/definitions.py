"""Exercises on the guarantee itself: definitions, the meaning of epsilon, and its limits."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from discreet.attacks import ReplayEntropy
from discreet.explain import Guesses
from discreet.loss import Pure
from discreet.mechanisms import FiniteMechanism
from discreet_course.exercise import Exercise
from discreet_course.judges import Law, Number, OneOf, PrivateProgram

_SKEWED: Final = (("1/2", "1/3", "1/6"), ("1/6", "1/3", "1/2"))


def _response(bit: int, coins: ReplayEntropy) -> int:
    return bit ^ (coins.bits(2) == 0)


def _tells_the_truth(here: Law, there: Law) -> str | None:
    share = (here.get(0, Fraction(0)) + there.get(1, Fraction(0))) / 2
    return None if share >= Fraction(3, 4) else f"it tells the truth with a chance of {share} only."


EXERCISES: Final = (
    Exercise(
        key="D1",
        page="definitions",
        question="A mechanism has the rows (1/2, 1/3, 1/6) and (1/6, 1/3, 1/2). "
        "Which δ does it need at ε = 0?",
        judge=Number(
            lambda: FiniteMechanism(matrix=_SKEWED).delta(epsilon=0).high,
            slips={
                Fraction(2, 3): "you added up both sides; δ counts what one law has more.",
                Fraction(1, 6): "that is δ at a factor of 2; at ε = 0 the factor is 1.",
            },
        ),
        solution="At ε = 0 the factor is 1, so δ is the area of one law above the other: "
        "1/2 - 1/6 = 1/3, from the first output alone.",
    ),
    Exercise(
        key="D2",
        page="definitions",
        question="A mechanism keeps ε-DP for neighbors under replace. It has an output that is "
        "possible on a table of 10 rows. Must it be possible on every table of 11 rows: "
        "'yes' or 'no'?",
        judge=OneOf(
            "no", {"yes": "which chain of neighbors would lead from 10 rows to 11 under replace?"}
        ),
        solution="Outputs stay possible along a chain of neighbors. Replacing rows never changes "
        "their number, so no chain joins the two tables, and the promise says nothing. Within all "
        "tables of 10 rows a chain of at most 10 steps exists, and there the answer is yes.",
    ),
    Exercise(
        key="D3",
        page="definitions",
        question="Write a program(bit, entropy) that is ln 3-DP and tells the bit truthfully with "
        "a chance of at least 3/4. entropy.bits(k) is a fair number from 0 to 2**k - 1.",
        judge=PrivateProgram(
            pairs=((0, 1),), epsilon=math.log(3), useful=_tells_the_truth, example=_response
        ),
        solution="Randomized response with two fair coins: if both are heads, say the other bit, "
        "otherwise the truth. Chances 3/4 and 1/4 have a ratio of 3: "
        "lambda bit, entropy: bit ^ (entropy.bits(2) == 0).",
    ),
    Exercise(
        key="D4",
        page="definitions",
        question="With a chance of 1/1000 a mechanism publishes your row; otherwise it publishes "
        "nothing. Which ε does it keep with δ = 0 (float('inf') is a number here)?",
        judge=Number(
            lambda: FiniteMechanism(matrix=[["1", "0"], ["0.999", "0.001"]]).epsilon(),
            slips={0.001: "that is its δ; with δ = 0 an impossible output has to stay impossible."},
        ),
        solution="None: your row is impossible without you and possible with you, so no factor "
        "covers it, and ε is infinite. It is (0, 1/1000)-DP.",
    ),
    Exercise(
        key="E1",
        page="what-epsilon-means",
        question="Gertrude would accept a premium of $2,500, a belief of 2.5 % instead of 2 %. "
        "Which ε is that, if the study is compared with the belief before it?",
        judge=Number(
            lambda: math.log((0.025 / 0.975) / (0.02 / 0.98)),
            slips={math.log(1.25): "close: ε multiplies odds, not probabilities."},
        ),
        solution="Odds go from 2/98 to 2.5/97.5, a factor of 1.2564, so ε = ln 1.2564 = 0.2283.",
    ),
    Exercise(
        key="E2",
        page="what-epsilon-means",
        question="How often is the best guess about your membership right, from a report that is "
        "2-DP and no better, where both are equally likely before?",
        judge=Number(
            lambda: Guesses(Pure(epsilon=2)).right(),
            slips={math.exp(2): "that is the factor on odds, not a chance."},
        ),
        solution="e^ε / (1 + e^ε) at ε = 2: 0.881.",
    ),
    Exercise(
        key="E3",
        page="what-epsilon-means",
        question="A count promises ε = 1/2 under add or remove. Everybody knows that you took "
        "part. Which ε holds for your answer to its yes-or-no question?",
        judge=Number(
            lambda: Pure(epsilon="0.5").group(2).epsilon(delta=0),
            slips={0.5: "that is for whether you are in the data; your other answer is farther."},
        ),
        solution="The other answer is two steps away: you leave, and come back with it. So 1.",
    ),
    Exercise(
        key="N1",
        page="what-is-not-hidden",
        question="A study of ε = 0.1 finds that smokers fall ill with 15 %. You smoke, and took "
        "part. What is the most that an insurer can now believe of you?",
        judge=Number(
            lambda: Guesses(Pure(epsilon="0.1")).posterior("0.15"),
            slips={0.15: "that is for a smoker who did not take part."},
        ),
        solution="Odds of 15/85 times e^0.1 are 0.195, a belief of 16.3 %.",
    ),
    Exercise(
        key="N2",
        page="what-is-not-hidden",
        question="After the study your premium goes up. Would it have stayed if you had not "
        "taken part: 'yes' or 'no'?",
        judge=OneOf(
            "no", {"yes": "what did the insurer learn from you, and what from all other smokers?"}
        ),
        solution="The finding is about smokers. Without you the study would have found the same.",
    ),
    Exercise(
        key="N3",
        page="what-is-not-hidden",
        question="Is there a useful mechanism after which nobody, whatever they know besides, "
        "learns anything about anybody: 'yes' or 'no'?",
        judge=OneOf(
            "no", {"yes": "somebody may know that Terry is half a kilo heavier than the average."}
        ),
        solution="No (Dwork 2006). For every useful answer there is knowledge that turns it into a "
        "fact about somebody. So the promise compares taking part with not taking part.",
    ),
)
