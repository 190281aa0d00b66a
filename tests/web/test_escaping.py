"""Pages without a browser: what is shown stays text, and what a page may load is its own."""

import hashlib
from pathlib import Path

import pytest

from discreet.web import rendering
from discreet.web.rendering import HEADERS, HTMX, POLICY, assets, download, environment, see_other

PUBLISHED = "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717"
LICENSE = "d3d2456f76414f2456104660ebd65aff1c04cd7966b942bdabd63f3cdb316a38"
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


def test_what_is_vendored_is_what_was_published():
    content, kind, _ = assets()[HTMX]
    folder = Path(rendering.__file__).parent / "assets"
    assert hashlib.sha256(content).hexdigest() == PUBLISHED
    assert hashlib.sha256((folder / "htmx-LICENSE.txt").read_bytes()).hexdigest() == LICENSE
    assert kind == "text/javascript"
    assert b'version:"2.0.11"' in content
