"""Every request needs the host, the cookie and, for writes, origin and token; each alone is not enough."""

import pytest
from starlette.testclient import TestClient

from shoal.errors import ParameterError
from shoal.studio.security import Access
from shoal.studio.server import check_host, make_app, routes
from shoal.studio.session_folder import SessionFolder

HOST = "127.0.0.1:8000"


def test_the_link_works_once(tmp_path):
    access = Access(frozenset({HOST}))
    token = access.link_token
    guard = make_app(SessionFolder(tmp_path / "s"), access)
    with TestClient(guard, base_url=f"http://{HOST}") as http:
        assert http.get("/open").status_code == 403
        assert http.get("/start/wrong").status_code == 403
        first = http.get(f"/start/{token}", follow_redirects=False)
        assert first.status_code == 303
        cookie = first.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert http.get(f"/start/{token}").status_code == 403
        assert http.get("/open").status_code == 200
        http.cookies.clear()  # a second browser
        assert http.get("/open").status_code == 403


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:9999", "localhost.evil.example:8000", ""])
def test_another_host_is_refused(client, host):
    assert client.get("/open", headers={"host": host}).status_code == 403


@pytest.mark.parametrize(
    "changes",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": ""},
        {"origin": "http://127.0.0.1:9999"},
        {"x-shoal-token": "guess"},
        {"x-shoal-token": ""},
        {"sec-fetch-site": "cross-site"},
        {"cookie": "shoal_studio_127_0_0_1_8000=guess"},
    ],
)
@pytest.mark.parametrize("path", ["/undo", "/theme", "/run", "/out", "/upload", "/end"])
def test_a_write_with_one_wrong_key_is_refused(client, changes, path):
    if "cookie" in changes:
        client.http.cookies.clear()
    answer = client.http.post(path, headers=client.writes | changes)
    assert answer.status_code == 403
    assert client.session.history.steps == {}


def test_a_write_with_all_keys_is_accepted(client):
    assert client.post("/theme", theme="dark").status_code == 204
    assert client.session.theme == "dark"


def test_every_answer_has_the_headers_of_safety(client):
    for path in ("/open", "/nowhere", "/static/studio.css", "/static/../server.py"):
        headers = client.get(path).headers
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
    assert client.get("/static/../server.py").status_code == 404
    assert client.get("/static/..%2fserver.py").status_code == 404


def test_pages_have_no_inline_script_or_style(client, table):
    client.open(table)
    for path in ("/open", "/columns", "/protect", "/run", "/look", "/history", "/compare", "/out"):
        text = client.get(path).text
        assert "<style" not in text
        assert " style=" not in text
        assert "<script>" not in text
        assert " onclick" not in text
        assert "http://" not in text.replace("http://www.w3.org", "")


def test_all_routes_are_behind_the_guard(tmp_path):
    guard = make_app(SessionFolder(tmp_path / "s"), Access(frozenset({HOST})))
    with TestClient(guard, base_url=f"http://{HOST}") as http:
        for route in routes():
            path = route.path.replace("{index:small}", "0").replace("{number:small}", "1").replace("{name}", "x")
            for method in route.methods or ():
                answer = http.request(method, path.replace("{token}", "x"))
                assert answer.status_code == 403, (method, path)


def test_a_large_body_is_refused(client):
    answer = client.http.post("/protect", headers=client.writes, data={"k": "5" * 2**21})
    assert answer.status_code == 413


def test_another_host_needs_a_proxy_with_its_own_login():
    assert check_host("127.0.0.1", None) == ""
    with pytest.raises(ParameterError, match="without a login and without encryption"):
        check_host("0.0.0.0", None)
    with pytest.raises(ParameterError, match="https address"):
        check_host("0.0.0.0", "http://studio.example")
    assert check_host("0.0.0.0", "https://studio.example/") == "https://studio.example"


def test_the_cookie_behind_a_proxy_is_secure(tmp_path):
    access = Access(frozenset({"studio.example"}), scheme="https")
    guard = make_app(SessionFolder(tmp_path / "s"), access)
    with TestClient(guard, base_url="https://studio.example") as http:
        answer = http.get(f"/start/{access.link_token}", follow_redirects=False)
        assert "secure" in answer.headers["set-cookie"].lower()
