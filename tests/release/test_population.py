"""Intervals and tests that include sampling: simulated coverage, what is needed, what is said."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import binom
from typer.testing import CliRunner

import discreet as dp
from discreet.cli.app import app
from discreet.errors import DiscreetError

ALPHA = 1e-6
QUESTION = (
    "SELECT g, COUNT(*) AS n, COUNTIF(ill) / COUNT(*) AS share, AVG(x) AS mean, STDDEV(x) AS sd "
    "FROM t GROUP BY g"
)
QUANTILES = (
    "SELECT g, COUNT(*) AS n, PERCENTILE_CONT(x, 0.5) AS median, PERCENTILE_CONT(x, 0.35) AS a, "
    "PERCENTILE_CONT(x, 0.65) AS b FROM t GROUP BY g"
)
SHAPES = {
    "normal": (lambda g, n: g.normal(50, 10, n), 50, 50),
    "skewed": (lambda g, n: 100 * g.beta(2, 8, n), 20, 17.9594),
    "uniform": (lambda g, n: g.uniform(0, 100, n), 50, 50),
}
SETTINGS = [
    (100, {"epsilon": 4}, "normal", 0.3),
    (400, {"epsilon": 1}, "uniform", 0.5),
    (400, {"rho": "0.2"}, "skewed", 0.1),
    (1500, {"rho": "0.02"}, "normal", 0.2),
]
MORE = [
    (n, price, shape, share)
    for n, price in [(100, {"rho": "0.5"}), (300, {"epsilon": 2}), (1000, {"epsilon": "0.5"})]
    for shape, share in [("normal", 0.1), ("skewed", 0.5), ("uniform", 0.3)]
]


def sampled(seed, groups, n, shape, share, *, rows=1):
    """Groups of about n units from one population, each with some rows that are alike."""
    generator = np.random.default_rng(seed)
    units = generator.poisson(n * groups)
    table = {
        "unit": np.arange(units),
        "g": generator.integers(0, groups, units),
        "x": SHAPES[shape][0](generator, units),
        "ill": generator.random(units) < share,
    }
    return pa.table({name: np.repeat(values, rows) for name, values in table.items()})


def opened(table, groups, *, rows=1):
    policy = f"""
