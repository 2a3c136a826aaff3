"""Pages go to browsers on this machine that know the address, and nothing else is served."""

from __future__ import annotations

import http.client
import os
import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from traceq.app.page_server import PageServer
from traceq.errors import WrongUse


@pytest.fixture
def server(tmp_path):
    (tmp_path / "page.html").write_text("<p>a page</p>")
    (tmp_path / "secret.html").write_text("secret")
    with PageServer() as server:
        server.publish("", tmp_path / "page.html")
        server.publish("7", tmp_path / "page.html")
        yield server


def ask(server, path=None, method="GET", **headers):
    parts = urlsplit(server.address)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)
    connection.putrequest(method, parts.path if path is None else path, skip_host="Host" in headers)
    for name, value in headers.items():
        if value is not None:
            connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer, content


def test_a_page_is_served(server):
    answer, content = ask(server)
    assert (answer.status, content) == (200, b"<p>a page</p>")
    assert answer.getheader("Content-Type") == "text/html; charset=utf-8"
    assert "default-src 'none'" in answer.getheader("Content-Security-Policy")
    assert answer.getheader("Cache-Control") == "no-store"


def test_a_query_changes_nothing(server):
    assert ask(server, urlsplit(server.address).path + "?reload=1")[1] == b"<p>a page</p>"


def test_it_is_as_it_is_now(server, tmp_path):
    ask(server)
    (tmp_path / "page.html").write_text("<p>written again</p>")
    assert ask(server)[1] == b"<p>written again</p>"


def test_head_has_no_content(server):
    answer, content = ask(server, method="HEAD")
    assert (answer.status, answer.getheader("Content-Length"), content) == (200, "13", b"")


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "",
        "/page.html",
        "/{word}",
        "/{word}x/",
        "/x{word}/",
        "/{word}/page.html",
        "/{word}/secret.html",
        "/{word}/../secret.html",
        "/{word}/../../../../etc/passwd",
        "/{word}//",
        "/{word}/8",
        "/%ff/",
    ],
)
def test_nothing_else_is_served(server, path):
    word = urlsplit(server.address).path.strip("/")
    answer, content = ask(server, path.format(word=word) or "/")
    assert answer.status == 404
    assert b"page</p>" not in content
    assert b"secret" not in content
    assert word.encode() not in content


def test_a_page_that_was_removed_is_not_found(server, tmp_path):
    (tmp_path / "page.html").unlink()
    assert ask(server)[0].status == 404


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "127.0.0.2", "0.0.0.0", "[", "", None],  # noqa: S104
)
def test_a_name_that_was_pointed_here_gets_nothing(server, host):
    answer, content = ask(server, Host=host)
    assert answer.status == 403
    assert b"page</p>" not in content


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST:8000", "127.0.0.1:8000"])
def test_other_ports_are_those_of_tunnels(server, host):
    assert ask(server, Host=host)[0].status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "CONNECT"])
def test_other_methods_are_refused(server, method):
    assert ask(server, method=method)[0].status == 501


def test_only_this_machine_is_listened_to(server):
    assert urlsplit(server.address).hostname == "127.0.0.1"
    assert server._server.socket.getsockname()[0] == "127.0.0.1"


needs_proc = pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="only Linux says whose a connection is")


@needs_proc
def test_the_link_leads_to_the_address_once(server):
    path = urlsplit(server.link).path
    answer, content = ask(server, path)
    assert (answer.status, answer.getheader("Location"), content) == (303, server.address, b"")
    assert answer.getheader("Cache-Control") == "no-store"
    assert ask(server, path)[0].status == 404


@needs_proc
def test_the_link_leads_other_users_nowhere(server, monkeypatch):
    path, own = urlsplit(server.link).path, os.getuid()
    monkeypatch.setattr("traceq.app.page_server.os.getuid", lambda: own + 1)
    answer, content = ask(server, path)
    assert (answer.status, answer.getheader("Location")) == (404, None)
    assert server.address.encode() not in content
    # what they try does not use it up
    monkeypatch.undo()
    assert ask(server, path)[0].status == 303


@needs_proc
@pytest.mark.parametrize("host", ["evil.example", None])
def test_the_link_leads_nowhere_under_another_name(server, host):
    answer, _ = ask(server, urlsplit(server.link).path, Host=host)
    assert (answer.status, answer.getheader("Location")) == (403, None)


def test_where_nothing_says_whose_a_connection_is_the_link_is_the_address(tmp_path, monkeypatch):
    monkeypatch.setattr("traceq.app.page_server._SOCKETS", (tmp_path / "tcp",))
    with PageServer() as server:
        assert server.link == server.address


def test_addresses_differ():
    with PageServer() as one, PageServer() as other:
        words = {urlsplit(server.address).path for server in (one, other)}
    assert len(words) == 2
    assert all(len(word) > 20 for word in words)


def test_a_port_that_is_taken_is_said():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(WrongUse, match=rf"Port {port} cannot be used .*: name another, or leave --port out"):
            PageServer(port)


def test_a_browser_that_leaves_is_no_error(server, capfd):
    parts = urlsplit(server.address)
    for _ in range(3):
        connection = socket.create_connection((parts.hostname, parts.port))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # reset, not closed
        connection.sendall(f"GET {parts.path} HTTP/1.0\r\n".encode())
        connection.close()
    assert ask(server)[0].status == 200
    assert capfd.readouterr().err == ""
