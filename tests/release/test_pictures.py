"""Pictures of answers: every measure over the same groups, and what cannot be drawn."""

import matplotlib as mpl
import pytest
from matplotlib import pyplot as plt

from discreet.errors import UnknownName
from tests.release.clinic import asked

PRICE = {"epsilon": 1, "delta": "1e-9"}
WARDS = ["NULL", "A", "B", "C"]


@pytest.fixture(autouse=True)
def closed():
    mpl.use("Agg")
    yield
    plt.close("all")


def drawn(release, *names):
    """Draw an answer, and compute every pixel of the picture."""
    axes = release.plot(*names)
    (axes[0] if isinstance(axes, tuple) else axes).figure.canvas.draw()
    return axes


def heights(axes):
    return [bar.get_height() for bar in axes.patches]


def dots(axes):
    (line,) = [line for line in axes.lines if line.get_marker() == "o"]
    return list(line.get_xdata()), list(line.get_ydata())


def ends(axes):
    """Return where the lines of intervals begin and end."""
    return [tuple(segment[:, 1]) for lines in axes.collections for segment in lines.get_segments()]


def words(axes):
    return [text.get_text() for text in axes.texts]


def note(axes):
    return axes.figure.get_supxlabel()


def interval(release, name):
    low, high = (release[f"{name}_{end}"].to_pylist() for end in ("low", "high"))
    return [pytest.approx(pair) for pair in zip(low, high, strict=True)]


def test_every_measure_is_drawn_over_the_same_groups():
    release = asked(
        "SELECT ward, COUNT(*) AS n, AVG(cost) AS m, SUM(stay) AS s FROM visits GROUP BY ward",
        **PRICE,
    )
    axes = drawn(release)
    assert [each.get_ylabel() for each in axes] == ["n", "m", "s"]
    for each, name in zip(axes, "nms", strict=True):
        assert heights(each) == release[name].to_pylist()
        assert ends(each) == interval(release, name)
        assert each.get_xlim() == axes[0].get_xlim()
    assert [label.get_text() for label in axes[-1].get_xticklabels()] == WARDS
    assert axes[-1].get_xlabel() == "ward"
    assert note(axes[0]).startswith("Lines are 95 % intervals for the noise alone; limits may")


def test_a_list_of_quantiles_is_drawn_as_dots_in_order():
    release = asked(
        "SELECT ward, APPROX_QUANTILES(cost, 4) AS q, MAX(cost) AS h FROM visits GROUP BY ward",
        **PRICE,
    )
    quantiles, highest = drawn(release)
    places, values = dots(quantiles)
    assert values == [value for row in release["q"].to_pylist() for value in row]
    assert places == sorted(places)
    assert [round(place) for place in places] == [row for row in range(4) for _ in range(5)]
    lists = [release[f"q_{end}"].to_pylist() for end in ("low", "high")]
    pairs = [pair for rows in zip(*lists, strict=True) for pair in zip(*rows, strict=True)]
    assert ends(quantiles) == [pytest.approx(pair) for pair in pairs]
    assert heights(highest) == release["h"].to_pylist()
    assert dots(drawn(release, "q"))[1] == values


def test_one_row_has_one_bar_and_lists_too():
    release = asked(
        "SELECT COUNT(*) AS n, MEDIAN(age) AS m, APPROX_QUANTILES(stay, 3) AS q FROM visits",
        **PRICE,
    )
    axes = drawn(release)
    assert [heights(each) for each in axes[:2]] == [
        release["n"].to_pylist(),
        release["m"].to_pylist(),
    ]
    assert dots(axes[2])[1] == release["q"].to_pylist()[0]
    assert list(axes[-1].get_xticks()) == []


def test_a_mode_that_is_a_text_is_left_out_and_named():
    release = asked(
        "SELECT ward, COUNT(*) AS n, MODE(city) FILTER (WHERE city IN ('x', 'y')) AS c "
        "FROM visits GROUP BY ward",
        **PRICE,
    )
    (axes,) = drawn(release)
    assert [label.get_text() for label in axes.get_xticklabels()] == WARDS
    assert note(axes).splitlines()[-1] == "Not drawn, because they are not numbers: c."
    assert "Not drawn" not in note(drawn(release, "n"))
    with pytest.raises(UnknownName) as refused:
        release.plot("c")
    assert "use one of: n." in refused.value.do
    with pytest.raises(UnknownName, match="there is no number to draw"):
        asked("SELECT MODE(ward) AS w, MODE(paid) AS p FROM visits", **PRICE).plot()


def test_a_mode_that_is_a_number_is_drawn():
    release = asked("SELECT ward, MODE(age) AS a FROM visits GROUP BY ward", **PRICE)
    (axes,) = drawn(release)
    assert heights(axes) == release["a"].to_pylist()


def test_numbers_that_are_keys_are_names_of_groups():
    release = asked(
        "SELECT born, COUNT(*) AS n FROM visits WHERE born IN (1980, 1990) GROUP BY born", **PRICE
    )
    (axes,) = drawn(release)
    assert [label.get_text() for label in axes.get_xticklabels()] == [
        str(born) for born in release["born"].to_pylist()
    ]


def mapped(columns):
    release = asked("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", **PRICE)
    return release.map(lambda _: columns)


def test_null_has_no_bar_and_a_missing_interval_no_line():
    release = mapped(
        {
            "ward": WARDS,
            "n": [1.5, None, 2.5, float("inf")],
            "n_low": [0.0, None, None, 1.0],
            "n_high": [3.0, 4.0, 5.0, 9.0],
            "bare": [None, 4, 0, 7],
        }
    )
    numbers, bare = drawn(release)
    assert heights(numbers) == [1.5, 2.5]
    assert ends(numbers) == [(0, 3)]
    assert words(numbers) == ["NULL", "inf"]
    assert heights(bare) == [4, 0, 7]
    assert (ends(bare), words(bare)) == ([], ["NULL"])


def test_lists_may_lack_values_and_ends():
    release = mapped(
        {
            "q": [[1.0, None, 3.0], None, [], [2.0]],
            "q_low": [[0.0, 0.0, 2.0], None, [1.0], []],
            "q_high": [[2.0, 4.0, None], None, [1.0], [3.0]],
        }
    )
    (axes,) = drawn(release)
    assert dots(axes)[1] == [1, 3, 2]
    assert ends(axes) == [(0, 2)]
    assert words(axes) == ["NULL", "NULL"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "2", "3", "4"]


def test_an_answer_without_rows_says_so():
    sql = "SELECT ward, COUNT(*) AS n, AVG(cost) AS m FROM visits GROUP BY ward HAVING n > 100000"
    axes = drawn(asked(sql, **PRICE))
    assert [words(each) for each in axes] == [["no rows"], ["no rows"]]


def test_names_of_many_groups_are_thinned_out():
    (axes,) = drawn(mapped({"ward": [f"ward {k}" for k in range(90)], "n": list(range(90))}))
    shown = [label.get_text() for label in axes.get_xticklabels()]
    assert (len(heights(axes)), shown[:2]) == (90, ["ward 0", "ward 4"])


def test_a_rehearsal_says_so_in_the_picture():
    release = asked("SELECT COUNT(*) AS n FROM visits", **PRICE).recorded(None, private=False)
    assert note(drawn(release, "n")).startswith("Not private: test mode.")


def test_a_dollar_is_a_dollar():
    (axes,) = drawn(mapped({"price": ["$1", "$_{2$"], "n $_{$": [1, 2]}))
    assert [label.get_text() for label in axes.get_xticklabels()] == ["$1", "$_{2$"]
