"""Mistakes that libraries for private training have made, and the tests that would show them here.

``TRAPS`` names for each of them at least one test; that the named tests exist is a test itself.
Mistakes that no other file has a test for are tried out below.
"""

import ast
import io
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import discreet as dp
from discreet.accounting import Budget
from discreet.errors import OutOfRange
from discreet.learning import Training
from discreet.learning.checkpoint import Checkpoint
from discreet.learning.deep import training_run
from discreet.ledger import Ledger

TRAPS = {
    # how batches are drawn
    "the rate is read off a loader that draws otherwise": [
        "test_training.py::test_bad_input_is_refused_before_anything_is_spent"
    ],
    "fixed or shuffled batches are priced as Poisson samples": [
        "test_training_audits.py::test_shuffled_batches_tell_more_than_poisson_samples",
        "test_training_audits.py::test_every_broken_twin_is_above_its_claim",
    ],
    "coins are floats below a rate": [
        "test_sampling.py::test_every_unit_enters_by_itself_with_just_that_chance",
        "test_adoption.py::test_coins_of_floats_show_heads_as_often_as_is_priced",
    ],
    "an empty batch fails, or is passed over": [
        "test_private_sum.py::test_an_empty_batch_is_released_as_noise",
        "test_training.py::test_empty_data_and_rows_that_are_not_finite_train_on",
        "test_traps.py::test_steps_without_anybody_are_released_like_any_other",
    ],
    "a large batch is cut for nothing": [
        "test_sampling.py::test_a_cap_that_is_not_priced_is_a_loss",
        "test_run_prices.py::test_a_batch_above_its_cap_is_paid_for",
    ],
    # what a unit contributes
    "norm and gradient are padded differently": [
        "deep/test_layers.py::test_other_padding_is_differentiated_example_by_example_and_stays_within_the_bound"
    ],
    "the bias is left out of the norm": [
        "deep/test_layers.py::test_a_norm_that_leaves_the_bias_out_breaks_the_bound",
        "test_training_audits.py::test_a_bias_left_out_of_the_norm_tells_more",
    ],
    "a weight is read outside its layer": [
        "deep/test_independence.py::test_contributions_that_are_not_the_gradient_are_found"
    ],
    "a weight is shared": [
        "deep/test_bad_models.py::test_shared_weights_are_differentiated_example_by_example"
    ],
    "batches that are accumulated are clipped together": [
        "deep/test_layers.py::test_micro_batches_agree_within_the_slack"
    ],
    "examples mix in the model or in the objective": [
        "deep/test_layers.py::test_models_that_mix_examples_are_refused_with_a_reason",
        "deep/test_independence.py::test_what_a_row_must_not_depend_on_is_found",
        "deep/test_layers.py::test_objectives_that_mix_examples_are_refused",
        "deep/test_layers.py::test_no_target_changes_what_another_row_contributes",
    ],
    "modules silently do not learn": [
        "test_traps.py::test_every_trainable_parameter_learns",
        "deep/test_mistakes.py::test_parameters_that_nobody_updates_are_named_before_the_charge",
        "deep/test_layers.py::test_contributions_are_the_gradients_of_single_units",
    ],
    "contributions are not clipped": [
        "test_run_audits.py::test_canaries_of_broken_runs_tell_more",
        "test_private_sum.py::test_sums_without_clipping_break_the_distance",
    ],
    # noise
    "noise of the sum is put on the mean": [
        "test_training_audits.py::test_every_broken_twin_is_above_its_claim",
        "test_run_audits.py::test_canaries_of_broken_runs_tell_more",
    ],
    "noise is split over ranks": [
        "test_training_audits.py::test_every_broken_twin_is_above_its_claim",
    ],
    "the divisor is the length of the batch": [
        "test_training_audits.py::test_a_divisor_from_the_batch_tells_more_than_is_priced",
        "test_traps.py::test_the_divisor_is_declared_and_not_counted",
    ],
    "low bits of a noisy sum tell of the sum": [
        "test_traps.py::test_released_gradients_are_multiples_of_a_public_step"
    ],
    "floats are rounded to the nearest cell": [
        "test_private_sum.py::test_more_floors_and_nearest_rounding_move_further_than_one_floor"
    ],
    # steps, checkpoints
    "a step with a bad row is skipped": [
        "test_training_audits.py::test_a_skipped_step_tells_of_a_row_that_is_not_finite",
        "deep/test_bad_models.py::test_objectives_that_are_not_finite_add_nothing",
    ],
    "noise is used again on resume": [
        "test_training_audits.py::test_noise_used_again_on_resume_tells_everything",
        "test_kills.py::test_a_process_that_is_killed_beside_any_write_draws_no_more_than_is_charged",
    ],
    "a checkpoint holds a seed, or names of a wrapper": [
        "test_traps.py::test_checkpoints_hold_the_users_own_names_and_no_generator"
    ],
    "two processes resume one run": [
        "test_training.py::test_of_two_resumes_of_one_copy_the_first_is_fenced",
        "test_broken_runs.py::test_a_forked_child_takes_no_step_of_its_parent",
    ],
    "weights are replaced in the middle of a run": [
        "test_training.py::test_weights_replaced_in_the_middle_are_refused",
        "test_own_loops.py::test_a_loop_that_changes_the_model_is_stopped_before_the_next_draw",
    ],
    "buffers carry something from step to step": [
        "deep/test_independence.py::test_buffers_that_are_written_to_are_found",
    ],
    "forwards run twice, or in compiled code": [
        "deep/test_bad_models.py::test_forwards_that_run_twice_are_not_recorded",
        "deep/test_bad_models.py::test_a_compiled_model_is_refused_with_the_way_out",
        "deep/test_mistakes.py::test_models_without_values_or_layers_are_refused",
    ],
    "there is nothing to train": ["test_traps.py::test_a_model_that_is_frozen_is_refused"],
    # what is told beside
    "the best epoch, or a tuned rate, is free": [
        "test_tuning.py::test_golden_prices",
        "deep/test_private_stop.py::test_it_is_charged_once_and_halts_for_good",
    ],
    "curves of the objective are free": [
        "test_side_counts.py::test_metrics_are_told_if_bought_and_only_then",
        "test_training.py::test_training_learns_and_says_nothing_about_rows",
    ],
    "plans, messages or names depend on data": [
        "test_training.py::test_plans_are_equal_for_neighbors",
        "deep/test_bad_models.py::test_neighbors_hear_the_same",
    ],
    "bounds are read off the data": [
        "models/test_fitting.py::test_plans_do_not_look_at_values",
        "models/test_session_rows.py::test_what_is_refused",
    ],
    "noisy counts are clamped before inference": [
        "bayes/test_conjugate.py::test_an_analyst_who_is_wrong_about_the_noise_is_caught",
        "test_golden_numbers.py::test_who_ignores_the_noise_covers_as_little_as_is_published",
    ],
}


