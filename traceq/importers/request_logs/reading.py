"""Requests as a log tells of them, on the log's own clock: the records of all readers."""

from __future__ import annotations

import codecs
import math
from itertools import accumulate, pairwise
from typing import Literal

import msgspec

# utc: its times count from 1970; local: times of day of a zone that it does not name; own: seconds since some moment that only
# its writer knows, as of a monotonic clock; none: no times, only durations.
Clock = Literal["utc", "local", "own", "none"]
# Who measured: the engine itself, or a client, whose times include the network.
Side = Literal["server", "client"]
Status = Literal["ok", "failed", "aborted"]

SECOND = 1_000_000_000
# Ns since 1970 that can be added to others in 64 bits: until 2116.
END_OF_TIME = 1 << 62
# No request takes a year.
LONGEST = 365 * 86_400 * SECOND
_MOST_TOKENS = 1 << 31


class LoggedRequest(msgspec.Struct, frozen=True):
    """One request as a log tells of it; times are ns on the log's clock, durations ns, all None where it does not say.

    `line` is the line or record of the file, from 1. `token_ns` says when tokens came, ns after the arrival, ascending: of the
    first token first; empty where the log does not say of each. What came at once counts as one token there.
    """

    line: int
    request_id: str | None = None
    status: Status = "ok"
    arrival_ns: int | None = None
    scheduled_ns: int | None = None
    first_token_ns: int | None = None
    end_ns: int | None = None
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    queue_ns: int | None = None
    ttft_ns: int | None = None
    e2e_ns: int | None = None
    token_ns: tuple[int, ...] = ()


class RequestLog(msgspec.Struct, frozen=True):
    """All that a log of requests says, in the order of its lines; `left_out` counts records that could not be read.

    `other_spans` counts spans of traces that are no requests of an engine, `servers` the processes that tell of requests.
    """

    format: str
    side: Side
    clock: Clock
    requests: list[LoggedRequest]
    lines: int
    left_out: int
    other_spans: int = 0
    servers: int = 1


def complete_request(request: LoggedRequest, prefill_ns: int | None = None) -> LoggedRequest | None:
    """Return the request with what follows from what is said: durations from times, times from durations.

    `prefill_ns` is the time from when it was scheduled to its first token, where the log says that. What contradicts itself (an
    end before the arrival) is left out; None for a request of which nothing is known but its name.
    """
    arrival = _check_time(request.arrival_ns)
    scheduled, first, end = map(_check_time, (request.scheduled_ns, request.first_token_ns, request.end_ns))
    queue = _check_duration(_prefer_said(request.queue_ns, _subtract_times(scheduled, arrival)))
    ttft = _check_duration(_prefer_said(request.ttft_ns, _subtract_times(first, arrival)))
    e2e = _check_duration(_prefer_said(request.e2e_ns, _subtract_times(end, arrival)))
    tokens = request.token_ns if _is_ascending(request.token_ns) else ()
    if tokens:
        ttft = tokens[0] if ttft is None else ttft
        e2e = tokens[-1] if e2e is None else e2e
    if arrival is None:
        arrival = _first_known(
            _subtract_times(end, e2e), _subtract_times(first, ttft), _subtract_times(scheduled, queue)
        )
    first = _prefer_said(first, _add_duration(arrival, ttft))
    end = _prefer_said(end, _add_duration(arrival, e2e))
    scheduled = _first_known(
        scheduled, _subtract_times(first, _check_duration(prefill_ns)), _add_duration(arrival, queue)
    )
    if queue is None:
        queue = _check_duration(_subtract_times(scheduled, arrival))
    if ttft is None and e2e is None and queue is None:
        return None
    return msgspec.structs.replace(
        request,
        arrival_ns=arrival,
        scheduled_ns=scheduled if _is_between(arrival, scheduled, end) else None,
        first_token_ns=first if _is_between(arrival, first, end) else None,
        end_ns=end,
        prompt_tokens=_check_count(request.prompt_tokens),
        output_tokens=_check_count(request.output_tokens),
        cached_tokens=_check_count(request.cached_tokens),
        queue_ns=queue,
        ttft_ns=ttft,
        e2e_ns=e2e,
        token_ns=tokens,
    )


def decode_json(text: bytes) -> object:
    """Return the JSON value; None where it is damaged, or nested too deep."""
    try:
        return msgspec.json.decode(text.removeprefix(codecs.BOM_UTF8))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def convert_duration(value: object, unit: float = SECOND) -> int | None:
    """Return a number (also one written as text) of units of `unit` ns as whole ns; None for what is none, or cannot be."""
    number = parse_number(value)
    if number is None or not 0 <= number * unit < LONGEST:
        return None
    return round(number * unit)


def parse_number(value: object) -> float | None:
    """Return the finite number, also one written as text; None for what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def parse_count(value: object) -> int | None:
    """Return the whole number, also one written as text; None for what is none."""
    number = parse_number(value)
    return int(number) if number is not None and number.is_integer() and 0 <= number < _MOST_TOKENS else None


def add_up_gaps(first: int, gaps: list[float], unit: float = SECOND) -> tuple[int, ...]:
    """Return when tokens came, ns after the arrival, from the first one's time (ns) and the gaps between them, in `unit` ns."""
    return tuple(round(at) for at in accumulate((gap * unit for gap in gaps), initial=float(first)))


def _prefer_said(said: int | None, follows: int | None) -> int | None:
    return follows if said is None else said


def _first_known(*values: int | None) -> int | None:
    return next((value for value in values if value is not None), None)


def _subtract_times(later: int | None, earlier: int | None) -> int | None:
    return None if later is None or earlier is None else later - earlier


def _add_duration(at: int | None, duration: int | None) -> int | None:
    return None if at is None or duration is None else at + duration


def _check_time(at: int | None) -> int | None:
    return at if at is not None and 0 <= at < END_OF_TIME else None


def _check_duration(duration: int | None) -> int | None:
    return duration if duration is not None and 0 <= duration < LONGEST else None


def _check_count(tokens: int | None) -> int | None:
    return tokens if tokens is not None and 0 <= tokens < _MOST_TOKENS else None


def _is_ascending(tokens: tuple[int, ...]) -> bool:
    """Return whether the times are none before the arrival, and in order."""
    return not tokens or (tokens[0] >= 0 and tokens[-1] < LONGEST and all(a <= b for a, b in pairwise(tokens)))


def _is_between(begin: int | None, at: int | None, end: int | None) -> bool:
    """Return whether a time lies within the request, as far as its ends are known."""
    return at is not None and (begin is None or begin <= at) and (end is None or at <= end)
