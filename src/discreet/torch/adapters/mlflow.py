"""A training run in MLflow: its plan, price, receipt and how far weights moved.

Trust: public.  It logs what the run has published, and no data.
"""

from __future__ import annotations

from collections.abc import Mapping

from discreet.extend import missing_extra

try:
    import mlflow
except ModuleNotFoundError:
    missing_extra("MLflow", "mlflow")
from discreet.torch.training import Training


def log_run(run: Training, *, movement: Mapping[str, float] | None = None) -> None:
    """Log a run to the active run of MLflow: parameters, epsilon, plan and report.

    Args:
        run: a training run, before or after ``fit``.
        movement: how far each weight has moved, such as ``trainer.movement``.
    """
    plan, report = run.plan, run.report
    mlflow.log_params(
        {
            "privacy.unit": plan.unit.name,
            "privacy.delta": str(float(plan.delta)),
            "privacy.noise_multiplier": str(float(plan.sigma)),
            "privacy.batch": plan.batch,
            "privacy.population": plan.population,
            "privacy.steps": plan.steps,
            "privacy.plan": plan.digest,
        }
    )
    mlflow.log_metric("privacy.epsilon", plan.epsilon())
    mlflow.log_metric("privacy.steps_taken", report.taken)
    if report.weights is not None:
        mlflow.set_tag("privacy.weights_sha256", report.weights)
    mlflow.log_text(str(plan), "privacy/plan.txt")
    mlflow.log_text(str(report), "privacy/report.txt")
    if movement:
        mlflow.log_dict(dict(movement), "privacy/movement.json")
