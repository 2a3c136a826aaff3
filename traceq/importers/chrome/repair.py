"""Reading blocks that are not plain lists of events: the end of the list, a wrong cut, damaged text, a killed job's last line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from traceq.importers.chrome.cut import largest_event
from traceq.importers.chrome.loose import add_loosely
from traceq.importers.chrome.rows import BlockRows

_LIST_ENDS = re.compile(rb"\}\s*,?\s*\]")
# Possessive: a string may be as long as the file, and where it does not end each character would be tried again.
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|["{}\[\]]', re.DOTALL)
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_NEXT_EVENT = re.compile(rb'\}\s*,\s*(?=\{\s*"(?:ph|name|cat|pid|tid|ts|args)"\s*:)')
_CONTROL = bytes(range(0x09)) + b"\x0b\x0c" + bytes(range(0x0E, 0x20)) + b"\x7f"
_TRIES = 8

# A quote that closes a key, a colon, a token that is no JSON. Fast, and safe: inside a string the quote would be escaped.
_VALUE_NOT_A_NUMBER = re.compile(rb'(?<!\\)("\s*:\s*)[+-]?(?:nan|inf|infinity|n/a)(?=\s*[,}\]])', re.IGNORECASE)
# Anywhere else: strings are matched as a whole and put back as they are.
_ANY_NOT_A_NUMBER = re.compile(
    rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[+-]?\b(?:nan|inf|infinity|n/a)\b', re.IGNORECASE | re.DOTALL
)
_SURROGATE = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_PAIR_LENGTH = 12


@dataclass
class RepairedBlock:
    """The readable part of a block.

    `rest` is unused text: the text after the list when `ended`, else the beginning of an incomplete event. `events` are
    the texts of events that were read one by one; empty where `decode` read them all.
    """

    rows: BlockRows | None
    rest: bytes
    ended: bool
    events: list[bytes] = field(default_factory=list)


def repair(text: bytes, decode: Callable[[bytes], BlockRows | None], *, is_last: bool) -> RepairedBlock:
    """Return the readable events at the beginning of `text`; `is_last` says that no more text follows.

    `decode` returns the rows of a list of events without its brackets, None when the text is not exactly that.
    """
    for match in list(_LIST_ENDS.finditer(text))[:_TRIES]:
        rows = decode(text[: match.start() + 1])
        if rows is not None:
            comma = b"," in match[0]
            rows.notes["trailing_comma"] += comma
            return RepairedBlock(rows, text[match.end() :], ended=True)
    notes: Counter[str] = Counter()
    text = clean(text, notes)
    for again in (text, text.translate(_BREAKS_AS_BLANKS)):
        rows = decode(again)
        if rows is not None:
            notes["control_character"] += 0 if again == text else _count_breaks(text)
            rows.notes += notes
            return RepairedBlock(rows, b"", ended=False)
    repaired = _repair_events(text, notes, is_last=is_last)
    if repaired.rows is not None:
        repaired.rows.notes += notes
    return repaired


def clean(text: bytes, notes: Counter[str]) -> bytes:
    """Return the text with invalid JSON replaced: NaN by null, control characters by spaces, broken UTF-8; counted in `notes`."""
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
    return _replace_lone_surrogates(text, notes)


# Inside strings they are wrong, between strings they mean nothing.
_BREAKS_AS_BLANKS = bytes.maketrans(b"\n\r\t", b"   ")


def _count_breaks(text: bytes) -> int:
    """Return the number of line breaks and tabs inside strings."""
    strings = b"".join(string[0] for string in _STRING.finditer(text))
    return len(strings) - len(strings.translate(None, b"\n\r\t"))


def _replace_lone_surrogates(text: bytes, notes: Counter[str]) -> bytes:
    def replace(match: re.Match[bytes]) -> bytes:
        if len(match[0]) == _PAIR_LENGTH:
            return match[0]
        notes["invalid_utf8"] += 1
        return rb"\ufffd"

    return _SURROGATE.sub(replace, text) if b"\\ud" in text or b"\\uD" in text else text


def _repair_events(text: bytes, notes: Counter[str], *, is_last: bool) -> RepairedBlock:
    """Split the text into events by counting brackets outside strings, and return those that can be read alone."""
    events, end, bracket = _split_objects(text)
    rest = text[end:]
    ended = bracket is not None
    if bracket is not None:
        notes["trailing_comma"] += text[end:bracket].strip() == b","
        rest = text[bracket + 1 :]
    elif is_last:
        more, rest, ended = _resync_events(rest)
        events += more
    elif len(rest) > _SUSPICIOUS:
        # An unescaped quote has turned strings inside out: find the next thing that looks like an event.
        more, rest, _ = _resync_events(rest, keep_last=True)
        events += more
        if len(rest) > largest_event():
            # Nothing that follows can be its end: what there is of it counts as an event that cannot be read.
            events.append(b"")
            rest = b""
    notes["control_character"] += sum(map(_count_breaks, events))
    events = [_null_bad_numbers(event.translate(_BREAKS_AS_BLANKS), notes) for event in events]
    rows = BlockRows(len(events))
    add_loosely(rows, events, range(len(events)))
    return RepairedBlock(rows, rest, ended, events)


# No event is this long; a missing end within it means that quotes are out of step.
_SUSPICIOUS = 1 << 20


def _split_objects(text: bytes) -> tuple[list[bytes], int, int | None]:
    """Return the complete top-level objects, the position after the last one, and that of the list's closing bracket or None."""
    events: list[bytes] = []
    depth = 0
    begin = end = 0
    for token in _TOKEN.finditer(text):
        kind = token[0]
        if kind == b'"':
            # The text was cut within a string.
            break
        if kind in (b"{", b"["):
            if depth == 0:
                begin = token.start()
            depth += 1
        elif kind == b"]" and depth == 0:
            return events, end, token.start()
        elif kind in (b"}", b"]"):
            # A bracket that closes nothing is an event of its own, a malformed one.
            begin = begin if depth else token.start()
            depth = max(0, depth - 1)
            if depth == 0:
                end = token.end()
                events.append(text[begin:end])
    return events, end, None


