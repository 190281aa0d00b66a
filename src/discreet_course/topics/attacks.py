"""Exercises on reconstruction, auditing and broken mechanisms, and on ε in the world."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from discreet.attacks import ReplayEntropy
from discreet.explain import Guesses
from discreet.loss import Pure
from discreet.noise import DiscreteLaplace
from discreet_course.exercise import Exercise
from discreet_course.judges import Law, Number, OneOf, PrivateProgram, epsilon_of
from discreet_course.puzzle_laws import Rows, no_data, short_noise
from discreet_course.reconstruction import ceiling, differencing


def _any_rows(rows: Rows, coins: ReplayEntropy) -> bool:
    return bool(rows) ^ (coins.bits(3) < 3)


def _tells_them_apart(empty: Law, one: Law) -> str | None:
    none = Fraction(0)
    apart = max(abs(empty.get(y, none) - one.get(y, none)) for y in {*empty, *one})
    return None if 4 * apart >= 1 else "no output is a quarter likelier on one of the two tables."


EXERCISES: Final = (
    Exercise(
        key="R1",
        page="reconstruction",
        question="All answers together cost ε = 1/2 between tables that differ in one bit. Which "
        "share of fair bits can any attack guess, at most?",
        judge=Number(
            lambda: ceiling(Pure(epsilon="0.5")),
            slips={0.5: "a coin does that; answers help a little."},
        ),
        solution="e^0.5 / (1 + e^0.5) = 0.622.",
    ),
    Exercise(
        key="R2",
        page="reconstruction",
        question="Two counts with discrete Laplace noise of scale 2 are subtracted. With which "
        "chance is the guess about one person right?",
        judge=Number(
            lambda: differencing.success(DiscreteLaplace(scale=2)),
            slips={0.5: "better than a coin, if only slightly."},
        ),
        solution="differencing.success(DiscreteLaplace(scale=2)) sums the law of the difference.",
    ),
    Exercise(
        key="R3",
        page="reconstruction",
        question="10,000 people, and a count for each of as many sets. Which noise, as a standard "
        "deviation, lets the Fourier attack find 69 % of the bits (half a root of n)?",
        judge=Number(
            lambda: 0.5 * math.sqrt(10_000), slips={5000: "half of the *root* of n, not of n."}
        ),
        solution="√10,000 / 2 = 50 people.",
    ),
    Exercise(
        key="A1",
        page="auditing",
        question="Of 1,000 runs on one table an event occurs in 400, of 1,000 on its neighbor in "
        "100. Which ε does the ratio suggest, before any allowance for chance?",
        judge=Number(
            lambda: math.log(4),
            slips={4: "that is the factor; ε is its logarithm."},
        ),
        solution="ln (400/100) = 1.386. A certified bound is lower: the counts are random.",
    ),
    Exercise(
        key="A2",
        page="auditing",
        question="An audit with a million runs finds a lower bound of 0.93 for a claim of 1. Is "
        "the claim proved: 'yes' or 'no'?",
        judge=OneOf(
            "no", {"yes": "another event, or other neighbors, may lose more than the ones tried."}
        ),
        solution="No. An audit can refute a claim; it never proves one.",
    ),
    Exercise(
        key="A3",
        page="auditing",
        question="The event is chosen on the same runs on which the bound is computed. "
        "Is the bound valid: 'yes' or 'no'?",
        judge=OneOf("no", {"yes": "of many events, one looks bad by chance alone."}),
        solution="No: choose the event on one half of the runs, and judge it on the other.",
    ),
    Exercise(
        key="F1",
        page="attack-first",
        question="Ten people have one secret bit each, and every subset is counted with an error "
        "of at most 1. In how many bits can a table that fits differ from the truth, at most?",
        judge=Number(
            lambda: 4, slips={2: "errors of both tables add up, on ones and on zeros.", 10: "no."}
        ),
        solution="Two tables that fit differ by at most 2 on every subset. Ask about the people "
        "whose bit fell: at most 2 of them; and whose bit rose: at most 2. So 4.",
    ),
    Exercise(
        key="F2",
        page="attack-first",
        question="Names are removed from a table, and birthday, sex and postcode stay. "
        "Does that give a promise to a person in it: 'yes' or 'no'?",
        judge=OneOf("no", {"yes": "what if a register lists names with the same three columns?"}),
        solution="No. Whoever holds a register with these columns joins the two.",
    ),
    Exercise(
        key="F3",
        page="attack-first",
        question="Randomized response at ε = 1 for each bit: which share of fair bits does the "
        "best guess get right?",
        judge=Number(
            lambda: Guesses(Pure(epsilon=1)).right(), slips={0.5: "a report tells something."}
        ),
        solution="e / (1 + e) = 0.731, and no attack does better.",
    ),
    Exercise(
        key="W1",
        page="deployed-values",
        question="One release has ε = 1 for each event, and a person has up to 20 events. Which ε "
        "holds for the person, if nothing else is known?",
        judge=Number(
            lambda: Pure(epsilon=1).group(20).epsilon(delta=0),
            slips={1: "that is one event; a person is twenty of them."},
        ),
        solution="Twenty steps: 20.",
    ),
    Exercise(
        key="W2",
        page="deployed-values",
        question="ρ = 2.56 is promised as zero-concentrated privacy. Is ε = 2.56 a fair summary: "
        "'yes' or 'no'?",
        judge=OneOf("no", {"yes": "ρ and ε are different curves; convert at a δ that is named."}),
        solution="No. At δ = 10^-10 it is an ε near 17.9 by the usual formula ρ + 2√(ρ ln 1/δ).",
    ),
    Exercise(
        key="W3",
        page="deployed-values",
        question="A model is called private at ε = 1000. Out of 100 people in its data, how many "
        "may an alarm find that is wrong for 1 in 100 others, to the nearest whole number?",
        judge=Number(
            lambda: round(100 * Guesses(Pure(epsilon=1000)).caught("0.01")),
            slips={1: "that is for ε = 0."},
        ),
        solution="All 100: the promise is empty.",
    ),
    Exercise(
        key="K1",
        page="break-this-mechanism",
        question="A count says 'no data' for an empty table, and has geometric noise otherwise. "
        "What is its ε between no row and one row? (math.inf is a number here.)",
        judge=Number(
            lambda: epsilon_of(no_data(()), no_data((1,)))[0],
            slips={math.log(2): "that is between one row and two."},
        ),
        solution="Infinite: 'no data' is certain for the empty table, and impossible with a row.",
    ),
    Exercise(
        key="K2",
        page="break-this-mechanism",
        question="An audit with 2,000 answers does not refute a claim. Is the mechanism private: "
        "'yes', 'no' or 'unknown'?",
        judge=OneOf(
            "unknown",
            {
                "yes": "a fault with a chance of one in a million is seldom seen in 2,000 answers.",
                "no": "honest mechanisms are not refuted either.",
            },
        ),
        solution="Unknown. An audit gives a lower bound on ε; an upper one comes from a proof, or "
        "from the exact law.",
    ),
    Exercise(
        key="K3",
        page="break-this-mechanism",
        question="Repair the first: write a program(rows, entropy) that is ln 2-DP for no row "
        "against one and for one against two, with an output that is at least a quarter likelier "
        "on one of the tables () and (1,) than on the other.",
        judge=PrivateProgram(
            pairs=(((), (1,)), ((1,), (1, 1))),
            epsilon=math.log(2),
            useful=_tells_them_apart,
            example=_any_rows,
        ),
        solution="Answer whether there are rows, and flip the answer with a chance of 3/8: 5/8 "
        "against 3/8 is less than 2, and 1/4 apart.",
    ),
    Exercise(
        key="K4",
        page="break-this-mechanism",
        question="Noise is -1, 0 or 1 with the chances 1/4, 1/2 and 1/4. Which δ is the least at "
        "ε = ln 2, for counts that differ by one?",
        judge=Number(
            lambda: sum(
                max(p - 2 * short_noise((0,)).get(y, 0), 0) for y, p in short_noise((1,)).items()
            ),
            slips={
                1 / 2: "outputs that both counts have are covered twice over.",
                0: "one output is possible for one count only.",
            },
        ),
        solution="1/4: the largest output is possible for the larger count only, and all others "
        "are covered by twice the other law.",
    ),
)
