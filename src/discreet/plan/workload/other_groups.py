"""The other groups: one more row, of all groups that were not selected.

Trust: kernel.

Definition.  Let S be the groups that a private selection shows.  The *other groups* are all that an
engine found and that are not in S.  Their totals are added up, get noise, and stand in one more row
of the answer, in which keys are NULL and a column marks it.  If a total has Laplace noise in each
group, this sum has the same; if Gaussian noise of variance v, one of variance p v, p the number of
groups in which one step of the relation can move totals (key ``plan-distances``).
Theorem (key ``other-groups``).  Given S, all these numbers together lose no more than noise on the
totals of every group does: the row of the other groups is free.
Proof.  Let d(g) be how far one unit moves the total of group g; at most p of them are not zero.
The sum of the others moves by |sum of d(g)|, at most the sum of |d(g)| over groups not in S: so the
L1 distance is no larger than that of all groups.  By Cauchy and Schwarz its square is at most p
times the sum of d(g)**2 over them, so that over p v it is at most what these groups would have
added over v, each with noise of its own.
S has to be selected by a mechanism of its own, on which the numbers then follow (adaptive
composition): a noisy count that selects its group tells of every group that it does not show that
its noise has kept it below the threshold, and noise on the remainder would be paid on top.  So for
a question about the other groups no count of the answer selects them.
"""

from __future__ import annotations

from dataclasses import replace

from discreet.errors import UnsupportedSQL
from discreet.mechanisms import Gaussian
from discreet.plan.pricing.group_sensitivity import Noise
from discreet.plan.setting import MeasuredAggregates, Setting
from discreet.plan.statistics.answer_layout import AnswerLayout
from discreet.plan.workload.cubes import check_additive
from discreet.query.source_text import pointed
from discreet.units import PrivacyUnit


def check_other(setting: Setting, measured: MeasuredAggregates, layout: AnswerLayout) -> None:
    """Refuse the other groups where all are shown, or where totals do not add up."""
    if not setting.groups.chosen:
        raise UnsupportedSQL(
            what=pointed("all groups of this question are shown.", setting.bound.question.span),
            why="they are public, so that there are no others.",
            do="leave out other=True; groups are selected if the policy lists no categories.",
        )
    check_additive(setting, measured, layout, "the other groups together")


def other_noise(noise: Noise, unit: PrivacyUnit) -> Noise:
    """Return the noise on the sum of all other groups (key ``other-groups``)."""
    law = noise.mechanism
    if not isinstance(law, Gaussian):
        return noise
    variance = law.variance * noise.distances.places(unit.relation)
    return replace(noise, mechanism=Gaussian(variance=variance))
