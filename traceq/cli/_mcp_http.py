"""`traceq mcp --http`: streamable HTTP for agents on this machine that know the address."""

from __future__ import annotations

import os
import re
import secrets
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings

from traceq.errors import WrongUse

if TYPE_CHECKING:
    from mcp.server import MCPServer

# As ASGI has them.
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

TOKEN_VARIABLE = "TRACEQ_MCP_TOKEN"  # noqa: S105 - the name of a variable

_LOOPBACK = "127.0.0.1"
# Any port: another one over ssh -L. Other names may be of a web site whose name was pointed here (DNS rebinding).
_HOSTS = [f"{name}:*" for name in (_LOOPBACK, "localhost")]
_SECURITY = TransportSecuritySettings(allowed_hosts=_HOSTS, allowed_origins=[f"http://{host}" for host in _HOSTS])

_TOKEN = re.compile(r"[A-Za-z0-9_-]{22,200}")
# As over standard input: bytes of a request, and requests at once.
_LONGEST, _MOST_OPEN = 1 << 20, 32
_IDLE_SECONDS, _SECONDS_TO_END = 30 * 60, 2


def serve_http(server: MCPServer[Any], port: int, ready: Callable[[str], None]) -> None:
    """Serve agents over HTTP on the loopback address until a signal; `ready` gets the address, with a token in its path.

    The token is random, or the value of TRACEQ_MCP_TOKEN. Raises WrongUse for a port or token that cannot be used; port
    0 is any free one.
    """
    token = _read_token()
    app = server.streamable_http_app(
        streamable_http_path=f"/{token}/mcp",
        json_response=True,
        max_request_body_size=_LONGEST,
        session_idle_timeout=_IDLE_SECONDS,
        max_sessions=_MOST_OPEN,
        transport_security=_SECURITY,
        host=_LOOPBACK,
    )
    config = uvicorn.Config(
        _GuardedApp(app, token),
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_MOST_OPEN,
        timeout_graceful_shutdown=_SECONDS_TO_END,
    )
    with _open_socket(port) as listener:
        ready(f"http://{_LOOPBACK}:{listener.getsockname()[1]}/{token}/mcp")
        uvicorn.Server(config).run(sockets=[listener])


def _read_token() -> str:
    """Return the token of the environment, else a random one. Raises WrongUse for one that could be guessed."""
    token = os.environ.get(TOKEN_VARIABLE)
    if token is None:
        return secrets.token_urlsafe(16)
    if not _TOKEN.fullmatch(token):
        raise WrongUse(
            f"{TOKEN_VARIABLE} has to be 22 to 200 letters, digits, - or _, so that nobody guesses it:"
            ' python -c "import secrets; print(secrets.token_urlsafe())" makes one.'
        )
    return token


def _open_socket(port: int) -> socket.socket:
    """Return a socket that listens on the port of the loopback address. Raises WrongUse if it cannot be used."""
    try:
        return socket.create_server((_LOOPBACK, port))
    except OSError as error:
        raise WrongUse(
            f"Port {port} cannot be used ({os.strerror(error.errno or 0)}): name another, or none."
        ) from error


class _GuardedApp:
    """The application for those who know the token; all others get 404 before anything of their request is read."""

    def __init__(self, app: App, token: str) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on to the application."""
        if scope["type"] == "lifespan" or (scope["type"] == "http" and self._is_known(scope["path"])):
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await send({"type": "http.response.start", "status": 404, "headers": []})
            await send({"type": "http.response.body", "body": b"Not found"})

    def _is_known(self, path: str) -> bool:
        """Return whether the path begins with the token."""
        word = path.removeprefix("/").partition("/")[0]
        return secrets.compare_digest(word.encode(errors="replace"), self._token.encode())
