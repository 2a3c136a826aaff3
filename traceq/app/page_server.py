"""A web server for browsers on this machine: it serves the files that were published, and nothing else."""

from __future__ import annotations

import os
import secrets
import sys
import threading
from collections.abc import Callable, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from traceq.errors import WrongUse

_LOOPBACK = "127.0.0.1"
# Other names in the Host header may be of a web site whose name was pointed here (DNS rebinding). Ports differ over ssh -L.
_HOSTS = frozenset({_LOOPBACK, "localhost"})

# A page runs scripts of its own, and neither loads nor sends anything.
_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none';"
        " form-action 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

_IDLE_SECONDS = 30

# Sockets with their users; only Linux has them.
_SOCKETS = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))


class PageServer:
    """A server on the loopback address; inside its block it answers requests, in threads of its own.

    Its `address` has a random word in it, which web sites and other users cannot guess. Other users can read the arguments of
    a browser that is started: it gets `link`, which leads this user there, once; on other systems than Linux it is the
    address. Raises WrongUse for a port that cannot be used; 0 is any free one.
    """

    def __init__(self, port: int = 0) -> None:
        self._pages: dict[str, Path] = {}
        self._word = secrets.token_urlsafe(16)
        try:
            self._server = _LocalServer((_LOOPBACK, port), _Handler)
        except OSError as error:
            raise WrongUse(
                f"Port {port} cannot be used ({error.strerror}): name another, or leave --port out."
            ) from error
        self._server.find_page = self._find_page
        self._server.follow_link = self._follow_link
        place = f"http://{_LOOPBACK}:{self._server.server_port}"
        # of the page that is published as ""
        self.address = f"{place}/{self._word}/"
        self._once = secrets.token_urlsafe(16)
        self.link = f"{place}/{self._once}" if os.access(_SOCKETS[0], os.R_OK) else self.address
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def publish(self, name: str, page: Path) -> None:
        """Serve the HTML file `page` at the address followed by `name`; its content is read anew for each request."""
        self._pages[name] = page

    def _find_page(self, path: str) -> Path | None:
        """Return the file that is published at this path of an address, None if there is none."""
        word, slash, name = path.partition("?")[0].removeprefix("/").partition("/")
        is_ours = secrets.compare_digest(word.encode(), self._word.encode()) and slash
        return self._pages.get(name) if is_ours else None

    def _follow_link(self, path: str, port: int) -> str | None:
        """Return the address for the path of the link, asked for the first time and from a `port` of this user; else None."""
        if not secrets.compare_digest(path.encode(), f"/{self._once}".encode()):
            return None
        if not _is_own_socket(port, self._server.server_port):
            return None
        self._once = secrets.token_urlsafe(16)
        return self.address

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()


class _LocalServer(ThreadingHTTPServer):
    """The listening socket, and the functions that find the file for a path, and where a link leads a port."""

    find_page: Callable[[str], Path | None]
    follow_link: Callable[[str, int], str | None]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report an error of a request; a browser that leaves before it has its answer is none."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """Answers GET and HEAD."""

    server: _LocalServer
    server_version, sys_version = "traceq", ""
    timeout = _IDLE_SECONDS

    def do_GET(self) -> None:
        """Send the page."""
        self.wfile.write(self._send_head())

    def do_HEAD(self) -> None:
        """Send the headers of the page."""
        self._send_head()

    def _send_head(self) -> bytes:
        """Send the status and headers, and return the content of the page; empty if an error was sent instead."""
        if not _is_local(self.headers.get_all("Host", [])):
            self.send_error(HTTPStatus.FORBIDDEN, "Only for this machine")
            return b""
        if self.command == "GET" and (address := self.server.follow_link(self.path, self.client_address[1])):
            self.send_response(HTTPStatus.SEE_OTHER)
            for name, value in {**_HEADERS, "Location": address, "Content-Length": "0"}.items():
                self.send_header(name, value)
            self.end_headers()
            return b""
        page = self.server.find_page(self.path)
        try:
            content: bytes | None = None if page is None else page.read_bytes()
        except OSError:  # removed meanwhile
            content = None
        if content is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return b""
        self.send_response(HTTPStatus.OK)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        return content

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - the name in the class above
        """Print nothing: requests are no news to who looks at a page."""


def _is_own_socket(port: int, server_port: int) -> bool:
    """Return whether sockets of this machine from `port` to the server's are this user's; False if there is none."""
    users = set()
    for file in _SOCKETS:
        if not os.access(file, os.R_OK):  # without IPv6
            continue
        for line in file.read_text().splitlines()[1:]:
            _, local, remote, *_, user = line.split()[:8]
            if [int(end.rpartition(":")[2], 16) for end in (local, remote)] == [port, server_port]:
                users.add(int(user))
    return users == {os.getuid()}


def _is_local(hosts: Sequence[str]) -> bool:
    """Return whether the headers Host of a request are one that names this machine."""
    try:
        names = [urlsplit(f"//{host}").hostname for host in hosts]
    except ValueError:
        return False
    return len(names) == 1 and names[0] in _HOSTS
