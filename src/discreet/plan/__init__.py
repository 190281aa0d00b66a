"""Plans: what will be computed, which mechanism protects it and what it costs, before any data.

Trust: kernel.
"""

from discreet.plan.bounds_asked import BoundsPrice, estimate
from discreet.plan.plan import Plan, Predicted, Price
from discreet.plan.policy import Limits, Policy, read_policy
from discreet.plan.schema import ColumnFacts, Link, Schema, TableFacts

__all__ = [
    "BoundsPrice",
    "ColumnFacts",
    "Limits",
    "Link",
    "Plan",
    "Policy",
    "Predicted",
    "Price",
    "Schema",
    "TableFacts",
    "estimate",
    "read_policy",
]
