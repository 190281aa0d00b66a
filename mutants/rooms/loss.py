"""Mutants of the room ``loss``."""

from __future__ import annotations

from typing import Final

from mutants.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        name="a second Gaussian answer is free",
        file="discreet/loss/notions.py",
        old="            return GaussianDP(mu_squared=self.mu_squared + other.mu_squared)",
        new="            return GaussianDP(mu_squared=max(self.mu_squared, other.mu_squared))",
        why="A second answer costs nothing.",
        caught_by=(
            "tests/loss/test_notions.py::test_gaussians_add_their_squares",
            "tests/loss/test_notions.py::test_very_large_numbers_are_answered_quickly",
        ),
    ),
    Mutant(
        name="a group of k loses like the root of k",
        file="discreet/loss/notions.py",
        old='        return GaussianDP(mu_squared=checked_count(size, name="size") ** 2 * self.mu_squared)',
        new='        return GaussianDP(mu_squared=checked_count(size, name="size") * self.mu_squared)',
        why="Units with several rows are priced too low.",
        caught_by=("tests/loss/test_group.py::test_gaussian_groups_multiply",),
    ),
    Mutant(
        name="calibration stops one step below",
        file="discreet/loss/calibration.py",
        old="    return top[0]\n",
        new="    return low[0]\n",
        why="The scale that is returned was tried and does not fit the target.",
        caught_by=(
            "tests/loss/test_calibrate.py::test_scales_far_from_one",
            "tests/loss/test_calibrate.py::test_the_gaussian_scale_is_certified_and_least",
        ),
    ),
    Mutant(
        name="Laplace noise calibrated for one answer of several",
        file="discreet/loss/calibration.py",
        old='        return times * far / positive(target, name="epsilon")',
        new='        return far / positive(target, name="epsilon")',
        why="Each further answer is free.",
        caught_by=("tests/loss/test_calibrate.py::test_pure_scales_are_exact",),
        fast=True,
    ),
    Mutant(
        name="most repeats, and one more",
        file="discreet/loss/calibration.py",
        old=(
            "        low, high = (middle, high) if fits(middle) else (low, middle)\n"
            "    return low\n"
        ),
        new=(
            "        low, high = (middle, high) if fits(middle) else (low, middle)\n"
            "    return high\n"
        ),
        why="One answer more than the promise allows.",
        caught_by=(
            "tests/loss/test_calibrate.py::test_repeats",
            "tests/course/test_textbook.py::test_how_many_queries_an_error_allows",
        ),
    ),
    Mutant(
        name="the delta of a promise is forgotten",
        file="discreet/loss/notions.py",
        old="        return Bracket(*Interval(own.delta + kept * low, own.delta + kept * high).floats())",
        new="        return Bracket(*Interval(low, high).floats())",
        why="The chance of an event that reveals everything is not counted.",
        caught_by=(
            "tests/loss/test_notions.py::test_the_profile_says_the_same",
            "tests/loss/test_notions.py::test_approximate_is_randomized_response",
        ),
    ),
    Mutant(
        name="a second zCDP answer is free",
        file="discreet/loss/notions.py",
        old="            return ZeroConcentrated(rho=self.rho + other.rho)",
        new="            return ZeroConcentrated(rho=max(self.rho, other.rho))",
        why="A second answer costs nothing.",
        caught_by=("tests/loss/test_notions.py::test_concentrated_losses_add",),
    ),
    Mutant(
        name="one release equals a product of several",
        file="discreet/loss/profile.py",
        old="    indivisible: bool = field(default=False, repr=False)",
        new="    indivisible: bool = field(default=False, repr=False, compare=False)",
        why="Prices are looked up by equality: a group is charged the smaller of two prices.",
        caught_by=(
            "tests/accounting/test_price_order.py::test_one_release_is_never_charged_as_several",
        ),
    ),
)
