"""The lines of `traceq mcp` between client and SDK: bounded, and each that is no message answered with an error.

The SDK drops such lines without a word, so that their client waits for ever; it takes lines of any length and any number of
requests at once.
"""

from __future__ import annotations

import codecs
import io
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Condition
from typing import Any, BinaryIO

from mcp.types import INVALID_REQUEST, PARSE_ERROR, JSONRPCNotification, JSONRPCRequest, jsonrpc_message_adapter

LONGEST = 1 << 20
# Requests without an answer; more are not read before some are answered.
_MOST_OPEN = 32


class Wire:
    """The messages from `requests` that the SDK may see, and its answers on their way to `answers`."""

    def __init__(self, requests: BinaryIO, answers: BinaryIO) -> None:
        self._requests, self._answers = requests, answers
        self._open: Counter[str] = Counter()
        self._changed = Condition()
        self._is_over = False

    def read_message(self) -> bytes:
        """Return the next line that is a message of JSON-RPC, empty at the end; answer those that are none."""
        while line := self._read_line():
            message = line.removeprefix(codecs.BOM_UTF8)
            if len(line.removesuffix(b"\n")) > LONGEST:
                self._refuse_line(
                    None, INVALID_REQUEST, f"the line has more than {LONGEST:,} bytes: ask for less at a time"
                )
            elif message.strip() and self._is_message(message):
                # within JSON it is a blank, for the SDK the end of a line
                return message.rstrip(b"\n").replace(b"\r", b" ") + b"\n"
        return b""

    def _read_line(self) -> bytes:
        """Return the next line, its begin where it is too long; empty at the end, or when nobody reads the answers."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_over or self._open.total() < _MOST_OPEN)
            if self._is_over:
                return b""
        line = self._requests.readline(LONGEST + 1)
        rest = line
        while len(rest) > LONGEST and not rest.endswith(b"\n"):
            rest = self._requests.readline(LONGEST + 1)
        return line

    def _is_message(self, line: bytes) -> bool:
        """Return whether the line is a message; answer it with an error if not, and count it if it wants an answer."""
        text = line.decode(errors="replace")
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            self._refuse_line(None, PARSE_ERROR, "the line is not JSON")
            return False
        try:
            message = jsonrpc_message_adapter.validate_json(text, by_name=False)
        except ValueError:
            message = None
        # the SDK takes a request whose id is wrong for a notification
        if message is None or (isinstance(message, JSONRPCNotification) and "id" in found):
            self._refuse_line(_id_of(found), INVALID_REQUEST, "the line is not a request, a notification or an answer")
            return False
        with self._changed:
            if isinstance(message, JSONRPCRequest):
                self._open[_key_of(message.id)] += 1
            elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
                # of which there will be no answer
                self._open.pop(_key_of((message.params or {}).get("requestId")), None)
        return True

    def _refuse_line(self, number: int | str | None, code: int, message: str) -> None:
        """Send an error about the request with this id."""
        answer = {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}
        self.write_answers(json.dumps(answer).encode() + b"\n")

    def write_answers(self, lines: bytes) -> None:
        """Write the lines; where nobody reads them any more, end the requests."""
        with self._changed:
            for line in lines.splitlines():
                with suppress(ValueError):
                    self._open.subtract([_key_of(json.loads(line).get("id"))])
            self._open = +self._open
            self._changed.notify_all()
        try:
            self._answers.write(lines)
            self._answers.flush()
        except OSError:
            with self._changed:
                self._is_over = True
                self._changed.notify_all()


class _Messages(io.RawIOBase):
    """The messages of a wire as a file to read."""

    def __init__(self, wire: Wire) -> None:
        self._wire, self._rest = wire, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._rest = self._rest or self._wire.read_message()
        with memoryview(buffer) as view:
            part, self._rest = self._rest[: len(view)], self._rest[len(view) :]
            view[: len(part)] = part
        return len(part)


class _Answers(io.BufferedIOBase):
    """The answers of a wire as a file to write; only whole lines go on."""

    def __init__(self, wire: Wire) -> None:
        self._wire, self._begun = wire, b""

    def writable(self) -> bool:
        return True

    def write(self, buffer: Any) -> int:
        lines, end, self._begun = (self._begun + bytes(buffer)).rpartition(b"\n")
        if end:
            self._wire.write_answers(lines + end)
        return len(bytes(buffer))


@contextmanager
def wire_in_place() -> Iterator[None]:
    """Put a wire in the place of standard input and output; whatever else reads them gets nothing, and writes to stderr."""
    before = sys.stdin, sys.stdout
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # stderr is closed
        os.dup2(nothing, 1)
    wire = Wire(requests, answers)
    sys.stdin = io.TextIOWrapper(io.BufferedReader(_Messages(wire)))
    sys.stdout = io.TextIOWrapper(_Answers(wire))
    try:
        yield
    finally:
        sys.stdin, sys.stdout = before


def _id_of(message: Any) -> int | str | None:
    """Return the id in a message that may be no request; None where it has none."""
    found = message.get("id") if isinstance(message, dict) else None
    return found if isinstance(found, int | str) and not isinstance(found, bool) else None


def _key_of(number: object) -> str:
    return json.dumps(number)
