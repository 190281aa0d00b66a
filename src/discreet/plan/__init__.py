"""Plans: what will be computed, which mechanism protects it and what it costs, before any data.

Trust: kernel.
"""

from discreet.plan.plan import Plan, Predicted, Price
from discreet.plan.policy.policy import Limits, Policy, read_policy
from discreet.plan.pricing.requested_price import BoundsPrice, estimate
from discreet.plan.statistics.limit_choice import estimate_limits, limits, share_cut
from discreet.requests.table_schema import ColumnFacts, Link, Schema, TableFacts

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
    "estimate_limits",
    "limits",
    "read_policy",
    "share_cut",
]
