"""All theorems, by key.

Trust: public.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from discreet.theorems.accounting import ACCOUNTING
from discreet.theorems.attacks import ATTACKS
from discreet.theorems.budgets import BUDGETS, COMPOSITION, LEDGER
from discreet.theorems.continual import CONTINUAL, SPARSE_VECTOR
from discreet.theorems.dual_query import DUAL_QUERY
from discreet.theorems.explain import EXPLAIN
from discreet.theorems.foundations import NOISE, NOTIONS
from discreet.theorems.learning import LEARNING
from discreet.theorems.local_analysis import LOCAL_ANALYSIS
from discreet.theorems.local_numbers import LOCAL_NUMBERS
from discreet.theorems.local_randomizers import LOCAL_RANDOMIZERS
from discreet.theorems.local_reports import LOCAL_REPORTS
from discreet.theorems.mechanisms import MECHANISMS, PARTITION_SELECTION, UNITS_AND_MATRICES
from discreet.theorems.models import MODELS
from discreet.theorems.questions_and_plans import QUESTIONS_AND_PLANS
from discreet.theorems.release import RELEASE
from discreet.theorems.synthetic import SYNTHETIC
from discreet.theorems.synthetic_report import SYNTHETIC_REPORT
from discreet.theorems.theorem import Theorem

_ALL: Final = (
    *ACCOUNTING,
    *ATTACKS,
    *BUDGETS,
    *COMPOSITION,
    *CONTINUAL,
    *DUAL_QUERY,
    *EXPLAIN,
    *PARTITION_SELECTION,
    *LEARNING,
    *LEDGER,
    *LOCAL_ANALYSIS,
    *LOCAL_NUMBERS,
    *LOCAL_RANDOMIZERS,
    *LOCAL_REPORTS,
    *MECHANISMS,
    *MODELS,
    *NOISE,
    *NOTIONS,
    *QUESTIONS_AND_PLANS,
    *RELEASE,
    *SPARSE_VECTOR,
    *SYNTHETIC,
    *SYNTHETIC_REPORT,
    *UNITS_AND_MATRICES,
)

THEOREMS: Mapping[str, Theorem] = MappingProxyType({theorem.key: theorem for theorem in _ALL})