@pytest.mark.parametrize("trap", TRAPS)
def test_every_trap_has_a_test(trap):
    here = Path(__file__).parent
    for named in TRAPS[trap]:
        file, _, name = named.partition("::")
        tree = ast.parse((here / file).read_text())
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.fixture
def ledger(tmp_path):
    with Ledger.open(
        tmp_path / "a.ledger", unit=dp.row(), budget=Budget(epsilon=200, delta="1e-3")
    ) as opened:
        yield opened


def training(ledger, model, **changed):
    x = torch.randn(60, 4, generator=torch.Generator().manual_seed(1))
    given = {
        "objective": nn.functional.cross_entropy,
        "data": (x, (x[:, 0] > 0).long()),
        "optimizer": torch.optim.SGD(model.parameters(), lr=1.0),
        "ledger": ledger,
        "unit": ledger.unit,
        "population": 60,
        "batch": 20,
        "steps": 3,
        "sigma": 3,
        "delta": "1e-5",
        "processes": 0,
    }
    return Training(model, **(given | changed))


def test_steps_without_anybody_are_released_like_any_other(ledger):
    """Nobody is drawn, and still each step has its noise."""
    model = nn.Linear(4, 2)
    before = model.weight.detach().clone()
    x, y = torch.zeros(0, 4), torch.zeros(0, dtype=torch.long)
    run = training(ledger, model, data=(x, y), steps=1)
    assert run.fit(bar=False).taken == 1
    moved = (model.weight.detach() - before) * 20
    assert float(moved.abs().max()) > 0.1
    assert float(moved.abs().max()) < 30


