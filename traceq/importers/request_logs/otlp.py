"""Spans of OpenTelemetry as JSON (OTLP): one document, or a document a line as the collector's file exporter writes.

A request is a span that an engine makes of each (vLLM, TensorRT-LLM: `llm_request`; SGLang: `Req ...`, with its stages as spans
below it), else one with the attributes of OpenTelemetry's conventions for generative AI, which a client makes.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from traceq.errors import UnusableTrace
from traceq.importers.request_logs.reading import (
    LoggedRequest,
    RequestLog,
    Status,
    complete_request,
    convert_duration,
    decode_json,
    parse_count,
)

FORMAT = "otlp"

# A document that is not lines is parsed as a whole.
_LARGEST_DOCUMENT = 1 << 30
_SIGN = re.compile(rb'"(?:resourceSpans|resource_spans|batches)"\s*:')
_SPANS = re.compile(rb'"(?:spans|scopeSpans|scope_spans|instrumentationLibrarySpans)"\s*:')

_LATENCY = "gen_ai.latency."
_ENGINE_NAME = "llm_request"
_OF_ENGINE = (f"{_LATENCY}e2e", f"{_LATENCY}time_to_first_token", f"{_LATENCY}time_in_queue")
_SGLANG_NAME = re.compile(r"^(?:\w+)?\s*Req \S")
# What a client asks a model for, by the conventions.
_OPERATIONS = ("chat", "text_completion", "generate_content", "completion")

_REQUEST_ID = ("gen_ai.request.id", "rid", "gen_ai.response.id", "request_id")
_PROMPT = ("gen_ai.usage.prompt_tokens", "gen_ai.usage.input_tokens", "llm.usage.prompt_tokens")
_OUTPUT = ("gen_ai.usage.completion_tokens", "gen_ai.usage.output_tokens", "llm.usage.completion_tokens")
_CACHED = ("gen_ai.usage.cached_tokens", "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens")
_TTFT = (
    f"{_LATENCY}time_to_first_token",
    "gen_ai.server.time_to_first_token",
    "gen_ai.response.time_to_first_chunk",
    "llm.latency.time_to_first_token",
)
_PREFILL = (f"{_LATENCY}time_in_model_prefill", f"{_LATENCY}time_in_model.prefill")
_FINISHED = ("gen_ai.response.finish_reasons", "gen_ai.response.finish_reason")
_FIRST_EVENT = re.compile(r"first.?(?:token|chunk)", re.IGNORECASE)
# Stages of SGLang, as newer and older versions call them.
_WAITING, _PREFILLING, _DECODED = "prefill_waiting", ("prefill_forward", "chunked_prefill"), "decode_loop"
_STAGES = {_WAITING, *_PREFILLING, _DECODED}
# By which resources of servers differ.
_PROCESS = ("service.name", "service.instance.id", "host.name", "k8s.pod.name", "process.pid")
_DEEPEST = 8
# of a time that fits in 64 bits
_MOST_DIGITS = 19
_ERROR = (2, "2", "STATUS_CODE_ERROR", "ERROR")


class _Span(NamedTuple):
    """The part of a span that requests are made from; times are ns since 1970. `process` tells processes apart, where they do."""

    line: int
    process: tuple[object, ...]
    trace: str
    span: str
    parent: str
    name: str
    start: int | None
    end: int | None
    attributes: dict[str, object]
    first_token: int | None
    is_error: bool


def sniff_log(_path: Path, head: bytes) -> bool:
    """Return whether the file is OTLP as JSON: it names spans of resources near its beginning."""
    begin = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    return begin.startswith((b"{", b"[")) and bool(_SIGN.search(begin[:4096])) and bool(_SPANS.search(head))


def read_log(path: Path) -> RequestLog:
    """Return the requests in the spans; one that was exported twice counts once.

    Raises UnusableTrace where no document of the file can be read.
    """
    of_engine: list[_Span] = []
    of_clients: list[_Span] = []
    stages: list[_Span] = []
    parents: dict[tuple[str, str], str] = {}
    known: set[tuple[str, str, int | None, int | None]] = set()
    lines = left_out = others = 0
    for line, document in _read_documents(path):
        lines = line
        if document is None:
            left_out += 1
            continue
        for process, raw in _find_spans(document):
            span = _read_span(line, process, raw)
            if span is None:
                left_out += 1
                continue
            # an exporter that gets no answer sends its spans again
            if span.span and (span.trace, span.span, span.start, span.end) in known:
                continue
            known.add((span.trace, span.span, span.start, span.end))
            parents[span.trace, span.span] = span.parent
            if _is_of_engine(span):
                of_engine.append(span)
            elif span.attributes.get("gen_ai.operation.name") in _OPERATIONS:
                of_clients.append(span)
            elif span.name.replace(" ", "_") in _STAGES:
                stages.append(span)
            else:
                others += 1
    chosen = of_engine or of_clients
    below = _group_stages(of_engine, stages, parents)
    built = [_build_request(span, below.get((span.trace, span.span), [])) for span in chosen]
    requests = [request for request in built if request is not None]
    requests.sort(key=lambda request: (request.arrival_ns or 0, request.line))
    return RequestLog(
        format=FORMAT,
        side="server" if of_engine else "client",
        clock="utc",
        requests=requests,
        lines=lines,
        left_out=left_out + len(built) - len(requests),
        other_spans=others + (len(of_clients) if of_engine else 0),
        servers=len({span.process for span in of_engine}) or 1,
    )


def _read_documents(path: Path) -> Iterator[tuple[int, object]]:
    """Yield (line, document), from 1; None for a line that is no JSON. A file that is one document is line 1."""
    with path.open("rb") as file:
        first = file.readline()
        rest = file.read(1)
        if not first.strip() or (rest and decode_json(first) is None):
            # its lines are parts of one document
            if path.stat().st_size > _LARGEST_DOCUMENT:
                raise UnusableTrace(
                    f"one JSON document of more than {_LARGEST_DOCUMENT >> 30} GiB; let the collector's file exporter write it,"
                    " a document a line"
                )
            whole = decode_json(path.read_bytes())
            if whole is not None:
                yield 1, whole
                return
    with path.open("rb") as file:
        for number, text in enumerate(file, start=1):
            if text.strip():
                yield number, decode_json(text)


def _find_spans(document: object) -> Iterator[tuple[tuple[object, ...], Mapping[str, object]]]:
    """Yield (process, span) of a document, or of a list of documents; a process is what its resource says of it."""
    for one in document if isinstance(document, list) else (document,):
        for resource in _list_of(one, "resourceSpans", "resource_spans", "batches"):
            about = resource.get("resource") if isinstance(resource, dict) else None
            attributes = dict(_read_attributes(about)) if isinstance(about, dict) else {}
            process = tuple(str(attributes.get(name, "")) for name in _PROCESS)
            for scope in _list_of(resource, "scopeSpans", "scope_spans", "instrumentationLibrarySpans"):
                for span in _list_of(scope, "spans"):
                    yield process, span if isinstance(span, dict) else {}


def _list_of(value: object, *names: str) -> list[object]:
    """Return the first list by one of these names in the object; none where it has none."""
    if not isinstance(value, dict):
        return []
    return next((value[name] for name in names if isinstance(value.get(name), list)), [])


def _read_span(line: int, process: tuple[object, ...], raw: Mapping[str, object]) -> _Span | None:
    """Return the span; None where it has no times or no name."""
    name = raw.get("name")
    start = _read_time(raw, "startTimeUnixNano", "start_time_unix_nano")
    if not isinstance(name, str) or start is None:
        return None
    status = raw.get("status")
    events = [event for event in _list_of(raw, "events") if isinstance(event, dict)]
    first = next((event for event in events if _FIRST_EVENT.search(str(event.get("name")))), None)
    return _Span(
        line=line,
        process=process,
        trace=str(raw.get("traceId", raw.get("trace_id", ""))),
        span=str(raw.get("spanId", raw.get("span_id", ""))),
        parent=str(raw.get("parentSpanId", raw.get("parent_span_id", "")) or ""),
        name=name.strip(),
        start=start,
        end=_read_time(raw, "endTimeUnixNano", "end_time_unix_nano"),
        attributes=dict(_read_attributes(raw)),
        first_token=None if first is None else _read_time(first, "timeUnixNano", "time_unix_nano"),
        is_error=isinstance(status, dict) and status.get("code") in _ERROR,
    )


def _read_time(raw: Mapping[str, object], *names: str) -> int | None:
    """Return the ns since 1970 under one of the names, which JSON writes as text; None for what is none."""
    value = next((raw[name] for name in names if name in raw), None)
    if isinstance(value, str) and value.isdecimal() and len(value) <= _MOST_DIGITS:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _read_attributes(raw: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield (key, value) of the attributes of a span: numbers, texts, truth values, and lists of them."""
    for attribute in _list_of(raw, "attributes"):
        if isinstance(attribute, dict) and isinstance(attribute.get("key"), str):
            yield attribute["key"], _read_value(attribute.get("value"))


