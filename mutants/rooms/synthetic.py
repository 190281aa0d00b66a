"""Mutants of the room ``synthetic``."""

from __future__ import annotations

from typing import Final

from mutants.mutant import Mutant

_MOVES: Final = "discreet/synthetic/joint.py"
_SPENDING: Final = "discreet/synthetic/measurer.py"
_MEASURER: Final = "discreet/synthetic/measurer.py"
_JOINT: Final = "discreet/synthetic/joint.py"
_BINS: Final = "discreet/synthetic/bins.py"
_SENSITIVITY: Final = "tests/synthetic/test_sensitivity.py"
_SPENT: Final = "tests/synthetic/test_spending.py"

MUTANTS: Final = (
    Mutant(
        name="noise on a synthetic table's counts derived from what is counted",
        file=_MEASURER,
        old="        values = np.asarray(noise.run(counts, entropy=self._entropy), dtype=np.int64)\n",
        new=(
            "        from discreet.synthetic.public_streams import public_stream\n"
            "        stream = public_stream(str(marginal), str(self._rounds))\n"
            "        values = np.asarray(noise.run(counts, entropy=stream), dtype=np.int64)\n"
        ),
        why="Whoever knows the method computes the noise and subtracts it.",
        caught_by=(
            "tests/session/test_fresh_noise.py::test_two_synthetic_tables_of_the_same_rows_differ[Independent]",
        ),
    ),
    Mutant(
        name="a marginal is measured and not spent",
        file=_MEASURER,
        old=(
            "        self._spending.spend(self._moves.measured(noise, single=cell is not None or not "
            "marginal))\n"
        ),
        new="        self._spending  # noqa: B018\n",
        why="A method measures more than was charged.",
        caught_by=(
            f"{_SPENT}::test_one_ways_measured_twice_and_charged_once_are_refused",
            f"{_SPENT}::test_fixed_methods_spend_just_what_is_charged",
        ),
    ),
    Mutant(
        name="a whole marginal spends what one cell does",
        file=_MEASURER,
        old="single=cell is not None or not marginal))",
        new="single=True))",
        why="Replacing a person moves two cells.",
        caught_by=(f"{_SPENT}::test_fixed_methods_spend_just_what_is_charged",),
    ),
    Mutant(
        name="selections are free",
        file=_MEASURER,
        old="        self._spending.spend(step)\n        scores",
        new="        scores",
        why="The marginal that is chosen depends on the data.",
        caught_by=(f"{_SPENT}::test_fixed_methods_spend_just_what_is_charged",),
    ),
    Mutant(
        name="the game of DualQuery is free",
        file=_MEASURER,
        old="        if rho:\n            self._spending.spend",
        new="        if rho < 0:\n            self._spending.spend",
        why="Its draws depend on the data.",
        caught_by=(f"{_SPENT}::test_dual_query_runs_under_the_filter",),
    ),
    Mutant(
        name="a filter that looks at what was spent before",
        file=_SPENDING,
        old="        if after > self._bound:",
        new="        if self._spent > self._bound:",
        why="The last step may cost anything.",
        caught_by=(f"{_SPENT}::test_the_filter_refuses_the_step_that_would_exceed_its_bound",),
    ),
    Mutant(
        name="a step that was planned once is taken twice",
        file=_SPENDING,
        old="        self._left[planned] -= 1\n",
        new="        self._left[planned] -= 0\n",
        why="It was charged once.",
        caught_by=(f"{_SPENT}::test_one_ways_measured_twice_and_charged_once_are_refused",),
    ),
    Mutant(
        name="selections of any scale count as planned",
        file=_SPENDING,
        old="Exponential(candidates=1, scale=step.source.scale, change=step.source.change)",
        new="Exponential(candidates=1, scale=1, change=step.source.change)",
        why="A selection with a smaller scale costs more.",
        caught_by=(f"{_SPENT}::test_a_selection_among_heavier_candidates_is_another_step",),
    ),
    Mutant(
        name="a chance of failure beside a rho is forgotten",
        file=_SPENDING,
        old="        if beside:\n            raise refused_step()\n",
        new="",
        why="The filter's theorem is about rhos alone.",
        caught_by=(f"{_SPENT}::test_the_filter_refuses_what_rests_on_chance",),
    ),
    Mutant(
        name="a marginal moves in one cell where a person is replaced",
        file=_MOVES,
        old="        far = root_up(self.rows**2 if single else 2 * self.rows**2)",
        new="        far = root_up(self.rows**2)",
        why="Somebody goes from one cell and somebody comes in another.",
        caught_by=(f"{_SENSITIVITY}::test_prices_of_measurements",),
    ),
    Mutant(
        name="Laplace noise on a marginal for one of two people",
        file=_MOVES,
        old="            far = Fraction(self.rows if single else 2 * self.rows)",
        new="            far = Fraction(self.rows)",
        why="A replaced person moves two cells.",
        caught_by=(f"{_SENSITIVITY}::test_prices_of_measurements",),
    ),
    Mutant(
        name="scores of marginals ignore their weights",
        file=_MOVES,
        old="        far = Fraction(weight * self.rows * GRID)",
        new="        far = Fraction(self.rows * GRID)",
        why="A heavier score moves further.",
        caught_by=(f"{_SENSITIVITY}::test_scores_move_by_no_more_than_is_priced_and_attain_it",),
    ),
    Mutant(
        name="scores of cells priced for one row of a person",
        file=_MOVES,
        old="        far = Fraction(self.rows * GRID)\n        return self._leaf(_choice(scale",
        new="        far = Fraction(GRID)\n        return self._leaf(_choice(scale",
        why="A person has as many rows in a cell as the limits allow.",
        caught_by=(f"{_SENSITIVITY}::test_scores_move_by_no_more_than_is_priced_and_attain_it",),
    ),
    Mutant(
        name="a histogram moved by one group of a person",
        file=_JOINT,
        old="    return total.most * (1 if request.groups is None else request.groups)",
        new="    return total.most",
        why="A person is in several combinations.",
        caught_by=(
            f"{_SENSITIVITY}::test_one_person_moves_every_marginal_by_no_more_than_is_priced",
        ),
    ),
    Mutant(
        name="rows without a code are put in some cell",
        file=_JOINT,
        old="            known &= (key >= 0) & (key < math.prod(sizes[column] for column in pack))",
        new="            known &= key >= 0",
        why="A code that is none reads beyond the cells, and fails for some people only.",
        caught_by=(f"{_SENSITIVITY}::test_what_is_no_combination_of_codes_is_left_out",),
    ),
    Mutant(
        name="one row of a combination where bins merge values",
        file=_JOINT,
        old="        if column.one_to_one\n",
        new="",
        why="Different days of a person fall into one bin.",
        caught_by=(
            "tests/synthetic/test_rows_of_codes.py::test_rows_of_different_days_in_one_bin_all_count",
        ),
    ),
    Mutant(
        name="edges of bins are found for nothing",
        file=_BINS,
        old="                spending.spend(leaf)\n",
        new="",
        why="Where quantiles lie depends on the data.",
        caught_by=(f"{_SPENT}::test_bought_edges_spend_just_what_is_charged",),
    ),
    Mutant(
        name="scores of edges move by the smaller side",
        file=_BINS,
        old="        near = max(place, bins.count - place) * moves.rows",
        new="        near = min(place, bins.count - place) * moves.rows",
        why="A row on the other side moves the score further.",
        caught_by=(f"{_SENSITIVITY}::test_scores_of_edges_move_by_no_more_than_is_priced",),
    ),
    Mutant(
        name="DualQuery priced for one row of a person",
        file="discreet/synthetic/dual_query/settings.py",
        old="        return (2 if replaces else 1) * self.rate * earlier * moved / self.rows",
        new="        return (2 if replaces else 1) * self.rate * earlier / self.rows",
        why="A person has several rows.",
        caught_by=(
            "tests/synthetic/dual_query/test_price.py::test_ranges_are_attained_and_never_exceeded",
        ),
    ),
    Mutant(
        name="a program planned for other bounds than its request",
        file="discreet/synthetic/program.py",
        old="        if moves != self.task.moves:",
        new="        if moves.unit != self.task.moves.unit:",
        why="Noise would be scaled to less than a person can add.",
        caught_by=(
            "tests/synthetic/test_programs.py::test_noise_for_smaller_moves_than_the_request_allows_is_refused",
        ),
    ),
)
