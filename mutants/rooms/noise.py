"""Mutants of the room ``noise``."""

from __future__ import annotations

from typing import Final

from mutants.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        name="a child process draws what its parent draws",
        file="discreet/noise/entropy.py",
        old="    if state.stamp != process_stamp() or state.served >= _RESEED_BYTES:\n",
        new="    if state.stamp == (-1, -1) or state.served >= _RESEED_BYTES:\n",
        why="Noise of parent and child is the same, and the difference of their answers is exact.",
        caught_by=(
            "tests/noise/test_entropy.py::test_64_forked_children_and_their_parent_draw_different_words",
        ),
    ),
    Mutant(
        name="a pool that is inherited across a fork",
        file="discreet/noise/entropy.py",
        old="    if stop > _POOL_BYTES or state.stamp != process_stamp():\n",
        new="    if stop > _POOL_BYTES:\n",
        why="Small draws of parent and child come from the same pool.",
        caught_by=(
            "tests/noise/test_entropy.py::test_a_process_forked_behind_our_back_draws_words_of_its_own",
            "tests/noise/test_entropy.py::test_64_forked_children_and_their_parent_draw_different_words",
        ),
    ),
    Mutant(
        name="bytes that are served twice",
        file="discreet/noise/entropy.py",
        old=("    state.used = stop\n    state.pool"),
        new=("    state.used = start\n    state.pool"),
        why="Consecutive draws get the same bytes, or zeros, so noise repeats.",
        caught_by=(
            "tests/noise/test_entropy.py::test_what_interrupts_a_request_serves_no_erased_bytes",
            "tests/noise/test_entropy.py::test_a_request_amid_another_request_repeats_nothing",
        ),
        fast=True,
    ),
    Mutant(
        name="random bits replaced by zeros where there are none",
        file="discreet/noise/entropy.py",
        old=(
            "        raise EntropyUnavailable(\n"
            '            what="the operating system gave no random bits.",\n'
            '            why="noise from any other source could be predicted and subtracted.",\n'
            '            do="check that the random device is available to this process, then ask again; "\n'
            '            "nothing was drawn.",\n'
            "        ) from failure\n"
        ),
        new='        fresh = bytes(KEY_BYTES) if failure else b""\n',
        why="Anybody can draw the same noise and subtract it.",
        caught_by=("tests/noise/test_entropy.py::test_without_random_bits_nothing_is_drawn",),
    ),
    Mutant(
        name="Laplace noise of half the scale",
        file="discreet/noise/laplace.py",
        old="    def parameter(self) -> Fraction:\n        return self.scale\n",
        new="    def parameter(self) -> Fraction:\n        return self.scale / 2\n",
        why="The law that is drawn loses twice what the law that is priced does.",
        caught_by=(
            "tests/noise/test_statistics.py::test_values_beyond_64_bits_stop_at_the_ends",
            "tests/noise/test_statistics.py::test_the_size_of_a_call_does_not_change_the_law",
        ),
    ),
    Mutant(
        name="Gaussian noise whose sigma is taken for its variance",
        file="discreet/noise/gaussian.py",
        old="    def parameter(self) -> Fraction:\n        return self.variance\n",
        new="    def parameter(self) -> Fraction:\n        return Fraction(max(1, math.isqrt(math.floor(self.variance))))\n",
        why="Far less noise than is priced, wherever the variance is above one.",
        caught_by=(
            "tests/mechanisms/test_contract.py::test_a_sampler_with_half_the_noise_is_caught_exactly",
            "tests/mechanisms/test_contract.py::test_the_sampler_exactly",
        ),
    ),
    Mutant(
        name="a rejected attempt is not tried again",
        file="discreet/noise/tablefree.py",
        old="    while todo.size:\n        out[todo], accepted = attempt",
        new="    while todo.size < 0:\n        out[todo], accepted = attempt",
        why="Noise has the distribution of an attempt, accepted or not.",
        caught_by=(
            "tests/noise/test_laws.py::test_every_element_keeps_its_own_parameter_in_all_attempts",
            "tests/noise/test_laws.py::test_what_is_rejected_is_drawn_again",
        ),
    ),
    Mutant(
        name="the sure side of a coin is half a word too wide",
        file="discreet/noise/bernoulli.py",
        old="        if (word + 1) << 32 <= low:\n",
        new="        if word << 32 <= low:\n",
        why="Coins that decide rare events come up more often than their law says, without bound where chances are tiny.",
        caught_by=(
            "tests/noise/test_laws.py::test_coins",
            "tests/noise/test_laws.py::test_tablefree",
        ),
    ),
    Mutant(
        name="a coin that a float decides alone",
        file="discreet/noise/bernoulli.py",
        old=(
            "    if unsure.any():\n"
            "        for index in np.flatnonzero(unsure):\n"
            "            heads[index] = settle(\n"
            "                chance(int(index)), int(word[index]), sizes.word_bits, entropy, sizes.step_bits\n"
            "            )\n"
            "    return heads\n"
            "\n"
            "\n"
            "def exp_coins"
        ),
        new=("    heads |= unsure & (below < estimate)\n    return heads\n\n\ndef exp_coins"),
        why="Chances are off in the last places, so outcomes that one neighbor rules out stay possible for the other.",
        caught_by=(
            "tests/noise/test_laws.py::test_exponential_coins",
            "tests/noise/test_laws.py::test_tablefree",
        ),
    ),
)
