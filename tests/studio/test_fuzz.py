"""Requests of every kind to every route, with the real worker: no internal error, no traceback, no path outside.

The default set sends a few hundred requests, the long set 20,000. Fields and values are drawn, valid ones among them,
so that requests pass the first checks; routes that make the worker compute are drawn less often than the others.
"""

import os
import random
import string
import time

import pytest

from shoal.datasets import patients
from shoal.studio.server import routes

FIELDS = (
    "path", "role", "kind", "k", "l", "t", "alpha", "beta", "p", "max_size", "of", "effort", "method", "missing",
    "time_limit", "weight", "recode", "hierarchy", "before", "move", "reason", "folder", "extension", "title", "name",
    "note", "delimiter", "encoding", "decimal", "na_values", "sheet", "theme", "accept", "decision", "show", "find",
    "after", "known", "wanted", "step", "amount", "remove", "way", "detail", "tree", "node", "target", "held_name",
    "held_value", "held_domains", "held_relative", "held_off", "released", "original", "quasi", "confidential",
    "overwrite", "report", "public_report", "run_file", "open", "compare", "address", "query",
)  # fmt: skip
VALUES = (
    "", "quasi", "unit", "ordinal", "numeric", "nominal", "-1", "0", "1", "3", "1e400", "nan", "inf", "/etc/passwd",
    "../../etc/passwd", "~nobody-here", "\0", "mdav", "no-such-method", "rows", "units", "fill", ".csv", ".exe", "%00",
    "{{7*7}}", "<script>", "a" * 300, "١٢", "²", "2 1", "1 -1", "top 90", "top", "band", "5m", "1e9s", "on", "loss",
    "hand", "intervals", "order", "10, 50", "group", "move", "ungroup", "rename", "nA", "A", "vnorth", "income",
    "income < 5", "read_csv('/etc/passwd')", "region", "age", "age, sex", "release", "refuse", "x" * 5000, "other",
    "sqlite:///people.db?table=people", "duckdb:///:memory:", "postgresql://127.0.0.1:1/x?table=y", "SELECT 1",
)  # fmt: skip
DEAR = {"/run", "/open", "/out", "/peek", "/demo/{name}", "/check", "/look/rows", "/upload", "/database", "/run/way"}
"""Routes whose writes wait for the worker."""
DEAR_SHARE = 0.02


class Requests:
    """Random requests; every request is the same for the same seed."""

    def __init__(self, client, folder, seed):
        self.client, self.folder, self.draw = client, folder, random.Random(seed)
        every = [
            (method, route.path) for route in routes() for method in sorted(route.methods or ()) if method != "HEAD"
        ]
        self.dear = [one for one in every if one[1] in DEAR and one[0] != "GET"]
        self.cheap = [one for one in every if one not in self.dear]

    def value(self, field):
        draw = self.draw
        if field in {"path", "released", "original"} and draw.random() < 0.5:
            return str(draw.choice([self.folder / "people.csv", self.folder / "broken.csv", self.folder]))
        if field == "folder":  # only directories of the test may be written to
            return str(draw.choice([self.folder, self.folder / "none", "\0", ""]))
        if field == "k" and draw.random() < 0.5:
            return str(draw.randint(2, 9))
        if draw.random() < 0.7:
            return draw.choice(VALUES)
        return "".join(draw.choices(string.printable + "äß€\u2028", k=draw.randint(0, 30)))

    def send(self):
        draw = self.draw
        method, path = draw.choice(self.dear if draw.random() < DEAR_SHARE else self.cheap)
        for kind in ("{index:small}", "{number:small}"):
            path = path.replace(kind, draw.choice([str(draw.randint(0, 12)), "99999999999", "-1", "0x1"]))
        path = path.replace("{name}", draw.choice(["studio.css", "survey", "..%2f..%2fetc%2fpasswd", "%00", "x"]))
        path = path.replace("{token}", draw.choice(["x", "..", "%2e%2e"]))
        form = {field: self.value(field) for field in draw.sample(FIELDS, draw.randint(0, 6))}
        headers = dict(self.client.writes)
        if draw.random() < 0.06:
            headers[draw.choice(["origin", "x-shoal-token", "host", "content-type"])] = draw.choice(
                ["", "x", "http://y"]
            )
        if path == "/upload":
            headers["x-file-name"] = draw.choice(["a.csv", "..%2fb.csv", "%2fetc%2fc.csv", "d.exe", ""])
        if method == "GET":
            return (method, path, form), self.client.http.get(
                path, params=form, headers=headers, follow_redirects=False
            )
        answer = self.client.http.request(method, path, data=form, headers=headers, follow_redirects=False)
        return (method, path, form), answer


def outside(tmp_path, client):
    """Every file beside those of the session and those that a release may have."""
    inside = client.session.folder.path
    names = ("people", "survey", "stays", "patients", "broken", "a-", "b-", "c-")
    return [
        path for path in tmp_path.rglob("*") if inside not in {path, *path.parents} and not path.name.startswith(names)
    ]


@pytest.fixture
def fuzz(make_client, tmp_path):
    def run(number, seed):
        client = make_client()
        patients(40).write_csv(tmp_path / "people.csv")
        (tmp_path / "broken.csv").write_text('a,b\n"1,2\n')
        client.open(tmp_path / "people.csv")
        client.session.curve = lambda **_: []  # the curve is tested elsewhere; here it would fill the worker's queue
        requests = Requests(client, tmp_path, seed)
        answered = set()
        for _ in range(number):
            sent, answer = requests.send()
            assert answer.status_code < 500, sent
            answered.add((sent[0], answer.status_code))
            assert "Traceback" not in answer.text, sent
            assert "root:x:" not in answer.text, sent
        end = time.monotonic() + 60
        while client.session.worker.jobs and time.monotonic() < end:
            time.sleep(0.05)
        assert outside(tmp_path, client) == []
        assert {("GET", 200), ("POST", 200), ("POST", 422), ("POST", 403), ("GET", 404)} <= answered
        return client

    return run


def test_no_request_ends_in_an_internal_error(fuzz):
    fuzz(300, 1)


def test_twenty_thousand_requests_end_in_no_internal_error(fuzz):
    client = fuzz(50 * int(os.environ.get("SHOAL_LONG_EXAMPLES", "400")), 2)  # 20,000 unless fewer are asked for
    assert client.get("/open").status_code == 200