def _resync_events(text: bytes, *, keep_last: bool = False) -> tuple[list[bytes], bytes, bool]:
    """Return the events of a text whose quotes do not match, cut where one seems to end and the next to begin.

    Also return the text after the last event, and whether the list ends there.
    """
    pieces = [piece + b"}" for piece in _NEXT_EVENT.split(text)]
    last = pieces.pop()[:-1]
    events = [piece.lstrip(b" \t\r\n,") for piece in pieces]
    if keep_last:
        return events, last, False
    more, _, bracket = _split_objects(last)
    if bracket is None and (last.count(b'"') - last.count(b'\\"')) % 2:
        # The last event is the one whose quotes do not match: what follows it tells where it ends.
        ends = (match for match in _LIST_ENDS.finditer(last) if _is_trailer(last[match.end() :]))
        if (end := next(ends, None)) is not None:
            more, bracket = [last[: end.start() + 1].lstrip(b" \t\r\n,")], end.end() - 1
    return [*events, *more], last[bracket + 1 :] if bracket is not None else b"", bracket is not None


def object_of_trailer(text: bytes) -> bytes:
    """Return the text after the list of events as the text of a JSON object."""
    return b"{" + text.strip().removesuffix(b"}").strip(b" \t\r\n,") + b"}"


def _is_trailer(text: bytes) -> bool:
    """Return whether the text can follow the list of events: other members of the outermost object, or nothing."""
    try:
        msgspec.json.decode(object_of_trailer(text), type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return False
    return True


def _null_bad_numbers(event: bytes, notes: Counter[str]) -> bytes:
    """Return the event's text with invalid numbers replaced by null."""

    def replace(match: re.Match[bytes]) -> bytes:
        if match[0].startswith(b'"'):
            return match[0]
        notes["not_a_number"] += 1
        return b"null"

    return _ANY_NOT_A_NUMBER.sub(replace, event)
