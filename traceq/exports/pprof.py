"""Writes a profile for pprof: profile.proto of github.com/google/pprof, whose few messages are encoded here by hand."""

from __future__ import annotations

import gzip
from typing import BinaryIO

from traceq.common.text import printable
from traceq.common.version import __version__
from traceq.exports.protobuf import encode_message, encode_number, pack_numbers
from traceq.exports.stacks import MEASURES, CodeFrame, Stacks, find_frame, walk_stacks

# Fields of the message Profile; those of the messages in it are beside their encoders.
_SAMPLE_TYPE, _SAMPLE, _MAPPING, _LOCATION, _FUNCTION, _STRING_TABLE = 1, 2, 3, 4, 5, 6
_DURATION_NANOS, _COMMENT, _DEFAULT_SAMPLE_TYPE = 10, 13, 14


def write_pprof(stacks: Stacks, name: str, file: BinaryIO) -> int:
    """Write a gzip-compressed profile whose samples have a value for each measure, in ns; return how many samples it has.

    A frame is a function and the only location in it, both of the same id. `name` stands where pprof has the binary's.
    """
    texts = _TextTable()
    types = {measure: texts.number_text(measure) for measure in MEASURES}
    nanoseconds = texts.number_text("nanoseconds")
    parts = [
        encode_message(
            _SAMPLE_TYPE, encode_number(1, kind) + encode_number(2, nanoseconds)
        )  # ValueType: type 1, unit 2
        for kind in types.values()
    ]
    ids: dict[CodeFrame, int] = {}
    id_of_place = [ids.setdefault(find_frame(path), len(ids) + 1) for path in stacks.paths]
    count = 0
    for path, way in walk_stacks(stacks):
        # Sample: location_id 1, innermost first; value 2. Repeated numbers are packed.
        values = (getattr(path, measure) for measure in MEASURES)
        stack = (id_of_place[place] for place in reversed(way))
        parts.append(
            encode_message(_SAMPLE, encode_message(1, pack_numbers(stack)) + encode_message(2, pack_numbers(values)))
        )
        count += 1
    # Mapping: id 1, filename 5, and that functions 7, file names 8 and line numbers 9 are known: there is none to look up.
    known = b"".join(encode_number(field, 1) for field in (7, 8, 9))
    parts.append(encode_message(_MAPPING, encode_number(1, 1) + encode_number(5, texts.number_text(name)) + known))
    for frame, number in ids.items():
        # Location: id 1, mapping_id 2, line 4. Line: function_id 1, line 2.
        line = encode_number(1, number) + encode_number(2, frame.line)
        parts.append(
            encode_message(_LOCATION, encode_number(1, number) + encode_number(2, 1) + encode_message(4, line))
        )
        parts.append(encode_message(_FUNCTION, _encode_function(frame, number, texts)))
    comment = texts.number_text(f"traceq {__version__}: the counted steps")
    parts += (encode_message(_STRING_TABLE, text.encode()) for text in texts.numbers)
    parts += (
        encode_number(_DURATION_NANOS, stacks.dur),
        encode_number(_COMMENT, comment),
        encode_number(_DEFAULT_SAMPLE_TYPE, types["host"]),
    )
    # No time in it: equal content gives equal bytes.
    file.write(gzip.compress(b"".join(parts), mtime=0))
    return count


class _TextTable:
    """The texts of a profile, each once, by their numbers; the first is empty. What could steer a terminal is escaped."""

    def __init__(self) -> None:
        self.numbers = {"": 0}

    def number_text(self, text: str) -> int:
        return self.numbers.setdefault(printable(text), len(self.numbers))


def _encode_function(frame: CodeFrame, number: int, texts: _TextTable) -> bytes:
    """Return the message Function: id 1, name 2, filename 4, start_line 5.

    With a system_name pprof would take the name for one of C++, and leave out what is in brackets.
    """
    name = encode_number(1, number) + encode_number(2, texts.number_text(frame.short_name))
    return name + (
        encode_number(4, texts.number_text(frame.file)) + encode_number(5, frame.line) if frame.file else b""
    )
