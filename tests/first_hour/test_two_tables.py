"""Two tables as easily as one: each names a person, points to a row that does, or is public."""

import json
import random

import pytest

import discreet as dp
from discreet.errors import BadPolicy, DiscreetError
from discreet.plan.policy.policy import read_policy
from discreet.requests.table_schema import Link
from tests.cli.test_commands import answered, run
from tests.first_hour.made_up import Terminal, write

PEOPLE, ORDERS = 600, 3


@pytest.fixture
def shop(tmp_path):
    """Customers, their orders, what was in these, and a list of regions."""
    draw = random.Random(29)  # noqa: S311  (made-up rows)
    customers = [
        {"customer_id": at, "born": 1940 + at % 60, "region": f"r{at % 3}"} for at in range(PEOPLE)
    ]
    orders = [
        {"order_id": at, "customer_id": at % PEOPLE, "total": draw.randint(1, 90)}
        for at in range(PEOPLE * ORDERS)
    ]
    items = [
        {"order_id": at % len(orders), "kind": draw.choice(("book", "game"))}
        for at in range(2 * len(orders))
    ]
    regions = [{"region": f"r{at}", "country": "north" if at else "south"} for at in range(3)]
    for name, rows in (
        ("customers", customers),
        ("orders", orders),
        ("items", items),
        ("regions", regions),
    ):
        write(tmp_path / f"{name}.csv", rows)
    return tmp_path


FILES = ("orders.csv", "items.csv", "customers.csv", "regions.csv")
JOINED = (
    "SELECT kind, COUNT(*) AS n FROM items JOIN orders ON items.order_id = orders.order_id "
    "GROUP BY kind"
)


def check_shop(folder):
    policy = read_policy(folder / "policy.toml")
    tables = {each.name: each for each in policy.tables}
    assert policy.unit.columns == ("customer_id",)
    assert tables["items"].link == Link(column="order_id", parent="orders", key="order_id")
    assert tables["regions"].public
    assert tables["regions"].key == ("region",)
    assert tables["items"].size.people == PEOPLE
    assert (tables["items"].max_rows, policy.limits.max_rows) == (None, 6)  # of a customer
    assert (tables["orders"].max_rows, tables["customers"].max_rows) == (ORDERS, 1)
    for question in (JOINED, "SELECT COUNT(*) AS n FROM customers", "SELECT kind FROM items"):
        assert "items" in question or run(folder, "plan", question, "--epsilon=0.1").exit_code == 0
    (first, second) = json.loads(answered(folder, "ask", JOINED, "--epsilon=0.9", "--json").stdout)[
        "rows"
    ]
    assert abs(first["n"] + second["n"] - 2 * PEOPLE * ORDERS) < 600
    country = (
        "SELECT country, COUNT(*) AS n FROM customers JOIN regions USING (region) GROUP BY country"
    )
    assert run(folder, "plan", country, "--epsilon=0.1").exit_code == 0
    assert run(folder, "check").exit_code == 0


def test_four_files_at_a_terminal(shop):
    terminal = Terminal(shop, "init", *FILES, "--owner")
    assert terminal.answer("", "y") == 0, terminal.shown
    assert "customer_id repeats" in terminal.shown
    assert "regions has no column customer_id" in terminal.shown
    assert "items, linked to orders by order_id" in terminal.shown
    assert terminal.prompts <= 12
    check_shop(shop)


def test_four_files_in_a_script(shop):
    accepted = ("--owner", "--yes", "--accept-proposals", "--public=regions")
    answered(shop, "init", *FILES, *accepted)
    check_shop(shop)


def test_a_table_that_says_nothing_of_people_is_not_taken_for_public(shop):
    refused = run(shop, "init", *FILES, "--owner", "--yes", "--accept-proposals")
    assert "regions has no column customer_id" in refused.stderr
    assert not (shop / "policy.toml").exists()
    terminal = Terminal(shop, "init", *FILES, "--owner")
    assert terminal.answer("", "n") != 0
    assert not (shop / "policy.toml").exists()


def test_without_a_look_links_follow_from_names(shop):
    answered(shop, "init", *FILES[:3], "--unit=customer_id", "--yes")
    tables = {each.name: each for each in read_policy(shop / "policy.toml").tables}
    assert tables["items"].link.parent == "orders"


def test_the_owner_links_by_a_column_of_any_name_and_joins_keep_their_rows(shop):
    write(shop / "orders.csv", [{"ticket": at, "customer_id": at % 600} for at in range(1800)])
    write(shop / "items.csv", [{"ticket": at % 1800, "price": at % 5} for at in range(3600)])
    files = ("orders.csv", "items.csv", "--owner", "--yes", "--accept-proposals")
    answered(shop, "init", *files)
    tables = {each.name: each for each in read_policy(shop / "policy.toml").tables}
    assert tables["items"].link == Link(column="ticket", parent="orders", key="ticket")
    asked = "SELECT COUNT(*) AS n FROM items JOIN orders USING (ticket)"
    assert "about 4,000 rows" in answered(shop, "plan", asked, "--epsilon=0.5").stdout


def test_two_files_of_one_name_need_another(shop):
    refused = run(shop, "init", "orders.csv", "old/orders.csv", "--yes", "--unit=customer_id")
    assert "two tables are called orders" in refused.stderr


def test_a_notebook_has_the_same_proposals(shop):
    files = {name.removesuffix(".csv"): str(shop / name) for name in FILES}
    with pytest.raises(BadPolicy, match="regions has no column customer_id"):
        dp.propose(files)
    made = dp.propose(files, public=["regions"])
    assert "not private" in repr(made)
    assert "people are in up to 2" in str(made)
    assert "book, game" in made._repr_html_()
    made.change("total", "integer 0..50", table="orders")
    with pytest.raises(DiscreetError, match="there is no column totl"):
        made.change("totl", "0..50")
    data = {name: f"{name}.csv" for name in files}
    made.write(shop / "policy.toml", data=data, ledger="shop.ledger")
    assert read_policy(shop / "policy.toml").tables[0].column("total").high == 50
    check_shop(shop)
