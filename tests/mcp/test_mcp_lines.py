"""Lines that a client sends are messages, or are answered with an error; their length and the open requests are bounded."""

from __future__ import annotations

import io
import json
import logging
import threading

import lazy_import
import pytest

lazy_import.module("mcp")

from traceq.cli._mcp_lines import LONGEST, Wire, _Answers, _Messages  # noqa: E402 - where the SDK is installed
from traceq.cli.mcp import _OneLine  # noqa: E402

PING = b'{"jsonrpc":"2.0","id":%d,"method":"ping"}\n'


def read_all(lines):
    """Return what the SDK is given of the lines, and the answers to the others."""
    answers = io.BytesIO()
    wire = Wire(io.BytesIO(lines), answers)
    shown = []
    while message := wire.read_message():
        shown.append(message)
        wire.write_answers(b'{"jsonrpc":"2.0","id":1,"result":{}}\n')
    said = [json.loads(line) for line in answers.getvalue().splitlines()]
    return shown, [(found["id"], found["error"]["code"]) for found in said if "error" in found]


@pytest.mark.parametrize(
    ("line", "number", "code"),
    [
        (b"junk", None, -32700),
        (b'{"jsonrpc":"2.0","id":5,', None, -32700),
        (b"[" * 100_000, None, -32700),
        (b'{"jsonrpc":"2.0","id":' + b"9" * 5_000 + b',"method":"ping"}', None, -32700),
        (b"5", None, -32600),
        (b"null", None, -32600),
        (b"[]", None, -32600),
        (b'[{"jsonrpc":"2.0","id":6,"method":"ping"}]', None, -32600),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":[1]}', 7, -32600),
        (b'{"jsonrpc":"1.0","id":"x","method":"ping"}', "x", -32600),
        (b'{"id":8,"method":"ping"}', 8, -32600),
        (b'{"jsonrpc":"2.0","id":9,"method":"ping","params":{"x":"\\ud800"}}', 9, -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', None, -32600),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', None, -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', None, -32600),
        (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', None, -32600),
        (b"x" * (LONGEST * 3), None, -32600),
    ],
    ids=lambda value: value[:40].decode() if isinstance(value, bytes) else None,
)
def test_a_line_that_is_no_message_is_answered_and_the_next_is_read(line, number, code):
    shown, errors = read_all(line + b"\n" + PING % 1)
    assert (shown, errors) == ([PING % 1], [(number, code)])


def test_blank_lines_are_left_out_and_ends_of_lines_within_a_message_are_blanks():
    shown, errors = read_all(b'\n \r\n{"jsonrpc":"2.0","id":1,\r"method":"ping"}\r\n' + (PING % 2).rstrip(b"\n"))
    assert shown == [b'{"jsonrpc":"2.0","id":1, "method":"ping"} \n', PING % 2]
    assert errors == []


@pytest.mark.parametrize("end", [b"", b"\n"])
@pytest.mark.parametrize("over", [0, 1])
def test_a_line_may_have_as_many_bytes_as_the_error_says(over, end):
    shown, errors = read_all((PING % 1).rstrip().ljust(LONGEST + over) + end)
    assert (len(shown), errors) == ((1, []) if not over else (0, [(None, -32600)]))


def test_a_byte_order_mark_before_a_message_is_left_out():
    shown, errors = read_all(b"\xef\xbb\xbf\n\xef\xbb\xbf" + PING % 1 + PING % 2)
    assert (shown, errors) == ([PING % 1, PING % 2], [])


def start_reading(lines):
    """Return a wire, and the messages that a thread has read from it, which grow."""
    wire, read = Wire(io.BytesIO(lines), io.BytesIO()), []

    def read_messages():
        while message := wire.read_message():
            read.append(json.loads(message)["id"])
            if len(read) in (32, 33):
                reached[len(read)].set()

    reached = {32: threading.Event(), 33: threading.Event()}
    thread = threading.Thread(target=read_messages, daemon=True)
    thread.start()
    assert reached[32].wait(60)
    return wire, read, thread, reached[33]


def test_requests_wait_while_32_are_open_and_go_on_with_an_answer():
    wire, read, thread, more = start_reading(b"".join(PING % number for number in range(40)))
    assert not more.wait(0.2)
    wire.write_answers(b'{"jsonrpc":"2.0","id":3,"result":{}}\n')
    assert more.wait(60)
    for number in range(40):
        wire.write_answers(b'{"jsonrpc":"2.0","id":%d,"result":{}}\n' % number)
    thread.join(60)
    assert read == list(range(40))


def test_requests_that_were_cancelled_are_not_waited_for():
    cancelled = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}\n'
    shown, _ = read_all(b"".join(PING % number + cancelled % number for number in range(100, 200)))
    assert len(shown) == 200


def test_a_client_that_reads_no_answers_any_more_ends_the_requests():
    class Closed(io.BytesIO):
        def write(self, _):
            raise BrokenPipeError

    wire = Wire(io.BytesIO(PING % 1), Closed())
    wire.write_answers(b'{"jsonrpc":"2.0","id":7,"result":{}}\n')
    assert wire.read_message() == b""


def test_messages_and_answers_are_files():
    answers = io.BytesIO()
    wire = Wire(io.BytesIO(PING % 1 + PING % 2), answers)
    with io.BufferedReader(_Messages(wire)) as messages:
        assert messages.read() == PING % 1 + PING % 2
    out = _Answers(wire)
    out.write(b'{"jsonrpc":"2.0",')
    assert answers.getvalue() == b""
    out.write(b'"id":1}\nrest')
    assert answers.getvalue() == b'{"jsonrpc":"2.0","id":1}\n'


def test_the_sdk_logs_a_failure_in_a_line_without_a_traceback():
    error = RuntimeError("outer")
    error.__cause__ = ValueError("inner\n\x1b[31m")
    record = logging.LogRecord("mcp", logging.ERROR, __file__, 1, "failed", None, (type(error), error, None))
    told = _OneLine().format(record)
    assert told == "traceq mcp: failed: RuntimeError: outer: ValueError: inner\\n\\x1b[31m"
