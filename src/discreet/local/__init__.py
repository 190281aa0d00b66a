"""The local model: each person's own device makes the report private, and nobody need be trusted.

Trust: kernel.

Clients turn one value into a few bytes; the analyst turns many reports into estimates with error
bars.  There is no session, no ledger and no budget kept by a server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import late_names

if TYPE_CHECKING:  # each is loaded when first used, because most programs need two of them
    from discreet.local.analysis.estimates import Estimates
    from discreet.local.analysis.joint import JointTable
    from discreet.local.analysis.means import MeanEstimate
    from discreet.local.analysis.ranges import CellQuantile, RangeEstimates, Ranges, RangeShare
    from discreet.local.analysis.share_table import ShareRow, ShareTable
    from discreet.local.choice import OracleChoice, choose
    from discreet.local.domain import Domain
    from discreet.local.hitters.prefix_response import PrefixResponse
    from discreet.local.hitters.prefixes import Hitter, Hitters, Prefixes
    from discreet.local.hitters.teaching import FoundWord, bitstogram, succinct_histogram, tree_hist
    from discreet.local.numbers.laplace_report import LaplaceReport
    from discreet.local.numbers.mixed import Mixed
    from discreet.local.numbers.number_randomizer import NumberRandomizer
    from discreet.local.numbers.number_range import NumberRange
    from discreet.local.numbers.two_point import TwoPoint
    from discreet.local.numbers.unit_vector import UnitVector
    from discreet.local.numbers.window import WindowResponse
    from discreet.local.randomizers.direct import Direct
    from discreet.local.randomizers.hadamard import Hadamard
    from discreet.local.randomizers.hashing import Hashing
    from discreet.local.randomizers.oracle import FrequencyOracle
    from discreet.local.randomizers.randomizer import Randomizer
    from discreet.local.randomizers.record import Record
    from discreet.local.randomizers.registry import randomizer_of
    from discreet.local.randomizers.signed_hadamard import SignedHadamard
    from discreet.local.randomizers.subset import Subset
    from discreet.local.randomizers.unary import Unary
    from discreet.local.repeated.changes import ChangeTree, Watch
    from discreet.local.repeated.diary import Diary
    from discreet.local.repeated.memo import Memo, OpenMemo
    from discreet.local.repeated.published import Rappor, loloha_price
    from discreet.local.reports.client import Client
    from discreet.local.reports.collector import Collector
    from discreet.local.reports.form import Form
    from discreet.local.reports.plan import ReportPlan, plan
    from discreet.local.reports.spark_collection import collect_frame
    from discreet.local.reports.wire import Refusals
    from discreet.local.shuffled_reports import ShuffledReports, calibrate_shuffled, shuffled

__all__ = [
    "CellQuantile",
    "ChangeTree",
    "Client",
    "Collector",
    "Diary",
    "Direct",
    "Domain",
    "Estimates",
    "Form",
    "FoundWord",
    "FrequencyOracle",
    "Hadamard",
    "Hashing",
    "Hitter",
    "Hitters",
    "JointTable",
    "LaplaceReport",
    "MeanEstimate",
    "Memo",
    "Mixed",
    "NumberRandomizer",
    "NumberRange",
    "OpenMemo",
    "OracleChoice",
    "PrefixResponse",
    "Prefixes",
    "Randomizer",
    "RangeEstimates",
    "RangeShare",
    "Ranges",
    "Rappor",
    "Record",
    "Refusals",
    "ReportPlan",
    "ShareRow",
    "ShareTable",
    "ShuffledReports",
    "SignedHadamard",
    "Subset",
    "TwoPoint",
    "Unary",
    "UnitVector",
    "Watch",
    "WindowResponse",
    "bitstogram",
    "calibrate_shuffled",
    "choose",
    "collect_frame",
    "loloha_price",
    "plan",
    "randomizer_of",
    "shuffled",
    "succinct_histogram",
    "tree_hist",
]

if not TYPE_CHECKING:  # to which every name would be one of this room
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "analysis.estimates": ("Estimates",),
            "analysis.joint": ("JointTable",),
            "analysis.means": ("MeanEstimate",),
            "analysis.ranges": ("CellQuantile", "RangeEstimates", "RangeShare", "Ranges"),
            "analysis.share_table": ("ShareRow", "ShareTable"),
            "choice": ("OracleChoice", "choose"),
            "domain": ("Domain",),
            "hitters.prefix_response": ("PrefixResponse",),
            "hitters.prefixes": ("Hitter", "Hitters", "Prefixes"),
            "hitters.teaching": ("FoundWord", "bitstogram", "succinct_histogram", "tree_hist"),
            "numbers.laplace_report": ("LaplaceReport",),
            "numbers.mixed": ("Mixed",),
            "numbers.number_randomizer": ("NumberRandomizer",),
            "numbers.number_range": ("NumberRange",),
            "numbers.two_point": ("TwoPoint",),
            "numbers.unit_vector": ("UnitVector",),
            "numbers.window": ("WindowResponse",),
            "randomizers.direct": ("Direct",),
            "randomizers.hadamard": ("Hadamard",),
            "randomizers.hashing": ("Hashing",),
            "randomizers.oracle": ("FrequencyOracle",),
            "randomizers.randomizer": ("Randomizer",),
            "randomizers.record": ("Record",),
            "randomizers.registry": ("randomizer_of",),
            "randomizers.signed_hadamard": ("SignedHadamard",),
            "randomizers.subset": ("Subset",),
            "randomizers.unary": ("Unary",),
            "repeated.changes": ("ChangeTree", "Watch"),
            "repeated.diary": ("Diary",),
            "repeated.memo": ("Memo", "OpenMemo"),
            "repeated.published": ("Rappor", "loloha_price"),
            "reports.client": ("Client",),
            "reports.collector": ("Collector",),
            "reports.form": ("Form",),
            "reports.plan": ("ReportPlan", "plan"),
            "reports.spark_collection": ("collect_frame",),
            "reports.wire": ("Refusals",),
            "shuffled_reports": ("ShuffledReports", "calibrate_shuffled", "shuffled"),
        },
    )
