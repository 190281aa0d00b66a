"""Mutants of the room ``models``."""

from __future__ import annotations

from typing import Final

from mutants.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        name="a model takes sums that were not planned",
        file="discreet/extend/measurement.py",
        old="        if planned is None or not fits:",
        new="        if planned is None:",
        why="A row moves the sum by more than its noise is scaled to.",
        caught_by=("tests/models/test_row_sums.py::test_sums_beyond_the_plan_are_refused",),
    ),
    Mutant(
        name="noise of models that is drawn ahead is used again",
        file="discreet/extend/measurement.py",
        old="        return ahead.pop()",
        new="        return ahead[-1]",
        why="The difference of two sums with the same noise has none.",
        caught_by=("tests/models/test_row_sums.py::test_noise_that_is_drawn_ahead_is_used_once",),
    ),
    Mutant(
        name="a draw in a session is priced for one row of a unit",
        file="discreet/models/posterior_draw.py",
        old="        return self.leaf(unit, rows_of_unit(request) // groups)",
        new="        return self.leaf(unit)",
        why="A person with several rows moves the count several times as far.",
        caught_by=(
            (
                "tests/models/test_one_draw.py::"
                "test_a_draw_in_a_session_is_paid_for_by_rows_of_a_unit"
            ),
        ),
    ),
    Mutant(
        name="noise of models is scaled to one row of a unit",
        file="discreet/extend/measurement.py",
        old="            added = root_up(rows**2 * self.squared)",
        new="            added = root_up(self.squared)",
        why="A unit with several rows moves the sum several times as far.",
        caught_by=("tests/models/test_row_sums.py::test_the_price_is_kept_and_nearly_used_up",),
    ),
    Mutant(
        name="residuals of a row have any length",
        file="discreet/models/row_sums.py",
        old="        whole[:, ~bounded] = 0.0",
        new="        pass",
        why="A row moves the sum by more than its noise is scaled to.",
        caught_by=("tests/models/test_row_sums.py::test_residuals_beyond_their_bound_add_nothing",),
    ),
    Mutant(
        name="residuals are shortened to more than is priced",
        file="discreet/models/row_sums.py",
        old="        shorter = np.sqrt(bound / squares[long]) * _SHORTER",
        new="        shorter = np.sqrt(residual_bound(outputs) / squares[long]) * _SHORTER",
        why="Noise is scaled to the clip, and a row that is badly fitted moves the sum further.",
        caught_by=(
            (
                "tests/models/test_clipped_residuals.py::"
                "test_every_residual_is_shortened_to_its_clip"
            ),
            (
                "tests/models/test_clipped_residuals.py::"
                "test_no_residuals_of_several_classes_are_longer_than_is_priced"
            ),
        ),
    ),
    Mutant(
        name="values of a frame decide its type",
        file="discreet/models/given.py",
        old="    framed = None if isinstance(X, np.ndarray) else frame_matrix(X)",
        new="    framed = None",
        why="A single NULL decides whether a fit is refused or charged.",
        caught_by=(
            "tests/models/test_given_frames.py::test_a_null_beside_a_moment_is_not_charged",
            ("tests/models/test_given_frames.py::test_no_cell_decides_whether_a_frame_is_refused"),
        ),
    ),
    Mutant(
        name="objects of a frame are read before the charge",
        file="discreet/models/given.py",
        old="        return np.asarray(column, object)",
        new="        return np.asarray(column, np.float64)",
        why="A single cell that is not a number makes a fit fail before anything is paid.",
        caught_by=("tests/models/test_given_frames.py::test_objects_are_read_after_the_charge",),
    ),
    Mutant(
        name="labels in a frame are turned into one type",
        file="discreet/models/given.py",
        old="    columns = None if isinstance(y, list | tuple) else frame_columns(y)",
        new="    columns = None",
        why="A single missing label makes floats of all, and large ones are not a class any more.",
        caught_by=(
            "tests/models/test_given_frames.py::test_labels_in_a_frame_are_taken_as_they_are",
        ),
    ),
    Mutant(
        name="rows of any length count",
        file="discreet/models/bounded_rows.py",
        old='        odd = ~(np.einsum("ij,ij->i", cells, cells) <= squared)',
        new="        odd = np.zeros(len(cells), bool)",
        why="A row moves sums by more than their noise is scaled to.",
        caught_by=("tests/models/test_row_sums.py::test_rows_that_break_the_bound_add_nothing",),
    ),
    Mutant(
        name="moments off the diagonal weigh more than is priced",
        file="discreet/models/row_sums.py",
        old="MIXED: Final = 41",
        new="MIXED: Final = 42",
        why="A row of two equal entries moves the moments by more than their noise is scaled to.",
        caught_by=(
            "tests/models/test_row_sums.py::test_moments_of_every_small_row_keep_the_bound",
        ),
    ),
    Mutant(
        name="vectors of any length are added to a table",
        file="discreet/models/row_sums.py",
        old="    kept = ~long & (places >= 0) & (places < size)",
        new="    kept = (places >= 0) & (places < size)",
        why="A row moves its place by more than noise is scaled to.",
        caught_by=("tests/models/test_row_sums.py::test_one_row_moves_one_place_of_a_table",),
    ),
    Mutant(
        name="a short vector is short in every norm",
        file="discreet/models/row_sums.py",
        old="    if vectors.shape[1] * squared > linear**2:",
        new="    if squared > linear**2:",
        why="Noise that is scaled to an L1 norm hides less than a row adds.",
        caught_by=("tests/models/test_row_sums.py::test_one_row_moves_one_place_of_a_table",),
    ),
    Mutant(
        name="scores are sums of floats",
        file="discreet/models/row_sums.py",
        old="    exact: Floats = (whole.T @ cells.T).T / WEIGHTS",
        new="    exact: Floats = (weights.T @ cells.T).T",
        why="What a row adds depends, in its last bit, on the rows beside it.",
        caught_by=(
            (
                "tests/models/test_row_sums.py::"
                "test_what_a_row_scores_does_not_depend_on_its_neighbors"
            ),
        ),
    ),
    Mutant(
        name="a model in a session is planned for one row of a unit",
        file="discreet/extend/row_counts.py",
        old="    return total.most * (1 if request.groups is None else request.groups)",
        new="    return 1",
        why="A person with several rows moves sums several times as far.",
        caught_by=(
            (
                "tests/models/test_session_rows.py::"
                "test_a_unit_beyond_all_limits_moves_sums_by_no_more_than_is_priced"
            ),
            "tests/models/test_session_rows.py::test_a_model_of_a_session",
        ),
    ),
    Mutant(
        name="candidates are tuned by plans for fewer rows",
        file="discreet/models/tuning.py",
        old="            draw.charged(reads, unit)  # refuses a plan for less",
        new="            draw.document()",
        why="Noise that is scaled to less than a unit can add hides nobody.",
        caught_by=(
            (
                "tests/models/test_session_rows.py::"
                "test_a_candidate_that_is_planned_for_fewer_rows_is_refused"
            ),
        ),
    ),
    Mutant(
        name="tuning costs what one run does",
        file="discreet/models/tuning.py",
        old="        return (rho * order + mixed + runs) * _UP",
        new="        return (rho * order + runs) * _UP",
        why="The best of many runs reveals more than any of them.",
        caught_by=("tests/models/test_tuning.py::test_golden_prices",),
    ),
    Mutant(
        name="sizes of clusters are printed with the noise of their sums",
        file="discreet/models/k_means.py",
        old="        return self._half_width(SIZES, confidence)",
        new="        return self._half_width(CLUSTERS, confidence, steps=LEVELS)",
        why="Intervals are those of another release.",
        caught_by=(
            "tests/models/test_coverage.py::test_counts_are_off_by_no_more_than_is_printed",
        ),
    ),
    Mutant(
        name="a draw of a posterior is priced at one end of the grid",
        file="discreet/models/posterior_draw.py",
        old="log(max(Fraction(1), upper_end, lower_end))",
        new="log(max(Fraction(1), upper_end))",
        why="At the low end another yes makes a draw less likely, and that tells as much.",
        caught_by=(
            ("tests/models/test_one_draw.py::test_the_loss_is_the_largest_ratio_of_all_outcomes"),
        ),
    ),
    Mutant(
        name="a draw of a posterior is charged nothing",
        file="discreet/models/posterior_draw.py",
        old="        loss = Pure(epsilon=self.epsilon * rows)",
        new="        loss = Pure(epsilon=0)",
        why="Every draw reveals people.",
        caught_by=(
            (
                "tests/models/test_one_draw.py::"
                "test_each_draw_is_charged_its_exact_epsilon_and_a_named_one_comes_back"
            ),
        ),
    ),
    Mutant(
        name="methods of a classifier may be replaced",
        file="discreet/models/tuning.py",
        old="        if callable(getattr(kind, name, None)):",
        new="        if not callable(kind):",
        why="An answer for one row in view of another moves both counts by any number.",
        caught_by=(
            "tests/models/test_fitting.py::test_a_model_whose_methods_were_replaced_is_not_evaluated",
        ),
    ),
    Mutant(
        name="scaled moments wrap around",
        file="discreet/models/row_sums.py",
        old="np.clip(square, -_MOST_MOMENT, _MOST_MOMENT)",
        new="square",
        why="Beyond 64 bits the sums of neighbors are at opposite ends.",
        caught_by=(
            "tests/models/test_row_sums.py::test_moments_of_a_billion_rows_do_not_wrap_around",
        ),
    ),
)
