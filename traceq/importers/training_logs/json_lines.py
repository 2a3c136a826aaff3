"""JSON objects, one a line or in one list: metrics.jsonl of many programs, the JSON export of W&B."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from traceq.errors import UnusableTrace
from traceq.importers.training_logs.reading import TrainingLog
from traceq.importers.training_logs.records import RecordLog, has_values
from traceq.importers.training_logs.text_log import read_lines

FORMAT = "json_lines"

_HEAD = 1 << 20
_SNIFFED = 50
# A list is parsed as a whole.
_LARGEST_LIST = 256 << 20


def sniff_log(path: Path, head: bytes) -> bool:
    """Return whether most of the first lines are JSON objects, some with a step and its values, or the list's objects are."""
    begin = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if begin.startswith(b"["):
        return any(has_values(record) for record in _first_records(begin))
    lines = [line.text for line, _ in zip(read_lines(path, _HEAD), range(_SNIFFED), strict=False)]
    records = [record for line in lines if (record := _parse_object(line)) is not None]
    return 2 * len(records) > len(lines) and any(map(has_values, records))


def _first_records(begin: bytes) -> Iterator[dict[str, object]]:
    """Yield the objects at the beginning of a list, as far as they are whole."""
    decoder, text, at = json.JSONDecoder(), begin.decode("utf-8", "replace"), 1
    while (at := text.find("{", at)) >= 0:
        try:
            record, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        if isinstance(record, dict):
            yield record


def _parse_object(line: str) -> dict[str, object] | None:
    """Return the JSON object in the line; None for another line."""
    if not line.lstrip().startswith("{"):
        return None
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def read_log(path: Path) -> TrainingLog:
    """Return the log in lines of JSON, or in a list of JSON objects.

    Raises UnusableTrace for a list that is damaged or too long.
    """
    with path.open("rb") as file:
        is_list = file.read(_HEAD).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")
    log = RecordLog(FORMAT)
    if is_list:
        for number, record in enumerate(_read_list(path), start=1):
            if isinstance(record, dict):
                log.add_record(number, record)
            else:
                log.left_out += 1
        return log.finish_log()
    for line in read_lines(path):
        record = _parse_object(line.text)
        if record is None:
            log.left_out += line.text.lstrip().startswith("{")
            log.lines = line.number
        else:
            log.add_record(line.number, record)
    return log.finish_log()


def _read_list(path: Path) -> list[object]:
    """Return the JSON list in the file."""
    if path.stat().st_size > _LARGEST_LIST:
        raise UnusableTrace(
            f"a JSON list of more than {_LARGEST_LIST >> 20} MiB; write it as JSON lines, an object a line"
        )
    try:
        records = json.loads(path.read_bytes().decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError) as error:
        raise UnusableTrace(f"a damaged list of JSON objects: {error}; export it again") from error
    return records if isinstance(records, list) else []
