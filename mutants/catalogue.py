"""All mutants, room by room."""

from __future__ import annotations

from typing import Final

from mutants.mutant import Mutant
from mutants.rooms import (
    accounting,
    continual,
    engines,
    learning,
    ledger,
    local,
    loss,
    mechanisms,
    noise,
    plan,
    query,
    release,
    requests,
    service,
    session,
    synthetic,
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
    *learning.MUTANTS,
    *service.MUTANTS,
    *web.MUTANTS,
)
