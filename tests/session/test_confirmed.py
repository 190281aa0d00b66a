"""A price that protects hardly anybody is paid only if somebody says that it is meant."""

import pytest

import discreet as dp
from discreet.errors import BadPolicy, NotAllowed, UnreadableSource, WrongKind
from tests.session.clinic import COUNT, visits

POLICY = 'format = 1\nunit = "patient"\n[limits]\nmax_rows = 5\n'
HIGH = f"{POLICY}max_epsilon_per_question = 50\n"


@pytest.fixture
def clinic(tmp_path):
    def opened(policy=POLICY, **more):
        return dp.open(
            {"visits": visits()},
            policy=policy,
            **(more or {"ledger": tmp_path / "l", "budget": dp.Budget(epsilon=1000, delta="1e-9")}),
        )

    return opened


def entries(session):
    return [each for each in session.ledger.entries() if each["kind"] != "describe"]


@pytest.mark.parametrize("price", [{"epsilon": "10.1"}, {"rho": "10.1"}, {"error": {"n": "0.9"}}])
def test_a_large_price_is_refused_until_it_is_confirmed(clinic, tmp_path, price):
    with clinic() as session:
        before = entries(session)
        for ask in (
            lambda: session.ask(COUNT, **price),
            lambda: session.ask(session.plan(COUNT, **price)),
            lambda: session.table("visits").count(name="n").ask(**price),
        ):
            with pytest.raises(NotAllowed, match="confirm"):
                ask()
        assert entries(session) == before
        first = session.ask(COUNT, confirm=True, **price)
        again = session.ask(COUNT, **price)  # on record: nothing is paid
        assert again.replayed
        assert again.rows() == first.rows()
        with pytest.raises(NotAllowed, match="confirm"):
            session.remeasure(first, **price)
        assert not session.remeasure(first, confirm=True, **price).replayed


def test_ten_is_not_large(clinic):
    with clinic() as session:
        assert not session.ask(COUNT, epsilon=10).replayed


def test_a_policy_that_names_the_price_confirms_it(clinic):
    with clinic(HIGH) as session:
        assert not session.ask(COUNT, epsilon=50).replayed
        with pytest.raises(NotAllowed, match="allows"):
            session.ask(COUNT, epsilon=51, confirm=True)


def test_test_mode_asks_for_nothing(clinic):
    with clinic(test_mode=True) as session:
        assert session.ask(COUNT, epsilon=10**6).rows()


# --- messages that say what to do ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("price", "words"),
    [
        ({"error": 5}, r"give error=\{'n': 5\}"),
        ({"error": "5"}, "does not say which output"),
        ({"epsilon": "0,5"}, r"write epsilon like '0\.5'"),
        ({"error": {"n": "2,5"}}, r"like '2\.5'"),
        ({"epsilon": -1}, "give epsilon as a number above zero"),
        ({"rho": 0}, "give rho as a number above zero"),
    ],
)
def test_a_price_that_is_none_says_how_to_write_it(clinic, price, words):
    with clinic() as session, pytest.raises(dp.errors.DiscreetError, match=words):
        session.plan(COUNT, **price)


def test_a_path_that_leads_nowhere_is_named(tmp_path):
    with pytest.raises(UnreadableSource, match=r"no file .*vists\.csv"):
        dp.open(tmp_path / "vists.csv", unit=dp.row(), test_mode=True)


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (f"{POLICY}[tables.vists.columns]\n", r"but one called vists.*\n.*\n.*\[tables\.visits\]"),
        (f"{POLICY}[tables.other.columns]\n", "but one called other"),
        (f"{POLICY}[tabels.visits.columns]\n", "write tables"),
        (f'{POLICY}[tables.visits.columns]\nwad = {{type = "text"}}\n', "there is ward"),
    ],
)
def test_misspelt_names_of_a_policy_are_refused(clinic, policy, words):
    with pytest.raises(BadPolicy, match=words):
        clinic(policy, test_mode=True)


def test_a_policy_may_describe_tables_that_are_not_opened(clinic):
    both = f"{POLICY}[tables.visits.columns]\n[tables.wards]\npublic = true\n"
    clinic(both, test_mode=True).close()


def test_separators_are_suspected_where_a_column_is_missing(tmp_path):
    (tmp_path / "visits.csv").write_text("name, first;patient\na, b;1\n")
    with pytest.raises(BadPolicy, match='separator = ";"'):
        dp.open(
            tmp_path / "visits.csv",
            policy=f'{POLICY}[tables.visits.columns]\npatient = {{type = "integer"}}\n',
            test_mode=True,
        )


def test_a_format_is_no_number():
    with pytest.raises(WrongKind, match="comma"):
        dp.Budget(epsilon="0,5")
