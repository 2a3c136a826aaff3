"""The file of a run of W&B (run-ID.wandb): records of protobuf in blocks of 32 KiB, framed as LevelDB frames its log.

Of the records, those of the history hold what the program logged, each value as JSON beside its name. Field numbers are
those of wandb_internal.proto.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path

from traceq.importers.training_logs.reading import TrainingLog
from traceq.importers.training_logs.records import RecordLog
from traceq.importers.xplane.wire import DamagedMessage, Span, read_fields, read_text, to_double, to_signed

FORMAT = "wandb"

_MAGIC = b":W&B"
_FILE_HEADER, _HEADER, _BLOCK = 7, 7, 32 << 10
_WHOLE, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4

_HISTORY = 2  # of a record
_ITEM, _HISTORY_STEP = 1, 2  # of a history
_KEY, _NESTED_KEY, _INTEGER, _NUMBER, _JSON = 1, 2, 5, 6, 16  # of an item


def sniff_log(_path: Path, head: bytes) -> bool:
    """Return whether the file begins as one of W&B."""
    return head.startswith(_MAGIC)


def read_log(path: Path) -> TrainingLog:
    """Return the history of the run; records of the history are counted from 1. A file that is cut is read as far as it goes."""
    content = path.read_bytes()
    log, number = RecordLog(FORMAT), 0
    for record in _read_records(content):
        if record is None:
            log.left_out += 1
            continue
        try:
            for field, _, span in read_fields(record, (0, len(record))):
                if field == _HISTORY:
                    number += 1
                    log.add_record(number, _read_history(record, span))
        except DamagedMessage:
            log.left_out += 1
    return log.finish_log()


def _read_records(content: bytes) -> Iterator[bytes | None]:
    """Yield each record of the file, None for one of which a part is missing."""
    at, parts = _FILE_HEADER, list[bytes]()
    while at + _HEADER <= len(content):
        left = _BLOCK - at % _BLOCK
        if left < _HEADER:
            at += left
            continue
        _, size, kind = struct.unpack_from("<IHB", content, at)
        part = content[at + _HEADER : at + _HEADER + size]
        if kind == 0 and size == 0:  # the rest of a block that was left empty
            at += left
            continue
        if len(part) < size or size > left - _HEADER or kind not in (_WHOLE, _FIRST, _MIDDLE, _LAST):
            yield None
            parts, at = [], at + left
            continue
        at += _HEADER + size
        if kind in (_WHOLE, _FIRST):
            if parts:
                yield None
            parts = [part]
        elif parts:
            parts.append(part)
        else:
            yield None
        if kind in (_WHOLE, _LAST) and parts:
            yield b"".join(parts)
            parts = []
    if parts or at < len(content):
        yield None


def _read_history(record: bytes, span: Span) -> dict[str, object]:
    """Return the values of one record of the history by name."""
    values: dict[str, object] = {}
    for field, _, part in read_fields(record, span):
        if field == _ITEM:
            name, value = _read_item(record, part)
            values[name] = value
        elif field == _HISTORY_STEP:
            for inner, bits, _ in read_fields(record, part):
                if inner == 1:
                    values.setdefault("_step", to_signed(bits))
    return values


def _read_item(record: bytes, span: Span) -> tuple[str, object]:
    """Return name and value of one item: names within names are joined by a slash."""
    names: list[str] = []
    value: object = None
    for field, bits, part in read_fields(record, span):
        if field in (_KEY, _NESTED_KEY):
            names.append(read_text(record, part))
        elif field == _INTEGER:
            value = to_signed(bits)
        elif field == _NUMBER:
            value = to_double(bits)
        elif field == _JSON:
            try:
                value = json.loads(read_text(record, part))
            except (ValueError, RecursionError):
                value = None
    return "/".join(names), value