def test_every_trainable_parameter_learns(ledger):
    """All kinds of layers; each parameter moves toward its gradient, and frozen ones do not."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Unflatten(1, (1, 4)),
        nn.Conv1d(1, 4, 2),
        nn.GroupNorm(2, 4),
        nn.Tanh(),
        nn.Flatten(),
        nn.Linear(12, 6),
        nn.LayerNorm(6),
        nn.Linear(6, 2),
    )
    model[5].bias.requires_grad_(False)
    x = torch.randn(60, 4, generator=torch.Generator().manual_seed(1))
    y = (x[:, 0] > 0).long()
    run = training(ledger, model, data=(x, y), batch=60, steps=1, sigma=1, clip=1000)
    total = run._run.sums.total(np.arange(60)[:, None])
    nn.functional.cross_entropy(model(x), y, reduction="sum").backward()
    named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    start = 0
    for name, parameter in named:
        part = total[start : start + parameter.numel()].view(parameter.shape) * 1000
        assert float(parameter.grad.abs().max()) > 0, name
        assert torch.allclose(part.float(), parameter.grad, rtol=1e-3, atol=1e-4), name
        start += parameter.numel()
    frozen = model[5].bias.detach().clone()
    before = {name: p.detach().clone() for name, p in named}
    run.fit(bar=False)
    assert torch.equal(model[5].bias, frozen)
    assert all(not torch.equal(before[name], p) for name, p in named)


def test_the_divisor_is_declared_and_not_counted(ledger):
    """With the same noise, an update is the sum over the declared batch, whoever was drawn."""
    model = nn.Linear(4, 2)
    run = training(ledger, model, steps=1)
    noise = torch.zeros(10, dtype=torch.int64)
    for count in (0, 1, 7, 30):
        total = torch.full((10,), float(count), dtype=torch.float64)
        run._run._release(total, noise)
        given = torch.cat([p.grad.flatten() for p in model.parameters()])
        assert torch.allclose(given, torch.full((10,), count / 20), atol=1e-6)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_released_gradients_are_multiples_of_a_public_step(ledger, scale, monkeypatch):
    """No bit below the step of the grid, and so none that noise has not covered."""
    model = nn.Linear(4, 2)
    x = scale * torch.randn(60, 4, generator=torch.Generator().manual_seed(1))
    run = training(ledger, model, data=(x, (x[:, 0] > 0).long()), steps=1)
    kept = []
    monkeypatch.setattr(
        training_run, "handed_over", lambda values, _: kept.append(values.double() * 20)
    )
    for _ in run.gradients():
        pass
    cells = kept[0] / float(run.plan.one.grid.step) - 0.5
    assert float((cells - cells.round()).abs().max()) < 1e-6
    assert len(set(cells.round().long().remainder(64).tolist())) > 3  # low bits are noise


def test_checkpoints_hold_the_users_own_names_and_no_generator(ledger, tmp_path):
    model = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2))
    names = list(model.state_dict())
    run = training(ledger, model, folder=tmp_path / "run", steps=2, every=1)
    for step in run:
        if step.number == 1:
            break
    assert list(model.state_dict()) == names
    kept = Checkpoint.read(tmp_path / "run", run=run.plan.digest)
    state = torch.load(io.BytesIO(kept.state), weights_only=True)
    assert set(state) == {"model", "optimizer", "factor"}
    assert list(state["model"]) == names
    plain = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2))
    plain.load_state_dict(state["model"])  # without anything of ours
    assert torch.equal(plain[0].weight, model[0].weight)


def test_a_model_that_is_frozen_is_refused(ledger):
    with pytest.raises(OutOfRange, match="trainable"):
        training(ledger, nn.Linear(4, 2).requires_grad_(False))
    assert [entry["kind"] for entry in ledger.entries()] == ["open"]
