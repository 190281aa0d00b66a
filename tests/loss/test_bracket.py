import math

from discreet.loss.rounding import Bracket


def test_a_bracket_knows_its_width_and_its_members():
    bracket = Bracket(1.0, 2.0)
    assert bracket.width == 1.0
    assert 1.5 in bracket
    assert 2.5 not in bracket
    assert Bracket(math.inf, math.inf).width == 0.0


def test_join_meet_and_overlap():
    one, two = Bracket(1.0, 3.0), Bracket(2.0, 4.0)
    assert one.join(two) == Bracket(2.0, 4.0)
    assert one.meet(two) == Bracket(2.0, 3.0)
    assert one.overlaps(two)
    assert not one.overlaps(Bracket(5.0, 6.0))
    assert Bracket.within(-1.0, 3.0, ceil=1.0) == Bracket(0.0, 1.0)
