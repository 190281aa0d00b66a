"""Exercises on post-processing, groups, composition, budgets and the ten rows."""

from __future__ import annotations

from typing import Final

from discreet.accounting import Leaf, Parallel, account
from discreet.loss import Approximate, Pure
from discreet.mechanisms import Laplace
from discreet_course.counting import Histogram, points, thresholds
from discreet_course.exercise import Exercise
from discreet_course.judges import Number, OneOf

_TAGS: Final = {"a": "1", "b": "0.8", "c": "0.5", "d": "0.3"}


def _tags(relation: str) -> float:
    leaves = {name: Leaf(Pure(epsilon=price)) for name, price in _TAGS.items()}
    return account(Parallel("tag", leaves, overlap=2), relation=relation).epsilon(delta=0)


def _wards(relation: str) -> float:
    leaves = {
        name: Leaf(Pure(epsilon=price), replaced=Pure(epsilon=0))
        for name, price in {"A": "0.7", "B": "0.4", "C": "0.2"}.items()
    }
    return account(Parallel("ward", leaves), relation=relation).epsilon(delta=0)


EXERCISES: Final = (
    Exercise(
        key="P1",
        page="properties",
        question="A noisy count at ε = 1/2 is rounded to tens, and the rounded number is squared. "
        "What does the square cost?",
        judge=Number(
            lambda: Laplace(scale=2).loss(distance=1).epsilon(delta=0),
            slips={1: "nothing is added: no step looked at the table again."},
        ),
        solution="Both steps are post-processing, so 1/2.",
    ),
    Exercise(
        key="P2",
        page="properties",
        question="One person has (1, 10^-6). Which δ belongs to a family of three at ε = 3?",
        judge=Number(
            lambda: Approximate(epsilon=1, delta="1e-6").group(3).delta_bound,
            slips={
                3e-6: "each step multiplies what went wrong before.",
                6.0256610769563e-05: "that is the loose bound of the course; the sum is smaller.",
            },
        ),
        solution="δ (1 + e + e²) = 1.11e-5.",
    ),
    Exercise(
        key="P3",
        page="properties",
        question="The price of the second answer is chosen after the first was seen. Is the loss "
        "of a stranger who reads both bounded by the average of the sums: 'yes' or 'no'?",
        judge=OneOf(
            "no", {"yes": "somebody may choose the costly branch just where the first leaked."}
        ),
        solution="Each branch has its own sum, and the branch itself depends on the data. Only the "
        "largest sum over branches is a bound; a filter that stops before it keeps it so.",
    ),
    Exercise(
        key="P4",
        page="properties",
        question="A hundred answers of 0.1-DP each: which ε do they keep together at δ = 10^-6, by "
        "the optimal theorem?",
        judge=Number(
            lambda: Pure(epsilon="0.1").power(100).epsilon(delta="1e-6"),
            tolerance=5e-3,
            slips={10: "that is basic composition.", 6.31: "that is the textbook theorem."},
        ),
        solution='Pure(epsilon="0.1").power(100).epsilon(delta="1e-6") is 4.77.',
    ),
    Exercise(
        key="X1",
        page="ten-rows",
        question="All eight threshold counts, answered as sums of one histogram with noise of "
        "scale 1. What does it cost under add or remove?",
        judge=Number(
            lambda: (
                Histogram(cells=8, noise=Laplace(scale=1), relation="add_remove")
                .loss()
                .epsilon(delta=0)
            ),
            slips={8: "that is eight questions, one by one."},
        ),
        solution="A person is in one cell, and sums are post-processing: 1.",
    ),
    Exercise(
        key="X2",
        page="ten-rows",
        question="What is the ℓ1 sensitivity of the eight threshold counts under replace?",
        judge=Number(
            lambda: thresholds(range(8)).l1("replace"),
            slips={
                8: "everybody is at most 111: does that answer move?",
                2: "that is the histogram's.",
            },
        ),
        solution="From 000 to 111, seven thresholds move. The eighth counts everybody: 7.",
    ),
    Exercise(
        key="X3",
        page="ten-rows",
        question="And that of the eight point counts under replace?",
        judge=Number(
            lambda: points(range(8)).l1("replace"), slips={1: "a person leaves one cell, and ..."}
        ),
        solution="One cell loses a person and another gains one: 2.",
    ),
    Exercise(
        key="G1",
        page="parallel-and-general-composition",
        question="Counts of three disjoint wards cost 0.7, 0.4 and 0.2. What do they cost "
        "together if a patient is added or removed?",
        judge=Number(
            lambda: _wards("add_remove"),
            slips={1.3: "a patient is in one ward.", 1.1: "that is if patients are replaced."},
        ),
        solution="The largest, 0.7: whoever comes or goes is in one ward.",
    ),
    Exercise(
        key="G2",
        page="parallel-and-general-composition",
        question="And if a patient is replaced by another?",
        judge=Number(
            lambda: _wards("replace"),
            slips={0.7: "one ward loses a patient, and another gains one.", 1.4: "twice the same?"},
        ),
        solution="The two largest, 0.7 + 0.4 = 1.1. Inside one ward a count does not move.",
    ),
    Exercise(
        key="G3",
        page="parallel-and-general-composition",
        question="Each record carries up to two of four tags with prices 1, 0.8, 0.5 and 0.3. "
        "What do all four counts cost if a record is added or removed?",
        judge=Number(
            lambda: _tags("add_remove"),
            slips={1: "a record has up to two tags.", 2.6: "no record has all four."},
        ),
        solution="The two largest, 1.8. Parallel(..., overlap=2) says the same.",
    ),
)
