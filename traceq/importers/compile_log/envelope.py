r"""The lines of the log: a prefix as glog writes it, a JSON object, and lines after a tab that belong to it (the payload).

    V1130 10:58:55.343000 25580 torch/_dynamo/utils.py:2350] {"chromium_event": {}, "frame_id": 0, ..., "has_payload": "MD5"}
    \t{"name": "dynamo", ...}

A launcher may write its own prefix before each ("[rank0]:"). `has_payload` is the MD5 of the payload.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

HEAD_BYTES = 1 << 14
# Longer lines hold no record that is read: graphs and their code stand in payloads.
_LONGEST_LINE = 1 << 24
# Payloads that are read are reasons and events; those of graphs are passed over.
_LONGEST_PAYLOAD = 1 << 22
_PREFIX = re.compile(
    rb"(?:\[?[\w.-]{0,40}rank\d{1,7}\]?:? ?)?[VDIWEC](\d{2})(\d{2}) (\d{2}):(\d{2}):(\d{2})\.(\d{6}) +(\d{1,19})"
    rb" [^\]\n]{1,400}:\d{1,7}\] ?(?=\{)"
)
_KEYS = (
    b'"chromium_event"', b'"artifact"', b'"dynamo_start"', b'"str"', b'"describe_', b'"compilation_metrics"', b'"create_symbol"',
    b'"dynamo_output_graph"', b'"dynamo_cpp_guards_str"', b'"guard_added', b'"bwd_compilation_metrics"', b'"inductor_',
    b'"aot_', b'"link"', b'"exported_program"', b'"missing_fake_kernel"', b'"compiled_autograd_graph"',
)  # fmt: skip
_LINES_LOOKED_AT = 20
_MD5_DIGITS = 32


class LogRecord(NamedTuple):
    """A record: its fields, its payload ("" without, or where it is passed over), its process, and its line (from 1).

    `clock` is (month, day, ns of the day) of local time.
    """

    fields: dict[str, Any]
    payload: str
    process: int
    line: int
    clock: tuple[int, int, int]


def begins_like_log(head: bytes) -> bool:
    """Return whether one of the first lines is one of the log's, with a field that only it has."""
    lines = head.split(b"\n", _LINES_LOOKED_AT)[:_LINES_LOOKED_AT]
    return any(
        (found := _PREFIX.match(line)) is not None and any(key in line[found.end() :] for key in _KEYS)
        for line in lines
    )


class LogLines:
    """The lines of a log file: `lines` counts them, `left_out` what could not be read."""

    def __init__(self) -> None:
        self.lines = 0
        self.left_out: Counter[str] = Counter()

    def read_records(self, path: Path) -> Iterator[LogRecord]:
        """Yield the records of the file in its order. Raises OSError."""
        with path.open("rb") as file:
            record: LogRecord | None = None
            payload: list[bytes] = []
            for line in self._read_lines(file):
                if line.startswith(b"\t"):
                    payload.append(line[1:])
                    continue
                if record is not None and (whole := self._close_record(record, payload)) is not None:
                    yield whole
                payload = []
                record = self._open_record(line) if line.strip() else None
            if record is not None and (whole := self._close_record(record, payload)) is not None:
                yield whole

    def _read_lines(self, file: IO[bytes]) -> Iterator[bytes]:
        """Yield the lines without their ends; of one that is too long only the count remains."""
        while line := file.readline(_LONGEST_LINE):
            self.lines += 1
            if len(line) == _LONGEST_LINE and not line.endswith(b"\n"):
                self.left_out["too_long"] += 1
                while (rest := file.readline(_LONGEST_LINE)) and not rest.endswith(b"\n"):
                    pass
                continue
            yield line.rstrip(b"\r\n")

    def _open_record(self, line: bytes) -> LogRecord | None:
        """Return the record that the line begins; None, counted, for one of something else or a damaged one."""
        found = _PREFIX.match(line)
        if found is None:
            self.left_out["foreign"] += 1
            return None
        try:
            fields = json.loads(line[found.end() :])
        except (ValueError, RecursionError):
            self.left_out["damaged"] += 1
            return None
        if not isinstance(fields, dict):
            self.left_out["damaged"] += 1
            return None
        month, day, hour, minute, second, micros, process = map(int, found.groups())
        of_day = ((hour * 60 + minute) * 60 + second) * 1_000_000_000 + micros * 1_000
        return LogRecord(fields, "", process, self.lines, (month, day, of_day))

    def _close_record(self, record: LogRecord, payload: list[bytes]) -> LogRecord | None:
        """Return the record with its payload; None, counted, where the payload is not the one that the record names."""
        digest = record.fields.get("has_payload")
        if not isinstance(digest, str):
            return record
        text = b"\n".join(payload)
        if len(text) > _LONGEST_PAYLOAD:
            return record
        # Newer versions may name another hash: only that of 32 digits is checked.
        if len(digest) == _MD5_DIGITS and hashlib.md5(text, usedforsecurity=False).hexdigest() != digest:
            self.left_out["damaged"] += 1
            return None
        return record._replace(payload=text.decode("utf-8", "replace"))
