"""Mutants of the room ``learning``."""

from __future__ import annotations

from typing import Final

from mutants.mutant import Mutant

_DEPENDS: Final = (
    "tests/learning/deep/test_independence.py::test_what_a_row_must_not_depend_on_is_found"
)
_EMPTY: Final = (
    "tests/learning/deep/test_layers.py::"
    "test_an_empty_place_adds_nothing_whatever_the_model_makes_of_it"
)
_REMEMBERED: Final = (
    "tests/learning/deep/test_memories.py::test_models_that_remember_private_rows_end_the_run"
)
_NOTED: Final = (
    "tests/learning/deep/test_memories.py::test_objectives_that_remember_private_rows_end_the_run"
)
_CACHED: Final = "tests/learning/deep/test_memories.py::test_views_that_are_kept_are_refused"

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
        name="slack counts for one neighbor only",
        file="discreet/learning/private_sum.py",
        old="        return 2 * error + (self.floors - 1)",
        new="        return error + (self.floors - 1)",
        why="Both sums are rounded.",
        caught_by=("tests/learning/test_private_sum.py::test_every_part_of_the_slack_counts",),
    ),
    Mutant(
        name="slack is shown and not priced",
        file="discreet/learning/private_sum.py",
        old="        return self.length + self.slack",
        new="        return self.length",
        why="Noise is scaled to less than a unit moves.",
        caught_by=(
            "tests/learning/test_run_prices.py::test_slack_raises_the_noise_and_seats_do_not",
        ),
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
        file="discreet/learning/deep/coins.py",
        old="    torch.default_generator.set_state(state)\n",
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
        file="discreet/learning/banded_noise.py",
        old="        return self.own and self._next == step",
        new="        return self.own and self._next is not None",
        why="The sum of a step is measured in a block twice, once of each draw.",
        caught_by=(
            "tests/learning/test_banded_noise.py::test_a_step_that_broke_after_its_release_starts_new_blocks",
        ),
    ),
    Mutant(
        name="a forked child goes on from the sums of its parent",
        file="discreet/learning/banded_noise.py",
        old="        return self.own and self._next == step",
        new="        return self._next == step",
        why="It does not begin anew, and shares the parts of its parent.",
        caught_by=(
            (
                "tests/learning/test_broken_runs.py::"
                "test_a_forked_child_that_resumes_puts_units_into_new_parts_and_pays_for_them"
            ),
        ),
    ),
    Mutant(
        name="parts and sums are used in every process",
        file="discreet/learning/banded_noise.py",
        old="        if not self.own:\n",
        new="        if not self._stamp:\n",
        why="Each child measures the same sums once more, in a block that was paid for once.",
        caught_by=(
            "tests/learning/test_broken_runs.py::test_a_forked_child_has_no_share_in_parts_and_sums",
        ),
    ),
    Mutant(
        name="parts and sums are copied",
        file="discreet/learning/banded_noise.py",
        old="    def __reduce_ex__(self, protocol: object) -> NoReturn:\n",
        new="    def _refuse_copies(self, protocol: object) -> NoReturn:\n",
        why="Each copy measures the same sums once more, in a block that was paid for once.",
        caught_by=("tests/learning/test_banded_noise.py::test_parts_and_sums_cannot_be_copied",),
    ),
    Mutant(
        name="steps of banded noise follow any other",
        file="discreet/learning/banded_noise.py",
        old="        if self._sums and self._next != step:\n",
        new="        if self._sums and step < 0:\n",
        why="Two sums of one step, or one that broke off and the next, are measured in one block.",
        caught_by=(
            "tests/learning/test_banded_noise.py::test_sums_are_measured_in_order_and_once",
            (
                "tests/learning/test_banded_noise.py::"
                "test_a_loop_beside_one_that_broke_measures_no_sum_of_it"
            ),
        ),
    ),
    Mutant(
        name="a run begins amid a step of another thread",
        file="discreet/learning/deep/runs/run_loop.py",
        old="        with self._guard:\n            marks = run.begin(lost)\n",
        new="        marks = run.begin(lost)\n",
        why="A step that was drawn from old parts is measured beside those of new ones.",
        caught_by=(
            (
                "tests/learning/test_broken_runs.py::"
                "test_threads_take_the_steps_of_one_run_one_after_another"
            ),
        ),
    ),
    Mutant(
        name="an interrupt amid a step leaves in order",
        file="discreet/learning/deep/runs/run_loop.py",
        old="            if not midway:\n                self._leave(marks)\n",
        new="            self._leave(marks)\n",
        why="A step that may have been seen is drawn once more, and not paid for.",
        caught_by=(
            (
                "tests/learning/test_own_loops.py::"
                "test_ctrl_c_twice_ends_at_once_and_the_step_is_charged_again"
            ),
        ),
    ),
    Mutant(
        name="a stop forgets a step that has ended another process",
        file="discreet/learning/deep/runs/run_progress.py",
        old=(
            "    def _stop(self, marks: Marks) -> None:\n"
            '        """Record how far an attempt has come that draws no more."""\n'
            "        self._unrecorded = marks, self.taken + self._lost\n"
        ),
        new=(
            "    def _stop(self, marks: Marks) -> None:\n"
            '        """Record how far an attempt has come that draws no more."""\n'
            "        self._unrecorded = marks, self.taken\n"
        ),
        why="A row may have ended it, and the next batch is asked for nothing.",
        caught_by=(
            (
                "tests/learning/test_broken_runs.py::"
                "test_a_step_whose_process_has_ended_is_charged_again"
            ),
        ),
    ),
    Mutant(
        name="an attempt that is overtaken while it saves replaces a later checkpoint",
        file="discreet/learning/checkpoint.py",
        old="                check()\n",
        new="",
        why="Steps of the later attempt are lost, and drawn a second time.",
        caught_by=(
            (
                "tests/learning/test_broken_runs.py::"
                "test_an_attempt_that_is_overtaken_while_it_saves_replaces_nothing"
            ),
        ),
    ),
    Mutant(
        name="without a lock any checkpoint is replaced",
        file="discreet/learning/checkpoint.py",
        old="                if not locked and _seal(folder / _FILE) not in {None, over}:\n",
        new="                if not locked and not seal:\n",
        why="Steps of a later attempt are lost, and drawn a second time.",
        caught_by=(
            (
                "tests/learning/test_broken_runs.py::"
                "test_without_a_lock_a_checkpoint_of_somebody_else_stays"
            ),
        ),
    ),
    Mutant(
        name="a checkpoint may be of a step behind the last one",
        file="discreet/learning/deep/runs/run_progress.py",
        old="        if kept is not None and kept.step > self.plan.steps:\n",
        new="        if kept is not None and kept.step < 0:\n",
        why="A run that was charged is on record as ended with weights that nobody trained.",
        caught_by=(
            (
                "tests/learning/test_broken_runs.py::"
                "test_a_checkpoint_that_no_run_writes_is_refused_before_more_is_charged"
            ),
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
        old=(
            "            for worker in workers:\n"
            "                _wait(worker, self._block, number, seconds)\n"
        ),
        new="",
        why="What is not drawn yet is zero.",
        caught_by=("tests/learning/test_noise_ahead.py::test_processes_draw_all_of_an_array",),
    ),
    Mutant(
        name="a mark is written after its steps are drawn",
        file="discreet/learning/deep/runs/run_loop.py",
        old=(
            "                            marks.mark(marked)\n"
            "                        began, midway = time.perf_counter(), True\n"
            "                        self._step_or_leave(noise, marks, update=update)\n"
            "                        run.taken += 1\n"
        ),
        new=(
            "                        began, midway = time.perf_counter(), True\n"
            "                        self._step_or_leave(noise, marks, update=update)\n"
            "                        run.taken += 1\n"
            "                        marks.mark(marked)\n"
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
        old="(inputs, targets, inside), strict=True):\n            static.copy_(value)",
        new="(inputs, targets, self.given[2]), strict=True):\n            static.copy_(value)",
        why="Padding adds to a sum, and rows that are there do not.",
        caught_by=(
            "tests/learning/deep/test_captured.py::test_graphs_give_what_they_replace_for_any_rows_and_masks",
        ),
    ),
    Mutant(
        name="a graph repeats the targets of its first micro-batch",
        file="discreet/learning/deep/captured.py",
        old="(inputs, targets, inside), strict=True):\n            static.copy_(value)",
        new="(inputs, self.given[1], inside), strict=True):\n            static.copy_(value)",
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
        old="zip(mine, theirs, strict=True)",
        new="zip(mine[:-2], theirs[:-2], strict=True)",
        why="Contributions are clipped by norms below their own.",
        caught_by=(
            "tests/learning/deep/test_captured.py::test_graphs_that_differ_or_fail_are_dropped[norm]",
        ),
    ),
    Mutant(
        name="graphs are compared by norms alone",
        file="discreet/learning/deep/captured.py",
        old="    return near and all(same_values(a, b) for a, b in zip(mine, theirs, strict=True))",
        new="    return near is not None and all(map(same_values, mine[-2:], theirs[-2:]))",
        why="What a unit contributes depends on whether a graph was recorded.",
        caught_by=(
            "tests/learning/deep/test_captured.py::test_graphs_that_differ_or_fail_are_dropped[factor]",
        ),
    ),
    Mutant(
        name="graphs are compared on whole micro-batches of finite rows",
        file="discreet/learning/deep/captured.py",
        old="for kind in range(3)]",
        new="for kind in range(1)]",
        why="Who sits beside a unit decides by which kernels it is computed.",
        caught_by=(
            "tests/learning/deep/test_captured.py::test_graphs_that_differ_or_fail_are_dropped[padding]",
            "tests/learning/deep/test_captured.py::test_graphs_that_differ_or_fail_are_dropped[hard rows]",
        ),
    ),
    Mutant(
        name="graphs are recorded once somebody is drawn",
        file="discreet/learning/deep/batch_sums.py",
        old="            self.engine.contributions.prepare(self.data.shapes, rows=count, units=self.micro)\n",
        new="            del count\n",
        why="Whether a batch was empty decides at which weights graphs are compared.",
        caught_by=(
            "tests/learning/deep/test_captured.py::test_graphs_are_recorded_before_anybody_is_drawn",
        ),
    ),
    Mutant(
        name="sums of a graph are not compared",
        file="discreet/learning/deep/captured.py",
        old="    return near and all(",
        new="    return near is not None and all(",
        why="What is added up is not what was clipped.",
        caught_by=(
            "tests/learning/deep/test_captured.py::test_graphs_that_differ_or_fail_are_dropped[sums]",
        ),
    ),
    Mutant(
        name="units that are not finite are added by the graph",
        file="discreet/learning/deep/captured.py",
        old="        if drop:  # rare, and so not recorded",
        new="        if not drop and scales.numel() == 0:",
        why="Zero times infinity is no number, and one row ends the run.",
        caught_by=(
            "tests/learning/deep/test_captured.py::test_graphs_give_what_they_replace_for_any_rows_and_masks",
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
        old="        whole[:, ~bounded] = 0.0",
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
        name="values of a frame decide its type",
        file="discreet/learning/models/rows/given_arrays.py",
        old="    framed = None if isinstance(X, np.ndarray) else frame_matrix(X)",
        new="    framed = None",
        why="A single NULL decides whether a fit is refused or charged.",
        caught_by=(
            "tests/learning/models/test_given_frames.py::test_a_null_beside_a_moment_is_not_charged",
            (
                "tests/learning/models/test_given_frames.py::"
                "test_no_cell_decides_whether_a_frame_is_refused"
            ),
        ),
    ),
    Mutant(
        name="objects of a frame are read before the charge",
        file="discreet/learning/models/rows/given_frames.py",
        old="        return np.asarray(column, object)",
        new="        return np.asarray(column, np.float64)",
        why="A single cell that is no number makes a fit fail before anything is paid.",
        caught_by=(
            "tests/learning/models/test_given_frames.py::test_objects_are_read_after_the_charge",
        ),
    ),
    Mutant(
        name="labels in a frame are turned into one type",
        file="discreet/learning/models/rows/given_arrays.py",
        old="    columns = frame_columns(y)",
        new="    columns = None",
        why="A single missing label makes floats of all, and large ones are no class any more.",
        caught_by=(
            "tests/learning/models/test_given_frames.py::test_labels_in_a_frame_are_taken_as_they_are",
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
        name="a short vector is short in every norm",
        file="discreet/learning/models/rows/row_sums.py",
        old="    if vectors.shape[1] * squared > linear**2:",
        new="    if squared > linear**2:",
        why="Noise that is scaled to an L1 norm hides less than a row adds.",
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
        old="            draw.charged(reads, unit)  # refuses what is planned for less",
        new="            draw.document()",
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
        old="log(max(Fraction(1), upper_end, lower_end))",
        new="log(max(Fraction(1), upper_end))",
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
        old="        loss = Pure(epsilon=self.epsilon * rows)",
        new="        loss = Pure(epsilon=0)",
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
        old="    return lines + _CHUNKS\n",
        new="    return _CHUNKS\n",
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
        old="add_products(totals[self.weight], None, g, a, each)",
        new="add_products(totals[self.weight], None, g, a, each.float(), chunk)",
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
        name="gradients are given back while a stream reads them",
        file="discreet/learning/deep/streams.py",
        old="        self._held += [given, *others]\n",
        new="        self._held += [given]\n",
        why="Another layer writes to the memory of one that is read.",
        caught_by=(
            (
                "tests/learning/deep/test_gpu_parts.py::"
                "test_what_streams_read_is_kept_until_all_have_ended"
            ),
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
    Mutant(
        name="steps are computed under any settings of PyTorch",
        file="discreet/learning/deep/tried_model.py",
        old="        self.settings.check()\n        self.modes",
        new="        self.modes",
        why="How far an example depends on others was measured under the settings at planning.",
        caught_by=(
            "tests/learning/deep/test_model_state.py::test_steps_are_computed_under_the_settings_of_their_plan",
        ),
    ),
    Mutant(
        name="what a model keeps in plain attributes is not looked at",
        file="discreet/learning/deep/model_state.py",
        old="        return next(iter(now), None) or first_difference(self.plain, plain_values(model))",
        new="        return next(iter(now), None)",
        why="A running mean in a Python float carries something of the rows into later steps.",
        caught_by=(
            "tests/learning/deep/test_model_state.py::test_what_plain_attributes_keep_of_private_rows_ends_the_run",
        ),
    ),
    Mutant(
        name="layers may see more positions than were priced",
        file="discreet/learning/deep/factors.py",
        old="most_positions(recorded) > self.positions * units",
        new="most_positions(recorded) < 0",
        why="A sum is rounded more often than its slack has room for.",
        caught_by=(
            "tests/learning/deep/test_model_state.py::test_rounding_is_priced_for_all_positions_there_are",
        ),
    ),
    Mutant(
        name="views follow from the seed of the user",
        file="discreet/learning/deep/coins.py",
        old='    random.seed(int.from_bytes(words[_STATE : 2 * _STATE].tobytes(), "little"))\n',
        new="",
        why="A unit more shifts the views of others, and whoever knows the seed can tell.",
        caught_by=(
            "tests/learning/deep/test_views.py::test_views_do_not_follow_from_any_seed_of_the_user",
        ),
    ),
    Mutant(
        name="views of all units follow each other in one stream",
        file="discreet/learning/deep/augmentation.py",
        old="            for words, places in units:\n                set_streams(_CPU, words)\n",
        new=(
            "            set_streams(_CPU, stream_words(1, self.entropy)[0])\n"
            "            for _, places in units:\n"
        ),
        why="A unit more, or one that takes more coins, shifts the views of those after it.",
        caught_by=(
            (
                "tests/learning/deep/test_coins.py::"
                "test_coins_of_a_seat_are_the_same_whoever_sits_elsewhere"
            ),
        ),
    ),
    Mutant(
        name="micro-batches follow each other in one stream",
        file="discreet/learning/deep/batch_sums.py",
        old=(
            "        for part_rows in self.micro_batches(rows):\n"
            "            x, y, inside = self.data.take(part_rows, self.device)\n"
            "            set_streams(self.device, stream_words(1, entropy)[0])\n"
        ),
        new=(
            "        set_streams(self.device, stream_words(1, entropy)[0])\n"
            "        for part_rows in self.micro_batches(rows):\n"
            "            x, y, inside = self.data.take(part_rows, self.device)\n"
        ),
        why="Without seats a unit more shifts the masks of those after it.",
        caught_by=(
            "tests/learning/deep/test_coins.py::test_micro_batches_of_one_unit_have_coins_of_their_own",
        ),
    ),
    Mutant(
        name="rows that are run one by one follow each other in one stream",
        file="discreet/learning/deep/examples.py",
        old="                set_streams(inputs.device, words)\n",
        new="                del words\n",
        why="A row that takes more coins shifts those of the rows after it.",
        caught_by=(
            (
                "tests/learning/deep/test_coins.py::"
                "test_coins_of_a_seat_are_the_same_whoever_sits_elsewhere"
            ),
        ),
    ),
    Mutant(
        name="coins of PyTorch follow from 32 bits",
        file="discreet/learning/deep/coins.py",
        old="    torch.default_generator.set_state(state)\n",
        new="    torch.default_generator.manual_seed(int(words[0]))\n",
        why="There are few enough seeds to try them all.",
        caught_by=("tests/learning/deep/test_coins.py::test_every_word_of_every_stream_counts",),
    ),
    Mutant(
        name="rows are computed as the data lies",
        file="discreet/learning/deep/batch_sums.py",
        old="            taken.append(row_by_row(chosen))\n",
        new="            taken.append(chosen)\n",
        why="Other strides have other kernels: not those that were tried, nor those of other ranks.",
        caught_by=(
            (
                "tests/learning/deep/test_row_layout.py::"
                "test_sums_do_not_depend_on_the_strides_of_the_data"
            ),
        ),
    ),
    Mutant(
        name="strides along single numbers do not count",
        file="discreet/learning/deep/batch_sums.py",
        old='    if values.stride() == torch.empty(values.shape, device="meta").stride():\n',
        new="    if values.is_contiguous():\n",
        why="PyTorch chooses kernels for images of one channel by them.",
        caught_by=(
            "tests/learning/deep/test_row_layout.py::test_rows_have_the_strides_of_generated_ones",
        ),
    ),
    Mutant(
        name="a step whose process has ended is taken again for nothing",
        file="discreet/learning/deep/runs/run_loop.py",
        old="            self._progress.leave(marks, lost=1)\n",
        new="            self._progress.leave(marks)\n",
        why="A row may have ended it, and the next batch is asked for nothing.",
        caught_by=(
            (
                "tests/learning/deep/test_ranks.py::"
                "test_a_process_that_dies_ends_the_run_and_its_step_is_charged_again"
            ),
            (
                "tests/learning/test_broken_runs.py::"
                "test_a_step_whose_process_has_ended_is_charged_again"
            ),
        ),
    ),
    Mutant(
        name="examples may share a coin",
        file="discreet/learning/deep/independence.py",
        old="    refuse_shared_coins(trial, objective)\n    for",
        new="    for",
        why="Who shares a coin with whom changes when a unit enters, and with it the law of the sum.",
        caught_by=(
            "tests/learning/deep/test_views.py::test_models_whose_examples_share_a_coin_are_refused",
        ),
    ),
    Mutant(
        name="masks may be those of several examples",
        file="discreet/learning/deep/trials/shared_coins.py",
        old="    return along if along == 0 and sizes == (2, 3) else None",
        new="    return along",
        why="Examples that share a mask contribute together.",
        caught_by=(
            "tests/learning/deep/test_views.py::test_masks_of_single_examples_are_told_from_others",
        ),
    ),
    Mutant(
        name="masks of others may move a contribution",
        file="discreet/learning/deep/trials/fixed_masks.py",
        old="                if not _same(one[kept], other[kept]):",
        new="                if one is other:",
        why="Dropout that is given numbers of single rows may still be used for all of them.",
        caught_by=(
            "tests/learning/deep/test_shared_coins.py::test_a_mask_of_one_example_moves_no_other_one",
        ),
    ),
    Mutant(
        name="a coin of Python may be that of all rows",
        file="discreet/learning/deep/trials/shared_coins.py",
        old="    if drawn or own_streams() != before[0]:",
        new="    if drawn:",
        why="vmap runs Python once for a micro-batch, whose examples then contribute together.",
        caught_by=(
            "tests/learning/deep/test_shared_coins.py::test_a_coin_for_all_rows_of_vmap_is_found_however_seldom_it_falls",
        ),
    ),
    Mutant(
        name="generators of modules are not looked at",
        file="discreet/learning/deep/memory/plain_values.py",
        old="        return (_Same(value), _drawn(value)), []",
        new="        return (_Same(value), None), []",
        why="Examples share the coins of a generator that a module holds.",
        caught_by=(
            "tests/learning/deep/test_shared_coins.py::test_a_generator_of_a_module_is_found_when_it_is_used",
        ),
    ),
    Mutant(
        name="slots are not looked at",
        file="discreet/learning/deep/memory/attributes.py",
        old="        with suppress(AttributeError):  # it holds nothing\n",
        new="        with suppress(AttributeError, TypeError):\n            raise TypeError\n",
        why="A list in a slot keeps rows, and a flag in one lets examples mix.",
        caught_by=(
            _REMEMBERED,
            (
                "tests/learning/deep/test_memories.py::"
                "test_a_flag_that_is_set_after_planning_is_refused_before_a_row_is_read"
            ),
        ),
    ),
    Mutant(
        name="closures are not looked at",
        file="discreet/learning/deep/memory/attributes.py",
        old="    if isinstance(code, FunctionType):\n",
        new="    if isinstance(code, partial) and isinstance(code, FunctionType):\n",
        why="A function keeps rows in a list that it finds in its closure.",
        caught_by=(_REMEMBERED, _NOTED),
    ),
    Mutant(
        name="the object of a bound method is not looked at",
        file="discreet/learning/deep/memory/attributes.py",
        old='    "__self__",\n',
        new="",
        why="A trainer whose method is the objective keeps rows.",
        caught_by=(_NOTED,),
    ),
    Mutant(
        name="defaults of arguments are not looked at",
        file="discreet/learning/deep/memory/attributes.py",
        old='    "__kwdefaults__",\n',
        new="",
        why="A list that is the default of an argument keeps rows.",
        caught_by=(_NOTED,),
    ),
    Mutant(
        name="arguments that are bound are not looked at",
        file="discreet/learning/deep/memory/attributes.py",
        old='    "keywords",\n',
        new="",
        why="A list that functools.partial binds keeps rows.",
        caught_by=(_NOTED,),
    ),
    Mutant(
        name="hooks are not looked into",
        file="discreet/learning/deep/memory/attributes.py",
        old="        if hooks := vars(module)[name]:\n",
        new="        if not (hooks := vars(module)[name]):\n",
        why="A hook keeps rows in its closure.",
        caught_by=(_REMEMBERED,),
    ),
    Mutant(
        name="arrays of objects are compared by their addresses",
        file="discreet/learning/deep/memory/plain_values.py",
        old="            if value.dtype.hasobject:\n",
        new="            if value.dtype.hasobject and not value.size:\n",
        why="A list in an array of objects keeps rows.",
        caught_by=(_REMEMBERED, _NOTED),
    ),
    Mutant(
        name="attributes of weights are not looked at",
        file="discreet/learning/deep/memory/plain_values.py",
        old="            elif held := look.held(value):\n",
        new="            elif False and (held := look.held(value)):\n",
        why="A list that is set on a weight keeps rows.",
        caught_by=(_REMEMBERED,),
    ),
    Mutant(
        name="objects that objectives hold are not looked into",
        file="discreet/learning/deep/memory/plain_values.py",
        old="_OBJECTS: Final = 2\n",
        new="_OBJECTS: Final = 1\n",
        why="A meter of a trainer keeps the objectives of private rows.",
        caught_by=(_NOTED,),
    ),
    Mutant(
        name="classes of one name hide each other",
        file="discreet/learning/deep/memory/plain_values.py",
        old=".setdefault((kind.__qualname__, attribute), []).append(look.shown(value))",
        new="[kind.__qualname__, attribute] = [look.shown(value)]",
        why="A flag of the class that is hidden lets examples mix.",
        caught_by=(
            "tests/learning/deep/test_memories.py::test_classes_of_one_name_do_not_hide_each_other",
        ),
    ),
    Mutant(
        name="objectives are not compared at planning",
        file="discreet/learning/deep/tried_model.py",
        old="    refuse_memory(held, objective)\n",
        new="",
        why="A run is paid for, and closed in its first step.",
        caught_by=(
            (
                "tests/learning/deep/test_memories.py::"
                "test_objectives_that_remember_are_refused_at_planning"
            ),
        ),
    ),
    Mutant(
        name="views for other processes are not watched",
        file="discreet/learning/deep/runs/ranks.py",
        old="        with self._sums.nothing_kept():\n            taken",
        new="        if True:\n            taken",
        why="An augment keeps the rows that other processes are sent.",
        caught_by=(
            (
                "tests/learning/deep/test_memories.py::"
                "test_views_of_rows_for_other_processes_are_watched"
            ),
        ),
    ),
    Mutant(
        name="views may be taken from a cache without coins",
        file="discreet/learning/deep/augmentation.py",
        old=" and same_values(view, again) and streams == then",
        new=" and same_values(view, again)",
        why="A unit more decides which views of others are still kept.",
        caught_by=(_CACHED,),
    ),
    Mutant(
        name="one other row lies between the views that are compared",
        file="discreet/learning/deep/augmentation.py",
        old="others[: 2 * seed + 1]",
        new="others[:1]",
        why="A cache of a few rows tosses its coins and hands out what it kept.",
        caught_by=(_CACHED,),
    ),
    Mutant(
        name="a model may be another one after planning",
        file="discreet/learning/deep/tried_model.py",
        old="        self.pinned.check(self.model)\n",
        new="",
        why="A buffer that fades a branch in lets examples mix that did not at planning.",
        caught_by=(
            "tests/learning/deep/test_tried_models.py::test_what_changes_after_planning_is_refused_before_a_row_is_read",
        ),
    ),
    Mutant(
        name="hooks may be added after planning",
        file="discreet/learning/deep/trials/pinned_model.py",
        old="        if code == self.code:",
        new="        if len(code) == len(self.code):",
        why="A hook that takes the mean of a batch lets examples mix.",
        caught_by=(
            "tests/learning/deep/test_tried_models.py::test_what_changes_after_planning_is_refused_before_a_row_is_read",
        ),
    ),
    Mutant(
        name="weights may stay untried",
        file="discreet/learning/deep/independence.py",
        old="    if silent:\n        name = next",
        new="    if not silent and used:\n        name = next",
        why="Training wakes a branch in which examples mix, and nobody has tried it.",
        caught_by=(
            "tests/learning/deep/test_tried_models.py::test_weights_that_nothing_is_contributed_to_are_refused",
        ),
    ),
    Mutant(
        name="weights are moved by one size alone",
        file="discreet/learning/deep/independence.py",
        old="enumerate(_SHAKES, TRIED)",
        new="enumerate(_SHAKES[:1], TRIED)",
        why="Where the moved model is not finite nothing is compared.",
        caught_by=(
            "tests/learning/deep/test_tried_models.py::test_a_shake_that_is_not_finite_is_made_smaller",
        ),
    ),
    Mutant(
        name="models are tried with two tokens",
        file="discreet/learning/deep/trials/tokens.py",
        old="sorted({*range(min(_FIRST, count)), count - 1})",
        new="(0, 1)",
        why="Batches that are cut at another token show what others are.",
        caught_by=(
            "tests/learning/deep/test_tried_models.py::test_rows_that_are_cut_to_the_longest_one_are_found",
        ),
    ),
    Mutant(
        name="checkpoints bring other frozen values",
        file="discreet/learning/deep/runs/run_progress.py",
        old="            self.saved.refuse_other_values(kept)",
        new="            pass",
        why="The model that goes on is not the one that was tried.",
        caught_by=(
            "tests/learning/deep/test_tried_models.py::test_a_checkpoint_with_other_frozen_values_is_refused_before_more_is_charged",
        ),
    ),
    Mutant(
        name="tiny differences count as none",
        file="discreet/learning/deep/trial.py",
        old="    return largest * math.sqrt(float((values / largest).square().sum()))",
        new="    return float(values.square().sum()) ** 0.5",
        why="Squares underflow, and contributions that differ are taken as equal.",
        caught_by=(
            "tests/learning/deep/test_tried_models.py::test_every_difference_counts_however_small",
        ),
    ),
    Mutant(
        name="methods of a classifier may be replaced",
        file="discreet/learning/tuning/evaluation.py",
        old="        if callable(getattr(kind, name, None)):",
        new="        if not callable(kind):",
        why="An answer for one row in view of another moves both counts by any number.",
        caught_by=(
            "tests/learning/models/test_fitting.py::test_a_model_whose_methods_were_replaced_is_not_evaluated",
        ),
    ),
    Mutant(
        name="banded sums go on from a release that broke off",
        file="discreet/learning/banded_noise.py",
        old="        self._step, self._next = step, None\n",
        new="        self._step = step\n",
        why="A sum that is remembered and taken once more is in a band twice, with one noise.",
        caught_by=(
            "tests/learning/test_broken_runs.py::test_a_release_that_breaks_off_is_not_remembered_by_the_next",
        ),
    ),
    Mutant(
        name="scaled moments wrap around",
        file="discreet/learning/models/rows/row_sums.py",
        old="np.clip(square, -_MOST_MOMENT, _MOST_MOMENT)",
        new="square",
        why="Beyond 64 bits the sums of neighbors lie at opposite ends.",
        caught_by=(
            "tests/learning/models/test_row_sums.py::test_moments_of_a_billion_rows_do_not_wrap_around",
        ),
    ),
    Mutant(
        name="products of one size speak for all",
        file="discreet/learning/deep/layers/short_sums.py",
        old="    if not whole_products():\n        return False\n",
        new="",
        why="Libraries drop bits in products of some sizes, where a setting allows it.",
        caught_by=(
            "tests/learning/deep/test_short_sums.py::test_settings_that_may_drop_bits_are_no_full_precision",
        ),
    ),
    Mutant(
        name="spans have no room for what is flushed",
        file="discreet/learning/deep/layers/linear.py",
        old=".sqrt() + LOST for each",
        new=".sqrt() for each",
        why="What counts in a sum and not in its norm is scaled up without a bound.",
        caught_by=(
            "tests/learning/deep/test_layer_sums.py::test_what_one_thread_flushes_and_another_does_not_stays_small",
        ),
    ),
    Mutant(
        name="noise drawn ahead may be copied",
        file="discreet/learning/noise_processes/noise_ahead.py",
        old="    def __reduce_ex__(self, protocol: object) -> NoReturn:",
        new="    def _refused(self, protocol: object) -> NoReturn:",
        why="Both copies hand out the same noise.",
        caught_by=("tests/learning/test_noise_ahead.py::test_nobody_hands_out_copies_of_noise",),
    ),
    Mutant(
        name="rows that are not finite are no companions",
        file="discreet/learning/deep/trial.py",
        old="            for value in _HARD:\n",
        new="            for value in ():\n",
        why="A model in which examples mix only beside such rows is trained.",
        caught_by=(_DEPENDS,),
    ),
    Mutant(
        name="places of a micro-batch are not compared",
        file="discreet/learning/deep/independence.py",
        old="    for place in (trial.units - 1, trial.units // 2):\n",
        new="    for place in ():\n",
        why="Some examples count for more than others, and nobody is told.",
        caught_by=(_DEPENDS,),
    ),
    Mutant(
        name="an empty place is scaled as a taken one",
        file="discreet/learning/deep/batch_sums.py",
        old="most=most, added=extra) * taken\n",
        new="most=most, added=extra)\n",
        why="A unit more moves the sum by its own contribution and by that of an empty place.",
        caught_by=(_EMPTY,),
    ),
    Mutant(
        name="padding of a unit with real rows adds to it",
        file="discreet/learning/deep/factors.py",
        old="_masked(g, real) if shared else g\n",
        new="g\n",
        why="What a unit contributes depends on how many rows others have.",
        caught_by=(_EMPTY,),
    ),
    Mutant(
        name="rows that are not finite are multiplied by zero",
        file="discreet/learning/deep/batch_sums.py",
        old="            drop = not np.isfinite(both).all()\n",
        new="            drop = False\n",
        why="One row makes a sum that is not a number, and everybody sees that it is there.",
        caught_by=(
            (
                "tests/learning/deep/test_layers.py::"
                "test_padding_and_rows_that_are_not_finite_contribute_nothing"
            ),
        ),
    ),
    Mutant(
        name="padding is no company",
        file="discreet/learning/deep/trial.py",
        old="        yield self.batch(None)\n",
        new="",
        why="A unit more decides which seats are padded.",
        caught_by=(_DEPENDS,),
    ),
    Mutant(
        name="companions are replaced beside the first half alone",
        file="discreet/learning/deep/companions.py",
        old="    order = torch.randperm(units, generator=stream)\n",
        new="    order = torch.arange(units)\n",
        why="A companion that matters in another seat is not found.",
        caught_by=(
            (
                "tests/learning/deep/test_independence.py::"
                "test_a_bit_of_any_other_row_is_found_at_any_place"
            ),
        ),
    ),
    Mutant(
        name="a model may be converted between steps",
        file="discreet/learning/deep/tried_model.py",
        old="        self.forms.check(self.model)\n",
        new="",
        why="Other kernels compute the steps than those that were tried.",
        caught_by=(
            (
                "tests/learning/deep/test_model_state.py::"
                "test_steps_are_computed_with_tensors_of_the_form_at_planning"
            ),
        ),
    ),
    Mutant(
        name="nobody looks whether small numbers are flushed",
        file="discreet/learning/deep/number_settings.py",
        old="    return not bool((smallest * 0.5).view(torch.int32))\n",
        new="    return not bool(smallest.view(torch.int32))\n",
        why="Steps are rounded otherwise than what was tried.",
        caught_by=(
            (
                "tests/learning/deep/test_model_state.py::"
                "test_steps_are_computed_under_the_settings_of_their_plan"
            ),
        ),
    ),
    Mutant(
        name="ranks are compared with the weights as they are alone",
        file="discreet/learning/deep/runs/rank_agreement.py",
        old="        with shaken(trial.model):\n            return [*found, trial.whole(TRIED)]\n",
        new="        return found\n",
        why="Behind a layer of zeros any two processes agree.",
        caught_by=(
            "tests/learning/deep/test_ranks.py::test_other_code_behind_a_layer_of_zeros_is_found",
        ),
    ),
    Mutant(
        name="nobody looks behind weights of zero",
        file="discreet/learning/deep/independence.py",
        old="        moves = _wake(trial, silent)",
        new="        moves = _wake(trial, set())",
        why="Examples that mix there do so one step later.",
        caught_by=(
            "tests/learning/deep/test_bad_models.py::test_examples_that_mix_behind_zeros_are_found",
        ),
    ),
    Mutant(
        name="norms are not compared with single gradients",
        file="discreet/learning/deep/independence.py",
        old="        _compare_with_examples(model, objective, trial, coarsest)\n",
        new="",
        why="A norm that is too small lets through more than was paid for.",
        caught_by=(
            (
                "tests/learning/deep/test_independence.py::"
                "test_norms_below_those_of_single_gradients_are_found"
            ),
        ),
    ),
    Mutant(
        name="contributions are not compared with the gradient",
        file="discreet/learning/deep/independence.py",
        old="        _compare_with_autograd(model, objective, trial, coarsest)\n",
        new="",
        why="A weight that is used outside its layer gets a part of its gradient, clipped as all.",
        caught_by=(
            (
                "tests/learning/deep/test_layers.py::"
                "test_models_that_mix_examples_are_refused_with_a_reason"
            ),
        ),
    ),
    Mutant(
        name="a bit that companions move is let through",
        file="discreet/learning/deep/companions.py",
        old="    if worst > 0:\n",
        new="    if worst > GROSS:\n",
        why="Rows whose outputs cancel magnify a bit, so that one unit moves many others.",
        caught_by=(
            "tests/learning/deep/test_independence.py::test_a_bit_that_depends_on_companions_is_refused",
        ),
    ),
    Mutant(
        name="plans do without seats",
        file="discreet/learning/training_plan.py",
        old="        alike = self.micro == 1 and self.one.floors == 1\n",
        new="        alike = self.micro < 256 and self.one.floors == 1\n",
        why="A unit more moves others to places where they are rounded otherwise.",
        caught_by=(
            (
                "tests/learning/test_run_prices.py::"
                "test_every_plan_has_a_seat_for_each_unit_of_a_batch"
            ),
            (
                "tests/learning/deep/test_seated_runs.py::"
                "test_places_that_no_generated_row_shows_move_nothing"
            ),
        ),
    ),
    Mutant(
        name="several processes need no seats",
        file="discreet/learning/training_plan.py",
        old="        alike = self.micro == 1 and self.one.floors == 1\n",
        new="        alike = self.micro == 1\n",
        why="A unit more moves others to a process that rounds otherwise.",
        caught_by=(
            (
                "tests/learning/test_run_prices.py::"
                "test_several_processes_have_seats_even_for_one_unit_at_a_time"
            ),
        ),
    ),
    Mutant(
        name="units that need seats have none",
        file="discreet/learning/deep/runs/training_step.py",
        old="        if self.plan.seats:\n",
        new="        if self.plan.seats < 0:\n",
        why="A unit more moves others to places where they are rounded otherwise.",
        caught_by=(
            "tests/learning/deep/test_seated_runs.py::test_a_unit_moves_no_other_one",
            (
                "tests/learning/deep/test_seated_runs.py::"
                "test_mixtures_over_all_seats_are_dominated_by_one_contribution"
            ),
        ),
    ),
    Mutant(
        name="seats are shuffled among those that are taken",
        file="discreet/learning/seats.py",
        old="    found[shuffled(seats, entropy)[: rows.shape[0]]] = rows",
        new="    found[: rows.shape[0]] = rows[shuffled(rows.shape[0], entropy)]",
        why="A unit more opens a seat that the others had no chance of.",
        caught_by=(
            "tests/learning/test_seats.py::test_a_unit_more_leaves_all_others_in_their_seats",
        ),
    ),
    Mutant(
        name="the first seats are taken first",
        file="discreet/learning/seats.py",
        old="    found[shuffled(seats, entropy)[: rows.shape[0]]] = rows",
        new="    found[: rows.shape[0]] = rows",
        why="A unit more moves others to places where they are rounded otherwise.",
        caught_by=("tests/learning/test_seats.py::test_every_choice_of_seats_has_the_same_chance",),
    ),
    Mutant(
        name="equal words are sorted as they come",
        file="discreet/learning/seats.py",
        old="        if not (ranked[1:] == ranked[:-1]).any():\n",
        new="        if len(ranked):\n",
        why="Some orders are more frequent than others.",
        caught_by=("tests/learning/test_seats.py::test_every_choice_of_seats_has_the_same_chance",),
    ),
    Mutant(
        name="noise drawn ahead goes on after an interrupt",
        file="discreet/learning/noise_processes/noise_ahead.py",
        old="            except BaseException:\n                self.close()\n                raise\n",
        new="            except BaseException:\n                self._midway = False\n                raise\n",
        why="A block is asked for twice, or passed over: its noise is zero, or was used before.",
        caught_by=("tests/learning/test_noise_ahead.py::test_an_interrupt_closes_it_for_good",),
    ),
    Mutant(
        name="an answer to any request is one",
        file="discreet/learning/noise_processes/noise_ahead.py",
        old="    if worker.heard(len(answer), seconds=seconds) != answer:\n",
        new="    if len(worker.heard(len(answer), seconds=seconds)) != len(answer):\n",
        why="A block is handed out that is not drawn yet.",
        caught_by=(
            "tests/learning/test_noise_ahead.py::test_an_answer_to_another_request_is_none",
        ),
    ),
    Mutant(
        name="a noise process that stands still is waited for",
        file="discreet/learning/noise_processes/noise_process.py",
        old="            if any(said.poll(1000) for _ in range(seconds)):\n",
        new="            if any(said.poll(1000) for _ in range(seconds * 20)):\n",
        why="A run waits without end, and nobody is told.",
        caught_by=(
            "tests/learning/test_noise_ahead.py::test_a_process_that_stands_still_ends_the_run",
        ),
    ),
    Mutant(
        name="a forked child keeps the pipe of a noise process",
        file="discreet/learning/noise_processes/noise_process.py",
        old='        """Leave it to the parent."""\n        self._close_pipes()\n',
        new='        """Leave it to the parent."""\n',
        why="The process outlives a run that was killed, as long as any child of it lives.",
        caught_by=(
            "tests/learning/test_noise_ahead.py::test_a_process_ends_with_its_reader_whatever_that_has_forked",
        ),
    ),
    Mutant(
        name="a block is drawn again out of turn",
        file="discreet/learning/noise_processes/noise_worker.py",
        old="        if number != served:\n",
        new="        if number < 0:\n",
        why="Noise that is in use is overwritten by zeros.",
        caught_by=(
            "tests/learning/test_noise_ahead.py::test_a_process_draws_nothing_for_a_request_out_of_turn",
        ),
    ),
    Mutant(
        name="an attempt goes by the mark of the first one",
        file="discreet/learning/marks.py",
        old="    marked = max(drawn, default=0)\n",
        new="    marked = min(drawn, default=0)\n",
        why="What a later attempt has lost is drawn again, and not paid for.",
        caught_by=(
            "tests/learning/test_lost_steps.py::test_what_is_drawn_was_charged_and_each_crash_is_paid_for_once",
        ),
    ),
    Mutant(
        name="whoever resumes from one step pays for one crash alone",
        file="discreet/learning/run_charges.py",
        old='                key=f"{plan.key}/resume-{since}-{steps}",\n',
        new='                key=f"{plan.key}/resume-{steps}",\n',
        why="A second crash that loses as many steps is taken for the first, and is free.",
        caught_by=(
            "tests/learning/test_lost_steps.py::test_what_is_drawn_was_charged_and_each_crash_is_paid_for_once",
        ),
    ),
)
