"""Requests by the names of their fields: JSON lines (also SGLang's --log-requests-format json), a JSON list, and CSV.

A duration says its unit at the end of its name (`ttft_ms`); only names that an engine writes in seconds need none.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

import msgspec

from traceq.errors import UnusableTrace
from traceq.importers.monitors.reading import parse_time
from traceq.importers.request_logs.reading import (
    SECOND,
    Clock,
    LoggedRequest,
    RequestLog,
    Status,
    add_up_gaps,
    complete_request,
    convert_duration,
    decode_json,
    parse_count,
    parse_number,
)

FORMAT = "records"

_LARGEST_LIST = 256 << 20
_LONGEST_LINE = 16 << 20
_SNIFFED = 50
_LONGEST_NAME = 200
_DEEPEST = 4

_NAMES = {
    "request_id": "request_id rid req_id requestid x_request_id",
    "arrival": "arrival_time arrival arrival_ts arrived_at request_received_ts received_ts received_at request_start_time"
    " request_start start_time start_ts started_at submit_time api_server_arrival_time",
    "scheduled": "scheduled_time scheduled_ts scheduled_at first_scheduled_time schedule_time forward_entry_time",
    "first_token": "first_token_time first_token_ts first_token_at prefill_finished_ts prefill_finished_time",
    "end": "finished_time finish_time finished_at finish_ts finished_ts end_time end_ts ended_at request_finished_ts"
    " request_end_time request_end last_token_time last_token_ts completion_time",
    "queue": "queue_time time_in_queue queue queue_latency queued_time queue_duration waiting_time wait_time",
    "ttft": "ttft time_to_first_token first_token_latency",
    "prefill": "prefill_time time_in_model_prefill prefill_latency",
    "e2e": "e2e e2e_latency e2el latency request_latency total_latency end_to_end_latency total_time duration"
    " request_duration e2e_time",
    "prompt_tokens": "prompt_tokens input_tokens input_len prompt_len num_prompt_tokens prompt_length num_input_tokens",
    "output_tokens": "completion_tokens output_tokens output_len generated_tokens num_generation_tokens num_output_tokens"
    " generation_tokens num_generated_tokens",
    "cached_tokens": "cached_tokens num_cached_tokens cached_prompt_tokens",
    "gaps": "itl itls inter_token_latencies inter_token_latency token_latencies",
    "status": "status status_code finish_reason finish_reasons",
    "error": "error",
    "success": "success is_success ok",
    "event": "event",
}
_MEANINGS = {name: meaning for meaning, names in _NAMES.items() for name in names.split()}
_TIMES = ("arrival", "scheduled", "first_token", "end")
_DURATIONS = ("queue", "ttft", "prefill", "e2e")
_UNITS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9, "sec": 1e9, "secs": 1e9, "seconds": 1e9}
_SUFFIX = re.compile(r"^(.+)_(ns|us|ms|s|secs?|seconds)$")
# Engines write these in seconds: attributes of spans, and SGLang's meta_info.
_IN_SECONDS = re.compile(r"(?:^|/)(?:gen_ai\.latency\.\w+|meta_info/(?:e2e_latency|queue_time))$")
# From here on (2001) times are since 1970.
_IN_2001 = 1e18
# Numbers without a unit are since 1970 if they are of a server of today (2015 to 2050), counted in this many ns.
_IN_2015, _IN_2050 = 1.42e18, 2.53e18
_UNITS_SINCE_1970 = (1.0, 1e3, 1e6, 1e9)
_AN_HTTP_ERROR = 400
_FAILED = re.compile(r"error|fail|time_?d?[ _-]?out|reject|unavailable|deadline|\b[45]\d\d\b")
# As programs write that there was none.
_NO_ERROR = ("", "none", "null", "nan", "false", "0", "{}", "[]")


class _Record:
    """A record by meanings: the values, with the ns in the unit that the name of each says (None: it says none)."""

    def __init__(self, record: Mapping[str, object]) -> None:
        self.values: dict[str, tuple[object, float | None]] = {}
        for name, value in _flatten_record(record):
            if value is None or value == "":
                continue
            simple, unit = _simplify_name(name)
            meaning = _MEANINGS.get(simple)
            if meaning is not None:
                # what an engine says in meta_info comes before what a program says around it
                self.values.setdefault(meaning, (value, SECOND if unit is None and _IN_SECONDS.search(name) else unit))

    def find_value(self, meaning: str) -> object:
        """Return the value of this meaning; None without."""
        return self.values.get(meaning, (None, None))[0]

    def is_request(self) -> bool:
        """Return whether the record tells of a request to a model: of its tokens or its first token, and of a time of it."""
        has_times = any(self.find_duration(name) is not None for name in _DURATIONS) or all(
            self.find_time(name) is not None for name in ("arrival", "end")
        )
        return has_times and any(
            name in self.values for name in ("prompt_tokens", "output_tokens", "ttft", "first_token")
        )

    def is_of_event(self) -> bool:
        """Return whether the record only says that a request came."""
        return "received" in str(self.find_value("event"))

    def find_duration(self, meaning: str) -> int | None:
        """Return the duration, ns; None where its unit is not known."""
        value, unit = self.values.get(meaning, (None, None))
        return None if unit is None else convert_duration(value, unit)

    def find_time(self, meaning: str) -> tuple[int, Clock] | None:
        """Return (ns on the clock, the clock); None for what is no time, or a number of a unit that is not known."""
        value, unit = self.values.get(meaning, (None, None))
        number = parse_number(value)
        if number is None:
            stamp = parse_time(value) if isinstance(value, str) else None
            return None if stamp is None else (stamp[0], "utc" if stamp[1] else "local")
        if number < 0:
            return None
        if unit is None:
            # a number of another clock, as a monotonic one, tells nothing of its unit
            unit = next((unit for unit in _UNITS_SINCE_1970 if _IN_2015 <= number * unit < _IN_2050), None)
            if unit is None:
                return None
        at = _scale_time(value, number, unit)
        return at, "utc" if at >= _IN_2001 else "own"

    def find_tokens(self, ttft: int | None) -> tuple[int, ...]:
        """Return when tokens came, ns after the arrival; empty where the record has no list of the gaps between them."""
        value, unit = self.values.get("gaps", (None, None))
        if ttft is None or unit is None or not isinstance(value, list):
            return ()
        gaps = [parse_number(gap) for gap in value]
        if not all(gap is not None and gap >= 0 for gap in gaps):
            return ()
        return add_up_gaps(ttft, [gap for gap in gaps if gap is not None], unit)

    def find_status(self) -> Status:
        """Return how the request ended."""
        said = str(self.find_value("status")).lower()
        code = parse_count(self.find_value("status"))
        if any(word in said for word in ("abort", "cancel", "disconnect")):
            return "aborted"
        is_failed = (
            str(self.find_value("error") or "").lower() not in _NO_ERROR
            or str(self.find_value("success")).lower() in ("false", "0")
            or (code is not None and code >= _AN_HTTP_ERROR)
            or _FAILED.search(said) is not None
        )
        return "failed" if is_failed else "ok"


def sniff_log(path: Path, head: bytes) -> bool:
    """Return whether the first records tell of requests to a model: in lines of JSON, in a list of it, or in CSV."""
    begin = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if begin.startswith(b"["):
        return any(_Record(record).is_request() for record in _first_of_list(begin))
    if begin.startswith(b"{"):
        records = [record for _, record in islice(_read_lines(path), _SNIFFED) if record is not None]
        return any(_Record(record).is_request() for record in records)
    return any(_Record(record).is_request() for _, record in islice(_read_table(path), 5) if record is not None)


def read_log(path: Path) -> RequestLog:
    """Return the requests in the records. Raises UnusableTrace for a list that is damaged or too long."""
    with path.open("rb") as file:
        begin = file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    read = _read_list(path) if begin == b"[" else _read_lines(path) if begin == b"{" else _read_table(path)
    requests: list[LoggedRequest] = []
    clocks: set[Clock] = set()
    lines = left_out = 0
    for line, raw in read:
        lines = line
        record = None if raw is None else _Record(raw)
        if record is not None and record.is_of_event():
            continue
        request = None if record is None else _build_request(line, record, clocks)
        if request is None:
            left_out += 1
        else:
            requests.append(request)
    clock: Clock = "none" if not clocks else clocks.pop() if len(clocks) == 1 else "none"
    if clock == "none":
        # of several clocks none is that of all
        requests = [
            msgspec.structs.replace(one, arrival_ns=None, scheduled_ns=None, first_token_ns=None, end_ns=None)
            for one in requests
        ]
    return RequestLog(FORMAT, "server" if _is_of_server(requests) else "client", clock, requests, lines, left_out)


def _is_of_server(requests: list[LoggedRequest]) -> bool:
    """Return whether an engine wrote the log: only it knows of queues and schedules."""
    return any(request.queue_ns is not None or request.scheduled_ns is not None for request in requests)


def _build_request(line: int, record: _Record, clocks: set[Clock]) -> LoggedRequest | None:
    """Return the request that the record tells of, and add its clock to `clocks`; None where it tells nothing of its times."""
    stamps = {name: stamp for name in _TIMES if (stamp := record.find_time(name)) is not None}
    # vLLM tells of arrivals since 1970 and of what follows by a monotonic clock
    clock = next((stamp[1] for stamp in sorted(stamps.values(), key=lambda one: one[1] != "utc")), None)
    times = {name: at for name, (at, kind) in stamps.items() if kind == clock}
    if clock is not None:
        clocks.add(clock)
    ttft = record.find_duration("ttft")
    if ttft is None and {"arrival", "first_token"} <= times.keys():
        ttft = times["first_token"] - times["arrival"]
    label = record.find_value("request_id")
    return complete_request(
        LoggedRequest(
            line=line,
            request_id=str(label)[:_LONGEST_NAME] if isinstance(label, str | int) else None,
            status=record.find_status(),
            arrival_ns=times.get("arrival"),
            scheduled_ns=times.get("scheduled"),
            first_token_ns=times.get("first_token"),
            end_ns=times.get("end"),
            prompt_tokens=parse_count(record.find_value("prompt_tokens")),
            output_tokens=parse_count(record.find_value("output_tokens")),
            cached_tokens=parse_count(record.find_value("cached_tokens")),
            queue_ns=record.find_duration("queue"),
            ttft_ns=ttft,
            e2e_ns=record.find_duration("e2e"),
            token_ns=record.find_tokens(ttft),
        ),
        record.find_duration("prefill"),
    )


def _scale_time(value: object, number: float, unit: float) -> int:
    """Return a time in ns: of a whole number to the ns, which a float of it is not."""
    if isinstance(value, int) or (isinstance(value, str) and value.strip().isdecimal()):
        return int(value) * int(unit)
    return round(number * unit)


def _simplify_name(name: str) -> tuple[str, float | None]:
    """Return (the last part of the name in small letters with _ between words, ns in the unit at its end or None)."""
    simple = re.sub(r"[^a-z0-9]+", "_", re.split(r"[/.]", name)[-1].lower()).strip("_")
    match = _SUFFIX.match(simple)
    return (match[1], _UNITS[match[2]]) if match else (simple, None)


def _flatten_record(
    record: Mapping[str, object], before: str = "", depth: int = _DEEPEST
) -> Iterator[tuple[str, object]]:
    """Yield (name, value) of the record, and of those within it, those of the innermost first."""
    for name, value in record.items():
        if isinstance(value, dict) and depth:
            yield from _flatten_record(value, f"{before}{name}/", depth - 1)
    for name, value in record.items():
        if not isinstance(value, dict):
            yield f"{before}{name}", value


def _read_lines(path: Path) -> Iterator[tuple[int, dict[str, object] | None]]:
    """Yield (line, object), from 1; None for a line that begins as one and is damaged."""
    with path.open("rb") as file:
        number = 0
        while text := file.readline(_LONGEST_LINE):
            number += 1
            begin = text.lstrip(b"\xef\xbb\xbf \t")
            if begin.startswith(b"{"):
                yield number, _parse_object(begin)


def _parse_object(text: bytes) -> dict[str, object] | None:
    value = decode_json(text)
    return value if isinstance(value, dict) else None


def _first_of_list(begin: bytes) -> Iterator[dict[str, object]]:
    """Yield the first objects of a list that begins with these bytes."""
    for piece in begin[1:].split(b"}", _SNIFFED)[:_SNIFFED]:
        record = _parse_object(piece.lstrip(b" \t\r\n,") + b"}")
        if record is not None:
            yield record


def _read_list(path: Path) -> Iterator[tuple[int, dict[str, object] | None]]:
    if path.stat().st_size > _LARGEST_LIST:
        raise UnusableTrace(f"a JSON list of more than {_LARGEST_LIST >> 20} MiB; write an object a line")
    records = decode_json(path.read_bytes())
    if not isinstance(records, list):
        raise UnusableTrace("a damaged list of JSON objects; export it again")
    for number, record in enumerate(records, start=1):
        yield number, record if isinstance(record, dict) else None


def _read_table(path: Path) -> Iterator[tuple[int, dict[str, object] | None]]:
    """Yield (line, cells by the names of the first line) of CSV; None for a line with more or fewer cells."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        lines = iter(lambda: file.readline(1 << 16), "")
        rows = csv.reader(line.replace("\0", "") for line in lines)
        try:
            names = next(rows, [])
            for row in rows:
                if row:
                    cells: dict[str, object] = dict(zip(names, row, strict=False))
                    yield rows.line_num, cells if len(row) == len(names) else None
        except csv.Error:
            yield rows.line_num, None