def _read_value(value: object, depth: int = 0) -> object:
    """Return the value in OTLP's wrapping, which names its type; 64-bit integers come as text."""
    if not isinstance(value, dict) or depth > _DEEPEST:
        return value if isinstance(value, str | int | float) else None
    for kind, inner in value.items():
        simple = kind.replace("_", "").lower()
        if simple == "intvalue":
            return parse_count(inner)
        if simple == "arrayvalue":
            return [_read_value(inner_value, depth + 1) for inner_value in _list_of(inner, "values")]
        if simple in ("stringvalue", "doublevalue", "boolvalue"):
            return inner
    return None


def _is_of_engine(span: _Span) -> bool:
    """Return whether an engine made the span of a request."""
    if span.name == _ENGINE_NAME or any(name in span.attributes for name in _OF_ENGINE):
        return True
    return "rid" in span.attributes and bool(_SGLANG_NAME.match(span.name))


def _group_stages(
    roots: list[_Span], stages: list[_Span], parents: Mapping[tuple[str, str], str]
) -> dict[tuple[str, str], list[_Span]]:
    """Return the stages below the span of each request, of the one process that told of most of them."""
    known = {(root.trace, root.span) for root in roots}
    found: dict[tuple[str, str], dict[str, list[_Span]]] = defaultdict(lambda: defaultdict(list))
    for stage in stages:
        # of SGLang the child of the request is a thread, whose children the stages are
        at, thread = (stage.trace, stage.parent), stage.parent
        for _ in range(_DEEPEST):
            if at in known or at not in parents:
                break
            thread = at[1]
            at = (at[0], parents[at])
        if at in known:
            found[at][thread].append(stage)
    return {root: max(threads.values(), key=len) for root, threads in found.items()}


