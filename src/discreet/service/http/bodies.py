"""Bodies of calls, as the OpenAPI document describes them.

Trust: public.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from discreet.documents import QuestionDocument


class _Body(BaseModel):
    """A body without unknown names."""

    model_config = ConfigDict(extra="forbid", strict=True)


class RemeasureBody(_Body):
    """The question as it was asked first, and the prices of further draws."""

    forms: list[QuestionDocument] = Field(min_length=2, max_length=20)


class BudgetBody(_Body):
    """Limits, as exact text."""

    epsilon: str | None = None
    rho: str | None = None
    delta: str | None = None


class AccountBody(_Body):
    """An account below an existing one."""

    path: str = Field(max_length=600)
    budget: BudgetBody | None = None


class RequestBody(_Body):
    """A request for a higher limit."""

    account: str = Field(max_length=600)
    budget: BudgetBody
    reason: str = Field(max_length=1000)


class DecisionBody(_Body):
    """What a second person decides."""

    approve: bool


class ReasonBody(_Body):
    """Why a closed question may be attempted again."""

    key: str = Field(max_length=200)
    reason: str = Field(max_length=1000)


class ReceiptsBody(_Body):
    """Receipts that the ledger must still match."""

    receipts: list[str] = Field(default=[], max_length=1000)


class TokenBody(_Body):
    """A token to be made."""

    scope: list[str] = Field(max_length=50)
    note: str = Field(default="", max_length=200)
    days: int = 90


class LoginBody(_Body):
    """A name and a password."""

    name: str = Field(max_length=100)
    password: str = Field(max_length=600)
