"""All mutants, room by room."""

from __future__ import annotations

from typing import Final

from mutants.mutant import Mutant
from mutants.rooms import (
    accounting,
    continual,
    engines,
    ledger,
    local,
    loss,
    mechanisms,
    models,
    noise,
    plan,
    profile,
    query,
    release,
    requests,
    service,
    session,
    synthetic,
    torch,
    units,
    web,
)

MUTANTS: Final[tuple[Mutant, ...]] = (
    *noise.MUTANTS,
    *loss.MUTANTS,
    *units.MUTANTS,
    *mechanisms.MUTANTS,
    *accounting.MUTANTS,
    *continual.MUTANTS,
    *ledger.MUTANTS,
    *query.MUTANTS,
    *requests.MUTANTS,
    *plan.MUTANTS,
    *engines.MUTANTS,
    *release.MUTANTS,
    *session.MUTANTS,
    *local.MUTANTS,
    *synthetic.MUTANTS,
    *profile.MUTANTS,
    *models.MUTANTS,
    *torch.MUTANTS,
    *service.MUTANTS,
    *web.MUTANTS,
)
