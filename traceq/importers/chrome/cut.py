"""Cutting the stream into its three parts: what stands before the list of events, blocks of events, what stands after.

A block of events cut at a `}` is at top level exactly if "[" + block + "]" is JSON. So the cut may guess, and decoding is the
proof; `repair` takes over where the proof fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from traceq.importers.chrome.source import BOM, Stream

BLOCK_BYTES = 2 << 20

# How far from the end of a block a cut is looked for first.
_WINDOW = 1 << 16

# An event that ends, and one that begins. Inside a string the quote would have to be escaped, so this matches text between
# events or, rarely, between objects in a list of arguments or at the end of a string like "},{".
_BETWEEN_EVENTS = re.compile(rb"\}(?=\s*,\s*\{\s*\")")
_LIST_BEGINS = re.compile(rb'"traceEvents"\s*:\s*\[')

# An event that is larger than this has lost its end.
_LARGEST_EVENT = 64 << 20
_LARGEST_HEADER = 512 << 20


def read_header(stream: Stream) -> tuple[bytes | None, bytes]:
    """The text before the list of events and the first bytes after its "[".

    The header of a bare list is b""; None means that the file holds no list of events.
    """
    text = stream.read(BLOCK_BYTES).removeprefix(BOM)
    begin = text.lstrip()
    if begin.startswith(b"["):
        return b"", begin[1:]
    searched = 0
    while True:
        for match in _LIST_BEGINS.finditer(text, max(0, searched - 64)):
            if _is_top_level(text[: match.end()]):
                return text[: match.start()], text[match.end() :]
        more = stream.read(BLOCK_BYTES)
        if not more or len(text) > _LARGEST_HEADER:
            return None, text
        searched = len(text)
        text += more


def _is_top_level(header: bytes) -> bool:
    """Whether a list that begins at the end of `header` is a member of the file's outermost object."""
    closed = header + b"]}"
    try:
        msgspec.json.decode(closed, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # Damaged metadata must not hide the events: then the first match counts.
        return header.count(b'"traceEvents"') == 1
    return True


@dataclass(frozen=True)
class Piece:
    """A piece of a trace's text: `text`, or, without one, `size` bytes of the file `path` from `offset` on."""

    text: bytes | None
    path: str = ""
    offset: int = 0
    size: int = 0

    def read(self) -> bytes:
        """The text."""
        if self.text is not None:
            return self.text
        with open(self.path, "rb") as file:  # noqa: PTH123 - a path per block would be built for nothing
            file.seek(self.offset)
            return file.read(self.size)


def blocks(stream: Stream, text: bytes) -> Iterator[Piece]:
    """Blocks of about BLOCK_BYTES that begin at an event and end at a "}", then the rest of the file as one more.

    `text` is what was read of the stream and not used. Concatenated the blocks are the stream from there on.
    """
    return _of_file(stream, len(text)) if stream.is_plain else _of_stream(stream, text)


def _of_file(stream: Stream, unused: int) -> Iterator[Piece]:
    """Blocks of a plain file, of which only the text around the cuts is read here: who decodes a block reads it."""
    begin = stream.tell() - unused
    end = begin
    while (end := end + BLOCK_BYTES) < stream.size:
        cut = _last_cut(stream, begin, end)
        if cut is None and end - begin < _LARGEST_EVENT:
            continue
        cut = end if cut is None else cut
        yield Piece(None, stream.name, begin, cut - begin)
        stream.tell_progress(cut)
        begin = end = cut
    yield Piece(None, stream.name, begin, stream.size - begin)
    stream.tell_progress(stream.size)


def _of_stream(stream: Stream, text: bytes) -> Iterator[Piece]:
    parts = [text]
    size = len(text)
    while more := stream.read(BLOCK_BYTES):
        cut = _last_cut(more, 0, len(more))
        if cut is None and size + len(more) < _LARGEST_EVENT:
            # The end of an event may lie across the edge of two reads; only a huge event has none in a whole read.
            parts.append(more)
            size += len(more)
            continue
        yield Piece(b"".join([*parts, more[:cut]]))
        parts = [more[cut:]] if cut is not None else []
        size = len(parts[0]) if parts else 0
    yield Piece(b"".join(parts))


def _last_cut(text: bytes | Stream, begin: int, end: int) -> int | None:
    """Position after the last "}" between `begin` and `end` that ends an event, searched backwards in growing windows."""
    window = _WINDOW
    while True:
        first = max(begin, end - window)
        last = None
        for match in _BETWEEN_EVENTS.finditer(text[first:end]):
            last = first + match.end()
        if last is not None or first == begin:
            return last
        window *= 8
