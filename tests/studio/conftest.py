"""A studio in the test's own process, with its worker, and a client that has exchanged the link."""

import time
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from shoal.datasets import patients
from shoal.studio.security import Access
from shoal.studio.server import make_app
from shoal.studio.session_folder import SessionFolder

HOST = "127.0.0.1:8000"


class Client:
    """Requests with the headers that a page of the studio sends."""

    def __init__(self, http, access, session):
        self.http, self.access, self.session = http, access, session
        self.writes = {"origin": f"http://{HOST}", "x-shoal-token": access.token}

    def get(self, path, **more):
        return self.http.get(path, **more)

    def post(self, where, /, **form):
        return self.http.post(where, data=form, headers=self.writes)

    def delete(self, path):
        return self.http.delete(path, headers=self.writes)

    def wait(self, name, seconds=300):
        job = self.session.job(name)
        end = time.monotonic() + seconds
        while not job.finished.is_set() and time.monotonic() < end:
            time.sleep(0.02)
        assert not job.open, job
        return job

    def open(self, table, **form):
        answer = self.post("/open", path=str(table), **form)
        assert answer.headers.get("hx-redirect") == "/columns", answer.text
        return self.wait("open")

    def settle(self, **further):
        """Give every column a role and choose a quick method, so that a run takes a moment."""
        for role in ("other",):
            self.post("/columns/all", role=role)
        return self.post("/protect", k="3", method="mdav", **further)

    def run(self):
        answer = self.post("/run")
        assert answer.headers.get("hx-redirect") == "/run", answer.text
        return self.wait("run")


@pytest.fixture
def make_client(tmp_path):
    """Return a function that starts a studio; the folder of the session is kept between two of them."""
    opened = []

    def make(folder=None, **options):
        access = Access(frozenset({HOST}))
        guard = make_app(SessionFolder(folder or tmp_path / "session"), access, start_folder=str(tmp_path), **options)
        http = TestClient(guard, base_url=f"http://{HOST}", raise_server_exceptions=False)
        http.__enter__()
        opened.append(http)
        assert http.get(f"/start/{access.link_token}", follow_redirects=False).status_code == 303
        return Client(http, access, guard.app.state.session)

    yield make
    for http in opened:
        http.__exit__(None, None, None)


@pytest.fixture
def client(make_client):
    return make_client()


@pytest.fixture
def table(tmp_path):
    path = Path(tmp_path) / "people.csv"
    patients(60).write_csv(path)
    return path
