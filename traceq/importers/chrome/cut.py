"""Cutting the stream into its three parts: what stands before the list of events, blocks of events, what stands after.

A block of events cut at a `}` is at top level exactly if "[" + block + "]" is JSON. So the cut may guess, and decoding is the
proof; `repair` takes over where the proof fails.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice

import msgspec

from traceq.importers.chrome.source import BOM, LINES_WITHOUT_COMMA, ByteStream, is_bare_list

BLOCK_BYTES = 256 << 10

# How far from the end of a block a cut is looked for first.
_WINDOW = 1 << 12

# An event that ends, and one that begins. Inside a string the quote would have to be escaped, so this matches text between
# events or, rarely, between objects in a list of arguments or at the end of a string like "},{".
_BETWEEN_EVENTS = re.compile(rb"\}(?=\s*,\s*\{\s*[\"}])")
# Where the list of events may end and another member begin; arguments of an event can look like that, too.
_MAY_END = re.compile(rb"\}(?=\s*\]\s*,\s*\")")
_MOST_ENDS = 20
_LIST_BEGINS = re.compile(rb'"traceEvents"\s*:\s*\[')

# MiB of an event that is read: one is held in several forms at once, and the largest of the traces at hand is below 7 kB.
_LARGEST_EVENT, LIMIT = 1, "TRACEQ_EVENT_LIMIT"
_LARGEST_HEADER = 512 << 20


def largest_event() -> int:
    """Return how many bytes an event may have: 1 MiB, or as many MiB as LIMIT's environment variable says.

    Longer events are skipped.
    """
    said = os.environ.get(LIMIT, "")
    return (int(said) if said.isdecimal() else _LARGEST_EVENT) << 20


def read_header(stream: ByteStream) -> tuple[bytes | None, bytes]:
    """Return the text of the file before the list of events, and the first bytes after the list's "[".

    The first is b"" where the file is a bare list, None where it holds no list of events.
    """
    text = stream.read(BLOCK_BYTES).removeprefix(BOM)
    begin = text.lstrip()
    if begin.startswith(b"["):
        return b"", _separate_lines(stream, begin[1:])
    if is_bare_list(begin):
        return b"", stream.separate_lines(begin, is_closed=False)
    searched = 0
    while True:
        for match in _LIST_BEGINS.finditer(text, max(0, searched - 64)):
            if _is_top_level(text[: match.end()]):
                return text[: match.start()], _separate_lines(stream, text[match.end() :])
        more = stream.read(BLOCK_BYTES)
        if not more or len(text) > _LARGEST_HEADER:
            return None, text
        searched = len(text)
        text += more


def _separate_lines(stream: ByteStream, text: bytes) -> bytes:
    """Return the text, which begins at the first event, with commas between its events where their lines lack them."""
    return stream.separate_lines(text, is_closed=True) if LINES_WITHOUT_COMMA.search(text) else text


def is_cut_short(error: Exception) -> bool:
    """Return whether what msgspec could not decode is the beginning of JSON, which only its message tells."""
    return "truncated" in str(error)


def _is_top_level(header: bytes) -> bool:
    """Return whether a list that begins at the end of `header` is a member of the file's outermost object.

    In damaged metadata the only "traceEvents" counts as that.
    """
    closed = header + b"]}"
    try:
        msgspec.json.decode(closed, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        # Damaged metadata must not hide the events: then the first match counts. What is left open encloses the list.
        return not is_cut_short(error) and header.count(b'"traceEvents"') == 1
    return True


def read_blocks(stream: ByteStream, text: bytes) -> Iterator[bytes]:
    """Yield the file's text from the list of events on, in blocks of about BLOCK_BYTES that are cut between events.

    `text` was read from the stream before and comes first. Metadata behind the list follows in blocks cut anywhere.
    Only the beginning of an event larger than `largest_event()` is yielded, and `stream.large_events` counts it.
    """
    parts = [text]
    size = len(text)
    largest = largest_event()
    while more := stream.read(BLOCK_BYTES):
        cut = _find_last_cut(more)
        if cut is None and size + len(more) < largest:
            # The end of an event may lie across the edge of two reads; only a huge event has none in a whole read.
            parts.append(more)
            size += len(more)
            continue
        if cut is None and _has_list_end(b"".join(parts)):
            # Not a large event, but metadata behind the list.
            yield b"".join([*parts, more])
            yield from iter(lambda: stream.read(BLOCK_BYTES), b"")
            return
        yield b"".join([*parts, more[:cut]])
        parts = [more[cut:]] if cut is not None else [_skip_event(stream)]
        size = len(parts[0])
    yield b"".join(parts)


def _has_list_end(text: bytes) -> bool:
    """Return whether the list of events ends within the text, which begins at an event."""
    events = text.lstrip(b" \t\r\n,")
    for match in islice(_MAY_END.finditer(events), _MOST_ENDS):
        try:
            msgspec.json.decode(b"[" + events[: match.start() + 1] + b"]", type=list[msgspec.Raw])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        return True
    return False


def _skip_event(stream: ByteStream) -> bytes:
    """Read on to the end of an oversized event, and count it; return the text from its "}" on.

    Where no end is found, the last text of the stream is returned.
    """
    stream.large_events += 1
    last = b""
    while more := stream.read(BLOCK_BYTES):
        text = last + more
        if between := _BETWEEN_EVENTS.search(text):
            return text[between.start() :]
        last = more
    return last


def _find_last_cut(text: bytes) -> int | None:
    """Return the position after the last "}" between two events, searched from the end; None without one."""
    window = _WINDOW
    while True:
        first = max(0, len(text) - window)
        last = None
        for match in _BETWEEN_EVENTS.finditer(text, first):
            last = match.end()
        if last is not None or first == 0:
            return last
        window *= 8
