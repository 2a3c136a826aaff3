"""Event files of TensorBoard: records of protobuf, each between its length and checksums (TFRecord), with scalars by tag.

Field numbers are those of event.proto, summary.proto and tensor.proto of TensorFlow. Checksums are not looked at.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from pathlib import Path

from traceq.importers.monitors.reading import SECOND
from traceq.importers.training_logs.reading import END_OF_TIME, MOST_STEP, TrainingLog
from traceq.importers.training_logs.records import RecordLog
from traceq.importers.xplane.wire import DamagedMessage, Span, read_fields, read_text, to_double, to_float, to_signed

FORMAT = "tensorboard"

_VERSION = b"brain.Event:"
_LENGTH, _CHECKSUM = 8, 4
_LARGEST_RECORD = 64 << 20

_WALL_TIME, _STEP, _SUMMARY = 1, 2, 5  # of an event
_TAG, _SIMPLE_VALUE, _TENSOR = 1, 2, 8  # of a value of a summary
_DTYPE, _CONTENT, _FLOATS, _DOUBLES, _INTEGERS, _LONGS = 1, 4, 5, 6, 7, 10  # of a tensor
# Types of a tensor's elements: how struct reads them.
_TYPES = {1: "<f", 2: "<d", 3: "<i", 9: "<q", 19: "<e"}


def sniff_log(_path: Path, head: bytes) -> bool:
    """Return whether the first record is that of an event file, which names its version."""
    return _VERSION in head[:64]


def read_log(path: Path) -> TrainingLog:
    """Return the scalars of the file; records are counted from 1. A file that is cut is read as far as it goes."""
    log = RecordLog(FORMAT)
    for number, record in enumerate(_read_records(path), start=1):
        if record is None:
            log.left_out += 1
            continue
        try:
            at, step, values = _read_event(record)
        except DamagedMessage:
            log.left_out += 1
            continue
        log.lines = number
        if values:
            log.add_record(number, {**values, **({} if step is None else {"global_step": step})}, at)
    return log.finish_log()


def _read_records(path: Path) -> Iterator[bytes | None]:
    """Yield each record of the file; None, and no more, where one is damaged or cut."""
    with path.open("rb") as file:
        while head := file.read(_LENGTH + _CHECKSUM):
            (size,) = struct.unpack_from("<Q", head) if len(head) == _LENGTH + _CHECKSUM else (_LARGEST_RECORD + 1,)
            record = file.read(size) if size <= _LARGEST_RECORD else b""
            if size > _LARGEST_RECORD or len(record) < size or len(file.read(_CHECKSUM)) < _CHECKSUM:
                yield None
                return
            yield record


def _read_event(record: bytes) -> tuple[int | None, int | None, dict[str, object]]:
    """Return (ns since 1970, step, scalars by tag) of an event."""
    at, step, values = None, 0, dict[str, object]()
    for field, bits, part in read_fields(record, (0, len(record))):
        if field == _WALL_TIME:
            seconds = to_double(bits)
            is_possible = math.isfinite(seconds) and 0 < seconds < END_OF_TIME / SECOND
            at = round(seconds * SECOND) if is_possible else None
        elif field == _STEP:
            step = to_signed(bits)
        elif field == _SUMMARY:
            for _, _, value in read_fields(record, part):
                tag, scalar = _read_value(record, value)
                if scalar is not None:
                    values[tag] = scalar
    return at, step if 0 <= step < MOST_STEP else None, values


def _read_value(record: bytes, span: Span) -> tuple[str, float | None]:
    """Return tag and scalar of one value of a summary; None for what is no scalar."""
    tag, scalar = "", None
    for field, bits, part in read_fields(record, span):
        if field == _TAG:
            tag = read_text(record, part)
        elif field == _SIMPLE_VALUE:
            scalar = to_float(bits)
        elif field == _TENSOR:
            scalar = _read_tensor(record, part)
    return tag, scalar


def _read_tensor(record: bytes, span: Span) -> float | None:
    """Return the only element of a tensor of numbers; None for other tensors."""
    kind, elements = 0, list[float]()
    for field, bits, part in read_fields(record, span):
        content = record[part[0] : part[1]]
        if field == _DTYPE:
            kind = bits
        elif field == _CONTENT and kind in _TYPES and len(content) == struct.calcsize(_TYPES[kind]):
            elements += struct.unpack(_TYPES[kind], content)
        elif field == _FLOATS:
            elements += (
                [to_float(bits)]
                if not content
                else struct.unpack(f"<{len(content) // 4}f", content[: len(content) // 4 * 4])
            )
        elif field == _DOUBLES:
            elements += (
                [to_double(bits)]
                if not content
                else struct.unpack(f"<{len(content) // 8}d", content[: len(content) // 8 * 8])
            )
        elif field in (_INTEGERS, _LONGS) and not content:
            elements.append(float(to_signed(bits)))
    return elements[0] if len(elements) == 1 else None