format = 1
[limits]
max_rows = {rows}
max_groups = 1
[tables.t.columns.g]
type = "integer"
categories = {list(range(groups))}
[tables.t.columns.x]
type = "float"
low = 0
high = 100
"""
    unit = dp.row() if rows == 1 else dp.person("unit")
    return dp.open({"t": table}, unit=unit, policy=policy, test_mode=True)


def hits(release, truths):
    table = release.to_arrow()
    found = {}
    for name, truth in truths.items():
        low, high = (np.array(table[f"{name}_{side}"]) for side in ("low", "high"))
        found[name] = int(((low <= truth) & (truth <= high)).sum())
    return found


def check_coverage(settings, groups):
    """Each kind holds its parameter in 94 to 96 % of all groups, and tests reject in 4 to 6 %.

    If the true rates lie there, each of the eight assertions fails with a chance of ALPHA at most.
    """
    totals = dict.fromkeys(("n", "share", "mean", "rejected"), 0)
    for seed, (n, price, shape, share) in enumerate(settings):
        with opened(sampled(seed, groups, n, shape, share), groups) as session:
            found = session.ask(QUESTION, intervals="population", confirm=True, **price)
        for name, count in hits(found, {"n": n, "share": share, "mean": SHAPES[shape][1]}).items():
            totals[name] += count
        pairs = [found.compare(c, i, i + 1) for c in ("share", "mean") for i in range(0, groups, 2)]
        totals["rejected"] += sum(pair.p_value < 0.05 for pair in pairs)
    whole = groups * len(settings)
    for name in ("n", "share", "mean"):
        assert binom.cdf(totals[name], whole, 0.94) > ALPHA, (name, totals[name] / whole)
        assert binom.sf(totals[name] - 1, whole, 0.96) > ALPHA, (name, totals[name] / whole)
    assert binom.cdf(totals["rejected"], whole, 0.04) > ALPHA
    assert binom.sf(totals["rejected"] - 1, whole, 0.06) > ALPHA


def test_about_95_of_100_intervals_hold_the_parameter_of_the_population():
    check_coverage(SETTINGS, 300)


@pytest.mark.slow
def test_the_same_over_more_sizes_prices_and_shapes():
    check_coverage(MORE + SETTINGS, 1500)


def test_intervals_for_the_noise_alone_miss_the_population():
    """The same comparison without sampling: far fewer hold the parameter."""
    with opened(sampled(0, 300, 400, "uniform", 0.5), 300) as session:
        found = hits(session.ask(QUESTION, epsilon=4, confirm=True), {"n": 400, "mean": 50})
    assert max(found.values()) < 200


@pytest.mark.parametrize("shape", ["normal", "skewed"])
def test_quantiles_hold_the_one_of_the_population(shape):
    with opened(sampled(7, 300, 2000, shape, 0.5), 300) as session:
        found = session.ask(QUANTILES, epsilon=2, intervals="population", confirm=True)
    held = hits(found, {"median": SHAPES[shape][2]})["median"]
    assert binom.cdf(held, 300, 0.94) > ALPHA
    assert found.to_arrow().column_names.count("a_low") == 0


def test_units_of_many_rows_are_allowed_for():
    """Three equal rows of each person: at least as many intervals hold the parameter."""
    with opened(sampled(3, 300, 400, "normal", 0.3, rows=3), 300, rows=3) as session:
        found = session.ask(QUESTION, epsilon=20, intervals="population", confirm=True)
    for name, count in hits(found, {"n": 1200, "share": 0.3, "mean": 50}).items():
        assert binom.cdf(count, 300, 0.94) > ALPHA, name


def test_a_difference_is_found_and_the_footer_says_what_bars_are():
    generator = np.random.default_rng(2)
    x = np.concatenate([generator.normal(40, 10, 2000), generator.normal(60, 10, 2000)])
    table = pa.table({"g": np.repeat([0, 1], 2000), "x": x, "ill": x > 50, "unit": np.arange(4000)})
    apart = (
        "SELECT AVG(x) FILTER (WHERE g = 1) - AVG(x) FILTER (WHERE g = 0) AS d, STDDEV(x) FILTER "
        "(WHERE g = 1) AS s, STDDEV(x) FILTER (WHERE g = 0) AS t, COUNTIF(ill AND g = 1) / "
        "COUNTIF(g = 1) - COUNTIF(ill AND g = 0) / COUNTIF(g = 0) AS e FROM t"
    )
    with opened(table, 2) as session:
        noise = session.ask(QUESTION, epsilon=5)
        both = session.ask(QUESTION, epsilon=5, intervals="population")
        assert both.replayed  # it costs nothing more
        assert "95 % for the noise" in str(noise)
        assert "noise and sampling" in str(both)
        assert "population that units are drawn from" in both.details
        found = both.compare("mean", 1, 0)
        assert 15 < found.low < found.difference < found.high < 25
        assert found.p_value < ALPHA
        assert "p < 0.001" in str(found)
        joined = session.ask(apart, epsilon=5, intervals="population")
        (row,) = joined.rows()
        assert 15 < row["d_low"] < row["d"] < row["d_high"] < 25
        assert "Without an interval for the population, but with noise: s, t." in str(joined)
        assert 0.5 < row["e_low"] < row["e"] < row["e_high"] < 0.85
        assert joined.compare("e").p_value < ALPHA
        for column, groups in (("sd", (0, 1)), ("mean", (0, 0)), ("mean", (0, 7)), ("n", (0, 1))):
            with pytest.raises(DiscreetError):
                both.compare(column, *groups)


def test_another_draw_makes_intervals_narrower():
    with opened(sampled(4, 2, 400, "normal", 0.5), 2) as session:
        first = session.ask(QUESTION, epsilon=1, intervals="population", confirm=True)
        both = session.remeasure(first, epsilon=1, intervals="population")
    assert both.intervals == "population"
    width = [np.subtract(each["n_high"], each["n_low"]).mean() for each in (first, both)]
    assert 4 * 400**0.5 * 0.9 < width[1] <= width[0] * 1.1


def test_the_command_line_shows_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(sampled(4, 2, 400, "normal", 0.5), "t.parquet")
    policy = "format = 1\nunit = 'unit'\n[limits]\nmax_rows = 1\n[budget]\nepsilon = 3\n"
    files = "[session]\ndata = 't.parquet'\nledger = 't.ledger'\n"
    Path("policy.toml").write_text(policy + files, encoding="utf-8")
    asked = ["ask", "SELECT COUNTIF(ill) / COUNT(*) AS s FROM t", "--epsilon", "1"]
    done = CliRunner().invoke(app, [*asked, "--intervals", "population"])
    assert done.exit_code == 0, done.output
    assert "noise and sampling" in done.output
    again = CliRunner().invoke(app, [*asked, "--intervals", "population", "--json"])
    assert json.loads(again.stdout)["intervals"] == "noise and sampling"


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("SELECT AVG(x) AS m FROM t", r"ask for STDDEV\(x\)"),
        ("SELECT SUM(x) AS s FROM t", "no interval for the population"),
        ("SELECT COUNT(*) AS n, PERCENTILE_CONT(x, 0.5) AS q FROM t", "on both sides"),
        ("SELECT COUNTIF(ill) / COUNTIF(x > 1) AS s FROM t", "no interval for the population"),
        ("SELECT COUNT(DISTINCT g) AS n FROM t", "no interval for the population"),
        ("SELECT ill, COUNT(*) AS n FROM t GROUP BY ROLLUP (ill)", "several levels"),
    ],
)
def test_what_is_missing_is_said_before_anything_is_paid(question, words, tmp_path):
    table = sampled(1, 2, 50, "normal", 0.5)
    columns = "[tables.t.columns.x]\ntype = 'float'\nlow = 0\nhigh = 100"
    with dp.open(
        {"t": table},
        unit=dp.row(),
        policy=f"format = 1\n{columns}",
        ledger=tmp_path / "a.ledger",
        budget=dp.Budget(epsilon=1),
    ) as session:
        for verb in (session.plan, session.ask):
            with pytest.raises(DiscreetError, match=words):
                verb(question, epsilon="0.5", intervals="population")
        with pytest.raises(DiscreetError, match="must be 'noise', 'population' or 'none'"):
            session.ask(question, epsilon="0.5", intervals="sample")
        assert session.remaining.share == 1
