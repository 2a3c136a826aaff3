"""Plain HTTP to the address that the user typed, and to nowhere else: no proxy, no other host of a redirect."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from traceq.capture.attach.address import HostPort
from traceq.common.files import replace_file
from traceq.errors import UnreachableProgram

# Seconds that a question may take which a server answers at once.
SOON = 10.0

# Of an answer that is no trace.
_MOST_BYTES = 1 << 20
_MOST_WORDS = 500

_MOST_REDIRECTS = 3
_REDIRECTS = range(300, 400)
OK, FORBIDDEN, NOT_FOUND = 200, 403, 404


@dataclass(frozen=True)
class Answer:
    """A server's answer: its status, and its body as text (the first megabyte)."""

    status: int
    text: str

    def join_words(self) -> str:
        """Return the body on one line, for a message."""
        return " ".join(self.text.split())[:_MOST_WORDS] or "without a word"


def send_request(address: HostPort, method: str, path: str, body: object = None, *, seconds: float = SOON) -> Answer:
    """Return the answer to a request with `body` as JSON. Raises UnreachableProgram without one within `seconds`."""
    with closing(_open_connection(address, seconds)) as connection:
        return _read_answer(address, _get_response(address, connection, method, path, body, seconds), seconds)


def request_json(address: HostPort, method: str, path: str) -> Mapping[str, Any]:
    """Return the object in the answer; {} for any other answer. Raises UnreachableProgram without an answer."""
    answer = send_request(address, method, path)
    try:
        found = json.loads(answer.text) if answer.status == OK else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def download_file(
    address: HostPort, path: str, to: Path, query: Mapping[str, object], *, seconds: float
) -> Answer | None:
    """Write the body of the answer to the file `to`, following redirects within the address; None if that worked.

    Returns the server's answer where it is another one than a file. Raises UnreachableProgram without an answer.
    """
    target = f"{path}?{urlencode(query)}"
    for _ in range(_MOST_REDIRECTS):
        with closing(_open_connection(address, seconds)) as connection:
            response = _get_response(address, connection, "GET", target, None, seconds)
            if response.status == OK:
                with replace_file(to) as file:
                    for part in _read_parts(address, response, seconds):
                        file.write(part)
                return None
            if response.status not in _REDIRECTS:
                return _read_answer(address, response, seconds)
            target = _follow_redirect(address, response.getheader("Location", ""))
    raise UnreachableProgram(f"{address}: redirects {path} again and again; open it in a browser to see where it leads")


def _read_answer(address: HostPort, response: HTTPResponse, seconds: float) -> Answer:
    try:
        return Answer(response.status, response.read(_MOST_BYTES).decode("utf-8", "replace"))
    except (OSError, HTTPException) as error:
        raise explain_failure(address, error, seconds) from error


def _read_parts(address: HostPort, response: HTTPResponse, seconds: float) -> Iterator[bytes]:
    """Yield the body of the answer, part by part. Raises UnreachableProgram where it ends before its announced length."""
    announced, received = response.length, 0
    try:
        while part := response.read(1 << 20):
            received += len(part)
            yield part
    except (OSError, HTTPException) as error:
        raise explain_failure(address, error, seconds) from error
    if announced is not None and received < announced:
        raise UnreachableProgram(
            f"{address}: the connection was closed after {received:,} of {announced:,} bytes of the trace; ask again"
        )


def _follow_redirect(address: HostPort, location: str) -> str:
    """Return the path and query of a redirect. Raises UnreachableProgram where it leads to another address."""
    parts = urlsplit(location)
    if parts.netloc and (parts.hostname, parts.port or 80) != (address.host, address.port):
        raise UnreachableProgram(
            f"{address}: sends on to {parts.netloc}, and only the address that was given is asked; give that one instead"
        )
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


def _open_connection(address: HostPort, seconds: float) -> HTTPConnection:
    return HTTPConnection(address.host, address.port, timeout=seconds)


def _get_response(
    address: HostPort, connection: HTTPConnection, method: str, path: str, body: object, seconds: float
) -> HTTPResponse:
    content = None if body is None else json.dumps(body).encode()
    headers = {} if content is None else {"Content-Type": "application/json"}
    try:
        connection.request(method, path, content, headers)
        return connection.getresponse()
    except (OSError, HTTPException) as error:
        raise explain_failure(address, error, seconds) from error


def explain_failure(address: HostPort, error: Exception, seconds: float) -> UnreachableProgram:
    """Return the error for an address that did not answer: what failed, and the way out."""
    if isinstance(error, ConnectionRefusedError):
        return UnreachableProgram(
            f"{address}: connection refused: nothing listens there; check the port and that it runs"
        )
    if isinstance(error, TimeoutError):
        return UnreachableProgram(
            f"{address}: no answer within {seconds:g} s; check the address, or wait longer: --wait S"
        )
    return UnreachableProgram(f"{address}: {getattr(error, 'strerror', None) or error!r}; check the address")
