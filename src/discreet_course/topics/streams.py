"""Exercises on partial sums."""

from __future__ import annotations

from typing import Final

from discreet.continual import BinaryTreeCounter
from discreet.mechanisms import Laplace
from discreet_course.counters import NoisyBits, NoisyPrefixes
from discreet_course.exercise import Exercise
from discreet_course.judges import Number

EXERCISES: Final = (
    Exercise(
        key="S1",
        page="continual-release",
        question="Laplace noise of scale 10 on each of 30 partial sums: what does the first "
        "day's person pay?",
        judge=Number(
            lambda: NoisyPrefixes(length=30, noise=Laplace(scale=10)).loss().epsilon(delta=0),
            slips={0.1: "that is one sum; in how many is the first day?"},
        ),
        solution="The first day is in all 30 sums: 30 / 10 = 3.",
    ),
    Exercise(
        key="S2",
        page="continual-release",
        question="The same noise on each of 30 bits, and sums of the noisy bits?",
        judge=Number(
            lambda: NoisyBits(length=30, noise=Laplace(scale=10)).loss().epsilon(delta=0),
            slips={3: "bits are disjoint, and sums of noisy bits look at no data."},
        ),
        solution="A person is in one bit, and sums are post-processing: 1/10.",
    ),
    Exercise(
        key="S3",
        page="continual-release",
        question="A binary tree over 1023 days, scale 10 on each block: what does it cost?",
        judge=Number(
            lambda: BinaryTreeCounter(length=1023, noise=Laplace(scale=10)).loss().epsilon(delta=0),
            slips={1.1: "1023 days have ten sizes of blocks; the eleventh begins on day 1024."},
        ),
        solution="A day is in one block of each size 1, 2, ..., 512: ten blocks, 10 / 10 = 1.",
    ),
)
