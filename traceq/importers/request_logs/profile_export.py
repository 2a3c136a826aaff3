"""Exports of GenAI-Perf (profile_export.json, one object) and AIPerf (profile_export.jsonl, an object a request)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from traceq.errors import UnusableTrace
from traceq.importers.request_logs.reading import (
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

FORMAT = "profile_export"

_LARGEST = 1 << 30
_AIPERF = (b'"request_start_ns"', b'"metadata"')
_GENAI_PERF = re.compile(rb'"experiments"\s*:\s*\[\s*\{\s*"experiment"\s*:')
_UNITS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9, "sec": 1e9}
# Of a stream's chunk that brings no token: the first one that names the role, and the end.
_WITHOUT_TOKEN = re.compile(r'^(?:\s*|data:\s*\[DONE\]\s*)$|"delta"\s*:\s*\{\s*(?:"role"\s*:\s*"\w*"\s*)?\}')


def sniff_log(_path: Path, head: bytes) -> bool:
    """Return whether the file begins as an export of GenAI-Perf or of AIPerf."""
    begin = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    return begin.startswith(b"{") and (bool(_GENAI_PERF.search(head)) or all(sign in head for sign in _AIPERF))


def read_log(path: Path) -> RequestLog:
    """Return the requests of the export. Raises UnusableTrace where it is damaged as a whole, or too large."""
    with path.open("rb") as file:
        is_one_object = bool(_GENAI_PERF.search(file.read(1 << 16)))
    built = list(_read_experiments(path) if is_one_object else _read_lines(path))
    requests = [request for _, request in built if request is not None]
    lines = max((line for line, _ in built), default=0)
    return RequestLog(FORMAT, "client", "utc", requests, lines, len(built) - len(requests))


def _read_experiments(path: Path) -> Iterator[tuple[int, LoggedRequest | None]]:
    """Yield (number, request) of GenAI-Perf's object; None for one that is damaged."""
    if path.stat().st_size > _LARGEST:
        raise UnusableTrace(f"an export of more than {_LARGEST >> 30} GiB; export fewer requests")
    whole = decode_json(path.read_bytes())
    if whole is None:
        raise UnusableTrace("a damaged export of GenAI-Perf; export it again")
    number = 0
    for experiment in _list_of(whole, "experiments"):
        for raw in _list_of(experiment, "requests"):
            number += 1
            yield number, _read_responses(number, raw) if isinstance(raw, dict) else None


def _read_responses(number: int, raw: Mapping[str, object]) -> LoggedRequest | None:
    """Return a request of GenAI-Perf: its time, and those of its responses, of which those without a token do not count."""
    arrival = raw.get("timestamp")
    times = [at for at in _list_of(raw, "response_timestamps") if type(at) is int]
    texts = [_text_of(output) for output in _list_of(raw, "response_outputs")]
    if type(arrival) is not int:
        return None
    with_token = [
        at - arrival
        for place, at in enumerate(times)
        if place >= len(texts) or texts[place] is None or not _WITHOUT_TOKEN.search(texts[place] or "")
    ]
    is_failed = raw.get("success") is False or not with_token
    return complete_request(
        LoggedRequest(
            line=number,
            status="failed" if is_failed else "ok",
            arrival_ns=arrival,
            end_ns=times[-1] if times else None,
            token_ns=tuple(with_token),
        )
    )


def _text_of(output: object) -> str | None:
    """Return the text of a response; None where the export leaves it out."""
    if isinstance(output, dict):
        output = next((output[name] for name in ("response", "text_output") if name in output), None)
    return output if isinstance(output, str) else None


def _read_lines(path: Path) -> Iterator[tuple[int, LoggedRequest | None]]:
    """Yield (line, request) of AIPerf's lines; None for one that is damaged. Warm-up is left out."""
    with path.open("rb") as file:
        for number, text in enumerate(file, start=1):
            if not text.strip():
                continue
            record = decode_json(text)
            about = record.get("metadata") if isinstance(record, dict) else None
            if not isinstance(record, dict) or not isinstance(about, dict):
                yield number, None
            elif about.get("benchmark_phase") != "warmup":
                yield number, _read_record(number, record, about)


def _read_record(number: int, record: Mapping[str, object], about: Mapping[str, object]) -> LoggedRequest | None:
    """Return a request of AIPerf."""
    metrics = record.get("metrics")
    measured = metrics if isinstance(metrics, dict) else {}
    ttft = _duration_of(measured, "time_to_first_token", "ttft")
    gaps = measured.get("inter_chunk_latency")
    tokens: tuple[int, ...] = ()
    if ttft is not None and isinstance(gaps, dict) and isinstance(gaps.get("value"), list):
        numbers = [parse_number(gap) for gap in gaps["value"]]
        unit = _UNITS.get(str(gaps.get("unit")))
        if unit is not None and all(gap is not None and gap >= 0 for gap in numbers):
            tokens = add_up_gaps(ttft, [gap for gap in numbers if gap is not None], unit)
    start, end = (
        value if type(value := about.get(name)) is int else None for name in ("request_start_ns", "request_end_ns")
    )
    name = about.get("x_request_id")
    status: Status = "aborted" if about.get("was_cancelled") is True else "failed" if record.get("error") else "ok"
    return complete_request(
        LoggedRequest(
            line=number,
            request_id=name if isinstance(name, str) else None,
            status=status,
            arrival_ns=start,
            end_ns=end,
            prompt_tokens=_count_of(measured, "input_sequence_length"),
            output_tokens=_count_of(measured, "output_sequence_length", "output_token_count"),
            ttft_ns=ttft,
            e2e_ns=_duration_of(measured, "request_latency"),
            token_ns=tokens,
        )
    )


def _duration_of(metrics: Mapping[str, object], *names: str) -> int | None:
    """Return the first duration by one of these names, ns, in the unit that it names."""
    for name in names:
        metric = metrics.get(name)
        if isinstance(metric, dict) and (unit := _UNITS.get(str(metric.get("unit")))) is not None:
            return convert_duration(metric.get("value"), unit)
    return None


def _count_of(metrics: Mapping[str, object], *names: str) -> int | None:
    values = (metric.get("value") for name in names if isinstance(metric := metrics.get(name), dict))
    return next((tokens for value in values if (tokens := parse_count(value)) is not None), None)


def _list_of(value: object, name: str) -> list[object]:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []
