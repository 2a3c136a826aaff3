"""Reading blocks that are not plain lists of events: the end of the list, a wrong cut, damaged text, a killed job's last line."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from traceq.importers.chrome.block import Rows, decode, decode_loosely

_LIST_ENDS = re.compile(rb"\}\s*,?\s*\]")
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_NEXT_EVENT = re.compile(rb'\}\s*,\s*(?=\{\s*"(?:ph|name|cat|pid|tid|ts|args)"\s*:)')
_CONTROL = bytes(range(0x09)) + b"\x0b\x0c" + bytes(range(0x0E, 0x20)) + b"\x7f"
_TRIES = 8

# A quote that closes a key, a colon, a token that is no JSON. Fast, and safe: inside a string the quote would be escaped.
_VALUE_NOT_A_NUMBER = re.compile(rb'(?<!\\)("\s*:\s*)[+-]?(?:nan|inf|infinity|n/a)(?=\s*[,}\]])', re.IGNORECASE)
# Anywhere else: strings are matched as a whole and put back as they are.
_ANY_NOT_A_NUMBER = re.compile(rb'"(?:[^"\\]|\\.)*"|[+-]?\b(?:nan|inf|infinity|n/a)\b', re.IGNORECASE | re.DOTALL)
_SURROGATE = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_PAIR_LENGTH = 12


@dataclass
class Repaired:
    """What could be read of a block.

    `rest` is text not used yet: after the end of the list when `ended`, else the beginning of an event that needs more text.
    """

    rows: Rows | None
    rest: bytes
    ended: bool


def repair(text: bytes, *, is_last: bool) -> Repaired:
    """Read as many events from the beginning of `text` as there are; `is_last` says that no more text will come."""
    for match in list(_LIST_ENDS.finditer(text))[:_TRIES]:
        rows = decode(text[: match.start() + 1])
        if rows is not None:
            comma = b"," in match[0]
            rows.notes["trailing_comma"] += comma
            return Repaired(rows, text[match.end() :], ended=True)
    notes: Counter[str] = Counter()
    text = clean(text, notes)
    rows = decode(text)
    if rows is None:
        text = _without_breaks(text, notes)
        rows = decode(text)
    if rows is not None:
        rows.notes += notes
        return Repaired(rows, b"", ended=False)
    repaired = _one_by_one(text, notes, is_last=is_last)
    if repaired.rows is not None:
        repaired.rows.notes += notes
    return repaired


def clean(text: bytes, notes: Counter[str]) -> bytes:
    """The text with everything replaced that has one obvious meaning."""
    text, count = _VALUE_NOT_A_NUMBER.subn(rb"\1null", text)
    notes["not_a_number"] += count
    controls = len(text) - len(text.translate(None, _CONTROL))
    if controls:
        notes["control_character"] += controls
        text = text.translate(bytes.maketrans(_CONTROL, b" " * len(_CONTROL)))
    try:
        text.decode()
    except UnicodeDecodeError:
        replaced = text.decode(errors="replace")
        notes["invalid_utf8"] += replaced.count("\N{REPLACEMENT CHARACTER}") - text.count(b"\xef\xbf\xbd")
        text = replaced.encode()
    return _without_lone_surrogates(text, notes)


def _without_breaks(text: bytes, notes: Counter[str]) -> bytes:
    """The text with line breaks and tabs inside strings as blanks; between strings they mean nothing anyway."""
    broken = sum(
        string[0].count(b"\n") + string[0].count(b"\t") + string[0].count(b"\r") for string in _STRING.finditer(text)
    )
    notes["control_character"] += broken
    return text.translate(bytes.maketrans(b"\n\r\t", b"   ")) if broken else text


def _without_lone_surrogates(text: bytes, notes: Counter[str]) -> bytes:
    def replace(match: re.Match[bytes]) -> bytes:
        if len(match[0]) == _PAIR_LENGTH:
            return match[0]
        notes["invalid_utf8"] += 1
        return rb"\ufffd"

    return _SURROGATE.sub(replace, text) if b"\\ud" in text or b"\\uD" in text else text


def _one_by_one(text: bytes, notes: Counter[str], *, is_last: bool) -> Repaired:
    """Find the events by counting brackets outside strings, and read each alone."""
    events, end, ended = _split(text)
    rest = text[end:]
    if not ended and is_last:
        more, rest = _resynchronized(rest)
        events += more
    elif not ended and len(rest) > _SUSPICIOUS:
        # An unescaped quote has turned strings inside out: find the next thing that looks like an event.
        more, rest = _resynchronized(rest, keep_last=True)
        events += more
    return Repaired(decode_loosely([_numbers(event, notes) for event in events], notes), rest, ended)


# No event is this long; a missing end within it means that quotes are out of step.
_SUSPICIOUS = 1 << 20


def _split(text: bytes) -> tuple[list[bytes], int, bool]:
    """Complete top-level objects, the position after the last one (or after the list), and whether the list ends."""
    events: list[bytes] = []
    depth = 0
    begin = end = 0
    for token in _TOKEN.finditer(text):
        first = token[0][0]
        if first in b"{[":
            if depth == 0:
                begin = token.start()
            depth += 1
        elif first in b"}]":
            depth -= 1
            if depth < 0:
                return events, token.end(), True
            if depth == 0:
                end = token.end()
                events.append(text[begin:end])
    return events, end, False


def _resynchronized(text: bytes, *, keep_last: bool = False) -> tuple[list[bytes], bytes]:
    """Events of text whose quotes do not match: cut where one seems to end and the next to begin."""
    pieces = [piece + b"}" for piece in _NEXT_EVENT.split(text)]
    last = pieces.pop()[:-1]
    if keep_last:
        return [piece.lstrip(b" \t\r\n,") for piece in pieces], last
    end = _LIST_ENDS.search(last)
    if end is not None:
        pieces.append(last[: end.start() + 1])
        last = b""
    return [piece.lstrip(b" \t\r\n,") for piece in pieces], b""


def _numbers(event: bytes, notes: Counter[str]) -> bytes:
    """The event with tokens that are no JSON numbers as null, wherever they stand."""

    def replace(match: re.Match[bytes]) -> bytes:
        if match[0].startswith(b'"'):
            return match[0]
        notes["not_a_number"] += 1
        return b"null"

    return _ANY_NOT_A_NUMBER.sub(replace, event)
