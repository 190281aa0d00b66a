"""Mutants of the room ``learning``."""

from __future__ import annotations

from typing import Final

from mutants.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        name="norms of contributions are rounded down",
        file="discreet/learning/clipping.py",
        old="        return squares * raised(vectors.shape[1] + 2) + _TINY",
        new="        return squares * (2 - raised(vectors.shape[1] + 2))",
        why="A contribution is longer than the bound that noise is scaled to.",
        caught_by=(
            "tests/learning/test_private_sum.py::test_no_contribution_is_longer_than_the_bound",
        ),
    ),
    Mutant(
        name="products of a unit may add up to anything",
        file="discreet/learning/clipping.py",
        old="            scales = np.minimum(most, np.minimum(by_norm, by_span))",
        new="            scales = np.minimum(most, by_norm)",
        why="Large products that cancel leave an error of rounding that no slack covers.",
        caught_by=(
            "tests/learning/test_private_sum.py::test_products_that_cancel_stay_within_the_spread",
        ),
    ),
    Mutant(
        name="drift is not added to the slack",
        file="discreet/learning/private_sum.py",
        old="        moved = self.drift * self.units * self.clipping.bound",
        new="        moved = Fraction(0)",
        why="A unit moves what others contribute, and nobody pays for it.",
        caught_by=(
            "tests/learning/test_private_sum.py::test_every_part_of_the_slack_counts",
            "tests/learning/test_run_prices.py::test_slack_and_drift_raise_the_noise",
        ),
    ),
    Mutant(
        name="slack counts for one neighbor only",
        file="discreet/learning/private_sum.py",
        old="        return 2 * (error + moved) + (self.floors - 1)",
        new="        return (error + moved) + (self.floors - 1)",
        why="Both sums are rounded.",
        caught_by=("tests/learning/test_private_sum.py::test_every_part_of_the_slack_counts",),
    ),
    Mutant(
        name="slack is shown and not priced",
        file="discreet/learning/private_sum.py",
        old="        return self.length + self.slack",
        new="        return self.length",
        why="Noise is scaled to less than a unit moves.",
        caught_by=("tests/learning/test_run_prices.py::test_slack_and_drift_raise_the_noise",),
    ),
    Mutant(
        name="what lies beside a sum is free",
        file="discreet/learning/private_sum.py",
        old="        if not self.beside:\n",
        new="        if self.beside <= 9:\n",
        why="A unit moves two things, and pays for one.",
        caught_by=("tests/learning/test_run_prices.py::test_price_of_counts_beside_the_sum",),
    ),
    Mutant(
        name="contributions are counted by a jump at the threshold",
        file="discreet/learning/side_counts.py",
        old="        cut = np.clip(2.0 - 2.0 * ratios, -1.0, 1.0)",
        new="        cut = np.where(ratios <= 1, 1.0, -1.0)",
        why="A norm beside its threshold falls on either side in other company.",
        caught_by=(
            "tests/learning/test_side_counts.py::test_a_ramp_moves_by_no_more_than_its_steepness",
        ),
    ),
    Mutant(
        name="objectives above their bound count in full",
        file="discreet/learning/side_counts.py",
        old="            cut = np.clip(2 * values / float_down(self.most) - 1, -1.0, 1.0)",
        new="            cut = np.maximum(2 * values / float_down(self.most) - 1, -1.0)",
        why="A unit moves the mean objective by more than is priced.",
        caught_by=("tests/learning/test_side_counts.py::test_nothing_adds_more_than_the_weight",),
    ),
    Mutant(
        name="drift of what is told beside a sum is free",
        file="discreet/learning/private_sum.py",
        old="        moved += self.drift * self.units * STEEPNESS * _root_up(self.beside)\n",
        new="",
        why="Counts drift with the norms that they count.",
        caught_by=("tests/learning/test_private_sum.py::test_every_part_of_the_slack_counts",),
    ),
    Mutant(
        name="views are added up and not averaged",
        file="discreet/learning/deep/training_data.py",
        old="Clipping(bound=share), float_down(views * threshold)))",
        new="Clipping(bound=share), float_down(threshold)))",
        why="It costs accuracy alone, and the mean is what is promised.",
        caught_by=(
            "tests/learning/deep/test_views.py::test_a_unit_contributes_the_mean_of_its_views",
        ),
    ),
    Mutant(
        name="masks follow from the seed of the user",
        file="discreet/learning/deep/runs/step_sums.py",
        old="        torch.manual_seed(entropy.bits(_SEED_BITS))\n",
        new="",
        why="Whoever knows the seed tells from the masks of others that a unit is there.",
        caught_by=(
            "tests/learning/deep/test_views.py::test_masks_do_not_follow_from_the_seed_of_the_user",
        ),
    ),
    Mutant(
        name="several processes pay for one floor",
        file="discreet/learning/deep/runs/run_setup.py",
        old="        floors=1 if ranks is None else ranks.count,\n",
        new="        floors=1,\n",
        why="Each of them floors its share.",
        caught_by=(
            "tests/learning/deep/test_ranks.py::test_two_processes_compute_the_sum_of_one[same]",
        ),
    ),
    Mutant(
        name="banded sums are priced as if each was measured once",
        file="discreet/learning/banded_noise.py",
        old="        return self.length * steps * one.grid.step",
        new="        return steps * one.grid.step",
        why="A unit moves all measurements of its block.",
        caught_by=(
            "tests/learning/test_banded_noise.py::test_a_unit_moves_disjoint_blocks_by_no_more_than_is_priced",
            "tests/learning/test_banded_noise.py::test_the_price_is_that_of_fewer_releases_at_a_longer_distance",
        ),
    ),
    Mutant(
        name="every step of a band draws from all units",
        file="discreet/learning/banded_noise.py",
        old="        members = np.flatnonzero(self._parts == step % self._band.width)",
        new="        members = np.arange(self._parts.size)",
        why="Blocks of one unit overlap, and move the same measurements twice.",
        caught_by=(
            "tests/learning/test_banded_noise.py::test_units_take_turns_and_every_part_is_equally_likely",
            "tests/learning/test_banded_noise.py::test_nobody_is_drawn_more_often_than_was_charged",
        ),
    ),
    Mutant(
        name="new parts in the middle of a round are free",
        file="discreet/learning/run_charges.py",
        old="        turned = at % self._plan.band.width if fresh and at < self._plan.steps else 0",
        new="        turned = 0",
        why="A unit is drawn once more than was paid for.",
        caught_by=(
            "tests/learning/test_banded_noise.py::test_nobody_is_drawn_more_often_than_was_charged",
        ),
    ),
    Mutant(
        name="earlier sums are remembered across a broken step",
        file="discreet/learning/deep/runs/training_step.py",
        old="        return self._turns is None or self._next == step",
        new="        return self._turns is None or self._next is not None",
        why="The sum of a step is measured in a block twice, once of each draw.",
        caught_by=(
            "tests/learning/test_banded_noise.py::test_a_step_that_broke_after_its_release_starts_new_blocks",
        ),
    ),
    Mutant(
        name="a total is rounded to the nearest cell",
        file="discreet/learning/deep/device_release.py",
        old="    cells = (total / float(one.grid.step)).floor_()",
        new="    cells = (total / float(one.grid.step)).round_()",
        why="Ties go to even cells, two apart for a distance of one; floors are what is priced.",
        caught_by=(
            "tests/learning/deep/test_layers.py::test_the_release_on_a_device_is_that_of_the_kernel",
        ),
    ),
    Mutant(
        name="the bias is left out of the norm",
        file="discreet/learning/deep/layers/linear.py",
        old="        one = 0.0 if bias is None else 1.0",
        new="        one = 0.0",
        why="Small inputs with large gradients are scaled up, bias and all.",
        caught_by=(
            "tests/learning/deep/test_layers.py::test_contributions_are_the_gradients_of_single_units",
            "tests/learning/deep/test_layers.py::test_neighbors_differ_by_at_most_what_is_priced",
        ),
    ),
    Mutant(
        name="every group of parameters may add as much as all",
        file="discreet/learning/deep/training_data.py",
        old="        share = Fraction(1) if len(groups) == 1 else threshold / length",
        new="        share = Fraction(1)",
        why="Two groups together move the sum by the root of two times what is priced.",
        caught_by=(
            "tests/learning/test_training.py::test_long_contributions_fill_the_share_of_each_group",
        ),
    ),
    Mutant(
        name="batches are not cut to the cap",
        file="discreet/learning/sampling.py",
        old="        return np.flatnonzero(heads)[: self.cap]",
        new="        return np.flatnonzero(heads)",
        why="Rounding of the sum was priced for so many units and no more.",
        caught_by=(
            "tests/learning/test_sampling.py::test_a_capped_batch_is_the_first_units_of_a_batch",
        ),
    ),
    Mutant(
        name="the cap is priced for one step",
        file="discreet/learning/sampling.py",
        old="    return min(Fraction(1), times * Fraction(1, 2 ** max(0, int(exponent / two))))",
        new="    return min(Fraction(1), Fraction(1, 2 ** max(0, int(exponent / two))))",
        why="Every step may exceed it.",
        caught_by=("tests/learning/test_sampling.py::test_every_step_may_exceed_the_cap",),
    ),
    Mutant(
        name="the cap is not priced",
        file="discreet/learning/run_tree.py",
        old="    if not overflow:\n        return every\n",
        new="    if overflow < 1:\n        return every\n",
        why="Where others fill the cap, one unit drops another.",
        caught_by=("tests/learning/test_run_prices.py::test_a_batch_above_its_cap_is_paid_for",),
    ),
    Mutant(
        name="all rows of a unit count",
        file="discreet/learning/sampling.py",
        old=(
            "        places = np.arange(self.rows)\n"
            "        inside = places < np.minimum(self._counts[units], self.rows)[:, None]"
        ),
        new=(
            "        places = np.arange(self._counts.max(initial=1))\n"
            "        inside = places < self._counts[units][:, None]"
        ),
        why="Rounding was priced for the rows that were declared.",
        caught_by=(
            "tests/learning/test_sampling.py::test_rows_of_units_are_their_first_ones_in_order",
        ),
    ),
    Mutant(
        name="the noise of one step is used for all",
        file="discreet/learning/deep/runs/run_loop.py",
        old="            drawn = noise.take()\n",
        new=(
            "            self._reused = getattr(self, '_reused', None)\n"
            "            self._reused = noise.take() if self._reused is None else self._reused\n"
            "            drawn = self._reused\n"
        ),
        why="The difference of two steps has no noise.",
        caught_by=(
            "tests/learning/test_training.py::test_a_kill_beside_any_write_draws_no_more_than_was_charged",
        ),
    ),
    Mutant(
        name="noise is taken before it is drawn",
        file="discreet/learning/noise_processes/noise_ahead.py",
        old="            for worker in self._workers:\n                _wait(worker)\n",
        new="",
        why="What is not drawn yet is zero.",
        caught_by=("tests/learning/test_noise_ahead.py::test_processes_draw_all_of_an_array",),
    ),
    Mutant(
        name="a mark is written after its steps are drawn",
        file="discreet/learning/deep/runs/run_loop.py",
        old=(
            "                    marks.mark(marked)\n"
            "                began = time.perf_counter()\n"
            "                self._step_or_leave(noise, marks, update=update)\n"
            "                run.taken += 1\n"
        ),
        new=(
            "                began = time.perf_counter()\n"
            "                self._step_or_leave(noise, marks, update=update)\n"
            "                run.taken += 1\n"
            "                marks.mark(marked)\n"
        ),
        why="A kill in between leaves steps that nobody knows of; they are drawn again for free.",
        caught_by=(
            "tests/learning/test_training.py::test_the_run_is_charged_and_started_before_a_row_is_read",
        ),
    ),
    Mutant(
        name="steps that were lost are drawn again for free",
        file="discreet/learning/run_charges.py",
        old="        if max(again, 0) + turned > 0:\n",
        new="        if max(again, 0) + turned > self._plan.steps:\n",
        why="Two noisy sums were seen, and one was paid for.",
        caught_by=("tests/learning/test_training.py::test_steps_that_were_lost_are_charged_again",),
    ),
    Mutant(
        name="two processes go on with one run",
        file="discreet/learning/marks.py",
        old="        if since.attempts > self._attempt:",
        new="        if since.attempts > self._attempt + 1:",
        why="Both draw the same steps, and one of them is paid for.",
        caught_by=(
            "tests/learning/test_training.py::test_of_two_resumes_of_one_copy_the_first_is_fenced",
        ),
    ),
    Mutant(
        name="a checkpoint of another run is taken up",
        file="discreet/learning/checkpoint.py",
        old="        if found.run != run:",
        new="        if len(found.run) != len(run):",
        why="Its step says that steps of this run were drawn, and its weights are of other data.",
        caught_by=(
            "tests/learning/test_training.py::test_checkpoints_of_other_runs_and_torn_ones_are_refused",
        ),
    ),
    Mutant(
        name="the step of a checkpoint is not under its digest",
        file="discreet/learning/checkpoint.py",
        old="        if digest != hashlib.sha256(body).digest():",
        new="        if not body:",
        why="A flipped bit in the step makes a run skip steps, or charge other ones again.",
        caught_by=(
            "tests/learning/test_broken_runs.py::test_a_flipped_bit_anywhere_in_a_checkpoint_is_found",
        ),
    ),
    Mutant(
        name="a graph repeats the mask of its first micro-batch",
        file="discreet/learning/deep/captured.py",
        old="            self.inside.copy_(inside)",
        new="            pass",
        why="Padding adds to a sum, and rows that are there do not.",
        caught_by=(
            "tests/learning/deep/test_captured.py::test_graphs_give_what_they_replace_for_any_rows_and_masks",
        ),
    ),
    Mutant(
        name="a graph repeats the targets of its first micro-batch",
        file="discreet/learning/deep/captured.py",
        old="(inputs, targets), strict=True):\n            static.copy_(value)",
        new="(inputs, self.given[1]), strict=True):\n            static.copy_(value)",
        why="A model learns targets of other rows, and a row that has left a batch still counts.",
        caught_by=(
            "tests/learning/deep/test_captured.py::test_graphs_give_what_they_replace_for_any_rows_and_masks",
        ),
    ),
    Mutant(
        name="a graph goes on with weights that have moved",
        file="discreet/learning/deep/captured.py",
        old="(tensor.data_ptr(), tensor.requires_grad) for tensor in tensors",
        new="(tensor.numel(), tensor.requires_grad) for tensor in tensors",
        why="It computes with memory that is no longer the model's.",
        caught_by=(
            "tests/learning/deep/test_captured.py::test_graphs_are_recorded_again_where_anything_has_changed[moved]",
        ),
    ),
    Mutant(
        name="norms of a graph are not compared",
        file="discreet/learning/deep/captured.py",
        old="    return graphs if same and near else None",
        new="    return graphs if near else None",
        why="Contributions are clipped by norms below their own.",
        caught_by=(
            "tests/learning/deep/test_captured.py::test_graphs_that_differ_or_fail_are_dropped[spoiled0]",
        ),
    ),
    Mutant(
        name="sums of a graph are not compared",
        file="discreet/learning/deep/captured.py",
        old="    return graphs if same and near else None",
        new="    return graphs if same else None",
        why="What is added up is not what was clipped.",
        caught_by=(
            "tests/learning/deep/test_captured.py::test_graphs_that_differ_or_fail_are_dropped[spoiled1]",
        ),
    ),
    Mutant(
        name="units that are not finite are added by the graph",
        file="discreet/learning/deep/captured.py",
        old="        if drop:  # rare, and so not recorded",
        new="        if not drop and scales.numel() == 0:",
        why="Zero times infinity is no number, and one row ends the run.",
        caught_by=(
            "tests/learning/deep/test_captured.py::test_a_unit_that_is_not_finite_adds_nothing",
            "tests/learning/deep/test_captured.py::test_sums_of_batches_are_those_without_graphs",
        ),
    ),
    Mutant(
        name="hooks that come later are passed over",
        file="discreet/learning/deep/captured.py",
        old="            and not module._forward_hooks  # noqa: SLF001\n",
        new="",
        why="A graph does not call them, and nobody is told.",
        caught_by=("tests/learning/deep/test_captured.py::test_a_hook_that_comes_later_is_called",),
    ),
    Mutant(
        name="samples that are told cost nothing",
        file="discreet/learning/adoption.py",
        old="            told = Approximate(epsilon=0, delta=rate)",
        new="            told = Approximate(epsilon=0, delta=rate / steps)",
        why="Each step tells of whoever is in its sample.",
        caught_by=(
            "tests/learning/test_adoption.py::test_a_run_without_noise_to_speak_of_is_priced_by_its_samples",
        ),
    ),
    Mutant(
        name="a model takes sums that were not planned",
        file="discreet/learning/models/measurement.py",
        old="        if planned is None or not fits:",
        new="        if planned is None:",
        why="A row moves the sum by more than its noise is scaled to.",
        caught_by=(
            "tests/learning/models/test_row_sums.py::test_sums_beyond_the_plan_are_refused",
        ),
    ),
    Mutant(
        name="noise of models that is drawn ahead is used again",
        file="discreet/learning/models/measurement.py",
        old="        return ahead.pop()",
        new="        return ahead[-1]",
        why="The difference of two sums with the same noise has none.",
        caught_by=(
            "tests/learning/models/test_row_sums.py::test_noise_that_is_drawn_ahead_is_used_once",
        ),
    ),
    Mutant(
        name="a draw in a session is priced for one row of a unit",
        file="discreet/learning/bayes/session_draw.py",
        old="        return self.draw.leaf(unit, rows_of_unit(request) // groups)",
        new="        return self.draw.leaf(unit)",
        why="A person with several rows moves the count several times as far.",
        caught_by=(
            (
                "tests/learning/bayes/test_one_draw.py::"
                "test_a_draw_in_a_session_is_paid_for_by_rows_of_a_unit"
            ),
        ),
    ),
    Mutant(
        name="noise of models is scaled to one row of a unit",
        file="discreet/learning/models/measurement.py",
        old="            added = root_up(rows**2 * self.squared)",
        new="            added = root_up(self.squared)",
        why="A unit with several rows moves the sum several times as far.",
        caught_by=(
            "tests/learning/models/test_row_sums.py::test_the_price_is_kept_and_nearly_used_up",
        ),
    ),
    Mutant(
        name="residuals of a row have any length",
        file="discreet/learning/models/rows/row_sums.py",
        old="        whole[:, unbounded] = 0.0",
        new="        pass",
        why="A row moves the sum by more than its noise is scaled to.",
        caught_by=(
            "tests/learning/models/test_row_sums.py::test_residuals_beyond_their_bound_add_nothing",
        ),
    ),
    Mutant(
        name="residuals are shortened to more than is priced",
        file="discreet/learning/models/rows/row_sums.py",
        old="        shorter = np.sqrt(bound / squares[long]) * _SHORTER",
        new="        shorter = np.sqrt(residual_bound(outputs) / squares[long]) * _SHORTER",
        why="Noise is scaled to the clip, and a row that is badly fitted moves the sum further.",
        caught_by=(
            (
                "tests/learning/models/test_clipped_residuals.py::"
                "test_every_residual_is_shortened_to_its_clip"
            ),
            (
                "tests/learning/models/test_clipped_residuals.py::"
                "test_no_residuals_of_several_classes_are_longer_than_is_priced"
            ),
        ),
    ),
    Mutant(
        name="rows of any length count",
        file="discreet/learning/models/rows/bounded_rows.py",
        old='        odd = ~(np.einsum("ij,ij->i", cells, cells) <= squared)',
        new="        odd = np.zeros(len(cells), bool)",
        why="A row moves sums by more than their noise is scaled to.",
        caught_by=(
            "tests/learning/models/test_row_sums.py::test_rows_that_break_the_bound_add_nothing",
        ),
    ),
    Mutant(
        name="moments off the diagonal weigh more than is priced",
        file="discreet/learning/models/rows/row_sums.py",
        old="MIXED: Final = 41",
        new="MIXED: Final = 42",
        why="A row of two equal entries moves the moments by more than their noise is scaled to.",
        caught_by=(
            "tests/learning/models/test_row_sums.py::test_moments_of_every_small_row_keep_the_bound",
        ),
    ),
    Mutant(
        name="vectors of any length are added to a table",
        file="discreet/learning/models/rows/row_sums.py",
        old="    kept = ~long & (places >= 0) & (places < size)",
        new="    kept = (places >= 0) & (places < size)",
        why="A row moves its place by more than noise is scaled to.",
        caught_by=(
            "tests/learning/models/test_row_sums.py::test_one_row_moves_one_place_of_a_table",
        ),
    ),
    Mutant(
        name="scores are sums of floats",
        file="discreet/learning/models/rows/row_sums.py",
        old="    exact: Floats = (whole.T @ cells.T).T / WEIGHTS",
        new="    exact: Floats = (weights.T @ cells.T).T",
        why="What a row adds depends, in its last bit, on the rows beside it.",
        caught_by=(
            (
                "tests/learning/models/test_row_sums.py::"
                "test_what_a_row_scores_does_not_depend_on_its_neighbors"
            ),
        ),
    ),
    Mutant(
        name="a model in a session is planned for one row of a unit",
        file="discreet/learning/models/session_rows.py",
        old="    return total.most * (1 if request.groups is None else request.groups)",
        new="    return 1",
        why="A person with several rows moves sums several times as far.",
        caught_by=(
            (
                "tests/learning/models/test_session_rows.py::"
                "test_a_unit_beyond_all_limits_moves_sums_by_no_more_than_is_priced"
            ),
            "tests/learning/models/test_session_rows.py::test_a_model_of_a_session",
        ),
    ),
    Mutant(
        name="candidates are tuned by plans for fewer rows",
        file="discreet/learning/tuning/tuned_draw.py",
        old="            if plan.schedule.rows != rows_of_unit(request) or plan.unit != unit:",
        new="            if plan.unit != unit:",
        why="Noise that is scaled to less than a unit can add hides nobody.",
        caught_by=(
            (
                "tests/learning/models/test_session_rows.py::"
                "test_a_candidate_that_is_planned_for_fewer_rows_is_refused"
            ),
        ),
    ),
    Mutant(
        name="tuning costs what one run does",
        file="discreet/learning/tuning/tuning_price.py",
        old="        return (rho * order + mixed + runs) * _UP",
        new="        return (rho * order + runs) * _UP",
        why="The best of many runs tells more than any of them.",
        caught_by=("tests/learning/test_tuning.py::test_golden_prices",),
    ),
    Mutant(
        name="sizes of clusters are printed with the noise of their sums",
        file="discreet/learning/models/k_means.py",
        old="        return self._half_width(SIZES, confidence)",
        new="        return self._half_width(CLUSTERS, confidence, steps=LEVELS)",
        why="Intervals are those of another release.",
        caught_by=(
            "tests/learning/models/test_coverage.py::test_counts_are_off_by_no_more_than_is_printed",
        ),
    ),
    Mutant(
        name="a draw of a posterior is priced at one end of the grid",
        file="discreet/learning/bayes/one_draw.py",
        old="                worst = max(worst, ratio, 1 / ratio)",
        new="                worst = max(worst, ratio) if end == 0 else worst",
        why="At the low end another yes makes a draw less likely, and that tells as much.",
        caught_by=(
            (
                "tests/learning/bayes/test_one_draw.py::"
                "test_the_loss_is_the_largest_ratio_of_all_outcomes"
            ),
        ),
    ),
    Mutant(
        name="a draw of a posterior is charged nothing",
        file="discreet/learning/bayes/one_draw.py",
        old="        return Pure(epsilon=self.epsilon)",
        new="        return Pure(epsilon=0)",
        why="Every draw tells of people.",
        caught_by=(
            (
                "tests/learning/bayes/test_one_draw.py::"
                "test_each_draw_is_charged_its_exact_epsilon_and_a_named_one_comes_back"
            ),
        ),
    ),
    Mutant(
        name="a run of another library is priced at the rate that was typed",
        file="discreet/learning/adoption.py",
        old="    return min(Fraction(1), Fraction(math.ceil(max(exact, short) * _COINS), _COINS))",
        new="    return min(Fraction(1), min(exact, short))",
        why="Coins of short floats show heads more often than that.",
        caught_by=(
            "tests/learning/test_adoption.py::test_coins_of_floats_show_heads_as_often_as_is_priced",
        ),
    ),
    Mutant(
        name="roundings are counted for one micro-batch",
        file="discreet/learning/training_planner.py",
        old="            operations=(cap + size) * positions * rows + 8,",
        new="            operations=size * positions * rows + 8,",
        why="Products of the first one pass the additions of all that follow.",
        caught_by=(
            (
                "tests/learning/test_run_prices.py::"
                "test_roundings_are_counted_over_all_micro_batches"
            ),
        ),
    ),
    Mutant(
        name="sums in float32 are longer than is priced",
        file="discreet/learning/deep/layers/short_sums.py",
        old="ROUNDINGS: Final = _CHUNK + _CHUNKS",
        new="ROUNDINGS: Final = _CHUNKS",
        why="Rounding moves a sum by more than its noise is scaled to.",
        caught_by=(
            ("tests/learning/deep/test_short_sums.py::test_roundings_are_those_of_the_blocks"),
        ),
    ),
    Mutant(
        name="sums in float32 are priced as those in float64",
        file="discreet/learning/private_sum.py",
        old="            error += self._short_error()",
        new="            error += 0",
        why="Rounding moves a sum by more than its noise is scaled to.",
        caught_by=(
            "tests/learning/test_private_sum.py::test_every_part_of_the_slack_counts",
            "tests/learning/deep/test_short_sums.py::test_what_sums_in_float32_cost",
        ),
    ),
    Mutant(
        name="scales are rounded to the nearest float32",
        file="discreet/learning/clipping.py",
        old="    down = np.where(near > cut, np.nextafter(near, np.float32(0)), near)",
        new="    down = near",
        why="A contribution can be longer than its bound.",
        caught_by=(
            ("tests/learning/deep/test_short_sums.py::test_short_scales_are_never_above_their_own"),
        ),
    ),
    Mutant(
        name="positions that cancel are added up in float32",
        file="discreet/learning/deep/layers/linear.py",
        old="each = scales.double().repeat_interleave(self.g.shape[1])",
        new="each = scales.repeat_interleave(self.g.shape[1])",
        why="Rounding is a share of their products, which are longer than their sum.",
        caught_by=(
            (
                "tests/learning/deep/test_short_sums.py::"
                "test_positions_that_cancel_are_added_up_in_float64"
            ),
        ),
    ),
    Mutant(
        name="memory of contributions is used again while somebody holds them",
        file="discreet/learning/deep/layers/room.py",
        old="            self._kept = {}\n        self._users",
        new="            pass\n        self._users",
        why="A unit's vector is scaled by the norm of another one.",
        caught_by=(
            ("tests/learning/deep/test_layer_sums.py::test_parts_that_are_held_keep_their_numbers"),
        ),
    ),
    Mutant(
        name="inputs of layers are told apart by their shapes",
        file="discreet/learning/deep/layers/room.py",
        old="        key = (inputs.data_ptr(), inputs.shape, inputs.stride(), inputs.dtype)",
        new="        key = (inputs.shape, inputs.stride(), inputs.dtype)",
        why="A contribution is clipped by the norm of another layer's.",
        caught_by=(
            (
                "tests/learning/deep/test_layer_sums.py::"
                "test_layers_that_share_an_input_share_its_pairs_in_one_micro_batch_alone"
            ),
        ),
    ),
    Mutant(
        name="a total that cannot be one leaves its run open",
        file="discreet/learning/deep/runs/training_step.py",
        old="            self.charges.close()\n            refuse_unsound(self._sound)",
        new="            refuse_unsound(self._sound)",
        why="The step is taken once more, and paid for once.",
        caught_by=(
            "tests/learning/deep/test_model_state.py::test_a_total_that_cannot_be_one_closes_the_run",
        ),
    ),
    Mutant(
        name="layers that share an input are computed on several streams",
        file="discreet/learning/deep/streams.py",
        old="        key = given.data_ptr()",
        new="        key = id(given)",
        why="A norm is made of products that are not there yet.",
        caught_by=(
            (
                "tests/learning/deep/test_gpu_parts.py::"
                "test_layers_that_share_an_input_are_computed_on_one_stream"
            ),
        ),
    ),
    Mutant(
        name="kernels are trusted",
        file="discreet/learning/deep/layers/wide.py",
        old="    return all(torch.equal(one.isnan(), other.isnan()) and _same(one, other) for one, other in both)",
        new="    return bool(both)",
        why="A product that is rounded otherwise is not the one that the slack covers.",
        caught_by=(
            (
                "tests/learning/deep/test_gpu_parts.py::"
                "test_kernels_that_differ_in_anything_are_left_alone"
            ),
        ),
    ),
)
