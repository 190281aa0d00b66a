"""Documents: questions, plans, answers, budgets and problems as JSON, the same for all programs.

Trust: public.

The command line's ``--json``, the calls of a server, its client and its pages write and read these
documents, and no others.  Each names its kind and its format.  Fields are added, with defaults, and
never change their meaning: a reader leaves out what it does not know, and refuses another format.
A question is read strictly: a server must not leave out what it does not know.
"""

from __future__ import annotations

from discreet.documents.document import FORMAT, Document
from discreet.documents.problem import ProblemDocument, WayDocument
from discreet.documents.question import QuestionDocument, check_draws
from discreet.documents.results import (
    BudgetDocument,
    DatasetDocument,
    ExplanationDocument,
    PlanDocument,
    PriceDocument,
    ReleaseDocument,
    StandingDocument,
)

__all__ = [
    "FORMAT",
    "BudgetDocument",
    "DatasetDocument",
    "Document",
    "ExplanationDocument",
    "PlanDocument",
    "PriceDocument",
    "ProblemDocument",
    "QuestionDocument",
    "ReleaseDocument",
    "StandingDocument",
    "WayDocument",
    "check_draws",
]
