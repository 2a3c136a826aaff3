"""Reading blocks that are not plain lists of events: the end of the list, a wrong cut, damaged text, a killed job's last line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

import msgspec

from traceq.importers.chrome.cut import is_cut_short, largest_event
from traceq.importers.chrome.loose import add_loosely
from traceq.importers.chrome.rows import BlockRows

_LIST_ENDS = re.compile(rb"(?:\A|(?<=\}))\s*,?\s*\]")
_BETWEEN = b" \t\r\n,"
# Possessive: a string may be as long as the file, and where it does not end each character would be tried again.
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|["{}\[\]]', re.DOTALL)
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
# Between two events, by the keys that they begin with; between objects in a list of arguments, too, if those have such keys.
_BETWEEN_EVENTS = re.compile(
    rb'(?<=\})\s*,\s*(?=\{\s*"?(?:ph|name|cat|pid|tid|ts|dur|args|id2?|bp|s|tts|tdur|cname|sf|stack|scope|v)"?\s*:)'
)
# Every event has a phase.
_PHASE = re.compile(rb'"?\bph"?\s*:')
# An escape of JSON, or (the group) a backslash that begins none, as in paths of Windows that were not escaped.
_BACKSLASH = re.compile(rb'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|(\\)')
# In such a path \n and \t are no line break and no tab.
_KEPT_ESCAPE = re.compile(rb'\\(?:["\\/]|u[0-9a-fA-F]{4})|(\\)')
_CONTROL = bytes(range(0x09)) + b"\x0b\x0c" + bytes(range(0x0E, 0x20)) + b"\x7f"
_TRIES = 8
# Objects in arguments of one event that are joined again after a cut.
_MOST_JOINED = 256

# A quote that closes a key, a colon, a token that is no JSON. Fast, and safe: inside a string the quote would be escaped.
_VALUE_NOT_A_NUMBER = re.compile(rb'(?<!\\)("\s*:\s*)[+-]?(?:nan|inf|infinity|n/a)(?=\s*[,}\]])', re.IGNORECASE)
# Anywhere else: strings are matched as a whole and put back as they are.
_ANY_NOT_A_NUMBER = re.compile(
    rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[+-]?\b(?:nan|inf|infinity|n/a)\b', re.IGNORECASE | re.DOTALL
)
_SURROGATE = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_PAIR_LENGTH = 12


class _AnyObject(msgspec.Struct, gc=False):
    """Any JSON object."""


_any_object = msgspec.json.Decoder(_AnyObject)


class RepairedBlock(msgspec.Struct):
    """The readable part of a block.

    `rest` is unused text: the text after the list when `ended`, else the beginning of an incomplete event. `events` are
    the texts of events that were cut apart; empty where `decode` read them as they were.
    """

    rows: BlockRows
    rest: bytes
    ended: bool
    events: list[bytes] = msgspec.field(default_factory=list)


def repair(text: bytes, decode: Callable[[bytes], BlockRows | None], *, is_last: bool) -> RepairedBlock:
    """Return the readable events at the beginning of `text`; `is_last` says that no more text follows.

    `decode` returns the rows of a list of events without its brackets, None when the text is not exactly that.
    """
    for match in list(_LIST_ENDS.finditer(text))[:_TRIES]:
        rows = decode(text[: match.start()])
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
    repaired = _repair_events(text, decode, notes, is_last=is_last)
    repaired.rows.notes += notes
    return repaired


def clean(text: bytes, notes: Counter[str]) -> bytes:
    """Return the text with invalid JSON replaced: NaN by null, control characters by spaces, broken UTF-8; counted in `notes`."""
    text, count = _VALUE_NOT_A_NUMBER.subn(rb"\1null", text)
    notes["not_a_number"] += count
    text = _escape_backslashes(text, notes)
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


def _escape_backslashes(text: bytes, notes: Counter[str]) -> bytes:
    """Return the text with the backslashes of strings doubled where one of the string begins no escape; counted in `notes`."""
    if not any(match[1] for match in _BACKSLASH.finditer(text)):
        return text

    def double_backslashes(string: re.Match[bytes]) -> bytes:
        if not any(match[1] for match in _BACKSLASH.finditer(string[0])):
            return string[0]
        notes["unescaped_backslash"] += 1
        return _KEPT_ESCAPE.sub(lambda match: match[0] + match[0] if match[1] else match[0], string[0])

    return _STRING.sub(double_backslashes, text)


def _replace_lone_surrogates(text: bytes, notes: Counter[str]) -> bytes:
    def replace(match: re.Match[bytes]) -> bytes:
        if len(match[0]) == _PAIR_LENGTH:
            return match[0]
        notes["invalid_utf8"] += 1
        return rb"\ufffd"

    return _SURROGATE.sub(replace, text) if b"\\ud" in text or b"\\uD" in text else text


def _repair_events(
    text: bytes, decode: Callable[[bytes], BlockRows | None], notes: Counter[str], *, is_last: bool
) -> RepairedBlock:
    """Split the text into events and return those that can be read alone.

    Brackets outside of strings tell the events apart where quotes are right. An object that is not JSON, or one that does
    not end, shows that they are not: then the text is cut wherever an event seems to begin.
    """
    pieces, end, bracket = _split_objects(text)
    is_damaged = not all(_is_object(_tidy_event(piece, Counter())) for piece in pieces)
    if is_damaged:
        pieces, end, bracket = [], 0, None
    rest = text[end:]
    ended = bracket is not None
    if bracket is not None:
        notes["trailing_comma"] += text[end:bracket].strip() == b","
        rest = text[bracket + 1 :]
    elif is_last or is_damaged or len(rest) > _SUSPICIOUS:
        more, rest, ended = _cut_events(rest, notes, is_last=is_last)
        pieces += more
    if not ended and len(rest) > largest_event():
        # Nothing that follows can be its end: what there is of it counts as an event that cannot be read.
        pieces.append(b"")
        rest = b""
    events = [_tidy_event(event, notes) for piece in pieces for event in _split_piece(piece)]
    # An empty event in place of one that cannot be read keeps its number.
    readable = [event if _is_object(event) else b"{}" for event in events]
    rows = decode(b",".join(readable))
    if rows is None:
        rows = BlockRows(len(events))
        add_loosely(rows, events, range(len(events)))
    else:
        damaged = sum(event is not text for event, text in zip(events, readable, strict=True))
        rows.notes["malformed_event"] += damaged
        rows.notes["empty_event"] -= damaged
    return RepairedBlock(rows, rest, ended, events)


def _is_list_end(text: bytes, position: int, *, is_last: bool) -> bool:
    """Return whether a bracket before `position` ends the list of events.

    Then no event follows it, only other members of the outermost object, which are whole if no more text follows `text`.
    """
    if _PHASE.search(text, position):
        return False
    after = text[position:].strip(_BETWEEN)
    try:
        msgspec.json.decode(object_of_trailer(after) if is_last else b"{" + after, type=dict[str, msgspec.Raw])
    except msgspec.DecodeError as error:
        return not is_last and is_cut_short(error)
    except (RecursionError, UnicodeDecodeError):
        return False
    return True


def _cut_events(text: bytes, notes: Counter[str], *, is_last: bool) -> tuple[list[bytes], bytes, bool]:
    """Cut a text where an object seems to end and an event to begin, and where the list seems to end.

    Return one piece an event, the text that is left, and whether the list ends. What is left is the text after the list,
    else the beginning of an event that does not end; of the last text, which ends within an event, nothing is.
    """
    end = next((match for match in _LIST_ENDS.finditer(text) if _is_list_end(text, match.end(), is_last=is_last)), None)
    if end is None:
        pieces, rest = _join_pieces(text)
        if is_last and not rest and pieces and not _is_event(pieces[-1]):
            pieces.pop()
        return pieces, b"" if is_last else rest, False
    notes["trailing_comma"] += b"," in end[0]
    pieces, unfinished = _join_pieces(text[: end.start()])
    return [*pieces, unfinished] if unfinished else pieces, text[end.end() :], True


def _join_pieces(text: bytes) -> tuple[list[bytes], bytes]:
    """Cut a text where events seem to begin; return one piece an event, and the beginning of one that does not end.

    Damage leaves pieces that are no JSON; what the arguments of an event list belongs to its piece.
    """
    cuts = list(_BETWEEN_EVENTS.finditer(text))
    begins = [0, *(cut.end() for cut in cuts)]
    ends = [*(cut.start() for cut in cuts), len(text)]
    pieces: list[bytes] = []
    number = 0
    while number < len(begins):
        last = _find_last(text, begins, ends, number)
        if last is None:
            return pieces, text[begins[number] :].strip(_BETWEEN)
        piece = text[begins[number] : ends[last]].strip(_BETWEEN)
        if pieces and not _PHASE.search(piece) and not _is_event(pieces[-1]):
            pieces[-1] += piece
        elif piece:
            pieces.append(piece)
        number = last + 1
    return pieces, b""


def _find_last(text: bytes, begins: list[int], ends: list[int], first: int) -> int | None:
    """Return the number of the last of the cut pieces that make an event from `first` on; None if it does not end.

    Objects that arguments list are cut apart as well, and joined here. It is `first` where they make no event.
    """
    for last in range(first, min(len(ends), first + _MOST_JOINED)):
        try:
            _any_object.decode(_tidy_event(text[begins[first] : ends[last]], Counter()))
        except msgspec.DecodeError as error:
            if not is_cut_short(error):
                return first
        except (RecursionError, UnicodeDecodeError):
            return first
        else:
            return last
    return None if first + _MOST_JOINED >= len(ends) else first


def _split_piece(piece: bytes) -> list[bytes]:
    """Return a piece as texts of one event each: events without a comma between them, or with something else, are split."""
    if _is_event(piece):
        return [piece]
    objects, _, bracket = _split_objects(piece)
    if not any(map(_is_event, objects)):
        return [piece]
    return objects if bracket is None else [*objects, piece[bracket:]]


# No event is this long; a missing end within it means that quotes are out of step.
_SUSPICIOUS = 1 << 20


def _split_objects(text: bytes) -> tuple[list[bytes], int, int | None]:
    """Return the complete top-level objects, the position after the last one, and that of the list's closing bracket or None.

    Brackets are counted outside of strings.
    """
    objects: list[bytes] = []
    depth = 0
    begin = end = 0
    for token in _TOKEN.finditer(text):
        kind = token[0]
        if kind == b'"':
            # The text was cut within a string.
            break
        if kind in (b"{", b"["):
            begin = begin if depth else token.start()
            depth += 1
        elif kind == b"]" and depth == 0:
            return objects, end, token.start()
        elif kind in (b"}", b"]"):
            # A bracket that closes nothing is an event of its own, a malformed one.
            begin = begin if depth else token.start()
            depth = max(0, depth - 1)
            if depth == 0:
                end = token.end()
                objects.append(text[begin:end])
    return objects, end, None


def _is_event(text: bytes) -> bool:
    """Return whether the text is a JSON object with a phase, but for line breaks and numbers that can be mended."""
    return _PHASE.search(text) is not None and _is_object(_tidy_event(text, Counter()))


def _is_object(text: bytes) -> bool:
    """Return whether the text is one JSON object."""
    try:
        _any_object.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return False
    return True


def _tidy_event(event: bytes, notes: Counter[str]) -> bytes:
    """Return an event's text with line breaks in strings as blanks and invalid numbers as null; both are counted in `notes`."""
    if _is_object(event):
        return event
    notes["control_character"] += _count_breaks(event)
    return _null_bad_numbers(event.translate(_BREAKS_AS_BLANKS), notes)


def object_of_trailer(text: bytes) -> bytes:
    """Return the text after the list of events as the text of a JSON object."""
    return b"{" + text.strip().removesuffix(b"}").strip(_BETWEEN) + b"}"


def _null_bad_numbers(event: bytes, notes: Counter[str]) -> bytes:
    """Return the event's text with invalid numbers replaced by null."""

    def replace(match: re.Match[bytes]) -> bytes:
        if match[0].startswith(b'"'):
            return match[0]
        notes["not_a_number"] += 1
        return b"null"

    return _ANY_NOT_A_NUMBER.sub(replace, event)