def _build_request(span: _Span, stages: list[_Span]) -> LoggedRequest | None:
    """Return the request that a span, and the spans of its stages, tell of; None where they say nothing of its times."""
    attributes = span.attributes
    arrival, scheduled, first = span.start, None, span.first_token
    tokens: tuple[int, ...] = ()
    if arrival is not None and stages:
        ends: dict[str, list[int]] = defaultdict(list)
        for stage in stages:
            if stage.end is not None:
                ends[stage.name.replace(" ", "_")].append(stage.end)
        scheduled = min(ends[_WAITING], default=None)
        prefilled = next((max(ends[name]) for name in _PREFILLING if ends[name]), None)
        first = prefilled if first is None else first
        if prefilled is not None and ends[_DECODED]:
            tokens = tuple(at - arrival for at in sorted((prefilled, *ends[_DECODED])))
    e2e = _seconds_of(attributes, f"{_LATENCY}e2e")
    return complete_request(
        LoggedRequest(
            line=span.line,
            request_id=_text_of(attributes, _REQUEST_ID),
            status=_status_of(span),
            arrival_ns=arrival,
            scheduled_ns=scheduled,
            first_token_ns=first,
            end_ns=None if e2e is not None else span.end,
            prompt_tokens=_count_of(attributes, _PROMPT),
            output_tokens=_count_of(attributes, _OUTPUT),
            cached_tokens=_count_of(attributes, _CACHED),
            queue_ns=_seconds_of(attributes, f"{_LATENCY}time_in_queue"),
            ttft_ns=_seconds_of(attributes, *_TTFT),
            e2e_ns=e2e,
            token_ns=tokens,
        ),
        _seconds_of(attributes, *_PREFILL),
    )


def _seconds_of(attributes: Mapping[str, object], *names: str) -> int | None:
    """Return the first duration in seconds under these names, as ns."""
    return next((ns for name in names if (ns := convert_duration(attributes.get(name))) is not None), None)


def _count_of(attributes: Mapping[str, object], names: tuple[str, ...]) -> int | None:
    return next((tokens for name in names if (tokens := parse_count(attributes.get(name))) is not None), None)


def _text_of(attributes: Mapping[str, object], names: tuple[str, ...]) -> str | None:
    return next((text for name in names if isinstance(text := attributes.get(name), str) and text), None)


def _status_of(span: _Span) -> Status:
    """Return how the request ended, by the status of its span and the reasons why it finished."""
    reasons = [span.attributes.get(name) for name in _FINISHED]
    said = " ".join(str(reason) for reason in reasons if reason is not None).lower()
    if "abort" in said or "cancel" in said:
        return "aborted"
    return "failed" if span.is_error or "error" in said or "error.type" in span.attributes else "ok"
