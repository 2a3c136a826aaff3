"""SGLang's log with --log-requests: lines `Finish: obj=GenerateReqInput(...), out={..., 'meta_info': {...}}`."""

from __future__ import annotations

import re
from pathlib import Path

from traceq.importers.request_logs.reading import (
    LoggedRequest,
    RequestLog,
    complete_request,
    convert_duration,
    parse_count,
)

FORMAT = "sglang_log"

_FINISHED = re.compile(rb"Finish: obj=\w+\(")
# Prompts and answers stand in the lines; what is longer is cut, and its end is not there.
_LONGEST = 16 << 20
_META = "'meta_info': {"
_FIELD = re.compile(r"'(\w+)': ('[^']*'|[-+\w.]+)")


def sniff_log(_path: Path, head: bytes) -> bool:
    """Return whether a line near the beginning tells that a request finished."""
    return bool(_FINISHED.search(head)) and b"Finish: obj=" in head


def read_log(path: Path) -> RequestLog:
    """Return the requests that finished, by what the engine says of them at the end of their lines."""
    requests: list[LoggedRequest] = []
    number = left_out = 0
    with path.open("rb") as file:
        while line := file.readline(_LONGEST):
            number += 1
            if not _FINISHED.search(line):
                continue
            request = _read_line(number, line.decode("utf-8", "replace"))
            if request is None:
                left_out += 1
            else:
                requests.append(request)
    has_times = any(request.arrival_ns is not None for request in requests)
    return RequestLog(FORMAT, "server", "utc" if has_times else "none", requests, number, left_out)


def _read_line(number: int, text: str) -> LoggedRequest | None:
    """Return the request of a line; None where it says nothing of its times."""
    # texts of users come before it
    _, found, meta = text.rpartition(_META)
    if not found:
        return None
    fields = {name: value.strip("'") for name, value in _FIELD.findall(meta)}
    return complete_request(
        LoggedRequest(
            line=number,
            request_id=fields.get("id"),
            status="aborted" if re.search(r"'type': 'abort'", meta) else "ok",
            arrival_ns=_convert_seconds(fields.get("request_received_ts")),
            scheduled_ns=_convert_seconds(fields.get("forward_entry_time")),
            first_token_ns=_convert_seconds(fields.get("prefill_finished_ts", fields.get("prefill_finished_time"))),
            end_ns=_convert_seconds(fields.get("request_finished_ts", fields.get("response_sent_to_client_ts"))),
            prompt_tokens=parse_count(fields.get("prompt_tokens")),
            output_tokens=parse_count(fields.get("completion_tokens")),
            cached_tokens=parse_count(fields.get("cached_tokens")),
            queue_ns=convert_duration(fields.get("queue_time")),
            e2e_ns=convert_duration(fields.get("e2e_latency")),
        )
    )


def _convert_seconds(seconds: str | None) -> int | None:
    """Return seconds since 1970 as ns; None for what counts from another moment."""
    since = None if seconds is None else re.fullmatch(r"(\d{10})(?:\.(\d{1,9})\d*)?", seconds)
    return None if since is None else int(since[1]) * 1_000_000_000 + int((since[2] or "").ljust(9, "0"))
