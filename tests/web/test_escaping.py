"""Pages without a browser: what is shown stays text, and what a page may load is its own."""

import pytest

from discreet.web.rendering import HEADERS, POLICY, download, environment, see_other

HOSTILE = "<script>alert('x')</script>\"'&"


@pytest.mark.parametrize("place", ["{{ x }}", '<a title="{{ x }}">', "{{ x | hash }}"])
def test_whatever_a_template_shows_is_escaped(place):
    shown = environment().from_string(place).render(x=HOSTILE)
    assert "<script" not in shown
    assert "\"'" not in shown


def test_a_page_runs_no_script_but_our_files():
    rules = dict(rule.strip().split(" ", 1) for rule in POLICY.split(";"))
    assert rules["script-src"] == rules["style-src"] == rules["default-src"] == "'self'"
    assert rules["form-action"] == "'self'"
    assert rules["frame-ancestors"] == rules["object-src"] == rules["base-uri"] == "'none'"


@pytest.mark.parametrize(
    "made", [see_other("/login"), download("x", name="x.csv", kind="text/csv")]
)
def test_every_response_is_kept_by_nobody(made):
    assert made.headers.get("cache-control") == HEADERS["Cache-Control"] == "no-store"
    assert made.headers.get("content-security-policy") == POLICY
    assert made.headers.get("x-content-type-options") == "nosniff"
