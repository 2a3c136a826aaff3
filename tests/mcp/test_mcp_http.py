"""Over HTTP the server answers agents on this machine that know the address, and nobody else."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import socket
from urllib.parse import urlsplit

import lazy_import
import pytest
from click.testing import CliRunner
from http_server import ROOT, serve_over_http

from traceq.cli import main

lazy_import.module("mcp")

DEMO = ROOT / "traceq" / "app" / "demo" / "training.pt.trace.json.gz"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}},
}


@pytest.fixture(scope="module")
def address():
    with serve_over_http() as address:
        yield address


def ask(address, path=None, method="POST", body=None, **headers):
    """Send a request as it is given; return its status and content."""
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)
    content = json.dumps(INITIALIZE).encode() if body is None else body
    given = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    connection.request(method, parts.path if path is None else path, content, {**given, **headers})
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


def test_the_address_is_of_this_machine_and_has_a_word_that_nobody_guesses(address):
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{22}/mcp", address)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", urlsplit(address).port), timeout=5)


def test_a_client_gets_the_tools_and_the_answers_of_a_session(address):
    from mcp import Client

    async def talk():
        async with Client(address) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            opened = await client.call_tool("open", {"path": str(DEMO)})
            source = opened.structured_content["id"]
            counted = await client.call_tool("sql", {"source": source, "query": "select count(*) as n from kernel"})
            wrong = await client.call_tool("sql", {"source": source, "query": "selec 1"})
            return tools, opened, counted, wrong

    tools, opened, counted, wrong = asyncio.run(talk())
    assert tools == ["open", "report", "finding", "sql", "whatif", "compare"]
    assert "Load batches in worker processes" in opened.content[0].text
    assert counted.structured_content["rows"] == [[1560]]
    assert wrong.is_error
    assert wrong.content[0].text == 'line 1, column 1: syntax error at or near "selec"'


def test_a_request_like_a_client_s_is_answered(address):
    status, content = ask(address)
    assert status == 200
    assert json.loads(content)["result"]["serverInfo"]["name"] == "traceq"


@pytest.mark.parametrize("path", ["/", "/mcp", "/wrong-word-of-22-letters/mcp", "//mcp", "/%00/mcp", "/../mcp"])
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE", "OPTIONS"])
def test_who_does_not_know_the_word_gets_nothing(address, path, method):
    assert ask(address, path, method) == (404, b"Not found")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1.evil.example:80"}, 421),
        ({"Host": "evil.example:8765"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "https://127.0.0.1.evil.example:1"}, 403),
        ({"Origin": "null"}, 403),
        ({"Content-Type": "text/plain"}, 400),
        ({"Host": "localhost:9", "Origin": "http://localhost:6274"}, 200),
    ],
)
def test_a_web_page_cannot_ask_even_with_the_word(address, headers, status):
    assert ask(address, **headers)[0] == status


def test_a_request_that_is_too_long_or_no_message_is_refused(address):
    assert ask(address, body=b"x" * (1 << 20) + b"x")[0] == 413
    assert ask(address, body=b"{")[0] == 400
    assert ask(address)[0] == 200


def test_without_cross_origin_headers_a_browser_lets_no_page_read_an_answer(address):
    status, _ = ask(address, method="OPTIONS", Origin="http://localhost:6274")
    assert status == 405


def test_a_session_that_names_nobody_is_one_over_http_too():
    from mcp import Client

    async def list_tools(address):
        async with Client(address) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    token = "a-word_of_22_letters-0"  # noqa: S105 - of a test
    with serve_over_http("--anonymous", TRACEQ_MCP_TOKEN=token) as address:
        assert urlsplit(address).path == f"/{token}/mcp"
        assert asyncio.run(list_tools(address)) == ["open", "report", "finding", "compare"]


@pytest.mark.parametrize("token", ["", "short", "a/b" * 10, "ä" * 30])
def test_a_word_that_can_be_guessed_is_refused(monkeypatch, token):
    monkeypatch.setenv("TRACEQ_MCP_TOKEN", token)
    outcome = CliRunner().invoke(main, ["mcp", "--http"])
    assert outcome.exit_code == 2
    assert "TRACEQ_MCP_TOKEN has to be 22 to 200 letters" in outcome.stderr


def test_a_port_in_use_is_an_error():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        outcome = CliRunner().invoke(main, ["mcp", "--http", str(port)])
    assert outcome.exit_code == 2
    assert f"Port {port} cannot be used (Address already in use)" in outcome.stderr
