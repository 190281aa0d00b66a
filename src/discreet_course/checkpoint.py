"""The checkpoint of the course: a quiz, with a reason for every wrong choice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, final

from discreet.errors import OutOfRange
from discreet.exact import whole
from discreet_course.exercise import Verdict
from discreet_course.judges import OneOf


@final
@dataclass(frozen=True, slots=True)
class QuizQuestion:
    """A question with one right choice, and for each other one why it is wrong."""

    question: str
    right: str
    wrong: Mapping[str, str]

    @property
    def choices(self) -> tuple[str, ...]:
        """All choices, in the order of the alphabet."""
        return tuple(sorted([self.right, *self.wrong]))

    def answer(self, choice: str) -> Verdict:
        """Judge a choice, given by its words."""
        return OneOf(self.right, self.wrong).verdict(choice)


QUIZ: Final = (
    QuizQuestion(
        "What does a smaller ε mean for the people in the data?",
        "their presence changes the chance of any output by a smaller factor",
        {
            "the answer is closer to the truth": "the other way around: accuracy costs ε.",
            "fewer of them are in the answer": "nobody is left out; chances move less.",
            "nothing, unless δ is 0": "ε bounds the factor for every δ; both have to be told.",
        },
    ),
    QuizQuestion(
        "Does more noise always mean more privacy?",
        "no: only noise of the right law, scaled to the sensitivity, bounds the loss",
        {
            "yes: whatever hides, protects": "uniform noise of any width ends somewhere, and an "
            "output beyond its end tells all; and noise that repeats can be subtracted.",
            "no: noise and privacy are unrelated": "with the right law, twice the scale is half "
            "the ε.",
        },
    ),
    QuizQuestion(
        "One person can move a total by a very large amount. What follows?",
        "a large sensitivity: clip the values, or accept noise on that scale",
        {
            "ε has to be large": "ε is chosen for the people; the noise follows the sensitivity.",
            "the total cannot be released": "it can, with noise or with clipped values.",
            "use the largest value in the table as the bound": "that value is itself a secret.",
        },
    ),
    QuizQuestion(
        "How much Laplace noise does one count need at ε = 1/10, under add or remove?",
        "scale 10, so an error of about 14 (its standard deviation)",
        {
            "scale 1/10": "that is its inverse: less ε, more noise.",
            "scale 10 times the number of people": "the sensitivity of a count is 1, whatever the "
            "number of people.",
            "as much as the sampling error": "that is a yardstick for accuracy, not a rule.",
        },
    ),
    QuizQuestion(
        "What does ε-DP bound?",
        "how far the chance of any set of outputs can move when one unit changes",
        {
            "how far the answer can be from the truth": "that is accuracy; noise costs it.",
            "how many people can be identified": "it bounds ratios of chances, not counts.",
            "what can be learned about a group": "facts about groups are not hidden.",
        },
    ),
    QuizQuestion(
        "A mechanism is (0, δ)-DP with δ = 1/100. Is that a good promise?",
        "no: it may publish somebody's row in one of a hundred runs",
        {
            "yes: ε is zero": "ε = 0 with a δ allows an output that is possible with you alone.",
            "yes: one in a hundred is rare": "with many people, somebody is hit nearly always.",
        },
    ),
    QuizQuestion(
        "Which noise hides a total of salaries in [20k, 200k] if people may be added or removed?",
        "Laplace of scale 200k/ε",
        {
            "Laplace of scale 180k/ε": "that is for replaced people; here a salary comes or goes.",
            "Laplace of scale ε/200k": "the scale grows as ε falls.",
            "Laplace of scale (largest salary in the table)/ε": "that bound is itself a secret.",
        },
    ),
    QuizQuestion(
        "Eight point counts of ten rows, noise of scale 1 each, add or remove. The price?",
        "1",
        {
            "8": "a person is in one cell, so the eight moves add up to 1.",
            "2": "that is under replace.",
        },
    ),
    QuizQuestion(
        "You round a noisy count and publish the rounded number. The price?",
        "that of the noisy count",
        {
            "less, since rounding hides": "perhaps, but no smaller promise is proved by that.",
            "more, since the count was used twice": "the table was not looked at again.",
        },
    ),
    QuizQuestion(
        "Disjoint wards cost 0.7 and 0.4. Together, when a patient is replaced?",
        "1.1",
        {
            "0.7": "that is for a patient who comes or goes; a replaced one can change both wards.",
            "1.4": "a count does not move by two if a patient stays in the ward.",
        },
    ),
    QuizQuestion(
        "A hundred answers at ε = 0.1. With δ = 10^-6 allowed, which total is the best bound?",
        "about 4.8",
        {
            "10": "that holds, and is not the best once a δ is allowed.",
            "0.1": "losses add up; they do not hide each other.",
            "about 1": "√100 · 0.1 forgets the factor that δ costs.",
        },
    ),
    QuizQuestion(
        "AboveThreshold answers 'below' a million times, then 'above'. The price?",
        "ε",
        {
            "250000ε": "that is paying for each comparison; the noisy threshold makes belows free.",
            "nothing until the 'above'": "the run is charged when it starts.",
        },
    ),
    QuizQuestion(
        "Why is the local model less accurate than the central one?",
        "everybody adds noise, so that the noise of a mean falls like 1/√n and not like 1/n",
        {
            "its ε is always smaller": "at the same ε it is less accurate.",
            "devices have bad random numbers": "then it would not be private at all.",
        },
    ),
    QuizQuestion(
        "An audit cannot refute a claim with a million runs. What follows?",
        "that this audit found no violation, and nothing more",
        {
            "the claim holds": "another event or other neighbors may lose more.",
            "the mechanism is deterministic": "a deterministic one that is not constant is caught.",
        },
    ),
    QuizQuestion(
        "The collector says: 'we use differential privacy with ε = 2'. What is missing?",
        "the unit, δ, what else was published about the same people, and a way to verify it",
        {
            "nothing": "ε = 2 for a day is not ε = 2 for a person, and nobody can check it.",
            "the seed of the noise": "with the seed anybody could subtract the noise.",
        },
    ),
)


def quiz(number: int | None = None) -> QuizQuestion | tuple[QuizQuestion, ...]:
    """Return one question of the checkpoint, counted from 1, or all.

    >>> len(quiz(8).choices)
    3
    """
    if number is None:
        return QUIZ
    if not 1 <= whole(number, name="number") <= len(QUIZ):
        raise OutOfRange(
            what=f"there is no question {number}.",
            why=f"the checkpoint has {len(QUIZ)} questions.",
            do=f"give a number from 1 to {len(QUIZ)}.",
        )
    return QUIZ[number - 1]
