"""What every request has to satisfy, before any screen sees it.

The server listens on 127.0.0.1, where every program of the machine and, through the browser, every web page can reach
it. So a request needs the right host (against DNS rebinding), the cookie that the one-time link was exchanged for, and
for writes the right origin and a token that only a page of the studio has. A request that lacks one gets 403.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from hmac import compare_digest
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; sandbox"
"""The policy of a report that is shown: its own style, and nothing else."""
HEADERS = {
    "content-security-policy": POLICY,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
TOKEN_HEADER = "x-shoal-token"  # noqa: S105 - a name
LARGEST_BODY = 2**20
_READS = frozenset({"GET", "HEAD"})


@dataclass
class Access:
    """The keys of one session.

    Parameters
    ----------
    hosts
        The values of the header Host that are accepted.
    scheme
        ``http``, or ``https`` behind a proxy.

    Examples
    --------
    >>> access = Access(frozenset({"127.0.0.1:8000"}))
    >>> link = access.link_token
    >>> access.exchange(link) == access.cookie, access.exchange(link)
    (True, None)
    """

    hosts: frozenset[str]
    scheme: str = "http"
    link_token: str | None = field(default_factory=lambda: secrets.token_urlsafe(32))
    cookie: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    @property
    def cookie_name(self) -> str:
        """The name of the cookie; cookies do not distinguish ports, so the name does."""
        return "shoal_studio_" + "".join(sign if sign.isalnum() else "_" for sign in min(self.hosts, default=""))

    def exchange(self, token: str) -> str | None:
        """Return the cookie for the token of the link, once."""
        if self.link_token is None or not compare_digest(token.encode(), self.link_token.encode()):
            return None
        self.link_token = None
        return self.cookie

    def refusal(self, method: str, path: str, headers: dict[str, str]) -> str | None:
        """Return why a request is refused; None if it is not."""
        if headers.get("host", "") not in self.hosts:
            return "This address is not the one that the studio listens on. Use the link that the terminal shows."
        if headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"} and not path.startswith(
            "/start/"
        ):
            return "Another page sent this request. Use the studio's own page."
        if path.startswith("/start/") and method == "GET":
            return None
        if not self._has_cookie(headers.get("cookie", "")):
            return (
                "This browser has no access. The link works once, in one browser: start shoal studio again for a new "
                "link."
            )
        if method in _READS:
            return None
        origins = {f"{self.scheme}://{host}" for host in self.hosts}
        if headers.get("origin", "") not in origins:
            return "The request does not come from the studio's own page."
        if not compare_digest(headers.get(TOKEN_HEADER, "").encode(), self.token.encode()):
            return "The request lacks the token of the page. Reload the page."
        return None

    def _has_cookie(self, header: str) -> bool:
        for part in header.split(";"):
            name, _, value = part.strip().partition("=")
            if name == self.cookie_name and compare_digest(value.encode(), self.cookie.encode()):
                return True
        return False


class Guard:
    """Refuses requests before the application, and adds the headers of safety to every answer."""

    def __init__(self, app: Any, access: Access, on_request: Callable[[], None]) -> None:
        self._app, self._access, self._on_request = app, access, on_request

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}

        async def guarded(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                given = {name.decode("latin-1").lower() for name, _ in message.get("headers", [])}
                extra = [(name.encode(), text.encode()) for name, text in HEADERS.items() if name not in given]
                message["headers"] = [*message.get("headers", []), *extra]
            await send(message)

        refusal = self._access.refusal(scope["method"], scope["path"], headers)
        length = headers.get("content-length", "0")
        if refusal is not None:
            await _answer(guarded, 403, refusal)
        elif scope["path"] != "/upload" and (
            not (length.isascii() and length.isdigit()) or len(length) > 12 or int(length) > LARGEST_BODY
        ):
            await _answer(guarded, 413, "The request is too large.")
        else:
            self._on_request()
            await self._app(scope, receive, guarded)


async def _answer(send: Send, status: int, text: str) -> None:
    start = {
        "type": "http.response.start", "status": status, "headers": [(b"content-type", b"text/plain; charset=utf-8")],
    }  # fmt: skip
    await send(start)
    await send({"type": "http.response.body", "body": (text + "\n").encode()})
