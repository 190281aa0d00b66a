"""Mutants of the room ``torch``."""

from __future__ import annotations

from typing import Final

from mutants.mutant import Mutant

_DEPENDS: Final = "tests/torch/test_independence.py::test_what_a_row_must_not_depend_on_is_found"
_EMPTY: Final = (
    "tests/torch/test_layers.py::test_an_empty_place_adds_nothing_whatever_the_model_makes_of_it"
)

MUTANTS: Final = (
    Mutant(
        name="products of a unit may add up to anything",
        file="discreet/torch/clipping.py",
        old="            scales = np.minimum(most, np.minimum(by_norm, by_span))",
        new="            scales = np.minimum(most, by_norm)",
        why="Large products that cancel leave an error of rounding that no slack covers.",
        caught_by=(
            "tests/torch/test_private_sum.py::test_products_that_cancel_stay_within_the_spread",
        ),
    ),
    Mutant(
        name="slack is shown and not priced",
        file="discreet/torch/private_sum.py",
        old="        return self.length + self.slack",
        new="        return self.length",
        why="Noise is scaled to less than a unit moves.",
        caught_by=("tests/torch/test_run_prices.py::test_slack_raises_the_noise",),
    ),
    Mutant(
        name="what lies beside a sum is free",
        file="discreet/torch/private_sum.py",
        old="        if not self.beside:\n",
        new="        if self.beside <= 9:\n",
        why="A unit moves two things, and pays for one.",
        caught_by=("tests/torch/test_run_prices.py::test_price_of_counts_beside_the_sum",),
    ),
    Mutant(
        name="contributions are counted by a jump at the threshold",
        file="discreet/torch/side_counts.py",
        old="        cut = np.clip(2.0 - 2.0 * ratios, -1.0, 1.0)",
        new="        cut = np.where(ratios <= 1, 1.0, -1.0)",
        why="A norm beside its threshold falls on either side in other company.",
        caught_by=(
            "tests/torch/test_side_counts.py::test_a_ramp_moves_by_no_more_than_its_steepness",
        ),
    ),
    Mutant(
        name="objectives above their bound count in full",
        file="discreet/torch/side_counts.py",
        old="            cut = np.clip(2 * values / float_down(self.most) - 1, -1.0, 1.0)",
        new="            cut = np.maximum(2 * values / float_down(self.most) - 1, -1.0)",
        why="A unit moves the mean objective by more than is priced.",
        caught_by=("tests/torch/test_side_counts.py::test_nothing_adds_more_than_the_weight",),
    ),
    Mutant(
        name="views are added up and not averaged",
        file="discreet/torch/arguments.py",
        old="Clipping(bound=share), float_down(views * threshold)))",
        new="Clipping(bound=share), float_down(threshold)))",
        why="It costs accuracy alone, and the mean is what is promised.",
        caught_by=("tests/torch/test_views.py::test_a_unit_contributes_the_mean_of_its_views",),
    ),
    Mutant(
        name="banded sums are priced as if each was measured once",
        file="discreet/torch/banded_noise.py",
        old="        return self.length * steps * one.grid.step",
        new="        return steps * one.grid.step",
        why="A unit moves all measurements of its block.",
        caught_by=(
            "tests/torch/test_banded_noise.py::test_a_unit_moves_disjoint_blocks_by_no_more_than_is_priced",
            "tests/torch/test_banded_noise.py::test_the_price_is_that_of_fewer_releases_at_a_longer_distance",
        ),
    ),
    Mutant(
        name="every step of a band draws from all units",
        file="discreet/torch/banded_noise.py",
        old="        members = np.flatnonzero(self._parts == step % self._band.width)",
        new="        members = np.arange(self._parts.size)",
        why="Blocks of one unit overlap, and move the same measurements twice.",
        caught_by=(
            "tests/torch/test_banded_noise.py::test_units_take_turns_and_every_part_is_equally_likely",
            "tests/torch/test_banded_noise.py::test_nobody_is_drawn_more_often_than_was_charged",
        ),
    ),
    Mutant(
        name="new parts in the middle of a round are free",
        file="discreet/torch/marks.py",
        old="        turned = at % self._plan.band.width if fresh and at < self._plan.steps else 0",
        new="        turned = 0",
        why="A unit is drawn once more than was paid for.",
        caught_by=(
            "tests/torch/test_banded_noise.py::test_nobody_is_drawn_more_often_than_was_charged",
        ),
    ),
    Mutant(
        name="steps of banded noise follow any other",
        file="discreet/torch/banded_noise.py",
        old="        if self._sums and self._next != step:\n",
        new="        if self._sums and step < 0:\n",
        why="Two sums of one step, or one that broke off and the next, are measured in one block.",
        caught_by=(
            "tests/torch/test_banded_noise.py::test_sums_are_measured_in_order_and_once",
            (
                "tests/torch/test_banded_noise.py::"
                "test_a_loop_beside_one_that_broke_measures_no_sum_of_it"
            ),
        ),
    ),
    Mutant(
        name="a total is rounded to the nearest cell",
        file="discreet/torch/noisy_sum.py",
        old="    cells = (total / float(one.grid.step)).floor_()",
        new="    cells = (total / float(one.grid.step)).round_()",
        why="Ties go to even cells, two apart for a distance of one; floors are what is priced.",
        caught_by=(
            "tests/torch/test_layers.py::test_the_release_on_a_device_is_that_of_the_kernel",
        ),
    ),
    Mutant(
        name="the bias is left out of the norm",
        file="discreet/torch/layers.py",
        old="        one = 0.0 if bias is None else 1.0",
        new="        one = 0.0",
        why="Small inputs with large gradients are scaled up, bias and all.",
        caught_by=(
            "tests/torch/test_layers.py::test_contributions_are_the_gradients_of_single_units",
            "tests/torch/test_layers.py::test_neighbors_differ_by_at_most_what_is_priced",
        ),
    ),
    Mutant(
        name="every group of parameters may add as much as all",
        file="discreet/torch/arguments.py",
        old="        share = Fraction(1) if len(groups) == 1 else threshold / length",
        new="        share = Fraction(1)",
        why="Two groups together move the sum by the root of two times what is priced.",
        caught_by=(
            "tests/torch/test_training.py::test_long_contributions_fill_the_share_of_each_group",
        ),
    ),
    Mutant(
        name="batches are not cut to the cap",
        file="discreet/torch/sampling.py",
        old="        return np.flatnonzero(heads)[: self.cap]",
        new="        return np.flatnonzero(heads)",
        why="Rounding of the sum was priced for so many units and no more.",
        caught_by=(
            "tests/torch/test_sampling.py::test_a_capped_batch_is_the_first_units_of_a_batch",
        ),
    ),
    Mutant(
        name="the cap is priced for one step",
        file="discreet/torch/sampling.py",
        old="    return min(Fraction(1), times * Fraction(1, 2 ** max(0, int(exponent / two))))",
        new="    return min(Fraction(1), Fraction(1, 2 ** max(0, int(exponent / two))))",
        why="Every step may exceed it.",
        caught_by=("tests/torch/test_sampling.py::test_every_step_may_exceed_the_cap",),
    ),
    Mutant(
        name="the cap is not priced",
        file="discreet/torch/private_sum.py",
        old="    if not overflow:\n        return every\n",
        new="    if overflow < 1:\n        return every\n",
        why="Where others fill the cap, one unit drops another.",
        caught_by=("tests/torch/test_run_prices.py::test_a_batch_above_its_cap_is_paid_for",),
    ),
    Mutant(
        name="all rows of a unit count",
        file="discreet/torch/sampling.py",
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
            "tests/torch/test_sampling.py::test_rows_of_units_are_their_first_ones_in_order",
        ),
    ),
    Mutant(
        name="the noise of one step is used for all",
        file="discreet/torch/loop.py",
        old="                    drawn = noise.take()\n",
        new=(
            "                    self._reused = getattr(self, '_reused', None)\n"
            "                    self._reused = (\n"
            "                        noise.take() if self._reused is None else self._reused\n"
            "                    )\n"
            "                    drawn = self._reused\n"
        ),
        why="The difference of two steps has no noise.",
        caught_by=(
            "tests/torch/test_training.py::test_a_kill_beside_any_write_draws_no_more_than_was_charged",
        ),
    ),
    Mutant(
        name="steps that were lost are drawn again for free",
        file="discreet/torch/marks.py",
        old="        if max(again, 0) + turned > 0:\n",
        new="        if max(again, 0) + turned > self._plan.steps:\n",
        why="Two noisy sums were seen, and one was paid for.",
        caught_by=("tests/torch/test_training.py::test_steps_that_were_lost_are_charged_again",),
    ),
    Mutant(
        name="two processes go on with one run",
        file="discreet/torch/marks.py",
        old="        if since.attempts > self._attempt:",
        new="        if since.attempts > self._attempt + 1:",
        why="Both draw the same steps, and one of them is paid for.",
        caught_by=(
            "tests/torch/test_training.py::test_of_two_resumes_of_one_copy_the_first_is_fenced",
        ),
    ),
    Mutant(
        name="a checkpoint of another run is taken up",
        file="discreet/torch/progress.py",
        old="        if found.run != run:",
        new="        if len(found.run) != len(run):",
        why="Its step says that steps of this run were drawn, and its weights are of other data.",
        caught_by=(
            "tests/torch/test_training.py::test_checkpoints_of_other_runs_and_torn_ones_are_refused",
        ),
    ),
    Mutant(
        name="the step of a checkpoint is not under its digest",
        file="discreet/torch/progress.py",
        old="        if digest != hashlib.sha256(body).digest():",
        new="        if not body:",
        why="A flipped bit in the step makes a run skip steps, or charge other ones again.",
        caught_by=(
            "tests/torch/test_broken_runs.py::test_a_flipped_bit_anywhere_in_a_checkpoint_is_found",
        ),
    ),
    Mutant(
        name="a graph repeats the mask of its first micro-batch",
        file="discreet/torch/graphs.py",
        old="(inputs, targets, inside), strict=True):\n            static.copy_(value)",
        new="(inputs, targets, self.given[2]), strict=True):\n            static.copy_(value)",
        why="Padding adds to a sum, and rows that are there do not.",
        caught_by=(
            "tests/torch/test_captured.py::test_graphs_give_what_they_replace_for_any_rows_and_masks",
        ),
    ),
    Mutant(
        name="a graph repeats the targets of its first micro-batch",
        file="discreet/torch/graphs.py",
        old="(inputs, targets, inside), strict=True):\n            static.copy_(value)",
        new="(inputs, self.given[1], inside), strict=True):\n            static.copy_(value)",
        why="A model learns targets of other rows, and a row that has left a batch still counts.",
        caught_by=(
            "tests/torch/test_captured.py::test_graphs_give_what_they_replace_for_any_rows_and_masks",
        ),
    ),
    Mutant(
        name="a graph goes on with weights that have moved",
        file="discreet/torch/graphs.py",
        old="(tensor.data_ptr(), tensor.requires_grad) for tensor in tensors",
        new="(tensor.numel(), tensor.requires_grad) for tensor in tensors",
        why="It computes with memory that is no longer the model's.",
        caught_by=(
            "tests/torch/test_captured.py::test_graphs_are_recorded_again_where_anything_has_changed[moved]",
        ),
    ),
    Mutant(
        name="units that are not finite are added by the graph",
        file="discreet/torch/graphs.py",
        old="        if drop:  # rare, and so not recorded",
        new="        if not drop and scales.numel() == 0:",
        why="Zero times infinity is not a number, and one row ends the run.",
        caught_by=(
            "tests/torch/test_captured.py::test_graphs_give_what_they_replace_for_any_rows_and_masks",
        ),
    ),
    Mutant(
        name="hooks that come later are passed over",
        file="discreet/torch/graphs.py",
        old="            and not module._forward_hooks  # noqa: SLF001\n",
        new="",
        why="A graph does not call them, and nobody is told.",
        caught_by=("tests/torch/test_captured.py::test_a_hook_that_comes_later_is_called",),
    ),
    Mutant(
        name="samples that are told cost nothing",
        file="discreet/torch/adoption.py",
        old="            told = Approximate(epsilon=0, delta=rate)",
        new="            told = Approximate(epsilon=0, delta=rate / steps)",
        why="Each step reveals anyone who is in its sample.",
        caught_by=(
            "tests/torch/test_adoption.py::test_a_run_without_noise_to_speak_of_is_priced_by_its_samples",
        ),
    ),
    Mutant(
        name="a run of another library is priced at the rate that was typed",
        file="discreet/torch/adoption.py",
        old="    return min(Fraction(1), Fraction(math.ceil(max(exact, short) * _COINS), _COINS))",
        new="    return min(Fraction(1), min(exact, short))",
        why="Coins of short floats show heads more often than that.",
        caught_by=(
            "tests/torch/test_adoption.py::test_coins_of_floats_show_heads_as_often_as_is_priced",
        ),
    ),
    Mutant(
        name="roundings are counted for one micro-batch",
        file="discreet/torch/training_plan.py",
        old="operations=2 * cap * positions * rows + 8,",
        new="operations=2 * size * positions * rows + 8,",
        why="Products of the first one pass the additions of all that follow.",
        caught_by=(
            ("tests/torch/test_run_prices.py::test_roundings_are_counted_over_all_micro_batches"),
        ),
    ),
    Mutant(
        name="sums in float32 are longer than is priced",
        file="discreet/torch/layer_parts.py",
        old="    return lines + _CHUNKS\n",
        new="    return _CHUNKS\n",
        why="Rounding moves a sum by more than its noise is scaled to.",
        caught_by=(("tests/torch/test_short_sums.py::test_roundings_are_those_of_the_blocks"),),
    ),
    Mutant(
        name="sums in float32 are priced as those in float64",
        file="discreet/torch/private_sum.py",
        old="            error += self._short_error()",
        new="            error += 0",
        why="Rounding moves a sum by more than its noise is scaled to.",
        caught_by=(
            "tests/torch/test_private_sum.py::test_every_part_of_the_slack_counts",
            "tests/torch/test_short_sums.py::test_what_sums_in_float32_cost",
        ),
    ),
    Mutant(
        name="scales are rounded to the nearest float32",
        file="discreet/torch/clipping.py",
        old="    down = np.where(near > cut, np.nextafter(near, np.float32(0)), near)",
        new="    down = near",
        why="A contribution can be longer than its bound.",
        caught_by=(
            ("tests/torch/test_short_sums.py::test_short_scales_are_never_above_their_own"),
        ),
    ),
    Mutant(
        name="positions that cancel are added up in float32",
        file="discreet/torch/layers.py",
        old="add_products(totals[self.weight], None, g, a, each)",
        new="add_products(totals[self.weight], None, g, a, each.float(), chunk)",
        why="Rounding is a share of their products, which are longer than their sum.",
        caught_by=(
            ("tests/torch/test_short_sums.py::test_positions_that_cancel_are_added_up_in_float64"),
        ),
    ),
    Mutant(
        name="memory of contributions is used again while somebody holds them",
        file="discreet/torch/layer_parts.py",
        old="            self._kept = {}\n        self._users",
        new="            pass\n        self._users",
        why="A unit's vector is scaled by the norm of another one.",
        caught_by=(
            ("tests/torch/test_layer_sums.py::test_parts_that_are_held_keep_their_numbers"),
        ),
    ),
    Mutant(
        name="inputs of layers are distinguished by their shapes",
        file="discreet/torch/layer_parts.py",
        old="        key = (inputs.data_ptr(), inputs.shape, inputs.stride(), inputs.dtype)",
        new="        key = (inputs.shape, inputs.stride(), inputs.dtype)",
        why="A contribution is clipped by the norm of another layer's.",
        caught_by=(
            (
                "tests/torch/test_layer_sums.py::"
                "test_layers_that_share_an_input_share_its_pairs_in_one_micro_batch_alone"
            ),
        ),
    ),
    Mutant(
        name="layers may see more positions than were priced",
        file="discreet/torch/per_example.py",
        old="most_positions(recorded) > self.positions * units",
        new="most_positions(recorded) < 0",
        why="A sum is rounded more often than its slack has room for.",
        caught_by=(
            "tests/torch/test_model_state.py::test_rounding_is_priced_for_all_positions_there_are",
        ),
    ),
    Mutant(
        name="banded sums go on from a release that broke off",
        file="discreet/torch/banded_noise.py",
        old="        self._step, self._next = step, None\n",
        new="        self._step = step\n",
        why="A sum that is remembered and taken once more is in a band twice, with one noise.",
        caught_by=(
            "tests/torch/test_broken_runs.py::test_a_release_that_breaks_off_is_not_remembered_by_the_next",
        ),
    ),
    Mutant(
        name="spans have no room for what is flushed",
        file="discreet/torch/layers.py",
        old=".sqrt() + LOST for each",
        new=".sqrt() for each",
        why="What counts in a sum and not in its norm is scaled up without a bound.",
        caught_by=(
            "tests/torch/test_layer_sums.py::test_what_one_thread_flushes_and_another_does_not_stays_small",
        ),
    ),
    Mutant(
        name="an empty place is scaled as a taken one",
        file="discreet/torch/noisy_sum.py",
        old="most=most, added=extra) * taken\n",
        new="most=most, added=extra)\n",
        why="A unit more moves the sum by its own contribution and by that of an empty place.",
        caught_by=(_EMPTY,),
    ),
    Mutant(
        name="padding of a unit with real rows adds to it",
        file="discreet/torch/per_example.py",
        old="_masked(g, real) if shared else g\n",
        new="g\n",
        why="What a unit contributes depends on how many rows others have.",
        caught_by=(_EMPTY,),
    ),
    Mutant(
        name="rows that are not finite are multiplied by zero",
        file="discreet/torch/noisy_sum.py",
        old="            drop = not np.isfinite(both).all()\n",
        new="            drop = False\n",
        why="One row makes a sum that is not a number, and everybody sees that it is there.",
        caught_by=(
            (
                "tests/torch/test_layers.py::"
                "test_padding_and_rows_that_are_not_finite_contribute_nothing"
            ),
        ),
    ),
    Mutant(
        name="an attempt goes by the mark of the first one",
        file="discreet/torch/marks.py",
        old="    marked = max(drawn, default=0)\n",
        new="    marked = min(drawn, default=0)\n",
        why="What a later attempt has lost is drawn again, and not paid for.",
        caught_by=(
            "tests/torch/test_lost_steps.py::test_what_is_drawn_was_charged_and_each_crash_is_paid_for_once",
        ),
    ),
    Mutant(
        name="anyone who resumes from one step pays for one crash alone",
        file="discreet/torch/marks.py",
        old='                key=f"{plan.key}/resume-{since}-{steps}",\n',
        new='                key=f"{plan.key}/resume-{steps}",\n',
        why="A second crash that loses as many steps is taken for the first, and is free.",
        caught_by=(
            "tests/torch/test_lost_steps.py::test_what_is_drawn_was_charged_and_each_crash_is_paid_for_once",
        ),
    ),
    Mutant(
        name="slack counts for one neighbor only",
        file="discreet/torch/private_sum.py",
        old="        return 2 * error + Fraction(1, 1 << 200)",
        new="        return error + Fraction(1, 1 << 200)",
        why="Both sums are rounded.",
        caught_by=("tests/torch/test_private_sum.py::test_every_part_of_the_slack_counts",),
    ),
    Mutant(
        name="masks follow from the seed of the user",
        file="discreet/torch/rows.py",
        old="        torch.set_rng_state(state)\n        yield",
        new="        torch.manual_seed(0)\n        yield",
        why="Whoever knows the seed tells from the masks of others that a unit is there.",
        caught_by=(
            "tests/torch/test_views.py::test_masks_do_not_follow_from_the_seed_of_the_user",
        ),
    ),
    Mutant(
        name="a mark is written after its steps are drawn",
        file="discreet/torch/loop.py",
        old="                        marks.mark(marked)\n",
        new="",
        why="A run that is killed has drawn steps that nobody is charged for.",
        caught_by=("tests/torch/test_kills.py::test_a_run_writes_in_the_order_that_is_proved",),
    ),
    Mutant(
        name="a total that cannot be one leaves its run open",
        file="discreet/torch/loop.py",
        old="            self.progress.close()\n            refuse_unsound(sound)",
        new="            refuse_unsound(sound)",
        why="The step would be taken once more, and paid for once.",
        caught_by=(
            ("tests/torch/test_model_state.py::test_a_total_that_cannot_be_one_closes_the_run"),
        ),
    ),
    Mutant(
        name="a forked child goes on with the run of its parent",
        file="discreet/torch/progress.py",
        old="        if self._process != os.getpid():",
        new="        if False:",
        why="Both draw steps under one attempt, and one of them is paid for.",
        caught_by=(
            "tests/torch/test_broken_runs.py::test_a_forked_child_takes_no_step_of_its_parent",
        ),
    ),
    Mutant(
        name="half of a micro-batch may move the other half",
        file="discreet/torch/trial.py",
        old="shares = _share(one[chosen], other[chosen]), _share(one, third.flip(0))",
        new="shares = 0.0, _share(one, third.flip(0))",
        why="Examples that mix are let through, and clipping bounds nothing.",
        caught_by=(_DEPENDS,),
    ),
    Mutant(
        name="places of a micro-batch may matter",
        file="discreet/torch/trial.py",
        old="shares = _share(one[chosen], other[chosen]), _share(one, third.flip(0))",
        new="shares = _share(one[chosen], other[chosen]), 0.0",
        why="A unit more moves what all behind it contribute.",
        caught_by=(_DEPENDS,),
    ),
    Mutant(
        name="nobody looks behind weights of zero",
        file="discreet/torch/trial.py",
        old="_SHAKES: Final = (0.0, 0.02)",
        new="_SHAKES: Final = (0.0,)",
        why="One step later the zeros are gone, and examples mix.",
        caught_by=(
            "tests/torch/test_bad_models.py::test_examples_that_mix_behind_zeros_are_found",
        ),
    ),
    Mutant(
        name="buffers may be written to",
        file="discreet/torch/trial.py",
        old="    _refuse_writes(writes, model)\n",
        new="",
        why="Running statistics of private rows leave without noise.",
        caught_by=("tests/torch/test_independence.py::test_buffers_that_are_written_to_are_found",),
    ),
    Mutant(
        name="an attempt that is overtaken while it saves replaces a later checkpoint",
        file="discreet/torch/progress.py",
        old="            check()\n",
        new="",
        why="Steps of the later attempt are lost, and charged again.",
        caught_by=(
            (
                "tests/torch/test_broken_runs.py::"
                "test_an_attempt_that_is_overtaken_while_it_saves_replaces_nothing"
            ),
        ),
    ),
)
