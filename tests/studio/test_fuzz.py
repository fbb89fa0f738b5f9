"""Requests of every kind to every route: no internal error, no traceback, no path outside."""

import string

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shoal.datasets import patients
from shoal.studio.server import routes

FIELDS = (
    "path", "role", "kind", "k", "l", "t", "alpha", "beta", "p", "max_size", "of", "effort", "method", "missing",
    "time_limit", "weight", "recode", "hierarchy", "before", "move", "reason", "folder", "extension", "title", "name",
    "note", "delimiter", "encoding", "decimal", "na_values", "sheet", "theme", "accept", "decision", "show", "find",
    "after", "known", "wanted", "step",
)  # fmt: skip
VALUES = (
    st.text(max_size=40)
    | st.text(string.printable, max_size=20)
    | st.integers().map(str)
    | st.floats().map(str)
    | st.sampled_from(
        [
            "",
            "quasi",
            "unit",
            "ordinal",
            "numeric",
            "-1",
            "0",
            "1",
            "1e400",
            "nan",
            "../../etc/passwd",
            "/etc/passwd",
            "/",
            "~",
            "~nobody-here",
            "\0",
            "mdav",
            "no-such-method",
            "rows",
            "units",
            "fill",
            ".csv",
            ".exe",
            "%00",
            "{{7*7}}",
            "<script>",
            "a" * 300,
            "١٢",
            "2 1",
            "top 90",
            "band",
            "5m",
            "1e9s",
        ]
    )
)
PATHS = [
    (method, route.path)
    for route in routes()
    for method in sorted(set(route.methods or ()) - {"HEAD"})
    if route.path not in {"/end", "/start/{token}", "/run", "/out", "/demo/{name}", "/peek", "/open"} or method == "GET"
]


@pytest.fixture
def fuzzed(make_client, tmp_path):
    client = make_client()
    table = tmp_path / "people.csv"
    patients(40).write_csv(table)
    client.open(table)
    client.session.curve = lambda **_: []  # what the worker computes is tested elsewhere
    return client


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(PATHS), st.integers(0, 30), st.dictionaries(st.sampled_from(FIELDS), VALUES)),
        max_size=25,
    )
)
def test_no_request_ends_in_an_internal_error(fuzzed, requests):
    for (method, path), number, form in requests:
        path = path.replace("{index:small}", str(number)).replace("{number:small}", str(number))
        path = path.replace("{name}", "studio.css" if number else "..%2f..%2fetc%2fpasswd").replace("{token}", "x")
        clean = {name: value.encode("utf-8", "replace").decode() for name, value in form.items()}
        if method == "GET":
            answer = fuzzed.http.get(path, params=clean, headers=fuzzed.writes, follow_redirects=False)
        else:
            answer = fuzzed.http.request(method, path, data=clean, headers=fuzzed.writes, follow_redirects=False)
        assert answer.status_code < 500, (method, path, clean)
        assert "Traceback" not in answer.text
        assert "root:x:" not in answer.text
        assert not clean.get("reason") or "{{" not in answer.text or "49" not in clean["reason"]
